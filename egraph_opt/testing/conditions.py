"""Conditions of laws taken away in turn: a near-miss should then fire, or nothing says why they are there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from egraph_opt.errors import UnsoundLawError
from egraph_opt.laws.law import Deduction, Equality, Guard, Law
from egraph_opt.testing.harness import fires_on


@dataclass(frozen=True)
class Condition:
    """A condition of a law, by the number of its statement and its own, and as egglog writes it."""

    law: str
    statement: int
    number: int
    text: str


def _conditions(statement: Equality | Deduction) -> tuple[Any, ...]:
    return statement.conditions if isinstance(statement, Equality) else statement.facts


def _without(statement: Equality | Deduction, number: int) -> Equality | Deduction:
    left = tuple(c for k, c in enumerate(_conditions(statement)) if k != number)
    if isinstance(statement, Equality):
        return replace(statement, conditions=left)
    return replace(statement, facts=left)


def relaxed(entry: Law, variables: list[Any]) -> Iterator[tuple[Condition, Law]]:
    """A law without each of its conditions in turn; those that only bound growth and closures stay."""
    statements = list(entry.function(*variables))
    for k, statement in enumerate(statements):
        if isinstance(statement, Deduction) and statement.closure:
            continue
        for number, condition in enumerate(_conditions(statement)):
            if isinstance(condition, Guard):
                continue
            changed = [*statements[:k], _without(statement, number), *statements[k + 1 :]]

            def function(*_: Any, changed: list[Any] = changed) -> Iterator[Any]:
                yield from changed

            function.__annotations__ = dict(entry.function.__annotations__)
            yield Condition(entry.key, k, number, str(condition)), replace(entry, function=function)


def unpinned(entry: Law, variables: list[Any]) -> list[Condition]:
    """The conditions of a law that can go without any of its near-misses firing.

    One that binds a variable cannot go, since egglog does not take the rule then.
    """
    assert entry.examples is not None
    misses = [e for e in entry.examples(np.random.default_rng(0)) if not e.fires]
    found = []
    for condition, law in relaxed(entry, variables):
        try:
            pinned = any(fires_on(law, miss) for miss in misses)
        except UnsoundLawError:
            continue  # it fired, and the types of the sides differ
        except Exception:  # egglog's errors share no base class; a variable is unbound
            continue
        if not pinned:
            found.append(condition)
    return found
