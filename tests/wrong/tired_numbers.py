"""Casts, choices and activations: types, signs, ties and ends that are taken for all."""

from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.float_ranges import interval_of
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import (
    DataType,
    Settings,
    Tensor,
    hosted,
    listed,
    number_like,
    reciprocal,
    relu,
    rewrite,
    sigmoid,
    softplus,
    sqrt,
    tanh,
)
from egraph_opt.laws.examples import FLOAT
from egraph_opt.operators import binary, cast, unary, variadic, where

from . import fires_on, is_single, of_one, of_two, wrong

# --- choices and casts -----------------------------------------------------------------------------------


@hosted()
def is_bounded(x: Fact, y: Fact) -> bool:
    """Nothing is infinite or NaN, and the other branch is 0."""
    ends = interval_of(x)
    return y.splat == 0 and y.shape == () and ends is not None and -1e9 < ends[0] <= ends[1] < 1e9


def masked(f: Any):
    return lambda g: where(g.input((2, 3), T.BOOL), f(g.input((2, 3))), g.constant(0.0))


def clipped(low: float, high: float):
    return lambda x: unary("Clip", (("max", high), ("min", low)), x)


@wrong("bitwise", masked(tanh), examples=fires_on(masked(sigmoid), masked(clipped(0.0, 6.0))))
def mask_of_bounded(c: Tensor, x: Tensor, y: Tensor):
    """Where(c, x, 0) = x * Cast(c) for an x between bounds

    Wrong of negative numbers, which become -0, and where it may be NaN after all.
    """
    yield rewrite(where(c, x, y), x * cast(c, FLOAT), is_bounded(x, y), because="no choice")


BITS: dict[int, int] = {
    T.INT8: 8,
    T.UINT8: 8,
    T.INT16: 16,
    T.UINT16: 16,
    T.INT32: 32,
    T.UINT32: 32,
    T.INT64: 64,
    T.UINT64: 64,
}


@hosted()
def no_fewer_bits(x: Fact, y: Fact, t: DataType) -> bool:
    return (
        x.dtype == y.dtype
        and x.dtype in (T.INT32, T.UINT32, T.INT64, T.UINT64)
        and BITS.get(t, 0) >= BITS[x.dtype]
    )


def greater_as(dtype: int, to: int):
    return of_two(lambda x, y: variadic("Max", listed(cast(x, to), cast(y, to))), (2, 5), dtype)


@wrong(
    "bitwise",
    greater_as(T.INT32, T.UINT32),
    values=(-3.0, 5.0, 0.0),
    examples=fires_on(
        greater_as(T.INT32, T.INT64), greater_as(T.UINT32, T.INT64), greater_as(T.UINT32, T.UINT64)
    ),
)
def greater_before_cast(x: Tensor, y: Tensor, t: DataType):
    """Max(Cast_T(x), Cast_T(y)) = Cast_T(Max(x, y)) for integers, T of no fewer bits

    Wrong of a type without a sign, in which negative numbers are the greatest, and of one with it.
    """
    yield rewrite(
        variadic("Max", listed(cast(x, t), cast(y, t))),
        cast(variadic("Max", listed(x, y)), t),
        no_fewer_bits(x, y, t),
        because="one Cast",
    )


@hosted()
def is_half(c: Fact) -> bool:
    return c.splat == 0.5 and c.shape == ()


@wrong(
    "finite",
    of_one(lambda x: unary("Floor", (), x + number_like(x, 0.5))),
    examples=fires_on(lambda g: unary("Floor", (), g.input((2, 5)) + g.constant(0.5))),
)
def round_by_half(x: Tensor, c: Tensor):
    """Floor(x + 0.5) = Round(x)

    Wrong of halves, which are rounded to an even number.
    """
    yield rewrite(unary("Floor", (), x + c), unary("Round", (), x), is_half(c), because="one operator")


@hosted()
def are_one_and_zero(x: Fact, y: Fact, c: Fact) -> bool:
    """1 and 0 of one type, of no more axes than the condition."""
    if x.splat != 1 or y.splat != 0 or x.dtype != y.dtype or None in (x.rank, y.rank, c.rank):
        return False
    return max(x.rank, y.rank) <= c.rank  # type: ignore[type-var, operator]


