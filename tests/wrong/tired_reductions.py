"""Reductions: axes, kept dims and types that are forgotten."""

from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.float_ranges import interval_of
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import Axes, Axis, Dims, Flag, String, Tensor, hosted, listed, rewrite, sigmoid
from egraph_opt.operators import (
    PoolWindow,
    cast,
    concat,
    expand,
    pool,
    reduce,
    reshape,
    softmax,
    unary,
    variadic,
)

from . import fires_on, of_one, wrong
from .gaps_and_steps import window

# --- kept dims and axes ----------------------------------------------------------------------------------


@hosted()
def one_for_each_row(c: Fact, x: Fact, axes: Axes) -> bool:
    """A constant of that rank, with one element along what is reduced."""
    return c.const and c.rank == x.rank and c.shape is not None and all(c.shape[k] == 1 for k in axes)


def shifted_rows(dtype: int, c: Any):
    return lambda g: reduce("ReduceMax", g.input((2, 3), dtype) + g.constant(c), (1,), 1)


@wrong(
    "finite",
    shifted_rows(T.INT32, np.array([[2**31 - 5], [3]], np.int32)),
    values=(9.0, -1.0, 2.0),
    examples=fires_on(
        shifted_rows(T.FLOAT, np.array([[0.5], [-2.0]])), shifted_rows(T.FLOAT, np.array([[3.0]]))
    ),
)
def greatest_of_shifted_rows(x: Tensor, c: Tensor, a: Axes):
    """ReduceMax_a(x + c) = ReduceMax_a(x) + c for a c of one number in each row

    Wrong of integers, of which some sums overflow; and where c has rows that x has not.
    """
    yield rewrite(
        reduce("ReduceMax", x + c, a, 1),
        reduce("ReduceMax", x, a, 1) + c,
        one_for_each_row(c, x, a),
        because="one sum for each row",
    )


@hosted()
def between_zero_and_one(x: Fact) -> bool:
    """As a truth is that was cast."""
    known, ends = range_of(x), interval_of(x)
    if known is not None:
        return known[0] >= 0 and known[1] <= 1
    return ends is not None and ends[0] >= 0 and ends[1] <= 1


@wrong(
    "finite",
    of_one(lambda x: reduce("ReduceMin", sigmoid(x), (1,), 1)),
    examples=fires_on(of_one(lambda x: reduce("ReduceMin", cast(x, T.INT32), (1,), 1), (2, 5), T.BOOL)),
)
def all_by_product(x: Tensor, a: Axes, k: Flag):
    """ReduceMin(x) = ReduceProd(x) for an x between 0 and 1

    Wrong of what is in between.
    """
    yield rewrite(
        reduce("ReduceMin", x, a, k), reduce("ReduceProd", x, a, k), between_zero_and_one(x), because="all"
    )


@hosted()
def axis_behind(x: Fact, a: Axis, axes: Axes, keep: Flag) -> Axis | None:
    """Where the axis is of what is reduced along others, all of which are in front of it."""
    if x.dtype != T.FLOAT or a in axes or (not keep and len(axes) > a):
        return None
    return a if keep else a - len(axes)


def joined_mean(axes: tuple[int, ...], a: int, keep: int, shape=(2, 3, 4)):
    return lambda g: reduce("ReduceMean", concat(listed(g.input(shape), g.input(shape)), a), axes, keep)


@wrong(
    "reassociates",
    joined_mean((2,), 1, 0),
    examples=fires_on(joined_mean((0,), 1, 0), joined_mean((0, 1), 2, 0), joined_mean((2,), 1, 1)),
)
def mean_past_concat(x: Tensor, y: Tensor, a: Axis, b: Axes, k: Flag):
    """ReduceMean_b(Concat_a(x, y)) = Concat(ReduceMean_b(x), ReduceMean_b(y)) for an a that is not in b

    Wrong of axes behind a that are dropped, which do not move it.
    """
    parts = listed(reduce("ReduceMean", x, b, k), reduce("ReduceMean", y, b, k))
    yield rewrite(
        reduce("ReduceMean", concat(listed(x, y), a), b, k),
        concat(parts, axis_behind(x, a, b, k)),
        because="less",
    )


@hosted()
def among_axes(x: Fact, a: Axis, axes: Axes) -> bool:
    return x.dtype == T.FLOAT and x.is_static and 0 not in (x.shape or ()) and a in axes


def greatest_of_weights(axes: tuple[int, ...], a: int):
    return of_one(lambda x: reduce("ReduceMax", softmax("Softmax", x, a), axes, 1), (2, 3, 4))


@wrong(
    "reassociates",
    greatest_of_weights((1, 2), 2),
    examples=fires_on(greatest_of_weights((2,), 2), greatest_of_weights((1,), 1)),
)
def greatest_probability(x: Tensor, a: Axis, b: Axes):
    """ReduceMax_b(Softmax_a(x)) = 1 / ReduceSum_b(Exp(x - ReduceMax_b(x))) for an a of b

    Wrong where b has more axes, along which weights do not sum up to 1.
    """
    total = reduce("ReduceSum", unary("Exp", (), x - reduce("ReduceMax", x, b, 1)), b, 1)
    yield rewrite(
        reduce("ReduceMax", softmax("Softmax", x, a), b, 1),
        unary("Reciprocal", (), total),
        among_axes(x, a, b),
        because="no quotients",
    )


