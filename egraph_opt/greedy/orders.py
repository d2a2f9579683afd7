"""Orders of passes: those of known optimizers, random ones, and the best that a local search finds."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from egraph_opt.greedy.known_orders import ORDERS, every_pass
from egraph_opt.greedy.managers import FixedPointPassManager, GeneralPassManager, GreedyResult, PassManager
from egraph_opt.greedy.model import GreedyModel
from egraph_opt.greedy.passes import Acceptance, Pass

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
        model: told of `every_pass`.
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
