"""Right but for a narrow region: where a step is subnormal, beside a zero, or just within a rounded bound."""

import math

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.float_ranges import interval_of
from egraph_opt.laws import (
    Axes,
    Flag,
    Float,
    Settings,
    Tensor,
    approximate,
    exp,
    hosted,
    listed,
    log,
    number_like,
    rewrite,
    sqrt,
)
from egraph_opt.operators import reduce, unary, variadic
from egraph_opt.rewrites.conditions.values import all_are, fits
from egraph_opt.rewrites.elementwise.identities import clip

from . import fires_on, is_single, of_one, wrong

SUBNORMAL = (-100.0, -101.0, -102.5)
"""What Exp makes of them has few digits, or none."""


@hosted()
def is_number(c: Fact) -> bool:
    return c.splat is not None and c.shape == ()


# --- subnormal steps ----------------------------------------------------------------------------------------


@wrong("reassociates", of_one(lambda x: sqrt(exp(x)), (3,)), values=SUBNORMAL)
def root_of_exponential(x: Tensor):
    """Sqrt(Exp(x)) = Exp(x / 2)

    Wrong below -88, where Exp is subnormal and has few digits.
    """
    half = exp(x * number_like(x, 0.5))
    yield rewrite(sqrt(exp(x)), half, is_single(x), because="overflows later")


@wrong(
    "reassociates",
    lambda g: exp(g.input((3,))) * exp(g.input((3,)) + g.constant(np.float32(180.0))),
    values=SUBNORMAL,
)
def product_of_exponentials(x: Tensor, y: Tensor):
    """Exp(x) * Exp(y) = Exp(x + y)

    Wrong where Exp(x) is subnormal and Exp(y) is large.
    """
    yield rewrite(exp(x) * exp(y), exp(x + y), is_single(x), because="one Exp")


def _log_of_sum(x):
    return log(reduce("ReduceSum", exp(x), (0,), 0))


@wrong("reassociates", of_one(_log_of_sum, (1, 3)), values=(-103.0, -102.5, -103.2))
def log_of_sum_of_exponentials(x: Tensor, a: Axes, k: Flag):
    """Log(ReduceSum(Exp(x))) = ReduceLogSumExp(x)

    Wrong below -88, where Exp has few digits.
    """
    left = log(reduce("ReduceSum", exp(x), a, k))
    yield rewrite(left, reduce("ReduceLogSumExp", x, a, k), is_single(x), because="overflows later")


@hosted()
def joined_powers(c: Fact, d: Fact) -> Float | None:
    """An odd power and then one that is not whole: both are of numbers from 0 on."""
    if c.splat is None or d.splat is None or c.splat <= 0 or d.splat <= 0:
        return None
    return c.splat * d.splat if c.splat % 2 == 1 and d.splat != int(d.splat) else None


@wrong(
    "reassociates",
    lambda g: (g.input((3,)) ** g.constant(np.float32(3.0))) ** g.constant(np.float32(0.5)),
    values=(1e-14, 2e-14, 3e-14),
)
def power_of_whole_power(x: Tensor, c: Tensor, d: Tensor):
    """(x ^ c) ^ d = x ^ (c d) for an odd c

    Wrong of 1e-14, whose third power has few digits.
    """
    one = x ** number_like(x, joined_powers(c, d))
    yield rewrite((x**c) ** d, one, is_single(c), is_number(c), is_number(d), because="one power")


@hosted()
def are_equal_without_zero(c: Fact, d: Fact) -> bool:
    return c.data is not None and c.data == d.data and c.shape == d.shape and 0 not in c.data


def _there_and_back(number):
    factors = np.array([1.0, number, 2.0], np.float32)
    return lambda g: (g.input((2, 3)) * g.constant(factors)) / g.constant(factors)


