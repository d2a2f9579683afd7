"""The ranks that inputs must have where ONNX Runtime ends the process at others: in front of an Einsum.

Release 1.31 aborts where an operand has another rank than its subscripts, if that was not known before.
Inputs of open rank are tried with several, so those that go into an Einsum get the one that it asks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import onnx
from onnx import GraphProto, NodeProto

from egraph_opt.model.encoding import bodies_of, graphs_of
from egraph_opt.verification.interface import Interface, ValueSpec


def with_ranks(interface: Interface, model: onnx.ModelProto) -> tuple[Interface, str]:
    """The interface with what Einsums ask of its inputs; why no ranks can be tried, "" where they can."""
    unranked = {spec.name for spec in interface.required if spec.shape is None}
    if not unranked:
        return interface, ""
    functions = {function.name for function in model.functions if any(map(_has_einsum, function.node))}
    if not (functions or any(map(_has_einsum, model.graph.node))):
        return interface, ""
    asked = dict(_asked(model.graph))
    unknown = sorted(_asked_for(model.graph, unranked - asked.keys(), functions))
    if unknown:
        names = ", ".join(unknown[:3])
        return interface, f"inputs of open rank go into an Einsum, which takes one only: {names}"

    def ranked(spec: ValueSpec) -> ValueSpec:
        fixed = spec.name in unranked and spec.name in asked
        return replace(spec, shape=(None,) * asked[spec.name]) if fixed else spec

    return replace(interface, inputs=tuple(ranked(spec) for spec in interface.inputs)), ""


def _is_einsum(node: NodeProto) -> bool:
    return node.op_type == "Einsum" and node.domain in ("", "ai.onnx")


def _has_einsum(node: NodeProto) -> bool:
    """Whether it is one, or one of its bodies has one."""
    inner = (graph.node for body in bodies_of(node) for graph in graphs_of(body))
    return _is_einsum(node) or any(map(_is_einsum, chain.from_iterable(inner)))


def _asked(graph: GraphProto) -> Iterator[tuple[str, int]]:
    """Names of operands of Einsums, and the ranks that these take; of those with an ellipsis the least."""
    for node in filter(_is_einsum, graph.node):
        equation = next((a.s.decode() for a in node.attribute if a.name == "equation"), "")
        terms = equation.replace(" ", "").replace("...", "").split("->")[0].split(",")
        yield from ((name, len(term)) for name, term in zip(node.input, terms, strict=False))


def _asked_for(graph: GraphProto, names: set[str], functions: set[str]) -> set[str]:
    """Which of these inputs of a graph something goes from into an Einsum, in a body or function as well."""
    origins = {name: {name} for name in names}
    found: set[str] = set()
    for node in graph.node:
        inner = (graph.node for body in bodies_of(node) for graph in graphs_of(body))
        read = {*node.input, *(name for other in chain.from_iterable(inner) for name in other.input)}
        sources = set[str]().union(*(origins.get(name, ()) for name in read))
        if _has_einsum(node) or node.op_type in functions:
            found |= sources
        origins.update(dict.fromkeys(node.output, sources))
    return found
