"""Integers between powers of two: a sign takes a bit, one type has fewer bits than another."""

# These authors take it that shapes are known.
# mypy: disable-error-code="arg-type, index, misc, operator"

import math

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import Axes, Axis, DataType, Flag, Tensor, hosted, listed, relu, rewrite
from egraph_opt.operators import arg_reduce, cast, dequantize, gather, none, quantize, reduce, variadic
from egraph_opt.rewrites.elementwise.identities import clip

from . import fires_on, of_one, of_two, wrong

# --- casts to fewer bits ------------------------------------------------------------------------------------

BITS = {T.INT8: 7, T.UINT8: 8, T.INT16: 16, T.UINT16: 16, T.INT32: 31, T.UINT32: 32}
"""Of numbers from 0 on; int16 has 15."""

MANTISSA = {T.FLOAT16: 11, T.BFLOAT16: 11, T.FLOAT: 24, T.DOUBLE: 53}
"""Bits of whole numbers; bfloat16 has 8."""


def _is_up_to(x, most):
    known = range_of(x)
    return known is not None and known[0] >= 0 and known[1] <= most


def _through(t, most):
    return lambda x: cast(cast(clip(0, most, x), t), T.INT64)


@hosted()
def is_held_by_integers(x: Fact, t: int, u: int) -> bool:
    return u == x.dtype and t in BITS and _is_up_to(x, 2 ** BITS[t] - 1)


@wrong("bitwise", of_one(_through(T.INT16, 50000), (3,), T.INT64), values=(40000, 5, 50000))
def integers_through_16_bits(x: Tensor, t: DataType, u: DataType):
    """Cast(Cast_t(x)) = x for integers of 0 and more that fit into t

    Wrong of int16, whose sign takes a bit.
    """
    yield rewrite(cast(cast(x, t), u), x, is_held_by_integers(x, t, u), because="forgets t")


@hosted()
def is_held_by_floats(x: Fact, t: int, u: int) -> bool:
    return u == x.dtype and t in MANTISSA and _is_up_to(x, 2 ** MANTISSA[t])


@wrong("bitwise", of_one(_through(T.BFLOAT16, 1000), (3,), T.INT64), values=(257, 5, 999))
def integers_through_halves(x: Tensor, t: DataType, u: DataType):
    """Cast(Cast_t(x)) = x where t holds all integers that x may be

    Wrong of bfloat16, which has 8 bits, and not those of float16.
    """
    yield rewrite(cast(cast(x, t), u), x, is_held_by_floats(x, t, u), because="forgets t")


@hosted()
def has_all_places(t: int, x: Fact, a: int) -> bool:
    dim = x.shape[a] if x.shape is not None else None
    return t in BITS and isinstance(dim, int) and dim <= 2 ** BITS[t]


@wrong(
    "bitwise",
    lambda g: cast(cast(arg_reduce("ArgMax", g.input((40000,)), 0, 0, 1), T.INT16), T.INT64),
    values=(1.0,),
)
def place_in_fewer_bits(x: Tensor, a: Axis, k: Flag, last: Flag, t: DataType):
    """Cast_int64(Cast_t(ArgMax(x))) = ArgMax(x) where t has all places

    Wrong of int16 and axes of more than 2^15, since its sign takes a bit.
    """
    place = arg_reduce("ArgMax", x, a, k, last)
    yield rewrite(cast(cast(place, t), T.INT64), place, has_all_places(t, x, a), because="forgets t")


@hosted()
def counts_into(t: int, x: Fact, a: Axes) -> bool:
    """What counts the elements that hold has 16 bits."""
    if t not in (T.INT16, T.UINT16, T.INT32) or x.dtype != T.BOOL or not x.is_static:
        return False
    return math.prod(x.shape) > 0 and math.prod(x.shape[k] for k in a) < 2**16


def _count(x):
    return cast(reduce("ReduceSum", cast(x, T.INT64), (0,), 0), T.INT32)


@wrong("bitwise", of_one(_count, (40000,), T.BOOL), values=(1.0,))
def count_in_int32(x: Tensor, a: Axes, k: Flag, t: DataType, u: DataType):
    """Cast(ReduceSum(Cast(x))) = Cast(Cast_int16(ReduceSum(Cast(x)))) for less than 2^16 elements

    Wrong of more than 2^15, where int16 is negative.
    """
    count = reduce("ReduceSum", cast(x, t), a, k)
    fewer = cast(cast(count, T.INT16), u)
    yield rewrite(cast(count, u), fewer, counts_into(u, x, a), because="fewer bytes")


