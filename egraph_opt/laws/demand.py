"""Which rules that fill tables only serve growth: they write what no statement asks for its truth.

A certificate needs none of them, and nobody records what they match.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from egraph_opt.laws.bindings import expressions_in
from egraph_opt.laws.law import Law, auxiliaries
from egraph_opt.laws.sides import rules_of
from egraph_opt.laws.statements import Assignment, Guard, Union
from egraph_opt.operators.expressions import Expression, Function, parts


@lru_cache(maxsize=8)
def rules_of_growth(laws: tuple[Law, ...]) -> frozenset[str]:
    """The rules of auxiliaries, by name, on whose matches no statement of these laws rests."""
    asked = {name for law in laws for parts in rules_of(law, law.key).values() for name in _asked(*parts)}
    left = {name: parts for entry in auxiliaries(laws) for name, parts in rules_of(entry, entry.name).items()}
    while True:
        needed = {name for name, (_, actions) in left.items() if _serves(actions, asked)}
        if not needed:
            return frozenset(left)
        for name in needed:
            asked.update(_asked(*left.pop(name)))


def _asked(conditions: Iterable[Any], actions: Iterable[Any]) -> Iterator[str]:
    """The functions that a rule asks, or that what it says is made of; what it fills is none of them."""
    for part in conditions:
        if not isinstance(part, Guard):
            yield from _functions(expressions_in(part))
    for action in actions:
        if isinstance(action, Union):
            yield from _functions(expressions_in(action))
        else:
            entry = action.entry if isinstance(action, Assignment) else action
            yield from _functions([*entry.arguments, *([action.value] if entry is not action else [])])


def _functions(expressions: Iterable[Expression]) -> Iterator[str]:
    every = (part.head for expression in expressions for part in parts(expression))
    return (head.name for head in every if isinstance(head, Function))


def _serves(actions: Iterable[Any], asked: set[str]) -> bool:
    """Whether a rule makes terms equal, or fills a table that is asked."""
    for action in actions:
        if isinstance(action, Union):
            return True
        entry = action.entry if isinstance(action, Assignment) else action
        if entry.head.name in asked:
            return True
    return False
