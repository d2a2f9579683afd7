"""Whether two arrays agree as far as a law claims, by its class: see `laws.exactness`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from egraph_opt.check.judging.computed import Array, Computed, finite_throughout, scale_of
from egraph_opt.laws.exactness import Approximate

Claim = Literal[
    "every bit",
    "in place",
    "finite",
    "finite in place",
    "stays finite",
    "real",
    "real where finite",
    "real in double",
    "in float64",
    "beside zeros",
    "apart",
    "reference",
    "bound",
]
"""What is compared: "in place" is every bit but for kernels that round an element by its place in an array,
and "finite in place" the same where all is finite; "stays finite" says nothing of the values, "real where
finite" only where all on the way is finite; "real in double" is of float64 without settings, which are of
float32; "reference" compares what is computed in float64, and "in float64" as exactly as that is; "beside
zeros" but for attributes, which are of float32; "apart" is each
element for its own size, however small others are."""

PLACES = 16
"""Last places, of the element and of 1, by which elements may differ that onnxruntime rounds by their place,
where a law promises every bit.

Up to 8 were seen of elements of their own size, and more near zero: 128 of an Elu, a difference of two
numbers near 1.
"""

FEW = 4
"""Last places by which an element may differ where an operator is spelled by another one."""

REAL = {np.dtype(np.float16): 1e-2, np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-7}
"""By how much, relative to the largest element, sums may differ that are grouped otherwise."""

IN_DOUBLE = 1e-11
"""The same of float64, where all that is computed with is of float64, too."""

COMPUTED = 64
"""Last places of the largest number on the way by which a result may differ: differences lose what they
had."""

DROWNS_ALL = 1e25
"""Numbers from here on are masks: of a sum with one of them nothing else is left, and nobody expects it."""

LEAST = {np.dtype(np.float16): 1e-3, np.dtype(np.float32): 1e-30, np.dtype(np.float64): 1e-30}
"""Results below this are no ordinary numbers: halves, and products of them, have few digits there."""

END_OF_FLOAT32 = float(np.finfo(np.float32).max)

ROUNDS = "it differs by rounding only: is it numerics='finite' or 'reassociates'?"
ZEROS = "a zero changes its sign: is it numerics='finite'?"
LEAVES_THE_RANGE = "what was finite is not"
REGROUPS = "an element differs by more than rounding: is it numerics='reassociates'?"


@dataclass(frozen=True)
class Mismatch:
    """Where two arrays differ.

    Attributes:
        bad: the elements.
        hint: what may be meant.
    """

    bad: Array
    hint: str = ""


def difference(
    a: Array,
    b: Array,
    claim: Claim,
    computed: Computed | Iterable[Array] = (),
    bound: Approximate | None = None,
) -> Mismatch | None:
    """How `b` differs from `a` by more than is claimed; None where it does not.

    Args:
        computed: what goes into `a` and is computed on the way; of "bound" the inputs only.
        bound: of "bound".
    """
    if a.tobytes() == b.tobytes():
        return None
    known = computed if isinstance(computed, Computed) else Computed(lambda: computed)
    if claim == "bound":
        assert bound is not None
        return _bounded(a, b, known.arrays, bound)
    if a.dtype.kind != "f":
        return None if claim == "stays finite" else _of(a != b)
    with np.errstate(all="ignore"):
        return _FLOATS[claim](a, b, known)


def _of(bad: Array, hint: str = "") -> Mismatch | None:
    return Mismatch(bad, hint) if bad.any() else None


def _every_bit(a: Array, b: Array, *_: Any) -> Mismatch | None:
    number = ~np.isnan(a)
    bad = (a != b) & (number | ~np.isnan(b))
    if bad.any():
        close = np.isclose(b, a, rtol=64 * float(np.finfo(a.dtype).eps), atol=0, equal_nan=True)
        return Mismatch(bad, ROUNDS if close.all() else "")
    return _of(number & (np.signbit(a) != np.signbit(b)), ZEROS)


def _in_place(a: Array, b: Array, *_: Any) -> Mismatch | None:
    least = PLACES * float(np.finfo(a.dtype).eps)
    return _of(~np.isclose(b, a, rtol=least, atol=least, equal_nan=True))


def _finite(a: Array, b: Array, computed: Computed) -> Mismatch | None:
    lost = _stays_finite(a, b, computed)
    if lost is not None:
        return lost
    info, sound = np.finfo(a.dtype), finite_throughout(a, computed.arrays)
    x, y = a.astype(np.float64), b.astype(np.float64)
    allowed = FEW * float(info.eps) * np.abs(x) + float(info.tiny)
    return _of(sound & ~(np.abs(x - y) <= allowed), REGROUPS)


def _finite_in_place(a: Array, b: Array, computed: Computed) -> Mismatch | None:
    lost, apart = _stays_finite(a, b, computed), _in_place(a, b)
    if lost is not None or apart is None:
        return lost
    return _of(apart.bad & finite_throughout(a, computed.arrays), REGROUPS)


def _stays_finite(a: Array, b: Array, computed: Computed) -> Mismatch | None:
    return _of(finite_throughout(a, computed.arrays) & ~np.isfinite(b), LEAVES_THE_RANGE)


def _real(a: Array, b: Array, computed: Computed) -> Mismatch | None:
    within, relative = COMPUTED * float(np.finfo(a.dtype).eps) * computed.scale, REAL.get(a.dtype, 1e-2)
    return _of(beyond(a, _rounded_to_infinity(a, b, relative), relative, within))


def _rounded_to_infinity(a: Array, b: Array, relative: float) -> Array:
    """b with an element of a instead of an infinity where that is so near to the end of its type that
    rounding leads beyond it."""
    end = float(np.finfo(a.dtype).max)
    near = np.isfinite(a) & (np.abs(a).astype(np.float64) >= (1 - relative) * end)
    return np.where(near & np.isinf(b) & (np.signbit(a) == np.signbit(b)), a, b)


def _real_in_double(a: Array, b: Array, computed: Computed) -> Mismatch | None:
    return _of(beyond(a, b, IN_DOUBLE, COMPUTED * float(np.finfo(a.dtype).eps) * computed.scale))


def _real_where_finite(a: Array, b: Array, computed: Computed) -> Mismatch | None:
    wrong = _real(a, b, computed)
    return None if wrong is None else _of(wrong.bad & finite_throughout(a, computed.arrays))


def _apart(a: Array, b: Array, computed: Computed) -> Mismatch | None:
    x, y = a.astype(np.float64), b.astype(np.float64)
    far = ~(np.abs(x - y) <= REAL.get(a.dtype, 1e-2) * np.abs(x) + LEAST.get(a.dtype, 1e-3))
    return _of(far & finite_throughout(a, computed.arrays))


def _in_float64(
    a: Array, b: Array, computed: Computed, step: float = COMPUTED * float(np.finfo(np.float64).eps)
) -> Mismatch | None:
    scale = max((scale_of(np.where(np.abs(x) < DROWNS_ALL, x, 0)) for x in computed.arrays), default=0)
    wrong = beyond(a, b, REAL[np.dtype(np.float32)], step * scale)
    return _of(wrong & np.isfinite(a) & np.isfinite(b))


def _beside_zeros(a: Array, b: Array, computed: Computed) -> Mismatch | None:
    return _in_float64(a, b, computed, FEW * 2.0**-24)


def _reference(a: Array, b: Array, computed: Computed) -> Mismatch | None:
    """Constants that were folded have been rounded to float32 once; float16 is computed in itself.

    What is not finite in float32, kernels say; the reference spells some operators otherwise.
    """
    arrays = tuple(
        np.where(np.abs(x) > END_OF_FLOAT32, np.inf, x) if x.dtype == np.float64 else x
        for x in (a, *computed.arrays)
    )
    half = a.dtype == np.float16
    least = COMPUTED * 2.0**-24 * max(map(scale_of, arrays), default=0)
    if half:  # of which small ones are rounded to multiples of one number, and differences of large ones
        half_scale = max((scale_of(x) for x in arrays if x.dtype == np.float16), default=0)
        subnormal, eps = float(np.finfo(np.float16).smallest_subnormal), float(np.finfo(np.float16).eps)
        least = max(least, COMPUTED * subnormal, FEW * eps * half_scale)
    sound = finite_throughout(a, (*arrays, b) if half else arrays)  # where sums of halves may overflow
    return _of(beyond(a, b, 2e-2 if half else 2e-5, least) & sound)


def _bounded(a: Array, b: Array, inputs: Iterable[Array], claim: Approximate) -> Mismatch | None:
    """Finite elements that differ by more than an approximate law promises."""
    if not np.issubdtype(a.dtype, np.number) and a.dtype != np.bool_:
        return _of(a != b)
    share, scale = share_of(a, b, inputs, claim)
    return _of(share > claim.bound, f"more than {claim.bound:g} of {scale:.3g}")


def share_of(a: Array, b: Array, inputs: Iterable[Array], claim: Approximate) -> tuple[Array, float]:
    """By which share of a magnitude finite elements differ, and that magnitude."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    scale = float(np.max(np.abs(x[np.isfinite(x)]), initial=float(a.dtype == np.bool_)))
    if claim.of == "operands":
        numbers = (i.astype(np.float64) for i in inputs if np.issubdtype(i.dtype, np.number))
        scale = max((scale, *map(scale_of, numbers)))
    with np.errstate(all="ignore"):
        far = np.where(np.isfinite(x), np.where(np.isfinite(y), np.abs(x - y), np.inf), 0)
        return np.where(far > 0, far / scale, 0), scale


def beyond(a: Array, b: Array, relative: float, absolute: float) -> Array:
    """Elements that differ by more than a share of the largest one and of themselves."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    close = np.abs(x - y) <= relative * (scale_of(x) + np.abs(x)) + absolute
    return np.asarray(~(same | (close & np.isfinite(x) & np.isfinite(y))))


_FLOATS = {
    "every bit": _every_bit,
    "in place": _in_place,
    "finite": _finite,
    "finite in place": _finite_in_place,
    "stays finite": _stays_finite,
    "real": _real,
    "real where finite": _real_where_finite,
    "real in double": _real_in_double,
    "in float64": _in_float64,
    "beside zeros": _beside_zeros,
    "apart": _apart,
    "reference": _reference,
}
