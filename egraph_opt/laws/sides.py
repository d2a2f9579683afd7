"""A statement as rules: an equality is read from one side, or from both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from egraph_opt.laws.law import Auxiliary, Law, statements
from egraph_opt.laws.statements import Equality, Equals, Rule, Union
from egraph_opt.operators.expressions import Variable

WHOLE = Variable("whole__")
"""What is matched by the side of an equality."""

Parts = tuple[tuple[Any, ...], tuple[Any, ...]]
"""The conditions and the actions of a rule."""


def rules_of(entry: Law | Auxiliary, name: str = "") -> dict[str, Parts]:
    """The rules of a law or an auxiliary, by name: `<name>#<k>` and what `statement_rules` adds."""
    return {
        rule: (conditions, actions)
        for k, statement in enumerate(statements(entry))
        for rule, conditions, actions in statement_rules(statement, f"{name}#{k}")
    }


def statement_rules(
    statement: Equality | Rule, name: str
) -> Iterator[tuple[str, tuple[Any, ...], tuple[Any, ...]]]:
    """The rules of a statement: name, conditions, actions."""
    if isinstance(statement, Rule):
        yield name, statement.conditions, statement.actions
        return
    sides = [(name, statement.left, statement.right)]
    if statement.both:
        sides.append((f"{name}<", statement.right, statement.left))
    for side_name, matched, written in sides:
        whole = type(matched)(WHOLE, (), matched.sort)
        found = Equals(whole, matched)
        yield side_name, (found, *statement.conditions), (Union(whole, written),)
