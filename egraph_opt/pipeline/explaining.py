"""A derivation as an explanation: its differences in words, with laws, prices and alternatives."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import onnx_ir as ir

from egraph_opt.errors import UnknownTensorError
from egraph_opt.graph.differences import Differences, GraphDifference, differences
from egraph_opt.graph.names import names_in
from egraph_opt.laws.law import registered
from egraph_opt.pipeline.derivation import Derivation
from egraph_opt.pipeline.tensor_alternatives import tensor_alternatives
from egraph_opt.report.constant_changes import constant_lines, weights_of
from egraph_opt.report.diff_view import diff_view
from egraph_opt.report.explanation import (
    Contribution,
    ExplainedDifference,
    Explanation,
    LawOfDifference,
    NextBest,
    NodeLine,
)
from egraph_opt.report.figures import RewriteReport
from egraph_opt.report.html import html_page
from egraph_opt.report.node_text import node_text
from egraph_opt.report.optimization import Report
from egraph_opt.report.summary import headline


def explanation_of(derivation: Derivation, report: Report, node: str | None = None) -> Explanation:
    """What was done, or what was done about one node or tensor, with what else could have been.

    Args:
        node: the name of a node or a tensor, of the model or of the result.

    Raises:
        UnknownTensorError: neither has that name; suggests the nearest.
    """
    if node is not None:
        known = {*names_in(derivation.given.graph), *names_in(derivation.result.graph)}
        if node not in known:
            raise UnknownTensorError(node, sorted(known))
    found = found_in(derivation)
    explanation = _explanation(_all_explained(derivation, found), len(found.kept), report)
    if node is None:
        return explanation
    about = (entry for entry in explanation.differences if node in entry.names())
    shown = tuple(replace(entry, next_best=_next_best(derivation, entry)) for entry in about)  # each a search
    return replace(explanation, differences=shown, about=node, unchanged=_as_it_was(derivation, node))


def _as_it_was(derivation: Derivation, name: str) -> str:
    """What is said of a node or a tensor that is part of no difference."""
    sides = [model.graph for model in (derivation.given, derivation.result)]
    if any(value.name == name for value in sides[0].inputs):
        return "an input of the model"
    there = [name in set(names_in(graph)) for graph in sides]
    if all(there):
        is_constant = all(name in weights_of(list(graph)) for graph in sides)
        return "a constant of the model, as it was" if is_constant else "computed as in the model"
    return "in the model only, where nothing that is left needs it" if there[0] else "in the result only"


def result_page(derivation: Derivation, title: str, report: Report) -> str:
    """The page of a report."""
    found = found_in(derivation)
    explained = _all_explained(derivation, found)
    explanation, order = _explanation(explained, len(found.kept), report), _order(explained)
    numbers = [order.index(k) for k in range(len(order))]
    laws = {node: law for node in derivation.result.graph if (law := derivation.law_of(node))}
    view = diff_view(derivation.given.graph, derivation.result.graph, found, numbers, laws)
    return html_page(title, explanation, view, report, _by_operator(derivation))


def _by_operator(derivation: Derivation) -> list[tuple[str, float, float]]:
    """What operators cost before and after, the most expensive ones first."""
    sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for side, costs in enumerate((derivation.costs_before(), derivation.costs_after())):
        for node, cost in costs.items():
            sums[node.op_type][side] += cost
    rows = [(name, before, after) for name, (before, after) in sums.items() if before or after]
    return sorted(rows, key=lambda row: (-max(row[1:]), row[0]))


def found_in(derivation: Derivation) -> Differences:
    """Where the result differs from the model."""
    return differences(derivation.given, derivation.result, derivation.same)


def _all_explained(derivation: Derivation, found: Differences) -> list[ExplainedDifference]:
    before, after = derivation.costs_before(), derivation.costs_after()
    return [_explained(derivation, difference, before, after) for difference in found.found]


def _order(explained: Sequence[ExplainedDifference]) -> list[int]:
    """Those that save most first."""
    return sorted(range(len(explained)), key=lambda k: (-explained[k].saved, k))


def _explanation(explained: Sequence[ExplainedDifference], kept: int, report: Report) -> Explanation:
    main = math.fsum(entry.saved for entry in explained if not entry.within)
    return Explanation(
        report.cost.model,
        report.cost.unit,
        headline(report),
        tuple(explained[k] for k in _order(explained)),
        kept,
        report.cost.before - report.cost.after - main,
        _contributions(report.rewrites),
    )


def _explained(
    derivation: Derivation,
    difference: GraphDifference,
    before: Mapping[ir.Node, float],
    after: Mapping[ir.Node, float],
) -> ExplainedDifference:
    wrote, joined = derivation.laws_of(difference)
    return ExplainedDifference(
        difference.within,
        difference.gives,
        tuple(_line(node, "", before.get(node, 0.0)) for node in difference.before),
        tuple(_line(node, derivation.law_of(node), after.get(node, 0.0)) for node in difference.after),
        constant_lines(difference.before, difference.after),
        tuple(_law(key, recorded=True) for key in wrote) + tuple(_law(key, recorded=False) for key in joined),
        math.fsum(before.get(node, 0.0) for node in difference.before),
        math.fsum(after.get(node, 0.0) for node in difference.after),
        outputs=difference.outputs,
        weights=weights_of((*difference.before, *difference.after)),
    )


def _law(key: str, *, recorded: bool) -> LawOfDifference:
    known = registered.get(key)
    return LawOfDifference(key, "" if known is None else " ".join(known.formula.split()), recorded)


def _line(node: ir.Node, law: str, cost: float) -> NodeLine:
    tensors = tuple(value.name for value in node.outputs if value.name)
    return NodeLine(node.name or "", tensors, node_text(node), law, cost)


def _next_best(derivation: Derivation, difference: ExplainedDifference) -> NextBest | None:
    """What else the first tensor of a difference could be computed by, and costs least."""
    last = derivation.iterations[-1]
    model = derivation.iterations[-2].model if len(derivation.iterations) > 1 else derivation.given
    for name in difference.gives:
        try:
            ways = tensor_alternatives(last.region, last.extracted, last.key, model, name)
        except UnknownTensorError:
            continue
        others = [way for way in ways if not way.chosen]
        if others:
            way = others[0]
            return NextBest(name, str(way), way.law or "original", way.difference, way.proved)
    return None


def _contributions(rewrites: Iterable[RewriteReport]) -> tuple[Contribution, ...]:
    """What the laws of each ruleset did."""
    rows: defaultdict[str, list[RewriteReport]] = defaultdict(list)
    for row in rewrites:
        rows[row.ruleset].append(row)
    found = [
        Contribution(
            ruleset,
            sum(row.matches for row in of_ruleset),
            sum(row.used for row in of_ruleset),
            math.fsum(row.saved for row in of_ruleset),
        )
        for ruleset, of_ruleset in rows.items()
    ]
    return tuple(sorted(found, key=lambda row: (-row.saved, -row.used, row.ruleset)))
