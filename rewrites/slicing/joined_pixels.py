"""Images whose pixels become rows that are joined: the pixels are joined, and become rows together.

Concat(Reshape(Transpose(x)), Reshape(Transpose(y)), ..) -> Reshape(Transpose(Concat(x', y', ..)))

x', y', .. are x, y, .. with their pixels in a row; the transposes bring channels behind these.  Detectors
join the levels of a pyramid like this: one Transpose is left of as many as there are levels.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws import Example, Operands, assign, auxiliary, eq, guard, hosted, law, rewrite, rule, table
from egraph_opt.laws.algebra import relu, varies
from egraph_opt.laws.sorts import Axis, Dims, Permutation, Tensor, Tensors
from egraph_opt.operators import concat, reshape, transpose
from egraph_opt.operators.terms import cons, nil
from egraph_opt.operators.terms import listed as terms
from egraph_opt.rewrites.conditions.view_shapes import known_dims, same_dims
from egraph_opt.rewrites.linear.joined_products import differ_along
from egraph_opt.rewrites.slicing.concat import listing, operands_of, worth_a_walk


class Pixels(NamedTuple):
    """The dims of an image with its pixels in a row behind its channels, and how these come behind them."""

    dims: Dims
    order: Permutation


@hosted()
def pixels_in_row(x: Fact, p: Permutation, dims: Dims, axis: Axis) -> Pixels | None:
    """Of a transpose that brings two axes or more in front of others, and is viewed as rows along `axis`.

    All axes before stay as they are.
    """
    shape, rank = x.shape, len(p)
    if shape is None or not x.is_symbolic or 0 in (*shape, *dims) or not axis < rank - 2 or axis >= len(dims):
        return None
    channels = p[axis] - axis
    moved = (*range(axis), *range(axis + channels, rank), *range(axis, axis + channels))
    if channels < 1 or rank - axis - channels < 2 or p != moved or not same_dims(shape[:axis], dims[:axis]):
        return None
    first = axis + channels
    row = symbolic.product(shape[first:])
    if row is None:
        return None
    return Pixels((*shape[:first], row), (*range(axis), first, *range(axis, first)))


@hosted()
def last_of(order: Permutation) -> Axis:
    """The axis of the pixels in a row."""
    return len(order) - 1


@table()
def pixels(xs: Tensors, axis: Axis, order: Permutation) -> Tensors:
    """The elements of a list that is joined, as images with their pixels in a row."""


@auxiliary(listing)
def pixels_of_all(x: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, a: Axis, d: Dims, p: Permutation):
    """Fills `pixels`, from the end of a list to its front."""
    how, first = pixels_in_row(x, p, d, a), reshape(transpose(x, p), d)
    known, row = (operands_of(xs, a), varies(x)), reshape(x, how[0])
    yield rule(*known, eq(xs, cons(first, nil())), then=assign(pixels(xs, a, how[1]), cons(row, nil())))
    more = (eq(xs, cons(first, rest)), eq(ys, pixels(rest, a, how[1])))
    yield rule(*known, *more, then=assign(pixels(xs, a, how[1]), cons(row, ys)))


@hosted()
def are_alike(xs: tuple[Fact, ...], order: Permutation) -> bool:
    """All have one type, and as many channels."""
    return len({x.dtype for x in xs}) == 1 and differ_along(xs, len(order) - 1)


def _levels(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z = g.input(("N", 6, 4, 5)), g.input(("N", 6, 2, 3)), g.input(("N", 6, "L", 2))

    def rows(of: Tensor, dims: tuple[Dim, ...], order: Permutation = (0, 2, 3, 1)) -> Tensor:
        return reshape(transpose(of, order), dims)  # type: ignore[no-any-return]

    heads = [rows(x, ("N", 40, 3)), rows(y, ("N", 12, 3)), rows(z, ("N", "4*L", 3))]
    deep = [
        rows(g.input(("N", 3, 2, *dims)), ("N", count, 2), (0, 3, 4, 1, 2))
        for dims, count in (((4, 5), 60), ((2, 3), 18))
    ]
    single = [rows(g.input((6, *dims)), (count, 6), (1, 2, 0)) for dims, count in (((4, 5), 20), ((2, 3), 6))]
    yield from g.all_fire(
        concat(terms(*heads[:2]), 1),
        concat(terms(*heads), 1),
        concat(terms(*deep), 1),
        concat(terms(*single), 0),
    )
    yield g.fires(concat(terms(rows(x, ("N", 120)), rows(y, ("N", 36))), 1))
    wide = rows(g.input(("N", 3, 2, 3)), ("N", 6, 3))
    turned = ((x, ("N", 40, 3)), (y, ("N", 12, 3)))
    yield from g.near_misses(
        (concat(terms(heads[0], wide), 1), "of other channels"),
        (concat(terms(heads[0], relu(heads[1])), 1), "a function is between"),
        (concat(terms(rows(x, ("N", 40, 3)), rows(x, ("N", 40, 3))), 2), "columns are joined"),
        (concat(terms(*(rows(v, dims, (0, 3, 2, 1)) for v, dims in turned)), 1), "pixels change their order"),
    )


@law(
    "joining",
    numerics="bitwise",
    kind="merge",
    serves="launches",
    source="RetinaNet, arXiv 1708.02002: levels of a pyramid",
    examples=_levels,
    uses=(pixels_of_all,),
)
def joined_pixels(xs: Tensors, ys: Tensors, a: Axis, q: Permutation):
    """Concat(Reshape(Transpose(x)), Reshape(Transpose(y)), ..) = Reshape(Transpose(Concat(x', y', ..)))

    x', y', .. are x, y, .. with their pixels in a row.
    """
    whole = concat(xs, a)
    known = (eq(ys, pixels(xs, a, q)), are_alike(ys, q), guard(worth_a_walk(xs)))
    made = transpose(concat(ys, last_of(q)), q)
    yield rewrite(whole, reshape(made, known_dims(whole)), *known, because="the views forget the images")
