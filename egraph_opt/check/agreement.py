"""Whether two arrays agree as far as a law claims, by its class: see `laws.exactness`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from egraph_opt.laws.exactness import Approximate

Array = npt.NDArray[Any]
Claim = Literal[
    "every bit",
    "in place",
    "finite",
    "stays finite",
    "real",
    "real where finite",
    "in float64",
    "beside zeros",
    "apart",
    "reference",
    "bound",
]
"""What is compared: "in place" is every bit but for kernels that round an element by its place in an array;
"stays finite" says nothing of the values, "real where finite" only where all on the way is finite;
"reference" compares what is computed in float64, and "in float64" as exactly as that is; "beside zeros" but
for attributes, which are of float32; "apart" is each element for its own size, however small others are."""

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

COMPUTED = 64
"""Last places of the largest number on the way by which a result may differ: differences lose what they
had."""

LARGE = 1e6
"""Constants from here on are large for what they are multiplied with."""

DROWNS_ALL = 1e25
"""Numbers from here on are masks: of a sum with one of them nothing else is left, and nobody expects it."""

LEAST = 1e-30
"""Results below this are no ordinary numbers."""

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
    a: Array, b: Array, claim: Claim, computed: Iterable[Array] = (), bound: Approximate | None = None
) -> Mismatch | None:
    """How `b` differs from `a` by more than is claimed; None where it does not.

    Args:
        computed: what goes into `a` and is computed on the way; of "bound" the inputs only.
        bound: of "bound".
    """
    if a.tobytes() == b.tobytes():
        return None
    if claim == "bound":
        assert bound is not None
        return _bounded(a, b, computed, bound)
    if not np.issubdtype(a.dtype, np.floating):
        return None if claim == "stays finite" else _of(a != b)
    with np.errstate(all="ignore"):
        return _FLOATS[claim](a, b, computed)


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


def _finite(a: Array, b: Array, computed: Iterable[Array]) -> Mismatch | None:
    lost = _stays_finite(a, b, computed)
    if lost is not None:
        return lost
    info, sound = np.finfo(a.dtype), finite_throughout(a, computed)
    x, y = a.astype(np.float64), b.astype(np.float64)
    allowed = FEW * float(info.eps) * np.abs(x) + float(info.tiny)
    return _of(sound & ~(np.abs(x - y) <= allowed), REGROUPS)


def _stays_finite(a: Array, b: Array, computed: Iterable[Array]) -> Mismatch | None:
    return _of(finite_throughout(a, computed) & ~np.isfinite(b), LEAVES_THE_RANGE)


def _real(a: Array, b: Array, computed: Iterable[Array]) -> Mismatch | None:
    within = COMPUTED * float(np.finfo(a.dtype).eps) * max((scale_of(x) for x in computed), default=0)
    return _of(_beyond(a, b, REAL.get(a.dtype, 1e-2), within))


def _real_where_finite(a: Array, b: Array, computed: Iterable[Array]) -> Mismatch | None:
    wrong = _real(a, b, computed)
    return None if wrong is None else _of(wrong.bad & finite_throughout(a, computed))


def _apart(a: Array, b: Array, computed: Iterable[Array]) -> Mismatch | None:
    x, y = a.astype(np.float64), b.astype(np.float64)
    far = ~(np.abs(x - y) <= REAL.get(a.dtype, 1e-2) * np.abs(x) + LEAST)
    return _of(far & finite_throughout(a, computed))


def _in_float64(
    a: Array, b: Array, computed: Iterable[Array], step: float = COMPUTED * float(np.finfo(np.float64).eps)
) -> Mismatch | None:
    scale = max((scale_of(np.where(np.abs(x) < DROWNS_ALL, x, 0)) for x in computed), default=0)
    wrong = _beyond(a, b, REAL[np.dtype(np.float32)], step * scale)
    return _of(wrong & np.isfinite(a) & np.isfinite(b))


def _beside_zeros(a: Array, b: Array, computed: Iterable[Array]) -> Mismatch | None:
    return _in_float64(a, b, computed, FEW * 2.0**-24)


def _reference(a: Array, b: Array, computed: Iterable[Array]) -> Mismatch | None:
    """Constants that were folded have been rounded to float32 once; float16 is computed in itself.

    What is not finite in float32, kernels say; the reference spells some operators otherwise.
    """
    computed = tuple(
        np.where(np.abs(x) > END_OF_FLOAT32, np.inf, x) if x.dtype == np.float64 else x
        for x in (a, *computed)
    )
    half = a.dtype == np.float16
    least = COMPUTED * 2.0**-24 * max((scale_of(x) for x in computed), default=0)
    if half:  # of which small ones are rounded to multiples of one number, and differences of large ones
        half_scale = max((scale_of(x) for x in computed if x.dtype == np.float16), default=0)
        subnormal, eps = float(np.finfo(np.float16).smallest_subnormal), float(np.finfo(np.float16).eps)
        least = max(least, COMPUTED * subnormal, FEW * eps * half_scale)
    sound = finite_throughout(a, (*computed, b) if half else computed)  # where sums of halves may overflow
    return _of(_beyond(a, b, 2e-2 if half else 2e-5, least) & sound)


def _bounded(a: Array, b: Array, inputs: Iterable[Array], claim: Approximate) -> Mismatch | None:
    """Finite elements that differ by more than an approximate law promises."""
    if not np.issubdtype(a.dtype, np.number) and a.dtype != np.bool_:
        return _of(a != b)
    x, y = a.astype(np.float64), b.astype(np.float64)
    scale = float(np.max(np.abs(x[np.isfinite(x)]), initial=float(a.dtype == np.bool_)))
    if claim.of == "operands":
        numbers = (i.astype(np.float64) for i in inputs if np.issubdtype(i.dtype, np.number))
        scale = max((scale, *map(scale_of, numbers)))
    far = np.where(np.isfinite(y), np.abs(x - y), np.inf)
    return _of(np.isfinite(x) & (far > claim.bound * scale), f"more than {claim.bound:g} of {scale:.3g}")


def _beyond(a: Array, b: Array, relative: float, absolute: float) -> Array:
    """Elements that differ by more than a share of the largest one and of themselves."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    close = np.abs(x - y) <= relative * (scale_of(x) + np.abs(x)) + absolute
    return np.asarray(~(same | (close & np.isfinite(x) & np.isfinite(y))))


