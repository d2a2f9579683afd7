"""Which classes of laws an exactness lets take part, and what they are checked on."""

from __future__ import annotations

from typing import Any

import pytest

from egraph_opt.errors import ExactnessError
from egraph_opt.laws.exactness import CLASSES, exactness_named
from egraph_opt.laws.law import Law, statements
from egraph_opt.laws.selection import all_laws, opt_in, select
from egraph_opt.laws.statements import Equality
from egraph_opt.operators.expressions import Expression, Function

MOVING = frozenset("transpose reshape slice concat gather split expand output cons nil none cat".split())
"""Operators that compute nothing."""


def classes(exactness: Any) -> set[str]:
    return {law.numerics for law in select(None, exactness=exactness)}


def test_each_exactness_lets_in_the_classes_that_hold_it() -> None:
    assert classes("bitwise") == {"bitwise"}
    assert classes("finite") == {"bitwise", "finite"}
    assert classes("real") == {"bitwise", "finite", "reassociates"}
    assert select(None, exactness="real") == select(None)
    assert {law.numerics for law in all_laws()} == set(CLASSES)


def test_rulesets_that_a_target_brings_are_thinned_out_too() -> None:
    brought = {law.key: law.numerics for law in select((), ("conv1d", "large_kernel"), "bitwise")}
    assert brought and set(brought.values()) == {"bitwise"}


def test_what_is_named_and_has_nothing_of_the_class_is_an_error() -> None:
    with pytest.raises(ExactnessError, match="exactness='bitwise' leaves out all of 'approximate'"):
        select(["default", "approximate"], exactness="bitwise")
    with pytest.raises(ExactnessError, match=r"'elementwise\.zero_added'"):
        select(["elementwise.zero_added"], exactness="bitwise")
    assert select(["default", "-approximate"], exactness="bitwise") == select(None, exactness="bitwise")
    assert any(law.ruleset == "approximate" for law in select(["default", "approximate"], exactness="real"))


def test_an_unknown_exactness_gets_a_suggestion() -> None:
    with pytest.raises(ExactnessError, match="did you mean 'bitwise'"):
        exactness_named("bit-wise")


def operators_of(law: Law) -> set[str]:
    """The names of the functions on tensors that the sides of a law hold."""
    found: set[str] = set()
    for statement in statements(law):
        pending = [statement.left, statement.right] if isinstance(statement, Equality) else []
        while pending:
            part: Expression = pending.pop()
            if isinstance(part.head, Function) and part.sort.kind in ("tensor", "tensors", "bundle"):
                found.add(part.head.name)
            pending.extend(part.arguments)
    return found


def test_laws_that_only_move_data_are_bitwise() -> None:
    moving = [law for law in all_laws() if (found := operators_of(law)) and found <= MOVING]
    assert len(moving) > 10
    assert [law.key for law in moving if law.numerics != "bitwise" and not opt_in(law.ruleset)] == []
