"""A model on which passes are tried: its graphs, bodies first, and what saturation makes of them.

A pass on a graph is saturated alone, one graph is kept, and the others are forgotten.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from egraph_opt.cost import DEFAULT_COST
from egraph_opt.cost.distinct_views import FREE_OF_CHARGE
from egraph_opt.cost.model import CostModel
from egraph_opt.cost.pricing import with_given
from egraph_opt.cost.registry import cost_model
from egraph_opt.cost.repricing import Compiled, Key, SearchLimits, compiled, key_of
from egraph_opt.cost.views import Prices
from egraph_opt.egraph.attempts import Attempts
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.errors import ExtractionError
from egraph_opt.lab.greedy.dominators import dominator_cost
from egraph_opt.lab.greedy.passes import Acceptance, Pass
from egraph_opt.lab.greedy.terms import TermKey, graph_fingerprint, terms_of
from egraph_opt.laws.law import Law
from egraph_opt.laws.selection import select
from egraph_opt.model.reading import ModelSource
from egraph_opt.model.writing import to_proto
from egraph_opt.pipeline.limits import Limits
from egraph_opt.pipeline.region import Region
from egraph_opt.pipeline.region_extraction import Extracted
from egraph_opt.pipeline.stages import saturate
from egraph_opt.rebuild.choice import Choice
from egraph_opt.rebuild.graph import rebuild_model
from egraph_opt.verification.budget import RunBudget
from egraph_opt.verification.isolated import verify_apart
from egraph_opt.verification.result import Verification

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
        """What a graph costs as it is, with kernels as TVM groups them."""
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


PASS_LIMITS = Limits(nodes=20_000, seconds=10)
"""Of one pass: few laws by themselves may grow where all of them would not."""

State = tuple[Graph, ...]
"""The graphs of a model, in the order of `Region.walk`."""


class GreedyModel:
    """A model ready for passes; what a pass makes of a graph is worked out once, however many orders ask.

    Args:
        model: a path, a ModelProto or an onnx_ir.Model.
        cost: a cost model or the name of one; its own rulesets are no passes: its compiler has them.
        passes: all that orders may have; by default one for each ruleset that is used by default.
        limits: of one pass.

    Raises:
        ModelReadError, InvalidModelError, UnknownCostModelError: as in `optimize`.
        UnknownRulesetError: a pass names laws that do not exist.
        ExtractionError: there is nothing to choose from, for the reason that it gives.
    """

    def __init__(
        self,
        model: ModelSource,
        cost: str | CostModel = DEFAULT_COST,
        *,
        passes: Sequence[Pass] | None = None,
        limits: Limits = PASS_LIMITS,
    ) -> None:
        self.cost_model = cost_model(cost)
        self.passes = tuple(Pass.of_rulesets(None) if passes is None else passes)
        names = sorted({name for entry in self.passes for name in entry.laws})
        self.saturated = saturate(model, rewrites=names, limits=limits, target=self.cost_model)
        if self.saturated.region is None:
            raise ExtractionError(f"{self.saturated.loaded.source}: {self.saturated.reason}")
        points = self.saturated.points(self.cost_model)
        self.setting = PassSetting(
            model=self.cost_model,
            laws=select(names, self.cost_model.rulesets),
            of_target=Pass("target", tuple(self.cost_model.rulesets)),
            key=key_of(self.cost_model, points, limits.fold_bytes),
            limits=limits,
        )
        self._regions = self.saturated.region.walk()
        number = {id(region): k for k, region in enumerate(self._regions)}
        self._inside = [
            {key: [number[id(body)] for body in bodies] for key, bodies in region.bodies.items()}
            for region in self._regions
        ]
        self._greedy = [GreedyRegion(self.setting, self.setting.attempts()) for _ in self._regions]
        self.original = self._state([region.lowered for region in self._regions])

    def apply(self, state: State, entry: Pass, acceptance: Acceptance) -> State:
        """All graphs after a pass."""
        bodies = self._body_costs(state)
        return tuple(
            greedy.apply(graph, entry, acceptance, bodies[k])
            for k, (greedy, graph) in enumerate(zip(self._greedy, state, strict=True))
        )

    def cost(self, state: State) -> float:
        """What the model costs with its graphs in a state."""
        return self._greedy[0].cost(state[0], self._body_costs(state)[0])

    def grouped_cost(self, state: State) -> float:
        """The same with the kernels of the main graph grouped by dominators, as TVM does it."""
        return self._greedy[0].grouped_cost(state[0], self._body_costs(state)[0])

    def saturation(self) -> float:
        """What the model costs after saturation, priced as `cost` prices the result of passes."""
        extracted = self.saturated.solve(self.cost_model)
        return self.cost(self._state(_lowered(self.saturated.region, extracted)))

    def rebuilt(self, state: State) -> ir.Model:
        """The model with its graphs in a state."""
        bodies = self._body_costs(state)
        chosen: dict[int, Choice] = {}
        for k in reversed(range(len(self._regions))):
            inner = {key: [chosen.pop(j) for j in inside] for key, inside in self._inside[k].items()}
            chosen[k] = replace(self._greedy[k].choice(state[k], bodies[k]), bodies=inner)
        return rebuild_model(chosen[0], self.saturated.loaded.model)

    def verify(self, state: State) -> Verification:
        """Whether the model in a state computes what the original does."""
        loaded = self.saturated.loaded
        return verify_apart(loaded.runnable(), to_proto(self.rebuilt(state), loaded), RunBudget())

    def _state(self, lowered: Sequence[Lowered]) -> State:
        return tuple(greedy.graph(graph) for greedy, graph in zip(self._greedy, lowered, strict=True))

    def _body_costs(self, state: State) -> list[BodyCosts]:
        """Per graph what the bodies of its kept nodes cost; bodies come after the graphs that they are in."""
        found: list[BodyCosts] = [()] * len(self._regions)
        for k in reversed(range(len(self._regions))):
            found[k] = tuple(
                tuple(self._greedy[j].cost(state[j], found[j]) for j in self._inside[k].get(key, ()))
                for key in range(len(self._regions[k].lowered.kept))
            )
        return found


def _lowered(region: Region | None, extracted: Extracted) -> list[Lowered]:
    """What was chosen for a region and all within it, in the order of `Region.walk`."""
    assert region is not None
    found: list[Lowered] = []
    pending = [(region, extracted)]
    while pending:
        current, chosen = pending.pop()
        found.append(terms_of(chosen.choice))
        inner = [body for graphs in current.bodies.values() for body in graphs]
        pending.extend(reversed(list(zip(inner, chosen.bodies, strict=True))))
    return found
