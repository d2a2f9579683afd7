"""The nodes of the model that ran, by name, and which of them a kernel of a profile computes.

Compilers keep names: a kernel has that of its node, and one that several nodes were fused into has their
names one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import onnx_ir as ir
from onnx import TensorProto

from egraph_opt.cost.model import NodeView, bind, default_points
from egraph_opt.facts.fact import UNKNOWN, Fact
from egraph_opt.graph.constants import Constants, constants_of
from egraph_opt.inference.constants import tensor_fact
from egraph_opt.inference.graph import attributes_of, infer_graph
from egraph_opt.lab.calibration.kernels import UnusableError, operator_of, view_of
from egraph_opt.lab.calibration.profiles import ProfileRow
from egraph_opt.lab.calibration.tensors import Dims
from egraph_opt.model.reading import read_model

BETWEEN = "+_/,;:"
"""What may be between the names of nodes that were fused."""


@dataclass(frozen=True)
class ModelNodes:
    """The nodes of a model's main graph that depend on its inputs.

    Attributes:
        label: the file.
        by_name: their views, symbols bound.
    """

    label: str
    by_name: Mapping[str, NodeView]

    def within(self, name: str) -> tuple[NodeView, ...]:
        """The nodes whose names a kernel's name begins with, one after the other."""
        return tuple(self.by_name[known] for known in self.names_within(name))

    def names_within(self, name: str) -> tuple[str, ...]:
        """Their names."""
        found: list[str] = []
        place = 0
        while place < len(name):
            start = place
            while found and start < len(name) and name[start] in BETWEEN:
                start += 1
            known = self._prefix(name, start) or self._prefix(name, place)
            if not known:
                break
            found.append(known)
            place = name.index(known, place) + len(known)
        return tuple(found)

    def _prefix(self, name: str, start: int) -> str:
        """The longest name of a node that begins at a place, and does not end within a number."""
        for end in range(len(name), start, -1):
            cut = end < len(name) and name[end].isdigit() and name[end - 1].isdigit()
            if name[start:end] in self.by_name and not cut:
                return name[start:end]
        return ""

    def of_operators(self, op_types: Sequence[str]) -> tuple[NodeView, ...]:
        """All nodes of some operators."""
        return tuple(view for view in self.by_name.values() if view.op_type in op_types)


def read_nodes(path: Path, sizes: Mapping[str, int] | None = None) -> ModelNodes:
    """The nodes of a model.

    Args:
        sizes: of symbolic dims; the others are as prices have them by default.

    Raises:
        ModelReadError, InvalidModelError, ExternalDataError: the model.
    """
    loaded = read_model(path)
    graph, opset = loaded.model.graph, loaded.opset_imports.get("", 1)
    constants = constants_of(graph, loaded.ir_version, Constants({}))

    def constant(value: ir.Value) -> Fact | None:
        return tensor_fact(constants.tensor(value)) if constants.has(value) else None

    facts = infer_graph(
        graph, loaded.opset_imports, {}, constant, lambda text: None, functions=loaded.model.functions
    )
    points = default_points([facts[v] for v in graph.inputs], given=sizes)

    def known(value: ir.Value | None) -> Fact | None:
        return None if value is None else bind(facts.get(value, UNKNOWN), points)

    found: dict[str, NodeView] = {}
    for number, node in enumerate(graph):
        outputs = tuple(bind(facts.get(value, UNKNOWN), points) for value in node.outputs)
        if all(fact.const for fact in outputs):
            continue
        inputs = tuple(map(known, node.inputs))
        attributes = dict(attributes_of(node))
        view = NodeView(node.op_type, node.domain, attributes, inputs, outputs, opset=opset)
        found.setdefault(node.name or f"{node.op_type}_{number}", view)
    return ModelNodes(path.name, found)


ALIKE = (
    frozenset({"MatMul", "Gemm"}),
    frozenset({"AveragePool", "MaxPool", "GlobalAveragePool", "GlobalMaxPool", "LpPool"}),
    frozenset({"ReduceMean", "GlobalAveragePool"}),
    frozenset({"Clip", "Relu"}),
    frozenset({"Add", "Sum"}),
)
"""Operators that kernels of one type compute."""

BLOCKS = (16, 32)
"""What stored dims are rounded up to."""

_FLOATS = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16})


def operators_of(kind: str) -> frozenset[str]:
    """The ONNX operators that a type of kernel may compute.

    Raises:
        UnusableError: the type is not known.
    """
    found = operator_of(kind)
    if found is None:
        raise UnusableError(f"unknown type {kind}")
    return frozenset({found[1]}).union(*(group for group in ALIKE if found[1] in group))


def matched(row: ProfileRow, nodes: ModelNodes | None) -> NodeView:
    """The node of a kernel: that of the model where a name says which it is, else from the shapes alone.

    Raises:
        UnusableError: neither is known.
    """
    wanted = operators_of(row.type)
    found = nodes.within(row.name) if nodes is not None else ()
    own = next((view for view in found if view.op_type in wanted), None)
    if own is None:
        try:
            return view_of(row)
        except UnusableError as error:
            name = f", and no {sorted(wanted)[0]} of {nodes.label} has its name" if nodes is not None else ""
            raise UnusableError(f"{error}{name}") from None
    return _as_it_ran(replace(own, outputs=found[-1].outputs) if len(found) > 1 else own, row)


def _as_it_ran(view: NodeView, row: ProfileRow) -> NodeView:
    """The model's node with the types, and where they differ the shapes, that the profile has."""
    dtype = row.inputs[0].dtype if row.inputs else 0
    known = typed(view, dtype)
    if not row.outputs or _agree(row.outputs[0].dims, view.outputs[0].shape):
        return known
    seen = view_of(row)  # another batch than the model's
    return replace(seen, attributes={**seen.attributes, **view.attributes}, opset=view.opset)


def typed(view: NodeView, dtype: int) -> NodeView:
    """A node of the model with its floats in the type that the kernel has; 0: nobody says which."""

    def as_it_ran(fact: Fact) -> Fact:
        return replace(fact, dtype=dtype if dtype in _FLOATS else 0) if fact.dtype in _FLOATS else fact

    inputs = tuple(None if fact is None else as_it_ran(fact) for fact in view.inputs)
    return replace(view, inputs=inputs, outputs=tuple(map(as_it_ran, view.outputs)))


def _agree(ran: Dims, declared: tuple[int | str | None, ...] | None) -> bool:
    """Whether shapes are the same but for unit dims, and for blocks that are filled up."""
    if declared is None:
        return False
    own = [dim for dim in declared if dim != 1]
    others = [dim for dim in ran if dim != 1]
    return len(own) == len(others) and all(
        isinstance(dim, int) and (dim == other or any(-(-dim // b) * b == other for b in BLOCKS))
        for dim, other in zip(own, others, strict=True)
    )
