"""Concatenations of element-wise operators that have constants beside their operands.

Concat(x op C, y op D, ..) = Concat(x, y, ..) op Concat(C, D, ..)

The constants are broadcast along the axis, and along others where they have different dims there.  They are
concatenated when the graph is rebuilt: one operator stays.  See `concat` on how lists are walked.
"""

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, assign, auxiliary, eq, guard, hosted, law, rewrite, rule, table
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axis, Dims, Int, String, Tensor, Tensors, Unit
from egraph_opt.operators import Literal, binary, concat, expand, literal, reshape
from egraph_opt.operators.terms import cons, nil
from egraph_opt.operators.terms import listed as terms
from egraph_opt.rewrites.conditions.channels import static_shape
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


def is_within(c: Fact, x: Fact) -> bool:
    """A constant that, broadcast against x, leaves the shape of x alone."""
    return c.const and broadcasts_into(c.shape, x.shape)


@hosted()
def is_constant_within(c: Fact, x: Fact) -> bool:
    return is_within(c, x)


@auxiliary(listing, either_side)
def constants_beside(x: Tensor, c: Tensor, xs: Tensors, ys: Tensors, cs: Tensors, rest: Tensors, a: Axis,
                     op: String, s: Int):  # fmt: skip
    """Fills `varying`, and `constant` for these: what stands beside an operand is asked of that operand."""
    found, first = (operands_of(xs, a), is_constant_within(c, x), varies(x)), beside(op, x, c, s)
    one = (
        assign(varying(xs, a, op, s), cons(x, nil())),
        assign(constant(xs, a, op, s, cons(x, nil())), cons(c, nil())),
    )
    yield rule(*found, eq(xs, cons(first, nil())), then=one)
    tail = (eq(ys, varying(rest, a, op, s)), eq(cs, constant(rest, a, op, s, ys)))
    more = (
        assign(varying(xs, a, op, s), cons(x, ys)),
        assign(constant(xs, a, op, s, cons(x, ys)), cons(c, cs)),
    )
    yield rule(*found, eq(xs, cons(first, rest)), *tail, then=more)


# --- constants as long as what they are beside ------------------------------------------------------------

MOST = 4096
"""Constants become no larger than this, or than twice what they are together."""


@hosted()
def dims_of_constants(axis: Axis, xs: tuple[Fact, ...], cs: tuple[Fact, ...]) -> Dims | None:
    """The dims in which constants are broadcast beside all of xs along an axis, none of 1 in front of it."""
    rank, lengths = xs[0].rank, [dict(enumerate(x.shape or ())).get(axis) for x in xs]
    if rank is None or not differ_along(xs, axis) or not all(isinstance(n, int) and n for n in lengths):
        return None
    within = [static_shape(c) for c, x in zip(cs, xs, strict=True) if is_within(c, x)]
    shapes = [dims for dims in within if dims is not None]
    if len(shapes) < len(cs) or len({c.dtype for c in cs}) > 1:
        return None
    aligned = [(1,) * (rank - len(dims)) + dims for dims in shapes]
    together = [0 if 0 in dims else max(dims) for dims in zip(*aligned, strict=True)]
    together[axis] = sum(lengths)  # type: ignore[arg-type]
    if 0 in together or prod(together) > max(MOST, 2 * sum(map(prod, aligned))):
        return None
    front = next(k for k, dim in enumerate(together) if dim != 1 or k == axis)
    return tuple(together[front:])


def _of_part(x: Fact, axis: int, dims: Dims) -> tuple[Any, ...] | None:
    """Of the dims of all constants those of the one beside x; None where x has no such axis."""
    place = axis - (x.rank or 0) + len(dims)
    if x.shape is None or not 0 <= place < len(dims) or not isinstance(x.shape[axis], int):
        return None
    return (*dims[:place], x.shape[axis], *dims[place + 1 :])


@hosted()
def number_throughout(c: Fact, x: Fact, axis: Axis, dims: Dims) -> Literal | None:
    """One number for all of x, as often as is asked."""
    own = _of_part(x, axis, dims)
    return None if own is None or c.splat is None else Literal(c.dtype, own, (c.splat,))


@hosted()
def own_dims(c: Fact, x: Fact, axis: Axis, dims: Dims) -> tuple[Dims, Dims] | None:
    """The dims of c with as many in front as are asked, and those that are asked."""
    own, shape = _of_part(x, axis, dims), static_shape(c)
    if own is None or shape is None or c.splat is not None:
        return None
    if len(shape) > len(own):
        return shape[len(shape) - len(own) :], own
    return (1,) * (len(own) - len(shape)) + shape, own


