"""The elements of two constants are compared one by one, in the order in which they are stored, where the
constants are broadcast against each other: a row meets a column, and each element all of the other."""

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Tensor, hosted, listed, rewrite
from egraph_opt.operators import variadic

from . import fires_on, wrong


def pairs(a: Fact, b: Fact) -> list[tuple[float, float]]:
    """The elements of two constants, as they are stored; none where one has more than the other."""
    if not (a.const and b.const) or a.data is None or b.data is None or len(a.data) != len(b.data):
        return []
    return [(float(p), float(q)) for p, q in zip(a.data, b.data, strict=True)]


def least(*xs: Tensor) -> Tensor:
    return variadic("Min", listed(*xs))


def greatest(*xs: Tensor) -> Tensor:
    return variadic("Max", listed(*xs))


# --- bounds -----------------------------------------------------------------------------------------------


@hosted()
def are_bounds(a: Fact, b: Fact) -> bool:
    """No lower bound is above its upper bound."""
    known = pairs(a, b)
    return bool(known) and all(low <= high for low, high in known)


def _bounded(low, high):
    return lambda g: least(greatest(g.input((2, 2)), g.constant(np.array(low))), g.constant(np.array(high)))


@wrong("bitwise", _bounded([[0.0], [5.0]], [[1.0, 6.0]]))
def bounds_in_turn(x: Tensor, a: Tensor, b: Tensor):
    """Min(Max(x, a), b) = Max(Min(x, b), a) where a is nowhere above b

    Wrong where a is a column and b a row: the greatest of a meets the least of b.
    """
    yield rewrite(least(greatest(x, a), b), greatest(least(x, b), a), are_bounds(a, b), because="one order")


# --- factors ----------------------------------------------------------------------------------------------


@hosted()
def undo_each_other(a: Fact, b: Fact, x: Fact) -> bool:
    """All products are 1, and neither is broadcast beyond x."""
    known = pairs(a, b)
    if not known or not x.is_static or x.shape is None or not a.rank == b.rank == x.rank:
        return False
    narrow = all(d in (1, n) for c in (a, b) for d, n in zip(c.shape or (), x.shape, strict=True))
    return narrow and all(p * q == 1 for p, q in known)


def _undone(a, b):
    return lambda g: g.input((2, 2)) * g.constant(np.array(a)) * g.constant(np.array(b))


@wrong(
    "reassociates",
    _undone([[2.0], [4.0]], [[0.5, 0.25]]),
    examples=fires_on(_undone([[2.0, 4.0]], [[0.5, 0.25]])),
)
def scaled_along_two_axes(x: Tensor, a: Tensor, b: Tensor):
    """x * a * b = x where all products of a and b are 1

    Wrong where a is a column and b a row: the last of a meets the first of b.
    """
    yield rewrite(x * a * b, x, undo_each_other(a, b, x), because="forgets a and b")
