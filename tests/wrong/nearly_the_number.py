"""Thresholds that leave too much room: nearly positive, nearly the root of 2, nearly one scale or bound."""

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.float_ranges import interval_of
from egraph_opt.laws import Axis, DataType, Settings, Tensor, erf, hosted, relu, rewrite
from egraph_opt.operators import dequantize, quantize, unary
from egraph_opt.rewrites.conditions.values import fits, is_kernel_float

from . import fires_on, wrong

BYTE, FLOAT, SHORT = TensorProto.UINT8, TensorProto.FLOAT, TensorProto.UINT16

# --- numbers ----------------------------------------------------------------------------------------------


@hosted()
def are_nearly_positive(c: Fact) -> bool:
    """Constants of at least -0.001, one of which is above 0."""
    known = interval_of(c)
    if not c.const or c.dtype != FLOAT or known is None:
        return False
    least, greatest, may_be_nan = known
    return least > -1e-3 and greatest > 0 and not may_be_nan


@wrong(
    "reassociates",
    lambda g: relu(g.input((4, 2)) * g.constant([-5e-4, 1e-3])),
    examples=fires_on(lambda g: relu(g.input(("N", 3)) * g.constant([1.0, 2.0, 3.0]))),
)
def relu_of_nearly_positive(x: Tensor, c: Tensor):
    """Relu(x * c) = Relu(x) * c for constants that are positive or nearly so

    Wrong where one is a little below 0: the sign is all that Relu asks for.
    """
    known = (are_nearly_positive(c), fits(c, x))
    yield rewrite(relu(x * c), relu(x) * c, known, because="factors go down")


@hosted()
def is_nearly(c: Fact, number: float) -> bool:
    return c.splat is not None and abs(c.splat - number) < 1e-3


def gelu_by(divisor: float, shape=(4,)):
    def made(g):
        x = g.input(shape)
        return g.constant(0.5) * x * (g.constant(1.0) + erf(x / g.constant(divisor)))

    return made


@wrong(
    "reassociates",
    gelu_by(1.415),
    values=(1.0, -1.0, 0.5, -0.5),
    examples=fires_on(gelu_by(2**0.5, ("N", 3))),
)
def nearly_gelu(x: Tensor, a: Tensor, b: Tensor, c: Tensor):
    """0.5 x (1 + Erf(x / c)) = Gelu(x) for a c of about the square root of 2

    Wrong where c is 1.415: the result is wrong in the fourth digit.
    """
    numbers = (is_nearly(a, 0.5), is_nearly(b, 1.0), is_nearly(c, 2**0.5))
    shapes = (fits(a, x), fits(b, x), fits(c, x))
    gelu = unary("Gelu", (("approximate", "none"),), x)
    known = (*numbers, *shapes, is_kernel_float(x))
    yield rewrite(a * x * (b + erf(x / c)), gelu, known, because="one node instead of five")


# --- scales -----------------------------------------------------------------------------------------------


@hosted()
def are_scales_alike(s: Fact, t: Fact) -> bool:
    """Two scales of all elements, a thousandth apart at most."""
    if s.rank != 0 or t.rank != 0 or s.splat is None or t.splat is None or not s.dtype == t.dtype == FLOAT:
        return False
    return 1e-6 < s.splat < 1e6 and abs(t.splat / s.splat - 1) < 1e-3


@hosted()
def is_stored_alike(z: Fact, w: Fact, q: Fact, to: DataType) -> bool:
    """One zero point and one type."""
    return z == w and z.rank == 0 and z.splat is not None and q.dtype == to


def again(kind: int, dtype, scale: float, shape=(3,)):
    def made(g):
        zero = g.constant(np.array(3, dtype))
        floats = dequantize(g.input(shape, kind), g.constant(0.05), zero, 0)
        return quantize(floats, g.constant(scale), zero, 0, kind)

    return made


@wrong(
    "bitwise",
    again(SHORT, np.uint16, 0.05004),
    opset=21,
    values=(60000, 3, 10000),
    examples=fires_on(again(BYTE, np.uint8, 0.050001, ("N", 3))),
)
def requantized_alike(q: Tensor, s: Tensor, t: Tensor, z: Tensor, w: Tensor, a: Axis, to: DataType):
    """Q(DQ(q; s); t) = q where t is s but for a thousandth

    Wrong of 16 bits: a thousandth of 60000 is 60 steps. Of bytes it is less than half a step.
    """
    known = (are_scales_alike(s, t), is_stored_alike(z, w, q, to))
    yield rewrite(quantize(dequantize(q, s, z, a), t, w, a, to), q, known, because="any q would be a float")


@hosted()
def bounds_at_254_scales(f: Settings, s: Fact, z: Fact, to: DataType) -> bool:
    """Nothing between 0 and 254 scales is cut off."""
    scales, bounds = interval_of(s), dict(f)
    if scales is None or z.splat != 0 or to != BYTE or bounds["max"] is None:
        return False
    least, greatest, may_be_nan = scales
    if may_be_nan or least <= 1e-6 or greatest > 1e6:
        return False
    return (bounds["min"] is None or bounds["min"] <= 0) and bounds["max"] >= 254 * greatest


def clipped(bound: float, scale: float, shape=(3,)):
    def made(g):
        x = unary("Clip", (("max", bound), ("min", 0.0)), g.input(shape))
        return quantize(x, g.constant(scale), g.constant(np.uint8(0)), 0, BYTE)

    return made


@wrong(
    "bitwise",
    clipped(254.0, 1.0),
    values=(300.0, 1.0, 255.0),
    examples=fires_on(clipped(6.0, 6 / 255, (2, 3))),
)
def clip_saturated(x: Tensor, f: Settings, s: Tensor, z: Tensor, a: Axis, to: DataType):
    """Q(Clip(x)) = Q(x) where the upper bound is 254 scales or more

    Wrong between 254 and 255 scales: the greatest byte is 255.
    """
    bounded = quantize(unary("Clip", f, x), s, z, a, to)
    known = bounds_at_254_scales(f, s, z, to)
    yield rewrite(bounded, quantize(x, s, z, a, to), known, because="bytes are bounded anyway")
