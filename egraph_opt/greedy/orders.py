"""Orders of passes: those of known optimizers, random ones, and the best that a local search finds."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from egraph_opt.greedy.managers import FixedPointPassManager, GreedyResult
from egraph_opt.greedy.model import GreedyModel
from egraph_opt.greedy.passes import Pass


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
