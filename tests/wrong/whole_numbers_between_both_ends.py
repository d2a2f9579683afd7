"""Integers in a range: rules of arithmetic that were tried at both ends of it."""

from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import DataType, Settings, Tensor, hosted, rewrite
from egraph_opt.operators import Literal, binary, cast, literal, unary

from . import fires_on, wrong


def between(g, low: int, high: int, shape=(3, 4), dtype: int = T.INT64):
    return unary("Clip", (("max", high), ("min", low)), g.input(shape, dtype))


def whole(g, value: Any, dtype: type = np.int64):
    return g.constant(np.array(value, dtype))


def number(dtype: int, value: Any) -> Literal:
    return Literal(dtype, (), (value,))


# --- quotients and remainders ----------------------------------------------------------------------------


@hosted()
def turn_of(x: Fact, c: Fact) -> Literal | None:
    """What all remainders are below their numbers by: they rise from one end to the other."""
    known, d = range_of(x), c.splat
    if known is None or not isinstance(d, int) or d < 2 or x.dtype != T.INT64 or c.rank != 0 or known[0] < 0:
        return None
    low, high = known
    return Literal(T.INT64, (), (low - low % d,)) if low % d <= high % d and high - low < 2 * d else None


def remainder(low: int, high: int, d: int):
    return lambda g: binary("Mod", between(g, low, high), whole(g, d))


@wrong(
    "bitwise",
    remainder(8, 17, 7),
    values=(14.0, 15.0),
    examples=fires_on(remainder(15, 19, 7), remainder(0, 6, 7)),
)
def remainder_of_one_turn(x: Tensor, c: Tensor):
    """Mod(x, c) = x - c * k where remainders rise from the least x to the greatest

    Wrong where there is more than a whole turn between them: from 8 to 17, by 7.
    """
    yield rewrite(binary("Mod", x, c), x - literal(turn_of(x, c)), because="no Mod")


PLACES = 16
"""Bits behind the point of an inverse."""


