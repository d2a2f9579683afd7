"""Views (Reshape, Squeeze, Unsqueeze, Flatten): composition, known targets, functions of one operand.

Reshape_b(Reshape_a(x)) = Reshape_b(x)
Reshape to x's own dims = x
Reshape to a computed target = Reshape to the dims that it is known to give
f(Reshape(x)) = Reshape(f(x)), casts too
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import Equal, PyObject, String, eq, holds, let, rewrite, rule
from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.laws.examples import INT64, Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import cast, reshape, reshape_to, shape_of, unary
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact
from egraph_opt.rewrites.conditions.view_shapes import changes_dims, same_dims


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
    """Reshape_b(Reshape_a(x)) = Reshape_b(x), or x where these are its dims

    Source: onnxoptimizer fuse_consecutive_reshapes, fuse_consecutive_squeezes.
    """
    yield rewrite(reshape(reshape(x, a), b), reshape(x, b), holds(changes_dims, fact(x), b))
    yield rewrite(reshape(reshape(x, a), b), x, holds(_own_dims, fact(x), b))


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
def _known_target(x: Fact, z: Fact) -> Shape | None:
    """The dims of a reshape's result, where those of its operand are known as well."""
    return z.shape if x.is_symbolic and z.is_symbolic else None


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
    x, y = g.input((None, 12)), g.input(("L", 4, 3))
    yield g.near_miss(reshape_to(x, shape_of(y, 0, 3), 0), why="the operand's dims are not known")


@law("reshape", numerics="bitwise", examples=_target_examples)
def know_the_target(x: Tensor, t: Tensor, a: PyObject, z: Tensor, dims: PyObject) -> Iterator[Any]:
    """Reshape(x, target) = Reshape_dims(x) where the dims of the result are known

    It can be written where at most one of them is neither a number nor a copy of x's dim at the same place.
    Source: Ascend auto-optimizer, DynamicReshape.
    """
    conditions = let(dims, _known_target, fact(x), fact(z))
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
    changes = holds(changes_dims, fact(x), dims)
    yield rewrite(unary(op, s, reshape(x, dims)), reshape(unary(op, s, x), dims), changes)
    yield rewrite(reshape(unary(op, s, x), dims), unary(op, s, reshape(x, dims)), changes)


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
    changes = holds(changes_dims, fact(x), dims)
    yield rewrite(cast(reshape(x, dims), to), reshape(cast(x, to), dims), changes)
    yield rewrite(reshape(cast(x, to), dims), cast(reshape(x, dims), to), changes)
