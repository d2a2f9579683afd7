"""Passes on one graph of a model: each is saturated alone, one graph is kept, the others are forgotten."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from egraph_opt.cost.model import CostModel
from egraph_opt.cost.pricing import with_given
from egraph_opt.cost.repricing import Compiled, Key, SearchLimits, compiled
from egraph_opt.cost.views import FREE_OF_CHARGE, Prices
from egraph_opt.egraph.attempts import Attempts
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.lab.greedy.dominators import dominator_cost
from egraph_opt.lab.greedy.passes import Acceptance, Pass
from egraph_opt.lab.greedy.terms import TermKey, graph_fingerprint, terms_of
from egraph_opt.laws.law import Law
from egraph_opt.pipeline.limits import Limits
from egraph_opt.rebuild.choice import Choice

KEPT_NODE = 1.0
"""What a blind pass pays for a node that it did not make; one that it made costs a thousandth."""

BodyCosts = tuple[tuple[float, ...], ...]
"""Per kept node the cost of its bodies."""


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph between two passes.

    Attributes:
        number: the same for graphs that compute alike.
    """

    lowered: Lowered
    number: int


@dataclass(frozen=True, eq=False)
class PassSetting:
    """What all graphs of a model have in common.

    Attributes:
        laws: all that take part in any pass, and those of the target.
        of_target: rulesets that belong to the target's compiler, not to a pass: its kernels.
    """

    model: CostModel
    laws: tuple[Law, ...]
    of_target: Pass
    key: Key
    limits: Limits

    def attempts(self) -> Attempts:
        """An engine for a graph and what passes make of it."""
        limits = self.limits
        return Attempts(
            self.laws,
            dict(self.model.limits),
            nodes=limits.nodes,
            rounds=limits.rounds,
            seconds=limits.seconds,
        )


@dataclass(eq=False)
class GreedyRegion:
    """What passes make of one graph, each worked out once."""

    setting: PassSetting
    attempts: Attempts
    numbers: dict[tuple[TermKey, ...], int] = field(default_factory=dict)
    graphs: dict[int, Graph] = field(default_factory=dict)
    costs: dict[tuple[int, BodyCosts], float] = field(default_factory=dict)
    made: dict[tuple[int, BodyCosts, str, Acceptance], Graph] = field(default_factory=dict)

    def graph(self, lowered: Lowered) -> Graph:
        number = self.numbers.setdefault(graph_fingerprint(lowered), len(self.numbers))
        return self.graphs.setdefault(number, Graph(lowered, number))

    def cost(self, graph: Graph, bodies: BodyCosts) -> float:
        """What the target asks for a graph, its own kernels included."""
        if (graph.number, bodies) not in self.costs:
            self.costs[graph.number, bodies] = self._compiled(graph, bodies)[1]
        return self.costs[graph.number, bodies]

    def choice(self, graph: Graph, bodies: BodyCosts) -> Choice:
        """A graph as the target's compiler has it."""
        return self._compiled(graph, bodies)[0]

    def _compiled(self, graph: Graph, bodies: BodyCosts) -> tuple[Choice, float]:
        snapshot = self._saturated(graph, (self.setting.of_target,))
        assert snapshot is not None
        return self._cheapest(graph, snapshot, bodies)

    def grouped_cost(self, graph: Graph, bodies: BodyCosts) -> float:
        """What a graph costs as it stands, with kernels as TVM groups them."""
        snapshot = self._saturated(graph, (self.setting.of_target,))
        assert snapshot is not None
        ready = compiled(graph.lowered, snapshot, self.setting.key)
        cost = ready.view.prices(self.setting.model, bodies).cost
        return dominator_cost(graph.lowered, snapshot, ready, cost)

    def apply(self, graph: Graph, entry: Pass, acceptance: Acceptance, bodies: BodyCosts) -> Graph:
        """A graph after a pass: the same one where it found nothing, or nothing cheaper."""
        key = (graph.number, bodies, entry.name, acceptance)
        if key not in self.made:
            after = self._blind(graph, entry) if acceptance == "blind" else self._gated(graph, entry, bodies)
            self.made[key] = after
        return self.made[key]

    def _gated(self, graph: Graph, entry: Pass, bodies: BodyCosts) -> Graph:
        snapshot = self._saturated(graph, (self.setting.of_target, entry), entry)
        if snapshot is None:
            return graph
        choice, cost = self._cheapest(graph, snapshot, bodies)
        if cost >= self.cost(graph, bodies) * (1 - 1e-9):
            return graph
        after = self.graph(terms_of(choice))
        return after if self.cost(after, bodies) < self.cost(graph, bodies) * (1 - 1e-9) else graph

    def _blind(self, graph: Graph, entry: Pass) -> Graph:
        """From left to right only, and every match is taken where it does not undo another."""
        snapshot = self._saturated(graph, (entry,), entry, backwards=False)
        if snapshot is None:
            return graph
        ready = compiled(graph.lowered, snapshot, self.setting.key)
        cost = np.where(snapshot.made_by > 0, KEPT_NODE / 1000, KEPT_NODE)
        cost = np.where(ready.view.once | (ready.view.view == FREE_OF_CHARGE), 0.0, cost)
        cost = np.where(np.isfinite(ready.problem.cost), cost, np.inf)
        return self.graph(terms_of(self._choice(graph, snapshot, ready, cost)[0]))

    def _cheapest(self, graph: Graph, snapshot: Snapshot, bodies: BodyCosts) -> tuple[Choice, float]:
        """The cheapest graph of those in an e-graph, and its cost."""
        ready = compiled(graph.lowered, snapshot, self.setting.key)
        return self._choice(graph, snapshot, ready, ready.view.prices(self.setting.model, bodies).cost)

    def _saturated(
        self, graph: Graph, passes: Sequence[Pass], wanted: Pass | None = None, *, backwards: bool = True
    ) -> Snapshot | None:
        """A graph saturated by some passes; None where the one that is wanted found nothing."""

        def active(rule: str) -> bool:
            law = rule.partition("#")[0]
            return any(entry.holds(law) for entry in passes) and (backwards or not rule.endswith("<"))

        return self.attempts.saturated(graph.lowered, active, wanted.holds if wanted else None)

    def _choice(
        self, graph: Graph, snapshot: Snapshot, ready: Compiled, cost: npt.NDArray[np.float64]
    ) -> tuple[Choice, float]:
        limits, view = self.setting.limits, ready.view
        search = SearchLimits(iterations=limits.solver_iterations, deadline=time.monotonic() + limits.seconds)
        solution = ready.search(cost, search, ready.original)
        prices = Prices(cost, view.tie, view.computed)
        nodes = with_given(snapshot, prices, solution.choice, ready.given)
        return Choice(graph.lowered, snapshot, nodes, view.computed), solution.cost
