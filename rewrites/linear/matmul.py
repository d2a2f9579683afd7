"""Constants around a product of matrices become part of its constant factor.

    (x @ W) * s = x @ (W * s)            one number, or one per column
    (W @ x) * s = (W * s) @ x            one number, or one per row
    (x * s) @ W = x @ (s * W)            one number, or one per row of W
    W @ (x * s) = (W * s) @ x            one number, or one per column of W
    (x + c) @ W = x @ W + c @ W          one number, or one per row of W
    (x @ W1) @ W2 = x @ (W1 @ W2)        where that multiplies less
    (x @ y) * s = (x * s) @ y = x @ (y * s)      one number
    (x * s) @ (y * t) = (x * (s * t)) @ y        one number each

W, s and c are constants.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import PyObject, holds, let, rewrite
from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import INT64, Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import binary, matmul, reduce, reshape
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact
from egraph_opt.rewrites.conditions.channels import (
    Dims,
    chains,
    count_along,
    is_float_constant,
    is_scale,
    is_shift,
    static_shape,
    unchained,
)


def _weight(w: Fact, x: Fact) -> Dims | None:
    """The dims of a constant factor, where both factors have two axes at least and the other one varies."""
    shape = static_shape(w)
    if shape is None or not is_float_constant(w) or len(shape) < 2 or x.const or (x.rank or 0) < 2:
        return None
    return shape


@hosted()
def behind(w: Fact, x: Fact, c: Fact, axis: int) -> Dims | None:
    """The dims in which c, which scales a product along an axis (-1 or -2), scales its factor W."""
    shape = _weight(w, x)
    if shape is None or not is_scale(c):
        return None
    rank = max(len(shape), x.rank or 0)
    count = count_along(c, rank, rank + axis, shape[axis])
    return None if count is None else (count, 1) if axis == -2 else (1, count)


@hosted()
def before(kind: str, w: Fact, x: Fact, c: Fact, axis: int) -> Dims | None:
    """The dims in which c, which scales x along the summed axis (-1 or -2), scales W along its own."""
    shape = _weight(w, x)
    if shape is None or x.shape is None or not (is_scale(c) if kind == "scale" else is_shift(c)):
        return None
    size, rank = shape[-3 - axis], len(x.shape)
    count = count_along(c, rank, rank + axis, size)
    if count is None or (count > 1 and x.shape[axis] != size):
        return None
    return (count, 1) if axis == -1 else (1, count)


def _uniform(g: Operands, *shape: int) -> Any:
    return g.constant(g.rng.uniform(0.5, 2, shape).astype(np.float32))


def _behind_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape, weight in (
        ((5, 3), (3, 4)),
        (("N", "L", 3), (3, 4)),
        (("N", 1, 2, 3), (2, 3, 4)),
        ((2, 3), (2, 3, 4)),
    ):
        g = Operands(rng)
        y = matmul(g.input(shape), g.random(*weight))
        for c in (_uniform(g), _uniform(g, 4), _uniform(g, 1, 4)):
            yield g.fires(binary("Mul", y, c))
    g = Operands(rng)
    x = g.input(("N", 3, 5))
    for c in (_uniform(g, 1), _uniform(g, 4, 1), _uniform(g, 1, 4, 1)):
        yield g.fires(binary("Mul", matmul(g.random(4, 3), x), c))
    y = matmul(g.input((2, 4, 3)), g.random(3, 4))
    yield g.near_miss(binary("Mul", y, _uniform(g, 4, 1)), why="it varies along the rows")
    yield g.near_miss(binary("Mul", y, _uniform(g, 1, 1, 1, 1)), why="it adds an axis")
    yield g.near_miss(binary("Add", y, _uniform(g, 4)), why="it is a shift")
    yield g.near_miss(binary("Mul", matmul(x, g.input((5, 4))), _uniform(g, 1)), why="no factor is constant")
    yield g.near_miss(binary("Mul", matmul(x, g.random(5)), _uniform(g, 1)), why="the factor is a vector")
    yield g.near_miss(binary("Mul", y, g.constant(np.float32(1))), why="it changes nothing")
    one = matmul(g.input((2, 3)), g.random(3, 1))
    yield g.near_miss(binary("Mul", one, _uniform(g, 4)), why="one column becomes four")
    n = matmul(g.input((2, 3), INT64), g.constant(np.ones((3, 4), np.int64)))
    yield g.near_miss(binary("Mul", n, g.constant(np.array([2], np.int64))), why="integers")


@law("matmul", numerics="reassociates", examples=_behind_examples)
def scale_after_product(x: Tensor, w: Tensor, c: Tensor, d: PyObject) -> Iterator[Any]:
    """(x @ W) * s = x @ (W * s), and (W @ x) * s = (W * s) @ x

    Source: Ascend auto-optimizer, BNFolding.
    """
    yield from chains()
    scaled = binary("Mul", w, reshape(c, d))
    columns = let(d, behind, fact(w), fact(x), fact(c), PyObject(-1))
    rows = let(d, behind, fact(w), fact(x), fact(c), PyObject(-2))
    yield rewrite(binary("Mul", matmul(x, w), c), matmul(x, scaled), unchained("Mul", matmul(x, w)), columns)
    yield rewrite(binary("Mul", matmul(w, x), c), matmul(scaled, x), unchained("Mul", matmul(w, x)), rows)


def _before_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape, weight in (((5, 3), (3, 4)), (("N", "L", 3), (3, 4)), (("N", 1, 2, 3), (2, 3, 4))):
        g = Operands(rng)
        x = g.input(shape)
        for c in (_uniform(g), _uniform(g, 3), _uniform(g, 1, 3)):
            yield g.fires(matmul(binary("Mul", x, c), g.random(*weight)))
    g = Operands(rng)
    x, w = g.input(("N", 3, 5)), g.random(5, 4)
    for c in (_uniform(g, 1), _uniform(g, 3, 1), _uniform(g, 1, 3, 1)):
        yield g.fires(matmul(g.random(4, 3), binary("Mul", x, c)))
    for scaled, why in (
        (binary("Mul", x, _uniform(g, 3, 1)), "it varies along the rows"),
        (binary("Mul", g.input((3, 1)), _uniform(g, 5)), "it makes x bigger"),
        (binary("Mul", g.input((3, 5)), _uniform(g, 1, 1, 5)), "it adds an axis"),
        (binary("Add", x, _uniform(g, 5)), "it is a shift"),
        (binary("Mul", x, g.input((5,))), "it is no constant"),
    ):
        yield g.near_miss(matmul(scaled, w), why)


@law("matmul", numerics="reassociates", examples=_before_examples)
def scale_before_product(x: Tensor, w: Tensor, c: Tensor, d: PyObject) -> Iterator[Any]:
    """(x * s) @ W = x @ (s * W), and W @ (x * s) = (W * s) @ x

    Source: algebra.
    """
    yield from chains()
    scaled = binary("Mul", w, reshape(c, d))
    rows = let(d, before, PyObject("scale"), fact(w), fact(x), fact(c), PyObject(-1))
    columns = let(d, before, PyObject("scale"), fact(w), fact(x), fact(c), PyObject(-2))
    yield rewrite(matmul(binary("Mul", x, c), w), matmul(x, scaled), unchained("Mul", x), rows)
    yield rewrite(matmul(w, binary("Mul", x, c)), matmul(scaled, x), unchained("Mul", x), columns)


@hosted()
def summed_axis(w: Fact) -> Dims:
    """The axis of W along which x @ W sums."""
    return ((w.rank or 0) - 2,)


def _shift_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape, weight in (((5, 3), (3, 4)), (("N", "L", 3), (3, 4)), (("N", 1, 2, 3), (2, 3, 4))):
        g = Operands(rng)
        x = g.input(shape)
        for c in (g.random(), g.random(3), g.random(1, 3)):
            yield g.fires(matmul(binary("Add", x, c), g.random(*weight)))
    g = Operands(rng)
    x, w = g.input(("N", 3, 5)), g.random(5, 4)
    for shifted, why in (
        (binary("Add", x, g.random(3, 1)), "it varies along the rows"),
        (binary("Add", g.input((3, 1)), g.random(5)), "it makes x bigger"),
        (binary("Mul", x, g.random(5)), "it is a scale"),
        (binary("Add", x, g.input((5,))), "it is no constant"),
    ):
        yield g.near_miss(matmul(shifted, w), why)


@law("matmul", numerics="reassociates", examples=_shift_examples)
def shift_before_product(x: Tensor, w: Tensor, c: Tensor, d: PyObject, axis: PyObject) -> Iterator[Any]:
    """(x + c) @ W = x @ W + c @ W

    Source: algebra.
    """
    yield from chains()
    moved = reduce("ReduceSum", binary("Mul", w, reshape(c, d)), axis, 1)
    yield rewrite(
        matmul(binary("Add", x, c), w),
        binary("Add", matmul(x, w), moved),
        unchained("Add", x),
        let(d, before, PyObject("shift"), fact(w), fact(x), fact(c), PyObject(-1)),
        let(axis, summed_axis, fact(w)),
    )


@hosted(default=False)
def is_cheaper(a: Fact, b: Fact, x: Fact) -> bool:
    """The product of two constant matrices is no bigger than they are."""
    first, second = static_shape(a), static_shape(b)
    if first is None or second is None or len(first) != 2 or len(second) != 2 or (x.rank or 0) < 2 or x.const:
        return False
    known = is_float_constant(a) and is_float_constant(b)
    return known and bool(first[0] * second[1] <= math.prod(first) + math.prod(second))


def _association_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", "L", 3))
    yield g.fires(matmul(matmul(x, g.random(3, 4)), g.random(4, 5)))
    yield g.fires(matmul(g.random(2, 4), matmul(g.random(4, 6), g.input(("N", 6, "L")))))
    yield g.near_miss(matmul(matmul(x, g.random(3, 1)), g.random(1, 5)), why="a low rank is cheaper")
    yield g.near_miss(matmul(matmul(x, g.input((3, 4))), g.random(4, 5)), why="a factor is no constant")
    vector = g.input((3,))
    yield g.near_miss(matmul(matmul(vector, g.random(3, 4)), g.random(4, 5)), why="x is a vector")


@law("matmul", numerics="reassociates", examples=_association_examples)
def constant_products(x: Tensor, a: Tensor, b: Tensor) -> Iterator[Any]:
    """(x @ W1) @ W2 = x @ (W1 @ W2), and W2 @ (W1 @ x) = (W2 @ W1) @ x

    Source: TASO, associativity of MatMul.
    """
    condition = holds(is_cheaper, fact(a), fact(b), fact(x))
    yield rewrite(matmul(matmul(x, a), b), matmul(x, matmul(a, b)), condition)
    yield rewrite(matmul(a, matmul(b, x)), matmul(matmul(a, b), x), condition)


# --- scales of products of two activations --------------------------------------------------------------


@hosted(default=False)
def is_scalar_scale(c: Fact, x: Fact, y: Fact) -> bool:
    """c is one number, x and y are floats of known rank, two at least, that are no constants."""
    shape = static_shape(c)
    if not is_scale(c) or shape is None or not is_float_constant(c) or math.prod(shape) != 1:
        return False
    ranks = (x.rank or 0, y.rank or 0)
    return not x.const and not y.const and min(ranks) >= max(2, len(shape)) and x.dtype in FLOATS


def _product_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 2, "L", 3)), g.input(("N", 2, 3, 4))
    for c in (_uniform(g), _uniform(g, 1), _uniform(g, 1, 1, 1, 1)):
        yield g.fires(binary("Mul", matmul(x, y), c))
    yield g.near_miss(binary("Mul", matmul(x, y), _uniform(g, 4)), why="four numbers")
    yield g.near_miss(binary("Add", matmul(x, y), _uniform(g)), why="it is a shift")
    yield g.near_miss(binary("Mul", matmul(x, y), g.input(())), why="it is no constant")
    yield g.near_miss(binary("Mul", matmul(x, g.random(3, 4)), _uniform(g)), why="a factor takes it in")
    yield g.near_miss(binary("Mul", matmul(x, y), _uniform(g, 1, 1, 1, 1, 1)), why="it adds an axis")


@law("matmul", numerics="reassociates", examples=_product_examples)
def scalars_reach_factors(x: Tensor, y: Tensor, c: Tensor) -> Iterator[Any]:
    """(x @ y) * s = (x * s) @ y = x @ (y * s) for one number s

    Source: algebra.
    """
    yield from chains()
    condition = (unchained("Mul", matmul(x, y)), holds(is_scalar_scale, fact(c), fact(x), fact(y)))
    yield rewrite(binary("Mul", matmul(x, y), c), matmul(binary("Mul", x, c), y), condition)
    yield rewrite(binary("Mul", matmul(x, y), c), matmul(x, binary("Mul", y, c)), condition)


@hosted(default=False)
def are_scalar_scales(s: Fact, t: Fact, x: Fact, y: Fact) -> bool:
    """s and t are one number each, with no more axes than the left factor."""
    axes = max(len(s.shape or ()), len(t.shape or ()))
    both = (is_scalar_scale(c, x, y) for c in (s, t))
    return all(both) and axes <= (x.rank or 0)


def _meeting_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 2, "L", 3)), g.input(("N", 2, 3, 4))
    yield g.fires(matmul(binary("Mul", x, _uniform(g)), binary("Mul", y, _uniform(g, 1))))
    yield g.near_miss(
        matmul(binary("Mul", x, _uniform(g, 3)), binary("Mul", y, _uniform(g))), why="three numbers"
    )
    yield g.near_miss(matmul(binary("Mul", x, _uniform(g)), y), why="one is scaled only")
    one = g.constant(np.float32(1))
    yield g.near_miss(matmul(binary("Mul", x, one), binary("Mul", y, _uniform(g))), why="a neutral scale")
    low = g.input((3, 3))
    yield g.near_miss(
        matmul(binary("Mul", low, _uniform(g)), binary("Mul", y, _uniform(g, 1, 1, 1))),
        why="it would add an axis",
    )


@law("matmul", numerics="reassociates", examples=_meeting_examples)
def scalars_meet(x: Tensor, y: Tensor, s: Tensor, t: Tensor) -> Iterator[Any]:
    """(x * s) @ (y * t) = (x * (s * t)) @ y for numbers s and t

    Source: algebra.
    """
    yield rewrite(
        matmul(binary("Mul", x, s), binary("Mul", y, t)),
        matmul(binary("Mul", x, binary("Mul", s, t)), y),
        holds(are_scalar_scales, fact(s), fact(t), fact(x), fact(y)),
    )
