"""What a fit is made from: nodes beside the time that they took."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from egraph_opt.calibration.kernel_types import COMMUNICATION
from egraph_opt.calibration.matching import matched, operators_of, typed
from egraph_opt.calibration.model_nodes import ModelNodes
from egraph_opt.calibration.profiles import Profile, ProfileRow
from egraph_opt.calibration.unusable import UnusableError
from egraph_opt.cost.model import NodeView
from egraph_opt.facts.fact import Fact
from egraph_opt.inference.core import infer_node
from egraph_opt.inference.onnx_inference import infer_by_onnx


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
            used.append(_observation(row, nodes))
            rows += lines
        except UnusableError as error:
            left_out[str(error)] += lines
    return Observations(profile.label, tuple(used), rows, dict(left_out.most_common()), profile.remarks)


def _observation(row: ProfileRow, nodes: ModelNodes | None) -> Observation:
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
        domain, op, version, attributes, inputs, outputs = json.loads(key)
        facts = tuple(_fact(entry) for entry in inputs)
        given = {name: tuple(v) if isinstance(v, list) else v for name, v in attributes}
    except (ValueError, TypeError, IndexError):
        raise UnusableError("a fused operator of onnxruntime, which a key does not describe") from None
    signature: Any = (op, domain, tuple(given.items()), facts, len(outputs))
    known = infer_node(*signature, opset=version)
    checked = infer_by_onnx(*signature, opset=version)
    results = tuple(a if a.shape is not None else b for a, b in zip(known, checked, strict=False))
    if not results or results[0].shape is None:
        raise UnusableError("the shape of its result does not follow from its key")
    return NodeView(op, domain, given, facts, results, opset=version)


def _fact(entry: Any) -> Fact | None:
    """An operand of a key; None for an absent one."""
    if entry is None:
        return None
    dtype, shape, const, elements = entry
    found = Fact(dtype, None if shape is None else tuple(shape), const)
    if not elements:
        return found
    if len(elements) == 1 and shape != [1]:
        return replace(found, splat=elements[0])
    return replace(found, value=tuple(elements), data=tuple(elements))


def operators(observations: Iterable[Observation]) -> dict[str, list[int]]:
    """The numbers of the observations of each operator, the most frequent first."""
    found: dict[str, list[int]] = {}
    for number, observation in enumerate(observations):
        found.setdefault(observation.operator, []).append(number)
    return dict(sorted(found.items(), key=lambda entry: (-len(entry[1]), entry[0])))
