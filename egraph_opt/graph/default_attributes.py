"""Attributes that say what holds without them, which one tool writes and the other leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import onnx

from egraph_opt.imports import onnx_ir as ir

_WINDOWS = frozenset(("AveragePool", "Conv", "ConvTranspose", "LpPool", "MaxPool"))
"""Operators whose strides and dilations are 1, and pads 0, where they are not said."""


def telling_attributes(node: ir.Node, opset: int) -> Iterator[tuple[str, ir.Attr]]:
    """The attributes of a node that do not merely repeat a default, by name."""
    for name in sorted(node.attributes):
        attribute = node.attributes[name]
        if attribute.is_ref() or not _is_default(node, attribute, opset):
            yield name, attribute


def _is_default(node: ir.Node, attribute: ir.Attr, opset: int) -> bool:
    if node.domain not in ("", "ai.onnx"):
        return False
    name = attribute.name
    if node.op_type in _WINDOWS and attribute.type == ir.AttributeType.INTS:
        if name == "kernel_shape":
            return node.op_type in ("Conv", "ConvTranspose")
        usual = {"strides": 1, "dilations": 1, "pads": 0}.get(name)
        return usual is not None and all(item == usual for item in attribute.as_ints())
    kinds = (ir.AttributeType.INT, ir.AttributeType.FLOAT, ir.AttributeType.STRING)
    return attribute.type in kinds and _defaults(node.op_type, opset).get(name) == attribute.value


@lru_cache(maxsize=1024)
def _defaults(op_type: str, opset: int) -> dict[str, object]:
    """The plain defaults that an operator's schema has."""
    try:
        schema = onnx.defs.get_schema(op_type, opset)
    except onnx.defs.SchemaError:
        return {}
    found: dict[str, object] = {}
    for name, declared in schema.attributes.items():
        if declared.default_value.name:
            value = onnx.helper.get_attribute_value(declared.default_value)
            found[name] = value.decode() if isinstance(value, bytes) else value
    return found
