"""A model on which passes are tried: its graphs, bodies first, and what saturation makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import onnx_ir as ir

from egraph_opt.cost.model import CostModel
from egraph_opt.cost.registry import cost_model
from egraph_opt.cost.repricing import key_of
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.errors import ExtractionError
from egraph_opt.lab.greedy.passes import Acceptance, Pass
from egraph_opt.lab.greedy.regions import BodyCosts, Graph, GreedyRegion, PassSetting
from egraph_opt.lab.greedy.terms import terms_of
from egraph_opt.laws.selection import select
from egraph_opt.model.reading import ModelSource
from egraph_opt.model.writing import to_proto
from egraph_opt.pipeline.limits import Limits
from egraph_opt.pipeline.region import Region
from egraph_opt.pipeline.region_extraction import Extracted
from egraph_opt.pipeline.stages import saturate
from egraph_opt.rebuild.choice import Choice
from egraph_opt.rebuild.graph import rebuild_model
from egraph_opt.verification.result import Verification
from egraph_opt.verification.verifier import verify as check_outputs

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
        cost: str | CostModel = "ascend",
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
        return check_outputs(loaded.runnable(), to_proto(self.rebuilt(state), loaded))

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
