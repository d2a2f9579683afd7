"""Sums along an axis that was joined of several, as a sum along each: where each looks at one of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import z3

from egraph_opt.proofs.sums import Walk, choices, constants, decided, within
from egraph_opt.semantics.values import Index, number

MOST_PARTS = 3
"""Into which a bound is taken apart."""

Body = Callable[[Index], z3.ArithRef]


def in_parts(scene: Any, bounds: Index, body: Body) -> z3.ArithRef | None:
    """The sum of a body as one of sums along parts; None where no bound is a sum of lengths."""
    for axis, bound in enumerate(map(z3.simplify, bounds)):
        ends = bound.children() if z3.is_add(bound) else []
        if not 2 <= len(ends) <= MOST_PARTS or not all(scene.known_that(end >= 0) for end in ends):
            continue
        for order in permutations(ends):
            parts = _from_places(order)
            if all(_looks_at_one(scene, bounds, body, axis, part) for part in parts):
                return z3.Sum([_along(scene, bounds, body, axis, part) for part in parts])
    return None


def _from_places(lengths: tuple[z3.ArithRef, ...]) -> list[Walk]:
    """Where each part begins, and how long it is."""
    found: list[Walk] = []
    start = number(0)
    for length in lengths:
        found.append((start, length))
        start = z3.simplify(start + length)
    return found


def _looks_at_one(scene: Any, bounds: Index, body: Body, axis: int, part: Walk) -> bool:
    """Whether no choice in a body hangs on where in the part an index is."""
    start, length = part
    walks = [(scene.path.fresh("k"), bound) for bound in bounds]
    walks[axis] = walks[axis][0], length
    places = [k for k, _ in walks]
    places[axis] = z3.simplify(start + places[axis])
    looked = decided(scene.known_that, body(places), within(walks))
    return not any(str(walks[axis][0]) in constants(condition) for condition in choices(looked))


def _along(scene: Any, bounds: Index, body: Body, axis: int, part: Walk) -> z3.ArithRef:
    start, length = part
    return scene.fold(
        "sum",
        [*bounds[:axis], length, *bounds[axis + 1 :]],
        lambda i: body([*i[:axis], z3.simplify(start + i[axis]), *i[axis + 1 :]]),
    )
