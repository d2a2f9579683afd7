"""Slices and concatenations pass a Reshape along an axis that has whole blocks of elements on both sides.

Slice(Reshape(x)) -> Reshape(Slice(x))                        where slices meet
Concat(Reshape(x), Reshape(y), ..) -> Reshape(Concat(x, y, ..))

Axes of both shapes correspond where as many elements are in front of them: [N, 6, 4, 5] and [N, 6, 20] do at
4 and 20.  What is cut off the one in whole blocks is cut off the other.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact, Shape
from egraph_opt.laws import (
    Example,
    Operands,
    assign,
    auxiliary,
    eq,
    guard,
    hosted,
    laws_of,
    rewrite,
    rule,
    table,
)
from egraph_opt.laws.sorts import Axis, DataType, Dims, Slices, Tensor, Tensors
from egraph_opt.operators import concat, reshape, slice_, unary
from egraph_opt.operators.terms import cons, listed, nil
from egraph_opt.rewrites.conditions.values import dtype_of
from egraph_opt.rewrites.conditions.view_shapes import known_dims, same_dims
from egraph_opt.rewrites.linear.joined_products import differ_along
from egraph_opt.rewrites.slicing.concat import listing, operands_of, worth_a_walk
from egraph_opt.rewrites.slicing.movement import asked, asking_rules
from egraph_opt.rewrites.slicing.slice import Entry, taken_by

law = laws_of("slice", numerics="bitwise", kind="move", serves="traffic")


def counterpart(axis: int, of: Shape, other: Shape) -> int | None:
    """The axis of `other` with as many elements in front of it as an axis of `of`."""
    front = symbolic.product(of[:axis])
    places = [k for k in range(len(other)) if symbolic.known_equal(symbolic.product(other[:k]), front)]
    return next((k for k in places if other[k] != 1), places[-1]) if places else None


def _is_view(x: Fact, dims: Shape) -> bool:
    """A view of as many elements that changes dims, all of them known and none 0."""
    shape = x.shape
    if shape is None or x.const or same_dims(shape, dims) or 0 in (*shape, *dims):
        return False
    return symbolic.known_equal(symbolic.product(shape), symbolic.product(dims))


# --- slices ---------------------------------------------------------------------------------------------


def _in_front(entry: Entry, x: Shape, dims: Shape) -> Entry | None:
    """The cut of x that a cut of its view is."""
    axis, start, end, step = entry
    place = counterpart(axis, dims, x)
    if place is None:
        return None
    behind, before = symbolic.product(dims[axis + 1 :]), symbolic.product(x[place + 1 :])
    if symbolic.known_equal(behind, before):
        return place, start, end, step
    larger, smaller = symbolic.exact_div(behind, before), symbolic.exact_div(before, behind)
    dim = dims[axis]
    if step != 1 or not isinstance(dim, int) or not isinstance(x[place], int):
        return None
    taken = taken_by(entry, dim)
    if isinstance(larger, int):
        return place, taken.start * larger, taken.stop * larger, 1
    if isinstance(smaller, int) and taken.start % smaller == taken.stop % smaller == 0:
        return place, taken.start // smaller, taken.stop // smaller, 1
    return None


@hosted()
def slice_in_front(spec: Slices, x: Fact, dims: Dims, part: Fact) -> Slices | None:
    """The slice of x of which a part of its view is the view; an empty one infers no dim."""
    if not _is_view(x, dims) or x.shape is None or part.shape is None:
        return None
    if not all(symbolic.is_at_least(part.shape[entry[0]], 1) for entry in spec):
        return None
    found = [_in_front(entry, x.shape, dims) for entry in spec]
    places = [entry[0] for entry in found if entry is not None]
    if len(places) != len(spec) or len(set(places)) != len(places):
        return None
    return tuple(sorted(entry for entry in found if entry is not None))


@hosted()
def axis_behind(axis: Axis, x: Fact, dims: Dims) -> Axis | None:
    """The axis of a view that corresponds to one of x."""
    if not _is_view(x, dims) or x.shape is None:
        return None
    return counterpart(axis, x.shape, dims)


@hosted()
def first_cut(spec: Slices) -> Axis | None:
    return spec[0][0] if spec else None


@auxiliary(asking_rules)
def asking_views(x: Tensor, y: Tensor, d: Dims, a: Axis):
    """Fills `asked`: views of what is a Slice or a Concat."""
    yield rule(eq(y, reshape(x, d)), asked(x, a), then=asked(y, axis_behind(a, x, d)))


def _slices(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = slice_(g.input(("N", 8, 4, 6)), ((1, 0, 6, 1),)), concat(listed(*(g.input((2, 12, 4)),) * 2), 1)
    for dims, spec in (
        (("N", 6, 24), ((1, 1, 4, 1),)),
        (("N", 6, 24), ((1, 0, 6, 2),)),
        (("N", 6, 24), ((1, 1, 4, 1), (2, 6, 18, 1))),
        (("N", 3, 2, 4, 6), ((1, 1, 3, 1),)),
        (("N", 24, 6), ((1, 4, 16, 1),)),
        (("N", 6, 1, 4, 6), ((1, 1, 4, 1), (3, 0, 2, 1))),
    ):
        yield g.fires(slice_(reshape(x, dims), spec))
    yield g.fires(slice_(reshape(y, (2, 3, 8, 4)), ((1, 0, 2, 1),)))
    yield from g.near_misses(
        (slice_(reshape(x, ("N", 24, 6)), ((1, 2, 16, 1),)), "a part of a block"),
        (slice_(reshape(x, ("N", 24, 6)), ((1, 0, 16, 2),)), "every other element"),
        (slice_(reshape(x, ("N", 6, 8, 3)), ((3, 0, 2, 1),)), "no axis of x begins there"),
        (slice_(reshape(g.input((2, 6, 4)), (2, 24)), ((1, 0, 8, 1),)), "there is nothing that it meets"),
    )


@law(source="Ascend auto-optimizer, MergeConsecutiveSlice", uses=(asking_views,), examples=_slices)
def through_view(x: Tensor, d: Dims, s: Slices):
    """Slice(Reshape(x)) = Reshape(Slice(x)) where whole blocks are taken, and slices meet"""
    part = slice_(reshape(x, d), s)
    before = slice_in_front(s, x, d, part)
    demand = guard(asked(x, first_cut(before)))
    yield rewrite(part, reshape(slice_(x, before), known_dims(part)), demand, because="only with demand")


# --- concatenations -------------------------------------------------------------------------------------


@hosted()
def joint(axis: Axis, x: Fact, dims: Dims) -> Axis | None:
    """The axis of x along which it is joined with others where their views are, along an axis."""
    if not _is_view(x, dims) or x.shape is None:
        return None
    return counterpart(axis, dims, x.shape)


@table()
def viewed(xs: Tensors, axis: Axis, place: Axis, source: DataType) -> Tensors:
    """What the elements of a list are views of, which correspond along these axes."""


@auxiliary(listing)
def viewing(x: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, a: Axis, b: Axis, d: Dims):
    """Fills `viewed`."""
    t, first = dtype_of(x), reshape(x, d)
    last = (operands_of(xs, a), eq(xs, cons(first, nil())))
    yield rule(*last, then=assign(viewed(xs, a, joint(a, x, d), t), cons(x, nil())))
    more = (operands_of(xs, a), eq(xs, cons(first, rest)), eq(b, joint(a, x, d)))
    yield rule(*more, eq(ys, viewed(rest, a, b, t)), then=assign(viewed(xs, a, b, t), cons(x, ys)))


@hosted()
def are_alike(xs: tuple[Fact, ...], place: Axis) -> bool:
    """They differ along that axis only."""
    return differ_along(xs, place)


def _lists(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, wide = g.input(("N", 4, 6, 5)), g.input(("N", 3, 6, 5)), g.input(("N", 3, 5, 6))

    def joined(*views: tuple[Any, tuple[Dim, ...]], axis: int = 1) -> Any:
        return concat(listed(*(reshape(v, dims) for v, dims in views)), axis)

    yield from g.all_fire(
        joined((x, ("N", 4, 30)), (y, ("N", 3, 30))),
        joined((x, ("N", 120)), (y, ("N", 90)), (x, ("N", 120))),
        joined((x, ("N", 2, 2, 30)), (x, ("N", 2, 2, 30))),
        joined((x, ("N", 1, 4, 6, 5)), (x, ("N", 1, 4, 6, 5))),
        joined((x, (1, "N", 4, 6, 5)), (y, (1, "N", 3, 6, 5)), axis=2),
    )
    yield from g.near_misses(
        (joined((x, ("N", 4, 30)), (wide, ("N", 3, 30))), "of other rows"),
        (joined((x, ("N", 4, 3, 10)), (x, ("N", 4, 3, 10)), axis=3), "no axis of x begins there"),
        (concat(listed(reshape(x, ("N", 120)), unary("Relu", (), g.input(("N", 3)))), 1), "one is no view"),
    )


@law(kind="merge", uses=(viewing,), examples=_lists)
def joined_views(xs: Tensors, ys: Tensors, a: Axis, b: Axis, t: DataType):
    """Concat(Reshape(x), Reshape(y), ..) = Reshape(Concat(x, y, ..)) along axes that correspond"""
    whole = concat(xs, a)
    known = (eq(ys, viewed(xs, a, b, t)), are_alike(ys, b), guard(worth_a_walk(xs)))
    yield rewrite(whole, reshape(concat(ys, b), known_dims(whole)), *known, because="views sink")
