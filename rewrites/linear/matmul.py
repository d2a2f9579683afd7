"""Constants around a product of matrices become part of its constant factor.

(x @ W) * s -> x @ (W * s)           one number, or one per column
(W @ x) * s -> (W * s) @ x           one number, or one per row
(x * s) @ W -> x @ (s * W)           one number, or one per row of W
W @ (x * s) -> (W * s) @ x           one number, or one per column of W
(x + c) @ W -> x @ W + c @ W         one number, or one per row of W
(x @ W1) @ W2 = x @ (W1 @ W2)        likewise W2 @ (W1 @ x)
(x @ y) * s = (x * s) @ y = x @ (y * s)      one number
(x * s) @ (y * t) -> (x * (s * t)) @ y       one number each

W, s and c are constants.
"""

import math
from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, laws_of, rewrite
from egraph_opt.laws.sorts import Axes, Dims, Int, Tensor
from egraph_opt.operators import reduce, reshape
from egraph_opt.rewrites.conditions.chains import affine, led, moves, of_weight, weights
from egraph_opt.rewrites.conditions.channels import (
    count_along,
    is_float_constant,
    is_scale,
    is_shift,
    may_scale,
    may_sum,
    product_fits,
    static_shape,
)
from egraph_opt.rewrites.conditions.combining import LEFT_ALONE, may_combine, product_is_small
from egraph_opt.rewrites.conditions.operands import factor, factors

FOLDED = "the product of constants is folded"

law = laws_of("matmul", numerics="reassociates", kind="fuse")


def _weight(w: Fact, x: Fact) -> tuple[int, ...] | None:
    """The dims of a constant factor, where both factors have two axes at least and the other one varies."""
    shape = static_shape(w)
    if shape is None or not is_float_constant(w) or len(shape) < 2 or x.const or (x.rank or 0) < 2:
        return None
    return shape


@hosted()
def behind(w: Fact, x: Fact, c: Fact, side: int) -> Dims | None:
    """The dims in which c, which scales a product along an axis of W, scales W; see `factor` for x."""
    shape, axis = _weight(w, x), -1 - side
    if shape is None:
        return None
    rank = max(len(shape), x.rank or 0)
    count = count_along(c, rank, rank + axis, shape[axis])
    return None if count is None else (count, 1) if axis == -2 else (1, count)


@hosted()
def before(w: Fact, x: Fact, c: Fact, side: int) -> Dims | None:
    """The dims in which c, which goes with x along the summed axis, goes with W; see `factor` for x."""
    shape, axis = _weight(w, x), -1 - side
    if shape is None or x.shape is None:
        return None
    size, rank = shape[-3 - axis], len(x.shape)
    count = count_along(c, rank, rank + axis, size)
    if count is None or (count > 1 and x.shape[axis] != size):
        return None
    return (count, 1) if axis == -1 else (1, count)


