"""Motifs that take tensors apart and put them together: Slice, Split, Concat, Gather, Pad."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from .drawing import Drawing, Refused, Value
from .views import between, squeezed, transposed


def sliced(
    g: Drawing,
    x: Value,
    axes: Sequence[int],
    starts: Sequence[int],
    ends: Sequence[int],
    steps: Sequence[int] | None = None,
) -> Value:
    if g.opset < 10:
        g.require(steps is None or all(s == 1 for s in steps))
        return g.call("Slice", x, axes=list(axes), starts=list(starts), ends=list(ends))
    signed = [g.maybe_negative(a, x.rank) for a in axes]
    operands = [x, g.ints(starts), g.ints(ends), g.ints(signed)]
    if steps is not None:
        operands.append(g.ints(steps))
    return g.node("Slice", operands)[0]


def random_slice(g: Drawing, x: Value) -> Value:
    g.require(x.rank)
    count = 1 if g.chance(0.75) else g.integer(1, min(x.rank, 2))
    axes = [int(a) for a in g.rng.choice(x.rank, count, replace=False)]
    starts, ends, steps = [], [], []
    for axis in axes:
        dim = min(a.shape[axis] for a in x.arrays)
        start, end = sorted(g.integer(0, dim) for _ in range(2))
        step = 1 if g.chance(0.75) or g.opset < 10 else g.one_of((2, 3, -1, -2))
        if step < 0:
            start, end = end, start - 1 if start else -(2**40)
        kind = g.rng.random()
        if kind < 0.2:
            end = 2**31 - 1 if g.chance(0.5) else 2**63 - 1
            start, step = min(start, dim), abs(step)
        elif kind < 0.35 and start > 0:
            start -= dim
        elif kind < 0.45 and step > 0:
            end -= dim
        elif kind < 0.5:
            start, end = g.integer(-9, 9), g.integer(-9, 9)
        starts.append(start)
        ends.append(end)
        steps.append(step)
    return sliced(g, x, axes, starts, ends, None if all(s == 1 for s in steps) and g.chance(0.7) else steps)


def slices(g: Drawing) -> None:
    x = g.pick(at_least=1)
    for _ in range(g.integer(1, 3)):
        x = random_slice(g, x)
        if g.chance(0.3):
            x = between(g, x)


def cut_points(g: Drawing, dim: int) -> list[int]:
    count = g.integer(1, 3)
    return [0, *sorted(g.integer(0 if g.chance(0.1) else min(1, dim), dim) for _ in range(count)), dim]


def parts_of(g: Drawing, x: Value, axis: int) -> list[Value]:
    """Slices, or the outputs of a Split, along an axis."""
    dim = x.shape[axis]
    g.require(x.static[axis] and dim >= 1)
    points = cut_points(g, dim)
    if g.chance(0.4):
        return split(g, x, axis, [b - a for a, b in itertools.pairwise(points)])
    pairs = list(itertools.pairwise(points))
    if g.chance(0.2):  # overlapping
        pairs = [(max(a - 1, 0), b) for a, b in pairs]
    return [sliced(g, x, [axis], [a], [b]) for a, b in pairs if b > a or g.chance(0.2)]


def split(g: Drawing, x: Value, axis: int, sizes: Sequence[int]) -> list[Value]:
    signed = g.maybe_negative(axis, x.rank) if g.opset >= 11 else axis
    equal = len(set(sizes)) == 1
    if g.opset < 13:
        given = None if equal and g.chance(0.5) else list(sizes)
        return g.node("Split", [x], outputs=len(sizes), axis=signed, split=given)
    if equal and g.chance(0.5):
        outputs = len(sizes) if g.opset >= 18 else None
        return g.node("Split", [x], outputs=len(sizes), axis=signed, num_outputs=outputs)
    return g.node("Split", [x, g.ints(sizes)], outputs=len(sizes), axis=signed)


def joined(g: Drawing, parts: Sequence[Value], axis: int) -> Value:
    g.require(
        parts and all(_joins(parts[0], part, axis) for part in parts)
    )  # onnxruntime is lenient with empty ones
    return g.node(
        "Concat", list(parts), axis=g.maybe_negative(axis, parts[0].rank) if g.opset >= 11 else axis
    )[0]


def shuffled(g: Drawing, parts: list[Value]) -> list[Value]:
    """In order, in another order, one left out, or some taken twice."""
    kind = g.rng.random()
    if kind < 0.45:
        return parts
    if kind < 0.65:
        return [parts[k] for k in g.rng.permutation(len(parts))]
    if kind < 0.8 and len(parts) > 1:
        return parts[: g.integer(1, len(parts) - 1)]
    return [g.one_of(parts) for _ in range(g.integer(1, 4))]


def apart_and_together(g: Drawing) -> None:
    x = g.pick(at_least=1, wanted=lambda v: v.dtype != np.float16 or g.chance(0.5))
    axis = g.axis(x)
    parts = parts_of(g, x, axis)
    if g.chance(0.4):
        op = g.one_of(("Relu", "Neg", "Sigmoid", "Abs"))
        which = range(len(parts)) if g.chance(0.6) else [g.integer(0, len(parts) - 1)]
        g.require(x.is_float)
        for k in which:
            parts[k] = g.call(op, parts[k])
    other = g.axis(x) if g.chance(0.15) else axis
    y = joined(g, shuffled(g, parts), other)
    if g.chance(0.4):
        y = random_slice(g, y)
    if g.chance(0.3):
        y = joined(g, [y, g.one_of(parts)], axis)


def concats(g: Drawing) -> None:
    """Nested concatenations, with constants and empty parts among the operands."""
    x = g.pick(at_least=1, at_most=4)
    axis = g.axis(x)
    fitting = [v for v in g.values if v.dtype == x.dtype and _joins(x, v, axis)]
    y = x
    for _ in range(g.integer(1, 3)):
        operands = [y, *(g.one_of(fitting) for _ in range(g.integer(0, 2)))]
        if g.chance(0.3) and all(s for k, s in enumerate(x.static) if k != axis):
            dims = list(x.shape)
            dims[axis] = g.integer(0, 2)
            operands.append(g.constant(g.elements(dims, x.dtype)))
        g.rng.shuffle(operands)
        y = joined(g, operands, axis)
        fitting.append(y)
        if g.chance(0.2):
            y = between(g, y)
            g.require(_joins(x, y, axis) and y.dtype == x.dtype)
    if g.chance(0.6):
        y = random_slice(g, y)
        if g.chance(0.4):
            random_slice(g, y)


def _joins(x: Value, y: Value, axis: int) -> bool:
    return x.rank == y.rank and all(
        a.shape[:axis] == b.shape[:axis] and a.shape[axis + 1 :] == b.shape[axis + 1 :]
        for a, b in zip(x.arrays, y.arrays, strict=True)
    )


def indices(g: Drawing, dim: int) -> np.ndarray:
    g.require(dim)
    kind = g.rng.random()
    if kind < 0.3:
        found = np.asarray(g.integer(-dim, dim - 1))
    elif kind < 0.5:
        start = g.integer(0, dim - 1)
        found = np.arange(start, g.integer(start, dim))
    elif kind < 0.65:
        found = np.arange(dim)[:: g.one_of((2, -1, 3, -2))]
    elif kind < 0.8:
        found = g.rng.integers(-dim, dim, (g.integer(1, 3),))
    else:
        found = g.rng.integers(-dim, dim, tuple(g.integer(1, 2) for _ in range(g.integer(2, 3))))
    return found.astype(np.int64 if g.chance(0.8) else np.int32)


def gathered(g: Drawing, x: Value) -> Value:
    axis = g.axis(x)
    dim = min(a.shape[axis] for a in x.arrays)
    signed = g.maybe_negative(axis, x.rank)
    found = indices(g, dim)
    return g.call("Gather", x, g.constant(found if g.opset >= 11 else np.abs(found) % dim), axis=signed)


def gathers(g: Drawing) -> None:
    x = g.pick(at_least=1)
    for _ in range(g.integer(1, 3)):
        y = gathered(g, x)
        if g.chance(0.5):
            x = y
        if g.chance(0.2) and y.rank:
            x = random_slice(g, y)
        g.require(x.rank)


def picks(g: Drawing) -> None:
    """Every element of an axis by itself, as exporters write unbind, and stacked again."""
    x = g.pick(at_least=2, at_most=4)
    axis = g.axis(x)
    g.require(x.static[axis] and 1 <= x.shape[axis] <= 4)
    parts = []
    for k in range(x.shape[axis]):
        if g.chance(0.7):
            parts.append(
                g.call(
                    "Gather",
                    x,
                    g.constant(np.asarray(k if g.chance(0.7) or g.opset < 11 else k - x.shape[axis])),
                    axis=axis,
                )
            )
        else:
            parts.append(squeezed(g, sliced(g, x, [axis], [k], [k + 1]), [axis]))
    if x.is_float and len(parts) > 1 and g.chance(0.5):
        g.call(g.one_of(("Add", "Mul", "Sub")), parts[0], parts[-1])
    if parts[0].rank:
        joined(g, shuffled(g, parts), g.integer(0, parts[0].rank - 1))


def reshaped_parts(g: Drawing) -> None:
    """Heads: one tensor seen with an axis more, its parts taken, transposed and used."""
    x = g.pick(at_least=2, at_most=3, floats=True)
    dim = x.shape[-1]
    g.require(x.static[-1] and dim % 2 == 0 and dim)
    heads = g.call("Reshape", x, g.ints([*[0] * (x.rank - 1), 2, dim // 2]))
    if g.chance(0.5):
        heads = transposed(g, heads)
    axis = next((k for k, d in enumerate(heads.shape) if d == 2 and heads.static[k]), None)
    if axis is None:
        raise Refused("the heads are gone")
    parts = parts_of(g, heads, axis)
    if len(parts) > 1 and parts[0].shape == parts[1].shape:
        g.call(g.one_of(("Add", "Mul")), parts[0], parts[1])


def padded(g: Drawing, x: Value, spatial_only: bool = False) -> Value:
    mode = g.one_of(("constant", "constant", "reflect", "edge"))
    first = 2 if spatial_only else 0
    pads = [g.integer(0, 2) if k >= first and g.chance(0.6) else 0 for k in range(x.rank)] * 1
    ends = [g.integer(0, 2) if k >= first and g.chance(0.6) else 0 for k in range(x.rank)]
    if g.chance(0.15):
        pads[-1] = -1
    value = 0.0 if g.chance(0.6) else 0.5
    if g.opset < 11:
        return g.call("Pad", x, mode=mode, pads=pads + ends, value=value)
    fill = g.constant(np.asarray(value, x.dtype)) if mode == "constant" and g.chance(0.7) else None
    if g.opset >= 18 and g.chance(0.3):
        axes = g.ints([g.maybe_negative(x.rank - 1, x.rank)])
        return g.call("Pad", x, g.ints([pads[-1], ends[-1]]), fill, axes, mode=mode)
    return g.call("Pad", x, g.ints(pads + ends), fill, mode=mode)


def pads(g: Drawing) -> None:
    x = g.pick(at_least=1, floats=True)
    for _ in range(g.integer(1, 2)):
        x = padded(g, x)
    if g.chance(0.3):
        random_slice(g, x)


MOTIFS = {slices: 3, apart_and_together: 5, concats: 3, gathers: 3, picks: 2, reshaped_parts: 1.5, pads: 1}
