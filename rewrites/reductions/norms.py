"""Reductions of a function of the elements, which ONNX has operators for.

ReduceSum(x * x) = ReduceSumSquare(x)       Sqrt(ReduceSum(x * x)) = ReduceL2(x)
ReduceSum(Abs(x)) = ReduceL1(x)             Log(ReduceSum(x)) = ReduceLogSum(x)
Log(ReduceSum(Exp(x))) -> ReduceLogSumExp(x)
ReduceLogSumExp(x - m) + m -> ReduceLogSumExp(x)      m is the greatest along the axes
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from egraph_opt.laws import Example, Operands, eq, equal, guard, kernel, laws_of, rewrite
from egraph_opt.laws.algebra import exp, log, relu, sqrt, varies
from egraph_opt.laws.sorts import Axes, Flag, Int, Tensor
from egraph_opt.operators import reduce, unary
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import is_kernel_float
from egraph_opt.rewrites.elementwise.intervals import is_not_negative

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
