"""How exporters spell the mean, the variance and the root in a normalisation.

ReduceSum(x) * (1 / n) -> ReduceMean(x)                      n elements are summed
ReduceMean(x * x) - ReduceMean(x)^2 -> ReduceMean((x - ReduceMean(x))^2)       under a root, or bounded by 0
Clip(ReduceMean(x * x)) -> ReduceMean(x * x)                 from below by 0
u ^ 0.5 -> Sqrt(u)      u ^ -0.5 -> 1 / Sqrt(u)      u ^ -1 -> 1 / u      Sqrt(1 / (x + c)) -> 1 / Sqrt(x + c)
x * (r * g) = (x * r) * g                                    r = 1 / Sqrt(mean(x * x) + e)
x * i + (b - m * i) = (x - m) * i + b                        m = ReduceMean(x)
"""

import math
from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.dtypes import KERNEL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, kernel, law, ne, rewrite
from egraph_opt.laws.algebra import reciprocal, sqrt, varies
from egraph_opt.laws.sorts import Axes, Flag, Float, Int, Settings, String, Tensor
from egraph_opt.operators import reduce, unary
from egraph_opt.rewrites.conditions.channels import LARGEST, is_moderate, is_moderate_factor, known_elements
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import (
    all_are,
    any_varies,
    fits,
    is_float,
    is_kernel_float,
    last_places,
)
from egraph_opt.rewrites.elementwise.identities import beside_number
from egraph_opt.rewrites.normalization.layer_norm import KEPT


def mean(x: Tensor, a: Axes, keepdims: Flag = KEPT) -> Tensor:
    return reduce("ReduceMean", x, a, keepdims)  # type: ignore[no-any-return]


# --- mean and variance ----------------------------------------------------------------------------------


@hosted()
def inverse_count(x: Fact, axes: Axes) -> Float | None:
    """One over the number of elements that are summed."""
    if x.shape is None or x.dtype not in KERNEL_FLOATS or any(a >= len(x.shape) for a in axes):
        return None
    dims = [x.shape[a] for a in axes]
    if not all(isinstance(d, int) and d > 0 for d in dims):
        return None
    return 1 / math.prod(d for d in dims if isinstance(d, int))


@hosted()
def is_about(c: Fact, number: Float) -> bool:
    """All of c is the number, up to its rounding."""
    return c.splat is not None and abs(c.splat / number - 1) <= last_places(c.dtype)


def _mean_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    total = reduce("ReduceSum", g.input(("N", 3, 4)), (1, 2), 0)
    yield g.fires(total * g.constant([1 / 12]))
    wide = g.constant(np.full((2, 1), 1 / 12))
    yield g.near_miss(total * wide, why="broadcasting makes the result bigger")


@law("normalization", numerics="reassociates", kind="fuse", examples=_mean_examples)
def mean_of_sum(x: Tensor, c: Tensor, a: Axes, k: Flag):
    """ReduceSum(x) * (1 / n) = ReduceMean(x), n the number of elements summed"""
    total = reduce("ReduceSum", x, a, k)
    sound = (is_about(c, inverse_count(x, a)), fits(c, total))
    yield rewrite(total * c, mean(x, a, k), *sound, because="a mean is one operator, of the same work")


def spread_of(x: Tensor, a: Axes, k: Flag) -> tuple[Tensor, Tensor]:
    """The variance as a difference, which rounding may bring below 0, and as a mean of squares."""
    away, centre = x - mean(x, a), mean(x, a, k)
    return mean(x * x, a, k) - centre * centre, mean(away * away, a, k)


