"""What a fit is made from: nodes beside the time that they took, and what a cost model says of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.facts.fact import Fact
from egraph_opt.foreign_text import parsed_json
from egraph_opt.inference.core import infer_node
from egraph_opt.inference.onnx_inference import infer_by_onnx
from egraph_opt.lab.calibration.coordinates import Floats, Space
from egraph_opt.lab.calibration.kernels import COMMUNICATION, UnusableError
from egraph_opt.lab.calibration.model_nodes import ModelNodes, matched, operators_of, typed
from egraph_opt.lab.calibration.profiles import Profile, ProfileRow


@dataclass(frozen=True)
class Observation:
    """What was measured of a kernel.

    Attributes:
        operator: the ONNX operator, or the kernel's type where there is none.
        views: the node that it computes; several where the mean of them was measured.
        core: the unit that ran it, as the profile says.
        micros: what it took.
        runs: how often it ran.
    """

    operator: str
    views: tuple[NodeView, ...]
    core: str
    micros: float
    runs: int = 1


@dataclass(frozen=True)
class Observations:
    """The observations of a profile, and what was left out.

    Attributes:
        label: the profile's file.
        rows: how many lines the used ones come from.
        left_out: number of lines by reason.
    """

    label: str
    used: tuple[Observation, ...]
    rows: int
    left_out: Mapping[str, int]
    remarks: tuple[str, ...] = ()


def observe(profile: Profile, nodes: ModelNodes | None = None) -> Observations:
    """The nodes of all rows for which they can be found."""
    used: list[Observation] = []
    left_out, rows = Counter(profile.left_out), 0
    for row in profile.rows:
        lines = 1 if row.total else row.count
        try:
            used.append(observation(row, nodes))
            rows += lines
        except UnusableError as error:
            left_out[str(error)] += lines
    return Observations(profile.label, tuple(used), rows, dict(left_out.most_common()), profile.remarks)


def observation(row: ProfileRow, nodes: ModelNodes | None) -> Observation:
    """The node of a row.

    Raises:
        UnusableError: it cannot be found, or is none.
    """
    if row.key:
        view = _measured(row.key)
        return Observation(view.op_type, (view,), "", row.micros)
    if COMMUNICATION.search(row.type) or row.core in ("HCCL", "COMMUNICATION"):
        raise UnusableError("communication between devices")
    if row.total:
        return _of_type(row, nodes)
    view = matched(row, nodes)
    return Observation(view.op_type, (view,), row.core, row.micros, row.count)


def _of_type(row: ProfileRow, nodes: ModelNodes | None) -> Observation:
    """All kernels of a type: they are the model's nodes where there are as many, or a multiple of them."""
    if nodes is None:
        raise UnusableError("the sum of all kernels of a type: give the model that ran")
    views = nodes.of_operators(sorted(operators_of(row.type)))
    if not views or row.count % len(views):
        raise UnusableError(f"the kernels of a type are not as many as its nodes in {nodes.label}")
    unknown = tuple(typed(view, 0) for view in views)
    return Observation(views[0].op_type, unknown, row.core, row.micros, row.count)


def _measured(key: str) -> NodeView:
    """The node that a measurement's key describes (`egraph_opt.measurement.specimen`)."""
    try:
        domain, op, version, attributes, inputs, outputs = parsed_json(key)
        if not (isinstance(domain, str) and isinstance(op, str) and version in range(1000)):
            raise ValueError("no operator")
        facts = tuple(_fact(entry) for entry in inputs)
        given = {str(name): _attribute(value) for name, value in attributes}
    except (ValueError, TypeError, IndexError):
        raise UnusableError("a fused operator of onnxruntime, which a key does not describe") from None
    signature: Any = (op, domain, tuple(given.items()), facts, len(outputs))
    known = infer_node(*signature, opset=version)
    checked = infer_by_onnx(*signature, opset=version)
    results = tuple(a if a.shape is not None else b for a, b in zip(known, checked, strict=False))
    if not results or results[0].shape is None:
        raise UnusableError("the shape of its result does not follow from its key")
    return NodeView(op, domain, given, facts, results, opset=version)


def _is_plain(value: object) -> bool:
    return isinstance(value, (str, int, float))


def _attribute(value: Any) -> Any:
    """The value of an attribute: one, or a row of them."""
    if not all(map(_is_plain, value if isinstance(value, list) else [value])):
        raise ValueError("no attribute")
    return tuple(value) if isinstance(value, list) else value


def _is_dim(dim: object) -> bool:
    return dim is None or isinstance(dim, str) or (type(dim) is int and 0 <= dim < 2**63)


def _is_of(dtype: int, element: object) -> bool:
    """Whether a constant of the type can have an element."""
    kind = ir.DataType(dtype)
    if kind == ir.DataType.STRING:
        return isinstance(element, str)
    return isinstance(element, (int, float) if kind.is_floating_point() else int)


