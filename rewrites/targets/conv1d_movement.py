"""Squeezes of images sink past operators with axes, so that lifted convolutions meet (see `conv1d`).

    Transpose, Pad, Slice, Split, Gather, Softmax, BatchNormalization of Squeeze(x)
        = Squeeze of the same on x, its axes moved
    Reduce(Squeeze(x)) -> Squeeze(Reduce(x)), or without one where the axes are dropped anyway

An axis of [a, b, c] is found in [a, b, 1, c] by `lifted_axis`, the other way by `lowered_axis`; the unit axis
stays where it is.
"""

from collections.abc import Iterator
from typing import Any

from egraph_opt.laws import guard, hosted, law, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import (
    Axes,
    Axis,
    Flag,
    Float,
    Int,
    Mode,
    Number,
    Pads,
    Permutation,
    Sizes,
    Slices,
    String,
    Tensor,
)
from egraph_opt.operators import batchnorm, gather, output, pad, reduce, slice_, softmax, split, transpose
from egraph_opt.rewrites.conditions.image_rows import (
    DEMAND,
    SHARED,
    UNIT,
    lifted_axis,
    lower,
    lowered_axis,
    unsqueeze,
    viewed_as,
)


@hosted()
def lifted_perm(perm: Permutation) -> Permutation:
    moved = [lifted_axis(axis) for axis in perm]
    return (*moved[:UNIT], UNIT, *moved[UNIT:])


@hosted()
def lowered_perm(perm: Permutation) -> Permutation | None:
    if perm[UNIT] != UNIT:
        return None
    return tuple(lowered_axis(axis) for axis in perm if axis != UNIT)


@hosted()
def lifted_spec(spec: Slices) -> Slices:
    return tuple((lifted_axis(axis), start, end, step) for axis, start, end, step in spec)


@hosted()
def lowered_spec(spec: Slices) -> Slices | None:
    if any(axis == UNIT for axis, *_ in spec):
        return None
    return tuple((lowered_axis(axis), start, end, step) for axis, start, end, step in spec)


@hosted()
def lifted_pads(pads: Pads) -> Pads:
    begins, ends = pads[:3], pads[3:]
    return (*begins[:UNIT], 0, *begins[UNIT:], *ends[:UNIT], 0, *ends[UNIT:])


@hosted()
def lowered_pads(pads: Pads) -> Pads | None:
    if pads[UNIT] or pads[UNIT + 4]:
        return None
    return tuple(p for k, p in enumerate(pads) if k % 4 != UNIT)


@hosted()
def kept_axes(axes: Axes, keepdims: Flag) -> Axes | None:
    """The axes of a reduction that keeps them."""
    return tuple(lifted_axis(axis) for axis in axes) if keepdims else None


@hosted()
def dropped_axes(axes: Axes, keepdims: Flag) -> Axes | None:
    """The axes of a reduction that drops them, and the unit axis with them."""
    return None if keepdims else tuple(sorted({*(lifted_axis(axis) for axis in axes), UNIT}))


@hosted()
def lowered_axes(axes: Axes, keepdims: Flag) -> Axes | None:
    if UNIT in axes or not keepdims:
        return None
    return tuple(lowered_axis(axis) for axis in axes)


def _same(attribute: Any) -> Any:
    return attribute


def sinking(law_name: str, x: Tensor, of: Any, to_image: Any = _same, to_line: Any = _same) -> Iterator[Any]:
    """f(Squeeze(x)) = Squeeze(f'(x)), and f'(Unsqueeze(x)) = Unsqueeze(f(x)).

    Args:
        of: makes f or f' of an operand and of what becomes of the attribute.
        to_image, to_line: how the attribute changes from f to f', and from f' to f.
    """
    for view, change in ((lower, to_image), (unsqueeze, to_line)):
        y = of(view(x), _same)
        yield rewrite(y, viewed_as(y, of(x, change)), DEMAND, guard(varies(x)), inverse=law_name)


# --- the laws -----------------------------------------------------------------------------------------------


@law("conv1d", numerics="bitwise", **SHARED)
def past_transpose(x: Tensor, p: Permutation):
    """Transpose(Squeeze(x)) = Squeeze(Transpose(x))"""
    yield from sinking(
        "past_transpose", x, lambda v, moved: transpose(v, moved(p)), lifted_perm, lowered_perm
    )


@law("conv1d", numerics="bitwise", **SHARED)
def past_pad(x: Tensor, m: Mode, p: Pads, v: Number):
    """Pad(Squeeze(x)) = Squeeze(Pad(x))"""
    yield from sinking("past_pad", x, lambda y, moved: pad(y, m, moved(p), v), lifted_pads, lowered_pads)


@law("conv1d", numerics="bitwise", **SHARED)
def past_slice(x: Tensor, s: Slices):
    """Slice(Squeeze(x)) = Squeeze(Slice(x))"""
    yield from sinking("past_slice", x, lambda v, moved: slice_(v, moved(s)), lifted_spec, lowered_spec)


@law("conv1d", numerics="bitwise", **SHARED)
def past_split(x: Tensor, a: Axis, s: Sizes, k: Int):
    """Split(Squeeze(x)) = Squeeze(Split(x)), part by part"""
    yield from sinking(
        "past_split", x, lambda v, moved: output(split(v, moved(a), s), k), lifted_axis, lowered_axis
    )


@law("conv1d", numerics="bitwise", **{**SHARED, "source": "algebra"})
def past_gather(x: Tensor, i: Tensor, a: Axis):
    """Gather(Squeeze(x)) = Squeeze(Gather(x))"""
    yield from sinking("past_gather", x, lambda v, moved: gather(v, i, moved(a)), lifted_axis, lowered_axis)


@law("conv1d", numerics="reassociates", **{**SHARED, "source": "algebra"})
def past_softmax(x: Tensor, k: String, a: Axis):
    """Softmax(Squeeze(x)) = Squeeze(Softmax(x))"""
    yield from sinking("past_softmax", x, lambda v, moved: softmax(k, v, moved(a)), lifted_axis, lowered_axis)


@law("conv1d", numerics="reassociates", **{**SHARED, "source": "algebra"})
def past_reduce(x: Tensor, k: String, a: Axes, m: Flag):
    """Reduce_a(Squeeze(x)) = Squeeze(Reduce_a'(x)); the unit axis goes with dropped ones"""
    yield from sinking(
        "past_reduce",
        x,
        lambda v, moved: reduce(k, v, moved(a), m),
        lambda axes: kept_axes(axes, m),
        lambda axes: lowered_axes(axes, m),
    )
    dropped = reduce(k, x, dropped_axes(a, m), m)
    because = "no squeeze is left that demands it"
    yield rewrite(reduce(k, lower(x), a, m), dropped, DEMAND, guard(varies(x)), because=because)


@law("conv1d", numerics="reassociates", **SHARED)
def past_batchnorm(x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, e: Float):
    """BatchNormalization(Squeeze(x)) = Squeeze(BatchNormalization(x))"""
    yield from sinking("past_batchnorm", x, lambda y, _: batchnorm(y, s, b, m, v, e))
