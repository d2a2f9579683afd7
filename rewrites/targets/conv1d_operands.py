"""Squeezes of images sink past operators with other operands, which are unsqueezed for it (see `conv1d`).

    Squeeze(x) op y -> Squeeze(x op Unsqueeze(y))
    Where(.., Squeeze(x), ..) likewise
    Concat(Squeeze(x), y, ..) -> Squeeze(Concat(x, Unsqueeze(y), ..))
    Sum, Max, Min and Mean likewise

What meets there as ``Unsqueeze(Squeeze(y))`` is y.
"""

from collections.abc import Iterator
from typing import Any

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Operands, auxiliary, eq, guard, hosted, law, rewrite, rule, table, union
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axis, Int, String, Tensor, Tensors, Unit
from egraph_opt.operators import binary, concat, variadic, where
from egraph_opt.operators.terms import cons, listed, nil
from egraph_opt.rewrites.conditions.operands import among, any_place, beside, either_side
from egraph_opt.rewrites.targets.conv1d import (
    DEMAND,
    SHARED,
    image_dims,
    lift,
    lifted_dims,
    lower,
    lowered,
    on_demand,
    viewed_as,
)
from egraph_opt.rewrites.targets.conv1d_movement import lifted_axis

_BECAUSE = "a list does not tell that all of it is lifted"


def _binaries(g: Operands) -> Iterator[Any]:
    for other in (("N", 3, "L"), (1, "L"), ("L",), (3, 1)):
        yield binary("Sub", lowered(g, "N", 3, "L"), g.input(other))
        yield binary("Sub", g.input(other), lowered(g, "N", 3, "L"))
    yield binary("Mul", lowered(g, "N", 3, 1), g.input(("N", 3, "L")))


def _higher(g: Operands) -> Iterator[Any]:
    yield binary("Mul", lowered(g, "N", 3, "L"), g.input((2, "N", 3, "L"))), "the result has a fourth axis"


@law("conv1d", numerics="bitwise", examples=on_demand(_binaries, _higher), uses=(either_side,), **SHARED)
def past_binary(x: Tensor, y: Tensor, op: String, i: Int):
    """Squeeze(x) op y = Squeeze(x op Unsqueeze(y))"""
    z, image = beside(op, lower(x), y, i), beside(op, x, lift(y), i)
    yield rewrite(z, viewed_as(z, image), DEMAND, guard(varies(x)), inverse="reshape.past_view")


def _choices(g: Operands) -> Iterator[Any]:
    x, y, flags = lowered(g, "N", 3, "L"), g.input(("N", 3, "L")), g.input(("N", 1, "L"), 9)
    yield where(flags, x, y)
    yield where(flags, g.random(3, 1), x)


@law("conv1d", numerics="bitwise", examples=on_demand(_choices), uses=(any_place,), **SHARED)
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


def _concats(g: Operands) -> Iterator[Any]:
    x, y = lowered(g, "N", 3, "L"), g.input(("N", 4, "L"))
    yield from (concat(listed(x, y), 1), concat(listed(y, y, x), 1), concat(listed(x, x), 2))


def _lines(g: Operands) -> Iterator[Any]:
    y = g.input(("N", 4, "L"))
    yield concat(listed(y, y), 2), "no operand is an image"


@law("conv1d", numerics="bitwise", uses=(lifted_lists,), examples=on_demand(_concats, _lines), **SHARED)
def past_concat(xs: Tensors, a: Axis):
    """Concat(Squeeze(x), y, ..) = Squeeze(Concat(x, Unsqueeze(y), ..))"""
    z = concat(xs, a)
    image = concat(all_lifted(xs), lifted_axis(a))
    yield rewrite(z, viewed_as(z, image), guard(squeezed_among(xs)), are_rows(xs), because=_BECAUSE)


def _sums(g: Operands) -> Iterator[Any]:
    x, y, c = lowered(g, "N", 3, "L"), g.input(("N", 3, "L")), g.random(3, 1)
    yield from (variadic("Sum", listed(x, y)), variadic("Max", listed(y, c, x)))


@law("conv1d", numerics="bitwise", uses=(lifted_lists,), examples=on_demand(_sums), **SHARED)
def past_variadic(op: String, xs: Tensors):
    """Sum(Squeeze(x), y, ..) = Squeeze(Sum(x, Unsqueeze(y), ..)), Max, Min and Mean likewise"""
    z = variadic(op, xs)
    image = variadic(op, all_lifted(xs))
    yield rewrite(z, viewed_as(z, image), guard(squeezed_among(xs)), can_lift(xs), because=_BECAUSE)
