"""Whether two arrays agree as far as a law claims, by its class: see `laws.exactness`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from egraph_opt.laws.exactness import Approximate

Array = npt.NDArray[Any]

PLACES = 16
"""Last places, of the element and of 1, by which elements may differ that onnxruntime rounds by their place,
where a law promises every bit.

Up to 8 were seen of elements of their own size, and more near zero: 128 of an Elu, a difference of two
numbers near 1.
"""

FEW = 4
"""Last places by which an element may differ where an operator is spelled by another one."""

ROUNDS = "; it differs by rounding only: is it numerics='finite' or 'reassociates'?"
ZEROS = "; a zero changes its sign: is it numerics='finite'?"
LEAVES_THE_RANGE = "; what was finite is not"
REGROUPS = "; an element differs by more than rounding: is it numerics='reassociates'?"


def assert_equal(a: Array, b: Array, numerics: str, where: str) -> None:
    """Equal elements, by what the law claims: -0.0 is 0.0 unless it claims every bit, NaN is NaN.

    Of `finite` laws see `assert_finite_stays`.
    """
    if numerics == "bitwise" or not np.issubdtype(a.dtype, np.floating):
        hint = ROUNDS if numerics == "bitwise" and _differs_by_rounding(a, b) else ""
        np.testing.assert_array_equal(a, b, err_msg=where + hint)
        if np.issubdtype(a.dtype, np.floating):
            before, after = (np.signbit(x[~np.isnan(x)]) for x in (a, b))
            np.testing.assert_array_equal(before, after, err_msg=where + ZEROS)
        return
    if numerics == "in place":
        least = PLACES * float(np.finfo(a.dtype).eps)
        np.testing.assert_allclose(a, b, rtol=least, atol=least, err_msg=where)
        return
    tolerance = 1e-2 if a.dtype == np.float16 else 1e-4
    np.testing.assert_allclose(
        a.astype(np.float64),
        b.astype(np.float64),
        rtol=tolerance,
        atol=tolerance * scale_of(a.astype(np.float64)) + 1e-6,
        err_msg=where,
    )


def assert_finite_stays(a: Array, b: Array, computed: Iterable[Array], where: str, *, rounds: bool) -> None:
    """What is finite stays finite; with `rounds` it is also the same, up to rounding.

    Args:
        computed: what goes into `a` and is computed on the way; only where it is finite something is claimed.
    """
    if not np.issubdtype(a.dtype, np.floating):
        if rounds:
            np.testing.assert_array_equal(a, b, err_msg=where)
        return
    sound = _is_finite_throughout(a, computed)
    np.testing.assert_array_equal(np.isfinite(b)[sound], True, err_msg=where + LEAVES_THE_RANGE)
    if rounds:
        info = np.finfo(a.dtype)
        x, y = a[sound].astype(np.float64), b[sound].astype(np.float64)
        tolerance = FEW * float(info.eps)
        np.testing.assert_allclose(y, x, rtol=tolerance, atol=float(info.tiny), err_msg=where + REGROUPS)


def assert_within(a: Array, b: Array, claim: Approximate, inputs: Iterable[Array], where: str) -> None:
    """Every finite element differs by no more than an approximate law promises.

    Args:
        inputs: what `a` is computed from, which may be what the bound is relative to.
    """
    if not np.issubdtype(a.dtype, np.number) and a.dtype != np.bool_:
        np.testing.assert_array_equal(a, b, err_msg=where)
        return
    x, y = a.astype(np.float64), b.astype(np.float64)
    scale = 1.0 if a.dtype == np.bool_ else scale_of(x)
    if claim.of == "operands":
        numbers = (i.astype(np.float64) for i in inputs if np.issubdtype(i.dtype, np.floating))
        scale = max(scale, *map(scale_of, numbers), 0.0)
    sound = np.isfinite(x)
    far = float(np.max(np.where(np.isfinite(y), np.abs(x - y), np.inf)[sound], initial=0))
    assert far <= claim.bound * scale, (
        f"elements differ by {far:.3g}, where {claim.bound:g} of {scale:.3g}, the greatest magnitude of the"
        f" {claim.of}, is promised {where}"
    )


def scale_of(x: Array) -> float:
    """The greatest finite magnitude."""
    return float(np.max(np.abs(x[np.isfinite(x)]), initial=0))


def _is_finite_throughout(a: Array, computed: Iterable[Array]) -> npt.NDArray[np.bool_]:
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


def _differs_by_rounding(a: Array, b: Array) -> bool:
    if not np.issubdtype(a.dtype, np.floating):
        return False
    same = np.array_equal(a, b, equal_nan=True)
    return not same and np.allclose(a, b, rtol=64 * float(np.finfo(a.dtype).eps), atol=0, equal_nan=True)