def one_or_zero(*shape: int, of=(2, 3)):
    def make(g):
        return where(g.input(of, T.BOOL), g.constant(np.ones(shape, np.float32)), g.constant(np.float32(0)))

    return make


@hosted()
def type_of(x: Fact) -> DataType:
    return x.dtype


@wrong(
    "bitwise", one_or_zero(2, 3, of=(1, 3)), examples=fires_on(one_or_zero(), one_or_zero(1), one_or_zero(3))
)
def choice_of_one_or_zero(c: Tensor, x: Tensor, y: Tensor):
    """Where(c, 1, 0) = Cast(c) where 1 and 0 have no more axes than c

    Wrong where they have more elements.
    """
    yield rewrite(where(c, x, y), cast(c, type_of(x)), are_one_and_zero(x, y, c), because="a Cast")


@hosted()
def whole_from_zero(x: Fact, c: Fact) -> bool:
    known = range_of(x)
    return (
        x.dtype == T.INT64 and known is not None and known[0] >= 0 and c.shape == () and (c.splat or 0) >= 1
    )


@hosted()
def whole_divisor(c: Fact) -> float | None:
    return int(c.splat) if c.splat is not None and c.splat == int(c.splat) else None


@hosted()
def one_less(c: Fact) -> float | None:
    return int(c.splat) - 1 if c.splat is not None and c.splat == int(c.splat) else None


def parts_of(most: int, c: float):
    def make(g):
        x = unary("Clip", (("max", most), ("min", 0)), g.input((3,), T.INT64))
        return cast(unary("Ceil", (), cast(x, FLOAT) / g.constant(c)), T.INT64)

    return make


@wrong(
    "bitwise",
    parts_of(2**30, 2.0),
    values=(2**24 + 1, 2**24 + 3, 7),
    examples=fires_on(parts_of(1000, 2.0), parts_of(4096, 8.0)),
)
def ceiling_of_quotient(x: Tensor, c: Tensor):
    """Cast_int64(Ceil(Cast_float(x) / c)) = (x + c - 1) / c for an x of 0 and more, and a whole c above 0

    Wrong of an x that float has not.
    """
    yield rewrite(
        cast(unary("Ceil", (), cast(x, FLOAT) / c), T.INT64),
        (x + number_like(x, one_less(c))) / number_like(x, whole_divisor(c)),
        whole_from_zero(x, c),
        because="no floats",
    )


@hosted()
def are_halves(a: Fact, b: Fact, c: Fact) -> bool:
    return a.dtype == b.dtype == c.dtype == T.FLOAT16


def product_and_sum_of_halves(g):
    a, b, c = (cast(g.input((3,), T.FLOAT16), FLOAT) for _ in range(3))
    return cast(a * b + c, T.FLOAT16)


@wrong(
    "finite",
    product_and_sum_of_halves,
    values=(3.299, 3.301, -10.89),
    examples=fires_on(product_and_sum_of_halves),
)
def sum_of_products_in_half(a: Tensor, b: Tensor, c: Tensor):
    """Cast_half(Cast_float(a) * Cast_float(b) + Cast_float(c)) = a * b + c of halves

    Wrong where product and summand nearly cancel.
    """
    wide = cast(a, FLOAT) * cast(b, FLOAT) + cast(c, FLOAT)
    yield rewrite(cast(wide, T.FLOAT16), a * b + c, are_halves(a, b, c), because="no Casts")


# --- comparisons and activations -------------------------------------------------------------------------


@hosted()
def centre(a: Fact, b: Fact) -> float | None:
    if (
        a.splat is None
        or b.splat is None
        or a.shape != ()
        or b.shape != ()
        or a.splat >= b.splat
        or a.dtype != FLOAT
    ):
        return None
    return (float(a.splat) + float(b.splat)) / 2


@hosted()
def reach(a: Fact, b: Fact) -> float | None:
    return None if a.splat is None or b.splat is None else (float(b.splat) - float(a.splat)) / 2


def within(a: float, b: float):
    def make(g):
        x = g.input((2, 5))
        return binary("And", binary("Greater", x, g.constant(a)), binary("Less", x, g.constant(b)))

    return make


