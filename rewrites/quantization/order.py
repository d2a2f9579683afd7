"""Q and DQ of a positive scale keep an order, and Q saturates.

Q(Relu(x)) -> Q(x), Q(Clip(x)) -> Q(x)      where the quantized type has no numbers beyond the bounds
Q(Relu(DQ(q))) -> Clip(q), Q(Clip(DQ(q))) -> Clip(q)        by the bytes of the bounds
MaxPool(DQ(q)) -> DQ(MaxPool(q))
"""

import math
from collections.abc import Iterator

import numpy as np
from onnx import TensorProto, helper

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws import Example, Operands, hosted, laws_of, opset, relu, rewrite
from egraph_opt.laws.sorts import Axis, DataType, Settings, String, Tensor
from egraph_opt.operators import PoolWindow, dequantize, none, pool, quantize, unary
from egraph_opt.operators.quantization import BYTES, QUANTIZED, is_one_scale
from egraph_opt.rewrites.conditions.windows import always_sees_something
from egraph_opt.rewrites.quantization.round_trips import parameters, positive_scale, zero_of

law = laws_of("quantization", numerics="bitwise", kind="eliminate", serves="traffic")

# --- bounds that saturation has -------------------------------------------------------------------------


@hosted()
def is_saturated(f: str, settings: Settings, s: Fact, z: Fact, to: DataType) -> bool:
    """What f cuts off is quantized to the least or greatest number anyway."""
    scales, zero = positive_scale(s), zero_of(z)
    if scales is None or zero is None or f not in ("Clip", "Relu") or to not in QUANTIZED:
        return False
    if z != ABSENT and z.dtype != to:
        return False
    bounds = dict(settings) if f == "Clip" else {"min": 0.0, "max": None}
    low = -math.inf if bounds["min"] is None else bounds["min"]
    high = math.inf if bounds["max"] is None else bounds["max"]
    least, greatest = QUANTIZED[to]
    within = low > scales[1] * (least - zero), high < scales[1] * (greatest - zero)
    if s.splat is None or s.dtype != TensorProto.FLOAT:
        return not any(within)
    steps = [quantized(bound, scales[0]) + zero for bound in (low, high)]
    return bool((not within[0] or steps[0] <= least) and (not within[1] or steps[1] >= greatest))


def quantized(bound: float, scale: float) -> float:
    """In float32, how many steps of a scale."""
    with np.errstate(all="ignore"):
        return float(np.rint(np.float32(bound) / np.float32(scale)))


