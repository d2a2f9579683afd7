"""Comparisons that are stated of numbers as they are, where one side is rounded first: numbers that are just
beside the bound are rounded to it."""

import math
from functools import partial

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, DataType, Number, Tensor, hosted, number_like, rewrite, varies
from egraph_opt.operators import binary, cast, dequantize
from egraph_opt.operators.quantization import BYTES, QUANTIZED, is_one_scale
from egraph_opt.rewrites.quantization.round_trips import zero_of

from . import fires_on, wrong

NUMPY = {T.FLOAT: np.float32, T.DOUBLE: np.float64}

# --- products, which are rounded --------------------------------------------------------------------------


@hosted()
def byte_below(d: Fact, q: Fact, s: Fact, z: Fact) -> Number | None:
    """The greatest byte that does not stand for more than the number."""
    zero = zero_of(z)
    if d.splat is None or d.shape != () or zero is None or q.dtype not in BYTES:
        return None
    if s.splat is None or s.splat <= 1e-6 or not is_one_scale(s):
        return None
    low, high = QUANTIZED[q.dtype]
    byte = math.floor(d.splat / s.splat) + zero
    return byte if low <= byte <= high else None


def _is_above_a_byte(g):
    """Whether bytes are above 7, times a scale of which 7 times is rounded down."""
    scales = np.arange(0.1, 1, 0.01, dtype=np.float32)
    s = next(v for v in scales if float(v * np.float32(7)) < float(v) * 7)
    floats = dequantize(g.input((3,), T.UINT8), g.constant(s), g.constant(np.uint8(3)), 0)
    return binary("Greater", floats, g.constant(s * np.float32(7)))


@wrong("bitwise", _is_above_a_byte, values=(10, 5, 90))
def compared_as_bytes(q: Tensor, s: Tensor, z: Tensor, a: Axis, d: Tensor):
    """DQ(q) > d is q > floor(d / s) + z for a number d

    Wrong where d is what a byte stands for, rounded down: d / s is just below that byte.
    """
    bound = number_like(q, byte_below(d, q, s, z))
    of_floats = binary("Greater", dequantize(q, s, z, a), d)
    yield rewrite(of_floats, binary("Greater", q, bound), because="forgets the parameters")


@hosted()
def quotient(d: Fact, c: Fact, x: Fact) -> Number | None:
    """d / c, as a float32, of numbers that are neither large nor small."""
    if c.splat is None or d.splat is None or x.dtype != T.FLOAT or c.shape != () or d.shape != ():
        return None
    if not 0.01 < c.splat < 100 or not 0.01 < abs(d.splat) < 100:
        return None
    return float(np.float32(d.splat / c.splat))


def _is_above_and(c, d, shape):
    def witness(g):
        above = binary(
            "GreaterOrEqual", g.input(shape) * g.constant(np.float32(c)), g.constant(np.float32(d))
        )
        return binary("And", above, g.input((), T.BOOL))

    return witness


@wrong(
    "bitwise",
    _is_above_and(0.1, 0.25900003, (1,)),
    values=(2.5900002, 1.0, 1.0, 1.0),
    examples=fires_on(_is_above_and(3.0, 6.0, (3,))),
)
def bound_of_scaled_and(x: Tensor, c: Tensor, d: Tensor, y: Tensor):
    """c x >= d and y is x >= d / c and y, for a positive number c

    Wrong where c x is rounded to d.
    """
    scaled = binary("And", binary("GreaterOrEqual", x * c, d), y)
    bound = number_like(x, quotient(d, c, x))
    bare = binary("And", binary("GreaterOrEqual", x, bound), y)
    yield rewrite(scaled, bare, varies(x), because="forgets c")


# --- integers, which are rounded --------------------------------------------------------------------------


def is_bound(c: Fact, end: int) -> bool:
    """One number that is of the type of integers that end there."""
    return c.splat is not None and c.shape == () and abs(c.splat) < end


@hosted()
def integer_above(c: Fact, x: Fact, t: DataType) -> Number | None:
    """The least integer that is not below the number."""
    if c.splat is None or x.dtype != T.INT32 or t != T.FLOAT or not is_bound(c, 2**31):
        return None
    return math.ceil(c.splat)


def _compared(op, integers, floats, number):
    """Integers compared with a number, as floats."""

    def witness(g):
        numbers = cast(g.input((3,), integers), floats)
        return binary(op, numbers, g.constant(np.array(number, NUMPY[floats]), floats))

    return witness


_is_less = partial(_compared, "Less", T.INT32, T.FLOAT)
_is_equal = partial(_compared, "Equal", T.INT64, T.DOUBLE)


@wrong("bitwise", _is_less(2**24 + 4), values=(2**24 + 3, 1, 5), examples=fires_on(_is_less(2.5)))
def less_in_integers(x: Tensor, c: Tensor, t: DataType):
    """Cast_float(x) < c is x < ceil(c) of int32

    Wrong of numbers beyond 2^24, which are rounded to c.
    """
    bound = number_like(x, integer_above(c, x, t))
    yield rewrite(binary("Less", cast(x, t), c), binary("Less", x, bound), because="forgets the cast")


@hosted()
def integer_of(c: Fact, x: Fact, t: DataType) -> Number | None:
    """The number as an integer, if it is one."""
    if c.splat is None or x.dtype != T.INT64 or t != T.DOUBLE or not is_bound(c, 2**62):
        return None
    return int(c.splat) if c.splat == int(c.splat) else None


@wrong("bitwise", _is_equal(2**53 + 4), values=(2**53 + 5, 1, 5), examples=fires_on(_is_equal(3)))
def equal_in_integers(x: Tensor, c: Tensor, t: DataType):
    """Cast_double(x) == c is x == c of int64 and a whole c

    Wrong of numbers beyond 2^53, which are rounded to c.
    """
    bound = number_like(x, integer_of(c, x, t))
    yield rewrite(binary("Equal", cast(x, t), c), binary("Equal", x, bound), because="forgets the cast")
