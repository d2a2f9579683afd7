"""A kernel of a profile and the node of the model that it computes."""

from __future__ import annotations

from dataclasses import replace

from onnx import TensorProto

from egraph_opt.calibration.kernel_types import operator_of
from egraph_opt.calibration.kernels import view_of
from egraph_opt.calibration.model_nodes import ModelNodes
from egraph_opt.calibration.profiles import ProfileRow
from egraph_opt.calibration.tensors import Dims
from egraph_opt.calibration.unusable import UnusableError
from egraph_opt.cost.model import NodeView
from egraph_opt.facts.fact import Fact

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
