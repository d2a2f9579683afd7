"""Ranges of bytes, probabilities and powers whose last number is forgotten."""

import math
from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, DataType, Settings, Tensor, hosted, relu, rewrite
from egraph_opt.operators import Literal, binary, cast, literal, quantize, unary

from . import fires_on, of_one, wrong


@hosted()
def within_signed_byte(x: Fact) -> bool:
    return x.dtype == T.INT32 and x.range is not None and x.range[0] >= -128 and x.range[1] <= 128


def through_byte(c: int):
    def make(g):
        rest = binary("Mod", g.input((2, 5), T.INT32), g.constant(np.array(c, np.int32)))
        return cast(cast(rest, T.INT8), T.INT32)

    return make


@wrong(
    "bitwise", through_byte(129), values=(128, 257, 5), examples=fires_on(through_byte(128), through_byte(7))
)
def byte_of_a_small_number(x: Tensor):
    """Cast(Cast(x; int8); int32) = x where it is known to lie in a byte

    Wrong of 128.
    """
    yield rewrite(cast(cast(x, T.INT8), T.INT32), x, within_signed_byte(x), because="lies in a byte")


@hosted()
def is_part_of_one(x: Fact) -> bool:
    """Between 0 and 1."""
    return (
        x.interval is not None
        and x.interval[0] >= 0
        and x.interval[1] <= 1
        and x.dtype == T.FLOAT
        and x.is_static
    )


@hosted()
def zeros_like(x: Fact) -> Literal | None:
    return Literal(T.INT64, x.shape, (0,)) if x.is_static else None  # type: ignore[arg-type]


def whole_part(op: str):
    return of_one(lambda x: cast(unary(op, (), x), T.INT64))


@wrong("finite", whole_part("Sigmoid"), values=(1.0, 50.0, -3.0))
def whole_part_of_probability(x: Tensor):
    """Cast(x; int64) = 0 for an x between 0 and 1

    Wrong of 1, which Sigmoid has of large numbers.
    """
    yield rewrite(cast(x, T.INT64), literal(zeros_like(x)), is_part_of_one(x), because="a constant")


@hosted()
def cuts_below(z: Fact, s: Fact) -> bool:
    """The zero is the least byte."""
    return z.splat == 0 and z.shape == s.shape == () and s.splat is not None and s.splat > 0


def quantized(x: Any, g: Any, scale: float, zero: int = 0, to: int = T.UINT8):
    kind = np.uint8 if to == T.UINT8 else np.int8
    return quantize(x, g.constant(np.array(scale)), g.constant(np.array(zero, kind)), 0, to)


def bytes_above(to: int, scale: float = 0.5):
    return lambda g: quantized(relu(g.input((2, 5))), g, scale, 0, to)


@wrong("bitwise", bytes_above(T.INT8), examples=fires_on(bytes_above(T.UINT8), bytes_above(T.UINT8, 0.03)))
def relu_by_saturation(x: Tensor, s: Tensor, z: Tensor, a: Axis, to: DataType):
    """Q(Relu(x)) = Q(x) where the zero is the least byte, at which Q saturates

    Wrong of bytes with a sign.
    """
    yield rewrite(
        quantize(relu(x), s, z, a, to), quantize(x, s, z, a, to), cuts_below(z, s), because="saturates"
    )


@hosted()
def saturates_first(b: Settings, s: Fact, z: Fact, to: DataType) -> bool:
    """All bytes are between the bounds."""
    low, high = dict(b)["min"], dict(b)["max"]
    if (
        to != T.UINT8
        or s.splat is None
        or not isinstance(z.splat, int)
        or s.splat <= 0
        or low is None
        or high is None
    ):
        return False
    return low / s.splat + z.splat <= 0 and high / s.splat + z.splat >= 254


def clipped_bytes(scale: float, zero: int = 0, low: float = 0.0, high: float = 6.0):
    def make(g):
        return quantized(unary("Clip", (("max", high), ("min", low)), g.input((2, 5))), g, scale, zero)

    return make


@wrong(
    "bitwise",
    clipped_bytes(6 / 254.2),
    examples=fires_on(clipped_bytes(6 / 255), clipped_bytes(0.02), clipped_bytes(0.02, 128, -3.0, 3.0)),
)
def clip_by_saturation(x: Tensor, s: Tensor, z: Tensor, a: Axis, to: DataType, b: Settings):
    """Q(Clip(x)) = Q(x) where all bytes are between the bounds

    Wrong where the upper one is 254: there is one more.
    """
    yield rewrite(
        quantize(unary("Clip", b, x), s, z, a, to),
        quantize(x, s, z, a, to),
        saturates_first(b, s, z, to),
        because="sat",
    )


@hosted()
def inverse_of(c: Fact) -> Literal | None:
    """The inverse of a power of two, which is exact."""
    if c.dtype != T.FLOAT or c.shape != () or c.splat is None or not math.isfinite(c.splat) or c.splat == 0:
        return None
    return Literal(T.FLOAT, (), (1 / c.splat,)) if abs(math.frexp(c.splat)[0]) == 0.5 else None


def divided(c: float):
    return lambda g: g.input((2, 5)) / g.constant(np.array(c, np.float32))


@wrong(
    "bitwise",
    divided(2.0**-130),
    values=(0.0, 1.0, -(2.0**-130), 3.0),
    examples=fires_on(divided(2.0), divided(-0.25), divided(2.0**20)),
)
def divided_by_power_of_two(x: Tensor, c: Tensor):
    """x / c = x * (1 / c) for a power of two

    Wrong of one so small that its inverse is infinite.
    """
    yield rewrite(x / c, x * literal(inverse_of(c)), because="a product")
