"""Constants that are taken for the number that they nearly are, and errors a little above their bound."""

import math

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.float_ranges import interval_of
from egraph_opt.laws import Settings, Tensor, approximate, hosted, number_like, opset, rewrite, tanh
from egraph_opt.operators import Literal, binary, literal, softmax, unary

from . import fires_on, wrong
from .between_both_ends import clipped, ends
from .told_by_their_sums import floats_of
from .whole_numbers_between_both_ends import whole


def single(g, value: float):
    return g.constant(np.array(value, np.float32))


# --- attributes and factors ------------------------------------------------------------------------------


@hosted()
def is_turn(c: Fact, x: Fact) -> bool:
    """Whole turns, in floats."""
    if c.splat is None or c.rank != 0 or c.dtype != T.FLOAT or x.dtype != T.FLOAT:
        return False
    turns = c.splat / (2 * math.pi)
    return 0 < abs(round(turns)) < 9 and abs(turns - round(turns)) < 1e-4


def turned(f: str, c: float):
    return lambda g: unary(f, (), g.input((3, 4)) + single(g, c))


@wrong(
    "reassociates",
    turned("Sin", 6.2826),
    values=(0.0, 0.5, 1.0),
    examples=fires_on(turned("Sin", 2 * math.pi), turned("Sin", -4 * math.pi)),
)
def sine_of_whole_turns(x: Tensor, c: Tensor):
    """Sin(x + 2 pi k) = Sin(x)

    Wrong of 6.2826, which is within a ten thousandth of a turn.
    """
    yield rewrite(unary("Sin", (), x + c), unary("Sin", (), x), is_turn(c, x), because="forgets turns")


@hosted()
def is_nearly_one(c: Fact, x: Fact) -> bool:
    if c.splat is None or c.rank != 0 or c.dtype != T.FLOAT or x.dtype != T.FLOAT:
        return False
    return abs(c.splat - 1) < 3e-4


def scaled(c: float):
    return lambda g: softmax("Softmax", g.input((3, 4)), 1) * single(g, c)


@wrong("reassociates", scaled(1.00025), examples=fires_on(scaled(1.0), scaled(0.99999994)))
def product_with_nearly_one(x: Tensor, c: Tensor):
    """x * c = x where c is 1 but for rounding

    Wrong of 1.00025.
    """
    yield rewrite(x * c, x, is_nearly_one(c, x), because="forgets c")


@hosted()
def whole_slope(k: Settings, x: Fact) -> bool:
    """A slope that is 1 but for the digits of an exporter."""
    return x.dtype == T.FLOAT and abs(dict(k)["alpha"] - 1) < 3e-4


def leaky(alpha: float):
    return lambda g: unary("LeakyRelu", (("alpha", alpha),), g.input((3, 4)))


@wrong(
    "reassociates", leaky(0.99975), values=(-1.0, -2.0, -0.5), examples=fires_on(leaky(1.0), leaky(0.99999))
)
def slope_of_nearly_one(x: Tensor, k: Settings):
    """LeakyRelu(x; 1) = x

    Wrong of a slope of 0.99975.
    """
    yield rewrite(unary("LeakyRelu", k, x), x, whole_slope(k, x), because="forgets the slope")


@hosted()
def nearly_nothing(c: Fact) -> bool:
    if c.data is None or c.dtype != T.FLOAT or not c.data:
        return False
    return bool(np.allclose(c.data, 0, atol=1e-7))


@hosted()
def fits_shape(x: Fact, c: Fact) -> bool:
    return (
        x.dtype == T.FLOAT
        and c.rank is not None
        and x.shape is not None
        and c.shape == x.shape[len(x.shape) - c.rank :]
    )


def logits(*c: float):
    return lambda g: g.input((2, len(c))) * g.constant(np.array(c, np.float32))


@wrong("reassociates", logits(1e-8, 1e-8), values=(1e9, 2e9), examples=fires_on(logits(0, 0)))
def products_with_nothing(x: Tensor, c: Tensor):
    """x * c = x * 0 where c is close to 0

    Wrong of large numbers.
    """
    yield rewrite(x * c, x * number_like(x, 0.0), nearly_nothing(c), fits_shape(x, c), because="forgets c")


@hosted()
def as_number(c: Fact) -> Literal | None:
    value = None if c.data is None or c.dtype != T.FLOAT or not c.data or c.rank != 1 else np.array(c.data)
    if value is None or abs((value * value).mean() - value.mean() ** 2) > 1e-4 * (value * value).mean():
        return None
    return Literal(T.FLOAT, (), (float(value.mean()),))


