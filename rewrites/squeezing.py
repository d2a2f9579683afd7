"""What transposes are passed by: axes of 1 leave before one, one number scales behind it.

Squeeze(Transpose_p(x)) = Transpose_q(Squeeze(x))      q being p without the axes that go
Transpose_p(x * s) = Transpose_p(x) * s                for one constant number s, where a product takes it
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from egglog import PyObject, eq

from egraph_opt.host import hosted
from egraph_opt.law import Equal, Example, guard, holds, law, let, rewrite, rule
from egraph_opt.law_testing import Operands
from egraph_opt.operators import binary, matmul, reshape, transpose, unary
from egraph_opt.rewrites.channels import is_scale
from egraph_opt.rewrites.transpose import Permutation, is_identity
from egraph_opt.rewrites.view_shapes import insertions
from egraph_opt.terms import Tensor, fact
from egraph_opt.types import Fact, Shape


def dropped_axes(p: Permutation, x: Fact, dims: Shape) -> tuple[int, ...] | None:
    """The axes of Transpose_p(x), each 1, without which it has these dims."""
    if x.shape is None or x.const or len(x.shape) != len(p):
        return None
    choices = insertions(dims, tuple(x.shape[axis] for axis in p))
    return choices[0] if choices else None


@hosted()
def dims_before(p: Permutation, x: Fact, dims: Shape) -> Shape | None:
    """The dims of x without the axes that go."""
    gone = dropped_axes(p, x, dims)
    if gone is None or x.shape is None:
        return None
    taken = {p[axis] for axis in gone}
    return tuple(dim for axis, dim in enumerate(x.shape) if axis not in taken)


@hosted()
def perm_before(p: Permutation, x: Fact, dims: Shape) -> Permutation | None:
    """The transpose of what is left; None where its axes keep their order."""
    gone = dropped_axes(p, x, dims)
    if gone is None:
        return None
    kept = [source for axis, source in enumerate(p) if axis not in gone]
    order = sorted(kept)
    q = tuple(order.index(source) for source in kept)
    return None if is_identity(q) else q


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape, perm, dims in (
        (("N", "L", 1, 2, 4), (2, 0, 3, 1, 4), ("N", 2, "L", 4)),
        ((2, 1, 3), (1, 2, 0), (3, 2)),
        ((2, 1, 3, 1), (3, 2, 1, 0), (3, 2)),
        ((1, 1, 4, 3), (3, 0, 2, 1), (3, 1, 4)),
    ):
        g = Operands(rng)
        x = g.input(shape)
        yield g.fires(reshape(transpose(x, perm), dims))
        yield g.near_miss(reshape(unary("Relu", (), transpose(x, perm)), dims), why="Relu is between")
    g = Operands(rng)
    x = g.input((2, 1, 3))
    yield g.near_miss(reshape(transpose(x, (1, 0, 2)), (2, 3)), why="the others keep their order")
    yield g.near_miss(reshape(transpose(x, (1, 2, 0)), (1, 6)), why="axes are merged")
    yield g.near_miss(reshape(transpose(x, (1, 2, 0)), (3, 2, 1)), why="no axis goes")


@law("transpose", numerics="bitwise", examples=_examples)
def squeeze_before(x: Tensor, p: PyObject, d: PyObject, q: PyObject, e: PyObject) -> Iterator[Any]:
    """Squeeze(Transpose_p(x)) = Transpose_q(Squeeze(x))

    Source: algebra; Ascend auto-optimizer, SplitQKVMatmul.
    """
    known = (*let(q, perm_before, p, fact(x), d), *let(e, dims_before, p, fact(x), d))
    yield rewrite(reshape(transpose(x, p), d), transpose(reshape(x, e), q), *known)


@hosted(default=False)
def is_one_scale(c: Fact) -> bool:
    return is_scale(c) and c.shape in ((), (1,))


def _scale_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, p = g.input(("N", 4, 3)), g.input(("N", 4, 3)), (0, 2, 1)
    for s in (g.constant(0.25), g.constant(np.array([3.0]))):
        yield g.fires(matmul(x, transpose(binary("Mul", y, s), p)))
        yield g.fires(matmul(transpose(binary("Mul", x, s), p), y))
    yield g.near_miss(matmul(x, transpose(binary("Mul", y, g.random(3)), p)), why="three numbers")
    yield g.near_miss(matmul(x, transpose(binary("Mul", y, g.input(())), p)), why="it is no constant")
    yield g.near_miss(matmul(x, transpose(binary("Add", y, g.constant(0.25)), p)), why="it is a shift")
    yield g.near_miss(transpose(binary("Mul", y, g.constant(0.25)), p), why="no product takes it")


@law("transpose", numerics="bitwise", examples=_scale_examples)
def scale_behind(x: Tensor, y: Tensor, z: Tensor, t: Tensor, c: Tensor, p: PyObject) -> Iterator[Any]:
    """Transpose_p(x * s) = Transpose_p(x) * s for one constant number s, where a product takes it

    Source: algebra.
    """
    one = (eq(t).to(transpose(binary("Mul", x, c), p)), holds(is_one_scale, fact(c)))
    for product in (matmul(y, t), matmul(t, y)):
        yield rule(*one, *guard(eq(z).to(product)), then=Equal(t, binary("Mul", transpose(x, p), c)))