def _bounded(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, (s, z), to = g.input(("N", 4)), parameters(g, zero=0), TensorProto.UINT8
    six = unary("Clip", (("max", 6.0), ("min", 0.0)), x)
    yield g.fires(quantize(relu(x), s, z, 0, to))
    yield g.fires(quantize(relu(x), s, none(), 0, to))
    yield g.fires(quantize(six, *parameters(g, 6 / 256, 0), 0, to))
    yield g.fires(quantize(unary("Clip", (("max", 12.75), ("min", 0.0)), x), s, z, 0, to))
    below = unary("Clip", (("max", 12.7), ("min", 0.0)), x)
    yield g.near_miss(quantize(below, s, z, 0, to), why="254 steps are the greatest number")
    signed = parameters(g, 0.1, -128, np.int8)
    yield g.fires(quantize(relu(x), *signed, 0, TensorProto.INT8))
    scales, zeros = g.constant(np.array([1, 2, 3, 4], np.float32)), g.constant(np.zeros(4, np.uint8))
    yield g.fires(quantize(relu(x), scales, zeros, 1, to))
    yield g.near_miss(quantize(relu(x), *parameters(g, 0.1, 0, np.int8), 0, TensorProto.INT8), why="signed")
    yield g.near_miss(quantize(relu(x), s, g.constant(np.array(1, np.uint8)), 0, to), why="-1 has a number")
    yield g.near_miss(quantize(six, s, z, 0, to), why="there are numbers for what is above 6")
    yield g.near_miss(quantize(relu(x), g.constant(np.array(-0.5, np.float32)), z, 0, to), why="turned round")


@law(examples=_bounded)
def saturated(x: Tensor, f: String, g: Settings, s: Tensor, z: Tensor, a: Axis, to: DataType):
    """Q(Relu(x)) = Q(x), and Q(Clip(x)) = Q(x), where the quantized type has no numbers beyond the bounds"""
    cut = quantize(unary(f, g, x), s, z, a, to)
    yield rewrite(cut, quantize(x, s, z, a, to), is_saturated(f, g, s, z, to), because="forgets the bounds")


# --- bounds of bytes ------------------------------------------------------------------------------------


@hosted()
def bounds_of_bytes(f: str, settings: Settings, s: Fact, z: Fact, q: Fact, to: DataType) -> Settings | None:
    """The bounds that f has, quantized."""
    scales, zero = positive_scale(s), zero_of(z)
    if scales is None or zero is None or f not in ("Clip", "Relu"):
        return None
    if q.dtype != to or to not in BYTES or s.dtype != TensorProto.FLOAT:
        return None
    bounds = dict(settings) if f == "Clip" else {"min": 0.0, "max": None}
    if s.splat is None and any(bounds.values()):
        return None
    least, greatest = QUANTIZED[to]

    def as_byte(bound: float | None) -> int | None:
        if bound is None:
            return None
        steps = quantized(bound, scales[0])
        return None if np.isnan(steps) else int(min(max(steps + zero, least), greatest))

    return tuple((name, as_byte(bound)) for name, bound in sorted(bounds.items()))


@hosted()
def clips_bytes(version: int) -> bool:
    """Clip knows bytes."""
    return version >= 12


def _cut_bytes(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    for dtype, zero in ((np.uint8, 3), (np.int8, -7)):
        to = int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
        s, z = parameters(g, zero=zero, dtype=dtype)
        x = dequantize(g.input(("N", 4), to), s, z, 0)
        for made in (relu(x), *(unary("Clip", (("max", m), ("min", n)), x) for m, n in _BOUNDS)):
            yield g.fires(quantize(made, s, z, 0, to))
    scales, zeros = parameters(g, shape=(4,))
    by_axis = dequantize(g.input(("N", 4), TensorProto.UINT8), scales, zeros, 1)
    yield g.fires(quantize(relu(by_axis), scales, zeros, 1, TensorProto.UINT8))
    some = unary("Clip", (("max", 0.4), ("min", None)), by_axis)
    yield g.near_miss(quantize(some, scales, zeros, 1, TensorProto.UINT8), why="a bound for each scale")
    to, (s, z) = TensorProto.UINT8, parameters(g)
    x = dequantize(g.input(("N", 4), to), s, z, 0)
    yield g.near_miss(quantize(unary("Abs", (), x), s, z, 0, to), why="Abs turns round what is negative")
    other = g.constant(np.array(0.25, np.float32))
    yield g.near_miss(quantize(relu(x), other, z, 0, to), why="two scales")
    low = g.constant(np.array(-0.05, np.float32))
    turned = dequantize(g.input(("N", 4), to), low, z, 0)
    yield g.near_miss(quantize(relu(turned), low, z, 0, to), why="the least byte is the greatest number")


_BOUNDS = ((0.4, -0.1), (None, 0.12), (0.0, None), (1e9, -1e9))


@law(kind="fuse", examples=_cut_bytes)
def cut_bytes(q: Tensor, f: String, g: Settings, s: Tensor, z: Tensor, a: Axis, to: DataType):
    """Q(Relu(DQ(q))) = Clip(q) of equal scales, bounded by what 0 is quantized to; Clip likewise"""
    cut = quantize(unary(f, g, dequantize(q, s, z, a)), s, z, a, to)
    clipped = unary("Clip", bounds_of_bytes(f, g, s, z, q, to), q)
    yield rewrite(cut, clipped, clips_bytes(opset()), because="forgets the scale")


# --- the greatest of several ----------------------------------------------------------------------------


@hosted()
def keeps_order(kind: str, q: Fact, s: Fact, axis: Axis, version: int) -> bool:
    """The greatest of these bytes is made the greatest of the numbers; MaxPool knows bytes since opset 12."""
    known = kind == "MaxPool" and q.dtype in (TensorProto.INT8, TensorProto.UINT8) and version >= 12
    return known and positive_scale(s) is not None and (bool(is_one_scale(s)) or axis < 2)


def _pools(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    (s, z), wide = parameters(g), PoolWindow((3, 3), (2, 2), (1, 1, 1, 1), (1, 1))
    for dtype in (TensorProto.UINT8, TensorProto.INT8):
        q, zero = g.input(("N", 2, 6, 7), dtype), none() if dtype == TensorProto.INT8 else z
        yield g.fires(pool("MaxPool", dequantize(q, s, zero, 0), wide))
    scales, zeros = g.constant(np.array([1, 0.5], np.float32)), g.constant(np.array([3, 9], np.uint8))
    q = g.input((1, 2, 6, 7), TensorProto.UINT8)
    yield g.fires(pool("MaxPool", dequantize(q, scales, zeros, 1), wide))
    yield g.near_miss(pool("AveragePool", dequantize(q, s, z, 0), wide), why="a mean is no element")
    negative = dequantize(q, g.constant(np.array(-0.5, np.float32)), z, 0)
    yield g.near_miss(pool("MaxPool", negative, wide), why="the least byte is the greatest number")
    apart = PoolWindow((2, 2), (1, 1), (1, 1, 1, 1), (2, 2))
    thin = dequantize(g.input((1, 2, 1, 1), TensorProto.UINT8), s, z, 0)
    yield g.near_miss(pool("MaxPool", thin, apart), why="a window is on pads alone")


@law(kind="move", examples=_pools)
def greatest_bytes(kind: String, q: Tensor, s: Tensor, z: Tensor, a: Axis, w: PoolWindow):
    """MaxPool(DQ(q)) = DQ(MaxPool(q)) for a positive scale, where no window is on pads alone"""
    behind = dequantize(pool(kind, q, w), s, z, a)
    known = (keeps_order(kind, q, s, a, opset()), always_sees_something(w))
    pooled = pool(kind, dequantize(q, s, z, a), w)
    yield rewrite(pooled, behind, *known, because="bytes are compared at less cost")
