"""What may stand on either side of a transpose: views of each axis by itself, and scales of one number.

Reshape(Transpose_p(x)) = Transpose_q(Reshape(x))      where the view splits axes, or inserts ones
Transpose_p(x * s) = Transpose_p(x) * s                for one constant number s, where a product takes it
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import Equal, PyObject, eq, guard, holds, let, rewrite, rule
from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact, Shape
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import binary, matmul, reshape, transpose, unary
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact
from egraph_opt.rewrites.conditions.channels import is_scale
from egraph_opt.rewrites.transposes.composition import Permutation, is_identity


def groups(before: Shape, after: Shape) -> list[Shape] | None:
    """Per axis of `before` the axes of `after` that it is split into; axes of 1 may come and go.

    None where an axis of `after` is made of several.

    >>> groups(("N", 6, 1), ("N", 2, 3))
    [('N',), (2, 3), ()]
    """
    rest, found = list(reversed(after)), []
    for dim in before:
        group: list[Dim] = []
        if dim == 1:
            if rest and rest[-1] == 1:
                group.append(rest.pop())
        else:
            while not group or not symbolic.known_equal(symbolic.product(group), dim):
                if not rest:
                    return None
                group.append(rest.pop())
        found.append(tuple(group))
    if any(dim != 1 for dim in rest):
        return None
    found[-1] = (*found[-1], *rest)
    return found


def axes_before(p: Permutation, x: Fact, dims: Shape) -> tuple[Shape, Permutation] | None:
    """The dims of a view of x, and a transpose of that, which do what a view does behind Transpose_p.

    None where the view splits no axis or joins some, or nothing is left to transpose.
    """
    if x.shape is None or x.const or not x.shape or None in x.shape or 0 in x.shape:
        return None
    split = groups(tuple(x.shape[axis] for axis in p), dims)
    if split is None or all(len(group) <= 1 for group in split):
        return None
    starts: dict[int, int] = {}
    moved: list[Dim] = []
    for axis in sorted(range(len(p)), key=lambda axis: p[axis]):
        starts[axis] = len(moved)
        moved.extend(split[axis])
    q = tuple(starts[axis] + k for axis in range(len(p)) for k in range(len(split[axis])))
    return None if is_identity(q) else (tuple(moved), q)


@hosted()
def dims_before(p: Permutation, x: Fact, dims: Shape) -> Shape | None:
    found = axes_before(p, x, dims)
    return None if found is None else found[0]


@hosted()
def perm_before(p: Permutation, x: Fact, dims: Shape) -> Permutation | None:
    found = axes_before(p, x, dims)
    return None if found is None else found[1]


def _view_examples(rng: np.random.Generator) -> Iterator[Example]:
    for source, shape, perm, dims in (
        (("N", "L", 8), ("N", "L", 1, 8), (2, 0, 3, 1), ("N", 2, 4, "L")),
        (("L", 24), ("L", 6, 4), (1, 0, 2), (2, 3, "L", 4)),
        ((3, 4, "N", 6), (12, "N", 6), (2, 0, 1), (3, 2, 2, 6, "N")),
        (("N", 12), ("N", 3, 4), (2, 0, 1), (4, 1, "N", 3)),
    ):
        g = Operands(rng)
        x = reshape(g.input(source), shape)
        yield g.fires(reshape(transpose(x, perm), dims))
        yield g.near_miss(reshape(unary("Relu", (), transpose(x, perm)), dims), why="Relu is between")
    g = Operands(rng)
    x = reshape(g.input((6,)), (2, 1, 3))
    yield g.near_miss(reshape(transpose(x, (1, 0, 2)), (2, 3)), why="the others keep their order")
    yield g.near_miss(reshape(transpose(x, (1, 2, 0)), (1, 6)), why="axes are merged")
    yield g.near_miss(reshape(transpose(x, (1, 2, 0)), (1, 2, 3)), why="axes are split and merged")
    yield g.near_miss(reshape(transpose(x, (1, 2, 0)), (3, 2)), why="an axis goes, and none is split")
    free = transpose(g.input((4, 3)), (1, 0))
    yield g.near_miss(reshape(free, (3, 2, 2)), why="it would meet no view")


@law("transpose", numerics="bitwise", examples=_view_examples)
def view_before(
    x: Tensor, y: Tensor, p: PyObject, d: PyObject, q: PyObject, e: PyObject, f: PyObject
) -> Iterator[Any]:
    """Reshape(Transpose_p(x)) = Transpose_q(Reshape(x)) where the view splits axes, or inserts ones

    Source: algebra; Ascend auto-optimizer, SplitQKVMatmul.
    """
    known = (*let(q, perm_before, p, fact(x), d), *let(e, dims_before, p, fact(x), d))
    meets = guard(eq(x).to(reshape(y, f)))
    yield rewrite(reshape(transpose(x, p), d), transpose(reshape(x, e), q), *known, *meets)


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
