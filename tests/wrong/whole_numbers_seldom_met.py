"""Whole numbers that seldom come: at the ends of types, of other signs, divisors that are odd."""

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import Float, Number, Tensor, hosted, number_like, rewrite
from egraph_opt.operators import Literal, binary, cast, literal, quantize, unary
from egraph_opt.rewrites.conditions.values import dtype_of
from egraph_opt.rewrites.elementwise.identities import clip
from egraph_opt.rewrites.quantization.round_trips import parameters

from . import fires_on, of_two, wrong

INT32, INT64 = TensorProto.INT32, TensorProto.INT64

BOOL, FLOAT = TensorProto.BOOL, TensorProto.FLOAT


@hosted()
def is_whole(x: Fact) -> bool:
    return x.dtype in (INT32, INT64)


@wrong("bitwise", of_two(lambda x, y: cast(x * y, BOOL), (3,), INT32), values=(65536.0,))
def truth_of_product(x: Tensor, y: Tensor):
    """Cast_bool(x * y) = Cast_bool(x) and Cast_bool(y)

    Wrong of integers whose product wraps to 0.
    """
    both = binary("And", cast(x, BOOL), cast(y, BOOL))
    yield rewrite(cast(x * y, BOOL), both, is_whole(x), because="no product is needed")


@hosted()
def is_above_one(c: Fact) -> bool:
    return c.shape == () and isinstance(c.splat, int) and c.splat > 1


@hosted()
def opposite(c: Fact) -> Number | None:
    return -c.splat if c.splat is not None else None


def near(g):
    return binary("Less", unary("Abs", (), g.input((3,), INT32)), g.constant(np.int32(7)))


def near_of_bytes(g):
    return binary(
        "Less", unary("Abs", (), cast(g.input((3,), TensorProto.INT8), INT32)), g.constant(np.int32(7))
    )


@wrong("bitwise", near, values=(-(2.0**31),), examples=fires_on(near_of_bytes))
def within_a_distance(x: Tensor, c: Tensor):
    """Abs(x) < c = x < c and x > -c for a number c above 1

    Wrong of the least integer, of which the size is negative, and less than c.
    """
    close = binary("Less", unary("Abs", (), x), c)
    both = binary("And", binary("Less", x, c), binary("Greater", x, number_like(x, opposite(c))))
    yield rewrite(close, both, is_above_one(c), is_whole(x), because="one way is enough")


def cut(low: float, high: float, zero: int):
    def made(g):
        x = unary("Clip", (("max", high), ("min", low)), g.input((3,)))
        return quantize(x, *parameters(g, 0.1, zero), 0, TensorProto.UINT8)

    return made


@wrong("bitwise", lambda g: -g.input((3,), INT32) / g.constant(np.int32(4)), values=(-(2.0**31),))
def sign_out_of_quotient(x: Tensor, c: Tensor):
    """-x / c = -(x / c) for a number c above 1, quotients being cut off towards 0

    Wrong of the least integer, which is its own opposite.
    """
    yield rewrite(-x / c, -(x / c), is_above_one(c), is_whole(x), because="one way is enough")


@wrong(
    "bitwise",
    lambda g: (lambda c: binary("Mod", g.input((3,), INT32) + c, c))(g.constant(np.int32(7))),
    values=(2.0**31 - 3,),
)
def offset_of_remainder(x: Tensor, c: Tensor):
    """Mod(x + c, c) = Mod(x, c) for a number c above 1

    Wrong where the sum wraps, and c is no power of 2.
    """
    yield rewrite(binary("Mod", x + c, c), binary("Mod", x, c), is_above_one(c), is_whole(x), because="less")


@hosted()
def divides_few(x: Fact, c: Fact, last: int) -> Float | None:
    """One by a whole number, where x is a number up to `last`."""
    known = range_of(x) if x.dtype in (INT32, INT64) else None
    if known is None or known[0] < 0 or known[1] > last or c.shape != () or not isinstance(c.splat, int):
        return None
    return 1 / c.splat if c.splat > 1 else None


def few(last, c):
    return lambda g: clip(0, last, g.input((3,), INT32)) / g.constant(np.int32(c))


@hosted()
def number_of(value: Float) -> Literal:
    return Literal(FLOAT, (), (value,))


def number_as(x: Tensor, value: Float):
    return literal(number_of(value))


@wrong("bitwise", few(1000, 41), values=(41.0, 82.0, 123.0), examples=fires_on(few(1000, 7)))
def quotient_by_reciprocal(x: Tensor, c: Tensor):
    """x / c = Cast(Cast_float(x) * (1 / c)) for an x from 0 to 4095 and a number c above 1

    Wrong of 41 / 41: the reciprocal is rounded, and so much below that the product is below 1.
    """
    part = cast(x, FLOAT) * number_as(x, divides_few(x, c, 4095))
    yield rewrite(x / c, cast(part, dtype_of(x)), because="a division takes longer")


@hosted()
def multiplier(x: Fact, c: Fact) -> Number | None:
    """By what 2^16 / c is rounded up to."""
    return None if divides_few(x, c, 4095) is None else 65536 // c.splat + 1  # type: ignore[operator]


@wrong("bitwise", few(1000, 1000), values=(999.0,), examples=fires_on(few(255, 10)))
def quotient_by_shift(x: Tensor, c: Tensor):
    """x / c = x * m / 2^16 with m = 2^16 / c, rounded up, for an x from 0 to 4095 and a number c above 1

    Wrong of 999 / 1000: what m is rounded up by comes 999 times.
    """
    product = x * number_like(x, multiplier(x, c))
    yield rewrite(x / c, product / number_like(x, 65536), because="a shift takes less")


@hosted()
def is_larger_multiple(a: Fact, b: Fact) -> bool:
    known = a.shape == b.shape == () and isinstance(a.splat, int) and isinstance(b.splat, int)
    return known and a.splat != 0 != b.splat and b.splat % a.splat == 0  # type: ignore[operator]


@wrong("bitwise", lambda g: binary("Mod", binary("Mod", g.input((3,), INT64), g.constant(3)), g.constant(-6)))
def remainder_within_remainder(x: Tensor, a: Tensor, b: Tensor):
    """Mod(Mod(x, a), b) = Mod(x, a) where b is a multiple of a

    Wrong where they have different signs: the remainder has that of b.
    """
    inner = binary("Mod", x, a)
    yield rewrite(binary("Mod", inner, b), inner, is_larger_multiple(a, b), because="forgets b")


@hosted()
def sum_of_numbers(c: Fact, d: Fact) -> Number | None:
    """What both add up to."""
    if c.shape != () or d.shape != () or c.splat is None or d.splat is None or c.dtype != INT64:
        return None
    total = int(float(c.splat) + float(d.splat))
    return total if abs(total) < 2**62 else None


@wrong(
    "bitwise", lambda g: (g.input((3,), INT64) + g.constant(np.int64(2**53 + 1))) + g.constant(np.int64(2))
)
def offsets_in_turn(x: Tensor, c: Tensor, d: Tensor):
    """(x + c) + d = x + (c + d) for whole numbers c and d

    Wrong beyond 2^53, where the sum is computed in floats.
    """
    yield rewrite((x + c) + d, x + number_like(x, sum_of_numbers(c, d)), because="forgets c")
