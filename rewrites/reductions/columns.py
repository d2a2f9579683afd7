"""Sums and means over what a linear operator computes: its weight is summed instead, which is constant.

ReduceSum_a(x @ W) -> ReduceSum_a(x @ ReduceSum(W))          W summed over its columns; with a bias, and Mean
ReduceSum_a(Conv(x, W, b)) -> ReduceSum_a(Conv(x, ReduceSum(W), ReduceSum(b)))    over its kernels, likewise

The reduction stays: along the axis it now has one element, which `single_element` sees, and it may have other
axes.
"""

from collections.abc import Iterator
from math import prod

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import is_constant, varies
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axes, Flag, String, Tensor
from egraph_opt.operators import ConvWindow, conv, none, reduce
from egraph_opt.rewrites.conditions.channels import (
    LARGEST,
    is_constant_bias,
    is_ungrouped,
    known_elements,
    static_shape,
)
from egraph_opt.rewrites.conditions.values import is_float
from egraph_opt.rewrites.convolution.outputs import PLAIN

law = laws_of("reduction", numerics="reassociates", kind="move", serves="arithmetic")

WHY = "forgets what was summed"


@hosted()
def is_linear(kind: str) -> bool:
    """Of a sum in two steps, and a mean of equal parts."""
    return kind in ("ReduceSum", "ReduceMean")


@hosted()
def sum_is_moderate(w: Fact, axes: Axes) -> bool:
    """Sums of a constant over axes are no larger than what may be multiplied, as far as they are known.

    Of a bias nothing is asked: where its sum is infinite, that of all results is.
    """
    known = known_elements(w)
    if not known or w.shape is None:
        return True
    count = prod(d for axis in axes if isinstance(d := w.shape[axis], int))
    return bool(count * max(map(abs, known)) <= LARGEST[w.dtype] ** 0.5)


@hosted()
def columns_of(w: Fact) -> Axes | None:
    """The last axis of a matrix, or of several."""
    return (w.rank - 1,) if w.rank and w.rank >= 2 else None


@hosted()
def takes_last(axes: Axes, y: Fact) -> bool:
    """The last axis is among those that are reduced."""
    return y.rank is not None and y.rank - 1 in axes


@hosted()
def are_several(w: Fact, axes: Axes) -> bool:
    """There is something to sum: one column would be its own sum without end."""
    shape = static_shape(w)
    return shape is not None and all(shape[axis] > 1 for axis in axes)


@hosted()
def has_columns(b: Fact, w: Fact) -> Axes | None:
    """The last axis of a bias that has a number for each column."""
    if not b.shape or not w.shape or not symbolic.known_equal(b.shape[-1], w.shape[-1]):
        return None
    return (len(b.shape) - 1,)


def _column_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, b = g.input(("N", 3, 4)), g.random(4, 6), g.random(6)
    for kind, y in (("ReduceSum", x @ w), ("ReduceMean", x @ w + b)):
        yield from g.all_fire(*(reduce(kind, y, a, k) for a in ((2,), (1, 2)) for k in (0, 1)))
    yield g.fires(reduce("ReduceSum", g.input((2, 3, 4)) @ g.random(2, 4, 5), (2,), 1))
    large = g.constant(np.full((4, 6), 1e38, np.float32))
    yield from g.near_misses(
        (reduce("ReduceSum", x @ w, (1,), 1), "rows"),
        (reduce("ReduceMax", x @ w, (2,), 1), "a maximum"),
        (reduce("ReduceL1", x @ w, (2,), 1), "of magnitudes"),
        (reduce("ReduceSum", x @ g.input((4, 6)), (2,), 1), "it is no constant"),
        (reduce("ReduceSum", x @ large, (2,), 1), "the sum of a row is infinite"),
        (reduce("ReduceSum", x @ large + b, (2,), 1), "the sum of a row is infinite"),
        (reduce("ReduceSum", x @ w + b, (1,), 1), "rows"),
        (reduce("ReduceSum", x @ w + g.random(1), (2,), 1), "one number for all columns"),
        (reduce("ReduceSum", x @ w + g.input((6,)), (2,), 1), "the bias varies"),
        (reduce("ReduceSum", x @ g.random(4), (1,), 1), "a vector"),
        (
            reduce("ReduceSum", g.input((3, 4), INT64) @ g.constant(np.ones((4, 2), np.int64)), (1,), 1),
            "integers",
        ),
    )


