"""Columns of one tensor that are added up, and joined, are a product with a constant matrix.

Concat(sums of scaled columns of x) -> x @ M          and likewise of rows: -> M @ x

Boxes are turned like this from centres and sizes into corners.  Of each part its own columns of M are found:
those of a Slice choose, and sums and scales of parts are those of their columns.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, assign, auxiliary, eq, guard, hosted, law, rewrite, rule, table
from egraph_opt.laws.sorts import Axis, Dims, Int, Slices, String, Tensor, Tensors, Unit
from egraph_opt.operators import Literal, binary, concat, literal, reshape, slice_
from egraph_opt.operators.terms import cons, nil
from egraph_opt.operators.terms import listed as terms
from egraph_opt.rewrites.conditions.channels import count_along
from egraph_opt.rewrites.conditions.operands import factor, factors
from egraph_opt.rewrites.conditions.values import is_kernel_float
from egraph_opt.rewrites.slicing.concat import listing, operands_of, worth_a_walk
from egraph_opt.rewrites.slicing.slice import dim_at

MOST = 32
"""A matrix with more rows or columns than this costs more than the sums that it is for."""

# --- matrices ---------------------------------------------------------------------------------------------


@hosted()
def axis_of_side(x: Fact, side: int) -> Axis | None:
    """The last axis of x, on the left of a product (0), or the one before, on the right (1); a short one."""
    axis = (x.rank or 0) - 1 - side
    size = dim_at(x, axis) if axis >= 0 else None
    return axis if x.rank != 1 and isinstance(size, int) and size <= MOST else None


@table()
def in_sum(y: Tensor, side: Int) -> Unit:
    """y is joined along the axis of that side, or is an operand of what is."""


@table()
def matrix(y: Tensor, x: Tensor, side: Int) -> Tensor:
    """The constant with which x is multiplied to y."""


@hosted()
def is_sum(op: str) -> bool:
    return op in ("Add", "Sub")


@hosted()
def choice(s: Slices, x: Fact, side: int) -> Literal | None:
    """The matrix that chooses what a slice takes."""
    axis = (x.rank or 0) - 1 - side
    size = dim_at(x, axis) if axis >= 0 and [entry[0] for entry in s] == [axis] else None
    if x.const or not isinstance(size, int) or size > MOST:
        return None
    taken = range(size)[slice(*s[0][1:])]
    chosen = np.eye(size)[:, list(taken)]
    chosen = chosen.T if side else chosen
    return Literal(x.dtype, chosen.shape, tuple(chosen.ravel().tolist())) if len(taken) else None


@hosted()
def dims_of_scale(c: Fact, y: Fact, side: int) -> Dims | None:
    """The dims of a constant as a scale of the columns, or rows, of the matrix that makes y."""
    axis = (y.rank or 0) - 1 - side
    size = dim_at(y, axis) if axis >= 0 else None
    if y.const or not isinstance(size, int):
        return None
    count = count_along(c, y.rank or 0, axis, size)
    return None if count is None else (count, 1) if side else (count,)


@auxiliary(listing, factors)
def matrices(x: Tensor, y: Tensor, z: Tensor, u: Tensor, c: Tensor, v: Tensor, w: Tensor, xs: Tensors,
             rest: Tensors, op: String, s: Slices, a: Axis, i: Int):  # fmt: skip
    """Fills `in_sum` and `matrix`."""
    for side in (0, 1):
        joined = (operands_of(xs, a), eq(xs, cons(y, rest)), is_kernel_float(y), eq(a, axis_of_side(y, side)))
        yield rule(*joined, then=in_sum(y, side))
    total = (in_sum(u, i), eq(u, binary(op, y, z)), is_sum(op))
    yield rule(*total, then=(in_sum(y, i), in_sum(z, i)))
    yield rule(
        *total, eq(v, matrix(y, x, i)), eq(w, matrix(z, x, i)), then=assign(matrix(u, x, i), binary(op, v, w))
    )
    yield rule(in_sum(y, i), eq(y, slice_(x, s)), then=assign(matrix(y, x, i), literal(choice(s, x, i))))
    scaled, dims = (in_sum(u, i), eq(u, y * c)), dims_of_scale(c, y, i)
    yield rule(*scaled, dims_of_scale(c, y, i), then=in_sum(y, i))
    yield rule(*scaled, eq(v, matrix(y, x, i)), then=assign(matrix(u, x, i), v * reshape(c, dims)))


# --- lists ------------------------------------------------------------------------------------------------


@table()
def matrices_of(xs: Tensors, axis: Axis, x: Tensor, side: Int) -> Tensors:
    """The matrices of all of a list that is joined along the axis of that side."""


@table()
def has_sum(xs: Tensors, axis: Axis, x: Tensor, side: Int) -> Unit:
    """One of a list, at least, adds up parts of x."""


@auxiliary(matrices)
def listed_matrices(x: Tensor, y: Tensor, z: Tensor, u: Tensor, v: Tensor, xs: Tensors, rest: Tensors,
                    ws: Tensors, op: String, a: Axis, i: Int):  # fmt: skip
    """Fills `matrices_of` and `has_sum`, from the end of a list to its front."""
    first = (operands_of(xs, a), eq(xs, cons(u, rest)), eq(v, matrix(u, x, i)), eq(a, axis_of_side(x, i)))
    yield rule(*first, eq(rest, nil()), then=assign(matrices_of(xs, a, x, i), cons(v, nil())))
    yield rule(*first, eq(ws, matrices_of(rest, a, x, i)), then=assign(matrices_of(xs, a, x, i), cons(v, ws)))
    added = (eq(u, binary(op, y, z)), is_sum(op), matrix(y, x, i), matrix(z, x, i))
    yield rule(*first, *added, then=has_sum(xs, a, x, i))
    yield rule(*first, has_sum(rest, a, x, i), then=has_sum(xs, a, x, i))


@hosted()
def are_few(ws: tuple[Fact, ...], side: int) -> bool:
    """Together no more than MOST columns, or rows."""
    counts = [dim_at(w, 1 - side) for w in ws]
    return all(isinstance(n, int) for n in counts) and sum(counts) <= MOST  # type: ignore[arg-type]


def _boxes(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, rows = g.input(("N", 5, 4)), g.input(("N", 5, 4)), g.input(("N", 4, 5))

    def part(whole: Tensor, axis: int, start: int, size: int = 1) -> Tensor:
        return slice_(whole, ((axis, start, start + size, 1),))  # type: ignore[no-any-return]

    half, two = g.constant(0.5), g.random(2)
    for whole, axis in ((x, 2), (rows, 1)):
        centre, size = part(whole, axis, 0, 2), part(whole, axis, 2, 2)
        yield g.fires(concat(terms(centre - size * half, centre + size * half), axis))
        one, other, last = (part(whole, axis, k) for k in range(3))
        yield g.fires(concat(terms(one, one + other, last * half - one), axis))
    centre, size = part(x, 2, 0, 2), part(x, 2, 2, 2)
    yield g.fires(concat(terms(centre, size * two - centre * half, centre), 2))
    yield from g.near_misses(
        (concat(terms(centre * half, size), 2), "nothing is added"),
        (concat(terms(centre + size, part(y, 2, 0)), 2), "of two tensors"),
        (concat(terms(part(x, 1, 0) + part(x, 1, 1), part(x, 1, 2)), 2), "along another axis"),
        (concat(terms(centre * size, centre + size), 2), "a product of parts"),
        (concat(terms(centre + size * g.random(5, 1), size), 2), "rows are scaled"),
        (concat(terms(centre + g.input((2,)), size), 2), "something else is added"),
    )


@law(
    "joining",
    numerics="reassociates",
    kind="replace",
    serves="launches",
    source="algebra; box decoders of YOLO",
    examples=_boxes,
    uses=(listed_matrices,),
)
def sums_of_columns(x: Tensor, xs: Tensors, ws: Tensors, a: Axis):
    """Concat(sums of scaled columns of x) = x @ M for a constant M, and M @ x of rows"""
    for side in (0, 1):
        found = eq(ws, matrices_of(xs, a, x, side))
        demand = guard(worth_a_walk(xs), has_sum(xs, a, x, side), are_few(ws, side))
        made = factor(x, concat(ws, 1 - side), side)
        yield rewrite(concat(xs, a), made, found, demand, because="sums forget the order of what is added")
