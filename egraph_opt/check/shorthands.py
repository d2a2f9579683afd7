"""Statements with the operators instead of the shorthands that stand for them, for examples to be drawn.

A statement of `beside(op, x, c, side)` is one of binary(op, x, c) where side is 0, and one of
binary(op, c, x) where it is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import count
from typing import Any

from egraph_opt.laws.law import Law, auxiliaries, statements
from egraph_opt.laws.statements import Equality, Rule
from egraph_opt.operators.expressions import Constant, Expression, Function, Variable, parts

Substitution = dict[Expression, Expression]


def spelled(statement: Equality | Rule, entry: Law) -> Iterator[Any]:
    """A statement once for everything that its shorthands may mean.

    The conditions of meanings only tell apart what has one name.
    """
    used = [meaning for auxiliary in auxiliaries([entry]) for meaning in statements(auxiliary)]
    meanings = [m for m in used if isinstance(m, Equality)]
    operands = [m for m in meanings if isinstance(m.right.head, Variable)]  # where the others are absent
    meanings += [replace(m, left=m.right, right=m.left) for m in operands]
    for enumerated in _enumerated(statement, [m for m in used if isinstance(m, Rule)]):
        yield from _spelled(enumerated, meanings, {}, count())


def _enumerated(statement: Any, rules: list[Rule]) -> list[Any]:
    """A statement once for every entry of relations that hold nothing but constants."""
    entries = [a for rule in rules for a in rule.actions if isinstance(a, Expression)]
    found = [statement]
    for condition in statement.conditions:
        known = [e for e in entries if isinstance(condition, Expression) and e.head is condition.head]
        if known and all(isinstance(a.head, Constant) for e in known for a in e.arguments):
            rest = tuple(c for c in statement.conditions if c is not condition)
            bound = [dict(zip(condition.arguments, e.arguments, strict=True)) for e in known]
            found = [replaced(replace(s, conditions=rest), by) for s in found for by in bound]
    return found


def _spelled(
    statement: Any, meanings: list[Equality], chosen: dict[Any, Equality], numbers: Iterator[int]
) -> Iterator[Any]:
    """Of one name and one set of attributes all shorthands of a statement mean the same operator."""
    several = {meaning.right.head for meaning in meanings if _is_shorthand(meaning.right)}
    statement = _unfolded(statement, [m for m in meanings if m.left.head not in several], numbers)
    term = next((part for part in _parts(statement) if part.head in several), None)
    if term is None:
        yield statement
        return
    for meaning in [chosen[_key(term)]] if _key(term) in chosen else meanings:
        fresh = _renamed(meaning, next(numbers))
        bound: Substitution = {}
        if fresh.right.head is term.head and _bind(fresh.right.arguments, term.arguments, bound):
            operator, named = replaced(fresh.left, bound), replaced(term, bound)
            narrowed = replaced(replaced(statement, {term: operator}), bound)
            yield from _spelled(narrowed, meanings, {**chosen, _key(named): meaning}, numbers)


def _unfolded(statement: Any, definitions: list[Equality], numbers: Iterator[int]) -> Any:
    """A statement with what shorthands of one meaning are in their place, as far as that is known."""
    for term in filter(_is_shorthand, _parts(statement)):
        for definition in definitions:
            fresh = _renamed(definition, next(numbers))
            bound: Substitution = {}
            own = {part for part in _parts(fresh.left) if isinstance(part.head, Variable)}
            alike = fresh.left.head is term.head and _bind(fresh.left.arguments, term.arguments, bound)
            if alike and bound.keys() <= own:
                unfolded = replaced(statement, {term: replaced(fresh.right, bound)})
                return _unfolded(unfolded, definitions, numbers)
    return statement


def _key(term: Expression) -> Any:
    """What tells shorthands apart that mean different operators: all but their operands."""
    return (term.head, *(a for a in term.arguments if a.sort.kind not in ("tensor", "tensors")))


def _is_shorthand(expression: Expression) -> bool:
    return isinstance(expression.head, Function) and expression.head.shorthand


def _parts(item: Any) -> Iterator[Expression]:
    """All expressions in a statement, a condition or an action."""
    if isinstance(item, Expression):
        yield from parts(item)
    elif isinstance(item, tuple):
        for member in item:
            yield from _parts(member)
    elif is_dataclass(item):
        for entry in fields(item):
            yield from _parts(getattr(item, entry.name))


def replaced(item: Any, by: Substitution) -> Any:
    """A statement, a condition or an action with other expressions instead of some."""
    if isinstance(item, Expression):
        if item in by:
            return by[item]
        arguments = tuple(replaced(argument, by) for argument in item.arguments)
        return item if arguments == item.arguments else with_arguments(item, arguments)
    if isinstance(item, tuple):
        return tuple(replaced(member, by) for member in item)
    if is_dataclass(item) and not isinstance(item, type):
        return replace(item, **{e.name: replaced(getattr(item, e.name), by) for e in fields(item)})
    return item


def transformed(item: Any, change: Callable[[Expression], Expression]) -> Any:
    """A term, or several, of which each part is what a function makes of it, what it is made of first."""
    if isinstance(item, tuple):
        return tuple(transformed(member, change) for member in item)
    arguments = tuple(transformed(argument, change) for argument in item.arguments)
    return change(item if arguments == item.arguments else with_arguments(item, arguments))


def with_arguments(item: Expression, arguments: tuple[Expression, ...]) -> Expression:
    return type(item)(item.head, arguments, item.sort)


def with_argument(item: Expression, position: int, value: Expression) -> Expression:
    return with_arguments(item, (*item.arguments[:position], value, *item.arguments[position + 1 :]))


def _renamed(meaning: Equality, number: int) -> Equality:
    variables = {part for part in _parts(meaning) if isinstance(part.head, Variable)}
    renamed = {v: type(v)(Variable(f"{v.head.name}_{number}"), (), v.sort) for v in variables}
    return replaced(meaning, renamed)  # type: ignore[no-any-return]


def _bind(patterns: tuple[Expression, ...], terms: tuple[Expression, ...], bound: Substitution) -> bool:
    """Make the arguments of a meaning those of a term: what is a variable becomes what the other is."""
    return all(_bind_one(pattern, term, bound) for pattern, term in zip(patterns, terms, strict=True))


def _bind_one(pattern: Expression, term: Expression, bound: Substitution) -> bool:
    known, given = bound.get(pattern, pattern), bound.get(term, term)
    if known == given:
        return True
    both = [(known, given), (given, known)]
    if isinstance(given.head, Variable) and given.sort != known.sort:
        both.reverse()  # the operator says which attribute it is
    for one, other in both:
        if isinstance(one.head, Variable):
            bound[one] = other
            return True
    return known.head == given.head and _bind(known.arguments, given.arguments, bound)


__all__ = ["replaced", "spelled"]
