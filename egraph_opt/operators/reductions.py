"""Reductions, ArgMax, softmax, batch and instance normalization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.operators.declaration import Attributes, OnnxForm, TermSpec, ints, lowers, operator
from egraph_opt.operators.expressions import String, Tensor
from egraph_opt.operators.sorts import Axes, Axis, Flag, Float, Settings

if TYPE_CHECKING:
    from egraph_opt.operators.node_reader import NodeReader

REDUCTIONS = (
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
    "ReduceSumSquare"
).split()


def _axes_are_input(kind: str, opset: int) -> bool:
    return opset >= (13 if kind == "ReduceSum" else 18)


def _reduce_form(opset: int, attributes: tuple[Any, ...], facts: tuple[Fact, ...]) -> OnnxForm | None:
    kind, axes, keepdims = attributes
    if _axes_are_input(kind, opset):
        return OnnxForm(kind, (0, ints(axes)), (("keepdims", keepdims),))
    return OnnxForm(kind, (0,), (("axes", axes), ("keepdims", keepdims)))


@operator(form=_reduce_form, op_types=REDUCTIONS)
def reduce(kind: String, x: Tensor, axes: Axes, keepdims: Flag) -> Tensor:
    """An ONNX reduction over `axes` (sorted, 0 or more, at least one)."""


@lowers(*REDUCTIONS)
def _lower_reduce(node: NodeReader) -> TermSpec | None:
    rank = node.fact(0).rank
    if rank is None or rank == 0:
        return None
    read: tuple[int, ...] = ()
    axes: tuple[int, ...] | None = ()
    if _axes_are_input(node.op_type, node.opset):
        if node.has(1):
            read = (1,)
            axes = node.ints(1)
    else:
        axes = node.attribute("axes") or ()
    if axes is None or (not axes and node.attribute("noop_with_empty_axes")):
        return None
    axes = tuple(sorted({a % rank for a in axes})) or tuple(range(rank))
    return TermSpec("reduce", (node.op_type, axes, node.attribute("keepdims")), (0,), read)


def _arg_reduce_form(opset: int, attributes: tuple[Any, ...], facts: tuple[Fact, ...]) -> OnnxForm | None:
    kind, axis, keepdims, last = attributes
    settings = (("axis", axis), ("keepdims", keepdims))
    if opset >= 12:
        return OnnxForm(kind, (0,), (*settings, ("select_last_index", last)))
    return None if last else OnnxForm(kind, (0,), settings)


@operator(form=_arg_reduce_form, op_types=("ArgMax", "ArgMin"))
def arg_reduce(kind: String, x: Tensor, axis: Axis, keepdims: Flag, last: Flag) -> Tensor:
    """ArgMax or ArgMin along one axis (0 or more): of equals the first, or with `last` the last."""


@lowers("ArgMax", "ArgMin")
def _lower_arg_reduce(node: NodeReader) -> TermSpec | None:
    rank = node.fact(0).rank
    if not rank:
        return None
    last = node.attribute("select_last_index") or 0
    axis = node.attribute("axis") % rank
    return TermSpec("arg_reduce", (node.op_type, axis, node.attribute("keepdims"), last), (0,))


def _softmax_form(opset: int, attributes: tuple[str, int], facts: tuple[Fact, ...]) -> OnnxForm | None:
    kind, axis = attributes
    if opset < 13 and axis + 1 != facts[0].rank:
        return None  # all axes from `axis` on would be one
    return OnnxForm(kind, (0,), (("axis", axis),))


@operator(form=_softmax_form, op_types=("Softmax", "LogSoftmax", "Hardmax"))
def softmax(kind: String, x: Tensor, axis: Axis) -> Tensor:
    """Softmax, LogSoftmax or Hardmax along one axis (0 or more)."""


@lowers("Softmax", "LogSoftmax", "Hardmax")
def _lower_softmax(node: NodeReader) -> TermSpec | None:
    rank = node.fact(0).rank
    if not rank:
        return None
    axis = node.attribute("axis") % rank
    # Before opset 13 all axes from `axis` on were flattened into one.
    if node.opset < 13 and axis != rank - 1:
        return None
    return TermSpec("softmax", (node.op_type, axis), (0,))


def _batchnorm_form(opset: int, attributes: tuple[float], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm("BatchNormalization", (0, 1, 2, 3, 4), (("epsilon", attributes[0]),))


@operator(form=_batchnorm_form)
def batchnorm(x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor, epsilon: Float) -> Tensor:
    """(x - mean) / sqrt(var + epsilon) * scale + bias per channel (axis 1), as in inference."""


@lowers("BatchNormalization")
def _lower_batchnorm(node: NodeReader) -> TermSpec | None:
    if node.attribute("training_mode") or node.attribute("spatial") == 0 or node.attribute("is_test") == 0:
        return None
    if any(node.uses_output(k) for k in range(1, node.output_count)):
        return None
    return TermSpec("batchnorm", (node.attribute("epsilon"),), (0, 1, 2, 3, 4))


def _instance_form(opset: int, attributes: tuple[float], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm("InstanceNormalization", (0, 1, 2), (("epsilon", attributes[0]),))


@operator(form=_instance_form)
def instance_norm(x: Tensor, scale: Tensor, bias: Tensor, epsilon: Float) -> Tensor:
    """(x - mean) / sqrt(var + epsilon) * scale + bias, mean and variance of each channel of each instance."""


@lowers("InstanceNormalization")
def _lower_instance_norm(node: NodeReader) -> TermSpec | None:
    return TermSpec("instance_norm", (node.attribute("epsilon"),), (0, 1, 2))


def _group_form(opset: int, attributes: tuple[Attributes], facts: tuple[Fact, ...]) -> OnnxForm | None:
    """Before opset 21 it has a scale per group, and no runtime."""
    return OnnxForm("GroupNormalization", (0, 1, 2), attributes[0]) if opset >= 21 else None


@operator(form=_group_form)
def group_norm(x: Tensor, scale: Tensor, bias: Tensor, settings: Settings) -> Tensor:
    """`instance_norm` with the mean and variance of groups of channels; scale and bias are per channel."""


@lowers("GroupNormalization")
def _lower_group_norm(node: NodeReader) -> TermSpec | None:
    if node.opset < 21 or node.attribute("stash_type") != TensorProto.FLOAT:
        return None
    settings = tuple((name, node.attribute(name)) for name in ("epsilon", "num_groups"))
    return TermSpec("group_norm", (settings,), (0, 1, 2))
