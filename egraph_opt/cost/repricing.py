"""Regions made ready for prices: everything that one cost model after the other can share.

Which views there are, what constants are computed, what is left to choose and what the original graph chose
do not depend on prices.  `compiled` works them out, once for each setting: a region keeps the latest of them.
The next cost model then takes no more than asking it for the price of each distinct view, and the search.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from egraph_opt.cost.distinct_views import Target
from egraph_opt.cost.model import CostModel
from egraph_opt.cost.pricing import given_of, original_choice, problem_of, standing_in
from egraph_opt.cost.views import PricingView, pricing_view
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.errors import ExtractionError
from egraph_opt.extraction.presolve.presolve import Reduced, presolve_at_any_cost
from egraph_opt.extraction.problem import ExtractionProblem
from egraph_opt.extraction.registry import ExtractorLike, extract
from egraph_opt.extraction.solution import Solution, measure, used_part

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

PRICED = 0.75
"""The share of the time for a choice that pricing may take: without prices there is none."""

KEPT = 8
"""Settings whose compiled form a region keeps; the oldest goes first."""


class Key(NamedTuple):
    """What the compiled form of a region depends on."""

    target: Target
    points: tuple[tuple[str, int], ...]
    fold_bytes: int


@dataclass(frozen=True)
class SearchLimits:
    """How to search, and how far.

    Attributes:
        extractor: a name in `egraph_opt.extraction.EXTRACTORS`, or a function of one's own.
        iterations: integer programs for any one piece.
        seconds: an emergency stop of one search.
        seed: of the search.
        deadline: of all of them, as `time.monotonic` has it.
        stop: asked before each program whether the best so far will do.
    """

    extractor: ExtractorLike = "auto"
    iterations: int = 200
    seconds: float | None = None
    seed: int = 0
    stop: Callable[[], bool] | None = None
    deadline: float = math.inf

    @property
    def left(self) -> float | None:
        """The seconds that a search which begins now may take."""
        left = max(self.deadline - time.monotonic(), 0.0)
        left = left if self.seconds is None else min(left, self.seconds)
        return None if math.isinf(left) else left

    def alarm(self) -> Callable[[], bool]:
        """A question whether to stop: the seconds count from now."""
        deadline = math.inf if (left := self.left) is None else time.monotonic() + left
        return lambda: time.monotonic() > deadline or (self.stop is not None and self.stop())

    def before_search(self) -> Callable[[], bool]:
        """A question whether what precedes a search has taken its share of the time that is left."""
        left = self.left
        deadline = math.inf if left is None else time.monotonic() + PRICED * left
        return lambda: time.monotonic() > deadline

    def extract(
        self, problem: ExtractionProblem, incumbent: Ints | None, extractor: ExtractorLike | None = None
    ) -> Solution:
        """What the extractor finds in the time that is left; where there is none, what is found at once."""
        left = self.left
        return extract(
            problem,
            "greedy-dag" if left == 0 else extractor or self.extractor,
            incumbent=incumbent,
            iterations=self.iterations,
            seconds=left or None,
            seed=self.seed,
            stop=self.stop,
        )


class Solved(NamedTuple):
    """An answer.

    Attributes:
        solution: the best choice.
        written: what the original graph costs without pseudo-operators, the solution's cost where it cannot
            be written.
        fusion_saving: what they save it.
        original: the original graph with them; None where it cannot be written.
    """

    solution: Solution
    written: float
    fusion_saving: float
    original: Ints | None


@dataclass(frozen=True, eq=False)
class Compiled:
    """A region, ready for prices.

    Attributes:
        problem: its costs are 0, or infinite for e-nodes that cannot be written.
        reduced: what is left of it to decide.
        original: the original graph as a choice; None where it cannot be written.
        own: what is to decide for the original graph: which pseudo-operators stand for its e-nodes; None
            where there are no such pseudo-operators.
        given: per class the e-node that provides it for nothing, or -1.
    """

    view: PricingView
    problem: ExtractionProblem
    reduced: Reduced
    original: Ints | None
    own: Reduced | None
    given: Ints

    def solve(self, cost: Floats, limits: SearchLimits, warm: Ints | None = None) -> Solved:
        """The best choice at a cost per e-node.

        Args:
            warm: another known choice, such as the one at other costs, to start from where it is better.
        """
        original, written, fusion_saving = self._fused(cost, limits)
        solution = self.search(cost, limits, original, warm)
        return Solved(solution, solution.cost if written is None else written, fusion_saving, original)

    def search(self, cost: Floats, limits: SearchLimits, *known: Ints | None) -> Solution:
        """The best choice at a cost per e-node, from the best of some known ones."""
        problem = self.reduced.at(cost)
        starts = [start for choice in known if (start := self.reduced.down(choice)) is not None]
        best = min(starts, key=lambda start: measure(problem, start), default=None)
        try:
            return self.reduced.lift(limits.extract(problem, best), cost)
        except ExtractionError:
            limits.extract(replace(self.problem, cost=cost), None)  # says the same of the snapshot's classes
            raise

    def _fused(self, cost: Floats, limits: SearchLimits) -> tuple[Ints | None, float | None, float]:
        """The original graph as the target's compiler runs it, its cost as written, what that saves.

        What the target's compiler does for free it does to the original as well.
        """
        if self.original is None:
            return None, None, 0.0
        written = math.fsum(cost[self.original[self.original >= 0]].tolist())
        if self.own is None or not math.isfinite(written):
            return self.original, written if math.isfinite(written) else None, 0.0
        small = limits.extract(self.own.at(cost), self.own.down(self.original), "auto")
        fused = self.own.lift(small, cost)
        return fused.choice, written, written - fused.cost


def compiled(
    lowered: Lowered, snapshot: Snapshot, key: Key, late: Callable[[], bool] = lambda: False
) -> Compiled:
    """Do all that does not depend on prices; when it is late, for the original.

    Raises:
        ExtractionError: no graph can be written.
    """
    view = pricing_view(lowered, snapshot, key.target, dict(key.points), key.fold_bytes, late=late)
    bare = view.free()
    problem = problem_of(lowered, snapshot, bare)
    reduced, given = presolve_at_any_cost(problem), given_of(snapshot, bare)
    original = original_choice(snapshot, bare.computed)
    used = used_part(problem, original)
    if not np.isfinite(problem.cost[used[used >= 0]]).all():
        return Compiled(view, problem, reduced, None, None, given)
    allowed = standing_in(view, original)
    own = (
        None
        if allowed is None
        else presolve_at_any_cost(replace(problem, cost=np.where(allowed, problem.cost, np.inf)))
    )
    return Compiled(view, problem, reduced, used, own, given)


class CompiledCache:
    """What `compiled` worked out for one region, by setting: only the time of pricing depends on it."""

    def __init__(self) -> None:
        self.by_key: dict[Key, Compiled] = {}

    def compiled(
        self, lowered: Lowered, snapshot: Snapshot, key: Key, late: Callable[[], bool] | None = None
    ) -> Compiled:
        """The region ready for prices, worked out once for a setting, or anew where there is more time."""
        known = self.by_key.get(key)
        if known is None or not (known.view.complete or late is None or late()):
            while len(self.by_key) >= KEPT:
                self.by_key.pop(next(iter(self.by_key)))
            self.by_key[key] = known = compiled(lowered, snapshot, key, late or (lambda: False))
        return known


def key_of(model: CostModel, points: Mapping[str, int], fold_bytes: int) -> Key:
    """The setting as a key."""
    return Key(Target.of(model), tuple(sorted(points.items())), fold_bytes)