def _fact(entry: Any) -> Fact | None:
    """An operand of a key; None for an absent one."""
    if entry is None:
        return None
    dtype, shape, const, elements = entry
    known = dtype in list(ir.DataType) and isinstance(const, bool)
    if not known or not all(map(_is_dim, shape or ())) or not all(_is_of(dtype, e) for e in elements or ()):
        raise ValueError("no operand")
    found = Fact(dtype, None if shape is None else tuple(shape), const)
    if not elements:
        return found
    if len(elements) == 1 and shape != [1]:
        return replace(found, splat=elements[0])
    return replace(found, value=tuple(elements), data=tuple(elements))


def by_operator(observations: Iterable[Observation]) -> dict[str, list[int]]:
    """The numbers of the observations of each operator, the most frequent first."""
    found: dict[str, list[int]] = {}
    for number, observation in enumerate(observations):
        found.setdefault(observation.operator, []).append(number)
    return dict(sorted(found.items(), key=lambda entry: (-len(entry[1]), entry[0])))


LEAST = 1e-9
"""A price below this is taken as this, so that it has a logarithm."""

STEP = 1e-4
"""How far a coordinate is moved to see what it changes."""

PROBES = (-2.3, 2.3)
"""How far coordinates are moved to see what depends on them at all, to a tenth and tenfold: prices rise with
each, or fall."""

SEEN = 1e-6
"""A price that changes by less, as a share, does not depend on what was moved."""


class Predictions:
    """Logarithms of the prices of observations, at any point of a space.

    Each distinct node is priced once, and a derivative prices only what depends on its coordinate.
    """

    def __init__(self, space: Space, observations: Sequence[Observation]) -> None:
        self.space = space
        self.nodes, owners = _distinct(observations)
        self.flat = np.array([number for own in owners for number in own])
        self.counts = np.array([len(own) for own in owners])
        self.begins = np.cumsum(self.counts) - self.counts
        self.depending: list[npt.NDArray[np.int64]] = []
        self.look_around(np.zeros(len(space.coordinates)))

    def look_around(self, point: Floats) -> None:
        """Find out which nodes depend on which coordinate, near a point and far from it."""
        base = self._prices(self.space.make(point))
        least, most = self.space.bounds
        found: list[npt.NDArray[np.int64]] = []
        for k in range(len(self.space.coordinates)):
            changed = np.zeros(len(self.nodes), dtype=np.bool_)
            for probe in PROBES:
                moved = point.copy()
                moved[k] = np.clip(point[k] + probe, least[k], most[k])
                changed |= abs(self._prices(self.space.make(moved)) - base) > SEEN * base
            if self.depending:
                changed[self.depending[k]] = True
            found.append(np.flatnonzero(changed))
        self.depending = found

    def logs(self, point: Floats) -> Floats:
        """The logarithm of what each observation should have taken."""
        return self._logs(self._prices(self.space.make(point)))

    def derivatives(self, point: Floats, numbers: Sequence[int], step: float = STEP) -> Floats:
        """How the logarithms change with some coordinates: a column for each.

        Args:
            step: how far each is moved; to the other side where its range ends.
        """
        found = np.zeros((len(self.counts), len(numbers)))
        base = self._prices(self.space.make(point))
        least, most = self.space.bounds
        for column, k in enumerate(numbers):
            moved, prices, rows = point.copy(), base.copy(), self.depending[k]
            to = step if least[k] <= point[k] + step <= most[k] else -step
            moved[k] += to
            prices[rows] = self._prices(self.space.make(moved), rows.tolist())
            found[:, column] = (self._logs(prices) - self._logs(base)) / to
        return found

    @property
    def seen(self) -> list[int]:
        """The coordinates that any node depends on."""
        return [k for k, rows in enumerate(self.depending) if len(rows)]

    def _prices(self, model: CostModel, rows: Iterable[int] | None = None) -> Floats:
        wanted = self.nodes if rows is None else [self.nodes[k] for k in rows]
        return np.array([max(model.kernel_cost(node, core), LEAST) for node, core in wanted])

    def _logs(self, prices: Floats) -> Floats:
        means: Floats = np.log(np.add.reduceat(prices[self.flat], self.begins) / self.counts)
        return means


def _distinct(observations: Sequence[Observation]) -> tuple[list[tuple[NodeView, str]], list[list[int]]]:
    """The distinct nodes, and the numbers of those of each observation."""
    numbers: dict[object, int] = {}
    nodes: list[tuple[NodeView, str]] = []
    owners: list[list[int]] = []
    for observation in observations:
        own = []
        for view in observation.views:
            key = (view.op_type, view.domain, _frozen(view), view.inputs, view.outputs, observation.core)
            if key not in numbers:
                numbers[key] = len(nodes)
                nodes.append((view, observation.core))
            own.append(numbers[key])
        owners.append(own)
    return nodes, owners


def _frozen(view: NodeView) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, repr(value)) for name, value in view.attributes.items()))
