"""Quantized numbers: an element in steps of its scale from its zero, rounded to even and cut off."""

from __future__ import annotations

from typing import Any

import z3
from onnx import TensorProto

from egraph_opt.semantics.integers import ordered
from egraph_opt.semantics.movement import any_axis
from egraph_opt.semantics.pointwise import arithmetic
from egraph_opt.semantics.values import ElementType, Index, Value, is_number, means, of_type

LIMITS: dict[int, tuple[z3.ArithRef, z3.ArithRef]] = {
    TensorProto.UINT8: (z3.RealVal(0), z3.RealVal(255)),
    TensorProto.INT8: (z3.RealVal(-128), z3.RealVal(127)),
}
"""The types that elements are quantized to, and their least and greatest."""


def _alike(scene: Any, zero: Value | None, scale: Value, dtype: ElementType) -> None:
    """A zero is of the type of what is quantized, and there are as many as scales."""
    if zero is not None:
        scene.alike(zero.dtype, dtype)
        scene.must(zero.rank == scale.rank)
        scene.must(z3.And([a == b for a, b in zip(zero.shape, scale.shape, strict=True)]))


def _of_axis(scene: Any, x: Value, v: Value | None, axis: int) -> Any:
    """The element of scales or zeros for an index of x: one for all, or one for each part of an axis."""
    if v is None:
        return lambda i: z3.RealVal(0)
    scene.must(v.rank <= 1)
    if v.rank == 0:
        return lambda i: v.at([])
    if is_number(v.shape[0], 1) or scene.decide(v.shape[0] == 1):
        return lambda i: v.at([z3.IntVal(0)])
    scene.must(axis < x.rank)
    scene.must(v.shape[0] == x.shape[axis])
    return lambda i: v.at([i[axis]])


def any_quantized(scene: Any, given: dict[str, Any]) -> int:
    return list(LIMITS)[scene.choose(len(LIMITS))]


@means("quantize", axis=any_axis, to=any_quantized)
def quantize(scene: Any, x: Value, scale: Value, zero: Value | None, *settings: int) -> Value:
    """The settings are the axis of the scales, and the type."""
    axis, to = settings
    scene.must(to in LIMITS)
    scene.alike(x.dtype, scale.dtype)
    _alike(scene, zero, scale, of_type(to))
    parts = [_of_axis(scene, x, v, axis) for v in (scale, zero)]
    low, high = LIMITS[to]

    def at(i: Index) -> z3.ArithRef:
        element, step, none = x.at(i), *(part(i) for part in parts)
        if not scene.compares:
            return scene.function(f"quantize {to}", element, step, none)
        steps = scene.function("unary Round ()", arithmetic(scene, "Div", x.dtype, element, step))
        return z3.If(steps + none < low, low, z3.If(steps + none > high, high, steps + none))

    return Value(of_type(to), x.shape, at)


@means("dequantize", axis=lambda scene, given: scene.choose(given["q"].rank))
def dequantize(scene: Any, q: Value, scale: Value, zero: Value | None, axis: int) -> Value:
    _alike(scene, zero, scale, q.dtype)
    parts = [_of_axis(scene, q, v, axis) for v in (scale, zero)]

    def at(i: Index) -> z3.ArithRef:
        element, factor, none = q.at(i), *(part(i) for part in parts)
        element = ordered(scene, q.dtype, element)
        return scene.multiply(scene.add(element, -none), factor)

    return Value(scale.dtype, q.shape, at)
