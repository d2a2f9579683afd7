"""Of a range that has to lie within a type only the upper end is asked: numbers below 0 are as large."""

import math

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, DataType, Flag, Tensor, hosted, rewrite
from egraph_opt.operators import cast, reduce, unary

from . import fires_on, wrong

INT32, INT64 = T.INT32, T.INT64
FAR_BELOW = -2_000_000_000
END = 2**31
"""Of int32: its numbers are below."""


def up_to_five(x, least):
    """Clip(x), whose range is large below 0 alone."""
    return unary("Clip", (("max", 5), ("min", least)), x)


def from_bytes(g, dtype):
    return cast(g.input((3,), T.UINT8), dtype)


def most(x: Fact, dtype: int) -> int | None:
    """The greatest number that x may be, of that type."""
    return x.range[1] if x.dtype == dtype and x.range is not None else None


# --- products ---------------------------------------------------------------------------------------------


@hosted()
def is_product_of_int32(x: Fact, c: Fact) -> bool:
    """The greatest x times c is no more than the type has."""
    greatest = most(x, INT32)
    if greatest is None or c.dtype != INT32 or c.shape != () or c.splat is None:
        return False
    return c.splat > 0 and greatest * c.splat < END


def _times_and_by(make):
    return lambda g: (lambda x, c: x * c / c)(make(g), g.constant(np.int32(3)))


@wrong(
    "bitwise",
    _times_and_by(lambda g: up_to_five(g.input((3,), INT32), FAR_BELOW)),
    values=(1 - END, 3, -(2**30)),
    examples=fires_on(_times_and_by(lambda g: from_bytes(g, INT32))),
)
def times_and_by(x: Tensor, c: Tensor):
    """x * c / c = x of integers that are not too large

    Wrong where x may be as far below 0.
    """
    yield rewrite(x * c / c, x, is_product_of_int32(x, c), because="forgets c")


# --- sums -------------------------------------------------------------------------------------------------


@hosted()
def is_int64(t: DataType) -> bool:
    return t == INT64


@hosted()
def is_sum_of_int32(x: Fact, a: Axes) -> bool:
    """The greatest sum is no more than the type has."""
    if x.dtype != INT32 or x.range is None or not x.is_static:
        return False
    return math.prod(x.shape[k] for k in a) * x.range[1] < 2**31  # type: ignore[index, misc]


def _sum_of_wider(make):
    return lambda g: reduce("ReduceSum", cast(make(g), INT64), (0,), 1)


@wrong(
    "bitwise",
    _sum_of_wider(lambda g: up_to_five(g.input((3,), INT32), FAR_BELOW)),
    values=(FAR_BELOW, -1_900_000_000, 3),
    examples=fires_on(_sum_of_wider(lambda g: from_bytes(g, INT32))),
)
def sum_in_int32(x: Tensor, t: DataType, a: Axes, k: Flag):
    """ReduceSum(Cast_int64(x)) = Cast_int64(ReduceSum(x)) of int32 where no sum is too large

    Wrong where one is too far below 0.
    """
    known = (is_sum_of_int32(x, a), is_int64(t))
    narrow = cast(reduce("ReduceSum", x, a, k), t)
    yield rewrite(reduce("ReduceSum", cast(x, t), a, k), narrow, *known, because="sums in the narrow type")


# --- casts ------------------------------------------------------------------------------------------------


@hosted()
def is_of_int32(x: Fact, t: DataType, u: DataType) -> bool:
    """x is of int64, and int32 has its greatest number."""
    greatest = most(x, INT64)
    return greatest is not None and greatest < END and (t, u) == (INT32, INT64)


def _there_and_back(make):
    return lambda g: cast(cast(make(g), INT32), INT64)


@wrong(
    "bitwise",
    _there_and_back(lambda g: up_to_five(g.input((3,), INT64), -(2**40))),
    values=(-(2**33), 3, -5),
    examples=fires_on(_there_and_back(lambda g: from_bytes(g, INT64))),
)
def narrow_and_back(x: Tensor, t: DataType, u: DataType):
    """Cast_int64(Cast_int32(x)) = x of an x that int32 has

    Wrong of one below the least of int32.
    """
    yield rewrite(cast(cast(x, t), u), x, is_of_int32(x, t, u), because="forgets the type")
