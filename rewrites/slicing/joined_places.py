"""The places of an axis, one after the other along another axis, are a view of a transpose.

Concat_b(x[0:1], x[1:2], ..) -> Reshape(Transpose(x))         of places of an axis a in their order

Where a is next to b in front, nothing is transposed.  The last states of both directions of an LSTM are
joined like this, and the directions of all steps.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, assign, auxiliary, eq, guard, hosted, law, rewrite, rule, table
from egraph_opt.laws.algebra import relu, varies
from egraph_opt.laws.sorts import Axis, Permutation, Slices, Tensor, Tensors
from egraph_opt.operators import concat, reshape, slice_, transpose
from egraph_opt.operators.terms import cons, listed, nil
from egraph_opt.rewrites.conditions.view_shapes import known_dims
from egraph_opt.rewrites.slicing.concat import listing, operands_of, worth_a_walk
from egraph_opt.rewrites.slicing.concat_alike import joined_slices
from egraph_opt.rewrites.slicing.slice import dim_at


@table(merge="first")
def places(xs: Tensors, axis: Axis, x: Tensor) -> Slices:
    """What single places of an axis of x, in a list in their order, take together."""


@hosted()
def is_place(s: Slices, axis: Axis, x: Fact) -> bool:
    """The slice takes one element of another axis than the one along which there is a list."""
    if len(s) != 1 or s[0][0] == axis:
        return False
    (_, start, end, step), dim = s[0], dim_at(x, s[0][0])
    return isinstance(dim, int) and step == 1 and 0 <= start < dim and end == start + 1


@hosted()
def next_places(s: Slices, t: Slices) -> Slices | None:
    """A place and those that follow it."""
    found: Slices | None = joined_slices.function(s, t, s[0][0]) if s else None
    return found


@auxiliary(listing)
def placing(x: Tensor, xs: Tensors, rest: Tensors, b: Axis, s: Slices, t: Slices):
    """Fills `places` from the end of a list to its front."""
    first = (is_place(s, b, x), varies(x))
    last = (operands_of(xs, b), eq(xs, cons(slice_(x, s), nil())))
    yield rule(*last, *first, then=assign(places(xs, b, x), s))
    more = (operands_of(xs, b), eq(xs, cons(slice_(x, s), rest)), eq(t, places(rest, b, x)))
    yield rule(*more, *first, then=assign(places(xs, b, x), next_places(s, t)))


@hosted()
def in_front_of(s: Slices, axis: Axis, x: Fact) -> Permutation | None:
    """The permutation that brings the axis of places to right in front of another one."""
    if x.rank is None:
        return None
    rest = [k for k in range(x.rank) if k != s[0][0]]
    place = rest.index(axis)
    return (*rest[:place], s[0][0], *rest[place:])


def _lists(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input((3, "N", 4)), g.input(("N", 2, 5))

    def place(k: int, axis: int = 0, v: Tensor = x) -> Tensor:
        return slice_(v, ((axis, k, k + 1, 1),))  # type: ignore[no-any-return]

    def dropped(k: int) -> Tensor:
        return reshape(place(k, 1, y), ("N", 5))  # type: ignore[no-any-return]

    yield from g.all_fire(
        concat(listed(place(0), place(1), place(2)), 1),
        concat(listed(place(1), place(2)), 2),
        concat(listed(place(0, 1, y), place(1, 1, y)), 2),
        concat(listed(place(0, 1, y), place(1, 1, y)), 0),
    )
    yield from g.near_misses(
        (concat(listed(place(1), place(0)), 1), "another order"),
        (concat(listed(place(0), place(2)), 1), "one is left out"),
        (concat(listed(place(0), place(1)), 0), "along the axis itself"),
        (concat(listed(place(0), relu(place(1))), 1), "one is no place"),
        (concat(listed(slice_(x, ((0, 0, 2, 1),)), slice_(x, ((0, 1, 3, 1),))), 1), "two elements each"),
        (concat(listed(dropped(0), relu(dropped(1))), 1), "another is no place"),
    )


@law(
    "joining",
    numerics="bitwise",
    kind="replace",
    serves="launches",
    source="classifiers behind bidirectional LSTMs, as PyTorch exports them",
    uses=(placing,),
    examples=_lists,
)
def of_places(x: Tensor, xs: Tensors, s: Slices, b: Axis):
    """Concat_b(x[0:1], x[1:2], ..) = Reshape(Transpose(x)) of places of another axis in their order"""
    whole = concat(xs, b)
    turned = transpose(slice_(x, s), in_front_of(s, b, x))
    known = (guard(worth_a_walk(xs)), eq(s, places(xs, b, x)))
    yield rewrite(whole, reshape(turned, known_dims(whole)), *known, because="a view forgets the places")
