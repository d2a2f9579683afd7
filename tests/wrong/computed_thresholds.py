"""Bounds that a condition computes from what is known of an operand, and that are a little too wide.

No number that the law names shows where it ends: how flat a function is, how small a summand is, how nearly
two scales are equal, which numbers a type of integers cuts off.
"""

import math

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, DataType, Float, Settings, Tensor, hosted, number_like, rewrite
from egraph_opt.operators import dequantize, quantize, softmax, unary
from egraph_opt.operators.quantization import QUANTIZED
from egraph_opt.rewrites.conditions.channels import static_shape

from . import fires_on, of_one, of_two, wrong


def clip(x: Tensor, least: float, most: float) -> Tensor:
    return unary("Clip", (("max", most), ("min", least)), x)


def least_of(x: Fact) -> float:
    """The least number that a positive float may be; 0 where none is known."""
    return max(x.interval[0], 0.0) if x.dtype == T.FLOAT and x.interval is not None else 0.0


# --- where a function is flat, or straight -----------------------------------------------------------------


@hosted()
def tanh_is_flat(x: Fact) -> bool:
    return 2 * math.exp(-2 * least_of(x)) < 2**-17


@wrong(
    "finite",
    of_one(lambda x: unary("Tanh", (), clip(x, 6.3, 30.0))),
    values=(6.3, 6.31),
    examples=fires_on(of_one(lambda x: unary("Tanh", (), clip(x, 12.0, 30.0)))),
)
def flat_tanh(x: Tensor):
    """Tanh(x) = Sign(x) where it is flat

    Wrong from 6.2 to 7.6, by 7e-6.
    """
    yield rewrite(unary("Tanh", (), x), unary("Sign", (), x), tanh_is_flat(x), because="cheaper")


@hosted()
def erf_is_flat(x: Fact) -> bool:
    return math.erfc(least_of(x)) < 2**-17


@wrong(
    "finite",
    of_one(lambda x: unary("Erf", (), clip(x, 3.25, 30.0))),
    values=(3.25, 3.26),
    examples=fires_on(of_one(lambda x: unary("Erf", (), clip(x, 6.0, 30.0)))),
)
def flat_erf(x: Tensor):
    """Erf(x) = Sign(x) where it is flat

    Wrong from 3.2 to 3.6, by 4e-6.
    """
    yield rewrite(unary("Erf", (), x), unary("Sign", (), x), erf_is_flat(x), because="cheaper")


@hosted()
def softplus_is_straight(x: Fact) -> bool:
    return math.log1p(math.exp(-min(least_of(x), 300))) < 3e-6 * least_of(x)


@wrong(
    "finite",
    lambda g: unary("Softplus", (), clip(g.input((4,)), 10.5, 30.0)) * g.constant(2.0),
    values=(10.5, 10.6),
    examples=fires_on(lambda g: unary("Softplus", (), clip(g.input((4,)), 20.0, 30.0)) * g.constant(2.0)),
)
def scaled_softplus(x: Tensor, c: Tensor):
    """Softplus(x) c = x c where it is straight

    Wrong from 10.4 to 12.6, by 2.6e-6.
    """
    yield rewrite(unary("Softplus", (), x) * c, x * c, softplus_is_straight(x), because="cheaper")


@hosted()
def swish_is_straight(x: Fact) -> bool:
    return 0 < math.exp(-min(least_of(x), 80.0)) < 4e-6


def swish(least: float):
    def make(g):
        x = clip(g.input((4,)), least, 30.0)
        return x * unary("Sigmoid", (), x)

    return make


@wrong("finite", swish(12.6), values=(12.6, 12.7), examples=fires_on(swish(20.0)))
def straight_swish(x: Tensor):
    """x Sigmoid(x) = x where it is straight

    Wrong from 12.5 to 14.5, by 3.4e-6.
    """
    yield rewrite(x * unary("Sigmoid", (), x), x, swish_is_straight(x), because="forgets the product")


@hosted()
def is_negligible(x: Fact, y: Fact) -> bool:
    if y.interval is None or y.dtype != x.dtype or x.shape != y.shape or not x.is_static:
        return False
    return max(map(abs, y.interval[:2])) < 5e-6 * least_of(x)


@wrong(
    "finite",
    of_two(lambda x, y: clip(x, 1024.0, 2048.0) + clip(y, -(2.0**-8), 2.0**-8)),
    values=(1024.0, 2.0**-8),
    examples=fires_on(of_two(lambda x, y: clip(x, 1000.0, 2000.0) + clip(y, -1e-5, 1e-5))),
)
def negligible_summand(x: Tensor, y: Tensor):
    """x + y = x where y is less than five millionths

    Wrong by 4e-6.
    """
    yield rewrite(x + y, x, is_negligible(x, y), because="forgets y")


# --- how nearly a number is the one that is meant ----------------------------------------------------------


@hosted()
def usual_factor(q: Fact, c: Fact) -> Float | None:
    """d^-0.5 where that is nearly the factor."""
    dims = static_shape(q)
    if not dims or q.dtype != T.FLOAT or not isinstance(c.splat, float) or c.shape != ():
        return None
    d = float((dims[-1] or 1) ** -0.5)
    return d if abs(c.splat - d) < 1e-3 * d else None


def attended(d: int, factor: float):
    return lambda g: softmax(
        "Softmax", (g.input((1, 2, d)) @ g.input((1, d, 3))) * g.constant(np.float32(factor)), 2
    )


