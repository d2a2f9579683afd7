"""Integers at the ends of their types, bits of negative ones, and types that have fewer of them."""

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import Axis, DataType, Flag, String, Tensor, hosted, rewrite
from egraph_opt.operators import Literal, arg_reduce, binary, cast, dequantize, literal, quantize
from egraph_opt.rewrites.elementwise.identities import clip
from egraph_opt.rewrites.quantization.round_trips import parameters, positive_scale

from . import fires_on, of_one, wrong

FLOAT, DOUBLE = TensorProto.FLOAT, TensorProto.DOUBLE
INT32, INT64 = TensorProto.INT32, TensorProto.INT64
SIGNED, UINT8, UINT16 = TensorProto.INT8, TensorProto.UINT8, TensorProto.UINT16

LAST = 2**31 - 1
"""The last int32."""

# --- bits -------------------------------------------------------------------------------------------------


@hosted()
def above_mask(c: Fact) -> Literal | None:
    """The number behind a row of bits."""
    if c.shape != () or not isinstance(c.splat, int) or c.dtype not in (INT32, INT64):
        return None
    return Literal(c.dtype, (), (c.splat + 1,)) if c.splat & (c.splat + 1) == 0 else None


def masked(c: int, kind: type = np.int64, dtype: int = INT64):
    return lambda g: binary("BitwiseAnd", g.input(("N", 3), dtype), g.constant(kind(c)))


@wrong("bitwise", masked(LAST, np.int32, INT32), examples=fires_on(masked(7), opset=18))
def bits_as_remainder(x: Tensor, c: Tensor):
    """x & (2^k - 1) = x mod 2^k

    Wrong of the last number of a type, behind which there is none, and of -1, whose successor is 0.
    """
    rest = binary("Mod", x, literal(above_mask(c)))
    yield rewrite(binary("BitwiseAnd", x, c), rest, because="old opsets have no BitwiseAnd")


@hosted()
def no_bits_meet(x: Fact, c: Fact) -> bool:
    """c is a multiple of the number behind the last x."""
    known = range_of(x)
    if known is None or known[0] < 0 or known[1] > LAST or c.shape != () or not isinstance(c.splat, int):
        return False
    return c.splat >= 0 and c.splat % (known[1] + 1) == 0


def with_bits(last: int, c: int):
    return lambda g: binary("BitwiseOr", clip(0, last, g.input(("N", 3), INT64)), g.constant(np.int64(c)))


@wrong("bitwise", with_bits(5, 6), values=(4, 9), examples=fires_on(with_bits(7, 8), opset=18))
def bits_as_sum(x: Tensor, c: Tensor):
    """x | c = x + c where c is a multiple of what x is less than

    Wrong of 4 | 6: a multiple of what is no power of two has bits below it.
    """
    yield rewrite(binary("BitwiseOr", x, c), x + c, no_bits_meet(x, c), because="old opsets have a sum")


@hosted()
def has_bits_below(a: Fact, b: Fact) -> bool:
    """a is less than the lowest bit of b."""
    if a.shape != () or b.shape != () or not isinstance(a.splat, int) or not isinstance(b.splat, int):
        return False
    return b.splat != 0 and a.splat < (b.splat & -b.splat)


def one_bit(a: int, b: int):
    def made(g):
        more = binary("BitwiseOr", g.input(("N", 3), INT64), g.constant(np.int64(a)))
        return binary("BitwiseAnd", more, g.constant(np.int64(b)))

    return made


@wrong("bitwise", one_bit(-1, 8), values=(5,), examples=fires_on(one_bit(3, 8), opset=18))
def other_bits(x: Tensor, a: Tensor, b: Tensor):
    """(x | a) & b = x & b where a has bits below those of b only

    Wrong of negative a, which have all high bits.
    """
    more = binary("BitwiseAnd", binary("BitwiseOr", x, a), b)
    yield rewrite(more, binary("BitwiseAnd", x, b), has_bits_below(a, b), because="forgets a")


# --- beyond the last number -------------------------------------------------------------------------------