def _level(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    spelled, _ = spread_of(g.constant(np.full((20, 2), 1e-4)), (1,), 0)
    root = sqrt(spelled + g.input((20,)) * g.constant(0.0))
    yield g.near_miss(root, why="of a level constant rounding leaves less than 0")


@law("normalization", numerics="reassociates", serves="accuracy", examples=_level)
def variance(x: Tensor, c: Tensor, a: Axes, k: Flag):
    """Sqrt(ReduceMean(x * x) - ReduceMean(x)^2 + c) = Sqrt(ReduceMean((x - ReduceMean(x))^2) + c)

    The two variances are not made equal without their root: one of them is never below 0, so needs no bound,
    which the other does.
    """
    spelled, around = spread_of(x, a, k)
    because = "the difference of two large numbers cancels"
    yield rewrite(sqrt(spelled + c), sqrt(around + c), varies(x), because=because)


@hosted()
def bounds_nothing_positive(op: str, bounds: Settings) -> bool:
    low, high = dict(bounds).get("min"), dict(bounds).get("max")
    return op == "Relu" or (op == "Clip" and high is None and low is not None and low <= 0)


@law("normalization", numerics="reassociates", kind="eliminate", serves="accuracy")
def bounded_variance(op: String, x: Tensor, a: Axes, k: Flag, s: Settings):
    """Clip(ReduceMean(x * x) - ReduceMean(x)^2) = ReduceMean((x - ReduceMean(x))^2), also of Relu

    The bound is one from below by 0.
    """
    spelled, around = spread_of(x, a, k)
    sound = (bounds_nothing_positive(op, s), is_kernel_float(x), guard(varies(x)))
    because = "the difference of two large numbers cancels"
    yield rewrite(unary(op, s, spelled), around, *sound, because=because)


def _square_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input((2, 3), TensorProto.INT32)
    bounded = unary("Clip", (("max", None), ("min", 0.0)), mean(x * x, (1,)))
    yield g.near_miss(bounded, why="squares of integers overflow")


@law("normalization", numerics="finite", kind="eliminate", examples=_square_examples)
def squares_are_positive(op: String, x: Tensor, a: Axes, k: Flag, s: Settings):
    """Clip(ReduceMean(x * x)) = ReduceMean(x * x) from below by 0, likewise Relu; integers overflow"""
    squares = mean(x * x, a, k)
    bounded, useless = unary(op, s, squares), bounds_nothing_positive(op, s)
    yield rewrite(bounded, squares, useless, is_float(x), because="a bound that bounds nothing")


# --- roots ---------------------------------------------------------------------------------------------


def _root_examples(rng: np.random.Generator) -> Iterator[Example]:
    for exponent in (0.5, -0.5, -1.0):
        yield from beside_number(lambda x, c: unary("Abs", (), x) ** c, exponent)(rng)


@law("normalization", numerics="finite", serves="arithmetic", examples=_root_examples)
def roots(u: Tensor, c: Tensor):
    """u ^ 0.5 = Sqrt(u), u ^ -0.5 = 1 / Sqrt(u), u ^ -1 = 1 / u

    Infinity is (-infinity) ^ 0.5, and 0.0 is (-0.0) ^ 0.5.
    """
    for exponent, root in ((0.5, sqrt(u)), (-0.5, reciprocal(sqrt(u))), (-1.0, reciprocal(u))):
        sound = (all_are(c, exponent), kernel(is_kernel_float(u)), fits(c, u))
        yield rewrite(u**c, root, *sound, because="no power is cheaper than a root")


@hosted()
def is_one_number(c: Fact) -> bool:
    return c.splat is not None


@law("normalization", numerics="finite", kind="move")
def root_of_inverse(x: Tensor, c: Tensor):
    """Sqrt(1 / u) = 1 / Sqrt(u) where u = x + c, c one number

    Such a sum is never -0.0, which has a root, but whose reciprocal has none.
    """
    u, demand = x + c, guard(is_one_number(c))
    yield rewrite(sqrt(reciprocal(u)), reciprocal(sqrt(u)), demand, because="it is the canonical form")


# --- scales that were multiplied with the root first ---------------------------------------------------


@hosted()
def is_finite_beside_root(g: Fact, c: Fact) -> bool:
    """A scale over the root of a constant, the least that there is of a mean of squares and this, is finite,
    as far as they are known."""
    scales, least = known_elements(g), known_elements(c)
    if not scales or g.dtype not in LARGEST:
        return True
    if not least or min(least) <= 0:
        return is_moderate(g.dtype, *scales)
    return max(map(abs, scales)) <= LARGEST[g.dtype] * math.sqrt(min(least))


def _scaled_roots(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, e, s = g.input((3, 4)), g.constant(1e-5), g.random(4)
    root = reciprocal(sqrt(mean(x * x, (1,)) + e))
    yield g.fires(x * root * s)
    small = reciprocal(sqrt(mean(x * x, (1,)) + g.constant(1e-38)))
    yield g.near_miss(x * small * g.constant(1e25), why="the scale over the root is infinite where x is 0")


@law(
    "normalization",
    numerics="reassociates",
    kind="move",
    examples=_scaled_roots,
    source="TensorFlow, which multiplies r by g first",
    uses=(either_side,),
)
def scale_behind_root(x: Tensor, g: Tensor, c: Tensor, a: Axes, i: Int):
    """x * (r * g) = (x * r) * g where r = 1 / Sqrt(mean(x * x) + e)"""
    root = reciprocal(sqrt(mean(x * x, a) + c))
    behind = x * root * g
    yield rewrite(beside("Mul", x, root * g, i), behind, inverse="scale_behind_root")
    yield rewrite(behind, x * (root * g), is_finite_beside_root(g, c), inverse="scale_behind_root")


def _overflowing(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, i, b = (g.constant(np.full((2, 3), 1e20, np.float32)), g.constant(-1e20), g.input((2, 3)))
    m = mean(x, (1,))
    for term in (x * i + (b - m * i), (x - m) * i + b):
        yield g.near_miss(term, why="the products of the constants overflow")
    b = (g.input((2, 4)) * g.constant(0.01) - g.constant(2.0)) * g.constant(1e19) * g.constant(1e19)
    known = g.constant(np.multiply([[3.0, -3.0, -3.0, -3.0]], 1e23))
    varying = (g.input((2, 4)) * g.constant(0.01) + g.constant([2.5, -2.0, -2.0, -2.0])) * g.constant(1e14)
    for x, i in ((known, g.constant(1e15)), (varying, g.constant(1.3e24))):
        apart = x * i + (b - mean(x, (1,)) * i)
        yield g.near_miss(apart, why="the differences overflow, and the products do not")
    level, b = g.input((2, 3)) * g.constant(1e9) + g.constant(1e15), g.input((2, 3))
    large = (level - mean(level, (1,))) * g.constant(1e24) + b
    yield g.near_miss(large, why="the products with what is level overflow, and their differences do not")


@law(
    "normalization",
    numerics="reassociates",
    kind="move",
    source="TensorFlow, batch_normalization",
    uses=(either_side,),
    examples=_overflowing,
)
def centred_before_scaling(x: Tensor, i: Tensor, b: Tensor, a: Axes, k: Flag, j: Int):
    """x * i + (b - m * i) = (x - m) * i + b where m = ReduceMean(x)

    TensorFlow makes its layer normalisation of it.
    """
    m = mean(x, a, k)
    centred = (x - m) * i + b
    apart, back = (x * i, b - m * i), "centred_before_scaling"
    # Of one element everything is the mean; products of constants may overflow.
    known = (any_varies(x, i), is_moderate_factor(i), guard(is_kernel_float(x), ne(m, x)))
    yield rewrite(beside("Add", *apart, j), centred, *known, inverse=back)
    yield rewrite(centred, apart[0] + apart[1], *known, inverse=back)
