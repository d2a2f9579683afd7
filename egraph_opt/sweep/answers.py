"""What is told of a chosen graph, and an e-graph that answers the same prices only once."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from egraph_opt.cost.model import CostModel
from egraph_opt.cost.repricing import key_of
from egraph_opt.errors import ExtractionError
from egraph_opt.graph.node_counts import nodes_of
from egraph_opt.greedy.terms import fingerprint, terms_of
from egraph_opt.pipeline.region import Region
from egraph_opt.pipeline.region_extraction import Extracted
from egraph_opt.pipeline.saturated import Saturated
from egraph_opt.pipeline.uses_of_laws import uses_of_laws
from egraph_opt.rebuild.graph import rebuild_model

HASH_LENGTH = 12


@dataclass(frozen=True)
class ChosenGraph:
    """A graph that was chosen.

    Attributes:
        key: a hash of it, the same in every process: of two graphs of one model with the same key all nodes
            are the same, pseudo-operators taken as what they stand for.
        nodes: how many run.
        operators: how many run, by operator.
        laws: how many nodes each law made.
    """

    key: str
    nodes: int
    operators: Mapping[str, int]
    laws: Mapping[str, int]


@dataclass(frozen=True)
class Answer:
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
    extracted: Extracted


def graph_key(extracted: Extracted) -> str:
    """A hash of the chosen graph and its bodies."""
    content = repr([fingerprint(terms_of(part.choice)) for part in extracted.walk()])
    return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()[:HASH_LENGTH]


class AnsweringMachine:
    """A saturated model that is asked for the cheapest graph under many cost models.

    Many parameters leave the prices of a model's nodes as they are: prices that were seen are not solved
    again.  (Where there are bodies nothing is kept: what they cost is part of the prices.)

    Raises:
        ExtractionError: there is nothing to choose from, for the reason that it gives.
    """

    def __init__(self, saturated: Saturated) -> None:
        if saturated.region is None:
            raise ExtractionError(f"{saturated.loaded.source}: {saturated.reason}")
        self.saturated, self.region = saturated, saturated.region
        self._graphs: dict[str, ChosenGraph] = {}
        self._answers: dict[tuple[bytes, str], Answer] = {}

    @property
    def stop(self) -> str:
        """What ended saturation: "saturated", or the limits that did."""
        reasons = {part.saturation.stop for part in self.region.walk()}
        return " ".join(sorted(reasons - {"saturated"})) or "saturated"

    def prices(self, model: CostModel) -> bytes:
        """All prices under a cost model, bodies at 1 each: two of the same bytes choose the same graphs."""
        saturated = self.saturated
        key = key_of(model, saturated.points(model), saturated.limits.fold_bytes)
        tables = [hashlib.sha256(repr(key).encode()).digest()]
        for part in self.region.walk():
            bodies = [
                model.of_bodies(node.op_type, [1.0] * len(part.bodies.get(k, ())))
                for k, node in enumerate(part.lowered.kept)
            ]
            tables.append(part.compiled(key).view.prices(model, bodies).cost.tobytes())
        return b"".join(tables)

    def ask(self, model: CostModel, extractor: str = "auto", warm: Extracted | None = None) -> Answer:
        """The cheapest graph under a cost model.

        Args:
            warm: a graph that stays the answer where none is cheaper.

        Raises:
            TargetMismatchError: the e-graph lacks what the cost model brings.
            ExtractionError: a price that is negative or no number.
        """
        start = time.perf_counter()
        key = self.prices(model), extractor
        known = self._answers.get(key) if warm is None and not _has_bodies(self.region) else None
        if known is not None:
            return replace(known, seconds=time.perf_counter() - start)
        extracted = self.saturated.solve(model, extractor=extractor, warm=warm, on_interrupt="raise")
        seconds = time.perf_counter() - start
        found = extracted.solution
        graph = self._described(extracted)
        answer = Answer(found.cost, found.lower_bound, found.gap, seconds, graph, extracted)
        if warm is None:
            self._answers[key] = answer
        return answer

    def _described(self, extracted: Extracted) -> ChosenGraph:
        """What is told of a graph, which is rebuilt the first time that it is seen."""
        key = graph_key(extracted)
        if key not in self._graphs:
            counts = nodes_of(rebuild_model(extracted.choice, self.saturated.loaded.model))
            uses = uses_of_laws(self.region.walk(), extracted.walk())
            laws = {f"{use.ruleset}.{use.name}": use.used for use in uses if use.used}
            self._graphs[key] = ChosenGraph(key, counts.runtime, counts.operators, laws)
        return self._graphs[key]


def _has_bodies(region: Region) -> bool:
    return bool(region.bodies)


def changed_operators(before: ChosenGraph, after: ChosenGraph) -> dict[str, int]:
    """By how many nodes each operator differs."""
    return _difference(before.operators, after.operators)


def changed_laws(before: ChosenGraph, after: ChosenGraph) -> dict[str, int]:
    """By how many nodes what each law made differs."""
    return _difference(before.laws, after.laws)


def _difference(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    found = {name: after.get(name, 0) - before.get(name, 0) for name in sorted({*before, *after})}
    return {name: number for name, number in found.items() if number}
