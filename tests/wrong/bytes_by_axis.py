"""Bytes with a scale for each part of an axis, and bounds of bytes whose 0 is elsewhere."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Axis, DataType, Dims, Flag, Settings, String, Tensor, hosted, opset, rewrite
from egraph_opt.operators import PoolWindow, dequantize, pool, quantize, reduce, reshape, unary

from . import fires_on, wrong


def per_part(g, n: int, dtype=np.uint8):
    """A scale and a zero for each of so many parts."""
    return g.constant(np.linspace(0.1, 0.5, n).astype(np.float32)), g.constant(np.arange(n).astype(dtype))


def of_all(g, zero: int = 0, dtype=np.uint8):
    return g.constant(np.array(0.1, np.float32)), g.constant(np.array(zero, dtype))


# --- axes of scales --------------------------------------------------------------------------------------


@hosted()
def axis_in_view(q: Fact, d: Dims, a: Axis, s: Fact) -> Axis | None:
    """The axis of a view that is as long as the one that is scaled."""
    if s.shape in ((), (1,)):
        return a
    if not q.is_static or q.shape is None or not a < len(q.shape):
        return None
    return next((k for k, dim in enumerate(d) if dim == q.shape[a]), None)


def scaled_view(shape: tuple[int, ...], a: int, *dims: int):
    def make(g):
        return reshape(dequantize(g.input(shape, T.UINT8), *per_part(g, shape[a]), a), dims)

    return make


@wrong(
    "bitwise",
    scaled_view((2, 6, 4), 1, 6, 2, 4),
    examples=fires_on(
        scaled_view((2, 4, 6), 1, 2, 4, 3, 2),
        scaled_view((3, 5), 0, 3, 1, 5),
        scaled_view((2, 3, 5), 2, 6, 5),
    ),
)
def view_of_scaled_parts(q: Tensor, s: Tensor, z: Tensor, a: Axis, d: Dims):
    """Reshape(DQ(q)) = DQ(Reshape(q)), the scales along the axis of the view that is as long

    Wrong where that axis has other elements.
    """
    behind = dequantize(reshape(q, d), s, z, axis_in_view(q, d, a, s))
    yield rewrite(reshape(dequantize(q, s, z, a), d), behind, because="bytes are moved")


@hosted()
def axis_that_is_left(axes: Axes, k: Flag, a: Axis, s: Fact, kind: str, q: Fact) -> Axis | None:
    """The axis of the scales behind a reduction along other ones."""
    if kind not in ("ReduceMax", "ReduceMin") or s.shape is None or len(s.shape) != 1 or a in axes:
        return None
    if not q.is_static or 0 in (q.shape or ()) or s.data is None or min(map(float, s.data)) <= 0.01:
        return None
    left = a if k else a - len(axes)
    return left if left >= 0 else None


def extreme(shape: tuple[int, ...], a: int, axes: tuple[int, ...], keep: int):
    def make(g):
        return reduce("ReduceMax", dequantize(g.input(shape, T.UINT8), *per_part(g, shape[a]), a), axes, keep)

    return make


@wrong(
    "bitwise",
    extreme((3, 3, 5), 1, (2,), 0),
    examples=fires_on(
        extreme((2, 4, 5), 1, (2,), 1), extreme((2, 4, 5), 1, (0,), 0), extreme((4, 3), 1, (0,), 0)
    ),
)
def extreme_of_scaled_parts(kind: String, q: Tensor, s: Tensor, z: Tensor, a: Axis, b: Axes, k: Flag):
    """ReduceMax(DQ(q)) = DQ(ReduceMax(q)) along axes that are not scaled apart

    Wrong where axes behind the scaled one are dropped.
    """
    inside = dequantize(reduce(kind, q, b, k), s, z, axis_that_is_left(b, k, a, s, kind, q))
    yield rewrite(reduce(kind, dequantize(q, s, z, a), b, k), inside, because="bytes are less")


# --- bounds ----------------------------------------------------------------------------------------------


@hosted()
def cuts_nothing(f: Settings, s: Fact, z: Fact, to: DataType) -> bool:
    """What is above the bound is quantized to 127 anyway; below there is none."""
    high = dict(f)["max"]
    if high is None or dict(f)["min"] is not None or to != T.INT8 or not isinstance(z.splat, int):
        return False
    return s.splat is not None and s.splat > 0.01 and s.shape == () and high >= s.splat * 127.5


def bounded(high: float, zero: int):
    def make(g):
        x = unary("Clip", (("max", high), ("min", None)), g.input((3, 4)))
        return quantize(x, *of_all(g, zero, np.int8), 0, T.INT8)

    return make


@wrong(
    "bitwise",
    bounded(13.0, -20),
    values=(14.0, 16.0, -3.0, 2.0, 13.5),
    examples=fires_on(bounded(13.0, 0), bounded(14.0, 5), bounded(20.0, -7)),
)
def bound_of_saturated_bytes(x: Tensor, f: Settings, s: Tensor, z: Tensor, a: Axis, t: DataType):
    """Q(Clip(x; max)) = Q(x) for a bound of 127 steps and more

    Wrong where the zero is below 0, so that there are more steps.
    """
    cut = quantize(unary("Clip", f, x), s, z, a, t)
    yield rewrite(cut, quantize(x, s, z, a, t), cuts_nothing(f, s, z, t), because="saturated")


@hosted()
def pads_less_than_it_sees(q: Fact, s: Fact, w: PoolWindow, version: int) -> bool:
    """Pads are narrower than the window."""
    rank = len(w.kernel)
    if version < 12:
        return False
    if q.dtype not in (T.UINT8, T.INT8) or s.splat is None or s.splat < 0.01 or w.ceil_mode:
        return False
    return all(
        max(w.pads[k], w.pads[k + rank]) <= (size - 1) * d
        for k, (size, d) in enumerate(zip(w.kernel, w.dilations, strict=True))
    )


def greatest(w: PoolWindow, *shape: int):
    return lambda g: pool("MaxPool", dequantize(g.input(shape, T.UINT8), *of_all(g, 3), 0), w)


@wrong(
    "bitwise",
    greatest(PoolWindow((2, 2), (1, 1), (1, 1, 1, 1), (2, 2)), 1, 2, 1, 1),
    examples=fires_on(
        greatest(PoolWindow((3, 3), (2, 2), (1, 1, 1, 1), (1, 1)), 1, 2, 6, 7),
        greatest(PoolWindow((2, 2), (2, 2), (0, 0, 0, 0), (1, 1)), 2, 2, 4, 4),
        greatest(PoolWindow((3, 3), (1, 1), (2, 2, 2, 2), (2, 2)), 1, 2, 5, 5),
    ),
)
def greatest_byte_in_window(q: Tensor, s: Tensor, z: Tensor, a: Axis, w: PoolWindow):
    """MaxPool(DQ(q)) = DQ(MaxPool(q)) where pads are narrower than the window

    Wrong where what is between dilated elements is all there is of a thin image.
    """
    behind = dequantize(pool("MaxPool", q, w), s, z, a)
    pooled = pool("MaxPool", dequantize(q, s, z, a), w)
    yield rewrite(pooled, behind, pads_less_than_it_sees(q, s, w, opset()), because="bytes")


@hosted()
def axis_in_front(a: Axis, s: Fact, x: Fact, d: Dims) -> Axis | None:
    """Axes of 1 in front move the axis by as many."""
    if s.shape is None or len(s.shape) != 1 or not x.is_static or x.shape is None:
        return None
    if tuple(n for n in d if n != 1) != tuple(n for n in x.shape if n != 1):
        return None
    front = a - (len(d) - len(x.shape))
    return front if front >= 0 else None


@wrong(
    "bitwise",
    lambda g: quantize(reshape(g.input((3, 3, 2)), (3, 3, 1, 2)), *per_part(g, 3), 1, T.UINT8),
    examples=fires_on(
        lambda g: quantize(reshape(g.input((3, 4)), (1, 3, 4)), *per_part(g, 4), 2, T.UINT8),
        lambda g: quantize(reshape(g.input((2, 3, 4)), (1, 2, 3, 4)), *per_part(g, 3), 2, T.UINT8),
    ),
)
def quantized_before_ones(x: Tensor, s: Tensor, z: Tensor, a: Axis, d: Dims, t: DataType):
    """Q(Unsqueeze(x)) = Unsqueeze(Q(x)), the scales' axis as many places further in front

    Wrong where the new axes are behind it.
    """
    before = reshape(quantize(x, s, z, axis_in_front(a, s, x, d), t), d)
    yield rewrite(quantize(reshape(x, d), s, z, a, t), before, because="once")
