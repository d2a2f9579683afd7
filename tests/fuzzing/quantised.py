"""Quantised parts: QuantizeLinear and DequantizeLinear around operators, per axis, and integer operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from .drawing import Drawing, Value

BYTES = (np.uint8, np.int8)


def _scale(g: Drawing, shape: tuple[int, ...] = ()) -> np.ndarray[Any, Any]:
    return np.asarray(g.rng.choice((0.25, 0.5, 0.125), shape), np.float32)


def _zero(g: Drawing, dtype: Any, shape: tuple[int, ...] = ()) -> np.ndarray[Any, Any]:
    return np.asarray(g.rng.integers(0, 5, shape) if g.chance(0.6) else np.zeros(shape)).astype(dtype)


def quantized(g: Drawing, x: Value, dtype: Any) -> tuple[Value, Value, Value]:
    """x in bytes, with the scale and the zero point of it."""
    scale, zero = g.constant(_scale(g)), g.constant(_zero(g, dtype))
    return g.call("QuantizeLinear", x, scale, zero), scale, zero


def round_trip(g: Drawing) -> None:
    """Quantised and back, sometimes with what moves data in between, and again."""
    g.require(g.opset >= 10)
    x = g.pick(dtype=np.float32)
    q, scale, zero = quantized(g, x, g.one_of(BYTES))
    if q.rank >= 2 and g.chance(0.4):
        q = g.call("Transpose", q, perm=[int(k) for k in g.rng.permutation(q.rank)])
    elif g.chance(0.3):
        q = g.call("Reshape", q, g.ints([-1]))
    y = g.call("DequantizeLinear", q, scale, zero)
    if g.chance(0.5):
        y = g.call("Relu", y)
    if g.chance(0.4):
        again = g.call("QuantizeLinear", y, scale, zero)
        g.call("DequantizeLinear", again, scale, zero)


def weight(g: Drawing, shape: tuple[int, ...], axis: int | None) -> Value:
    """A constant in bytes behind a DequantizeLinear, with a scale for all or one for each part of an axis."""
    dtype = g.one_of(BYTES)
    low, high = (0, 12) if dtype == np.uint8 else (-6, 7)
    stored = g.constant(g.rng.integers(low, high, shape).astype(dtype))
    sizes = () if axis is None else (shape[axis],)
    zero = np.zeros(sizes, dtype) if dtype == np.int8 else _zero(g, dtype, sizes)
    operands = (stored, g.constant(_scale(g, sizes)), g.constant(zero) if g.chance(0.8) else None)
    return g.call("DequantizeLinear", *operands, axis=axis if g.opset >= 13 else None)


def product(g: Drawing) -> None:
    """MatMul or Gemm with a weight in bytes, as QDQ models have it."""
    g.require(g.opset >= 10)
    x = g.pick(dtype=np.float32, at_least=2, at_most=4, wanted=lambda v: v.static[-1] and min(v.shape) >= 1)
    shape = (x.shape[-1], g.integer(1, 4))
    w = weight(g, shape, g.integer(0, 1) if g.opset >= 13 and g.chance(0.5) else None)
    if g.chance(0.5):
        q, scale, zero = quantized(g, x, np.uint8)
        x = g.call("DequantizeLinear", q, scale, zero)
    y = g.call("Gemm", x, w) if x.rank == 2 and g.opset >= 11 and g.chance(0.3) else g.call("MatMul", x, w)
    if g.chance(0.5):
        y = g.call("Add", y, g.constant(g.elements((shape[1],), np.float32)))
    if g.chance(0.5):
        q, scale, zero = quantized(g, y, np.uint8)
        g.call("DequantizeLinear", q, scale, zero)


def convolution(g: Drawing) -> None:
    """Conv with a weight in bytes."""
    g.require(g.opset >= 10)
    x = g.pick(dtype=np.float32, at_least=3, at_most=4, wanted=lambda v: v.static[1] and min(v.shape) >= 1)
    shape = (g.integer(1, 3), x.shape[1], *[1] * (x.rank - 2))
    w = weight(g, shape, 0 if g.opset >= 13 and g.chance(0.5) else None)
    y = g.call("Conv", x, w, kernel_shape=list(shape[2:]) if g.chance(0.5) else None)
    g.call("Relu", y)


def in_integers(g: Drawing) -> None:
    """QLinearMatMul, MatMulInteger or QLinearConv, dynamically quantised or not."""
    g.require(g.opset >= 11)
    x = g.pick(dtype=np.float32, rank=2, wanted=lambda v: v.static[-1] and min(v.shape) >= 1)
    w = g.constant(g.rng.integers(0, 12, (x.shape[-1], g.integer(1, 4))).astype(np.uint8))
    if g.chance(0.5):
        q, scale, zero = g.node("DynamicQuantizeLinear", [x], outputs=3)
        product_ = g.call("MatMulInteger", q, w, zero if g.chance(0.8) else None)
        y = g.call("Cast", product_, to=1)
        g.call("Mul", y, g.call("Mul", scale, g.constant(_scale(g))))
        return
    q, scale, zero = quantized(g, x, np.uint8)
    others = (g.constant(_scale(g)), g.constant(_zero(g, np.uint8)))
    made = g.call("QLinearMatMul", q, scale, zero, w, *others, *others)
    g.call("DequantizeLinear", made, *others)


MOTIFS = {round_trip: 0.7, product: 0.7, convolution: 0.4, in_integers: 0.5}