@wrong(
    "finite", within(0.1, 0.3), values=(0.1, 0.3, 0.2), examples=fires_on(within(-1.0, 1.0), within(0.0, 0.5))
)
def between_by_distance(x: Tensor, a: Tensor, b: Tensor):
    """x > a and x < b = Abs(x - (a + b) / 2) < (b - a) / 2 for numbers a < b

    Wrong at the ends, where both are rounded.
    """
    distance = unary("Abs", (), x - number_like(x, centre(a, b)))
    yield rewrite(
        binary("And", binary("Greater", x, a), binary("Less", x, b)),
        binary("Less", distance, number_like(x, reach(a, b))),
        because="one comparison",
    )


@hosted()
def threshold(c: Fact) -> Settings | None:
    if c.splat is None or c.shape != () or c.dtype != FLOAT:
        return None
    return (("max", abs(float(c.splat))), ("min", -abs(float(c.splat))))


def shrunk(c: float):
    def make(g):
        x = g.input((2, 5))
        return unary("Sign", (), x) * relu(unary("Abs", (), x) - g.constant(c))

    return make


@wrong("finite", shrunk(-1.0), examples=fires_on(shrunk(0.5), shrunk(2.0)))
def soft_shrink(x: Tensor, c: Tensor):
    """Sign(x) * Relu(Abs(x) - c) = x - Clip(x; -c, c)

    Wrong for a c below 0.
    """
    yield rewrite(
        unary("Sign", (), x) * relu(unary("Abs", (), x) - c),
        x - unary("Clip", threshold(c), x),
        because="two",
    )


@hosted()
def is_slope(s: Fact, z: Fact) -> bool:
    return z.splat == 0 and z.shape == () and s.shape == () and s.splat is not None and s.dtype == FLOAT


def sloped(s: float):
    def make(g):
        x = g.input((2, 5))
        return where(binary("Greater", x, g.constant(0.0)), x, x * g.constant(s))

    return make


@wrong("bitwise", sloped(-1.0), examples=fires_on(sloped(0.25), sloped(0.01)))
def slope_by_choice(x: Tensor, z: Tensor, s: Tensor):
    """Where(x > 0, x, x * s) = PRelu(x, s) for a number s

    Wrong of 0 for a negative s: it is -0 on the left.
    """
    yield rewrite(
        where(binary("Greater", x, z), x, x * s),
        binary("PRelu", x, s),
        is_slope(s, z),
        because="one operator",
    )


@hosted()
def symmetric(s: Settings) -> Settings | None:
    """From -b to b, for sizes up to b."""
    how = dict(s)
    if how["max"] is None or how["min"] not in (None, 0, 0.0):
        return None
    return (("max", how["max"]), ("min", -how["max"]))


def clipped_size(high: float):
    return of_one(lambda x: clipped(0.0, high)(unary("Abs", (), x)))


@wrong("finite", clipped_size(-1.0), examples=fires_on(clipped_size(6.0), clipped_size(1.0)))
def clip_of_size(x: Tensor, s: Settings):
    """Clip(Abs(x); 0, b) = Abs(Clip(x; -b, b))

    Wrong for a b below 0.
    """
    yield rewrite(
        unary("Clip", s, unary("Abs", (), x)),
        unary("Abs", (), unary("Clip", symmetric(s), x)),
        is_single(x),
        because="either way",
    )


@wrong(
    "finite",
    of_one(lambda x: softplus(x) - x),
    values=(20.0, 9.0, -3.0),
    examples=fires_on(of_one(lambda x: softplus(x) - x)),
)
def softplus_of_mirrored(x: Tensor):
    """Softplus(x) - x = Softplus(-x)

    Wrong of large numbers, of which nothing is left.
    """
    yield rewrite(softplus(x) - x, softplus(-x), is_single(x), because="no difference")


@wrong(
    "finite",
    of_one(lambda x: reciprocal(sqrt(x))),
    values=(1e-40, 4.0, 0.25),
    examples=fires_on(of_one(lambda x: reciprocal(sqrt(x)))),
)
def root_of_reciprocal(x: Tensor):
    """1 / Sqrt(x) = Sqrt(1 / x)

    Wrong of numbers so small that their inverses are infinite.
    """
    yield rewrite(reciprocal(sqrt(x)), sqrt(reciprocal(x)), is_single(x), because="either way")
