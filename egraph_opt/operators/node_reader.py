"""What the way from ONNX to terms sees of a node."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from egraph_opt.facts.fact import ABSENT, UNKNOWN, Fact


@lru_cache(maxsize=4096)
def schema_defaults(op_type: str, opset: int) -> dict[str, Any]:
    """Every attribute of an operator of the default domain, with its default or None."""
    try:
        schema = onnx.defs.get_schema(op_type, opset, "")
    except onnx.defs.SchemaError:
        return {}
    defaults = {}
    for name, attribute in schema.attributes.items():
        value = None
        if attribute.default_value.type:
            value = plain(onnx.helper.get_attribute_value(attribute.default_value))
        defaults[name] = value
    return defaults


def plain(value: Any) -> Any:
    """An attribute's value as int, float, str or a tuple of them."""
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="surrogateescape")
    if isinstance(value, (str, int, float)) or value is None:
        return value
    return tuple(plain(v) for v in value)


class NodeReader:
    """What a lowering function sees of a node: attributes with defaults, facts of inputs and outputs."""

    def __init__(self, node: ir.Node, opset: int, facts: Mapping[ir.Value, Fact]) -> None:
        self._node = node
        self._facts = facts
        self.opset = opset
        self.op_type = node.op_type
        self.count = len(node.inputs)
        self.output_count = len(node.outputs)

    def attribute(self, name: str) -> Any:
        if name in self._node.attributes:
            return plain(self._node.attributes[name].value)
        return schema_defaults(self.op_type, self.opset).get(name)

    def settings(self) -> tuple[tuple[str, Any], ...]:
        """All attributes that the node or its schema gives a value, sorted by name."""
        names = sorted({*schema_defaults(self.op_type, self.opset), *self._node.attributes})
        pairs = ((name, self.attribute(name)) for name in names)
        return tuple((name, value) for name, value in pairs if value is not None)

    def has(self, position: int) -> bool:
        return position < self.count and self._node.inputs[position] is not None

    def is_same(self, position: int, other: int) -> bool:
        """Whether two operands are one value."""
        return (
            self.has(position) and self.has(other) and self._node.inputs[position] is self._node.inputs[other]
        )

    def fact(self, position: int) -> Fact:
        value = self._node.inputs[position] if self.has(position) else None
        return ABSENT if value is None else self._facts.get(value, UNKNOWN)

    def ints(self, position: int) -> tuple[int, ...] | None:
        """The elements of a constant integer input; None if it is absent or not known."""
        return self.fact(position).ints if self.has(position) else None

    def array(self, position: int) -> np.ndarray[Any, Any] | None:
        """The elements of a constant input, however many; None if it is absent or not constant."""
        value = self._node.inputs[position] if self.has(position) else None
        known = None if value is None else value.const_value
        return None if known is None else known.numpy()

    def out(self, position: int) -> Fact:
        return self._facts.get(self._node.outputs[position], UNKNOWN)

    def uses_output(self, position: int) -> bool:
        if position >= self.output_count:
            return False
        value = self._node.outputs[position]
        return bool(value.name) and (bool(value.uses()) or value.is_graph_output())
