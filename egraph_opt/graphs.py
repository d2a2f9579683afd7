"""Walks over onnx_ir graphs: bodies, captured values, determinism."""

from __future__ import annotations

from collections.abc import Iterator

import onnx
import onnx_ir as ir

_RANDOM = frozenset(
    ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
)


def bodies(node: ir.Node) -> list[ir.Graph]:
    """The graphs among a node's attributes, by attribute name."""
    found: list[ir.Graph] = []
    for name in sorted(node.attributes):
        attribute = node.attributes[name]
        if attribute.is_ref():
            continue
        if attribute.type == ir.AttributeType.GRAPH:
            found.append(attribute.as_graph())
        elif attribute.type == ir.AttributeType.GRAPHS:
            found.extend(attribute.as_graphs())
    return found


def nodes_within(node: ir.Node) -> Iterator[ir.Node]:
    """The nodes of a node's bodies at any depth."""
    pending = bodies(node)
    while pending:
        for inner in pending.pop():
            yield inner
            pending.extend(bodies(inner))


def captured_values(node: ir.Node) -> list[ir.Value]:
    """The outer values that a node's bodies use at any depth, once each, in order of first use."""
    graphs = bodies(node)
    if not graphs:
        return []
    inner: set[ir.Value] = set()
    used: dict[ir.Value, None] = {}
    position = 0
    while position < len(graphs):
        graph = graphs[position]
        position += 1
        inner.update(graph.inputs)
        inner.update(graph.initializers.values())
        for body_node in graph:
            inner.update(body_node.outputs)
            used.update((v, None) for v in body_node.inputs if v is not None)
            graphs.extend(bodies(body_node))
        used.update((v, None) for v in graph.outputs)
    return [value for value in used if value not in inner]


def _is_standard(node: ir.Node, opset: int | None = None) -> bool:
    if node.domain in ("", "ai.onnx"):
        return onnx.defs.has(node.op_type)
    return bool(node.domain.startswith("ai.onnx")) and onnx.defs.has(node.op_type, node.domain)


def _draws(node: ir.Node) -> bool:
    """A node that itself may answer differently on equal operands."""
    if not _is_standard(node):
        return True
    if node.op_type == "Dropout":
        if node.version is not None and node.version < 7:
            return True
        return len(node.inputs) > 2 and node.inputs[2] is not None
    return node.op_type in _RANDOM


def is_deterministic(node: ir.Node) -> bool:
    """Whether equal operands give equal outputs: no random operator or unknown domain in it or its bodies."""
    return not _draws(node) and not any(_draws(inner) for inner in nodes_within(node))
