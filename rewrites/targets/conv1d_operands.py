"""Squeezes of images sink past operators with other operands, which are unsqueezed for it (see `conv1d`).

    Squeeze(x) op y -> Squeeze(x op Unsqueeze(y))
    Where(.., Squeeze(x), ..) likewise
    Concat(Squeeze(x), y, ..) -> Squeeze(Concat(x, Unsqueeze(y), ..))
    Sum, Max, Min and Mean likewise

What meets there as ``Unsqueeze(Squeeze(y))`` is y.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, auxiliary, eq, guard, hosted, law, rewrite, rule, table, union
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axis, Int, String, Tensor, Tensors, Unit
from egraph_opt.operators import concat, reshape, variadic
from egraph_opt.operators.terms import cons, listed, nil
from egraph_opt.rewrites.conditions.image_rows import (
    DEMAND,
    SHARED,
    image_dims,
    lift,
    lifted_axis,
    lifted_dims,
    lower,
    viewed_as,
)
from egraph_opt.rewrites.conditions.operands import among, any_place, beside, either_side

_BECAUSE = "a list does not tell that all of it is lifted"


@law("conv1d", numerics="bitwise", uses=(either_side,), **SHARED)
def past_binary(x: Tensor, y: Tensor, op: String, i: Int):
    """Squeeze(x) op y = Squeeze(x op Unsqueeze(y))"""
    z, image = beside(op, lower(x), y, i), beside(op, x, lift(y), i)
    yield rewrite(z, viewed_as(z, image), DEMAND, guard(varies(x)), inverse="reshape.past_view")


@law("conv1d", numerics="finite", uses=(any_place,), **SHARED)
def past_where(x: Tensor, y: Tensor, v: Tensor, k: Int):
    """Where(.., Squeeze(x), ..) = Squeeze(Where(.., x, ..)), the others unsqueezed"""
    z, image = among(lower(x), y, v, k), among(x, lift(y), lift(v), k)
    yield rewrite(z, viewed_as(z, image), DEMAND, guard(varies(x)), inverse="reshape.past_where")


# --- lists of operands --------------------------------------------------------------------------------------


@table()
def squeezed_among(xs: Tensors) -> Unit:
    """An operand in the list is an image, viewed with one axis less."""


@table(merge="new")
def all_lifted(xs: Tensors) -> Tensors:
    """The list with every operand lifted."""


@auxiliary()
def lifted_lists(x: Tensor, y: Tensor, xs: Tensors, ys: Tensors):
    """Fills `squeezed_among`, and defines `all_lifted`."""
    squeezed = (eq(x, lower(y)), guard(varies(y)))
    yield rule(DEMAND, squeezed, eq(ys, cons(x, xs)), then=squeezed_among(ys))
    yield rule(squeezed_among(xs), eq(ys, cons(x, xs)), then=squeezed_among(ys))
    yield rule(eq(ys, all_lifted(nil())), then=union(ys, nil()))
    yield rule(eq(ys, all_lifted(cons(x, xs))), then=union(ys, cons(lift(x), all_lifted(xs))))


@hosted()
def can_lift(xs: tuple[Fact, ...]) -> bool:
    return all(lifted_dims(x) is not None for x in xs)


@hosted()
def are_rows(xs: tuple[Fact, ...]) -> bool:
    """All have the axes that a squeezed image has."""
    return all(image_dims(x) is not None for x in xs)


def _concat_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, limits = g.input((2, 3, 1, "L")), {"lift_conv1d": 1}
    row = reshape(x, (2, 3, "L"))
    yield g.fires(concat(listed(row, g.input((2, 5, "L"))), 1), **limits)
    yield g.near_miss(concat(listed(row, g.input((2, 5, "L"))), 1), why="the target has rows")
    flat = concat(listed(g.input((2, 3)), g.input((2, 5))), 1)
    yield g.near_miss(flat, why="matrices are no rows", **limits)


@law("conv1d", numerics="bitwise", uses=(lifted_lists,), examples=_concat_examples, **SHARED)
def past_concat(xs: Tensors, a: Axis):
    """Concat(Squeeze(x), y, ..) = Squeeze(Concat(x, Unsqueeze(y), ..))"""
    z = concat(xs, a)
    image = concat(all_lifted(xs), lifted_axis(a))
    yield rewrite(z, viewed_as(z, image), guard(squeezed_among(xs)), are_rows(xs), because=_BECAUSE)


@law("conv1d", numerics="bitwise", uses=(lifted_lists,), **SHARED)
def past_variadic(op: String, xs: Tensors):
    """Sum(Squeeze(x), y, ..) = Squeeze(Sum(x, Unsqueeze(y), ..)), Max, Min and Mean likewise"""
    z = variadic(op, xs)
    image = variadic(op, all_lifted(xs))
    yield rewrite(z, viewed_as(z, image), guard(squeezed_among(xs), can_lift(xs)), because=_BECAUSE)