@hosted()
def copies_are_reduced(x: Fact, d: Dims, axes: Axes, kind: str) -> bool:
    """All that is expanded is reduced, by what makes one of equals that one."""
    if kind not in ("ReduceMax", "ReduceMin", "ReduceMean", "ReduceLogSumExp") or x.dtype != T.FLOAT:
        return False
    return (
        x.is_static
        and x.rank == len(d)
        and all(m == n or k in axes for k, (m, n) in enumerate(zip(x.shape or (), d, strict=False)))
    )


def of_copies(kind: str, shape=(2, 1, 3), axes=(1,)):
    return of_one(lambda x: reduce(kind, expand(x, (2, 4, 3)), axes, 1), shape)


@wrong(
    "finite", of_copies("ReduceLogSumExp"), examples=fires_on(of_copies("ReduceMax"), of_copies("ReduceMean"))
)
def reduction_of_copies(x: Tensor, d: Dims, a: Axes, f: String):
    """Reduce_a(Expand(x)) = Reduce_a(x) of kept dims where it is expanded along a, of equals

    Wrong of the logarithm of a sum of exponentials, which grows with each.
    """
    yield rewrite(
        reduce(f, expand(x, d), a, 1), reduce(f, x, a, 1), copies_are_reduced(x, d, a, f), because="fewer"
    )


@hosted()
def axes_of_view(x: Fact, d: Dims, axes: Axes) -> Axes | None:
    """The axes of x without which it has the dims that the view has without its own."""
    if not x.is_static or x.shape is None or x.dtype != T.FLOAT:
        return None
    left = [n for k, n in enumerate(d) if k not in axes]
    gone = []
    for k, n in enumerate(x.shape):
        if left and left[0] == n:
            left.pop(0)
        else:
            gone.append(k)
    return tuple(gone) if gone and not left else None


def viewed_sum(shape, dims, axes):
    return of_one(lambda x: reduce("ReduceSum", reshape(x, dims), axes, 0), shape)


@wrong(
    "reassociates",
    viewed_sum((2, 2, 3), (2, 3, 2), (1,)),
    examples=fires_on(viewed_sum((2, 6), (2, 2, 3), (1, 2)), viewed_sum((4, 2, 3), (4, 6), (1,))),
)
def sum_of_view(x: Tensor, d: Dims, a: Axes):
    """ReduceSum_a(Reshape(x)) = ReduceSum_b(x) for the axes b without which the same dims are left

    Wrong where the dims that are left have equal lengths and are others.
    """
    yield rewrite(
        reduce("ReduceSum", reshape(x, d), a, 0),
        reduce("ReduceSum", x, axes_of_view(x, d, a), 0),
        because="no view",
    )


@hosted()
def window_along(x: Fact, axes: Axes) -> PoolWindow | None:
    """A window as long as the image along the axes that are reduced."""
    if x.rank != 4 or not x.is_static or x.shape is None or not set(axes) <= {2, 3}:
        return None
    return window(tuple(x.shape[k] if k in axes else 1 for k in (2, 3)))  # type: ignore[misc]


def greatest_of(dtype: int):
    return of_one(lambda x: reduce("ReduceMax", x, (3,), 1), (1, 2, 3, 4), dtype)


@wrong("finite", greatest_of(T.INT64), examples=fires_on(greatest_of(T.FLOAT)))
def greatest_as_pool(x: Tensor, a: Axes):
    """ReduceMax_a(x) = MaxPool(x) of windows as long as an image is along a

    Wrong of integers, which no kernel pools.
    """
    yield rewrite(
        reduce("ReduceMax", x, a, 1), pool("MaxPool", x, window_along(x, a)), because="has a kernel"
    )


@hosted()
def is_tiny(c: Fact) -> bool:
    return isinstance(c.splat, float) and 0 < c.splat <= 1e-6 and c.shape == ()


def unit_rows(*shape: int):
    def make(g):
        x = g.input(shape)
        return x / variadic("Max", listed(reduce("ReduceL2", x, (1,), 1), g.constant(1e-12)))

    return make


@wrong("finite", unit_rows(2, 3), values=(0.0,), examples=fires_on(unit_rows(2, 5), unit_rows(3, 4)))
def unit_length_without_bound(x: Tensor, a: Axes, c: Tensor):
    """x / Max(ReduceL2(x), c) = x / ReduceL2(x) for a c of 1e-6 and less

    Wrong of rows of zeros, which stay zeros.
    """
    length = reduce("ReduceL2", x, a, 1)
    yield rewrite(x / variadic("Max", listed(length, c)), x / length, is_tiny(c), because="no Max")
