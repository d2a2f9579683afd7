"""Nodes of a graph as a reviewer reads them: ``y = Conv(x, w, strides=[2, 2])``, with types where asked."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from egraph_opt.foreign_text import printable
from egraph_opt.graph.default_attributes import telling_attributes

LONGEST_LIST = 8
"""Elements of an attribute or a constant that are shown; of longer ones the first."""


def type_text(value: ir.Value) -> str:
    """``float32[batch, 3, 8, 8]``; empty where nothing is known."""
    tensor = value.const_value
    dtype = value.dtype if value.dtype is not None else tensor.dtype if tensor is not None else None
    shape = value.shape if value.shape is not None else tensor.shape if tensor is not None else None
    return "" if dtype is None else kind_text(dtype, shape)


def kind_text(dtype: ir.DataType, shape: ir.ShapeProtocol | None) -> str:
    """``float32[batch, 3, 8, 8]``; without dims where the rank is not known."""
    name = "float32" if dtype == ir.DataType.FLOAT else ir.DataType(dtype).name.lower()
    if shape is None:
        return name
    dims = (str(dim) if isinstance(dim, int) else printable(dim.value or "?") for dim in shape)
    return f"{name}[{', '.join(dims)}]"


def node_text(node: ir.Node) -> str:
    """A node in a line: outputs, operator, inputs, attributes that are not the default."""
    outputs = ", ".join(printable(value.name or "") or "_" for value in node.outputs)
    while outputs.endswith(", _"):
        outputs = outputs.removesuffix(", _")
    inputs = ["_" if value is None else _operand(value) for value in node.inputs]
    opset = node.graph.opset_imports.get("", 1) if node.graph is not None else 1
    settings = [f"{name}={_attribute(said)}" for name, said in telling_attributes(node, opset)]
    domain = "" if node.domain in ("", "ai.onnx") else f"{node.domain}."
    return f"{outputs} = {printable(domain + node.op_type)}({', '.join((*inputs, *settings))})"


def _operand(value: ir.Value) -> str:
    """A name; of a constant with one element, that."""
    tensor = value.const_value
    if tensor is not None and tensor.size == 1 and tensor.dtype != ir.DataType.STRING:
        return f"{printable(value.name or '')}={_number(tensor.numpy().reshape(-1)[0].item())}"
    return printable(value.name or "")


def _attribute(attribute: ir.Attr) -> str:
    if attribute.is_ref():
        return f"@{attribute.ref_attr_name}"
    if attribute.type in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS):
        return "{..}"
    if attribute.type == ir.AttributeType.TENSOR:
        tensor = attribute.as_tensor()
        if tensor.size > LONGEST_LIST:
            return f"{tensor.dtype.name.lower()}{list(tensor.shape.numpy())}"
        return _value(tensor.numpy().tolist())
    return _value(attribute.value)


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        shown = ", ".join(map(_value, value[:LONGEST_LIST]))
        return f"[{shown}{', ..' if len(value) > LONGEST_LIST else ''}]"
    if isinstance(value, float):
        return _number(value)
    return printable(value) if isinstance(value, str) else printable(str(value))


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else printable(str(value))