@hosted()
def inverse_of(x: Fact, c: Fact) -> Literal | None:
    """2^16 / c rounded up, which gives the quotients of both ends."""
    known, d = range_of(x), c.splat
    if known is None or not isinstance(d, int) or d < 2 or known[0] < 0 or x.dtype != T.INT64 or c.rank != 0:
        return None
    m = -(-(2**PLACES) // d)
    return number(T.INT64, m) if all(n * m >> PLACES == n // d for n in known) else None


@hosted()
def unit_of(x: Fact) -> Literal:
    return number(x.dtype, 2**PLACES)


def quotient(high: int, d: int):
    return lambda g: between(g, 0, high) / whole(g, d)


@wrong(
    "bitwise", quotient(16395, 10), values=(16389.0,), examples=fires_on(quotient(255, 10), quotient(1000, 7))
)
def division_by_product(x: Tensor, c: Tensor):
    """x / c = x * (2^16 / c) / 2^16 for integers in a range

    Wrong of 16389 / 10 within 0 and 16395: both ends are right, and few numbers in between are not.
    """
    yield rewrite(x / c, (x * literal(inverse_of(x, c))) / literal(unit_of(x)), because="no division")


@hosted()
def signed_range(x: Fact, y: Fact) -> bool:
    a, b = range_of(x), range_of(y)
    if a is None or b is None or x.dtype != T.INT32 or y.dtype != T.INT32 or b[0] < 1 or a[0] < 0:
        return False
    return (a[0] * b[0]) < 2**31 and (a[1] * b[0]) < 2**31 and (a[0] * b[1]) < 2**31


def product_quotient(high: int, most: int):
    def make(g):
        x, y = between(g, 0, high, dtype=T.INT32), between(g, 1, most, dtype=T.INT32)
        return x * y / y

    return make


@wrong(
    "bitwise",
    product_quotient(70000, 40000),
    values=(65536.0,),
    examples=fires_on(product_quotient(255, 255)),
)
def product_and_quotient(x: Tensor, y: Tensor):
    """x * y / y = x for int32 in ranges whose products fit

    Wrong where the greatest of both do not fit, though each does with the least of the other.
    """
    yield rewrite(x * y / y, x, signed_range(x, y), because="forgets y")


def squares(low: int, high: int, m: int):
    def make(g):
        x = unary("Clip", (("max", high), ("min", low)), g.input((3, 4), T.INT64))
        return binary("Mod", x * x, g.constant(np.array(m, np.int64)))

    return make


@hosted()
def never_zero(k: Settings, x: Fact, c: Fact) -> bool:
    known, given = range_of(x), dict(k)
    if known is None or not isinstance(c.splat, int) or c.rank != 0 or x.dtype != T.INT64 or c.splat < 2:
        return False
    if given.get("min") != 1 or given.get("max") is not None or known[0] < 1 or known[1] >= c.splat:
        return False
    return all(v * v % c.splat for v in known)


def squares_of(low: int, high: int, m: int):
    return lambda g: unary("Clip", (("max", None), ("min", 1)), squares(low, high, m)(g))


@wrong(
    "bitwise",
    squares_of(1, 7, 12),
    values=(6.0, 2.0),
    examples=fires_on(squares_of(1, 4, 7), squares_of(2, 3, 5)),
)
def squares_that_are_no_multiples(x: Tensor, c: Tensor, k: Settings):
    """Clip(Mod(x * x, c); 1) = Mod(x * x, c) where x is between 0 and c

    Wrong of 6 * 6 and 12: both ends are no multiples.
    """
    y = binary("Mod", x * x, c)
    yield rewrite(unary("Clip", k, y), y, never_zero(k, x, c), because="forgets the bound")


# --- bits ------------------------------------------------------------------------------------------------


@hosted()
def bits_apart(x: Fact, y: Fact) -> bool:
    """What the greatest of both have no bit in common, all have none."""
    a, b = range_of(x), range_of(y)
    if a is None or b is None or x.dtype != T.INT64 or y.dtype != T.INT64 or a[0] < 0 or b[0] < 0:
        return False
    return all(m & n == 0 for m in a for n in b)


def joined_bits(low: int, high: int, other: int, most: int):
    return lambda g: binary(
        "BitwiseOr", between(g, low, high, (5, 1), T.INT64), between(g, other, most, (1, 5), T.INT64)
    )


@wrong(
    "bitwise",
    joined_bits(0, 4, 8, 8 + 3),
    values=(0.0, 1.0, 2.0, 3.0, 9.0),
    examples=fires_on(joined_bits(0, 1, 2, 2), joined_bits(0, 0, 5, 7), opset=18),
)
def bits_that_are_added(x: Tensor, y: Tensor):
    """BitwiseOr(x, y) = x + y where the ends of both have no joined_bits in common

    Wrong of 0 to 4 and 8 to 11: 3 and 11 have.
    """
    yield rewrite(binary("BitwiseOr", x, y), x + y, bits_apart(x, y), because="additions only")


@hosted()
def is_mask(x: Fact, c: Fact) -> bool:
    """A mask of three bits and more has them at its end."""
    known = range_of(x)
    if known is None or not isinstance(c.splat, int) or c.rank != 0:
        return False
    return known[0] >= 0 and known[1] <= c.splat and (c.splat + 1) % 8 == 0


def masked(high: int, c: int):
    return lambda g: binary("BitwiseAnd", between(g, 0, high), whole(g, c))


@wrong(
    "bitwise", masked(23, 23), values=(9.0, 15.0), examples=fires_on(masked(15, 15), masked(7, 31), opset=18)
)
def mask_of_all_bits(x: Tensor, c: Tensor):
    """BitwiseAnd(x, c) = x for x between 0 and a mask c

    Wrong where the mask has a gap: 23 is 10111.
    """
    yield rewrite(binary("BitwiseAnd", x, c), x, is_mask(x, c), because="forgets the mask")


@hosted()
def fits_as(x: Fact, c: Fact, y: Fact, t: DataType) -> bool:
    """x * (c - x) is within int8 for the ends of x."""
    known, n = range_of(x), c.splat
    if known is None or not isinstance(n, int) or t != T.INT8 or x.dtype != T.INT64:
        return False
    return all(-128 <= k * (n - k) <= 127 for k in known)


def parabola(high: int, c: int):
    def make(g):
        x = between(g, 0, high)
        return cast(cast(x * (whole(g, c) - x), T.INT8), T.INT64)

    return make


@wrong("bitwise", parabola(23, 23), values=(11.0,), examples=fires_on(parabola(10, 10)))
def parabola_in_bytes(x: Tensor, c: Tensor, t: DataType):
    """Cast_64(Cast_8(x * (c - x))) = x * (c - x) where both ends fit

    Wrong where it does not in the middle.
    """
    y = x * (c - x)
    yield rewrite(cast(cast(y, t), T.INT64), y, fits_as(x, c, y, t), because="no casts")
