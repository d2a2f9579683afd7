"""Walks over onnx_ir graphs: bodies, captured values, determinism."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from types import MappingProxyType

import onnx

from egraph_opt.imports import onnx_ir as ir

RANDOM = frozenset(
    ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
)
"""ONNX's operators that draw random numbers."""


_GRAPHS = (int(onnx.AttributeProto.GRAPH), int(onnx.AttributeProto.GRAPHS))
"""The types of attributes that hold bodies, as onnx_ir numbers them as well."""


def bodies(node: ir.Node) -> list[ir.Graph]:
    """The graphs among a node's attributes, by attribute name."""
    attributes = node.attributes.data  # the dict itself: this is asked many times of every node
    if not attributes:
        return []
    names = [name for name, attribute in attributes.items() if attribute.type in _GRAPHS]
    found: list[ir.Graph] = []
    for name in sorted(names):
        attribute = attributes[name]
        if not attribute.is_ref():
            single = attribute.type == ir.AttributeType.GRAPH
            found.extend([attribute.as_graph()] if single else attribute.as_graphs())
    return found


def tensor_of(node: ir.Node) -> str:
    """The first tensor that a node makes, which is what it is called by; "" where it makes none."""
    return next((value.name for value in node.outputs if value.name), "")


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
    return node.op_type in RANDOM


def is_deterministic(
    node: ir.Node, functions: Mapping[ir.OperatorIdentifier, ir.Function] = MappingProxyType({})
) -> bool:
    """Whether equal operands give equal outputs: no random operator or unknown domain in it or its bodies.

    Nor in the functions of the model that it calls.
    """
    return not any(
        inner.op_identifier() not in functions and _draws(inner) for inner in run_by(node, functions)
    )


def run_by(node: ir.Node, functions: Mapping[ir.OperatorIdentifier, ir.Function]) -> Iterator[ir.Node]:
    """A node and all that it runs: in its bodies, and in functions of the model, of each once."""
    pending, called = [node], set[ir.OperatorIdentifier]()
    while pending:
        outer = pending.pop()
        for inner in (outer, *nodes_within(outer)):
            yield inner
            identifier = inner.op_identifier()
            if identifier in functions and identifier not in called:
                called.add(identifier)
                pending.extend(functions[identifier])


def same_graph(a: ir.Graph, b: ir.Graph) -> bool:
    """Whether two graphs have the same nodes on values of the same names, in whatever order.

    Names of nodes and of outputs that nobody uses do not count, and initializers go by their names.
    """
    pending = [(a, b)]
    while pending:
        left, right = pending.pop()
        if [v.name for v in left.outputs] != [v.name for v in right.outputs] or len(left) != len(right):
            return False
        nodes = {_signature(node): node for node in right}
        for node in left:
            other = nodes.get(_signature(node))
            if other is None:
                return False
            pending.extend(zip(bodies(node), bodies(other), strict=True))
    return True


def written_attributes(node: ir.Node) -> tuple[tuple[str, bytes], ...]:
    """The attributes of a node as they are written, its bodies apart."""
    return as_written((name, node.attributes[name]) for name in sorted(node.attributes))


def as_written(named: Iterable[tuple[str, ir.Attr]]) -> tuple[tuple[str, bytes], ...]:
    """Attributes by name as they are written; of bodies only that there are some."""
    attributes = []
    for name, attribute in named:
        kind = attribute.type
        if attribute.is_ref() or kind not in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS):
            attributes.append((name, ir.to_proto(attribute).SerializeToString(deterministic=True)))
        else:
            attributes.append((name, b"GRAPHS" if kind == ir.AttributeType.GRAPHS else b"GRAPH"))
    return tuple(attributes)


def _signature(node: ir.Node) -> Hashable:
    """What a node computes, its bodies apart, and for whom."""
    used = tuple(v.name if v.uses() or v.is_graph_output() else None for v in node.outputs)
    inputs = tuple(None if v is None else v.name for v in node.inputs)
    return (node.op_identifier(), inputs, used, written_attributes(node))
