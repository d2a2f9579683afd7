"""Slices of concatenations take parts of the operands that they touch.

Slice(Concat(xs)) -> Concat(Slice(x) of those it touches)      and of one: Slice(Concat(xs)) -> Slice(x)
"""

from collections.abc import Iterator
from typing import Annotated

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Example,
    Operands,
    assign,
    auxiliary,
    eq,
    guard,
    hosted,
    law,
    ne,
    rewrite,
    rule,
    table,
)
from egraph_opt.laws.algebra import is_same
from egraph_opt.laws.sorts import Axis, Number, Slices, Tensor, Tensors, Unit
from egraph_opt.operators import concat, slice_
from egraph_opt.operators.expressions import attribute_sort
from egraph_opt.operators.terms import cons, listed, nil
from egraph_opt.rewrites.slicing.slice import NOTHING, WHOLE, Bounds, Entry, beside, dim_at, entry_of

Part = Entry | tuple[()] | None
"""What a slice takes of an operand of a concatenation: a slice along the axis, all () or nothing None."""

Parts = Annotated[tuple[Part, ...], attribute_sort("Parts")]
"""What it takes of each operand, from the first that it touches to the last."""


def bounds_along(spec: Slices, axis: int) -> Bounds | None:
    """What a slice takes of the axis of a concatenation, if it counts from the front, upwards."""
    for entry in spec:
        if entry[0] == axis and entry[1] >= 0 and (entry[2] is None or entry[2] > entry[1]) and entry[3] > 0:
            return entry[1:]
    return None


def cut_here(bounds: Bounds, axis: int, x: Fact) -> tuple[Part, Bounds] | None:
    """What is taken of the first operand x, and the bounds of the rest of the list."""
    start, end, step = bounds
    if bounds in (WHOLE, NOTHING):
        return (() if bounds == WHOLE else None), bounds
    dim = dim_at(x, axis)
    if not isinstance(dim, int):
        return None
    last = dim if end is None else min(end, dim)
    here = range(start, max(last, start), step)
    part = None if not here else () if here == range(dim) else entry_of(axis, here)
    following = start + len(here) * step - dim
    if end is not None and following >= end - dim:
        return part, NOTHING
    if step > 1 and here:
        return None
    return part, (following, None if end is None else end - dim, step)


@hosted()
def first_touched(spec: Slices, axis: Axis, xs: tuple[Fact, ...]) -> tuple[Number, Parts] | None:
    """The number of the first operand that a slice of a concatenation touches, and the parts from there."""
    bounds = bounds_along(spec, axis)
    parts: list[Part] = []
    for x in xs:
        found = None if bounds is None else cut_here(bounds, axis, x)
        if found is None:
            return None
        part, bounds = found
        parts.append(part)
    taken = [k for k, part in enumerate(parts) if part is not None]
    return (taken[0], tuple(parts[taken[0] : taken[-1] + 1])) if taken else None


# What the host computes becomes a key of a join only by way of a table: egglog computes last.
@table()
def first(xs: Tensors, axis: Axis, spec: Slices) -> Number:
    """The number of the first operand of a concatenation that a slice touches."""


@table()
def tail(xs: Tensors, count: Number) -> Tensors:
    """A list without its first elements; filled for lists whose concatenation is sliced."""


@table()
def demanded(xs: Tensors, parts: Parts) -> Unit:
    """A slice of the concatenation that ends with this list takes these parts of its elements."""


@table()
def cut(xs: Tensors, parts: Parts) -> Tensors:
    """The parts of a list that the slice of a concatenation is the concatenation of."""


@hosted()
def next_count(count: Number) -> Number:
    return count + 1


@hosted()
def all_but_first(parts: Parts) -> Parts | None:
    """The parts of all elements but the first."""
    return parts[1:] if parts else None


@hosted()
def slice_here(parts: Parts) -> Slices | None:
    """The slice of the first element, where that is neither nothing nor all of it."""
    return (parts[0],) if parts and parts[0] else None


@hosted()
def takes_all(parts: Parts) -> bool:
    return parts[:1] == ((),)


