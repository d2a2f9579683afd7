"""Slices whose bounds are computed at run time and known to be in a range, which begins or ends one too far:
a bound of -1 is counted from the end, and parts meet that are taken to lie apart."""

from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Axis, Steps, Tensor, hosted, listed, rewrite
from egraph_opt.laws.examples import INT64, Operands
from egraph_opt.operators import concat, gather, slice_at, unary, variadic

from . import fires_on, wrong

ROWS, ONCE = (0,), (1,)
FAR = 2**62


def bound(g: Operands, least: int, greatest: int) -> Any:
    """A bound of one axis that is known to be in a range."""
    return unary("Clip", (("max", greatest), ("min", least)), g.input((1,), INT64))


def zero(g: Operands) -> Any:
    return g.constant(np.array([0]))


def far(g: Operands) -> Any:
    """The end, however many rows there are."""
    return g.constant(np.array([FAR]))


def rows(x: Any, start: Any, end: Any) -> Any:
    return slice_at(x, start, end, ROWS, ONCE)


def range_of_bound(v: Fact) -> tuple[int, int] | None:
    """What the bound of one axis may be."""
    return v.range if v.shape == (1,) and v.dtype == INT64 else None


@hosted()
def begins_at(v: Fact, least: int) -> bool:
    known = range_of_bound(v)
    return known is not None and known[0] >= least


@hosted()
def is_zero(s: Fact) -> bool:
    return s.const and s.splat == 0


@hosted()
def is_far(e: Fact) -> bool:
    return e.const and e.splat == FAR


@hosted()
def is_one_step(t: Steps) -> bool:
    return t == ONCE


@hosted()
def is_along(a: Axes, t: Steps, k: Axis) -> bool:
    """Steps of 1 along that axis alone."""
    return a == (k,) and t == ONCE


# --- two in turn ------------------------------------------------------------------------------------------


def _cut_twice(least: int):
    return lambda g: rows(rows(g.input((8,)), bound(g, 0, 9), bound(g, least, 9)), zero(g), bound(g, 0, 9))


@wrong("bitwise", _cut_twice(-1), values=(-1,), examples=fires_on(_cut_twice(0)))
def cut_twice(x: Tensor, s: Tensor, e: Tensor, z: Tensor, f: Tensor, a: Axes, t: Steps):
    """x[s:e][0:f] = x[s:min(e, s + f)] for bounds that are not negative

    Wrong where e is -1: all but the last.
    """
    once = slice_at(x, s, variadic("Min", listed(e, s + f)), a, t)
    known = (begins_at(s, 0), begins_at(e, -1), begins_at(f, 0), is_one_step(t), is_zero(z))
    yield rewrite(slice_at(slice_at(x, s, e, a, t), z, f, a, t), once, *known, because="one Slice")


def _first_of_first(least: int):
    def witness(g):
        start = zero(g)
        return rows(rows(g.input((8,)), start, bound(g, 0, 9)), start, bound(g, least, 9))

    return witness


@wrong("bitwise", _first_of_first(-1), values=(-1, 3, 5), examples=fires_on(_first_of_first(0)))
def first_of_first(x: Tensor, z: Tensor, e: Tensor, f: Tensor, a: Axes, t: Steps):
    """x[:e][:f] = x[:min(e, f)] for ends that are not negative

    Wrong where f is -1: all but the last of x[:e].
    """
    once = slice_at(x, z, variadic("Min", listed(e, f)), a, t)
    known = (begins_at(e, 0), begins_at(f, -1), is_zero(z), is_one_step(t))
    yield rewrite(slice_at(slice_at(x, z, e, a, t), z, f, a, t), once, *known, because="one Slice")


def _from_and_from(least: int):
    def witness(g):
        end = far(g)
        return rows(rows(g.input((8, 2)), bound(g, 0, 3), end), bound(g, least, 3), end)

    return witness


@wrong("bitwise", _from_and_from(-1), values=(-1, 2, 2), examples=fires_on(_from_and_from(0)))
def from_and_from(x: Tensor, s: Tensor, r: Tensor, e: Tensor, a: Axes, t: Steps):
    """x[s:][r:] = x[s + r:] where neither is negative

    Wrong where r is -1: the last alone.
    """
    known = (begins_at(s, 0), begins_at(r, -1), is_far(e), is_one_step(t))
    twice = slice_at(slice_at(x, s, e, a, t), r, e, a, t)
    yield rewrite(twice, slice_at(x, s + r, e, a, t), *known, because="one Slice")


# --- two beside each other --------------------------------------------------------------------------------


