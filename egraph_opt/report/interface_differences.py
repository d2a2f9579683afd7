"""Differences of models that are in no node: opsets, inputs, outputs, defaults, signatures of functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

import onnx_ir as ir

from egraph_opt.foreign_text import printable
from egraph_opt.graph.content import Contents, default_of
from egraph_opt.graph.differences import Differences, GraphPair, constant_tensor, function_name
from egraph_opt.graph.walks import as_written, nodes_within
from egraph_opt.report.constant_changes import change_of
from egraph_opt.report.node_text import type_text

Opsets = Mapping[str, int]


def interface_differences(before: ir.Model, after: ir.Model, found: Differences) -> tuple[str, ...]:
    """A line of text for each, in a fixed order: ``input x: float32[2] -> float32[N]``."""
    used = {*_domains(before.graph), *_domains(after.graph)}
    lines = [*_opsets(before.opset_imports, after.opset_imports, used)]
    lines += _values("input", before.graph.inputs, after.graph.inputs)
    lines += _defaults(before.graph, after.graph)
    lines += _values("output", before.graph.outputs, after.graph.outputs)
    for identifier, function in before.functions.items():
        other = after.functions.get(identifier)
        lines += () if other is None else _functions(function, other)
    for pair in found.graphs:
        lines += _inside(pair)
    return tuple(lines)


def _domains(graph: ir.Graph) -> Set[str]:
    nodes = (inner for node in graph for inner in (node, *nodes_within(node)))
    return {"", *("" if node.domain == "ai.onnx" else node.domain for node in nodes)}


def _opsets(before: Opsets, after: Opsets, used: Set[str], where: str = "") -> Iterator[str]:
    """The versions of the domains that nodes are of."""
    one, other = ({"" if d == "ai.onnx" else d: n for d, n in said.items()} for said in (before, after))
    for domain in sorted(used & {*one, *other}):
        if one.get(domain) != other.get(domain):
            name = printable(domain) or "ai.onnx"
            yield f"opset of {name}{where}: {one.get(domain, 'none')} -> {other.get(domain, 'none')}"


def _values(
    kind: str, before: Sequence[ir.Value], after: Sequence[ir.Value], where: str = ""
) -> Iterator[str]:
    """Names with their order, and types of those that both have."""
    yield from _order(kind, before, after, where)
    others = {value.name: value for value in after}
    for value in before:
        other = others.get(value.name)
        if other is not None and _kind(value) != _kind(other):
            name = printable(value.name or "")
            yield f"{kind} {name}{where}: {_kind(value) or 'any'} -> {_kind(other) or 'any'}"


def _order(kind: str, before: Sequence[ir.Value], after: Sequence[ir.Value], where: str) -> Iterator[str]:
    one, other = ([printable(value.name or "") for value in side] for side in (before, after))
    if one != other:
        yield f"{kind}s{where}: {', '.join(one) or 'none'} -> {', '.join(other) or 'none'}"


def _kind(value: ir.Value) -> str:
    if value.type is None or isinstance(value.type, ir.TensorType):
        return type_text(value)
    return printable(f"{value.type} {type_text(value)}")


def _defaults(before: ir.Graph, after: ir.Graph) -> Iterator[str]:
    """What inputs are where nobody gives them."""
    contents = Contents()
    there = {value.name for value in after.inputs}
    for value in before.inputs:
        if value.name not in there:
            continue
        name = printable(value.name or "")
        one, other = (default_of(graph, value.name or "") for graph in (before, after))
        if one is None or other is None:
            if one is not other:
                was, now = ("none" if tensor is None else "given" for tensor in (one, other))
                yield f"default of input {name}: {was} -> {now}"
        elif contents.key(one) != contents.key(other):
            yield f"default of input {name}: {change_of(one, other)}"


def _functions(before: ir.Function, after: ir.Function) -> Iterator[str]:
    """What is said of a function around its nodes."""
    where = f" of function {printable(function_name(before))}"
    used = {*_domains(before.graph), *_domains(after.graph)}
    yield from _opsets(before.opset_imports, after.opset_imports, used, where)
    yield from _order("input", before.inputs, after.inputs, where)
    for name in sorted({*before.attributes, *after.attributes}):
        one, other = (
            as_written([(name, side.attributes[name])]) if name in side.attributes else ()
            for side in (before, after)
        )
        if one != other:
            yield f"attribute {printable(name)}{where}: another default"


def _inside(pair: GraphPair) -> Iterator[str]:
    """Outputs by position: of bodies and functions, which have no names that count, and constant ones."""
    where = f" in {printable(' / '.join(pair.within))}" if pair.within else ""
    bodies = bool(pair.within) and not pair.within[0].startswith("function ")
    if bodies:
        yield from _order("input", pair.before.inputs, pair.after.inputs, where)
    moved = [
        (one, other) for one, other in pair.moved if one is None or other is None or one.name != other.name
    ]
    if pair.within and moved:
        yield from _order("output", pair.before.outputs, pair.after.outputs, where)
    for one, other in pair.moved:
        was, now = (None if value is None else constant_tensor(value) for value in (one, other))
        if other is not None and was is not None and now is not None:
            yield f"output {printable(other.name or '')}{where}: {change_of(was, now)}"