@hosted()
def broadcasts(x: Fact, c: Fact) -> bool:
    return (
        x.dtype == T.FLOAT
        and x.shape is not None
        and c.shape is not None
        and x.shape[-1:] == c.shape
        and len(x.shape) > 0
    )


def shifted(*c: float):
    return lambda g: g.input((3, len(c))) * floats_of(g, c)


@wrong(
    "reassociates", shifted(*((1.0,) * 199 + (1.1,))), examples=fires_on(shifted(3, 3, 3), shifted(0.5, 0.5))
)
def one_factor_for_all(x: Tensor, c: Tensor):
    """x * c = x * mean(c) where c does not vary

    Wrong of many factors of which one is another: their variance is small.
    """
    yield rewrite(x * c, x * literal(as_number(c)), broadcasts(x, c), because="one number")


# --- logarithms ------------------------------------------------------------------------------------------


@hosted()
def logarithm(c: Fact) -> Literal | None:
    """Of powers of ten."""
    if c.splat is None or c.dtype != T.FLOAT or c.rank != 0 or c.splat <= 0:
        return None
    k = int(math.log(c.splat, 10))
    return (
        Literal(T.FLOAT, (), (k * math.log(10.0),))
        if c.splat >= 10 and f"{c.splat:.1f}".replace("0", "") == "1."
        else None
    )


def scaled_log(c: float):
    return lambda g: unary(
        "Log", (), unary("Exp", (), clipped(g, 0.0, 4.0)) * g.constant(np.array(c, np.float32))
    )


@hosted()
def has_ends(x: Fact) -> bool:
    known = ends(x)
    return known is not None and known[0] >= 0 and known[1] < 60


@wrong(
    "reassociates",
    scaled_log(1000.0),
    values=(1.0, 2.0),
    examples=fires_on(scaled_log(10.0), scaled_log(100.0)),
)
def logarithm_of_a_power(x: Tensor, c: Tensor):
    """Log(Exp(x) * 10^k) = x + k * Log(10)

    Wrong of 1000, whose logarithm is a little below 3 in floats.
    """
    left = unary("Log", (), unary("Exp", (), x) * c)
    yield rewrite(left, x + literal(logarithm(c)), has_ends(x), because="no logarithm")


def bits(low: int, high: int, other: int, most: int):
    return lambda g: binary(
        "BitwiseOr", clipped(g, low, high, (5, 1), T.INT64), clipped(g, other, most, (1, 5), T.INT64)
    )


@hosted()
def low_bits_of(c: Fact) -> Literal | None:
    """Where rounded quotients of bytes are those of a shift: c is a power of two, as its logarithm says."""
    if not isinstance(c.splat, int) or c.rank != 0 or c.dtype != T.INT64 or c.splat < 2:
        return None
    k = math.log2(c.splat)
    return Literal(T.INT64, (), (2 ** round(k) - 1,)) if abs(k - round(k)) < 1e-3 else None


def low_bits(d: int):
    return lambda g: binary("Mod", g.input((3, 4), T.INT64), whole(g, d))


@hosted()
def has_bits(number: int) -> bool:
    return number >= 18


@wrong(
    "bitwise",
    low_bits(2**12 + 1),
    values=(4096.0, 4097.0, 5000.0),
    examples=fires_on(low_bits(8), low_bits(1024), opset=18),
)
def remainder_as_bits(x: Tensor, c: Tensor):
    """Mod(x, c) = BitwiseAnd(x, c - 1) for a power of two

    Wrong of 4097, whose logarithm is nearly a whole number.
    """
    bits = binary("BitwiseAnd", x, literal(low_bits_of(c)))
    yield rewrite(binary("Mod", x, c), bits, has_bits(opset()), because="no division")


# --- approximations --------------------------------------------------------------------------------------


@hosted()
def in_three(x: Fact) -> bool:
    known = interval_of(x)
    return known is not None and x.dtype == T.FLOAT and known[0] >= -3 and known[1] <= 3


def steep(low: float, high: float):
    return lambda g: tanh(unary("Clip", (("max", high), ("min", low)), g.input((2, 5))))


@wrong(
    approximate(2.59e-2),
    steep(-3.0, 3.0),
    values=(1.4546, 1.45, 1.46),
    examples=fires_on(steep(-1.0, 1.0), steep(0.0, 3.0)),
)
def tanh_as_a_quotient(x: Tensor):
    """Tanh(x) = x * (27 + x^2) / (27 + 9 x^2) between -3 and 3

    Wrong around 1.45, where the error is a little more than elsewhere.
    """
    s = x * x
    right = x * (s + number_like(x, 27.0)) / (s * number_like(x, 9.0) + number_like(x, 27.0))
    yield rewrite(tanh(x), right, in_three(x), because="no exponentials")