@table()
def to_spread(cs: Tensors, xs: Tensors, axis: Axis, dims: Dims) -> Unit:
    """The constants beside xs, or their tails, are to be broadcast to these dims."""


@table()
def spread(cs: Tensors, xs: Tensors, axis: Axis, dims: Dims) -> Tensors:
    """Constants that are broadcast, each as long along the axis as what it is beside."""


@auxiliary()
def spreading(x: Tensor, c: Tensor, xs: Tensors, cs: Tensors, ys: Tensors, ds: Tensors,
              es: Tensors, a: Axis, d: Dims):  # fmt: skip
    """Fills `spread` where it is asked, from the end of a list to its front."""
    found = (to_spread(cs, xs, a, d), eq(cs, cons(c, ds)), eq(xs, cons(x, ys)))
    yield rule(*found, then=to_spread(ds, ys, a, d))
    yield rule(to_spread(nil(), nil(), a, d), then=assign(spread(nil(), nil(), a, d), nil()))
    dims = own_dims(c, x, a, d)
    for made in (literal(number_throughout(c, x, a, d)), expand(reshape(c, dims[0]), dims[1])):
        then = assign(spread(cs, xs, a, d), cons(made, es))
        yield rule(*found, eq(es, spread(ds, ys, a, d)), then=then)


@auxiliary(constants_beside, spreading)
def constants_joined(xs: Tensors, ys: Tensors, cs: Tensors, a: Axis, op: String, s: Int):
    """Fills `to_spread` for the constants of whole lists."""
    found = (eq(ys, varying(xs, a, op, s)), eq(cs, constant(xs, a, op, s, ys)))
    dims = dims_of_constants(a, ys, cs)
    yield rule(concat(xs, a), worth_a_walk(xs), *found, then=to_spread(cs, ys, a, dims))


@hosted()
def axis_of_constants(axis: Axis, xs: tuple[Fact, ...], dims: Dims) -> Axis:
    """The axis of constants that stands for one of what is beside them."""
    return axis - (xs[0].rank or 0) + len(dims)


def _parts(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, one = g.input(("N", 2, 3)), g.input(("N", 2, 4)), g.input(("N", 2, 1))
    c, d, wide = g.random(3), g.random(4), g.random(2, 4)
    sums = binary("Add", x, c), binary("Add", y, d)
    yield g.fires(concat(terms(*sums), 2))
    yield g.fires(concat(terms(*sums, binary("Add", y, g.random(4))), 2))
    yield g.fires(concat(terms(binary("Add", x, g.constant(0.5)), sums[1], binary("Add", y, g.random(1))), 2))
    yield g.fires(concat(terms(*(binary("Mul", one, g.constant(v)) for v in (2.0, -1.0, 0.5, 3.0))), 2))
    yield g.fires(concat(terms(sums[0], binary("Add", y, wide)), 2))
    yield g.fires(concat(terms(binary("Sub", one, g.random(2, 1)), binary("Sub", y, g.random(1))), 2))
    rows = binary("Mul", x, g.constant([2.0])), binary("Mul", x, g.constant(-1.0))
    yield g.fires(concat(terms(*rows), 1))
    yield g.fires(concat(terms(binary("Div", c, x), binary("Div", d, y)), 2))
    long = g.input(("L", 2))
    for first, second, axis, why in (
        (sums[0], binary("Mul", y, d), 2, "two operators"),
        (binary("Div", c, x), binary("Div", y, d), 2, "a constant on either side"),
        (sums[0], binary("Add", y, g.input((4,))), 2, "one is no constant"),
        (binary("Add", long, g.random(2)), binary("Add", long, g.random(1)), 0, "as many as there are"),
        (
            binary("Add", one, g.random(2, 1)),
            binary("Add", g.input(("N", 2, 5000)), g.random(1)),
            2,
            "too many",
        ),
    ):
        yield g.near_miss(concat(terms(first, second), axis), why=why)


@law("joining", numerics="bitwise", kind="merge", examples=_parts, uses=(constants_joined,), resumes=True)
def of_constants(xs: Tensors, ys: Tensors, cs: Tensors, ds: Tensors, a: Axis, op: String, s: Int):
    """Concat(x op C, y op D, ..) = Concat(x, y, ..) op Concat(C, D, ..)"""
    newest = guard(worth_a_walk(xs), eq(ys, varying(xs, a, op, s)))
    found = (newest, eq(cs, constant(xs, a, op, s, ys)))
    dims = dims_of_constants(a, ys, cs)
    made = beside(op, concat(ys, a), concat(ds, axis_of_constants(a, ys, dims)), s)
    together = eq(ds, spread(cs, ys, a, dims))
    yield rewrite(concat(xs, a), made, *found, together, because="the parts follow from Slices of both")
