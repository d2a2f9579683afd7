"""The variables by which a match of a statement is known: those that what it says is made of.

What conditions of growth bind for themselves is none of it: the statement is as true whatever that is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from egraph_opt.laws.statements import Absent, Assignment, Differs, Equals, Guard, Union
from egraph_opt.operators.expressions import Expression, Variable, parts

Columns = tuple[tuple[str, str], ...]
"""Variables by name, each with its kind."""


def expressions_in(statement: Any) -> tuple[Expression, ...]:
    """The expressions of a condition or an action."""
    if isinstance(statement, Guard):
        return expressions_in(statement.condition)
    if isinstance(statement, (Equals, Differs, Union)):
        return statement.left, statement.right
    if isinstance(statement, Absent):
        return (statement.answer,)
    if isinstance(statement, Assignment):
        return statement.entry, statement.value
    return (statement,)


def variables_of(expression: Expression) -> set[Expression]:
    """The variables in an expression."""
    return {part for part in parts(expression) if isinstance(part.head, Variable)}


def columns_of(conditions: Iterable[Any], actions: Iterable[Any]) -> Columns:
    """The variables of a rule but for those of guards alone, sorted by name."""
    kept = [part for part in conditions if not isinstance(part, Guard)]
    found = {
        variable.head.name: variable.sort.kind
        for part in (*kept, *actions)
        for expression in expressions_in(part)
        for variable in variables_of(expression)
    }
    return tuple(sorted(found.items()))
