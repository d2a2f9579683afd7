"""Neighbours in one tensor, each beside an operand of its own, that are joined again.

Concat(x[a:b] op y, x[b:c] op z, ..) -> x[a:c] op Concat(y, z, ..)

Offsets of a grid are added to boxes like this.  Constants may be shorter than what they are beside:
`joined_constants`.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, assign, auxiliary, eq, guard, hosted, law, rewrite, rule, table
from egraph_opt.laws.sorts import Axis, Int, Slices, String, Tensor, Tensors
from egraph_opt.operators import binary, concat, slice_
from egraph_opt.operators.terms import cons, nil
from egraph_opt.operators.terms import listed as terms
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import broadcasts_into
from egraph_opt.rewrites.linear.joined_products import differ_along
from egraph_opt.rewrites.slicing.concat import listing, operands_of, worth_a_walk
from egraph_opt.rewrites.slicing.concat_alike import joined_slices
from egraph_opt.rewrites.slicing.joined_parts import is_along, is_range


@table()
def others(xs: Tensors, axis: Axis, op: String, side: Int, x: Tensor, spec: Slices) -> Tensors:
    """What is beside neighbours in x in a list; `spec` is what these are together."""


@hosted()
def is_as_long(y: Fact, part: Fact, axis: Axis) -> bool:
    """y is as long as a part along an axis, and leaves the shape of that alone."""
    place = axis - (part.rank or 0) + (y.rank or 0)
    if not broadcasts_into(y.shape, part.shape) or place < 0:
        return False
    return bool(symbolic.known_equal(y.shape[place], part.shape[axis]))  # type: ignore[index]


@auxiliary(listing, either_side)
def beside_parts(x: Tensor, y: Tensor, z: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, op: String,
                 i: Int, a: Axis, s: Slices, t: Slices):  # fmt: skip
    """Fills `others`, from the end of a list to its front."""
    first = (operands_of(xs, a), eq(xs, cons(beside(op, z, y, i), rest)), eq(z, slice_(x, s)))
    known = (is_range(s, x), is_along(s, a), is_as_long(y, z, a))
    last = assign(others(xs, a, op, i, x, s), cons(y, nil()))
    yield rule(*first, *known, eq(rest, nil()), then=last)
    more = assign(others(xs, a, op, i, x, joined_slices(s, t, a)), cons(y, ys))
    yield rule(*first, *known, eq(ys, others(rest, a, op, i, x, t)), then=more)


@hosted()
def axis_of_others(axis: Axis, x: Fact, ys: tuple[Fact, ...]) -> Axis | None:
    """The axis along which operands are joined that are beside parts of x."""
    place = axis - (x.rank or 0) + (ys[0].rank or 0)
    return place if differ_along(ys, place) else None


def _offsets(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z, one = g.input(("N", 5, 4)), g.input(("N", 5, 3)), g.input(("N", 5, 1)), g.input((5, 1))

    def part(start: int, end: int) -> Tensor:
        return slice_(x, ((2, start, end, 1),))  # type: ignore[no-any-return]

    yield from g.all_fire(
        concat(terms(part(0, 3) + y, part(3, 4) + z), 2),
        concat(terms(z - part(0, 1), z - part(1, 2), z - part(2, 3)), 2),
        concat(terms(part(0, 1) * one, part(1, 2) * one), 2),
    )
    yield from g.near_misses(
        (concat(terms(part(1, 4) + y, part(0, 1) + z), 2), "another order"),
        (concat(terms(part(0, 3) + z, part(3, 4) + z), 2), "one is shorter than its part"),
        (concat(terms(part(0, 3) + y, part(3, 4) * z), 2), "two operators"),
        (concat(terms(z - part(0, 1), part(1, 2) - z), 2), "on either side"),
        (concat(terms(part(0, 1) + z, part(1, 2) + one), 2), "of two ranks"),
        (concat(terms(part(0, 3) + y, binary("Add", y, z)), 2), "no part"),
    )


@law("joining", numerics="bitwise", kind="merge", serves="launches", examples=_offsets, uses=(beside_parts,))
def beside_neighbours(x: Tensor, xs: Tensors, ys: Tensors, a: Axis, op: String, i: Int, s: Slices):
    """Concat(x[a:b] op y, x[b:c] op z, ..) = x[a:c] op Concat(y, z, ..)"""
    found = eq(ys, others(xs, a, op, i, x, s))
    made = beside(op, slice_(x, s), concat(ys, axis_of_others(a, x, ys)), i)
    demand = guard(worth_a_walk(xs), worth_a_walk(ys))
    yield rewrite(concat(xs, a), made, found, demand, because="the parts follow from Slices of both")
