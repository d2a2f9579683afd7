"""Quotients and remainders of whole numbers that are negative, overflow, or have more digits than a type."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Tensor, hosted, number_like, rewrite
from egraph_opt.operators import Literal, binary, cast, literal

from . import fires_on, wrong

INTEGERS = (T.INT32, T.INT64)


@hosted()
def is_whole_above_zero(c: Fact) -> bool:
    """One whole number above 0."""
    return c.dtype in INTEGERS and isinstance(c.splat, int) and c.splat > 0 and c.shape == ()


def shifted_quotient(c: int, dtype: int = T.INT64, among: int = 0):
    kind = np.int64 if dtype == T.INT64 else np.int32

    def make(g):
        x, by = g.input((2, 5), dtype), g.constant(np.array(c, kind))
        if among:
            x = binary("Mod", x, g.constant(np.array(among, kind)))
        return (x + by) / by

    return make


@wrong(
    "bitwise",
    shifted_quotient(100),
    examples=fires_on(shifted_quotient(3, among=100), shifted_quotient(7, T.INT32, 1000)),
)
def quotient_of_shifted(x: Tensor, c: Tensor):
    """(x + c) / c = x / c + 1 of whole numbers

    Wrong between -c and 0, where both quotients are truncated towards 0.
    """
    yield rewrite((x + c) / c, x / c + number_like(x, 1), is_whole_above_zero(c), because="a shift later")


@hosted()
def quotient_by_both(a: Fact, c: Fact) -> Literal | None:
    """The product of two numbers above 0, in their type."""
    known = isinstance(a.splat, int) and isinstance(c.splat, int) and a.shape == c.shape == ()
    if not known or a.dtype not in INTEGERS or min(a.splat, c.splat) <= 0:  # type: ignore[operator, type-var]
        return None
    bits = 32 if a.dtype == T.INT32 else 64
    product = a.splat * c.splat % 2**bits  # type: ignore[operator]
    return Literal(a.dtype, (), (product - 2**bits if product >= 2 ** (bits - 1) else product,))


def divided_twice(a: int, c: int, dtype: int = T.INT32):
    kind = np.int64 if dtype == T.INT64 else np.int32
    return lambda g: g.input((2, 5), dtype) / g.constant(np.array(a, kind)) / g.constant(np.array(c, kind))


@wrong(
    "bitwise",
    divided_twice(2**16, 2**15),
    values=(10, 2**31 - 1, -(2**31), 5, 10**9),
    examples=fires_on(divided_twice(3, 4), divided_twice(1, 9, T.INT64), divided_twice(1000, 1000)),
)
def divided_by_both(x: Tensor, a: Tensor, c: Tensor):
    """(x / a) / c = x / (a * c) of whole numbers above 0

    Wrong where their product is beyond the type.
    """
    yield rewrite(x / a / c, x / literal(quotient_by_both(a, c)), because="one quotient")


def remainder_of_sum(c: int, dtype: int = T.INT64):
    kind = np.int64 if dtype == T.INT64 else np.int32

    def make(g):
        by = g.constant(np.array(c, kind))
        return binary("Mod", binary("Mod", g.input((2, 5), dtype), by) + g.input((5,), dtype), by)

    return make


@wrong(
    "bitwise",
    remainder_of_sum(7),
    values=(2**63 - 1, 2**63 - 3, 5),
    examples=fires_on(remainder_of_sum(8), remainder_of_sum(1), remainder_of_sum(1024, T.INT32)),
)
def remainder_of_a_remainder(x: Tensor, y: Tensor, c: Tensor):
    """Mod(Mod(x, c) + y, c) = Mod(x + y, c)

    Wrong where x + y overflows, unless c is a power of two.
    """
    yield rewrite(
        binary("Mod", binary("Mod", x, c) + y, c),
        binary("Mod", x + y, c),
        is_whole_above_zero(c),
        because="one remainder",
    )


def what_is_left(c: int):
    def make(g):
        x, by = g.input((2, 5), T.INT64), g.constant(np.array(c))
        x = binary("Mod", x, g.constant(np.array(1000)))
        return x - x / by * by

    return make


@wrong(
    "bitwise",
    lambda g: (lambda x, c: x - x / c * c)(g.input((2, 5), T.INT32), g.constant(np.array(4, np.int32))),
    examples=fires_on(what_is_left(4), what_is_left(7)),
)
def what_division_leaves(x: Tensor, c: Tensor):
    """x - x / c * c = Mod(x, c)

    Wrong below 0: the quotient is truncated, and the remainder has the sign of c.
    """
    yield rewrite(x - x / c * c, binary("Mod", x, c), is_whole_above_zero(c), because="one operator")


def narrow_remainder(c: int):
    return lambda g: cast(binary("Mod", g.input((2, 5), T.INT64), g.constant(np.array(c))), T.INT32)


@hosted()
def fits_in_32(c: Fact) -> bool:
    return c.dtype == T.INT64 and isinstance(c.splat, int) and 0 < c.splat < 2**31


@wrong(
    "bitwise",
    narrow_remainder(10),
    values=(2**32 + 1, -(2**33) - 7, 2**40, 3),
    examples=fires_on(narrow_remainder(8), narrow_remainder(1), narrow_remainder(2**20)),
)
def remainder_in_32_bits(x: Tensor, c: Tensor):
    """Cast(Mod(x, c); int32) = Mod(Cast(x), Cast(c)) for a c that int32 has

    Wrong of an x beyond 32 bits, unless c is a power of two.
    """
    yield rewrite(
        cast(binary("Mod", x, c), T.INT32),
        binary("Mod", cast(x, T.INT32), cast(c, T.INT32)),
        fits_in_32(c),
        because="fewer bits",
    )


@hosted()
def half_has_all_below(c: Fact) -> bool:
    """Of a type of 11 digits, with room for one more."""
    return isinstance(c.splat, int) and c.dtype == T.INT64 and 0 < c.splat <= 2**12


def by_way_of_half(c: int):
    def make(g):
        rest = binary("Mod", g.input((40, 5), T.INT64), g.constant(np.array(c)))
        return cast(cast(rest, T.FLOAT16), T.FLOAT)

    return make


@wrong(
    "bitwise",
    by_way_of_half(4096),
    values=(2049, 4095, 3001, 17),
    examples=fires_on(by_way_of_half(7), by_way_of_half(1000), by_way_of_half(2048)),
)
def remainder_in_half(x: Tensor, c: Tensor):
    """Cast(Cast(Mod(x, c); float16); float) = Cast(Mod(x, c); float) where float16 has the numbers below c

    Wrong of odd numbers above 2048.
    """
    rest = binary("Mod", x, c)
    yield rewrite(
        cast(cast(rest, T.FLOAT16), T.FLOAT), cast(rest, T.FLOAT), half_has_all_below(c), because="exact"
    )
