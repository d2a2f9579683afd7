"""Bytes and their scales: axes and types that are forgotten."""

from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, DataType, Permutation, Tensor, hosted, rewrite
from egraph_opt.operators import PoolWindow, dequantize, gather, pool, quantize, transpose

from . import fires_on, wrong
from .gaps_and_steps import window

# --- bytes -----------------------------------------------------------------------------------------------


@hosted()
def axis_in_turned(p: Permutation, a: Axis) -> Axis | None:
    """Where the axis of scales is before a Transpose."""
    return p.index(a) if a < len(p) else None


@hosted()
def has_scales(s: Fact, x: Fact) -> bool:
    return s.rank == 1 and s.shape != (1,) and x.is_static


def turned_bytes(p: tuple[int, ...], a: int, shape=(2, 2, 2)):
    def make(g):
        s, z = g.constant(np.array([0.5, 2.0])), g.constant(np.array([3, 100], np.uint8))
        return quantize(transpose(g.input(shape), p), s, z, a, T.UINT8)

    return make


@wrong(
    "bitwise",
    turned_bytes((1, 2, 0), 1),
    examples=fires_on(turned_bytes((0, 2, 1), 1), turned_bytes((1, 0), 0, (2, 2))),
)
def quantized_before_turn(x: Tensor, p: Permutation, s: Tensor, z: Tensor, a: Axis, t: DataType):
    """Q(Transpose_p(x)) = Transpose_p(Q(x)), scales along the axis before p

    Wrong where p is not its own inverse.
    """
    yield rewrite(
        quantize(transpose(x, p), s, z, a, t),
        transpose(quantize(x, s, z, axis_in_turned(p, a), t), p),
        has_scales(s, x),
        because="fewer bytes are turned",
    )


@hosted()
def one_scale(s: Fact, u: PoolWindow) -> bool:
    """One positive scale, and pads that are smaller than the kernel."""
    return (
        s.shape == ()
        and s.splat is not None
        and s.splat > 0
        and all(p < k for p, k in zip(u.pads, u.kernel * 2, strict=True))
    )


def pooled_bytes(zero: Any, to: int):
    def make(g):
        x = pool("MaxPool", g.input((1, 2, 4, 4)), window((2, 2)))
        return quantize(x, g.constant(0.5), g.constant(zero), 0, to)

    return make


@wrong(
    "finite",
    pooled_bytes(np.array(3, np.int16), T.INT16),
    opset=21,
    examples=fires_on(
        pooled_bytes(np.array(3, np.uint8), T.UINT8), pooled_bytes(np.array(-3, np.int8), T.INT8)
    ),
)
def quantized_before_pool(x: Tensor, u: PoolWindow, s: Tensor, z: Tensor, a: Axis, t: DataType):
    """Q(MaxPool(x)) = MaxPool(Q(x)) for one scale above 0

    Wrong of 16 bits, and of opsets that pool floats only.
    """
    yield rewrite(
        quantize(pool("MaxPool", x, u), s, z, a, t),
        pool("MaxPool", quantize(x, s, z, a, t), u),
        one_scale(s, u),
        because="fewer bytes",
    )


@hosted()
def other_axis(q: Fact, s: Fact, a: Axis, b: Axis, i: Fact) -> bool:
    """Scales are of another axis than the one that is gathered."""
    if q.shape is None or s.shape is None or i.rank is None or a >= len(q.shape):
        return False
    return a != b and s.shape == (q.shape[a],) and 0 not in q.shape


def gathered_bytes(i: Any, a: int, b: int):
    def make(g):
        q = g.input((2, 2, 2), T.UINT8)
        s, z = g.constant(np.array([0.5, 2.0])), g.constant(np.array([3, 100], np.uint8))
        return gather(dequantize(q, s, z, a), g.constant(np.array(i, np.int64)), b)

    return make


@wrong(
    "finite",
    gathered_bytes([[0, 1], [1, 0]], 1, 0),
    examples=fires_on(
        gathered_bytes([1, 0], 1, 0), gathered_bytes([[0, 1]], 0, 2), gathered_bytes([0, 1, 1], 0, 1)
    ),
)
def gathered_before_scaling(q: Tensor, s: Tensor, z: Tensor, a: Axis, i: Tensor, b: Axis):
    """Gather_b(DQ_a(q), i) = DQ_a(Gather_b(q, i)) for scales along another axis

    Wrong of indices of two axes or none in front of that axis, which is another one then.
    """
    yield rewrite(
        gather(dequantize(q, s, z, a), i, b),
        dequantize(gather(q, i, b), s, z, a),
        other_axis(q, s, a, b, i),
        because="bytes are gathered",
    )