@law(source="linear algebra: (x W) 1 = x (W 1)", examples=_column_examples)
def of_columns(kind: String, x: Tensor, w: Tensor, b: Tensor, a: Axes, k: Flag):
    """ReduceSum_a(x @ W + b) = ReduceSum_a(x @ ReduceSum(W) + ReduceSum(b)) over columns, likewise Mean"""
    y, last = x @ w, columns_of(w)
    each = reduce(kind, w, last, 1)
    known = (is_linear(kind), is_float(w), sum_is_moderate(w, last))
    demand = guard(is_constant(w), varies(x), are_several(w, last))
    yield rewrite(
        reduce(kind, y, a, k), reduce(kind, x @ each, a, k), *known, takes_last(a, y), demand, because=WHY
    )
    shifted, ends = y + b, has_columns(b, w)
    also = (takes_last(a, shifted), guard(is_constant(b)))
    less = reduce(kind, x @ each + reduce(kind, b, ends, 1), a, k)
    yield rewrite(reduce(kind, shifted, a, k), less, *known, *also, demand, because=WHY)


# --- the channels of a convolution ------------------------------------------------------------------------


@hosted()
def takes_channels(axes: Axes) -> bool:
    return 1 in axes


def _kernel_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, b = g.input(("N", 4, 5, "L")), g.random(6, 4, 3, 3), g.random(6)
    for bias, kind in ((none(), "ReduceSum"), (b, "ReduceMean")):
        y = conv(x, w, bias, PLAIN)
        yield from g.all_fire(*(reduce(kind, y, a, k) for a in ((1,), (1, 2)) for k in (0, 1)))
    halves = ConvWindow((1, 1), (0,) * 4, (1, 1), 2)
    large = g.constant(np.full((6, 4, 3, 3), 1e38, np.float32))
    for bias in (none(), b):
        infinite = reduce("ReduceSum", conv(x, large, bias, PLAIN), (1,), 1)
        yield g.near_miss(infinite, why="the sum of all kernels is infinite")
    yield from g.near_misses(
        (reduce("ReduceMean", conv(x, w, b, PLAIN), (2,), 1), "over pixels"),
        (reduce("ReduceMax", conv(x, w, b, PLAIN), (1,), 1), "a maximum"),
        (
            reduce("ReduceMean", conv(x, g.random(6, 2, 3, 3), b, halves), (1,), 1),
            "groups see other channels",
        ),
        (reduce("ReduceMean", conv(x, g.input((6, 4, 3, 3)), b, PLAIN), (1,), 1), "it is no constant"),
        (reduce("ReduceSum", conv(x, w, g.input((6,)), PLAIN), (1,), 1), "the bias varies"),
    )


@law(source="linear algebra: a convolution is linear in its kernels", examples=_kernel_examples)
def of_kernels(kind: String, x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, a: Axes, k: Flag):
    """ReduceSum_a(Conv(x, W, b)) = ReduceSum_a(Conv(x, ReduceSum(W), ReduceSum(b))), likewise Mean"""
    each = reduce(kind, w, (0,), 1)
    known = (is_linear(kind), takes_channels(a), is_ungrouped(u), sum_is_moderate(w, (0,)))
    demand = guard(is_constant(w), varies(x), are_several(w, (0,)))
    for bias, less, also in ((none(), none(), ()), (b, reduce(kind, b, (0,), 1), (is_constant_bias(b, w),))):
        whole, once = (reduce(kind, conv(x, v, c, u), a, k) for v, c in ((w, bias), (each, less)))
        yield rewrite(whole, once, *known, *also, demand, because=WHY)
