"""Squeezes of images sink past operators with axes, so that lifted convolutions meet (see `conv1d`).

    Transpose, Pad, Slice, Split, Gather, Softmax, Resize, Batch- and InstanceNormalization of Squeeze(x)
        = Squeeze of the same on x, its axes moved
    Reduce(Squeeze(x)) -> Squeeze(Reduce(x)), or without one where the axes are dropped anyway

An axis of [a, b, c] is found in [a, b, 1, c] by `lifted_axis`, the other way by `lowered_axis`; the unit axis
stays where it is.
"""

from typing import Any

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws import guard, hosted, kernel, law, rewrite
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
    Settings,
    Sizes,
    Slices,
    String,
    Tensor,
)
from egraph_opt.operators import (
    Literal,
    batchnorm,
    gather,
    instance_norm,
    literal,
    none,
    output,
    pad,
    reduce,
    resize,
    slice_,
    softmax,
    split,
    transpose,
)
from egraph_opt.rewrites.conditions.image_rows import (
    DEMAND,
    SHARED,
    UNIT,
    lifted_axis,
    lower,
    lowered_axis,
    view,
    viewed_as,
)


@hosted()
def axis_of(x: Fact, axis: Axis) -> Axis | None:
    """Where an axis of the other view of x is in x."""
    moved: Axis | None = lifted_axis(axis) if x.rank == UNIT + 2 else lowered_axis(axis)
    return moved


@hosted()
def axes_of(x: Fact, axes: Axes, keepdims: Flag) -> Axes | None:
    """The axes of a reduction that keeps them."""
    moved = [axis_of(x, axis) for axis in axes]
    return tuple(moved) if keepdims and None not in moved else None


@hosted()
def dropped_axes(axes: Axes, keepdims: Flag) -> Axes | None:
    """The axes of a reduction that drops them, and the unit axis with them."""
    return None if keepdims else tuple(sorted({*(lifted_axis(axis) for axis in axes), UNIT}))


@hosted()
def perm_of(x: Fact, perm: Permutation) -> Permutation | None:
    if x.rank == UNIT + 2:
        moved = [lifted_axis(axis) for axis in perm]
        return (*moved[:UNIT], UNIT, *moved[UNIT:])
    if perm[UNIT] != UNIT:
        return None
    return tuple(lowered_axis(axis) for axis in perm if axis != UNIT)


@hosted()
def spec_of(x: Fact, spec: Slices) -> Slices | None:
    moved = [(axis_of(x, axis), *bounds) for axis, *bounds in spec]
    return None if any(axis is None for axis, *_ in moved) else tuple(moved)


@hosted()
def pads_of(x: Fact, pads: Pads) -> Pads | None:
    if x.rank == UNIT + 2:
        begins, ends = pads[:3], pads[3:]
        return (*begins[:UNIT], 0, *begins[UNIT:], *ends[:UNIT], 0, *ends[UNIT:])
    if pads[UNIT] or pads[UNIT + 4]:
        return None
    return tuple(p for k, p in enumerate(pads) if k % 4 != UNIT)


@hosted()
def scales_of(x: Fact, scales: Fact, settings: Settings, roi: Fact) -> Literal | None:
    """The scales of a Resize that takes none from beyond its image, for all axes; 1 for the unit axis.

    Opset 11 knows no absent region of interest: it is empty.
    """
    numbers, given = scales.data, dict(settings)
    if roi != ABSENT and roi.shape != (0,):
        return None
    if numbers is None or given.get("mode") not in ("linear", "nearest") or given.get("axes"):
        return None
    if given.get("coordinate_transformation_mode") == "tf_crop_and_resize" or given.get("antialias"):
        return None
    if x.rank == UNIT + 2:
        moved = (*numbers[:UNIT], 1.0, *numbers[UNIT:]) if len(numbers) == UNIT + 1 else None
    else:
        whole = len(numbers) == UNIT + 2 and numbers[UNIT] == 1
        moved = (*numbers[:UNIT], *numbers[UNIT + 1 :]) if whole else None
    return None if moved is None else Literal(scales.dtype, (len(moved),), moved)


@hosted()
def is_image_resized(x: Fact, scales: Fact, settings: Settings, roi: Fact) -> bool:
    """Whether onnxruntime has a kernel for those scales: of four axes or more it leaves two as they are."""
    moved: Literal | None = scales_of.function(x, scales, settings, roi)
    if moved is None or dict(settings).get("mode") != "linear" or len(moved.values) < 4:
        return moved is not None
    ones = [scale == 1 for scale in moved.values]
    return (ones[0] and ones[1]) or (len(ones) == 4 and ones[0] and ones[3])


