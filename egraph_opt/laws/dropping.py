"""Laws without one of their conditions, for tests that a condition is needed.

    for each in droppable(law):
        weaker = without(law, each.statement, each.condition)

What a law without a condition that is there for truth goes wrong on shows what the condition is for; where it
goes wrong on nothing, the condition is not needed, or what it is for was not tried.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from egraph_opt.errors import LawError
from egraph_opt.laws.checking import binds_its_variables
from egraph_opt.laws.law import Law, statements
from egraph_opt.laws.statements import Guard

Reason = Literal["truth", "growth", "kernel"]


@dataclass(frozen=True)
class Dropped:
    """A condition that a law may be stated without.

    Attributes:
        statement: the number of its statement in the law, from 0, as in the names of rules.
        condition: its number among the conditions of the statement, from 0.
        expression: the condition itself, unmarked.
        purpose: what it is there for: "truth", or without it the law is as true, "growth" or "kernel".
        line: of the statement, in the file of the law.
    """

    statement: int
    condition: int
    expression: Any
    purpose: Reason
    line: int


def droppable(law: Law) -> tuple[Dropped, ...]:
    """The conditions of a law's statements but for those that bind a variable that is used elsewhere.

    Raises:
        LawError: the law is declared wrongly.
    """
    found = []
    for k, statement in enumerate(statements(law)):
        for c, condition in enumerate(statement.conditions):
            if binds_its_variables(statement.without(c)):
                found.append(Dropped(k, c, *_read(condition), statement.line))
    return tuple(found)


def _read(condition: Any) -> tuple[Any, Reason]:
    """A condition and what it is there for."""
    return (condition.condition, condition.purpose) if isinstance(condition, Guard) else (condition, "truth")


def without(law: Law, statement: int, condition: int) -> Law:
    """A law that lacks one condition of one statement; it is not registered, and has a name of its own.

    Raises:
        LawError: there is no such condition, or it binds a variable that is used elsewhere.
    """
    if not any((d.statement, d.condition) == (statement, condition) for d in droppable(law)):
        raise LawError(f"{law.key}#{statement} cannot be stated without condition {condition}")
    name = f"{law.name}_without_{statement}_{condition}"
    return replace(law, name=name, dropped=(statement, condition))


def asking_kernels(law: Law) -> Law | None:
    """A law that asks what a target has kernels for as it asks what is true; None of one that asks nothing
    of the kind."""
    conditions = [condition for statement in statements(law) for condition in statement.conditions]
    if not any(isinstance(condition, Guard) and condition.purpose == "kernel" for condition in conditions):
        return None
    return replace(law, name=f"{law.name}_asking_kernels", asks_kernels=True)
