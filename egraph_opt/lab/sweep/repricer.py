"""What is reported of a chosen graph, and an e-graph that answers the same prices only once."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from egraph_opt.cost.model import CostModel
from egraph_opt.cost.repricing import Key, key_of
from egraph_opt.errors import ExtractionError
from egraph_opt.graph.node_counts import nodes_of
from egraph_opt.lab.greedy.terms import graph_fingerprint, terms_of
from egraph_opt.pipeline.region import Region
from egraph_opt.pipeline.region_extraction import Extracted
from egraph_opt.pipeline.saturated import Saturated
from egraph_opt.pipeline.uses_of_laws import uses_of_laws
from egraph_opt.rebuild.graph import rebuild_model

HASH_LENGTH = 12

BODY_COSTS = (1.0, 1e6)
"""What bodies are priced at where prices are compared: what they cost is not known before they are solved.

The second body of a node is priced at twice that, so that shares of branches are seen.
"""


@dataclass(frozen=True)
class ChosenGraph:
    """A graph that was chosen.

    Attributes:
        key: a hash of it, the same in every process: of two graphs of one model with the same key all nodes
            are the same, pseudo-operators taken as the nodes that they are.
        nodes: how many run.
        operators: how many run, by operator.
        laws: how many nodes each law made.
    """

    key: str
    nodes: int
    operators: Mapping[str, int]
    laws: Mapping[str, int]


@dataclass(frozen=True)
class Cheapest:
    """The cheapest graph that was found under some prices.

    Attributes:
        price, bound: in the cost model's unit; no graph costs less than the bound.
        gap: (price - bound) / price.
    """

    price: float
    bound: float
    gap: float
    seconds: float
    graph: ChosenGraph


def graph_key(extracted: Extracted) -> str:
    """A hash of the chosen graph and its bodies."""
    content = repr([graph_fingerprint(terms_of(part.choice)) for part in extracted.walk()])
    return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()[:HASH_LENGTH]


class Repricer:
    """A saturated model that is asked for the cheapest graph under many cost models.

    Many parameters leave the prices of a model's nodes as they are: prices that were seen are not solved
    again.

    Args:
        start: a graph that is the answer wherever none is cheaper; by default the original.

    Raises:
        ExtractionError: there is nothing to choose from, for the reason that it gives.
    """

    def __init__(self, saturated: Saturated, start: Extracted | None = None) -> None:
        if saturated.region is None:
            raise ExtractionError(f"{saturated.loaded.source}: {saturated.reason}")
        self.saturated, self.region, self.start = saturated, saturated.region, start
        self._graphs: dict[str, ChosenGraph] = {}
        self._known: dict[tuple[str, str], Cheapest] = {}

    @property
    def stop(self) -> str:
        """What ended saturation: "saturated", or the limits that did."""
        reasons = {part.saturation.stop for part in self.region.walk()}
        return " ".join(sorted(reasons - {"saturated"})) or "saturated"

    def prices(self, model: CostModel) -> str:
        """A hash of all prices under a cost model: where two have the same one they choose the same graph."""
        saturated = self.saturated
        key = key_of(model, saturated.points(model), saturated.limits.fold_bytes)
        found = hashlib.sha256(repr((sorted(key.target.pseudo_operators), key[1:])).encode())
        for part in self.region.walk():
            for cost in BODY_COSTS[: 1 + bool(part.bodies)]:
                bodies = [
                    [cost * (1 + place) for place in range(len(part.bodies.get(k, ())))]
                    for k in range(len(part.lowered.kept))
                ]
                found.update(part.compiled(key).view.prices(model, bodies).cost.tobytes())
        return found.hexdigest()

    def ask(self, model: CostModel, extractor: str = "auto") -> Cheapest:
        """The cheapest graph under a cost model.

        Raises:
            TargetMismatchError: the e-graph lacks what the cost model brings.
            ExtractionError: a price that is negative or no number.
        """
        start = time.perf_counter()
        key = self.prices(model), extractor
        if key not in self._known:
            self._known[key], _ = self.solve(model, extractor)
        return replace(self._known[key], seconds=time.perf_counter() - start)

    def solve(self, model: CostModel, extractor: str = "auto") -> tuple[Cheapest, Extracted]:
        """The cheapest graph under a cost model, and what `price` takes: much more than is kept of many.

        Raises:
            As `ask`.
        """
        start = time.perf_counter()
        extracted = self.saturated.solve(model, extractor=extractor, warm=self.start, on_interrupt="raise")
        found, graph = extracted.solution, self._described(extracted)
        seconds = time.perf_counter() - start
        return Cheapest(found.cost, found.lower_bound, found.gap, seconds, graph), extracted

    def price(self, extracted: Extracted, model: CostModel) -> float:
        """What a graph that was chosen here costs under a cost model, whatever that brings to saturation."""
        key = key_of(model, self.saturated.points(model), self.saturated.limits.fold_bytes)
        return _price(self.region, extracted, model, key)

    def _described(self, extracted: Extracted) -> ChosenGraph:
        """What is reported of a graph, which is rebuilt the first time that it is seen."""
        key = graph_key(extracted)
        if key not in self._graphs:
            counts = nodes_of(rebuild_model(extracted.choice, self.saturated.loaded.model))
            uses = uses_of_laws(self.region.walk(), extracted.walk())
            laws = {f"{use.ruleset}.{use.name}": use.used for use in uses if use.used}
            self._graphs[key] = ChosenGraph(key, counts.runtime, counts.operators, laws)
        return self._graphs[key]


def _price(region: Region, extracted: Extracted, model: CostModel, key: Key) -> float:
    inner = iter(extracted.bodies)
    costs = {
        k: [_price(body, next(inner), model, key) for body in graphs] for k, graphs in region.bodies.items()
    }
    bodies = [costs.get(k, []) for k in range(len(region.lowered.kept))]
    chosen = extracted.solution.nodes
    return math.fsum(region.compiled(key).view.prices(model, bodies).cost[chosen].tolist())


def changed_operators(before: ChosenGraph, after: ChosenGraph) -> dict[str, int]:
    """By how many nodes each operator differs."""
    return _difference(before.operators, after.operators)


def changed_laws(before: ChosenGraph, after: ChosenGraph) -> dict[str, int]:
    """By how many nodes what each law made differs."""
    return _difference(before.laws, after.laws)


def _difference(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    found = {name: after.get(name, 0) - before.get(name, 0) for name in sorted({*before, *after})}
    return {name: number for name, number in found.items() if number}
