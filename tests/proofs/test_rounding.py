"""What Python computes of whole numbers in floats is what a proof takes it for, and exact up to 2^53 only."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import pytest
import z3

from egraph_opt.proofs.numbers import Fraction, Truth, Whole
from egraph_opt.proofs.paths import Path
from egraph_opt.proofs.python import real, whole
from egraph_opt.proofs.rounding import EXACT

NUMBERS = (-7, -1, 1, 3, 49, 2**31, EXACT - 1, EXACT)
BEYOND = (EXACT + 1, -EXACT - 3, 2**60 + 1)
OPERATIONS = (operator.add, operator.sub, operator.mul, operator.truediv)


def hidden(path: Path, value: int) -> Whole:
    """A number that Python code cannot see and the path knows."""
    formula = path.fresh("x")
    path.assume(formula == value)
    return Whole(formula, path)


def is_known_as(path: Path, made: Any, value: Any) -> bool:
    """Whether it follows that a symbolic answer is a number or a truth value."""
    if not isinstance(made, (Whole, Fraction, Truth)):
        return bool(made == value)
    return path.follows(made.formula == value)


@pytest.mark.parametrize("value", NUMBERS)
def test_a_float_of_a_whole_number_is_that_number(value: int) -> None:
    path = Path()
    assert is_known_as(path, whole(real(hidden(path, value))), value)
    assert is_known_as(path, real(hidden(path, value)) == value, True)


@pytest.mark.parametrize("value", BEYOND)
def test_beyond_what_floats_hold_nothing_is_known(value: int) -> None:
    assert int(float(value)) != value
    path = Path()
    assert not is_known_as(path, whole(real(hidden(path, value))), value)


@pytest.mark.parametrize("function", OPERATIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(("a", "b"), list(itertools.product((-7, 3, 49, EXACT), (-3, 1, 49))))
def test_what_is_known_of_floats_is_what_python_computes(
    function: Callable[[Any, Any], Any], a: int, b: int
) -> None:
    path, plain = Path(), function(float(a), float(b))
    made = function(real(hidden(path, a)), real(hidden(path, b)))
    cut = z3.simplify(whole(made).formula if isinstance(whole(made), Whole) else z3.IntVal(whole(made)))
    if abs(plain) < EXACT:
        assert path.follows(cut == int(plain))
    assert not path.follows(cut != int(plain)), "what is taken for known is not so"


def test_a_sum_that_is_rounded_is_not_known() -> None:
    path = Path()
    made = whole(real(hidden(path, EXACT)) + real(hidden(path, 1)))
    assert int(float(EXACT) + 1.0) == EXACT
    assert not path.follows(made.formula == EXACT + 1)


def test_a_quotient_with_a_rest_is_rounded() -> None:
    """1 / 49 * 49 is no 1 in floats."""
    assert 1 / 49 * 49 != 1
    path = Path()
    n = hidden(path, 49)
    assert not is_known_as(path, 1 / n * 49 == 1, True)
    assert is_known_as(path, (hidden(path, 98) / n).is_integer(), True)
    assert is_known_as(path, hidden(path, 98) / n == 2.0, True)