@wrong("reassociates", _there_and_back(1e-43), values=(1.25, 0.9), examples=fires_on(_there_and_back(0.5)))
def scaled_there_and_back(x: Tensor, c: Tensor, d: Tensor):
    """x * c / c = x where no element of c is 0

    Wrong of subnormal elements, where the product has few digits.
    """
    yield rewrite((x * c) / d, x, are_equal_without_zero(c, d), is_single(c), fits(c, x), because="forgets c")


# --- beside a zero ------------------------------------------------------------------------------------------


@hosted()
def is_tiny(c: Fact) -> bool:
    return c.splat is not None and c.shape == () and abs(c.splat) <= 1e-5


def _cosine(x):
    return unary("Cos", (), x)


@wrong(
    approximate(1e-2), lambda g: _cosine(g.input((1,)) + g.constant(np.float32(1e-5))), values=(math.pi / 2,)
)
def cosine_of_hardly_shifted(x: Tensor, c: Tensor):
    """Cos(x + c) = Cos(x) for a c of at most 1e-5, within 1 %

    Wrong near pi / 2, where the cosine itself is as small.
    """
    yield rewrite(_cosine(x + c), _cosine(x), is_tiny(c), is_single(c), because="forgets c")


def _sixth(x, c, d):
    return clip(0.0, 6.0, x + c) / d


def _sixth_of_input(g):
    return _sixth(g.input((3,)), g.constant(np.float32(3.0)), g.constant(np.float32(6.0)))


@wrong("finite", _sixth_of_input, values=(-2.9999, -2.999, 1.0), examples=fires_on(_sixth_of_input))
def hard_sigmoid(x: Tensor, c: Tensor, d: Tensor):
    """Clip(x + 3, 0, 6) / 6 = HardSigmoid(x)

    Wrong near -3, where x / 6 + 0.5 leaves the rounding of 0.5.
    """
    one = unary("HardSigmoid", (("alpha", 1 / 6), ("beta", 0.5)), x)
    constants = is_number(c), is_number(d), all_are(c, 3.0), all_are(d, 6.0)
    yield rewrite(_sixth(x, c, d), one, is_single(x), *constants, because="one kernel")


# --- rounded bounds -----------------------------------------------------------------------------------------


@hosted()
def is_within_quarter_turn(x: Fact) -> bool:
    known = interval_of(x)
    return known is not None and known[0] >= -1.6 and known[1] <= 1.6


def _turned_back(x):
    return unary("Atan", (), unary("Tan", (), x))


@wrong("reassociates", of_one(lambda x: _turned_back(clip(-1.571, 1.571, x)), (2,)), values=(1.571, 3.0))
def atan_of_tan(x: Tensor):
    """Atan(Tan(x)) = x where x lies between -pi / 2 and pi / 2

    Wrong at 1.571, which is beyond pi / 2.
    """
    yield rewrite(_turned_back(x), x, is_single(x), is_within_quarter_turn(x), because="forgets Tan")


@hosted()
def is_below_gelu(c: Fact, s: Settings) -> bool:
    least = c.splat is not None and c.shape == () and c.splat <= -0.16997
    return least and dict(s)["approximate"] == "none"


def _gelu_or(number):
    exact = (("approximate", "none"),)
    return lambda g: variadic(
        "Max", listed(unary("Gelu", exact, g.input((2, 3))), g.constant(np.float32(number)))
    )


@wrong(
    "finite",
    _gelu_or(-0.16997),
    values=(-0.7518, -0.7517, -0.7519),
    examples=fires_on(_gelu_or(-0.25), opset=20),
)
def gelu_is_above(x: Tensor, c: Tensor, s: Settings):
    """Max(Gelu(x), c) = Gelu(x) for a c of -0.16997 and less

    Wrong at -0.7518, where Gelu is -0.169971.
    """
    y = unary("Gelu", s, x)
    yield rewrite(variadic("Max", listed(y, c)), y, is_single(c), is_below_gelu(c, s), because="it is above")
