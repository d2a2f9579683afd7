"""Laws that change values state by how much, and are held to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from egraph_opt.check import check_law
from egraph_opt.check.judging.agreement import difference
from egraph_opt.errors import LawError
from egraph_opt.laws import Tensor, approximate, kernel, rewrite, sigmoid
from egraph_opt.laws.exactness import Approximate
from egraph_opt.laws.law import Law
from egraph_opt.operators import unary
from egraph_opt.rewrites.elementwise.bounds import has_single_kernel

SETTINGS = (("alpha", 0.2), ("beta", 0.5))


def hard(x: Tensor):
    known = kernel(has_single_kernel(x))
    yield rewrite(sigmoid(x), unary("HardSigmoid", SETTINGS, x), *known, because="forgets that it is smooth")


def law_with(within: Approximate) -> Law:
    return Law("tried", "hard", "a law", "", "approximate", hard, None, within=within)


def test_a_law_is_held_to_its_bound() -> None:
    assert check_law(law_with(approximate(0.1, of="operands")), terms=12).checks
    with pytest.raises(AssertionError, match=r"more than 0\.01 of"):
        check_law(law_with(approximate(0.01, of="operands")), terms=48)


@pytest.mark.parametrize("bound", [0, -1.0, float("nan"), float("inf"), True, "1e-2", None])
def test_a_bound_is_a_positive_number(bound: Any) -> None:
    with pytest.raises(LawError, match="is a positive number"):
        approximate(bound)


def agree(a: Any, b: Any, claim: Approximate, *inputs: Any) -> bool:
    given = [np.asarray(array) for array in inputs]
    return difference(np.asarray(a), np.asarray(b), "bound", given, claim) is None


def test_a_bound_is_relative_to_the_greatest_magnitude() -> None:
    assert agree([1.0, -100.0], [1.9, -100.0], approximate(1e-2))
    assert not agree([1.0, -100.0], [2.1, -100.0], approximate(1e-2))
    assert not agree([0.0], [0.1], approximate(1e-2), [100.0])
    assert agree([0.0], [0.1], approximate(1e-2, of="operands"), [100.0])


def test_what_is_finite_stays_finite_and_nothing_is_said_of_the_rest() -> None:
    assert not agree([1.0, 2.0], [1.0, np.nan], approximate(1e-2))
    assert not agree([1.0, 2.0], [1.0, np.inf], approximate(1e-2))
    assert agree([1.0, np.inf], [1.0, 5.0], approximate(1e-2))


def test_truth_values_differ_by_one() -> None:
    assert not agree([False, False], [False, True], approximate(0.5))
    assert agree([False, False], [False, True], approximate(1.0))
    assert not agree(["a"], ["b"], approximate(1.0))
