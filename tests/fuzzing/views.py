"""Motifs of operators that move data as a whole: transposes, reshapes, expansions, arithmetic on shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from onnx import TensorProto, numpy_helper

from .drawing import Drawing, Value
from .elementwise import apply_constant, apply_unary, beside


def transposed(g: Drawing, x: Value, perm: Sequence[int] | None = None) -> Value:
    if perm is None and g.chance(0.15):
        return g.call("Transpose", x)
    chosen = [int(i) for i in g.rng.permutation(x.rank)] if perm is None else list(perm)
    return g.call("Transpose", x, perm=chosen)


def transposes(g: Drawing) -> None:
    """There and back, with something in between that may stand in the way."""
    x = g.pick(at_least=2)
    perm = [int(i) for i in g.rng.permutation(x.rank)]
    y = transposed(g, x, perm)
    for _ in range(g.integer(0, 2)):
        y = between(g, y)
    back = [perm.index(k) for k in range(len(perm))]
    if y.rank == len(perm):
        y = transposed(g, y, back if g.chance(0.7) else None)
    if g.chance(0.3) and y.shape == x.shape and y.dtype == x.dtype:
        g.call("Add", x, y)


def between(g: Drawing, x: Value) -> Value:
    """Something element by element, whatever x is."""
    kind = g.rng.random()
    if x.dtype == np.bool_:
        return g.call("Not", x)
    if not x.is_float:
        return g.call("Add", x, beside(g, x))
    if kind < 0.4:
        return apply_unary(g, x)
    if kind < 0.8:
        return apply_constant(g, x)
    return g.call(g.one_of(("Add", "Mul", "Sub")), x, x)


def squeezed(g: Drawing, x: Value, axes: Sequence[int] | None) -> Value:
    if axes is None:
        return g.call("Squeeze", x)
    signed = [g.maybe_negative(a, x.rank) if g.opset >= 11 else a for a in axes]
    return g.call("Squeeze", x, axes=signed) if g.opset < 13 else g.call("Squeeze", x, g.ints(signed))


def unsqueezed(g: Drawing, x: Value, axes: Sequence[int]) -> Value:
    rank = x.rank + len(axes)
    signed = [g.maybe_negative(a, rank) if g.opset >= 11 else a for a in axes]
    return g.call("Unsqueeze", x, axes=signed) if g.opset < 13 else g.call("Unsqueeze", x, g.ints(signed))


def insert(g: Drawing, x: Value) -> Value:
    count = g.integer(1, 2)
    axes = sorted(int(a) for a in g.rng.choice(x.rank + count, count, replace=False))
    return unsqueezed(g, x, axes)


def remove(g: Drawing, x: Value) -> Value:
    units = [k for k, d in enumerate(x.shape) if d == 1 and x.static[k]]
    if g.chance(0.1) and all(x.static):
        return squeezed(g, x, None)
    g.require(units)
    count = g.integer(1, len(units))
    return squeezed(g, x, sorted(int(a) for a in g.rng.choice(units, count, replace=False)))


def factors(g: Drawing, number: int, count: int) -> list[int]:
    dims = [1] * count
    if not count:
        return dims
    for prime in (2, 2, 2, 2, 3, 3, 5, 7, 2, 3):
        if number % prime == 0:
            dims[g.integer(0, count - 1)] *= prime
            number //= prime
    dims[g.integer(0, count - 1)] *= number
    return dims


def target_dims(g: Drawing, x: Value) -> list[int]:
    """A target with zeros (copies) for a few leading dims, and a -1 where one is needed."""
    kept = 0
    while kept < x.rank and (not x.static[kept] or g.chance(0.4)) and g.chance(0.9):
        kept += 1
    rest = x.shape[kept:]
    head = [
        d if fixed and g.chance(0.5) else 0 for d, fixed in zip(x.shape[:kept], x.static[:kept], strict=True)
    ]
    if not all(x.static[kept:]):
        groups = [-1]
        fixed = [d for d, known in zip(rest, x.static[kept:], strict=True) if known]
        for d in fixed:
            if g.chance(0.5):
                groups.insert(g.integer(0, len(groups)), d)
        return head + groups
    size = math.prod(rest)
    tail = factors(g, size, g.integer(0 if size == 1 else 1, 3)) if size else list(rest)
    if tail and size and g.chance(0.4):
        tail[g.integer(0, len(tail) - 1)] = -1
    return head + tail


def reshaped(g: Drawing, x: Value) -> Value:
    kind = g.rng.random()
    if kind < 0.15:
        axis = g.integer(0, x.rank)
        return g.call(
            "Flatten", x, axis=g.maybe_negative(axis, x.rank) if g.opset >= 11 and axis < x.rank else axis
        )
    if kind < 0.35:
        return insert(g, x)
    if kind < 0.5:
        return remove(g, x)
    allow = 1 if g.opset >= 14 and 0 in x.shape and g.chance(0.5) else None
    dims = list(x.shape) if allow else target_dims(g, x)
    return g.call("Reshape", x, g.ints(dims), allowzero=allow)


def reshapes(g: Drawing) -> None:
    x = g.pick()
    for _ in range(g.integer(1, 4)):
        x = reshaped(g, x)
        if g.chance(0.4):
            x = between(g, x)


def views_meet(g: Drawing) -> None:
    """Two values seen in the same new way, and combined."""
    x = g.pick(floats=True, at_least=1)
    y = between(g, x)
    if y.shape != x.shape or y.rank == 0:
        return
    if g.chance(0.5):
        axes = [g.integer(0, x.rank)]
        a, b = unsqueezed(g, x, axes), unsqueezed(g, y, axes)
    else:
        perm = [int(i) for i in g.rng.permutation(x.rank)]
        a, b = transposed(g, x, perm), transposed(g, y, perm)
    z = g.call(g.one_of(("Add", "Sub", "Mul", "Max")), a, b)
    if g.chance(0.4):
        g.call("Add", z, beside(g, z))


def dims_of(g: Drawing, x: Value) -> Value:
    """The shape of x, of something like it, or a part of it."""
    if g.opset >= 15 and g.chance(0.3):
        start, end = g.integer(-x.rank - 1, x.rank), g.integer(-x.rank - 1, x.rank + 1)
        return g.call("Shape", x, start=start, end=end)
    return g.call("Shape", x)


def dim_of(g: Drawing, x: Value, axis: int, *, scalar: bool = False) -> Value:
    dims = g.call("Shape", x)
    if scalar or g.chance(0.5):
        picked = g.call("Gather", dims, g.constant(np.asarray(axis, np.int64)), axis=0)
        return picked if scalar else unsqueezed(g, picked, [0])
    return sliced_vector(g, dims, axis, axis + 1)


def sliced_vector(g: Drawing, x: Value, start: int, end: int) -> Value:
    if g.opset < 10:
        return g.call("Slice", x, starts=[start], ends=[end], axes=[0])
    return g.call("Slice", x, g.ints([start]), g.ints([end]), g.ints([0]))


def shape_arithmetic(g: Drawing) -> None:
    """A reshape whose target is computed from dims of the input."""
    x = g.pick(at_least=1, at_most=4)
    axis = g.integer(0, x.rank - 1)
    parts = []
    for k in range(x.rank):
        if x.static[k] and g.chance(0.5):
            parts.append(g.ints([x.shape[k]]))
        else:
            parts.append(dim_of(g, x, k))
    kind = g.rng.random()
    if kind < 0.3 and axis + 1 < x.rank:  # two dims become one
        merged = g.call("Mul", parts[axis], parts[axis + 1])
        parts[axis : axis + 2] = [merged]
    elif kind < 0.5:
        parts[axis] = g.ints([-1])
    elif kind < 0.65 and x.static[axis] and x.shape[axis] % 2 == 0:
        parts[axis : axis + 1] = [g.call("Div", parts[axis], g.ints([2])), g.ints([2])]
    elif kind < 0.8:
        parts.insert(axis, g.ints([1]))
    target = g.node("Concat", parts, axis=0)[0]
    if g.chance(0.2):
        target = g.call("Cast", g.call("Cast", target, to=TensorProto.FLOAT), to=TensorProto.INT64)
    y = g.call("Reshape", x, target)
    if g.chance(0.4):
        between(g, y)


def expansion(g: Drawing) -> None:
    g.require(g.opset >= 8)
    x = g.pick(at_most=4)
    kind = g.rng.random()
    if kind < 0.4:
        dims = [d if fixed and g.chance(0.5) else 1 for d, fixed in zip(x.shape, x.static, strict=True)]
        dims = [
            g.integer(2, 3) if d == 1 and x.shape[k] == 1 and g.chance(0.5) else d for k, d in enumerate(dims)
        ]
        if g.chance(0.3):
            dims = [g.integer(1, 2), *dims]
        y = g.call("Expand", x, g.ints(dims[g.integer(0, 1) :] if g.chance(0.1) else dims))
    else:
        like = g.pick(at_most=4)
        if g.chance(0.4):
            x = g.constant(
                g.elements([1] * g.integer(0, like.rank), g.one_of((np.float32, np.int64, np.bool_)))
            )
        y = g.call("Expand", x, g.call("Shape", like))
    if g.chance(0.6):
        y = between(g, y)
    if g.chance(0.3) and y.is_float:
        others = [v for v in g.values if v.dtype == y.dtype and v.shape == y.shape]
        g.call(g.one_of(("Add", "Mul")), y, g.one_of(others))


def filled_like(g: Drawing) -> None:
    """ConstantOfShape of computed dims, as exporters write zeros_like."""
    g.require(g.opset >= 9)
    x = g.pick(at_least=1)
    value = np.array([g.one_of((0, 1, 2))], x.dtype)
    y = g.call("ConstantOfShape", g.call("Shape", x), value=numpy_helper.from_array(value))
    if x.dtype != np.bool_:
        g.call(g.one_of(("Add", "Mul")), *((x, y) if g.chance(0.5) else (y, x)))


def tiled(g: Drawing) -> None:
    x = g.pick(at_least=1, at_most=4)
    g.call("Tile", x, g.ints([g.integer(1, 2) for _ in x.shape]))


MOTIFS = {
    transposes: 4,
    reshapes: 5,
    views_meet: 2,
    shape_arithmetic: 3,
    expansion: 2,
    filled_like: 0.7,
    tiled: 0.5,
}