_FLOATS = {
    "every bit": _every_bit,
    "in place": _in_place,
    "finite": _finite,
    "stays finite": _stays_finite,
    "real": _real,
    "real where finite": _real_where_finite,
    "in float64": _in_float64,
    "beside zeros": _beside_zeros,
    "apart": _apart,
    "reference": _reference,
}


def scale_of(x: Array) -> float:
    """The greatest finite magnitude; 0 of what is no float."""
    if not np.issubdtype(x.dtype, np.floating):
        return 0.0
    return float(np.max(np.abs(x[np.isfinite(x)]), initial=0))


def nearer(a: Array, meant: Array, b: Array) -> Array:
    """Of each element what a term answers, or what it is meant to: which of them `b` is nearer to."""
    if a.dtype.kind != "f" or not a.shape == meant.shape == b.shape:
        return a
    with np.errstate(all="ignore"):
        x, y, z = (each.astype(np.float64) for each in (a, meant, b))
        return np.where(np.abs(z - y) < np.abs(z - x), meant, a)


def computed_from(given: Sequence[Array], constants: Sequence[Array]) -> Iterator[Array]:
    """Constants, and of a large one also a product with what is given: sums that cancel are of such."""
    yield from constants
    known, other = (max(map(scale_of, arrays), default=0.0) for arrays in (constants, given))
    if known > LARGE:
        yield np.array(known * other)


def finite_throughout(a: Array, computed: Iterable[Array]) -> npt.NDArray[np.bool_]:
    """Where an array is finite, and so is what it is computed from, as far as that has its shape."""
    sound = np.isfinite(a)
    for other in computed:
        if not np.issubdtype(other.dtype, np.floating):
            continue
        try:
            sound = sound & np.broadcast_to(np.isfinite(other), a.shape)
        except ValueError:
            sound = sound & bool(np.isfinite(other).all())
    return np.asarray(sound)


def is_beyond_rounding(a: Any, b: Any, dtype: np.dtype[Any]) -> bool:
    """Whether an evaluator in this type would have seen a difference, too."""
    apart = np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64))
    return bool(np.max(apart[np.isfinite(apart)], initial=0) > 10 * REAL.get(dtype, 0.0) * (1 + scale_of(a)))


def is_no_rounding(a: Array, b: Array) -> bool:
    """Whether what was finite is not, or is as far off as the type is wide, such as the greatest of nothing,
    which sums of ordinary numbers never come to by rounding."""
    if a.dtype.kind != "f":
        return False
    within = 0.25 * float(np.finfo(a.dtype).max)
    with np.errstate(all="ignore"):
        far = np.abs(a.astype(np.float64) - b.astype(np.float64)) > within
    return bool((np.isfinite(a) & (~np.isfinite(b) | far)).any())


def overflows_with_inputs(a: Array, b: Array, given: Sequence[Array], made: Sequence[Array]) -> bool:
    """Whether what differs is infinite on one side, as a mask times an input is that are multiplied with
    others in another order.  What constants alone overflow to, a law can look at.

    Args:
        given, made: the constants of the term, and of what was made of it.
    """
    if a.shape != b.shape or a.dtype.kind != "f" or (np.isfinite(a).all() and np.isfinite(b).all()):
        return False
    floats = [c for c in (*given, *made) if c.dtype.kind == "f"]
    if not any((np.abs(c) > DROWNS_ALL).any() for c in floats):
        return False
    return not is_no_rounding(a, b) or all(np.isfinite(c).all() for c in made if c.dtype.kind == "f")


def differs_as_halves(a: Array, b: Array) -> bool:
    """Whether floats differ by no more than numbers of 16 bits are rounded by.

    Where it has no kernel for these, onnxruntime computes several nodes in wider ones and rounds once.
    """
    within = FEW * float(np.finfo(np.float16).eps)
    return a.dtype.kind == "f" and np.allclose(b, a, rtol=within, atol=0, equal_nan=True)


def is_excused(a: Array, b: Array) -> bool:
    """Whether finite elements differ by more than their own rounding, so that others on the way excuse it.

    Halves are computed as such by the reference, too.
    """
    if a.dtype.kind != "f" or a.dtype == np.float16:
        return False
    finite = np.isfinite(a) & np.isfinite(b)
    return bool((_beyond(a, b, REAL.get(a.dtype, 1e-2), 0.0) & finite).any())


def are_alike(answers: Sequence[Any], expected: Sequence[Any]) -> bool:
    """Whether the reference computes what onnxruntime does, roughly: else it has a fault there."""
    return all(a.shape == b.shape and _is_near(a, b) for a, b in zip(answers, expected, strict=True))


def _is_near(a: Any, b: Any) -> bool:
    if b.dtype.kind != "f":
        return True
    sound = np.isfinite(b)
    return bool(np.allclose(a[sound], b[sound], 0.05, 0.05 * (1 + scale_of(b)), equal_nan=True))
