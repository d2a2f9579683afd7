"""Views (Reshape, Squeeze, Unsqueeze, Flatten): composition, and movement past element-wise operators.

    Reshape_b(Reshape_a(x)) = Reshape_b(x)
    Reshape to x's own dims = x
    Reshape to a computed target = Reshape to the dims that it is known to give
    f(Reshape(x)) = Reshape(f(x)), casts too
    Reshape(x) op y = Reshape(x op y)                where the view does not concern y's axes
    Reshape(x) op c = Reshape(x op Reshape'(c))      for a constant c
    Reshape(x) op Reshape(y) = Reshape(x op y)       where both views do the same to the axes
    Where(.., Reshape(x), ..) = Reshape(Where(.., x, ..)) likewise

A view past a binary operator moves one way only, down, so that views of one value meet and compose; the
partner's dims in front of the view are computed by `view_shapes`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from egglog import PyObject, String, eq, ne
from egraph_opt.rewrites.view_shapes import (
    constant_partner,
    kept_partner,
    known_dims,
    same_dims,
    views_agree,
)

from egraph_opt.host import hosted
from egraph_opt.law import Equal, Example, holds, law, let, rewrite, rule
from egraph_opt.law_testing import INT64, Operands
from egraph_opt.operators import binary, cast, reshape, reshape_to, shape_of, unary, where
from egraph_opt.operators.views import inserted_axes, reshape_target
from egraph_opt.terms import Tensor, fact
from egraph_opt.types import Fact, Shape


def _composition_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape, first, second in (
        ((2, 3, 4), (6, 4), (2, 12)),
        ((2, 3), (2, 1, 3), (1, 2, 3, 1)),
        ((1,), (), (1, 1)),
        (("N", 6, "L"), ("N", 2, 3, "L"), ("N", 3, 2, "L")),
    ):
        g = Operands(rng)
        yield g.fires(reshape(reshape(g.input(shape), first), second))
    g = Operands(rng)
    yield g.near_miss(
        reshape(unary("Relu", (), reshape(g.input((2, 3)), (6,))), (3, 2)), why="Relu is in between"
    )


@law("reshape", numerics="bitwise", examples=_composition_examples)
def compose_reshapes(x: Tensor, a: PyObject, b: PyObject) -> Iterator[Any]:
    """Reshape_b(Reshape_a(x)) = Reshape_b(x)

    Source: onnxoptimizer fuse_consecutive_reshapes, fuse_consecutive_squeezes.
    """
    yield rewrite(reshape(reshape(x, a), b), reshape(x, b))


@hosted(default=False)
def _own_dims(x: Fact, dims: Shape) -> bool:
    return same_dims(x.shape, dims)


def _own_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape in ((2, 3), ("N", "L", 3), (), (0, 2)):
        g = Operands(rng)
        yield g.fires(reshape(g.input(shape), shape))
    g = Operands(rng)
    yield g.near_miss(reshape(g.input((2, 3)), (3, 2)), why="the dims are others")
    g = Operands(rng)
    yield g.near_miss(reshape(g.input((2, 3)), (2, 1, 3)), why="an axis is inserted")


@law("reshape", numerics="bitwise", examples=_own_examples)
def drop_own_dims(x: Tensor, dims: PyObject) -> Iterator[Any]:
    """Reshape_dims(x: dims) = x

    Source: onnxoptimizer eliminate_nop_reshape.
    """
    yield rewrite(reshape(x, dims), x, holds(_own_dims, fact(x), dims))


@hosted()
def _constant_target(x: Fact, z: Fact) -> Shape | None:
    """The dims of a reshape's result where a constant target can say them."""
    if not x.is_symbolic or not z.is_symbolic:
        return None
    assert x.shape is not None and z.shape is not None
    if reshape_target(x.shape, z.shape) is not None:
        return z.shape
    views = inserted_axes(x.shape, z.shape), inserted_axes(z.shape, x.shape)
    return z.shape if any(views) else None


def _target_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", "L", 12)), g.input(("N", "L", 3, 4))
    yield g.fires(reshape_to(x, shape_of(y, 0, 4), 0))
    g = Operands(rng)
    x, y = g.input(("N", "L", 12)), g.input(("N", 4, "L", 3))
    yield g.fires(reshape_to(x, shape_of(y, 0, 4), 0))
    g = Operands(rng)
    x, y = g.input((6, "L")), g.input(("L", 3, 2))
    yield g.fires(reshape_to(x, shape_of(y, 0, 3), 0))
    g = Operands(rng)
    x, target = g.input((6, "L")), g.input((2,), INT64)
    yield g.near_miss(reshape_to(x, target, 0), why="nothing is known of the target")
    g = Operands(rng)
    x, y = g.input(("N", "L", 12)), g.input(("L", 4, 3, "N"))
    yield g.near_miss(reshape_to(x, shape_of(y, 0, 4), 0), why="two dims are neither numbers nor copies")


@law("reshape", numerics="bitwise", examples=_target_examples)
def know_the_target(x: Tensor, t: Tensor, a: PyObject, z: Tensor, dims: PyObject) -> Iterator[Any]:
    """Reshape(x, target) = Reshape_dims(x) where the dims of the result are known

    At most one of them may be neither a number nor a copy of x's dim at the same place.
    Source: Ascend auto-optimizer, DynamicReshape.
    """
    conditions = let(dims, _constant_target, fact(x), fact(z))
    yield rule(eq(z).to(reshape_to(x, t, a)), conditions, then=Equal(z, reshape(x, dims)))


def _unary_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape, dims in (((2, 3, 4), (6, 4)), (("N", 3, "L"), ("N", 3, 1, "L")), ((1, 1), ())):
        g = Operands(rng)
        yield g.fires(unary("Sigmoid", (), reshape(g.input(shape), dims)))
        g = Operands(rng)
        yield g.fires(reshape(unary("LeakyRelu", (("alpha", 0.1),), g.input(shape)), dims))
    g = Operands(rng)
    yield g.near_miss(unary("Relu", (), g.input((2, 3))), why="nothing is reshaped")


@law("reshape", numerics="bitwise", examples=_unary_examples)
def through_unary(x: Tensor, op: String, s: PyObject, dims: PyObject) -> Iterator[Any]:
    """f(Reshape(x)) = Reshape(f(x))

    Source: TASO.
    """
    yield rewrite(unary(op, s, reshape(x, dims)), reshape(unary(op, s, x), dims))
    yield rewrite(reshape(unary(op, s, x), dims), unary(op, s, reshape(x, dims)))


def _cast_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape, dims in (((2, 3, 4), (6, 4)), (("N", 3, "L"), ("N", 3, 1, "L"))):
        g = Operands(rng)
        yield g.fires(cast(reshape(g.input(shape), dims), INT64))
        g = Operands(rng)
        yield g.fires(reshape(cast(g.input(shape), INT64), dims))
    g = Operands(rng)
    yield g.near_miss(cast(g.input((2, 3)), INT64), why="nothing is reshaped")


@law("reshape", numerics="bitwise", examples=_cast_examples)
def through_cast(x: Tensor, to: PyObject, dims: PyObject) -> Iterator[Any]:
    """Cast(Reshape(x)) = Reshape(Cast(x))

    Source: TASO.
    """
    yield rewrite(cast(reshape(x, dims), to), reshape(cast(x, to), dims))
    yield rewrite(reshape(cast(x, to), dims), cast(reshape(x, dims), to))


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
