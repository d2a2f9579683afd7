"""When two outputs are the same: tolerances by dtype, measured against the size of what is around.

Floats a and b agree where ``|a - b| <= rtol * scale``, NaN agrees with NaN, and an infinity with itself.  The
scale is at most ``max|a|``; it is smaller where a large part of the output is far smaller than its maximum,
so that boxes in pixels do not hide wrong scores beside them, nor a mask of -1e9 anything else.  An absolute
difference ``atol`` besides is allowed behind functions with values around one, see `unsettled`, and elsewhere
where the original moves as far by itself, see `stability`: what is left of two large numbers that cancel.
Everything that is not a float has to be equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]
Value = Any


@dataclass(frozen=True)
class Tolerance:
    """``rtol`` times the scale of the output; ``atol`` besides, at most, where the original moves as far."""

    rtol: float
    atol: float


TOLERANCES: Mapping[np.dtype[Any], Tolerance] = {
    np.dtype(np.float32): Tolerance(1e-4, 1e-5),
    np.dtype(np.complex64): Tolerance(1e-4, 1e-5),
    np.dtype(np.float64): Tolerance(1e-9, 1e-12),
    np.dtype(np.complex128): Tolerance(1e-9, 1e-12),
    np.dtype(np.float16): Tolerance(1e-2, 1e-3),
    np.dtype(ml_dtypes.bfloat16): Tolerance(1e-2, 1e-3),
    # One unit in the last place of the largest value: 3 and 2 bits of mantissa.
    np.dtype(ml_dtypes.float8_e4m3fn): Tolerance(0.0625, 2.0**-9),
    np.dtype(ml_dtypes.float8_e4m3fnuz): Tolerance(0.0625, 2.0**-10),
    np.dtype(ml_dtypes.float8_e5m2): Tolerance(0.125, 2.0**-16),
    np.dtype(ml_dtypes.float8_e5m2fnuz): Tolerance(0.125, 2.0**-17),
}

BLOCK = 2**20
"""Elements that are looked at together."""

SLICE = 256
"""A slice along an axis has a scale of its own if it has at least this many elements."""
GAP = 13
"""So many empty binades (a factor of 8192) between magnitudes make them different populations."""


@dataclass(frozen=True)
class Difference:
    """How one tensor differs from another.

    Attributes:
        message: what and where, for people; empty if they agree.
        bad: the elements that disagree; None if shape, dtype or structure do, or if nothing does.
        absolute: largest finite error.
        relative: the same over the largest magnitude of the original's elements.
        elements: how many there are in the original.
    """

    message: str = ""
    bad: Mask | None = None
    absolute: float = 0.0
    relative: float = 0.0
    elements: int = 0

    @property
    def agrees(self) -> bool:
        return not self.message


_ELEMENT = re.compile(r"( \((length|keys)\)|\[[^]]*\])+$")


def name_of(path: str) -> str:
    """The name of the output, of a path in it; see `leaves`."""
    return _ELEMENT.sub("", path)


def leaves(name: str, value: Value) -> dict[str, Array | str | None]:
    """An output as tensors by path: ``y``, ``y[0]`` of a sequence, ``y['key']`` of a map, None if absent.

    The structure itself is an entry too (the length of a sequence, the keys of a map), as text.
    """
    found: dict[str, Array | str | None] = {}
    todo: list[tuple[str, Value]] = [(name, value)]
    while todo:
        path, item = todo.pop()
        if isinstance(item, list | tuple):
            found[f"{path} (length)"] = str(len(item))
            todo += [(f"{path}[{k}]", element) for k, element in reversed(list(enumerate(item)))]
        elif isinstance(item, Mapping):
            found[f"{path} (keys)"] = str(sorted(item, key=str))
            todo += [(f"{path}[{key!r}]", item[key]) for key in sorted(item, key=str, reverse=True)]
        elif item is None:
            found[path] = None
        else:
            found[path] = np.asarray(item)
    return found


def paired_leaves(
    names: Sequence[str], before: Sequence[Value], after: Sequence[Value]
) -> Iterator[tuple[str, Array | str | None, Array | str | None]]:
    """Every path of the outputs with what it was and what it is; None where there is none."""
    for name, one, other in zip(names, before, after, strict=True):
        a, b = leaves(name, one), leaves(name, other)
        for path in [*a, *(path for path in b if path not in a)]:
            yield path, a.get(path), b.get(path)


def compare(a: Array | str | None, b: Array | str | None, *, loosely: bool = False) -> Difference:
    """How an optimized output `b` differs from the original `a`; loosely: with ``atol`` everywhere."""
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        if (a is None and b is None) or (isinstance(a, str) and a == b):
            return Difference(elements=1)
        return Difference(f"was {_short(a)} and is {_short(b)}", elements=1)
    if a.dtype != b.dtype:
        return Difference(f"dtype was {a.dtype} and is {b.dtype}", elements=a.size)
    if a.shape != b.shape:
        return Difference(f"shape was {list(a.shape)} and is {list(b.shape)}", elements=a.size)
    if a.dtype not in TOLERANCES:
        return _difference(a, b, np.asarray(a != b, dtype=np.bool_))
    if same_bytes(a, b):
        return Difference(elements=a.size)
    return compare_floats(a, b, loosest_error(a) if loosely else allowed_error(a))


def same_bytes(a: Array, b: Array) -> bool:
    """Whether two arrays of one shape and dtype have the same bytes, without a copy of large ones."""
    if a.size <= BLOCK:
        return a.tobytes() == b.tobytes()
    x, y = (np.ascontiguousarray(v).reshape(-1) for v in (a, b))
    return all(x[k : k + BLOCK].tobytes() == y[k : k + BLOCK].tobytes() for k in range(0, a.size, BLOCK))


def compare_bits(a: Array | str | None, b: Array | str | None) -> Difference:
    """How an output differs in its bits, but for those of NaN."""
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.dtype in TOLERANCES):
        return compare(a, b)
    if a.dtype != b.dtype or a.shape != b.shape or a.dtype.kind == "c":
        return compare(a, b)
    x, y = (np.ascontiguousarray(v).reshape(v.shape).view(f"u{v.dtype.itemsize}") for v in (a, b))
    wide = [widened(v) for v in (a, b)]
    bad = np.asarray((x != y) & ~(np.isnan(wide[0]) & np.isnan(wide[1])), np.bool_)
    with np.errstate(invalid="ignore", over="ignore"):
        return _difference(a, b, bad, np.asarray(np.abs(wide[0] - wide[1])))


def compare_floats(a: Array, b: Array, allowed: Array) -> Difference:
    """How floats of one shape differ, given the allowed error of each element of `a` (broadcast)."""
    x, y = widened(a), widened(b)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(x - y)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        # A comparison with NaN is False, so a NaN or an infinity on one side only is bad.
        finite = np.isfinite(x) & np.isfinite(y)
        bad = ~(same | (finite & (error <= allowed)))
    return _difference(a, b, bad, error)


def allowed_error(a: Array) -> Array:
    """The allowed error of every element of the original output: ``rtol * scale`` (broadcasts).

    Where products of single elements become subnormal, and lose their last places, it ends.
    """
    tolerance, info = TOLERANCES[a.dtype], ml_dtypes.finfo(a.dtype)  # type: ignore[no-untyped-call]
    least = min(tolerance.atol, float(info.tiny) / float(info.eps))
    return np.asarray(np.maximum(tolerance.rtol * scales(a), least))


def loosest_error(a: Array) -> Array:
    """The error that is allowed where the original determines no more: ``rtol * scale + atol``."""
    tolerance = TOLERANCES[a.dtype]
    return np.asarray(tolerance.rtol * scales(a) + tolerance.atol)


def scales(a: Array) -> Array:
    """How large the values around each element are; never above ``max|a|`` over the finite elements.

    Of three measures the smallest: the largest magnitude of the slice the element is in, along every axis
    whose slices have `SLICE` elements or more, and the largest magnitude of its population, where magnitudes
    fall into populations with a wide gap between them.
    """
    magnitude = np.abs(widened(a))
    magnitude = np.where(np.isfinite(magnitude), magnitude, 0)
    if magnitude.size == 0:
        return magnitude
    scale = _populations(magnitude)
    for axis, length in enumerate(magnitude.shape):
        if length > 1 and magnitude.size // length >= SLICE:
            others = tuple(k for k in range(magnitude.ndim) if k != axis)
            scale = np.minimum(scale, magnitude.max(axis=others, keepdims=True))
    return np.asarray(scale)


def _populations(magnitude: Array) -> Array:
    """For every element the largest magnitude of its population (one number if there is one population)."""
    largest = magnitude.max()
    _, exponents = np.frexp(magnitude)
    exponents = np.where(magnitude == 0, np.min(exponents, initial=0, where=magnitude > 0), exponents)
    lowest = int(exponents.min())
    present = np.flatnonzero(np.bincount((exponents - lowest).ravel()))
    starts = present[1:][np.diff(present) > GAP]
    if starts.size == 0:
        return np.asarray(largest)
    population = np.searchsorted(starts, exponents - lowest, side="right")
    tops = np.zeros(starts.size + 1, magnitude.dtype)
    np.maximum.at(tops, population.ravel(), magnitude.ravel())
    return np.asarray(tops[population])


def widened(a: Array) -> Array:
    """Floats that NumPy computes with: small ones as float32, so that no difference overflows."""
    if a.dtype in (np.dtype(np.float16), np.dtype(np.float32)):
        return a.astype(np.float64)
    if a.dtype in TOLERANCES and a.dtype.itemsize <= 2:
        return a.astype(np.float64)
    return a


def _difference(a: Array, b: Array, bad: Mask, error: Array | None = None) -> Difference:
    absolute = relative = 0.0
    if error is not None and error.size:
        finite = error[np.isfinite(error)]
        absolute = float(finite.max()) if finite.size else 0.0
        magnitude = np.abs(widened(a))
        magnitude = magnitude[np.isfinite(magnitude)]
        largest = float(magnitude.max()) if magnitude.size else 0.0
        relative = absolute / largest if largest > 0 else 0.0
    count = int(np.count_nonzero(bad))
    if count == 0:
        return Difference("", None, absolute, relative, a.size)
    return Difference(describe(a, b, bad, error), bad, absolute, relative, a.size)


def describe(a: Array, b: Array, bad: Mask, error: Array | None = None) -> str:
    """The worst of the elements that disagree, in words."""
    count = int(np.count_nonzero(bad))
    if error is None:
        flat = int(np.argmax(bad))
    else:
        # A NaN or infinity that should not be there is worse than any number.
        flat = int(np.argmax(np.where(bad, np.nan_to_num(error, nan=np.inf), -1.0)))
    index = tuple(int(k) for k in np.unravel_index(flat, a.shape))
    was, now = a[index], b[index]
    where = f"at {list(index)} " if index else ""
    off = f", off by {float(np.abs(widened(a)[index] - widened(b)[index])):.3g}" if error is not None else ""
    return f"{count} of {a.size} elements differ; {where}was {was} and is {now}{off}"


def _short(value: Array | str | None) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    return "absent" if value is None else value
