"""Pass managers, as onnx-optimizer has them: each pass once in order, or again until nothing changes.

And what orders of passes they are given: known ones, random ones, the best that a local search finds.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from egraph_opt.lab.greedy.model import GreedyModel, State
from egraph_opt.lab.greedy.passes import ORDERS, Acceptance, Pass, every_pass

MOST_TURNS = 10
"""Of all passes, until nothing changes; blind passes that undo each other end when a graph comes again."""


@dataclass(frozen=True)
class Applied:
    """A pass that changed something, and the cost after it."""

    name: str
    cost: float


@dataclass(frozen=True)
class GreedyResult:
    """Where an order of passes ended.

    Attributes:
        cost: of the last graph, in the cost model's unit.
        applied: the passes that changed something, in turn.
        turns: how often all passes were gone through.
    """

    cost: float
    applied: tuple[Applied, ...]
    turns: int
    state: State


@dataclass(frozen=True)
class PassManager(ABC):
    """Applies passes in an order.

    Attributes:
        acceptance: "gated" keeps what a pass made where the cost falls, "blind" always.
    """

    name: ClassVar[str]
    passes: Sequence[Pass]
    acceptance: Acceptance = "gated"

    def run(self, model: GreedyModel) -> GreedyResult:
        """What the passes make of a model, which has to have been made with them."""
        turns = list(self._turns(model))
        steps = [step for turn in turns for step in turn]
        state = steps[-1].state if steps else model.original
        applied = tuple(Applied(step.entry.name, model.cost(step.state)) for step in steps)
        return GreedyResult(model.cost(state), applied, len(turns), state)

    @abstractmethod
    def _turns(self, model: GreedyModel) -> Iterator[list[_Step]]:
        """What each turn changed, pass by pass."""

    def _turn(self, model: GreedyModel, state: State) -> list[_Step]:
        """Each pass once, in order."""
        changed = []
        for entry in self.passes:
            after = model.apply(state, entry, self.acceptance)
            if after != state:
                changed.append(_Step(entry, after))
            state = after
        return changed


@dataclass(frozen=True)
class _Step:
    entry: Pass
    state: State


class GeneralPassManager(PassManager):
    """Each pass once."""

    name = "general"

    def _turns(self, model: GreedyModel) -> Iterator[list[_Step]]:
        yield self._turn(model, model.original)


class FixedPointPassManager(PassManager):
    """All passes in turn, until a turn changes nothing."""

    name = "fixed point"

    def _turns(self, model: GreedyModel) -> Iterator[list[_Step]]:
        state = model.original
        seen = {_numbers(state)}
        for _ in range(MOST_TURNS):
            changed = self._turn(model, state)
            yield changed
            if not changed:
                return
            state = changed[-1].state
            if _numbers(state) in seen:
                return
            seen.add(_numbers(state))


def _numbers(state: State) -> tuple[int, ...]:
    return tuple(graph.number for graph in state)


MANAGERS: tuple[type[PassManager], ...] = (GeneralPassManager, FixedPointPassManager)
ACCEPTANCES: tuple[Acceptance, ...] = ("gated", "blind")


def random_orders(passes: Sequence[Pass], count: int, seed: int = 0) -> Iterator[tuple[Pass, ...]]:
    """Some orders of passes, none of which depends on how many are asked for."""
    numbers = random.Random(seed)
    for _ in range(count):
        yield tuple(numbers.sample(list(passes), len(passes)))


def local_search(
    model: GreedyModel, start: Sequence[Pass], steps: int, seed: int = 0
) -> tuple[tuple[Pass, ...], GreedyResult]:
    """The best order that is found by moving one pass at a time to another place."""
    numbers = random.Random(seed)
    best = tuple(start)
    found = FixedPointPassManager(best).run(model)
    for _ in range(steps):
        order = list(best)
        order.insert(numbers.randrange(len(order)), order.pop(numbers.randrange(len(order))))
        tried = FixedPointPassManager(order).run(model)
        if tried.cost <= found.cost:
            best, found = tuple(order), tried
    return best, found


def strongest(model: GreedyModel, count: int, seed: int = 0) -> tuple[str, GreedyResult]:
    """The best that passes reach, and in which order.

    Known orders (one pass for each ruleset, those of optimizers, all of these one after the other) are gone
    through to their fixed point, gated, and once, blind.  Random ones have all passes.

    Args:
        model: made with `every_pass`.
        count: how many random orders.
    """
    known = {"rulesets": Pass.of_rulesets(None), **ORDERS, "every pass": every_pass()}
    tried: list[tuple[str, PassManager]] = []
    for name, passes in known.items():
        tried.append((name, FixedPointPassManager(passes)))
        tried.append((f"{name}, blind", GeneralPassManager(passes, "blind")))
    drawn = enumerate(random_orders(every_pass(), count, seed))
    tried += [(f"random {k}", FixedPointPassManager(passes)) for k, passes in drawn]
    results = [(name, manager.run(model)) for name, manager in tried]
    return min(results, key=lambda found: found[1].cost)
