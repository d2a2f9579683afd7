"""Which elements a Resize looks at and how much each weighs, as functions of numbers.

Tests compare them with onnxruntime.  To proofs they are functions with a name; what is known of those says
`resizing`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

CROP = "tf_crop_and_resize"
SHIFTED = "tf_half_pixel_for_nn"
PLACE, WEIGHT, INSIDE, LENGTH = "resize place", "resize weight", "resize inside", "resize length"


def _coordinate(mode: str, i: float, dim: float, length: float, factor: float, *region: float) -> float:
    """Where the element at an index of the result is in the image."""
    if mode == "asymmetric":
        return i / factor
    if mode == "align_corners":
        return i * (dim - 1) / (length - 1) if length > 1 else 0.0
    if mode == CROP:
        begin, end = region
        if length > 1:
            return begin * (dim - 1) + i * (end - begin) * (dim - 1) / (length - 1)
        return 0.5 * (begin + end) * (dim - 1)
    if mode == "pytorch_half_pixel" and length <= 1:
        return 0.0
    if mode == SHIFTED:
        return (i + 0.5) / factor
    offset = dim / 2 * (1 - length / (factor * dim)) if mode == "half_pixel_symmetric" else 0.0
    return offset + (i + 0.5) / factor - 0.5


_ROUNDED: dict[str, Callable[[float], int]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "round_prefer_floor": lambda a: math.ceil(a - 0.5),
    "round_prefer_ceil": lambda a: math.floor(a + 0.5),
}


def _place(mode: str, nearest: str, i: float, dim: float, *along: float) -> float:
    return min(max(_ROUNDED[nearest](_coordinate(mode, i, dim, *along)), 0), dim - 1)


def _length(dim: float, factor: float) -> float:
    """How many elements a factor makes, as runtimes compute it."""
    return float(np.float32(dim) * np.float32(factor))


def _inside(i: float, dim: float, *along: float) -> float:
    return float(0 <= _coordinate(CROP, i, dim, *along) <= dim - 1)


def _linear(mode: str, k: float, i: float, dim: float, *along: float) -> float:
    where = min(max(_coordinate(mode, i, dim, *along), 0.0), dim - 1)
    return max(0.0, 1 - abs(where - k))


def _cubic(mode: str, a: float, k: float, i: float, dim: float, *along: float) -> float:
    """Elements next to the image are those at its border."""
    where = _coordinate(mode, i, dim, *along)
    first, total = math.floor(where), 0.0
    for step in range(-1, 3):
        if min(max(first + step, 0), dim - 1) == k:
            far = abs(where - first - step)
            if far <= 1:
                total += (a + 2) * far**3 - (a + 3) * far**2 + 1
            else:
                total += a * far**3 - 5 * a * far**2 + 8 * a * far - 4 * a
    return total


def numbers_of(name: str) -> Callable[..., float] | None:
    """The function of a name, of numbers; None of what is compared with nothing."""
    if name == LENGTH:
        return _length
    if name == INSIDE:
        return _inside
    if name.startswith(PLACE):
        coordinates, nearest = name.removeprefix(PLACE).split()
        return partial(_place, coordinates, nearest)
    if not name.startswith(WEIGHT):
        return None
    coordinates, mode, antialias, exclude, *a = name.removeprefix(WEIGHT).split()
    if antialias != "0" or exclude != "0":
        return None
    return partial(_linear, coordinates) if mode == "linear" else partial(_cubic, coordinates, *map(float, a))
