"""What reports say of a node on Ascend: its kernel, and why it costs more than its work does."""

from __future__ import annotations

import onnx

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models import (
    ascend_cube,
    ascend_fusion,
    ascend_layout,
    ascend_scalar,
    ascend_types,
    ascend_vector,
    counting,
)
from egraph_opt.cost_models.ascend_device import CHIP_FLOATS, Device
from egraph_opt.cost_models.ascend_limits import beyond_convolutions, beyond_pools
from egraph_opt.cost_models.layouts import is_conversion, is_laid
from egraph_opt.operators.declaration import PSEUDO_DOMAIN

AI_CPU = "runs on the AI CPU"

MUCH = 0.2
"""The share of a price from which on scalar work is a reason for it."""


def reason(device: Device, node: NodeView, price: float) -> str:
    """In a few words; "" where a node is as fast as its work lets it be."""
    if node.domain not in ("", "ai.onnx"):
        return ""
    soc = device.soc
    if node.op_type in counting.POOLS and (beyond := next(beyond_pools(soc, node), "")):
        return f"{beyond} {AI_CPU}"
    if ascend_types.on_ai_cpu(soc, node) and not counting.is_view(node):
        return f"{_types(node)} {AI_CPU}"
    if node.op_type in ascend_cube.CONVOLUTIONS:
        beyond = next(beyond_convolutions(soc, node, ascend_cube.window_of(node)), "")
        if beyond:
            return f"{beyond}: {soc.slow_conv_factor:g} times as slow"
    if node.op_type in (*counting.POOLS, *ascend_cube.CONVOLUTIONS):
        width = (counting.dims(node.input(0)) or (0,))[-1]
        return f"rows of {width} above {soc.row_width} (row_width)" if width > soc.row_width else ""
    if ascend_scalar.scalar_time(device, node) > MUCH * price:
        return "done by the scalar unit, one after the other"
    return ""


def kernel_name(node: NodeView) -> str:
    """The ONNX operator that a kernel begins with; TransData is a conversion between formats."""
    if is_conversion(node):
        return "TransData"
    inside = ascend_layout.inner(node) if is_laid(node) else node
    if inside is None or inside.domain != PSEUDO_DOMAIN:
        return node.op_type if inside is None else inside.op_type
    if inside.op_type == ascend_fusion.FORM:
        return inside.text("cube")
    return "fused element-wise" if inside.op_type == ascend_vector.FORM else inside.op_type


def _types(node: NodeView) -> str:
    """The types that a node reads and makes, floats of the chip left out."""
    facts = [fact for fact in (*node.inputs[:3], *node.outputs[:1]) if fact is not None]
    dtypes = sorted({fact.dtype for fact in facts} - CHIP_FLOATS)
    names = [onnx.TensorProto.DataType.Name(dtype).lower() for dtype in dtypes]
    return f"{node.op_type} of {', '.join(names)}" if names else node.op_type
