"""How large the parts of a model are: what is too large to be looked into is handed on as it came."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import GraphProto, ModelProto, NodeProto

from egraph_opt.model.encoding import bodies_of
from egraph_opt.model.structure import describe

MOST_OPERANDS = 1024
"""Of one node, and as many outputs: a list of operands takes time and memory that grow with its square."""

LONGEST_ATTRIBUTE = 1 << 16
"""Numbers or texts in one attribute."""

DEEPEST_BODIES = 24
"""Bodies within bodies: each is three messages within each other, of which protobuf reads a hundred."""


def too_much(model: ModelProto) -> str | None:
    """What of a model is too large; None where nothing is."""
    for graph, depth in _graphs(model):
        if depth > DEEPEST_BODIES:
            return f"bodies are nested deeper than {DEEPEST_BODIES}"
        for node in graph.node:
            if problem := _of_node(node):
                return f"{describe(node)} {problem}"
    return None


def _graphs(model: ModelProto) -> Iterator[tuple[GraphProto, int]]:
    waiting = [(model.graph, 0)]
    while waiting:
        graph, depth = waiting.pop()
        yield graph, depth
        waiting.extend((body, depth + 1) for node in graph.node for body in bodies_of(node))


def _of_node(node: NodeProto) -> str:
    for side, names in (("inputs", node.input), ("outputs", node.output)):
        if len(names) > MOST_OPERANDS:
            return f"has {len(names)} {side}, and not {MOST_OPERANDS} at most"
    for attribute in node.attribute:
        length = max(len(attribute.ints), len(attribute.floats), len(attribute.strings))
        if length > LONGEST_ATTRIBUTE and node.op_type != "Constant":
            most = f"and not {LONGEST_ATTRIBUTE} at most"
            return f"has an attribute {attribute.name!r} of {length} entries, {most}"
        if attribute.ref_attr_name:
            return f"has an attribute {attribute.name!r} that refers to one of a function, and is in none"
    return ""
