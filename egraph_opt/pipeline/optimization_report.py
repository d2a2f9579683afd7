"""The account of an optimisation: what stages found and chose, as a `Report`.

With what the chosen graph costs, operator by operator, and which resource binds each.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import onnx_ir as ir

from egraph_opt.cost.expansion import is_pseudo
from egraph_opt.cost.model import CostModel
from egraph_opt.graph.node_counts import NodeCount, nodes_of, operators_between
from egraph_opt.graph.walks import same_graph
from egraph_opt.laws.exactness import CLASSES, REAL, Exactness
from egraph_opt.laws.proved import was_proved
from egraph_opt.operators.declaration import operator_named
from egraph_opt.pipeline.costly_nodes import costly_nodes
from egraph_opt.pipeline.hints import dequantized_hint, free_sizes_hint, hints_of, opset_hint, sizes_of
from egraph_opt.pipeline.original import totals_of
from egraph_opt.pipeline.region import Region
from egraph_opt.pipeline.region_extraction import Extracted
from egraph_opt.pipeline.size_points import SizePoint, mean_cost
from egraph_opt.rebuild.choice import Choice
from egraph_opt.rebuild.value_info import NodeOrigin
from egraph_opt.report.composites import find_composites
from egraph_opt.report.figures import (
    CostReport,
    ExactnessReport,
    GrowthReport,
    LatencyReport,
    MemoryReport,
    NodesReport,
    OpenPiece,
    OperatorCost,
    RewriteReport,
    RulesetReport,
    SizeReport,
)
from egraph_opt.report.optimization import Report
from egraph_opt.verification.result import AS_IT_CAME, Verification

UNNAMED = "model.onnx"
"""The result, as long as it is no file."""


@dataclass(frozen=True)
class Account:
    """What is known of one extraction besides its result.

    Attributes:
        model: the cost model.
        points: what symbolic dims stood for.
        counts: the nodes of the input.
        verification: of verification.
        seconds: by stage.
        warnings: of all stages.
        memory: before and after.
        exactness: what the result was to keep.
        before: what the model costs as the target's compiler runs it.
        observed: how many of the points a run has shown.
        said: names of those that were given.
        sizes: all at which graphs were priced.
    """

    model: CostModel
    points: Mapping[str, int]
    counts: NodeCount
    verification: Verification
    seconds: Mapping[str, float]
    warnings: Sequence[str]
    memory: MemoryReport = field(default_factory=MemoryReport)
    exactness: Exactness = REAL
    before: float = math.nan
    observed: int = 0
    said: frozenset[str] = frozenset()
    sizes: tuple[SizePoint, ...] = ()


def report_unchanged(account: Account, reason: str) -> Report:
    """The account of a model that is handed on as it came, unexamined."""
    counts = account.counts
    return Report(
        status="unchanged",
        reason=reason,
        cost=CostReport(account.model.name, account.model.unit, math.nan, math.nan, math.nan, math.nan),
        nodes=NodesReport(counts.file, counts.file, counts.runtime, counts.runtime),
        verification=AS_IT_CAME,
        seconds=account.seconds,
        warnings=tuple(account.warnings),
        operators=operators_between(counts, counts),
        exactness=ExactnessReport(account.exactness),
    )


def report_of(
    account: Account,
    region: Region,
    extracted: Extracted,
    written: ir.Model,
    rewrites: tuple[RewriteReport, ...],
    *,
    origins: Mapping[ir.Node, NodeOrigin],
    is_same: bool = True,
) -> Report:
    """The account of an optimised model; `fallback` where verification failed, and so it is not used.

    Args:
        origins: of the nodes of `written`.
        is_same: the region is of the model as it came.
    """
    failed = account.verification.status == "failed"
    counts = account.counts
    after = counts if failed else nodes_of(written)
    parts = extracted.walk()
    as_written = mean_cost(region.original, account.model, account.sizes)
    before = account.before
    status, reason = "optimized", ""
    if failed:
        status, reason = "fallback", account.verification.detail
    elif is_same and after.file == counts.file and same_graph(region.lowered.graph, written.graph):
        status, reason = "unchanged", "nothing cheaper was found"
    composites = _composites(region.walk())
    free = [value for value in written.graph.inputs if value.name not in written.graph.initializers]
    inputs = {str(value.name): sizes_of(value, account.points) for value in free}
    totals = totals_of(region.original, account.model, account.points)
    sides = {
        side: (total, total if failed else _total(account.model, side, parts[0]))
        for side, total in totals.items()
    }
    cost = replace(_cost(account, before, parts, failed), written=as_written, sides=sides)
    if not failed and len(account.sizes) == 1:  # what is costly is so at one size
        asked = (account.model, region.original, account.points, parts[0])
        cost = replace(cost, costly=costly_nodes(*asked, written=written, origins=origins))
    hints = (
        *hints_of(written, after.runtime, account.points),
        *free_sizes_hint(written, account.points, account.said, account.model.free_sizes_factor),
        *opset_hint(composites, region.lowered.opset),
        *dequantized_hint(written),
    )
    return Report(
        status=status,
        reason=reason,
        cost=cost,
        nodes=NodesReport(counts.file, after.file, counts.runtime, after.runtime),
        memory=account.memory.unchanged() if failed else account.memory,
        saturation=_saturation(region.walk()),
        rewrites=rewrites,
        rulesets=_rulesets(region.walk()),
        verification=account.verification,
        seconds=account.seconds,
        warnings=tuple(account.warnings),
        operators=operators_between(counts, after),
        composites=composites,
        exactness=_exactness(account.exactness, rewrites),
        hints=() if failed else hints,
        inputs=inputs,
        command=account.model.build_command(inputs, UNNAMED),
    )


def _exactness(asked: Exactness, rewrites: Sequence[RewriteReport]) -> ExactnessReport:
    """Of which classes the laws are that were used, and those that matched."""
    rows = [row for row in rewrites if row.used or row.saves]
    used = Counter(row.numerics for row in rows)
    matched = Counter(row.numerics for row in rewrites if row.matches)
    return ExactnessReport(
        asked,
        {numerics: used[numerics] for numerics in CLASSES if used[numerics]},
        {numerics: matched[numerics] for numerics in CLASSES if matched[numerics]},
        sum(was_proved(f"{row.ruleset}.{row.name}") for row in rows),
    )


def handed_back(report: Report, counts: NodeCount, latency: LatencyReport) -> Report:
    """The account where the original is faster than what was found, and so is handed out.

    The clock contradicts the prices, by which something is cheaper: they prove nothing, and what they say of
    the graph that was found is not true of the original.
    """
    unproved = {
        "lower_bound": math.nan,
        "gap": math.nan,
        "by_operator": (),
        "costly": (),
        "open": (),
        "sides": {},
    }
    return replace(
        report,
        status="unchanged",
        reason=latency.reason,
        cost=replace(report.cost, after=report.cost.before, **unproved),  # type: ignore[arg-type]
        nodes=NodesReport(counts.file, counts.file, counts.runtime, counts.runtime),
        memory=report.memory.unchanged(),
        operators=operators_between(counts, counts),
        latency=latency,
    )


def _composites(regions: Sequence[Region]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for region in regions:
        found.update(find_composites(region.lowered, region.snapshot))
    return dict(sorted(found.items()))


def _cost(account: Account, before: float, parts: Sequence[Extracted], failed: bool) -> CostReport:
    """What is known of the cost of a graph, the first of the parts, and of its bodies."""
    solution = parts[0].solution
    return CostReport(
        account.model.name,
        account.model.unit,
        before,
        before if failed else solution.cost,
        solution.lower_bound,
        solution.gap,
        {name: size for name, size in account.points.items() if not name.startswith("?")},  # of inputs
        sum(len(part.solution.pieces) for part in parts),
        _open(parts),
        () if failed else costs_by_operator(account.model, parts[0]),
        sizes=tuple(SizeReport(size.said, size.weight) for size in account.sizes if len(account.sizes) > 1),
        refused=dict(sum((Counter(part.solution.refused) for part in parts), Counter())),
        observed=account.observed,
    )


def _open(parts: Sequence[Extracted]) -> tuple[OpenPiece, ...]:
    """The pieces that are not proved, the largest gap first."""
    found: list[OpenPiece] = []
    for part in parts:
        pieces = [piece for piece in part.solution.pieces if not piece.proved]
        names = part.choice.original_names() if pieces else {}
        for piece in pieces:
            tensors = [names[root].name or "" for root in piece.roots if root in names]
            found.append(OpenPiece(tuple(tensors), piece.nodes, piece.cost, piece.lower_bound))
    return tuple(sorted(found, key=lambda piece: piece.lower_bound - piece.cost))


def _saturation(regions: Sequence[Region]) -> GrowthReport:
    accounts = [region.saturation for region in regions]
    return GrowthReport(
        rounds=accounts[0].rounds,
        nodes=sum(a.nodes for a in accounts),
        classes=sum(a.classes for a in accounts),
        stop=next((a.stop for a in accounts if a.stop != "saturated"), "saturated"),
        by_round=accounts[0].by_round,
    )


def _rulesets(regions: Sequence[Region]) -> tuple[RulesetReport, ...]:
    """Per ruleset the e-nodes that it made, matches and seconds."""
    nodes: Counter[str] = Counter()
    matches: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    for region in regions:
        made = Counter(region.snapshot.made_by.tolist())
        for law, count in made.items():
            nodes[_ruleset(region.snapshot.laws[law - 1]) if law > 0 else "original"] += count
        for key, count in region.saturation.matches.items():
            matches[_ruleset(key)] += count
        seconds.update(region.saturation.seconds)
    names = sorted({*nodes, *matches, *seconds})
    rows = [RulesetReport(name, nodes[name], matches[name], seconds[name]) for name in names]
    return tuple(sorted(rows, key=lambda row: -row.nodes))


def _ruleset(key: str) -> str:
    return key.rsplit(".", 1)[0]


@dataclass
class _Sum:
    """Of one operator, while it is added up."""

    nodes: int = 0
    cost: float = 0.0
    resources: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    tensors: list[str] = field(default_factory=list)


def _total(model: CostModel, side: str, extracted: Extracted) -> float:
    """What one side of the target has to do for the nodes of a graph, those of bodies aside."""
    view = extracted.prices.view
    if view is None:
        return math.nan
    chosen = extracted.choice.node[extracted.choice.node >= 0].tolist()
    numbers = [int(view.view[node]) for node in chosen if view.view[node] >= 0 and not view.once[node]]
    return math.fsum(model.time_of(view.views[number], side) for number in numbers)


def costs_by_operator(model: CostModel, extracted: Extracted) -> tuple[OperatorCost, ...]:
    """The cost of the nodes of a graph by operator; If, Loop and Scan with what their bodies cost."""
    view = extracted.prices.view
    if view is None:
        return ()
    choice = extracted.choice
    snapshot, names = choice.snapshot, _names(choice)
    found: defaultdict[str, _Sum] = defaultdict(_Sum)
    described: dict[int, tuple[str, Mapping[str, float]]] = {}  # by view: many nodes share one
    for node in choice.node[choice.node >= 0].tolist():
        if view.view[node] < 0 or view.once[node]:
            continue
        number = int(view.view[node])
        if number not in described:
            seen = view.views[number]
            described[number] = model.kernel_name(seen), model.breakdown(seen)
        name, resources = described[number]
        entry = found[name]
        entry.nodes += 1
        entry.cost += float(extracted.prices.cost[node])
        for resource, share in resources.items():
            entry.resources[resource] += share
        if _converts(extracted, node):
            entry.tensors.append(names.get(snapshot.plain[int(snapshot.node_class[node])], ""))
    rows = (
        OperatorCost(
            name,
            entry.nodes,
            entry.cost,
            dict(sorted(entry.resources.items())),
            tuple(sorted(filter(None, entry.tensors))),
        )
        for name, entry in found.items()
        if not math.isclose(entry.cost, 0.0)
    )
    return tuple(sorted(rows, key=lambda row: (-row.cost, row.operator)))


def _converts(extracted: Extracted, node: int) -> bool:
    """Whether a pseudo-operator is its operand in another format."""
    snapshot, opset = extracted.choice.snapshot, extracted.choice.lowered.opset
    if not is_pseudo(snapshot, node, opset):
        return False
    expand = operator_named(snapshot.operator[node]).expand
    return expand is not None and expand(snapshot.attributes[node]) == ()


def _names(choice: Choice) -> dict[int, str]:
    """Per class the name of a value of the original, graph inputs included."""
    classes, terms = choice.snapshot.term_classes, choice.lowered.term_of
    named = {int(classes[terms[v]]): v.name or "" for v in choice.lowered.graph.inputs if v in terms}
    return {**named, **{owner: value.name or "" for owner, value in choice.original_names().items()}}
