"""What a law saves without writing anything: terms that equal a part of themselves, or one another.

Or what it writes is there already, in another place of the model: then it only makes two values equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from egraph_opt.laws.law import Law, statements
from egraph_opt.laws.statements import Equality, Equals, Rule, Union
from egraph_opt.operators.expressions import Constant, Expression

Head = tuple[str, str]
"""An operator of the term language and the name of the ONNX operator, "" for any."""


@lru_cache(maxsize=1024)
def saved_heads(entry: Law) -> frozenset[Head]:
    """The operators on top of the terms that a law makes equal to something that is there already."""
    found: set[Head] = set()
    for statement in statements(entry):
        pairs = _of_equality(statement) if isinstance(statement, Equality) else _of_rule(statement)
        found |= {_head(term) for term in pairs if term.arguments}
    return frozenset(found)


@lru_cache(maxsize=1024)
def merged_heads(entry: Law) -> frozenset[tuple[Head, Head | None]]:
    """The operators on top of the terms that a law matches, each with that of what it writes, None if any."""
    found: set[tuple[Head, Head | None]] = set()
    for statement in statements(entry):
        if isinstance(statement, Equality):
            pairs = [(statement.left, statement.right)]
            pairs += [(statement.right, statement.left)] if statement.both else []
        else:
            named = {c.left: c.right for c in statement.conditions if isinstance(c, Equals)}
            unions = [action for action in statement.actions if isinstance(action, Union)]
            sides = [(named.get(u.left, u.left), named.get(u.right, u.right)) for u in unions]
            pairs = [*sides, *((b, a) for a, b in sides)]
        found |= {(_head(a), _head(b) if b.arguments else None) for a, b in pairs if a.arguments}
    return frozenset(found)


def _of_equality(statement: Equality) -> Iterator[Expression]:
    sides = (statement.left, statement.right)
    for matched, written in (sides, sides[::-1])[: 1 + statement.both]:
        if written in _parts(matched):
            yield matched


def _of_rule(statement: Rule) -> Iterator[Expression]:
    named = {c.left: c.right for c in statement.conditions if isinstance(c, Equals)}
    there = {part for pair in named.items() for side in pair for part in _parts(side)}
    for action in statement.actions:
        if isinstance(action, Union) and {action.left, action.right} <= there:
            yield from (named.get(side, side) for side in (action.left, action.right))


def _head(term: Expression) -> Head:
    names = [a.head.value for a in term.arguments if a.sort.kind == "string" and isinstance(a.head, Constant)]
    return term.head.name, names[0] if names else ""


def _parts(expression: Expression) -> Iterator[Expression]:
    yield expression
    for argument in expression.arguments:
        yield from _parts(argument)
