"""Views sink past broadcasting operators, so that views of one value meet and compose.

    Reshape(x) op y = Reshape(x op y)                where the view does not concern y's axes
    Reshape(x) op c = Reshape(x op Reshape'(c))      for a constant c
    Reshape(x) op Reshape(y) = Reshape(x op y)       where both views do the same to the axes
    Where(.., Reshape(x), ..) = Reshape(Where(.., x, ..)) likewise

They move one way only; the partner's dims in front of the view are computed by `view_shapes`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import Equal, PyObject, String, eq, holds, let, ne, rule
from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import binary, reshape, where
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact
from egraph_opt.rewrites.conditions.view_shapes import (
    constant_partner,
    kept_partner,
    known_dims,
    views_agree,
)


def _kept_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape, dims, other in (
        ((2, 3, 4), (6, 4), ()),
        ((2, 3, 4), (6, 4), (1, 1)),
        ((2, 3, 4), (6, 4), (4,)),
        ((6, 4), (2, 3, 4), (1, 4)),
        (("N", "L", 4), ("N", 1, "L", 4), ("L", 4)),
        (("N", 1, "L", 4), ("N", "L", 4), ("L", 1)),
    ):
        g = Operands(rng)
        x, y = g.input(shape), g.input(other)
        yield g.fires(binary("Sub", reshape(x, dims), y))
        yield g.fires(binary("Sub", y, reshape(x, dims)))
    g = Operands(rng)
    x, y = reshape(g.input((2, 3, 4)), (6, 4)), g.input((6, 1))
    yield g.near_miss(binary("Add", x, y), why="the view splits an axis of the partner")
    g = Operands(rng)
    x, y = reshape(g.input((1, "L")), (1, "L", 1)), g.input(("L", 3))
    yield g.near_miss(binary("Add", x, y), why="the partner has other dims at the new axis")
    g = Operands(rng)
    x, y = reshape(g.input((4, 1, 1)), (4, 1)), g.input((4, 5))
    yield g.near_miss(binary("Add", x, y), why="the axis that goes is not known")
    g = Operands(rng)
    x, slope = g.input((1, 1, 1)), reshape(g.input((1,)), (1, 1))
    yield g.near_miss(binary("PRelu", x, slope), why="a slope may not have more axes than x")


@law("reshape", numerics="bitwise", examples=_kept_examples)
def past_partner(
    x: Tensor, y: Tensor, z: Tensor, op: String, dims: PyObject, t: PyObject, out: PyObject
) -> Iterator[Any]:
    """Reshape(x) op y = Reshape(x op y) where the view leaves y's axes as they are

    y is a scalar, or has only axes that the view neither splits, merges nor shifts.
    Source: algebra.
    """
    conditions = (*let(t, kept_partner, fact(x), dims, fact(y)), *let(out, known_dims, fact(z)))
    yield rule(
        eq(z).to(binary(op, reshape(x, dims), y)), conditions, then=Equal(z, reshape(binary(op, x, y), out))
    )
    yield rule(
        eq(z).to(binary(op, y, reshape(x, dims))),
        ne(op).to("PRelu"),
        conditions,
        then=Equal(z, reshape(binary(op, y, x), out)),
    )


def _constant_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape, dims, other in (
        (("N", 3, 1, "L"), ("N", 3, "L"), (3, 1)),
        (("N", 3, "L"), ("N", 3, 1, "L"), (3, 1, 1)),
        (("N", 3, 4, 5), ("N", 3, 20), (3, 1)),
        (("N", 3, 4, 5), ("N", 3, 20), (1, 20)),
        ((6, 4), (2, 3, 4), (2, 3, 4)),
        ((4,), (2, 2), (1, 1)),
    ):
        g = Operands(rng)
        x, c = g.input(shape), g.random(*other)
        yield g.fires(binary("Sub", reshape(x, dims), c))
        yield g.fires(binary("Sub", c, reshape(x, dims)))
    g = Operands(rng)
    x, y = reshape(g.input(("N", 3, 1, "L")), ("N", 3, "L")), g.input((3, 1))
    yield g.near_miss(binary("Add", x, y), why="the partner is no constant")
    g = Operands(rng)
    x, c = reshape(g.input(("N", 3, 4, 5)), ("N", 3, 20)), g.random(3, 20)
    yield g.fires(binary("Add", x, c))
    g = Operands(rng)
    x, c = reshape(g.input((6, 4)), (2, 12)), g.random(2, 1)
    yield g.near_miss(binary("Add", x, c), why="an axis of the partner meets part of a merged one")


@law("reshape", numerics="bitwise", examples=_constant_examples)
def past_constant(
    x: Tensor, c: Tensor, z: Tensor, op: String, dims: PyObject, t: PyObject, out: PyObject
) -> Iterator[Any]:
    """Reshape(x) op c = Reshape(x op Reshape'(c)) for a constant c

    Source: Ascend auto-optimizer, Conv1d2Conv2d.
    """
    conditions = (*let(t, constant_partner, fact(x), dims, fact(c)), *let(out, known_dims, fact(z)))
    moved = reshape(c, t)
    yield rule(
        eq(z).to(binary(op, reshape(x, dims), c)),
        conditions,
        then=Equal(z, reshape(binary(op, x, moved), out)),
    )
    yield rule(
        eq(z).to(binary(op, c, reshape(x, dims))),
        ne(op).to("PRelu"),
        conditions,
        then=Equal(z, reshape(binary(op, moved, x), out)),
    )


def _both_examples(rng: np.random.Generator) -> Iterator[Example]:
    for x_shape, x_dims, y_shape, y_dims in (
        ((2, 3, 4), (6, 4), (2, 3, 4), (6, 4)),
        (("N", 3, 1, "L"), ("N", 3, "L"), ("N", 3, 1, "L"), ("N", 3, "L")),
        (("N", 3, 1, "L"), ("N", 3, "L"), ("N", 3, 1, 1), ("N", 3, 1)),
        (("N", 3, 1, "L"), ("N", 3, "L"), (3, 1, "L"), (3, "L")),
        (("N", 3), ("N", 3, 1, 1), ("N", 1), ("N", 1, 1, 1)),
    ):
        g = Operands(rng)
        x, y = reshape(g.input(x_shape), x_dims), reshape(g.input(y_shape), y_dims)
        yield g.fires(binary("Sub", x, y))
    g = Operands(rng)
    x, y = reshape(g.input((4, 1, 4)), (4, 4)), reshape(g.input((1, 4, 4)), (4, 4))
    yield g.near_miss(binary("Add", x, y), why="the views drop different axes")
    g = Operands(rng)
    x, y = reshape(g.input((2, 3, 4)), (6, 4)), reshape(g.input((2, 12)), (6, 4))
    yield g.near_miss(binary("Add", x, y), why="the dims in front of the views differ")
    g = Operands(rng)
    x, y = reshape(g.input((3,)), (3,)), reshape(g.input((1, 1, 3)), (1, 3))
    yield g.near_miss(binary("PRelu", x, y), why="a slope may not have more axes than x")


@law("reshape", numerics="bitwise", examples=_both_examples)
def past_view(
    x: Tensor, y: Tensor, z: Tensor, op: String, a: PyObject, b: PyObject, out: PyObject
) -> Iterator[Any]:
    """Reshape_a(x) op Reshape_b(y) = Reshape(x op y) where both views do the same to the axes

    Source: Ascend auto-optimizer, Conv1d2Conv2d; TASO.
    """
    agree = holds(views_agree, op, fact(x), a, fact(y), b)
    yield rule(
        eq(z).to(binary(op, reshape(x, a), reshape(y, b))),
        agree,
        let(out, known_dims, fact(z)),
        then=Equal(z, reshape(binary(op, x, y), out)),
    )


@hosted()
def _moves_past(x: Fact, dims: Shape, y: Fact) -> Shape | None:
    """The dims of a partner of Where in front of the view: it stays, or is a constant."""
    kept = kept_partner(x, dims, y)
    return constant_partner(x, dims, y) if kept is None else kept


def _where_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    condition = reshape(g.input(("N", 1, "L"), 9), ("N", 1, 1, "L"))
    yield g.fires(where(condition, g.constant(np.float32(0)), g.constant(np.float32(-1e9))))
    g = Operands(rng)
    x = reshape(g.input(("N", 3, 1, "L")), ("N", 3, "L"))
    yield g.fires(
        where(g.constant(np.array([[[True]], [[False]], [[True]]]).reshape(3, 1)), x, g.random(3, 1))
    )
    yield g.fires(where(g.input((), 9), g.random(1, 1), x))
    g = Operands(rng)
    x = reshape(g.input(("N", 3, 1, "L")), ("N", 3, "L"))
    yield g.near_miss(
        where(g.input((3, 1), 9), x, g.random(3, 1)), why="the condition would have to be reshaped"
    )


@law("reshape", numerics="bitwise", examples=_where_examples)
def past_where(
    x: Tensor, y: Tensor, w: Tensor, z: Tensor, dims: PyObject, s: PyObject, t: PyObject, out: PyObject
) -> Iterator[Any]:
    """Where(.., Reshape(x), ..) = Reshape(Where(.., x, ..)) for partners that stay or are constants

    Source: algebra.
    """
    view = reshape(x, dims)
    conditions = (
        *let(s, _moves_past, fact(x), dims, fact(y)),
        *let(t, _moves_past, fact(x), dims, fact(w)),
        *let(out, known_dims, fact(z)),
    )
    y_, w_ = reshape(y, s), reshape(w, t)
    yield rule(eq(z).to(where(view, y, w)), conditions, then=Equal(z, reshape(where(x, y_, w_), out)))
    yield rule(eq(z).to(where(y, view, w)), conditions, then=Equal(z, reshape(where(y_, x, w_), out)))
    yield rule(eq(z).to(where(y, w, view)), conditions, then=Equal(z, reshape(where(y_, w_, x), out)))
