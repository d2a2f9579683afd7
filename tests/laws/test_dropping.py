"""Laws without one of their conditions: which conditions may go, and what the law without one is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from egraph_opt.check.terms import lower_example
from egraph_opt.egraph.commands import program_of
from egraph_opt.egraph.saturation import saturate_terms
from egraph_opt.errors import LawError
from egraph_opt.laws import (
    Operands,
    Permutation,
    Tensor,
    eq,
    equal,
    guard,
    hosted,
    kernel,
    relu,
    rewrite,
    rule,
    union,
)
from egraph_opt.laws.checking import check, host_functions
from egraph_opt.laws.dropping import droppable, without
from egraph_opt.laws.law import Law, registered, statements
from egraph_opt.laws.selection import all_laws
from egraph_opt.operators import transpose


@hosted()
def is_double(x: Any) -> bool:
    return bool(x.dtype == 11)


@hosted()
def is_matrix(x: Any) -> bool:
    return bool(x.rank == 2)


@hosted()
def turned(p: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(reversed(p))


def several(x: Tensor, y: Tensor, p: Permutation, q: Permutation):
    yield rewrite(
        relu(relu(x)), relu(x), is_double(x), guard(is_matrix(x)), kernel(is_matrix(x)), because="grows"
    )
    yield rewrite(transpose(x, p), transpose(x, q), eq(q, turned(p)), is_matrix(x), because="odd")
    yield rule(eq(y, relu(x)), is_double(x), then=union(y, x), because="odd")
    yield equal(relu(x), relu(relu(x)))


SEVERAL = Law("tried", "several", "a law", "", "bitwise", several, None, required=("transpose.compose",))


def test_each_condition_is_told_with_what_it_is_for() -> None:
    found = [(d.statement, d.condition, d.purpose) for d in droppable(SEVERAL)]
    assert found == [(0, 0, "truth"), (0, 1, "growth"), (0, 2, "kernel"), (1, 1, "truth"), (2, 1, "truth")]
    first, second = droppable(SEVERAL)[:2]
    assert (first.expression.head, second.expression.head) == (is_double, is_matrix)
    assert first.line == statements(SEVERAL)[0].line > several.__code__.co_firstlineno


def test_what_binds_a_variable_that_is_used_elsewhere_is_not_dropped() -> None:
    with pytest.raises(LawError, match=r"tried\.several#1 cannot be stated without condition 0"):
        without(SEVERAL, 1, 0)
    with pytest.raises(LawError, match="cannot be stated without condition 9"):
        without(SEVERAL, 0, 9)


def test_a_law_without_a_condition_is_the_same_otherwise() -> None:
    before = dict(registered)
    weaker = without(SEVERAL, 0, 0)
    assert registered == before
    assert weaker.key == "tried.several_without_0_0" and weaker != SEVERAL
    assert (weaker.required, weaker.numerics, weaker.function) == (SEVERAL.required, "bitwise", several)
    assert len(statements(weaker)[0].conditions) == len(statements(SEVERAL)[0].conditions) - 1
    assert statements(weaker)[1:] == statements(SEVERAL)[1:]
    assert [s.line for s in statements(weaker)] == [s.line for s in statements(SEVERAL)]


@pytest.mark.parametrize("dropped", [False, True])
def test_the_law_matches_where_the_condition_does_not_hold(dropped: bool) -> None:
    entry, g = without(SEVERAL, 0, 0) if dropped else SEVERAL, Operands(np.random.default_rng(0))
    lowered = lower_example(g.fires(relu(relu(g.input((2, 3))))), 17)
    _, report = saturate_terms(lowered, (entry,), {}, nodes=100, rounds=1, seconds=30)
    assert bool(report.rule_matches.get(f"{entry.key}#0")) is dropped


def test_every_condition_of_every_law_can_be_dropped() -> None:
    """Each law without one of its conditions is declared well, and has rules that are its own."""
    weaker = [without(law, d.statement, d.condition) for law in all_laws()[::10] for d in droppable(law)]
    assert len(weaker) > 40
    for law in weaker:
        assert check(law) and host_functions(law) is not None
        names = [name for name in program_of((law,)).rules if name.startswith(f"{law.key}#")]
        assert names
