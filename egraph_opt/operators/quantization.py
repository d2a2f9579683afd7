"""QuantizeLinear and DequantizeLinear of one scale, or of one for each part of an axis.

With scales for blocks, or types other than integers, nodes are left as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx import TensorProto

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.operators.declaration import OnnxForm, TermSpec, lowers, operator
from egraph_opt.operators.expressions import Tensor
from egraph_opt.operators.sorts import Axis, DataType

if TYPE_CHECKING:
    from egraph_opt.operators.node_reader import NodeReader

QUANTIZED: dict[int, tuple[int, int]] = {
    TensorProto.INT4: (-8, 7),
    TensorProto.UINT4: (0, 15),
    TensorProto.INT8: (-128, 127),
    TensorProto.UINT8: (0, 255),
    TensorProto.INT16: (-(2**15), 2**15 - 1),
    TensorProto.UINT16: (0, 2**16 - 1),
}
"""The types that something is quantized to, with their least and greatest number."""

BYTES = (TensorProto.INT8, TensorProto.UINT8)
"""Those of 8 bits, for which onnxruntime has most kernels."""

SCALES = (TensorProto.FLOAT, TensorProto.FLOAT16)
"""The types of scales."""


def is_one_scale(scale: Fact) -> bool:
    """There is one scale for all elements."""
    return scale.shape in ((), (1,))


def _form(op_type: str, opset: int, axis: int, facts: tuple[Fact, ...]) -> tuple[Any, dict[str, Any]] | None:
    """The inputs, and the axis where there is a scale for each part of it."""
    if opset < 10 or (opset < 13 and not is_one_scale(facts[1])):
        return None
    inputs = (0, 1) if facts[2] == ABSENT else (0, 1, 2)
    return inputs, {} if is_one_scale(facts[1]) else {"axis": axis}


def _quantize_form(opset: int, attributes: tuple[int, int], facts: tuple[Fact, ...]) -> OnnxForm | None:
    axis, to = attributes
    found = _form("QuantizeLinear", opset, axis, facts)
    if found is None:
        return None
    inputs, settings = found
    if len(inputs) == 2 and to != TensorProto.UINT8:
        if opset < 21:
            return None
        settings["output_dtype"] = to
    return OnnxForm("QuantizeLinear", inputs, tuple(sorted(settings.items())))


def _dequantize_form(opset: int, attributes: tuple[int], facts: tuple[Fact, ...]) -> OnnxForm | None:
    found = _form("DequantizeLinear", opset, attributes[0], facts)
    return None if found is None else OnnxForm("DequantizeLinear", found[0], tuple(found[1].items()))


@operator(form=_quantize_form)
def quantize(x: Tensor, scale: Tensor, zero: Tensor, axis: Axis, to: DataType) -> Tensor:
    """x / scale, rounded to even, + zero, saturated.

    `scale` is of rank 0, [1], or [d] for an axis of d parts; `axis` is 0 where there is one scale; `zero` has
    its shape, in the type `to`, or none.
    """


@operator(form=_dequantize_form)
def dequantize(q: Tensor, scale: Tensor, zero: Tensor, axis: Axis) -> Tensor:
    """(q - zero) * scale; see `quantize`."""


def _axis_of(node: NodeReader) -> int | None:
    """The axis of scales, 0 where there is one for all; None where they are for blocks, or not known."""
    x, scale = node.fact(0), node.fact(1)
    if scale.dtype not in SCALES or node.attribute("block_size") or x.rank is None:
        return None
    if is_one_scale(scale):
        return 0
    axis = node.attribute("axis")
    if scale.rank != 1 or axis is None or not -x.rank <= axis < x.rank:
        return None
    return int(axis % x.rank)


@lowers("QuantizeLinear")
def _lower_quantize(node: NodeReader) -> TermSpec | None:
    axis, zero, asked = _axis_of(node), node.fact(2), node.attribute("output_dtype")
    to = (asked or TensorProto.UINT8) if zero == ABSENT else zero.dtype
    if axis is None or to not in QUANTIZED or asked not in (None, 0, to) or node.attribute("precision"):
        return None
    if node.fact(0).dtype != node.fact(1).dtype:
        return None
    return TermSpec("quantize", (axis, to), (0, 1, 2 if node.has(2) else None))


@lowers("DequantizeLinear")
def _lower_dequantize(node: NodeReader) -> TermSpec | None:
    axis, asked = _axis_of(node), node.attribute("output_dtype")
    if axis is None or node.fact(0).dtype not in (*QUANTIZED, TensorProto.INT32):
        return None
    if asked not in (None, 0, node.fact(1).dtype):
        return None
    return TermSpec("dequantize", (axis,), (0, 1, 2 if node.has(2) else None))
