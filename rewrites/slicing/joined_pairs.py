"""Pairs of concatenations: of element-wise operators, and of concatenations along another axis.

Concat(x op y, z op w) = Concat(x, z) op Concat(y, w)
Concat_a(Concat_b(x, y), Concat_b(z, w)) = Concat_b(Concat_a(x, z), Concat_a(y, w))

Where both parts of the other side are written as well.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, assign, auxiliary, guard, hosted, law, ne, rewrite, rule, table
from egraph_opt.laws.algebra import is_same
from egraph_opt.laws.sorts import Axis, String, Tensor
from egraph_opt.operators import binary, concat
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.arithmetic.distributivity import pair_of
from egraph_opt.rewrites.conditions.values import broadcasts_into
from egraph_opt.rewrites.linear.joined_products import differ_along


@table()
def joined(x: Tensor, y: Tensor, axis: Axis) -> Tensor:
    """The concatenation of two: a table, since to match lists within lists is to try all pairs of them."""


@auxiliary()
def pairs(x: Tensor, y: Tensor, a: Axis):
    """Fills `joined`."""
    both = concat(pair_of(x, y), a)
    yield rule(both, then=assign(joined(x, y, a), both))


def join(x: Any, y: Any, axis: Any) -> Any:
    """The concatenation of two, to be written."""
    return concat(pair_of(x, y), axis)


@hosted()
def axis_of_second(axis: Axis, x: Fact, y: Fact, z: Fact, w: Fact) -> Axis | None:
    """The axis along which y and w are joined where x op y and z op w are along `axis`.

    x and z have the shapes of the results; y and w are as long along the axis, and broadcast along others.
    """
    if None in (x.shape, y.shape, z.shape, w.shape) or y.dtype != w.dtype or x.dtype != z.dtype:
        return None
    whole, own = len(x.shape or ()), len(y.shape or ())
    place = axis - (whole - own)
    if place < 0 or len(z.shape or ()) != whole or not differ_along((y, w), place):
        return None
    for first, second in ((x, y), (z, w)):
        aligned = symbolic.known_equal(first.shape[axis], second.shape[place])  # type: ignore[index]
        if not aligned or not broadcasts_into(second.shape, first.shape):
            return None
    return place if differ_along((x, z), axis) else None


@law("joining", numerics="bitwise", kind="move", source="TASO", uses=(pairs,))
def of_binary(op: String, x: Tensor, y: Tensor, z: Tensor, w: Tensor, a: Axis):
    """Concat(x op y, z op w) = Concat(x, z) op Concat(y, w), where both are written as well"""
    b = axis_of_second(a, x, y, z, w)
    demand = guard(joined(x, z, a), joined(y, w, b), ne(x, z), ne(y, w))
    apart = joined(binary(op, x, y), binary(op, z, w), a)
    together = binary(op, join(x, z, a), join(y, w, b))
    yield rewrite(apart, together, *demand, inverse="binary_of_concats")


def _crossed(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    rows = concat(listed(g.input((2, 2)), g.input((2, 2))), 0)
    columns = concat(listed(g.input((1, 1)), g.input((1, 1))), 1)
    yield g.near_miss(rows + columns, why="they are joined along two axes")


@law("joining", numerics="bitwise", kind="move", source="TASO", uses=(pairs,), examples=_crossed)
def binary_of_concats(op: String, x: Tensor, y: Tensor, z: Tensor, w: Tensor, a: Axis, b: Axis):
    """Concat(x, z) op Concat(y, w) = Concat(x op y, z op w), where both are written as well"""
    first, second = binary(op, x, y), binary(op, z, w)
    found = (is_same(b, axis_of_second(a, x, y, z, w)), guard(first, second))
    whole = binary(op, joined(x, z, a), joined(y, w, b))
    yield rewrite(whole, join(first, second, a), *found, inverse="of_binary")


@hosted()
def form_a_table(x: Fact, y: Fact, z: Fact, w: Fact, outer: Axis, inner: Axis) -> bool:
    """x and y above z and w, all cut at the same places, along two axes."""
    if outer == inner or not all(differ_along(pair, outer) for pair in ((x, z), (y, w))):
        return False
    return differ_along((x, y), inner) and differ_along((z, w), inner)


@law("joining", numerics="bitwise", kind="move", serves="traffic", source="TASO", uses=(pairs,))
def concat_of_concats(x: Tensor, y: Tensor, z: Tensor, w: Tensor, a: Axis, b: Axis):
    """Concat_a(Concat_b(x, y), Concat_b(z, w)) = Concat_b(Concat_a(x, z), Concat_a(y, w)), if there"""
    found = (form_a_table(x, y, z, w, a, b), guard(joined(x, z, a), joined(y, w, a)))
    rows, columns = joined(joined(x, y, b), joined(z, w, b), a), join(join(x, z, a), join(y, w, a), b)
    yield rewrite(rows, columns, *found, inverse="concat_of_concats")
