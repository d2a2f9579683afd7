"""What is asked of the ranges of two operands is a little too little: an end that is one off, or the sum of
two ends where each of them has to be asked."""

from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Tensor, hosted, listed, relu, rewrite
from egraph_opt.laws.examples import Operands
from egraph_opt.operators import binary, cast, unary, variadic

from . import fires_on, of_two, wrong

INT32, INT64 = T.INT32, T.INT64
GREATEST = 2**31 - 1
"""Of int32."""


def size(x: Tensor) -> Tensor:
    return unary("Abs", (), x)


def clipped(x: Tensor, least: float, greatest: float) -> Tensor:
    return unary("Clip", (("max", greatest), ("min", least)), x)


def whole(g: Operands, least: int, greatest: int, dtype: int = INT64) -> Any:
    """Whole numbers that are known to be in a range."""
    return clipped(g.input((2, 5), dtype), least, greatest)


def begin_at(x: Fact, least: int, y: Fact, other: int, dtype: int) -> bool:
    """x is known to be no less than `least`, and y no less than `other`."""
    if x.dtype != dtype or y.dtype != dtype or x.range is None or y.range is None:
        return False
    return x.range[0] >= least and y.range[0] >= other


@hosted()
def is_zero(c: Fact) -> bool:
    return c.const and c.splat == 0 and c.shape == ()


# --- differences, of which y may be -1 --------------------------------------------------------------------


@hosted()
def is_no_difference_too_large(x: Fact, y: Fact) -> bool:
    return begin_at(x, 0, y, -1, INT32)


def _is_difference_negative(least: int, greatest: int):
    def witness(g):
        x, y = whole(g, 0, greatest, INT32), whole(g, least, 99, INT32)
        return binary("Less", x - y, g.constant(np.int32(0)))

    return witness


@wrong(
    "bitwise",
    _is_difference_negative(-1, GREATEST),
    values=(GREATEST, -1, 5),
    examples=fires_on(_is_difference_negative(0, 99)),
)
def less_by_difference(x: Tensor, y: Tensor, c: Tensor):
    """x - y < 0 is x < y of whole numbers that are not negative: nothing overflows

    Wrong where y may be -1, and x is the greatest number.
    """
    known = (is_no_difference_too_large(x, y), is_zero(c))
    yield rewrite(binary("Less", x - y, c), binary("Less", x, y), *known, because="forgets c")


@hosted()
def are_hardly_negative(x: Fact, y: Fact) -> bool:
    return begin_at(x, -1, y, -1, INT32)


def _positive_difference(least: int, greatest: int):
    def witness(g):
        x, y = (whole(g, least, greatest, INT32) for _ in "xy")
        return variadic("Max", listed(x - y, g.constant(np.int32(0))))

    return witness


@wrong(
    "bitwise",
    _positive_difference(-1, GREATEST),
    values=(GREATEST, -1, 5),
    examples=fires_on(_positive_difference(0, 99)),
)
def positive_part(x: Tensor, y: Tensor, c: Tensor):
    """Max(x - y, 0) = Max(x, y) - y of whole numbers that are not negative

    Wrong where y may be -1, and x is the greatest number: the first difference overflows, and is negative.
    """
    greater = variadic("Max", listed(x, y)) - y
    known = (are_hardly_negative(x, y), is_zero(c))
    yield rewrite(variadic("Max", listed(x - y, c)), greater, *known, because="forgets c")


# --- sums in a narrower type ------------------------------------------------------------------------------


@hosted()
def is_sum_of_int32(x: Fact, y: Fact) -> bool:
    """Both are numbers of int32, and so is their sum."""
    if x.dtype != INT64 or y.dtype != INT64 or x.range is None or y.range is None:
        return False
    least, greatest = x.range[0] + y.range[0], x.range[1] + y.range[1]
    return max(x.range[1], y.range[1]) <= GREATEST and least >= -(2**31) and greatest <= 2**31


@hosted()
def is_two(c: Fact) -> bool:
    return c.const and c.splat == 2 and c.shape == () and c.dtype == INT64


def _half_of_sum(one: int, other: int):
    return lambda g: binary("Div", whole(g, 0, one) + whole(g, 0, other), g.constant(np.int64(2)))


@wrong(
    "bitwise", _half_of_sum(GREATEST, 1), values=(GREATEST, 2**31), examples=fires_on(_half_of_sum(100, 28))
)
def half_of_sum_narrowly(x: Tensor, y: Tensor, c: Tensor):
    """(x + y) / 2 of int64 = the same in int32 where the sum is a number of it

    Wrong where the greatest sum is 2^31.
    """
    narrow = binary("Div", cast(x, INT32) + cast(y, INT32), cast(c, INT32))
    known = (is_sum_of_int32(x, y), is_two(c))
    yield rewrite(binary("Div", x + y, c), cast(narrow, INT64), *known, because="narrows the sum")


@hosted()
def is_sum_of_int8(x: Fact, y: Fact) -> bool:
    if x.range is None or y.range is None:
        return False
    return begin_at(x, 0, y, 0, INT64) and x.range[1] + y.range[1] <= 2**7


def _is_sum_positive(one: int, other: int):
    return lambda g: binary("Greater", whole(g, 0, one) + whole(g, 0, other), g.constant(np.int64(0)))


@wrong("bitwise", _is_sum_positive(100, 28), values=(100, 28, 3), examples=fires_on(_is_sum_positive(9, 9)))
def compared_in_int32(x: Tensor, y: Tensor, c: Tensor):
    """x + y > c of int64 = Cast_int8(x + y) > c, summed in int32, where the sum is a number of int8

    Wrong where it is 128.
    """
    sums = cast(cast(x, INT32) + cast(y, INT32), T.INT8)
    narrow = binary("Greater", cast(sums, INT64), c)
    yield rewrite(binary("Greater", x + y, c), narrow, is_sum_of_int8(x, y), because="narrows the sum")


# --- sums of ends, for products ---------------------------------------------------------------------------


@hosted()
def are_ends_positive(x: Fact, y: Fact) -> bool:
    if x.interval is None or y.interval is None:
        return False
    return x.interval[0] + y.interval[0] >= 0 and min(x.interval[1], y.interval[1]) > 0


@wrong(
    "finite",
    of_two(lambda x, y: relu(clipped(x, -0.25, 1.0) * clipped(y, 0.25, 1.0))),
    values=(-0.25, 0.5),
    examples=fires_on(of_two(lambda x, y: relu(unary("Sigmoid", (), x) * unary("Sigmoid", (), y)))),
)
def product_of_positive(x: Tensor, y: Tensor):
    """Relu(x * y) = x * y where both are not negative

    Wrong where one may be: the sum of their least numbers is asked.
    """
    yield rewrite(relu(x * y), x * y, are_ends_positive(x, y), because="every product would be positive")


@hosted()
def are_small_and_positive(x: Fact, y: Fact) -> bool:
    if x.dtype != INT64 or y.dtype != INT64 or x.range is None or y.range is None:
        return False
    return x.range[0] + y.range[0] >= 0 and max(*x.range, *y.range) <= GREATEST


@wrong(
    "bitwise",
    lambda g: size(whole(g, -1, 5) * whole(g, 1, 5)),
    values=(-1, 5, 3),
    examples=fires_on(lambda g: size(whole(g, 0, 5) * whole(g, 0, 5))),
)
def absolute_product(x: Tensor, y: Tensor):
    """|x * y| = x * y of whole numbers that are not negative

    Wrong where one may be: the sum of their least numbers is asked.
    """
    yield rewrite(size(x * y), x * y, are_small_and_positive(x, y), because="every product would be positive")
