"""Operators whose result is made from shapes and numbers: Shape, Size, Range, ConstantOfShape, Resize."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import SMALL, Dim, Element, Fact

from .call import Call, ContradictionError, formula
from .numbers import Array, array, with_data

_INT64 = 7
_FLOAT = 1


@formula("Shape")
def _shape(call: Call) -> list[Fact]:
    shape = call.shape(0)
    if shape is None:
        return [Fact(_INT64, (None,))]
    rank = len(shape)
    start, end = (_position(call.integer(n, d), rank) for n, d in (("start", 0), ("end", rank)))
    part = shape[start:end] if start < end else ()
    return [with_data(Fact(_INT64, (len(part),)), _array(part))]


def _array(items: Sequence[Element]) -> Array:
    result: Array = np.empty(len(items), dtype=np.object_)
    result[:] = items
    return result


def _position(index: int, rank: int) -> int:
    return min(max(index + rank if index < 0 else index, 0), rank)


@formula("Size")
def _size(call: Call) -> list[Fact]:
    shape = call.shape(0)
    size = None if shape is None else symbolic.product(shape)
    return [with_data(Fact(_INT64, ()), _array((size,)).reshape(()))]


@formula("Range")
def _range(call: Call) -> list[Fact]:
    dtype = call.fact(0).dtype
    ends = [array(call.fact(k)) for k in range(3)]
    if any(e is None or e.size != 1 for e in ends):
        return [Fact(dtype, (None,))]
    start, limit, delta = (e.flat[0] for e in ends if e is not None)
    if delta == 0:
        raise ContradictionError("Range with a step of 0")
    if isinstance(start, float) or isinstance(limit, float) or isinstance(delta, float):
        return [Fact(dtype, (_float_steps(start, limit, delta),))]
    if not isinstance(delta, int):
        return [Fact(dtype, (None,))]
    room = symbolic.sub(limit, start) if delta > 0 else symbolic.sub(start, limit)
    length = symbolic.maximum(symbolic.ceildiv(room, abs(delta)), 0)
    items = None
    if isinstance(length, int) and length <= SMALL:
        items = _array([symbolic.add(start, k * delta) for k in range(length)])
    return [with_data(Fact(dtype, (length,)), items)]


def _float_steps(start: object, limit: object, delta: object) -> int | None:
    """The length of a Range of floats, where all are integers, so that no rounding comes in."""
    numbers = [n for n in (start, limit, delta) if isinstance(n, int | float)]
    if len(numbers) < 3 or any(not float(n).is_integer() or abs(n) > 2**20 for n in numbers):
        return None
    return max(math.ceil((numbers[1] - numbers[0]) / numbers[2]), 0)


@formula("ConstantOfShape")
def _constant_of_shape(call: Call) -> list[Fact]:
    given = call.attributes.get("value")
    dtype, number = given if isinstance(given, tuple) else (_FLOAT, 0.0)
    target = call.fact(0).value
    if target is None:
        length = call.shape(0)
        known = length is not None and len(length) == 1 and isinstance(length[0], int)
        return [with_data(Fact(dtype, (None,) * length[0] if known else None), None, number)]  # type: ignore[index,operator]
    if any(isinstance(d, int) and d < 0 for d in target):
        raise ContradictionError(f"ConstantOfShape of {target}")
    dims: tuple[Dim, ...] = tuple(d if symbolic.is_at_least(d, 0) else None for d in target)
    return [with_data(Fact(dtype, dims), None, number)]


@formula("EyeLike")
def _eye_like(call: Call) -> list[Fact]:
    x = call.fact(0)
    return [Fact(call.integer("dtype", x.dtype), x.shape)]


@formula("Resize", "Upsample")
def _resize(call: Call) -> list[Fact]:
    x = call.fact(0)
    if x.shape is None:
        return [Fact(x.dtype)]
    rank = len(x.shape)
    unknown = Fact(x.dtype, (None,) * rank)
    first = 2 if call.op_type == "Resize" and call.opset >= 11 else 1
    scales: tuple[float, ...] | None = call.fact(first).data  # type: ignore[assignment]
    if call.op_type == "Upsample" and call.opset < 9:
        given = call.attributes.get("scales")
        scales = tuple(float(s) for s in given) if isinstance(given, tuple) else None
    sizes = call.fact(3).value if call.op_type == "Resize" and call.opset >= 11 else None
    axes = call.integers("axes") or tuple(range(rank))
    if call.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        return [unknown]
    if any(not -rank <= a < rank for a in axes):
        raise ContradictionError(f"axes {axes} of a tensor of rank {rank}")
    dims = list(x.shape)
    if sizes:
        if len(sizes) != len(axes):
            raise ContradictionError(f"{len(sizes)} sizes of {len(axes)} axes")
        for axis, size in zip(axes, sizes, strict=True):
            dims[axis] = size
    elif scales and len(scales) == len(axes):
        for axis, scale in zip(axes, scales, strict=True):
            dims[axis] = scaled(dims[axis], scale)
    else:
        return [unknown]
    nearest = call.text("mode", "nearest") == "nearest"
    crops = call.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize"
    keeps = nearest and not crops and x.dtype in FLOATS
    return [with_data(Fact(x.dtype, tuple(dims)), None, x.splat if keeps else None)]


def scaled(dim: Dim, scale: float) -> Dim:
    """``floor(dim * scale)``, where it is known exactly: the product is computed in floats by runtimes."""
    if scale <= 0 or not math.isfinite(scale):
        raise ContradictionError(f"a scale of {scale}")
    numerator, denominator = scale.as_integer_ratio()
    if denominator > 1024 or numerator > 1 << 20:
        return math.floor(dim * scale) if isinstance(dim, int) and abs(dim * scale % 1 - 0.5) < 0.49 else None
    return symbolic.floordiv(symbolic.mul(dim, numerator), denominator)
