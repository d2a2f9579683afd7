"""Branches of an If that no run can take, since what follows would fail on what they give.

Exporters write `squeeze where the axis has one element` as an If whose branches differ in rank.  Where an
operator behind it takes one of the two ranks alone, a run that does not fail has taken that branch, and the
result need not ask.  Only ranks count that onnxruntime's kernels refuse, not all that the standard does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import onnx_ir as ir

from egraph_opt.facts.fact import UNKNOWN, Fact
from egraph_opt.graph.running import known_number
from egraph_opt.graph.walks import bodies, captured_values

Facts = Mapping[ir.Value, Fact]

BRANCHES = ("then_branch", "else_branch")

_SEQUENCES = frozenset(("LSTM", "GRU", "RNN"))
_CONVOLUTIONS = frozenset(("Conv", "ConvTranspose"))


def taken_branches(
    graph: ir.Graph,
    facts: Facts,
    gives: Callable[[ir.Graph], list[Fact]],
    supposing: Callable[[Facts], Facts],
) -> dict[ir.Node, bool]:
    """The Ifs of a graph (not of its bodies) of which one branch is impossible: whether `then` is taken.

    Args:
        facts: of the values in the graph and around it.
        gives: the facts of a branch's outputs.
        supposing: the facts of the graph's values where some are given.
    """
    found: dict[ir.Node, bool] = {}
    needed: set[ir.Node] | None = None
    for node in graph:
        if node.op_type != "If" or node.domain not in ("", "ai.onnx") or not _is_open(node, facts):
            continue
        ways = [gives(node.attributes[name].as_graph()) for name in BRANCHES]
        if any(len(way) != len(node.outputs) for way in ways) or not _differ(*ways):
            continue
        needed = _needed(graph) if needed is None else needed
        fails = [_fails(needed, supposing(dict(zip(node.outputs, way, strict=True))), facts) for way in ways]
        if fails[0] != fails[1]:
            found[node] = fails[1]
    return found


def _is_open(node: ir.Node, facts: Facts) -> bool:
    """Whether the condition is not known, and both branches are there."""
    condition = node.inputs[0] if node.inputs else None
    if condition is None or known_number(facts.get(condition, UNKNOWN)) is not None:
        return False
    return all(name in node.attributes and not node.attributes[name].is_ref() for name in BRANCHES)


def _differ(then: list[Fact], otherwise: list[Fact]) -> bool:
    """Whether an output has another rank in each branch."""
    ranks = ((a.rank, b.rank) for a, b in zip(then, otherwise, strict=True))
    return any(a is not None and b is not None and a != b for a, b in ranks)


def _needed(graph: ir.Graph) -> set[ir.Node]:
    """The nodes that the graph's outputs depend on: these run whenever the graph does, for bodies too."""
    pending = [value.producer() for value in graph.outputs]
    found: set[ir.Node] = set()
    for node in pending:
        if node is not None and node not in found and node.graph is graph:
            found.add(node)
            operands = (*node.inputs, *captured_values(node))
            pending += [value.producer() for value in operands if value is not None]
    return found


def _fails(nodes: set[ir.Node], supposed: Facts, facts: Facts) -> bool:
    """Whether a node that runs refuses what it is supposed to get."""
    return any(refuses(node, [_fact(v, supposed, facts) for v in node.inputs]) for node in nodes)


def _fact(value: ir.Value | None, supposed: Facts, facts: Facts) -> Fact:
    if value is None:
        return UNKNOWN
    return supposed[value] if value in supposed else facts.get(value, UNKNOWN)


def refuses(node: ir.Node, operands: list[Fact]) -> bool:
    """Whether onnxruntime's kernel fails on operands of these ranks."""
    if node.domain not in ("", "ai.onnx") or len(operands) < 2 or bodies(node):
        return False
    x, w = operands[0].rank, operands[1].rank
    if x is None:
        return False
    if node.op_type in _SEQUENCES:
        return x != 3
    if node.op_type in _CONVOLUTIONS:
        return w is not None and x != w
    return node.op_type == "Gemm" and x > 2
