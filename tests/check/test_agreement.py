"""What each claim allows, from just within to just beyond."""

from __future__ import annotations

import numpy as np
import pytest

from egraph_opt.check.judging.agreement import Claim, difference
from egraph_opt.check.judging.excuses import flushed
from egraph_opt.laws.exactness import Approximate, Scale

LAST = float(np.finfo(np.float32).eps)
INF, NAN = float("inf"), float("nan")

CASES: dict[str, tuple[Claim, list[float], list[float], bool]] = {
    "equal": ("every bit", [1.0, -0.0, INF], [1.0, -0.0, INF], True),
    "nan of another payload": ("every bit", [NAN], [-NAN], True),
    "a last place": ("every bit", [1.0], [1 + LAST], False),
    "a zero's sign": ("every bit", [0.0], [-0.0], False),
    "twelve places, in place": ("in place", [1.0], [1 + 12 * LAST], True),
    "forty places, in place": ("in place", [1.0], [1 + 40 * LAST], False),
    "three places": ("finite", [1e6], [1e6 * (1 + 3 * LAST)], True),
    "nine places": ("finite", [1e6], [1e6 * (1 + 9 * LAST)], False),
    "a zero's sign, finite": ("finite", [0.0], [-0.0], True),
    "infinity lost": ("finite", [INF], [1.0], True),
    "infinity made": ("stays finite", [1.0], [INF], False),
    "a sum in another order": ("real", [1.0, 100.0], [1.0, 100.005], True),
    "a sum of something else": ("real", [1.0, 100.0], [1.0, 100.05], False),
    "small beside large": ("real", [1e-3, 100.0], [2e-3, 100.0], True),
    "small alone": ("real", [1e-3], [1.2e-3], False),
    "what float32 loses": ("reference", [1.0], [1 + 100 * LAST], True),
    "what it does not": ("reference", [1.0], [1 + 2000 * LAST], False),
}


@pytest.mark.parametrize("case", CASES)
def test_a_claim(case: str) -> None:
    claim, a, b, agrees = CASES[case]
    found = difference(np.array(a, np.float32), np.array(b, np.float32), claim)
    assert (found is None) is agrees


@pytest.mark.parametrize(("apart", "agrees"), [(1e-12, True), (1e-9, False)])
def test_sums_of_doubles_agree_as_doubles_do(apart: float, agrees: bool) -> None:
    a = np.array([1.0])
    assert (difference(a, a + apart, "real in double", [a]) is None) is agrees
    assert difference(a, a + apart, "real", [a]) is None


@pytest.mark.parametrize(("there", "agrees"), [(20.0, True), (2000.0, False)])
def test_what_is_lost_of_large_numbers_on_the_way_is_no_difference(there: float, agrees: bool) -> None:
    """Here 20 and 2000 last places of 1e6, of which 64 are allowed."""
    a, on_the_way = np.array([0.5], np.float32), np.array([1e6], np.float32)
    b = (a.astype(np.float64) + there * LAST * 1e6).astype(np.float32)
    assert (difference(a, b, "real", [on_the_way]) is None) is agrees
    assert difference(a, b, "real", [a]) is not None


@pytest.mark.parametrize(("operand", "agrees"), [(1.0, True), (0.01, False)])
def test_the_reference_rounds_halves_as_well(operand: float, agrees: bool) -> None:
    """A difference of halves near 1 is a multiple of a last place there."""
    a, b = np.array([0.0], np.float16), np.array([2.0**-11], np.float16)
    assert (difference(a, b, "reference", [a, np.array([operand], np.float16)]) is None) is agrees


def test_what_is_subnormal_in_a_type_is_what_its_kernels_take_for_zero() -> None:
    numbers = np.array([1e-43, -1e-39, 1e-37, NAN, INF])
    assert np.array_equal(flushed(numbers, np.dtype(np.float32)), [0, 0, 1e-37, NAN, INF], equal_nan=True)
    assert np.array_equal(flushed(numbers, np.dtype(np.float64)), numbers, equal_nan=True)
    assert flushed(np.array([0, 1]), np.dtype(np.int64)).tolist() == [0, 1]


@pytest.mark.parametrize(("error", "agrees"), [(0.9e-2, True), (1.1e-2, False)])
@pytest.mark.parametrize("of", ["value", "operands"])
def test_a_bound(error: float, agrees: bool, of: Scale) -> None:
    bound = Approximate(1e-2, of=of)
    a, operand = np.array([1.0, 10.0]), np.array([1.0, 10.0 if of == "value" else 100.0])
    scale = 10.0 if of == "value" else 100.0
    assert (difference(a, a + error * scale, "bound", [operand], bound) is None) is agrees
