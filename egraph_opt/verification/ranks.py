"""The ranks that inputs must have where ONNX Runtime ends the process at others: Einsums, kernels of Convs.

Release 1.31 aborts where an operand has another rank than its subscripts, or where image and kernel of a Conv
have less than two axes, if that was not known before.  Inputs of open rank are tried with several, so those
that go there get one that is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import onnx
from onnx import GraphProto, NodeProto

from egraph_opt.model.encoding import bodies_of, graphs_of
from egraph_opt.verification.interface import Interface, ValueSpec

IMAGES = 4
"""The rank of images and kernels that are tried where both are open."""


def with_ranks(interface: Interface, model: onnx.ModelProto) -> tuple[Interface, str]:
    """The interface with what such nodes ask of its inputs; why no ranks can be tried, "" where they can."""
    unranked = {spec.name for spec in interface.required if spec.shape is None}
    if not unranked:
        return interface, ""
    functions = {function.name for function in model.functions if any(map(_has_choosy, function.node))}
    if not (functions or any(map(_has_choosy, model.graph.node))):
        return interface, ""
    asked = dict(_asked(model.graph, unranked))
    unknown = sorted(_asked_for(model.graph, unranked - asked.keys(), functions))
    if unknown:
        names = ", ".join(unknown[:3])
        return interface, f"inputs of open rank go into an Einsum or kernel, which takes one only: {names}"

    def ranked(spec: ValueSpec) -> ValueSpec:
        fixed = spec.name in unranked and spec.name in asked
        return replace(spec, shape=(None,) * asked[spec.name]) if fixed else spec

    return replace(interface, inputs=tuple(ranked(spec) for spec in interface.inputs)), ""


def _choosy(node: NodeProto) -> Sequence[str]:
    """The operands at whose ranks the process may end; a Conv that has a kernel of known rank is safe."""
    if node.domain not in ("", "ai.onnx"):
        return ()
    return tuple({"Einsum": node.input, "Conv": node.input[1:2]}.get(node.op_type, ()))


def _inside(node: NodeProto) -> list[NodeProto]:
    """The nodes of its bodies."""
    return [inner for body in bodies_of(node) for graph in graphs_of(body) for inner in graph.node]


def _has_choosy(node: NodeProto) -> bool:
    """Whether it is one, or one of its bodies has one."""
    return any(map(_choosy, (node, *_inside(node))))


def _asked(graph: GraphProto, unranked: set[str]) -> Iterator[tuple[str, int]]:
    """Operands of Einsums, kernels of Convs with their images, and the ranks that these take.

    Of terms with an ellipsis the least.
    """
    for node in graph.node:
        if node.op_type == "Conv" and unranked.intersection(_choosy(node)):
            yield from ((name, IMAGES) for name in node.input[:2])
        if node.op_type != "Einsum" or not _choosy(node):
            continue
        equation = next((a.s.decode() for a in node.attribute if a.name == "equation"), "")
        terms = equation.replace(" ", "").replace("...", "").split("->")[0].split(",")
        yield from ((name, len(term)) for name, term in zip(node.input, terms, strict=False))


def _asked_for(graph: GraphProto, names: set[str], functions: set[str]) -> set[str]:
    """Which of these inputs of a graph something goes from into such an operand, in a body, too."""
    origins = {name: {name} for name in names}
    known = {tensor.name for tensor in graph.initializer}
    found: set[str] = set()
    for node in graph.node:
        inside = _inside(node)
        read = {*node.input, *(name for inner in inside for name in inner.input)}
        sources = set[str]().union(*(origins.get(name, ()) for name in read))
        if any(set(_choosy(inner)) - known for inner in inside) or node.op_type in functions:
            found |= sources
        found = found.union(*(origins.get(name, ()) for name in _choosy(node)))
        origins.update(dict.fromkeys(node.output, sources))
    return found