def _infinite_scale(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    product = g.input((3, 4)) @ g.random(4, 5)
    yield g.near_miss(product * g.constant(np.inf), why="a sum of infinities of both signs is none")


@law(
    source="Ascend auto-optimizer, BNFolding",
    uses=(affine, factors, weights),
    resumes=True,
    examples=_infinite_scale,
)
def scale_after_product(x: Tensor, w: Tensor, c: Tensor, i: Int):
    """(x @ W) * s = x @ (W * s), and (W @ x) * s = (W * s) @ x"""
    product, scaled = factor(x, w, i), w * reshape(c, behind(w, x, c, i))
    known = (may_scale(c, w), moves("Mul", product, c), of_weight(x, w, i))
    yield rewrite(product * c, factor(x, scaled, i), *known, because=FOLDED)


def _too_large(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    scaled, weight = g.input((3, 4)) * g.constant(1e30), g.constant(np.full((4, 5), 1e30))
    yield g.near_miss(scaled @ weight, why="the weight would be infinite, and 0 times it nothing")


@law(uses=(affine, factors, weights), resumes=True, examples=_too_large)
def scale_before_product(x: Tensor, w: Tensor, c: Tensor, i: Int):
    """(x * s) @ W = x @ (s * W), and W @ (x * s) = (W * s) @ x"""
    scaled = w * reshape(c, before(w, x, c, i))
    known = (may_scale(c, w), moves("Mul", x, c), of_weight(x * c, w, i))
    yield rewrite(factor(x * c, w, i), factor(x, scaled, i), *known, because=FOLDED)


@hosted()
def summed_axis(w: Fact) -> Axes | None:
    """The axis of W along which x @ W sums."""
    return None if w.rank is None or w.rank < 2 else (w.rank - 2,)


def _large_shift(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    shifted, weight = g.input((3, 2)) + g.constant(1.0), g.constant(np.full((2, 5), 3e38))
    yield g.near_miss(shifted @ weight, why="the shift behind would be infinite")


@law(kind="move", uses=(affine, weights), examples=_large_shift)
def shift_before_product(x: Tensor, w: Tensor, c: Tensor):
    """(x + c) @ W = x @ W + c @ W"""
    moved = reduce("ReduceSum", w * reshape(c, before(w, x, c, 0)), summed_axis(w), 1)
    known = (may_sum(c, w, summed_axis(w)), guard(is_shift(c)), moves("Add", x, c), of_weight(x + c, w, 0))
    yield rewrite((x + c) @ w, x @ w + moved, *known, because="forgets c")


# --- two constant factors -------------------------------------------------------------------------------


@hosted()
def are_weights(a: Fact, b: Fact, x: Fact) -> bool:
    """Two constant matrices, of which the product overflows nowhere, and a matrix or more that is none.

    Either may have axes of 1 in front.
    """
    known = is_float_constant(a) and is_float_constant(b) and not x.const
    matrices = _matrix(a) is not None and _matrix(b) is not None
    return known and matrices and (x.rank or 0) >= 2 and product_fits(a, b)


def _matrix(w: Fact) -> tuple[int, ...] | None:
    """The dims of a single matrix; None for a stack of several."""
    shape = static_shape(w)
    if shape is None or len(shape) < 2 or any(dim != 1 for dim in shape[:-2]):
        return None
    return shape[-2:]


@hosted()
def is_no_bigger(a: Fact, b: Fact, side: int) -> bool:
    """The product of two matrices is no bigger than they are together, or small; see `factor` for a."""
    first, second = (_matrix(f) for f in ((b, a) if side else (a, b)))
    return first is not None and second is not None and product_is_small(first, second)


def _vector_between(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, v, w = g.input((3, 3)), g.random(3), g.random(3, 3)
    for product in ((x @ v) @ w, x @ (v @ w)):
        yield g.near_miss(product, why="the vector is a column for one and a row for the other")
    rows, one, stack = g.input(("N", 5, 3)), g.random(1, 3, 2), g.random(2, 3, 2)
    yield g.fires((rows @ w) @ one)
    yield g.fires((x @ one) @ g.random(2, 1))
    yield g.near_miss((x @ w) @ stack, why="each x is multiplied with two")


@law(
    serves="arithmetic",
    source="TASO, associativity of MatMul",
    uses=(factors, weights),
    examples=_vector_between,
)
def constant_products(x: Tensor, y: Tensor, a: Tensor, b: Tensor, i: Int):
    """(x @ W1) @ W2 = x @ (W1 @ W2), and W2 @ (W1 @ x) = (W2 @ W1) @ x, where that is no bigger, or small

    To the right from the first of several in a row, but for those that make x smaller; from the right where
    x @ W1 is written.
    """
    product = factor(a, b, i)
    apart, together = factor(factor(x, a, i), b, i), factor(x, product, i)
    sound, back = (are_weights(a, b, x), guard(is_no_bigger(a, b, i))), "constant_products"
    each = of_weight(x, a, i), of_weight(factor(x, a, i), b, i), guard(eq(led(x, i), 0))
    yield rewrite(apart, together, sound, each, inverse=back)
    written = guard(eq(y, factor(x, a, i))), of_weight(x, product, i)
    yield rewrite(together, apart, sound, written, inverse=back)


# --- scales of products of two activations --------------------------------------------------------------


@hosted()
def is_scalar(c: Fact, x: Fact, y: Fact) -> bool:
    """c is one element, with no more axes than either factor.

    0 and 1 are left alone: they combine with none, and products of them had any number.
    """
    shape = static_shape(c)
    if shape is None or math.prod(shape) != 1 or c.splat in LEFT_ALONE["Mul"]:
        return False
    return min(x.rank or 0, y.rank or 0) >= max(2, len(shape))


@hosted()
def are_activations(x: Fact, y: Fact) -> bool:
    return not x.const and not y.const and x.dtype in FLOATS


def _infinite_scalar(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, infinity = g.input((3, 4)), g.input((4, 5)), g.constant(np.inf)
    for product in ((x @ y) * infinity, (x * infinity) @ y):
        yield g.near_miss(product, why="a sum of infinities of both signs is none")
    huge, less, two = g.constant(np.full((3, 4), 3e38)), y * g.constant(0.01), g.constant(2.0)
    yield g.near_miss((huge @ less) * two, why="a constant that is scaled overflows")
    scaled = (g.constant(np.full((3, 4), 1e24)) * g.constant(1e-10)) @ (y * g.constant(1e20))
    yield g.near_miss(scaled, why="a product with a constant overflows where it is not scaled")


@law(kind="move", uses=(affine, factors), examples=_infinite_scalar)
def scalars_reach_factors(x: Tensor, y: Tensor, c: Tensor, i: Int):
    """(x @ y) * s = (x * s) @ y = x @ (y * s) for one number s"""
    sound = (is_scale(c), is_scalar(c, x, y), are_activations(x, y))
    product = factor(x, y, i)
    scaled, back = factor(x * c, y, i), "scalars_reach_factors"
    yield rewrite(product * c, scaled, sound, moves("Mul", product, c), inverse=back)
    yield rewrite(scaled, product * c, sound, moves("Mul", x, c), inverse=back)


def _large_scalars(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, large = g.input((3, 4)) * g.constant(1e-30), g.input((4, 5)), g.constant(1e30)
    yield g.near_miss((x * large) @ (y * large), why="the product of the scales would overflow")
    half, known = g.constant(0.5), g.constant(np.full((3, 4), -1e20))
    yield g.near_miss((known * half) @ (y * g.constant(1e20)), why="scaled again, a constant would overflow")


@law(kind="merge", examples=_large_scalars)
def scalars_meet(x: Tensor, y: Tensor, s: Tensor, t: Tensor):
    """(x * s) @ (y * t) = (x * (s * t)) @ y for numbers s and t"""
    sound = (may_combine("Mul", s, t), is_scalar(t, x, y), are_activations(x, y))
    demand = guard(is_scale(s), is_scale(t), is_scalar(s, x, y))
    yield rewrite(
        (x * s) @ (y * t), (x * (s * t)) @ y, sound, demand, because="one scale is never worse than two"
    )
