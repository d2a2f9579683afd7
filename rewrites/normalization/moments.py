"""How exporters spell the mean, the variance and the root in a normalisation.

ReduceSum(x) * (1 / n) = ReduceMean(x)                       n elements are summed
ReduceMean(x * x) - ReduceMean(x)^2 = ReduceMean((x - ReduceMean(x))^2)
Clip(ReduceMean(x * x)) = ReduceMean(x * x)                  from below by 0
u ^ 0.5 = Sqrt(u)      u ^ -0.5 = 1 / Sqrt(u)      u ^ -1 = 1 / u      Sqrt(1 / u) = 1 / Sqrt(u)
x * (r * g) = (x * r) * g                                    r = 1 / Sqrt(mean(x * x) + e)
x * i + (b - m * i) = (x - m) * i + b                        m = ReduceMean(x)
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import PyObject, holds, rewrite
from egraph_opt.facts.dtypes import KERNEL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import INT64, Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import binary, reduce, unary
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact
from egraph_opt.rewrites.elementwise.identities import broadcasts_into
from egraph_opt.rewrites.normalization.layer_norm import KEPT

Bounds = tuple[tuple[str, float | None], ...]


@hosted(default=False)
def divides_by_count(c: Fact, x: Fact, axes: tuple[int, ...], total: Fact) -> bool:
    """c is one over the number of elements that are summed, up to its rounding."""
    if x.shape is None or c.splat is None or x.dtype not in KERNEL_FLOATS:
        return False
    dims = [x.shape[a] for a in axes]
    if not all(isinstance(d, int) and d > 0 for d in dims) or not broadcasts_into(c.shape, total.shape):
        return False
    count = math.prod(d for d in dims if isinstance(d, int))
    return abs(c.splat * count - 1) <= 2.0**-22


def _mean_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3, 4))
    for keepdims in (0, 1):
        yield g.fires(binary("Mul", reduce("ReduceSum", x, (2,), keepdims), g.constant(0.25)))
        yield g.fires(binary("Mul", reduce("ReduceSum", x, (1, 2), keepdims), g.constant([1 / 12])))
    yield g.near_miss(binary("Mul", reduce("ReduceSum", x, (2,), 1), g.constant(0.5)), why="four elements")
    yield g.near_miss(binary("Mul", reduce("ReduceSum", x, (0,), 1), g.constant(0.5)), why="N elements")
    wide = g.constant(np.full((2, 1, 1), 0.25))
    yield g.near_miss(binary("Mul", reduce("ReduceSum", x, (2,), 0), wide), why="broadcasting adds an axis")
    g = Operands(rng)
    total = reduce("ReduceSum", g.input((2, 1), INT64), (1,), 1)
    yield g.near_miss(binary("Mul", total, g.constant(np.array(1))), why="integers")


@law("normalization", numerics="reassociates", examples=_mean_examples)
def mean_of_sum(x: Tensor, c: Tensor, a: PyObject, k: PyObject) -> Iterator[Any]:
    """ReduceSum(x) * (1 / n) = ReduceMean(x), n the number of elements summed

    Source: algebra.
    """
    total = reduce("ReduceSum", x, a, k)
    counted = holds(divides_by_count, fact(c), fact(x), a, fact(total))
    yield rewrite(binary("Mul", total, c), reduce("ReduceMean", x, a, k), counted)


@hosted(default=False)
def is_float(x: Fact) -> bool:
    return x.dtype in KERNEL_FLOATS and not x.const


def _variance_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z = g.input(("N", 3, 4)), g.input(("N", 3, 4))
    for axes, keepdims in (((2,), 1), ((1,), 0), ((1, 2), 1)):
        mean = reduce("ReduceMean", x, axes, keepdims)
        squares = reduce("ReduceMean", binary("Mul", x, x), axes, keepdims)
        yield g.fires(binary("Sub", squares, binary("Mul", mean, mean)))
    other = reduce("ReduceMean", z, (1, 2), 1)
    yield g.near_miss(binary("Sub", squares, binary("Mul", other, other)), why="another tensor's mean")
    yield g.near_miss(binary("Sub", squares, mean), why="the mean is not squared")
    one = reduce("ReduceMean", x, (1,), 1)
    yield g.near_miss(binary("Sub", squares, binary("Mul", one, one)), why="the mean over other axes")


@law("normalization", numerics="reassociates", examples=_variance_examples)
def variance(x: Tensor, a: PyObject, k: PyObject) -> Iterator[Any]:
    """ReduceMean(x * x) - ReduceMean(x)^2 = ReduceMean((x - ReduceMean(x))^2)

    Source: algebra; the right side does not cancel.
    """
    mean = reduce("ReduceMean", x, a, k)
    squares = reduce("ReduceMean", binary("Mul", x, x), a, k)
    away = binary("Sub", x, reduce("ReduceMean", x, a, KEPT))
    around = reduce("ReduceMean", binary("Mul", away, away), a, k)
    yield rewrite(binary("Sub", squares, binary("Mul", mean, mean)), around, holds(is_float, fact(x)))


@hosted(default=False)
def bounds_nothing_positive(bounds: Bounds) -> bool:
    low, high = dict(bounds)["min"], dict(bounds)["max"]
    return high is None and low is not None and low <= 0


def _floor_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3, 4))
    squares = reduce("ReduceMean", binary("Mul", x, x), (2,), 1)
    yield g.fires(unary("Clip", (("max", None), ("min", 0.0)), squares))
    yield g.fires(unary("Relu", (), squares))
    yield g.near_miss(unary("Clip", (("max", 1.0), ("min", 0.0)), squares), why="bounded from above")
    yield g.near_miss(unary("Clip", (("max", None), ("min", 0.1)), squares), why="a bound above 0")
    yield g.near_miss(unary("Relu", (), reduce("ReduceMean", x, (2,), 1)), why="a mean may be negative")


@law("normalization", numerics="reassociates", examples=_floor_examples)
def squares_are_positive(x: Tensor, a: PyObject, k: PyObject, s: PyObject) -> Iterator[Any]:
    """Clip(ReduceMean(x * x)) = ReduceMean(x * x) from below by 0, likewise Relu

    Source: algebra; an infinite square is bounded by the greatest float where Clip has no bound above.
    """
    squares = reduce("ReduceMean", binary("Mul", x, x), a, k)
    yield rewrite(unary("Clip", s, squares), squares, holds(bounds_nothing_positive, s))
    yield rewrite(unary("Relu", (), squares), squares)


# --- roots ---------------------------------------------------------------------------------------------


@hosted(default=False)
def is_exponent(c: Fact, wanted: float, u: Fact) -> bool:
    return (
        c.splat == wanted
        and u.dtype in KERNEL_FLOATS
        and c.dtype == u.dtype
        and broadcasts_into(c.shape, u.shape)
    )


def _root_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    u = unary("Abs", (), g.input(("N", 3)))
    for exponent in (0.5, -0.5, -1.0):
        yield g.fires(binary("Pow", u, g.constant(exponent)))
    yield g.near_miss(binary("Pow", u, g.constant(1.5)), why="no root")
    yield g.near_miss(binary("Pow", u, g.constant(np.full((2, 1, 1), 0.5))), why="broadcasting adds an axis")


@law("normalization", numerics="reassociates", examples=_root_examples)
def roots(u: Tensor, c: Tensor) -> Iterator[Any]:
    """u ^ 0.5 = Sqrt(u), u ^ -0.5 = 1 / Sqrt(u), u ^ -1 = 1 / u

    Source: algebra.
    """
    root = unary("Sqrt", (), u)
    inverse = unary("Reciprocal", (), root)
    for exponent, right in ((0.5, root), (-0.5, inverse), (-1.0, unary("Reciprocal", (), u))):
        wanted = PyObject(exponent)
        yield rewrite(binary("Pow", u, c), right, holds(is_exponent, fact(c), wanted, fact(u)))


def _inverse_root_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    u = unary("Abs", (), g.input(("N", 3)))
    yield g.fires(unary("Sqrt", (), unary("Reciprocal", (), u)))
    yield g.near_miss(unary("Exp", (), unary("Reciprocal", (), u)), why="no root")


@law("normalization", numerics="reassociates", examples=_inverse_root_examples)
def root_of_inverse(u: Tensor) -> Iterator[Any]:
    """Sqrt(1 / u) = 1 / Sqrt(u)

    Source: algebra.
    """
    inside = unary("Sqrt", (), unary("Reciprocal", (), u))
    yield rewrite(inside, unary("Reciprocal", (), unary("Sqrt", (), u)))


# --- scales that were multiplied with the root first ---------------------------------------------------


def _deviation(x: Any, a: Any, c: Any) -> Any:
    """1 / Sqrt(ReduceMean(x * x) + c)."""
    moment = reduce("ReduceMean", binary("Mul", x, x), a, KEPT)
    return unary("Reciprocal", (), unary("Sqrt", (), binary("Add", moment, c)))


def _scale_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, gain, e = g.input(("N", 3, 4)), g.random(4), g.constant(1e-5)
    inverse = _deviation(x, (2,), e)
    yield g.fires(binary("Mul", x, binary("Mul", inverse, gain)))
    yield g.fires(binary("Mul", binary("Mul", inverse, gain), x))
    yield g.near_miss(binary("Mul", g.input((4,)), binary("Mul", inverse, gain)), why="another tensor's root")


@law("normalization", numerics="reassociates", examples=_scale_examples)
def scale_behind_root(x: Tensor, g: Tensor, c: Tensor, a: PyObject) -> Iterator[Any]:
    """x * (r * g) = (x * r) * g where r = 1 / Sqrt(mean(x * x) + e)

    Source: algebra; TensorFlow multiplies r by the scale first.
    """
    root = _deviation(x, a, c)
    for left, right in ((x, binary("Mul", root, g)), (binary("Mul", root, g), x)):
        yield rewrite(binary("Mul", left, right), binary("Mul", binary("Mul", x, root), g))


@hosted(default=False)
def is_scale(i: Fact, x: Fact) -> bool:
    return x.dtype in KERNEL_FLOATS and i.dtype == x.dtype


def _factored_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, i, b = g.input(("N", 3, 4)), g.input(("N", 3, 1)), g.random(4)
    mean = reduce("ReduceMean", x, (2,), 1)
    scaled = binary("Mul", x, i)
    yield g.fires(binary("Add", scaled, binary("Sub", b, binary("Mul", mean, i))))
    yield g.fires(binary("Add", binary("Sub", b, binary("Mul", mean, i)), scaled))
    other = binary("Mul", mean, g.input((4,)))
    yield g.near_miss(binary("Add", scaled, binary("Sub", b, other)), why="another factor")


@law("normalization", numerics="reassociates", examples=_factored_examples)
def centred_before_scaling(x: Tensor, i: Tensor, b: Tensor, a: PyObject, k: PyObject) -> Iterator[Any]:
    """x * i + (b - m * i) = (x - m) * i + b where m = ReduceMean(x)

    Source: algebra; TensorFlow's batch_normalization, of which its layer normalisation is made.
    """
    mean = reduce("ReduceMean", x, a, k)
    scaled, shifted = binary("Mul", x, i), binary("Sub", b, binary("Mul", mean, i))
    whole = binary("Add", binary("Mul", binary("Sub", x, mean), i), b)
    for left, right in ((scaled, shifted), (shifted, scaled)):
        yield rewrite(binary("Add", left, right), whole, holds(is_scale, fact(i), fact(x)))
