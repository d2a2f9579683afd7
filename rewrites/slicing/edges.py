"""What an edge Pad adds along an axis are the first and the last element, as often as it says.

    Pad_edge(x; a in front, b behind) = Concat(x[:1], .., x, .., x[-1:])             axis by axis

Targets without the mode take the one side, all others the other.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
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
    union,
)
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axis, Dims, Int, Number, Pads, Slices, Tensor, Tensors
from egraph_opt.operators import concat, expand, pad, slice_
from egraph_opt.operators.terms import cons, listed, nil
from egraph_opt.rewrites.conditions.operands import numbers
from egraph_opt.rewrites.slicing.concat import listing, operands_of
from egraph_opt.rewrites.slicing.reflection import SIDES, along, first_axes, in_steps, padded_axis, zero_of
from egraph_opt.rewrites.slicing.slice import dim_at

law = laws_of("padding", numerics="bitwise", kind="split", serves="target")


class Edges(NamedTuple):
    """What is added along an axis: the ends, how they are repeated, and the pads up to this axis."""

    axis: Axis
    first: Slices
    last: Slices
    in_front: Dims
    behind: Dims
    pads: Pads


def ends_of(dim: Any, axis: int) -> tuple[Slices, Slices]:
    """The slices that are the first and the last element of an axis."""
    last = (axis, dim - 1, dim, 1) if isinstance(dim, int) else (axis, -1, None, 1)
    return ((axis, 0, 1, 1),), (last,)


@hosted()
def edges(x: Fact, pads: Pads, k: int, in_front: int, behind: int) -> Edges | None:
    """Of the k-th axis that is padded; None where it may have no element."""
    axis = padded_axis(x, pads, k, in_front, behind)
    if axis is None or x.shape is None or not symbolic.is_at_least(x.shape[axis], 1):
        return None
    rank = len(x.shape)
    times = [(1,) * axis + (pads[k],) + (1,) * (rank - axis - 1) for k in (axis, axis + rank)]
    first, last = ends_of(x.shape[axis], axis)
    return Edges(axis, first, last, times[0], times[1], first_axes(pads, k + 1))


@law(source="Ascend auto-optimizer, reflection Pad", uses=(numbers,), last=True)
def edges_by_slices(x: Tensor, y: Tensor, p: Pads, v: Number, k: Int):
    """Pad_edge(x) = Concat(x[:1], .., x, .., x[-1:]), one axis after the other"""
    for n, z, written in in_steps("edge", x, y, k, pads=p, value=v):
        for in_front, behind in SIDES:
            how = edges(x, p, n, in_front, behind)
            first, end = expand(slice_(z, how[1]), how[3]), expand(slice_(z, how[2]), how[4])
            joined = concat(listed(*[first] * in_front, z, *[end] * behind), how[0])
            step = union(pad(x, "edge", how[5], v), joined)
            yield rule(*written, then=step, inverse="slices_that_are_edges")


# --- the other way --------------------------------------------------------------------------------------


@table(merge="last")
def times(e: Tensor, x: Tensor, spec: Slices) -> Number:
    """How often e repeats an end of an axis of x."""


@table(merge="last")
def tail(xs: Tensors, axis: Axis, x: Tensor) -> Number:
    """How many last elements of x a list is."""


@table(merge="last")
def framed(xs: Tensors, axis: Axis, x: Tensor) -> Pads:
    """How many first and last elements of x are around it in a list."""


@hosted()
def is_end(x: Fact, spec: Slices) -> bool:
    """One slice takes the first or the last element of an axis, which has one."""
    dim = dim_at(x, spec[0][0]) if len(spec) == 1 else None
    return symbolic.is_at_least(dim, 1) and spec in ends_of(dim, spec[0][0])


@hosted()
def repeated(y: Fact, dims: Dims, spec: Slices) -> Number | None:
    """How often an Expand repeats y along the axis of a slice, and along no other."""
    axis = spec[0][0]
    if y.shape is None or len(dims) > len(y.shape):
        return None
    aligned = (*(1,) * (len(y.shape) - len(dims)), *dims)
    for k, (dim, own) in enumerate(zip(aligned, y.shape, strict=True)):
        if k != axis and dim != 1 and not symbolic.known_equal(dim, own):
            return None
    found = aligned[axis]
    return found if isinstance(found, int) else None


@hosted()
def is_side(x: Fact, spec: Slices, axis: Axis, side: int) -> bool:
    """A slice takes that end of that axis."""
    return spec[0][0] == axis and spec == ends_of(dim_at(x, axis), axis)[side]


@hosted()
def once() -> Number:
    return 1


@hosted()
def plus(m: Number, n: Number) -> Number:
    return m + n


@hosted()
def frame(front: Number, behind: Number) -> Pads:
    return int(front), int(behind)


@hosted()
def more_in_front(found: Pads, n: Number) -> Pads:
    return found[0] + int(n), found[1]


@auxiliary(listing)
def frames(xs: Tensors, rest: Tensors, e: Tensor, x: Tensor, y: Tensor, t: Slices, d: Dims, f: Pads, a: Axis,
           m: Number, n: Number):  # fmt: skip
    """Fills `times`, `tail` and `framed`."""
    yield rule(eq(e, slice_(x, t)), is_end(x, t), then=assign(times(e, x, t), once()))
    yield rule(
        eq(e, expand(y, d)), eq(once(), times(y, x, t)), then=assign(times(e, x, t), repeated(y, d, t))
    )
    last = (operands_of(xs, a), eq(xs, cons(e, nil())), eq(n, times(e, x, t)))
    yield rule(*last, is_side(x, t, a, 1), then=assign(tail(xs, a, x), n))
    some = (operands_of(xs, a), eq(xs, cons(e, rest)), eq(n, times(e, x, t)))
    more = (*some, eq(m, tail(rest, a, x)), is_side(x, t, a, 1))
    yield rule(*more, then=assign(tail(xs, a, x), plus(m, n)))
    yield rule(operands_of(xs, a), eq(xs, cons(x, nil())), then=assign(framed(xs, a, x), frame(0, 0)))
    whole = (operands_of(xs, a), eq(xs, cons(x, rest)), eq(n, tail(rest, a, x)))
    yield rule(*whole, then=assign(framed(xs, a, x), frame(0, n)))
    around = (*some, eq(f, framed(rest, a, x)), is_side(x, t, a, 0))
    yield rule(*around, then=assign(framed(xs, a, x), more_in_front(f, n)))


@hosted()
def pads_along(x: Fact, axis: Axis, found: Pads) -> Pads | None:
    """The pads of one axis."""
    return None if x.rank is None or not any(found) else along(x.rank, axis, *found)


def _edge_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 3, 4)), g.input(("N", 3, 4))
    first, last = slice_(x, ((1, 0, 1, 1),)), slice_(x, ((1, 2, 3, 1),))
    yield from g.all_fire(
        concat(listed(first, first, x, last), 1),
        concat(listed(expand(first, (1, 5, 1)), x), 1),
        concat(listed(x, last, last), 1),
    )
    yield from g.near_misses(
        (concat(listed(first, y), 1), "of another tensor"),
        (concat(listed(last, x), 1), "the other end"),
        (concat(listed(x, slice_(x, ((1, 1, 2, 1),))), 1), "an inner element"),
        (concat(listed(x, slice_(x, ((1, 1, 3, 1),))), 1), "two elements"),
    )
    long = g.input(("N", "L"))
    yield g.near_miss(concat(listed(slice_(long, ((1, 0, 1, 1),)), long), 1), why="there may be none")


@law(kind="fuse", serves="launches", examples=_edge_examples, uses=(frames,))
def slices_that_are_edges(xs: Tensors, x: Tensor, a: Axis, f: Pads):
    """Concat(x[:1], .., x, .., x[-1:]) = Pad_edge(x), in front or behind alone as well"""
    found, whole = eq(f, framed(xs, a, x)), pad(x, "edge", pads_along(x, a, f), zero_of(x))
    yield rewrite(concat(xs, a), whole, found, guard(varies(x)), inverse="edges_by_slices")