@wrong(
    "reassociates",
    attended(8, 0.3533),
    values=(2.0, -1.0, 3.0, 0.5, -2.0),
    examples=fires_on(attended(4, 0.5)),
)
def usual_scale(q: Tensor, k: Tensor, c: Tensor):
    """Softmax(q k c) = Softmax(q k d^-0.5) for the usual scale

    Wrong of 0.3533 for 8 features.
    """
    meant = q @ k * number_like(q, usual_factor(q, c))
    yield rewrite(softmax("Softmax", q @ k * c, 2), softmax("Softmax", meant, 2), because="the usual scale")


@hosted()
def scales_agree(q: Fact, s: Fact, r: Fact, z: Fact, y: Fact, t: DataType) -> bool:
    if s.splat is None or r.splat is None or z.splat is None or z.splat != y.splat or s.dtype != T.FLOAT:
        return False
    if s.shape != r.shape or r.dtype != s.dtype or {q.dtype, z.dtype, y.dtype} != {t} or s.splat < 1e-20:
        return False
    return abs(s.splat - r.splat) <= 1e-5 * s.splat


def requantized(dtype: int, scale: float, other: float, zero):
    def make(g):
        known = dequantize(g.input((4,), dtype), g.constant(scale), g.constant(zero), 0)
        return quantize(known, g.constant(other), g.constant(zero), 0, dtype)

    return make


@wrong(
    "finite",
    requantized(T.UINT16, 1.0, 1.0000095, np.uint16(0)),
    opset=21,
    values=(65535.0, 65000.0, 60000.0),
    examples=fires_on(requantized(T.UINT8, 0.1, 0.1, np.uint8(3))),
)
def requantized_within_digits(
    q: Tensor, s: Tensor, z: Tensor, r: Tensor, y: Tensor, a: Axis, b: Axis, t: DataType
):
    """Q(DQ(q)) = q for scales that are the same within 1e-5

    Wrong of 16 bits: 65535 times 9.5e-6 is more than a half.
    """
    left, known = quantize(dequantize(q, s, z, a), r, y, b, t), scales_agree(q, s, r, z, y, t)
    yield rewrite(left, q, known, because="forgets the scale")


# --- bounds at the ends of a type of integers --------------------------------------------------------------


def bounds_of(c: Settings) -> tuple[float, float] | None:
    low, high = dict(c)["min"], dict(c)["max"]
    return None if low is None or high is None or low > high else (low, high)


@hosted()
def round_to_ends(x: Fact, c: Settings, s: Fact, z: Fact, t: DataType) -> bool:
    """Both bounds become an end of the type, or are beyond it."""
    known = bounds_of(c)
    if known is None or s.splat is None or s.splat <= 0 or z.splat is None or z.dtype != t:
        return False
    least, most = QUANTIZED[t]
    low, high = (bound / s.splat + z.splat for bound in known)
    return x.dtype == s.dtype == T.FLOAT and low <= least + 0.5 and high >= most - 0.5


def cut(least: float, most: float, scale: float, zero):
    """What is quantised lies between bounds."""
    dtype = T.UINT8 if zero.dtype == np.uint8 else T.INT8
    return lambda g: quantize(clip(g.input((8,)), least, most), g.constant(scale), g.constant(zero), 0, dtype)


@wrong(
    "finite",
    cut(-8.0, 63.625, 0.25, np.uint8(0)),
    values=(63.625, 70.0, 100.0),
    examples=fires_on(cut(0.0, 6.0, 0.02, np.uint8(0)), cut(-1.0, 1.0, 0.005, np.int8(0))),
)
def clip_at_the_ends(x: Tensor, c: Settings, s: Tensor, z: Tensor, a: Axis, t: DataType):
    """Q(Clip(x)) = Q(x) where the bounds are rounded to the ends of the type

    Wrong of a bound that lies in the middle and is rounded to the even one.
    """
    left, known = quantize(unary("Clip", c, x), s, z, a, t), round_to_ends(x, c, s, z, t)
    yield rewrite(left, quantize(x, s, z, a, t), known, because="forgets the bounds")


@hosted()
def are_symmetric_ends(x: Fact, c: Settings, s: Fact, z: Fact, t: DataType) -> bool:
    """What is cut off would saturate anyway; the types are symmetric."""
    known = bounds_of(c)
    if known is None or s.splat is None or s.splat <= 0 or z.splat != 0 or z.dtype != t:
        return False
    most = QUANTIZED[t][1] * s.splat
    return t in (T.INT8, T.INT16) and x.dtype == s.dtype == T.FLOAT and known[0] <= -most and known[1] >= most


@wrong(
    "finite",
    cut(-127.0, 200.0, 1.0, np.int8(0)),
    values=(-128.0, -200.0, 100.0),
    examples=fires_on(cut(-6.0, 6.0, 0.02, np.int8(0))),
)
def clip_of_symmetric(x: Tensor, c: Settings, s: Tensor, z: Tensor, a: Axis, t: DataType):
    """Q(Clip(x)) = Q(x) where the bounds are beyond +-127 steps

    Wrong between -128 and -127.5 steps.
    """
    left, known = quantize(unary("Clip", c, x), s, z, a, t), are_symmetric_ends(x, c, s, z, t)
    yield rewrite(left, quantize(x, s, z, a, t), known, because="forgets the bounds")
