"""Adjacent parts that are stacked along an axis of their own are a view, and a Transpose brings that there.

Concat_a(Unsqueeze_a(x[:w]), Unsqueeze_a(x[w:2w]), ..) -> Transpose(Reshape(x))

So are heads that are written as a list of chunks.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, assign, auxiliary, eq, guard, hosted, law, rewrite, rule, table
from egraph_opt.laws.algebra import relu, varies
from egraph_opt.laws.sorts import Axis, Dims, Permutation, Slices, Tensor, Tensors
from egraph_opt.operators import concat, reshape, slice_, transpose
from egraph_opt.operators.terms import cons, nil
from egraph_opt.operators.terms import listed as terms
from egraph_opt.rewrites.conditions.view_shapes import same_dims
from egraph_opt.rewrites.slicing.concat import listing, operands_of, worth_a_walk
from egraph_opt.rewrites.slicing.concat_alike import joined_slices
from egraph_opt.rewrites.slicing.joined_parts import is_range
from egraph_opt.rewrites.slicing.movement import single_axis
from egraph_opt.rewrites.slicing.slice import dim_at


@table(merge="last")
def stacked(xs: Tensors, axis: Axis, x: Tensor) -> Slices:
    """The slice of x that adjacent slices, each with an axis of 1 more, are in their order."""


@hosted()
def inserts(part: Fact, dims: Dims, axis: Axis) -> bool:
    """The view has an axis of 1 more there."""
    if axis >= len(dims) or dims[axis] != 1:
        return False
    return same_dims((*dims[:axis], *dims[axis + 1 :]), part.shape)


@auxiliary(listing)
def stacking(x: Tensor, y: Tensor, xs: Tensors, rest: Tensors, a: Axis, d: Dims, s: Slices, t: Slices):
    """Fills `stacked`, from the end of a list to its front."""
    first = (operands_of(xs, a), eq(xs, cons(reshape(y, d), rest)), inserts(y, d, a))
    part = (*first, eq(y, slice_(x, s)), is_range(s, x))
    yield rule(*part, eq(rest, nil()), then=assign(stacked(xs, a, x), s))
    more = (*part, eq(t, stacked(rest, a, x)))
    yield rule(*more, then=assign(stacked(xs, a, x), joined_slices(s, t, single_axis(s))))


class Stack(NamedTuple):
    """The view that tells the parts apart, and the transpose that brings these to their place."""

    dims: Dims
    order: Permutation


@hosted()
def stack_of(x: Fact, spec: Slices, xs: tuple[Fact, ...], axis: Axis) -> Stack | None:
    """Of so many equal parts; the axis is that of the stack."""
    place, start, end, _ = spec[0]
    dim = dim_at(x, place)
    if x.shape is None or not x.is_symbolic or not isinstance(dim, int) or end is None or end > dim:
        return None
    width, rest = divmod(end - start, len(xs))
    if rest or not width:
        return None
    dims = (*x.shape[:place], len(xs), width, *x.shape[place + 1 :])
    others = [k for k in range(len(dims)) if k != place]
    return Stack(dims, (*others[:axis], place, *others[axis:]))


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", "L", 12)), g.input(("N", "L", 12))

    def parts(*bounds: tuple[int, int], dims: tuple[int | str, ...], axis: int, of: Tensor = x) -> Tensor:
        views = (reshape(slice_(of, ((2, *b, 1),)), dims) for b in bounds)
        return concat(terms(*views), axis)  # type: ignore[no-any-return]

    thirds, heads = ((0, 4), (4, 8), (8, 12)), ("N", 1, "L", 4)
    yield from g.all_fire(
        parts(*thirds, dims=heads, axis=1),
        parts(*thirds, dims=("N", "L", 1, 4), axis=2),
        parts(*thirds, dims=("N", "L", 4, 1), axis=3),
        parts(*thirds, dims=(1, "N", "L", 4), axis=0),
        parts((3, 6), (6, 9), dims=("N", 1, "L", 3), axis=1),
    )
    rows = [reshape(slice_(g.input((6, 5)), ((0, k, k + 3, 1),)), (3, 1, 5)) for k in (0, 3)]
    own = [slice_(v, ((2, k, k + 4, 1),)) for k, v in ((0, x), (4, y))]
    yield from g.near_misses(
        (parts((4, 8), (0, 4), dims=heads, axis=1), "the other way round"),
        (parts((0, 4), (8, 12), dims=heads, axis=1), "one is missing"),
        (parts((0, 4), (2, 6), dims=heads, axis=1), "they overlap"),
        (parts((0, 4), (4, 8), dims=heads, axis=2), "along an axis of theirs"),
        (concat(terms(*rows), 1), "slices of two tensors"),
        (concat(terms(*(reshape(v, heads) for v in own)), 1), "slices of two tensors"),
        (concat(terms(*(reshape(relu(v), heads) for v in own)), 1), "a function is between"),
    )


@law(
    "stacks",
    numerics="bitwise",
    kind="merge",
    serves="launches",
    source="PyTorch, stack of chunks",
    examples=_examples,
    uses=(stacking,),
)
def stack_of_parts(x: Tensor, xs: Tensors, a: Axis, s: Slices):
    """Concat_a(Unsqueeze_a(x[:w]), Unsqueeze_a(x[w:2w]), ..) = Transpose(Reshape(x))"""
    found = (guard(worth_a_walk(xs), varies(x)), eq(s, stacked(xs, a, x)))
    how = stack_of(x, s, xs, a)
    whole = transpose(reshape(slice_(x, s), how[0]), how[1])
    yield rewrite(concat(xs, a), whole, *found, because="forgets where parts were told apart")