@hosted()
def goes_into(x: Fact, a: Fact, b: Fact) -> bool:
    """b divides a, all of them above 0, and x is not below."""
    known = range_of(x)
    if known is None or known[0] < 0 or a.shape != () or b.shape != () or not a.splat or not b.splat:
        return False
    return min(a.splat, b.splat) > 0 and a.splat % b.splat == 0 and a.dtype == INT32


def quarter_of_sum(last: int):
    def made(g):
        x = clip(0, last, g.input(("N", 3), INT32))
        return (x + g.constant(np.int32(12))) / g.constant(np.int32(4))

    return made


@wrong("bitwise", quarter_of_sum(LAST), values=(LAST,), examples=fires_on(quarter_of_sum(100)))
def quotient_of_lifted(x: Tensor, a: Tensor, b: Tensor):
    """(x + a) / b = x / b + a / b where b divides a and x >= 0

    Wrong of the largest x, to which nothing can be added.
    """
    yield rewrite((x + a) / b, x / b + a / b, goes_into(x, a, b), because="a / b is known")


@hosted()
def divides(x: Fact, a: Fact, b: Fact) -> bool:
    """b divides a, and x is small."""
    known = range_of(x)
    if known is None or known[0] < -1000 or known[1] > 1000 or a.shape != () or b.shape != ():
        return False
    if a.splat is None or not b.splat:
        return False
    return a.splat % b.splat == 0 and a.dtype in (INT32, INT64)


def quotient_of(a: int, b: int):
    def made(g):
        x = clip(-100, 100, g.input(("N", 3), INT32))
        return (x * g.constant(np.int32(a))) / g.constant(np.int32(b))

    return made


@wrong("bitwise", quotient_of(2**30, 2**30), values=(100,), examples=fires_on(quotient_of(12, 4)))
def exact_quotient(x: Tensor, a: Tensor, b: Tensor):
    """(x * a) / b = x * (a / b) where b divides a and x is small

    Wrong of a large a: 100 * 2^30 is 0.
    """
    yield rewrite((x * a) / b, x * (a / b), divides(x, a, b), because="a / b is known")


# --- types that have fewer --------------------------------------------------------------------------------


@hosted()
def is_cast_apart(x: Fact, t: DataType) -> bool:
    return (x.dtype, t) in ((INT32, FLOAT), (UINT8, FLOAT), (SIGNED, FLOAT), (FLOAT, DOUBLE))


def place_in_float(x):
    return arg_reduce("ArgMax", cast(x, FLOAT), 1, 0, 0)


@wrong(
    "bitwise",
    of_one(place_in_float, (1, 2), INT32),
    values=(2**24, 2**24 + 1),
    examples=fires_on(of_one(place_in_float, ("N", 3), INT32)),
)
def place_of_what_is_cast(x: Tensor, f: String, a: Axis, k: Flag, e: Flag, t: DataType):
    """ArgMax(Cast(x)) = ArgMax(x) of integers as floats, and of floats as double

    Wrong of int32 beyond 2^24, of which two become one float.
    """
    of_cast = arg_reduce(f, cast(x, t), a, k, e)
    yield rewrite(of_cast, arg_reduce(f, x, a, k, e), is_cast_apart(x, t), because="forgets the type")


@hosted()
def is_stored_so(q: Fact, s: Fact, to: DataType) -> bool:
    """Of the type that it becomes again, by scales of ordinary size."""
    return q.dtype == to and positive_scale(s) is not None


def stored(q, s, z, to: int):
    return quantize(dequantize(q, s, z, 0), s, z, 0, to)


@wrong(
    "bitwise",
    lambda g: stored(g.input((2, 5), UINT16), g.constant(np.float16(1)), g.constant(np.uint16(0)), UINT16),
    values=(40001, 65535),
    opset=21,
    examples=fires_on(lambda g: stored(g.input(("N", 4), UINT8), *parameters(g), UINT8)),
)
def stored_again(q: Tensor, s: Tensor, z: Tensor, a: Axis, to: DataType):
    """QuantizeLinear(DequantizeLinear(q)) = q for positive scales of ordinary size

    Wrong of 16 bits and a scale in float16, which has 11.
    """
    again = quantize(dequantize(q, s, z, a), s, z, a, to)
    yield rewrite(again, q, is_stored_so(q, s, to), because="any q is stored so")
