"""Conditions say what they are for: truth, growth, or what a target has kernels for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from egraph_opt.check.terms import lower_example
from egraph_opt.egraph.saturation import saturate_terms
from egraph_opt.errors import LawError
from egraph_opt.laws import Operands, Permutation, Tensor, eq, guard, kernel, relu, rewrite
from egraph_opt.laws.checking import check
from egraph_opt.laws.law import Law
from egraph_opt.laws.statements import Guard, unguarded, without_guards
from egraph_opt.operators import transpose
from egraph_opt.operators.host import hosted


@hosted()
def is_float(x: Any) -> bool:
    return bool(x.dtype == 1)


@hosted()
def is_double(x: Any) -> bool:
    return bool(x.dtype == 11)


def law_of(function: Any) -> Law:
    return Law("tried", function.__name__, "a law", "", "bitwise", function, None)


def for_a_kernel(x: Tensor):
    yield rewrite(relu(relu(x)), relu(x), kernel(is_double(x)), because="grows")


def binds_in_a_kernel(x: Tensor, y: Tensor, p: Permutation):
    yield rewrite(relu(x), transpose(y, p), kernel(eq(x, transpose(y, p))), because="grows")


def test_marks_are_kept_with_what_they_are_for() -> None:
    x = Operands(np.random.default_rng(0)).input((2, 3))
    condition = is_double(x)
    marked = kernel(condition, guard(is_float(x)))
    assert marked == (Guard(condition, "kernel"), Guard(is_float(x), "growth"))
    assert unguarded(marked) == (condition, is_float(x))
    assert without_guards((condition, *marked)) == (condition,)


@pytest.mark.parametrize(("guards", "found"), [(True, False), (False, True)])
def test_a_law_matches_where_there_is_no_kernel_only_without_guards(guards: bool, found: bool) -> None:
    entry, g = law_of(for_a_kernel), Operands(np.random.default_rng(0))
    lowered = lower_example(g.fires(relu(relu(g.input((2, 3))))), 17)
    _, report = saturate_terms(lowered, (entry,), {}, nodes=100, rounds=3, seconds=30, guards=guards)
    assert bool(sum(report.matches.values())) is found


def test_a_kernel_condition_binds_nothing_that_is_used_elsewhere() -> None:
    with pytest.raises(LawError, match=r"test_guards\.py:\d+: binds_in_a_kernel: no pattern binds `[py]`"):
        check(law_of(binds_in_a_kernel))
