"""Reductions of a function of the elements, which ONNX has operators for.

ReduceSum(x * x) = ReduceSumSquare(x)       Sqrt(ReduceSum(x * x)) = ReduceL2(x)
Sqrt(ReduceMean(x * x)) = ReduceL2(x) * sqrt(1/n)
Sqrt(ReduceSum(x * x) * c) -> Sqrt(ReduceSum(x * x)) * sqrt(c)      likewise ReduceMean
ReduceSum(Abs(x)) = ReduceL1(x)             Log(ReduceSum(x)) = ReduceLogSum(x)
Log(ReduceSum(Exp(x))) -> ReduceLogSumExp(x)
ReduceLogSumExp(x - m) + m -> ReduceLogSumExp(x)      m is the greatest along the axes
"""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, eq, equal, guard, hosted, kernel, laws_of, rewrite
from egraph_opt.laws.algebra import exp, log, number_like, relu, sqrt, varies
from egraph_opt.laws.sorts import Axes, Flag, Float, Int, Tensor
from egraph_opt.operators import reduce, unary
from egraph_opt.rewrites.conditions.channels import SMALLEST, elements_beside_zero, is_scale
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import is_kernel_float
from egraph_opt.rewrites.elementwise.intervals import is_not_negative
from egraph_opt.rewrites.slicing.slice import dim_at

law = laws_of("norms", numerics="reassociates", kind="composite", serves="launches")

KEPT = 1


@law()
def squares(x: Tensor, a: Axes, k: Flag):
    """ReduceSum(x * x) = ReduceSumSquare(x), Sqrt(ReduceSum(x * x)) = ReduceL2(x)"""
    total, floats = reduce("ReduceSum", x * x, a, k), (is_kernel_float(x), guard(varies(x)))
    yield equal(total, reduce("ReduceSumSquare", x, a, k), *floats)
    yield equal(sqrt(total), reduce("ReduceL2", x, a, k), *floats)


@law()
def sizes(x: Tensor, a: Axes, k: Flag):
    """ReduceSum(Abs(x)) = ReduceL1(x)"""
    total, floats = reduce("ReduceSum", unary("Abs", (), x), a, k), (is_kernel_float(x), guard(varies(x)))
    yield equal(total, reduce("ReduceL1", x, a, k), *floats)


@hosted()
def root_of_share(x: Fact, axes: Axes) -> Float | None:
    """1 over the root of how many elements are reduced together."""
    dims = [dim_at(x, axis) for axis in axes]
    if not dims or not all(isinstance(d, int) and d > 0 for d in dims):
        return None
    return 1.0 / math.sqrt(math.prod(dims))  # type: ignore[arg-type]


def _mean_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3, 4))
    yield from g.all_fire(*(sqrt(reduce("ReduceMean", x * x, a, k)) for a in ((2,), (1, 2)) for k in (0, 1)))
    yield from g.near_misses(
        (sqrt(reduce("ReduceMean", x * x, (0,), KEPT)), "how many there are is not known"),
        (sqrt(reduce("ReduceMean", x * g.input(("N", 3, 4)), (2,), KEPT)), "no square"),
        (sqrt(reduce("ReduceMax", x * x, (2,), KEPT)), "the greatest"),
    )


@law(serves="accuracy", examples=_mean_examples)
def root_of_mean_square(x: Tensor, a: Axes, k: Flag):
    """Sqrt(ReduceMean(x * x)) = ReduceL2(x) * sqrt(1/n) for n elements each"""
    share = number_like(x, root_of_share(x, a))
    scaled, floats = reduce("ReduceL2", x, a, k) * share, (kernel(is_kernel_float(x)), guard(varies(x)))
    yield rewrite(sqrt(reduce("ReduceMean", x * x, a, k)), scaled, *floats, because="forgets the mean")


@hosted()
def has_root(c: Fact) -> bool:
    """A constant scale of which all elements are positive normal numbers."""
    known = elements_beside_zero(c)
    return bool(known and is_scale.function(c) and min(known) >= SMALLEST[c.dtype])