# --- products -----------------------------------------------------------------------------------------------


@hosted()
def has_16_bits(x: Fact) -> bool:
    return x.dtype == T.INT32 and _is_up_to(x, 2**16 - 1)


def _bounded_product(a, b):
    return lambda x, y: relu(clip(0, a, x) * clip(0, b, y))


@wrong(
    "bitwise",
    of_two(_bounded_product(60000, 60000), (3,), T.INT32),
    values=(60000, 55000, 50000),
    examples=fires_on(of_two(_bounded_product(100, 200), ("N", 3), T.INT32)),
)
def relu_of_product_of_16_bits(x: Tensor, y: Tensor):
    """Relu(x * y) = x * y for x and y of 16 bits

    Wrong where the product has 32 bits, of which the first is its sign.
    """
    yield rewrite(relu(x * y), x * y, has_16_bits(x), has_16_bits(y), because="not below 0")


@hosted()
def has_product(x: Fact, c: Fact) -> bool:
    positive = c.shape == () and c.splat is not None and c.splat > 0
    return positive and x.dtype == T.INT32 and _is_up_to(x, (2**32 - 1) // c.splat)


def _grown(most, factor):
    def make(g):
        c = g.constant(np.int32(factor))
        return (clip(0, most, g.input((3,), T.INT32)) * c) / c

    return make


@wrong("bitwise", _grown(50000, 70000), values=(50000, 40000, 3), examples=fires_on(_grown(100, 7)))
def grown_and_divided(x: Tensor, c: Tensor):
    """x * c / c = x where the product has 32 bits

    Wrong from 2^31 on, which is negative.
    """
    yield rewrite((x * c) / c, x, has_product(x, c), because="forgets c")


# --- levels and places --------------------------------------------------------------------------------------

UNSIGNED = (T.UINT8, T.UINT16, T.UINT32, T.UINT64, T.INT4)


@hosted()
def has_no_level_below_zero(x: Fact, s: Fact, z: Fact) -> bool:
    return x.dtype in UNSIGNED and z == ABSENT and s.splat is not None and s.splat > 0


def _levels(dtype):
    def make(g):
        scale = g.constant(np.float32(0.5))
        return relu(dequantize(quantize(g.input((2, 3)), scale, none(), 0, dtype), scale, none(), 0))

    return make


@wrong("finite", _levels(T.INT4), opset=21, examples=fires_on(_levels(T.UINT8)))
def relu_of_unsigned_levels(x: Tensor, s: Tensor, z: Tensor, a: Axis):
    """Relu(Dequantize(x)) = Dequantize(x) for an unsigned x without zero point

    Wrong of int4, which is taken for uint4.
    """
    numbers = dequantize(x, s, z, a)
    yield rewrite(relu(numbers), numbers, has_no_level_below_zero(x, s, z), because="nothing is below 0")


@hosted()
def is_within(i: Fact, x: Fact, a: int) -> bool:
    return x.is_static and _is_up_to(i, x.shape[a] - (x.shape[a] <= 20))


@hosted()
def is_last_place(c: Fact, x: Fact, a: int) -> bool:
    return c.shape == () and c.splat == x.shape[a] - 1


def _bounded_index(dim, most):
    def make(g):
        bounded = variadic(
            "Min", listed(clip(0, most, g.input((2,), T.INT64)), g.constant(np.int64(dim - 1)))
        )
        return gather(g.input((dim,)), bounded, 0)

    return make


@wrong(
    "bitwise",
    _bounded_index(24, 24),
    values=(24.0, 30.0, 1.0),
    examples=fires_on(_bounded_index(8, 7), _bounded_index(24, 20)),
)
def bound_of_index(x: Tensor, i: Tensor, c: Tensor, a: Axis):
    """Gather(x, Min(i, d - 1)) = Gather(x, i) where i is known to be within

    Wrong of more than 20 elements, where one more is taken for within.
    """
    bounded = gather(x, variadic("Min", listed(i, c)), a)
    known = is_within(i, x, a), is_last_place(c, x, a)
    yield rewrite(bounded, gather(x, i, a), *known, because="forgets c")
