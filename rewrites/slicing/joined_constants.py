"""Concatenations of element-wise operators that have constants beside their operands.

Concat(x op C, y op D, ..) = Concat(x, y, ..) op Concat(C, D, ..)

One number for all of an operand is as many.  The constants are concatenated when the graph is rebuilt: one
operator stays.  See `concat` on how lists are walked.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws import Example, Operands, assign, auxiliary, eq, guard, hosted, law, rewrite, rule, table
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axis, Int, String, Tensor, Tensors
from egraph_opt.operators import Literal, binary, concat, literal
from egraph_opt.operators.terms import cons, nil
from egraph_opt.operators.terms import listed as terms
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import broadcasts_into
from egraph_opt.rewrites.linear.joined_products import differ_along
from egraph_opt.rewrites.slicing.concat import listing, operands_of, worth_a_walk


@table()
def varying(xs: Tensors, axis: Axis, op: String, side: Int) -> Tensors:
    """The other operands of a list whose elements all have a constant beside them."""


@table()
def constant(xs: Tensors, axis: Axis, op: String, side: Int, others: Tensors) -> Tensors:
    """The constants that are beside these operands."""


def _dim_of_constant(c: Fact, x: Fact, axis: int) -> Dim:
    """The dim of a constant along an axis of the operand that it stands beside."""
    place = axis - ((x.rank or 0) - (c.rank or 0))
    return c.shape[place] if c.shape is not None and 0 <= place < len(c.shape) else 1


@hosted()
def is_as_long(c: Fact, x: Fact, axis: Axis) -> bool:
    """A constant has an element, or a row, for each of x along an axis."""
    dim = x.shape[axis] if x.shape is not None and axis < len(x.shape) else None
    return c.const and symbolic.known_equal(_dim_of_constant(c, x, axis), dim)


MOST = 4096
"""Of a longer axis, one number is not written for each place."""


@hosted()
def as_long(c: Fact, x: Fact, axis: Axis) -> Literal | None:
    """One number for all of x, as often as an axis is long."""
    dim = x.shape[axis] if x.shape is not None and axis < len(x.shape) else None
    if not c.const or c.splat is None or not broadcasts_into(c.shape, x.shape):
        return None
    if not isinstance(dim, int) or not 1 < dim <= MOST or _dim_of_constant(c, x, axis) != 1:
        return None
    return Literal(c.dtype, (dim, *(1,) * ((x.rank or 0) - axis - 1)), (c.splat,))


@auxiliary(listing, either_side)
def constants_beside(x: Tensor, c: Tensor, xs: Tensors, ys: Tensors, cs: Tensors, rest: Tensors, a: Axis,
                     op: String, s: Int):  # fmt: skip
    """Fills `varying`, and `constant` for these: what stands beside an operand is asked of that operand."""
    for long, known in ((c, is_as_long(c, x, a)), (literal(as_long(c, x, a)), as_long(c, x, a))):
        found, first = (operands_of(xs, a), known, varies(x)), beside(op, x, c, s)
        one = (
            assign(varying(xs, a, op, s), cons(x, nil())),
            assign(constant(xs, a, op, s, cons(x, nil())), cons(long, nil())),
        )
        yield rule(*found, eq(xs, cons(first, nil())), then=one)
        tail = (eq(ys, varying(rest, a, op, s)), eq(cs, constant(rest, a, op, s, ys)))
        more = (
            assign(varying(xs, a, op, s), cons(x, ys)),
            assign(constant(xs, a, op, s, cons(x, ys)), cons(long, cs)),
        )
        yield rule(*found, eq(xs, cons(first, rest)), *tail, then=more)


@hosted()
def axis_of_constants(axis: Axis, xs: tuple[Fact, ...], cs: tuple[Fact, ...]) -> Axis | None:
    """The axis along which constants are joined, each as long there as what it stands beside.

    The others have the shapes of the results; constants broadcast along other axes.
    """
    whole, own = xs[0].rank, cs[0].rank
    if whole is None or own is None or not differ_along(xs, axis):
        return None
    place = axis - (whole - own)
    if place < 0 or not differ_along(cs, place):
        return None
    for x, c in zip(xs, cs, strict=True):
        aligned = symbolic.known_equal(x.shape[axis], c.shape[place])  # type: ignore[index]
        if not aligned or not broadcasts_into(c.shape, x.shape):
            return None
    return place


def _parts(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 2, 3)), g.input(("N", 2, 4))
    c, d, wide = g.random(3), g.random(4), g.random(1, 4)
    sums = binary("Add", x, c), binary("Add", y, d)
    yield g.fires(concat(terms(*sums), 2))
    yield g.fires(concat(terms(*sums, binary("Add", y, g.random(4))), 2))
    yield g.fires(concat(terms(binary("Add", x, g.constant(0.5)), sums[1], binary("Add", y, g.random(1))), 2))
    rows = binary("Mul", x, g.constant([2.0])), binary("Mul", x, g.constant(-1.0))
    yield g.fires(concat(terms(*rows), 1))
    yield g.fires(concat(terms(binary("Div", c, x), binary("Div", d, y)), 2))
    for first, second, axis, why in (
        (sums[0], binary("Mul", y, d), 2, "two operators"),
        (binary("Div", c, x), binary("Div", y, d), 2, "a constant on either side"),
        (sums[0], binary("Add", y, wide), 2, "constants of two ranks"),
        (sums[0], sums[0], 1, "the constants do not have the axis"),
        (sums[0], binary("Add", y, g.input((4,))), 2, "one is no constant"),
    ):
        yield g.near_miss(concat(terms(first, second), axis), why=why)


@law("joining", numerics="bitwise", kind="merge", examples=_parts, uses=(constants_beside,))
def of_constants(xs: Tensors, ys: Tensors, cs: Tensors, a: Axis, op: String, s: Int):
    """Concat(x op C, y op D, ..) = Concat(x, y, ..) op Concat(C, D, ..)"""
    newest = guard(worth_a_walk(xs), eq(ys, varying(xs, a, op, s)))
    found = (newest, eq(cs, constant(xs, a, op, s, ys)))
    b = axis_of_constants(a, ys, cs)
    made = beside(op, concat(ys, a), concat(cs, b), s)
    yield rewrite(concat(xs, a), made, *found, because="the parts follow from Slices of both")