def _root_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3, 4))
    total, mean = (reduce(kind, x * x, (1,), KEPT) for kind in ("ReduceSum", "ReduceMean"))
    yield from g.all_fire(sqrt(total * g.constant(1.5)), sqrt(mean * g.constant([0.5, 2.0, 3.0, 1.0])))
    yield from g.near_misses(
        (sqrt(total * g.constant(-2.0)), "roots of negative numbers"),
        (sqrt(total * g.constant([0.5, 2.0, -3.0, 1.0])), "one is negative"),
        (sqrt(total * g.input((4,))), "it varies"),
        (sqrt(total + g.constant(2.0)), "a sum"),
        (sqrt(reduce("ReduceSum", x, (1,), KEPT) * g.constant(1e-20)), "below 0 it may vanish"),
    )


@law(kind="move", serves="accuracy", examples=_root_examples)
def scale_of_root(x: Tensor, c: Tensor, a: Axes, k: Flag):
    """Sqrt(ReduceSum(x * x) * c) = Sqrt(ReduceSum(x * x)) * sqrt(c) for a constant c > 0, likewise Mean"""
    for kind in ("ReduceSum", "ReduceMean"):
        total = reduce(kind, x * x, a, k)
        known = (has_root(c), guard(varies(x)))
        yield rewrite(sqrt(total * c), sqrt(total) * sqrt(c), *known, because="a scale behind meets others")


def _log_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3, 4))
    total = partial(reduce, "ReduceSum")
    yield from g.all_fire(log(total(exp(x), (1,), KEPT)), reduce("ReduceLogSum", relu(x), (0, 2), 0))
    yield g.near_miss(log(total(x, (1,), KEPT)), why="what is about 0 may be rounded to below")


@law(examples=_log_examples)
def logarithm_of_sum(x: Tensor, a: Axes, k: Flag):
    """Log(ReduceSum(x)) = ReduceLogSum(x) for an x that is never negative, of which nothing cancels"""
    floats = (kernel(is_kernel_float(x)), is_not_negative(x), guard(varies(x)))
    yield equal(log(reduce("ReduceSum", x, a, k)), reduce("ReduceLogSum", x, a, k), *floats)


@law(serves="accuracy")
def logarithm_of_exponentials(x: Tensor, a: Axes, k: Flag):
    """Log(ReduceSum(Exp(x))) = ReduceLogSumExp(x)"""
    spelled, whole = log(reduce("ReduceSum", exp(x), a, k)), reduce("ReduceLogSumExp", x, a, k)
    yield rewrite(spelled, whole, because="Exp overflows where it does not")


def _shift_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z = g.input(("N", 3, 4)), g.input(("N", 3, 1))
    m, n = (reduce("ReduceMax", x, (axis,), KEPT) for axis in (2, 1))
    whole, flat = reduce("ReduceLogSumExp", x - m, (2,), KEPT), reduce("ReduceLogSumExp", x - m, (2,), 0)
    yield from g.all_fire(whole + m, m + whole)
    yield from g.near_misses(
        (whole + z, "another shift"),
        (flat + g.input((3, 1)), "another shift"),
        (reduce("ReduceLogSumExp", x - z, (2,), KEPT) + z, "where z is no number the sum is one"),
        (reduce("ReduceLogSumExp", x - n, (2,), KEPT) + n, "the greatest along another axis"),
    )


@law(kind="eliminate", serves="arithmetic", examples=_shift_examples, uses=(either_side,))
def shift_of_exponents(x: Tensor, m: Tensor, a: Axes, i: Int):
    """ReduceLogSumExp(x - m) + m = ReduceLogSumExp(x) where m is the greatest along the axes"""
    apart = reduce("ReduceLogSumExp", x - m, a, KEPT)
    whole = reduce("ReduceLogSumExp", x, a, KEPT)
    greatest = (eq(m, reduce("ReduceMax", x, a, KEPT)), is_kernel_float(x))
    yield rewrite(beside("Add", apart, m, i), whole, *greatest, because="forgets m")
