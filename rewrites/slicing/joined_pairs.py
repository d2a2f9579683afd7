"""Pairs of concatenations: of element-wise operators, and of concatenations along another axis.

Concat(x op y, z op w) = Concat(x, z) op Concat(y, w)
Concat_a(Concat_b(x, y), Concat_b(z, w)) = Concat_b(Concat_a(x, z), Concat_a(y, w))

Where both parts of the other side are written as well; the first in both directions.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt import compat as egglog
from egraph_opt.compat import (
    Deduction,
    Equal,
    PyObject,
    String,
    closure,
    eq,
    guard,
    holds,
    let,
    ne,
    rule,
    set_,
)
from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import binary, concat, reshape
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact, listed
from egraph_opt.rewrites.arithmetic.distributivity import pair_of
from egraph_opt.rewrites.elementwise.identities import broadcasts_into
from egraph_opt.rewrites.linear.joined_products import differ_along


@egglog.function(egg_fn="joined_pair", merge=lambda old, new: old)
def joined(x: Tensor, y: Tensor, axis: PyObject) -> Tensor:
    """The concatenation of two: a table, since to match lists within lists is to try all pairs of them."""


def pairs() -> Iterator[Deduction]:
    """The rule that fills `joined`."""
    x, y, t = (egglog.var(name, Tensor) for name in "xyt")
    a = egglog.var("a", PyObject)
    yield closure(eq(t).to(concat(pair_of(x, y), a)), then=set_(joined(x, y, a)).to(t))


@hosted()
def axis_of_second(axis: int, x: Fact, y: Fact, z: Fact, w: Fact) -> int | None:
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


@hosted(default=False)
def fit_each_other(axis: int, place: int, x: Fact, y: Fact, z: Fact, w: Fact) -> bool:
    return axis_of_second(axis, x, y, z, w) == place


def _binary_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z = g.input(("N", 2, 4)), g.input(("N", 3, 4))
    y, w = g.random(2, 1), g.random(3, 1)

    def both(op: str, first: Any, second: Any) -> Any:
        return concat(listed(binary(op, x, first), binary(op, z, second)), 1)

    parts = concat(listed(x, z), 1), reshape(concat(listed(y, w), 0), (1, 5, 1))
    yield g.fires(concat(listed(both("Add", y, w), binary("Add", *parts)), 1))
    free = g.input(("N", 2, 4)), g.input(("N", 3, 4))
    whole = both("Mul", *free)
    yield g.fires(concat(listed(whole, concat(listed(x, z), 1), concat(listed(*free), 1)), 1))
    yield g.near_miss(concat(listed(whole, concat(listed(*free), 1)), 1), why="one part is there only")
    yield g.near_miss(both("Add", g.random(1), g.random(1)), why="they are broadcast along the axis")
    yield g.near_miss(both("Add", g.random(4), g.random(4)), why="they do not have the axis")
    mixed = concat(listed(binary("Add", x, y), binary("Mul", z, w)), 1)
    yield g.near_miss(mixed, why="two operators")
    narrow = binary("Add", g.input(("N", 2, 1)), g.random(2, 4))
    yield g.near_miss(concat(listed(narrow, binary("Add", z, g.random(3, 4))), 1), why="x is broadcast")


@law("joining", numerics="bitwise", examples=_binary_examples)
def of_binary(
    op: String,
    x: Tensor,
    y: Tensor,
    z: Tensor,
    w: Tensor,
    p: Tensor,
    q: Tensor,
    t: Tensor,
    a: PyObject,
    b: PyObject,
    one: Tensor,
    other: Tensor,
) -> Iterator[Any]:
    """Concat(x op y, z op w) = Concat(x, z) op Concat(y, w), where both are written as well

    Source: TASO.
    """
    yield from pairs()
    found = (eq(t).to(joined(p, q, a)), eq(p).to(binary(op, x, y)), eq(q).to(binary(op, z, w)))
    axis = let(b, axis_of_second, a, fact(x), fact(y), fact(z), fact(w))
    written = guard(eq(one).to(joined(x, z, a)), eq(other).to(joined(y, w, b)), ne(x).to(z), ne(y).to(w))
    right = binary(op, concat(pair_of(x, z), a), concat(pair_of(y, w), b))
    yield rule(*found, *axis, *written, then=Equal(t, right))


def _apart_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z, w = (g.input(("N", k, 4)) for k in (2, 2, 3, 3))
    whole = binary("Mul", concat(listed(x, z), 1), concat(listed(y, w), 1))
    parts = binary("Mul", x, y), binary("Mul", z, w)
    yield g.fires(concat(listed(whole, *parts), 1))
    yield g.near_miss(concat(listed(whole, parts[0]), 1), why="one part is there only")
    crossed = binary("Mul", concat(listed(x, z), 1), concat(listed(w, y), 1))
    yield g.near_miss(concat(listed(crossed, *parts), 1), why="they are not cut at one place")


@law("joining", numerics="bitwise", examples=_apart_examples)
def binary_of_concats(
    op: String,
    x: Tensor,
    y: Tensor,
    z: Tensor,
    w: Tensor,
    p: Tensor,
    q: Tensor,
    t: Tensor,
    a: PyObject,
    b: PyObject,
    one: Tensor,
    other: Tensor,
) -> Iterator[Any]:
    """Concat(x, z) op Concat(y, w) = Concat(x op y, z op w), where both are written as well

    Source: TASO.
    """
    yield from pairs()
    found = (eq(t).to(binary(op, p, q)), eq(p).to(joined(x, z, a)), eq(q).to(joined(y, w, b)))
    first, second = binary(op, x, y), binary(op, z, w)
    fits = holds(fit_each_other, a, b, fact(x), fact(y), fact(z), fact(w))
    written = guard(eq(one).to(first), eq(other).to(second))
    yield rule(*found, fits, *written, then=Equal(t, concat(pair_of(first, second), a)))


# --- two axes -------------------------------------------------------------------------------------------


@hosted(default=False)
def form_a_table(x: Fact, y: Fact, z: Fact, w: Fact, outer: int, inner: int) -> bool:
    """x and y above z and w, all cut at the same places, along two axes."""
    if outer == inner or not all(differ_along(pair, outer) for pair in ((x, z), (y, w))):
        return False
    return differ_along((x, y), inner) and differ_along((z, w), inner)


def _table_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z, w = g.input((2, "N", 3)), g.input((2, "N", 4)), g.input((5, "N", 3)), g.input((5, "N", 4))
    table = concat(listed(concat(listed(x, y), 2), concat(listed(z, w), 2)), 0)
    columns = concat(listed(x, z), 0), concat(listed(y, w), 0)
    yield g.fires(concat(listed(columns[0], table, columns[1]), 2))
    yield g.near_miss(concat(listed(table, columns[1]), 2), why="one column is there only")
    skew = concat(listed(concat(listed(x, y), 2), concat(listed(w, z), 2)), 0)
    yield g.near_miss(concat(listed(columns[0], skew, columns[1]), 2), why="the rows are cut elsewhere")


@law("joining", numerics="bitwise", examples=_table_examples)
def concat_of_concats(
    x: Tensor,
    y: Tensor,
    z: Tensor,
    w: Tensor,
    p: Tensor,
    q: Tensor,
    t: Tensor,
    a: PyObject,
    b: PyObject,
    one: Tensor,
    other: Tensor,
) -> Iterator[Any]:
    """Concat_a(Concat_b(x, y), Concat_b(z, w)) = Concat_b(Concat_a(x, z), Concat_a(y, w)), if both are there

    Source: TASO.
    """
    yield from pairs()
    rows = eq(p).to(joined(x, y, b)), eq(q).to(joined(z, w, b)), eq(t).to(joined(p, q, a))
    fits = holds(form_a_table, fact(x), fact(y), fact(z), fact(w), a, b)
    written = guard(eq(one).to(joined(x, z, a)), eq(other).to(joined(y, w, a)))
    columns = concat(pair_of(concat(pair_of(x, z), a), concat(pair_of(y, w), a)), b)
    yield rule(*rows, fits, *written, then=Equal(t, columns))