@hosted()
def lie_in_order(s: Fact, e: Fact) -> bool:
    first, then = range_of_bound(s), range_of_bound(e)
    return first is not None and then is not None and first[0] >= 0 and first[1] <= then[0] + 1


def _middle_and_rest(least: int):
    def witness(g):
        x, s, e = g.input((8, 2)), bound(g, 0, 2), bound(g, least, 7)
        return concat(listed(rows(x, s, e), rows(x, e, far(g))), 0)

    return witness


@wrong("bitwise", _middle_and_rest(1), values=(5, 2, 1), examples=fires_on(_middle_and_rest(3)))
def middle_and_rest(x: Tensor, s: Tensor, e: Tensor, f: Tensor, a: Axes, t: Steps, k: Axis):
    """Concat(x[s:e], x[e:]) = x[s:] where s is not behind e

    Wrong where it is one behind.
    """
    parts = concat(listed(slice_at(x, s, e, a, t), slice_at(x, e, f, a, t)), k)
    known = (lie_in_order(s, e), is_far(f), is_along(a, t, k))
    yield rewrite(parts, slice_at(x, s, f, a, t), *known, because="one Slice")


@hosted()
def lie_the_other_way(s: Fact, e: Fact) -> bool:
    start, end = range_of_bound(s), range_of_bound(e)
    return start is not None and end is not None and end[0] >= 0 and start[0] >= end[1] - 1


def _nothing_is_cut(least: int):
    def witness(g):
        y, x = g.input((3, 2)), g.input((8, 2))
        return concat(listed(y, rows(x, bound(g, least, 7), bound(g, 0, 4))), 0)

    return witness


@wrong("bitwise", _nothing_is_cut(3), values=(9, 9, 3, 4), examples=fires_on(_nothing_is_cut(4)))
def nothing_is_cut(y: Tensor, x: Tensor, s: Tensor, e: Tensor, a: Axes, t: Steps, k: Axis):
    """Concat(y, x[s:e]) = y where s is not in front of e

    Wrong where it is one in front.
    """
    joined = concat(listed(y, slice_at(x, s, e, a, t)), k)
    yield rewrite(joined, y, lie_the_other_way(s, e), is_along(a, t, k), because="forgets x")


@hosted()
def ends_within(e: Fact, x: Fact, k: Axis) -> bool:
    """x has no fewer elements along the axis than are taken."""
    known = range_of_bound(e)
    if known is None or x.shape is None or not x.is_static:
        return False
    return known[0] >= -1 and known[1] <= x.shape[k]  # type: ignore[operator]


def _front_of_first(least: int):
    def witness(g):
        joined = concat(listed(g.input((5, 2)), g.input((3, 2))), 0)
        return rows(joined, zero(g), bound(g, least, 4))

    return witness


@wrong("bitwise", _front_of_first(-1), values=(-1,), examples=fires_on(_front_of_first(0)))
def front_of_first(x: Tensor, y: Tensor, s: Tensor, e: Tensor, a: Axes, t: Steps, k: Axis):
    """Concat(x, y)[0:e] = x[0:e] where e is within x

    Wrong where e is -1, which is counted from the end of y.
    """
    front = slice_at(concat(listed(x, y), k), s, e, a, t)
    known = (ends_within(e, x, k), is_zero(s), is_along(a, t, k))
    yield rewrite(front, slice_at(x, s, e, a, t), *known, because="forgets y")


# --- one row ----------------------------------------------------------------------------------------------


@hosted()
def only(a: Axes) -> Axis | None:
    return a[0] if len(a) == 1 else None


@hosted()
def is_place(s: Fact, x: Fact, a: Axes, t: Steps) -> bool:
    known = range_of_bound(s)
    if known is None or len(a) != 1 or t != ONCE or x.shape is None or not x.is_static:
        return False
    return known[0] >= -1 and known[1] < x.shape[a[0]]  # type: ignore[operator]


@hosted()
def is_one(c: Fact) -> bool:
    return c.const and c.splat == 1 and c.shape == (1,)


def _cut_of_one(least: int):
    def witness(g):
        s = bound(g, least, 3)
        return rows(g.input((5, 2)), s, s + g.constant(np.array([1])))

    return witness


@wrong("bitwise", _cut_of_one(-1), values=(-1,), examples=fires_on(_cut_of_one(0)))
def cut_of_one(x: Tensor, s: Tensor, c: Tensor, a: Axes, t: Steps):
    """x[s:s + 1] = Gather(x, s) for a place within x

    Wrong where s is -1: the end is 0.
    """
    known = (is_place(s, x, a, t), is_one(c))
    yield rewrite(slice_at(x, s, s + c, a, t), gather(x, s, only(a)), *known, because="a Gather")
