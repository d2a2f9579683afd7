"""Saturation studied: what is lost without each ruleset or law, and how e-graphs grow with models."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from egraph_opt.cost import DEFAULT_COST
from egraph_opt.cost.model import CostModel
from egraph_opt.cost.registry import cost_model
from egraph_opt.cost.repricing import CompiledCache
from egraph_opt.egraph.saturation import saturate_terms
from egraph_opt.errors import ExtractionError, UnknownRulesetError
from egraph_opt.graph.node_counts import nodes_of
from egraph_opt.laws.law import Law
from egraph_opt.laws.selection import select
from egraph_opt.model.reading import ModelSource
from egraph_opt.pipeline.limits import Limits
from egraph_opt.pipeline.region import Region
from egraph_opt.pipeline.saturated import Saturated
from egraph_opt.pipeline.stages import saturate
from egraph_opt.rebuild.graph import rebuild_model


@dataclass(frozen=True)
class AblationRow:
    """A run without some laws.

    Attributes:
        left_out: a ruleset, a law (`ruleset.name`), or "" for none.
        matches: how often what is left out matched where it took part.
        cost: of the cheapest graph, in the cost model's unit.
        nodes: that run in it.
        e_nodes, rounds, stop: of the main graph's saturation.
        seconds: of saturation and choice.
    """

    model: str
    cost_model: str
    left_out: str
    matches: int
    cost: float
    nodes: int
    e_nodes: int
    rounds: int
    stop: str
    seconds: float


def ablate(
    name: str,
    model: ModelSource,
    cost: str | CostModel = DEFAULT_COST,
    *,
    by: str = "ruleset",
    only: Sequence[str] | None = None,
    limits: Limits = Limits(),
    progress: Callable[[float], None] = lambda done: None,
) -> list[AblationRow]:
    """All laws first, then without each ruleset or law that matched, the greatest loss first.

    Args:
        name: of the model, for reports.
        by: "ruleset" or "law".
        only: leave out these only.
        progress: called with the share that is done.

    Raises:
        ExtractionError: there is nothing to choose from.
        UnknownRulesetError: `only` names what there is not.
    """
    target = cost_model(cost)
    saturated = saturate(model, limits=limits, target=target)
    if saturated.region is None:
        raise ExtractionError(f"{saturated.loaded.source}: {saturated.reason}")
    laws = select(None, target.rulesets)
    matches = _matches(saturated, by)
    _check(only, laws, by)
    wanted = [entry for entry in sorted(matches) if only is None or entry in only]
    setting = _Setting(name, saturated, target, laws)
    rows: list[AblationRow] = []
    for done, left_out in enumerate(wanted, start=1):
        rows.append(setting.run(left_out, matches[left_out]))
        progress(done / len(wanted))
    return [setting.run("", 0), *sorted(rows, key=lambda row: (-row.cost, row.left_out))]


def _matches(saturated: Saturated, by: str) -> dict[str, int]:
    """How often each ruleset or law matched, of those that did."""
    found: dict[str, int] = {}
    for region in saturated.region.walk() if saturated.region else ():
        for key, count in region.saturation.matches.items():
            place = key if by == "law" else key.rpartition(".")[0]
            found[place] = found.get(place, 0) + count
    return found


def _check(only: Sequence[str] | None, laws: Sequence[Law], by: str) -> None:
    known = sorted({law.key if by == "law" else law.ruleset for law in laws})
    for entry in only or ():
        if entry not in known:
            raise UnknownRulesetError(entry, known)


@dataclass(frozen=True, eq=False)
class _Setting:
    """What all runs on a model have in common."""

    name: str
    saturated: Saturated
    target: CostModel
    laws: tuple[Law, ...]

    def run(self, left_out: str, matches: int) -> AblationRow:
        """Saturate and choose without some laws."""
        started = time.perf_counter()

        def active(rule: str) -> bool:
            law = rule.partition("#")[0]
            return left_out not in (law, law.rpartition(".")[0])

        assert self.saturated.region is not None
        region = _again(self.saturated.region, self.target, self.laws, active, self.saturated.limits)
        chosen = replace(self.saturated, region=region).solve(self.target)
        nodes = nodes_of(rebuild_model(chosen.choice, self.saturated.loaded.model)).runtime
        seconds, report = time.perf_counter() - started, region.saturation
        found = (chosen.solution.cost, nodes, report.nodes, report.rounds, report.stop)
        return AblationRow(self.name, self.target.name, left_out, matches, *found, seconds)


def _again(
    region: Region, target: CostModel, laws: tuple[Law, ...], active: Callable[[str], bool], limits: Limits
) -> Region:
    """A graph and its bodies, saturated by some of the laws."""
    snapshot, report = saturate_terms(
        region.lowered,
        laws,
        dict(target.limits),
        nodes=limits.nodes,
        rounds=limits.rounds,
        seconds=limits.seconds,
        active=active,
    )
    bodies = {
        key: [_again(body, target, laws, active, limits) for body in inner]
        for key, inner in region.bodies.items()
    }
    return replace(region, snapshot=snapshot, saturation=report, bodies=bodies, cache=CompiledCache())


@dataclass(frozen=True)
class GrowthRow:
    """One model saturated.

    Attributes:
        nodes: that run in the model as it came.
        e_nodes: of all its graphs, bodies included.
        rounds: of the graph that took most.
        stop: "saturated", or the limit that ended one of them.
        seconds: by stage: reading, lowering and saturation.
    """

    model: str
    cost_model: str
    nodes: int
    e_nodes: int
    rounds: int
    stop: str
    seconds: float

    @property
    def per_node(self) -> float:
        """E-nodes for each node that runs."""
        return self.e_nodes / max(self.nodes, 1)


def grow(
    name: str, model: ModelSource, cost: str | CostModel = DEFAULT_COST, *, limits: Limits = Limits()
) -> GrowthRow:
    """Saturate a model for a target."""
    target = cost_model(cost)
    saturated = saturate(model, limits=limits, target=target)
    reports = [region.saturation for region in saturated.region.walk()] if saturated.region else []
    stops = [report.stop for report in reports if report.stop != "saturated"]
    return GrowthRow(
        *(name, target.name, saturated.counts.runtime),
        e_nodes=sum(report.nodes for report in reports),
        rounds=max((report.rounds for report in reports), default=0),
        stop=stops[0] if stops else "saturated",
        seconds=math.fsum(saturated.seconds.values()),
    )
