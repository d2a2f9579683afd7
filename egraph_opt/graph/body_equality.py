"""Keys of bodies: equal for graphs that compute the same from what they capture, whatever the names."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import onnx_ir as ir

from egraph_opt.graph.content import tensor_key
from egraph_opt.graph.walks import bodies


def bodies_key(graphs: Sequence[ir.Graph], captured: Mapping[ir.Value, Hashable]) -> Hashable | None:
    """Equal for bodies of equal nodes, in order, on equal operands; None where that cannot be told.

    Args:
        captured: by outer value that the bodies use, what stands for it.
    """
    writer = _KeyWriter(captured)
    pending = list(graphs)
    for graph in pending:
        inner = writer.graph(graph)
        if inner is None:
            return None
        pending.extend(inner)
    return tuple(writer.tokens)


class _KeyWriter:
    """Graphs as tokens; values go by the order in which they are made."""

    def __init__(self, captured: Mapping[ir.Value, Hashable]) -> None:
        self.tokens: list[Hashable] = []
        self._numbers: dict[ir.Value, Hashable] = dict(captured)
        self._made = 0

    def graph(self, graph: ir.Graph) -> list[ir.Graph] | None:
        """Write the nodes of one graph; the bodies within them are still to be written."""
        self.tokens.append(("inputs", tuple(self._declare(v) for v in graph.inputs)))
        for value in graph.initializers.values():
            if value not in self._numbers:
                if value.const_value is None:
                    return None
                self._declare(value)
                self.tokens.append(("initializer", tensor_key(value.const_value)))
        within: list[ir.Graph] = []
        for node in graph:
            attributes = plain_attributes(node)
            inputs = self._uses(node.inputs)
            if attributes is None or inputs is None:
                return None
            outputs = tuple((self._declare(v), bool(v.name)) for v in node.outputs)
            self.tokens.append((node.domain, node.op_type, node.overload, attributes, inputs, len(outputs)))
            self.tokens.append(outputs)
            within.extend(bodies(node))
        outer = self._uses(graph.outputs)
        if outer is None:
            return None
        self.tokens.append(("outputs", outer, tuple(str(v.dtype) for v in graph.outputs)))
        return within

    def _declare(self, value: ir.Value) -> Hashable:
        self._numbers[value] = self._made
        self._made += 1
        return (self._numbers[value], str(value.dtype), str(value.shape)) if value.is_graph_input() else None

    def _uses(self, values: Sequence[ir.Value | None]) -> tuple[Hashable, ...] | None:
        if any(v is not None and v not in self._numbers for v in values):
            return None
        return tuple(None if v is None else self._numbers[v] for v in values)


_PLAIN = {
    ir.AttributeType.FLOAT,
    ir.AttributeType.FLOATS,
    ir.AttributeType.INT,
    ir.AttributeType.INTS,
    ir.AttributeType.STRING,
    ir.AttributeType.STRINGS,
}


def plain_attributes(node: ir.Node) -> str | None:
    """All attributes but bodies as one text; None where one cannot be compared."""
    written: list[tuple[Any, ...]] = []
    for name in sorted(node.attributes):
        attribute = node.attributes[name]
        if attribute.is_ref():
            return None
        if attribute.type in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS):
            written.append((name, int(attribute.type)))
        elif attribute.type == ir.AttributeType.TENSOR:
            written.append((name, tensor_key(attribute.as_tensor())))
        elif attribute.type in _PLAIN:
            written.append((name, int(attribute.type), attribute.value))
        else:
            return None
    return repr(written)
