"""Integers for which is taken what holds of floats: opposites, means, and kernels that onnxruntime has."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Axis, Flag, Tensor, hosted, listed, relu, rewrite
from egraph_opt.operators import GemmSettings, arg_reduce, gemm, reduce, variadic

from . import fires_on, of_one, wrong


@hosted()
def has_order(x: Fact) -> bool:
    return x.dtype in (T.FLOAT, T.INT32, T.INT64)


def least_of_opposites(dtype: int, axes: tuple[int, ...] = (1,)):
    return of_one(lambda x: reduce("ReduceMin", -x, axes, 0), dtype=dtype)


@wrong(
    "finite",
    least_of_opposites(T.INT32),
    values=(5, -(2**31), 7, -(2**31), 9),
    examples=fires_on(least_of_opposites(T.FLOAT), least_of_opposites(T.FLOAT, (0, 1))),
)
def least_opposite(x: Tensor, a: Axes, k: Flag):
    """ReduceMin(-x) = -ReduceMax(x)

    Wrong of integers, of which the least is its own opposite.
    """
    yield rewrite(reduce("ReduceMin", -x, a, k), -reduce("ReduceMax", x, a, k), has_order(x), because="later")


def place_of_opposite(dtype: int):
    return of_one(lambda x: arg_reduce("ArgMax", -x, 1, 0, 0), dtype=dtype)


@wrong(
    "finite",
    place_of_opposite(T.INT32),
    values=(5, -(2**31), 7, 3, 9),
    examples=fires_on(place_of_opposite(T.FLOAT)),
)
def place_of_greatest_opposite(x: Tensor, a: Axis, k: Flag, n: Flag):
    """ArgMax(-x) = ArgMin(x)

    Wrong of integers, where the least is there.
    """
    yield rewrite(
        arg_reduce("ArgMax", -x, a, k, n), arg_reduce("ArgMin", x, a, k, n), has_order(x), because="no Neg"
    )


def above_zero(dtype: int):
    kind = np.float32 if dtype == T.FLOAT else np.int32
    return lambda g: variadic("Max", listed(g.input((2, 5), dtype), g.constant(np.zeros((), kind))))


@hosted()
def is_zero_with_sign(x: Fact, c: Fact) -> bool:
    return x.dtype in (T.FLOAT, T.INT32) and c.shape == () and c.splat == 0


@wrong("finite", above_zero(T.INT32), opset=13, examples=fires_on(above_zero(T.FLOAT), above_zero(T.INT32)))
def greatest_of_zero_and(x: Tensor, c: Tensor):
    """Max(x, 0) = Relu(x)

    Wrong of integers before opset 14.
    """
    yield rewrite(variadic("Max", listed(x, c)), relu(x), is_zero_with_sign(x, c), because="one operand")


@hosted()
def axes_of_both(a: Axes, b: Axes) -> Axes | None:
    return tuple(sorted({*a, *b})) if not {*a} & {*b} else None


def mean_of_means(dtype: int, a: int = 1, b: int = 0):
    return of_one(lambda x: reduce("ReduceMean", reduce("ReduceMean", x, (a,), 1), (b,), 1), (3, 5), dtype)


@wrong(
    "reassociates",
    mean_of_means(T.INT32),
    examples=fires_on(mean_of_means(T.FLOAT), mean_of_means(T.FLOAT, 0, 1)),
)
def means_of_means(x: Tensor, a: Axes, b: Axes):
    """ReduceMean(ReduceMean(x, a), b) = ReduceMean(x, a and b)

    Wrong of integers, of which both means are truncated.
    """
    yield rewrite(
        reduce("ReduceMean", reduce("ReduceMean", x, a, 1), b, 1),
        reduce("ReduceMean", x, axes_of_both(a, b), 1),
        because="one mean",
    )


def with_summand(n: int, c: tuple[int, ...], dtype: int = T.FLOAT):
    return lambda g: g.input((2, n), dtype) @ g.input((n, 4), dtype) + g.input(c, dtype)


@hosted()
def is_row_for(c: Fact, a: Fact, b: Fact) -> bool:
    """Two matrices, and a row or a number that is added to each row of their product."""
    if a.rank != 2 or b.rank != 2 or c.shape is None or b.shape is None or c.dtype != a.dtype:
        return False
    return c.shape in ((), (1,), (b.shape[1],))


@wrong(
    "reassociates",
    with_summand(3, (4,), T.INT32),
    examples=fires_on(with_summand(3, (4,)), with_summand(2, ()), with_summand(5, (1,))),
)
def product_with_a_row(a: Tensor, b: Tensor, c: Tensor):
    """A @ B + c = Gemm(A, B, c)

    Wrong of integers, for which there is no kernel.
    """
    yield rewrite(a @ b + c, gemm(a, b, c, GemmSettings()), is_row_for(c, a, b), because="one operator")