def sinking(law_name: str, x: Tensor, y: Any, other: Any, *known: Any) -> Any:
    """y = f(Squeeze(x)) is Squeeze(other), and y = f(Unsqueeze(x)) is Unsqueeze(other)."""
    return rewrite(y, viewed_as(y, other), *known, DEMAND, guard(varies(x)), inverse=law_name)


# --- the laws -----------------------------------------------------------------------------------------------


@law("conv1d", numerics="bitwise", **SHARED)
def past_transpose(x: Tensor, p: Permutation):
    """Transpose(Squeeze(x)) = Squeeze(Transpose(x))"""
    yield sinking("past_transpose", x, transpose(view(x), p), transpose(x, perm_of(x, p)))


@law("conv1d", numerics="bitwise", **SHARED)
def past_pad(x: Tensor, m: Mode, p: Pads, v: Number):
    """Pad(Squeeze(x)) = Squeeze(Pad(x))"""
    yield sinking("past_pad", x, pad(view(x), m, p, v), pad(x, m, pads_of(x, p), v))


@law("conv1d", numerics="bitwise", **SHARED)
def past_slice(x: Tensor, s: Slices):
    """Slice(Squeeze(x)) = Squeeze(Slice(x))"""
    yield sinking("past_slice", x, slice_(view(x), s), slice_(x, spec_of(x, s)))


@law("conv1d", numerics="bitwise", **SHARED)
def past_split(x: Tensor, a: Axis, s: Sizes, k: Int):
    """Split(Squeeze(x)) = Squeeze(Split(x)), part by part"""
    y, other = (output(split(v, axis, s), k) for v, axis in ((view(x), a), (x, axis_of(x, a))))
    yield sinking("past_split", x, y, other)


@law("conv1d", numerics="bitwise", **{**SHARED, "source": "algebra"})
def past_gather(x: Tensor, i: Tensor, a: Axis):
    """Gather(Squeeze(x)) = Squeeze(Gather(x))"""
    yield sinking("past_gather", x, gather(view(x), i, a), gather(x, i, axis_of(x, a)))


@law("conv1d", numerics="reassociates", **{**SHARED, "source": "algebra"})
def past_softmax(x: Tensor, k: String, a: Axis):
    """Softmax(Squeeze(x)) = Squeeze(Softmax(x))"""
    yield sinking("past_softmax", x, softmax(k, view(x), a), softmax(k, x, axis_of(x, a)))


@law("conv1d", numerics="reassociates", **{**SHARED, "source": "algebra"})
def past_reduce(x: Tensor, k: String, a: Axes, m: Flag):
    """Reduce_a(Squeeze(x)) = Squeeze(Reduce_a'(x)); the unit axis goes with dropped ones"""
    yield sinking("past_reduce", x, reduce(k, view(x), a, m), reduce(k, x, axes_of(x, a, m), m))
    dropped = reduce(k, x, dropped_axes(a, m), m)
    because = "no squeeze is left that demands it"
    yield rewrite(reduce(k, lower(x), a, m), dropped, DEMAND, guard(varies(x)), because=because)


@law("conv1d", numerics="reassociates", **SHARED)
def past_batchnorm(x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, e: Float):
    """BatchNormalization(Squeeze(x)) = Squeeze(BatchNormalization(x))"""
    yield sinking("past_batchnorm", x, *(batchnorm(y, s, b, m, v, e) for y in (view(x), x)))


@law("conv1d", numerics="reassociates", **SHARED)
def past_instance_norm(x: Tensor, s: Tensor, b: Tensor, e: Float):
    """InstanceNormalization(Squeeze(x)) = Squeeze(InstanceNormalization(x))"""
    yield sinking("past_instance_norm", x, *(instance_norm(y, s, b, e) for y in (view(x), x)))


@law("conv1d", numerics="reassociates", **SHARED)
def past_resize(x: Tensor, r: Tensor, c: Tensor, s: Settings):
    """Resize(Squeeze(x)) = Squeeze(Resize(x)) by the same factors, and 1 for the unit axis"""
    other = resize(x, r, literal(scales_of(x, c, s, r)), none(), s)
    known = kernel(is_image_resized(x, c, s, r))
    yield sinking("past_resize", x, resize(view(x), r, c, none(), s), other, known)