@hosted()
def takes_none(parts: Parts) -> bool:
    return parts[:1] == (None,)


@auxiliary()
def taking_apart(
    x: Tensor, xs: Tensors, ys: Tensors, zs: Tensors, rest: Tensors, a: Axis, s: Slices, k: Number, p: Parts
):
    """Fills `cut` for all slices of concatenations."""
    whole = first_touched(s, a, zs)
    yield rule(slice_(concat(zs, a), s), then=(assign(first(zs, a, s), whole[0]), assign(tail(zs, 0), zs)))
    yield rule(eq(cons(x, rest), tail(zs, k)), then=assign(tail(zs, next_count(k)), rest))
    start = (slice_(concat(zs, a), s), eq(k, first(zs, a, s)), eq(xs, tail(zs, k)))
    yield rule(*start, then=demanded(xs, whole[1]))
    yield rule(demanded(xs, ()), then=assign(cut(xs, ()), nil()))
    here = (demanded(xs, p), eq(xs, cons(x, rest)))
    yield rule(*here, then=demanded(rest, all_but_first(p)))
    after = (*here, eq(ys, cut(rest, all_but_first(p))))
    yield rule(*after, then=assign(cut(xs, p), cons(slice_(x, slice_here(p)), ys)))
    yield rule(*after, takes_all(p), then=assign(cut(xs, p), cons(x, ys)))
    yield rule(*after, takes_none(p), then=assign(cut(xs, p), ys))


def _concats(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z, long = (g.input(("N", k, 2)) for k in (3, 4, 5, "L"))
    joined = concat(listed(x, y, z), 1)
    cuts = (0, 3, 1), (3, 7, 1), (4, 6, 1), (2, 9, 1), (0, 7, 1), (7, 12, 2), (3, 12, 9), (8, 12, 1)
    for bounds in cuts:
        yield g.fires(slice_(joined, ((1, *bounds),)))
    for end in (6, 7):
        yield g.fires(slice_(joined, ((1, 3, end, 1), (2, 1, 2, 1))))
    yield g.fires(slice_(joined, ((1, 1, 6, 1), (2, 1, 2, 1))))
    yield g.fires(slice_(concat(listed(x, x), 1), ((1, 2, 5, 1),)))
    yield g.fires(slice_(concat(listed(x, g.input(("N", 0, 2)), y), 1), ((1, 1, 5, 1),)))
    yield g.fires(slice_(concat(listed(x, long), 1), ((1, 1, 3, 1),)))
    yield g.fires(slice_(concat(listed(x, long, y), 1), ((1, 2, None, 1),)))
    unknown = slice_(concat(listed(long, x), 1), ((1, 1, 3, 1),))
    yield g.near_miss(unknown, why="how long the first one is is not known")
    yield g.near_miss(slice_(joined, ((2, 0, 1, 1),)), why="another axis is sliced")
    yield g.near_miss(slice_(joined, ((1, 11, None, -1),)), why="downwards")
    yield g.near_miss(slice_(joined, ((1, 0, 12, 2),)), why="with steps over several parts it is no cheaper")


@law(
    "slice",
    numerics="bitwise",
    kind="move",
    serves="traffic",
    source="TASO",
    uses=(taking_apart,),
    examples=_concats,
)
def of_concat(x: Tensor, ys: Tensors, zs: Tensors, rest: Tensors, a: Axis, s: Slices):
    """Slice(Concat(xs)) = Concat(Slice(x) of the x that it touches)"""
    whole, others = slice_(concat(zs, a), s), beside(s, a)
    touched = cut(tail(zs, first(zs, a, s)), first_touched(s, a, zs)[1])
    one = eq(touched, cons(x, nil()))
    several = (eq(ys, touched), guard(eq(ys, cons(x, rest)), ne(rest, nil())))
    for count, made in ((one, x), (several, concat(ys, a))):
        yield rewrite(whole, made, count, is_same(others, ()), because="forgets the other parts")
        yield rewrite(whole, slice_(made, others), count, guard(ne(others, ())), because="likewise")
