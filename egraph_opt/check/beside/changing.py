"""What most of this package does to an example: other parts of its terms, other values of attributes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from egraph_opt.check.shorthands import Substitution, replaced, transformed, with_argument
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression, constant


def with_parts(example: Example, by: Substitution) -> Example:
    """An example with other expressions instead of some, in all of its terms."""
    return replace(example, term=replaced(example.term, by))


def with_roots(example: Example, terms: Iterable[Expression]) -> Example:
    """An example of other terms, as many as it has."""
    several = tuple(terms)
    return replace(example, term=several if isinstance(example.term, tuple) else several[0])


def with_changed(example: Example, node: Expression, position: int, value: object) -> Example:
    """An example of which one operator has another value of an attribute."""
    return with_parts(example, {node: with_attribute(node, position, value)})


def with_attribute(node: Expression, position: int, value: object) -> Expression:
    """An operator with another value of an attribute."""
    return with_argument(node, position, constant(value, node.arguments[position].sort))


def in_one_and_in_all(term: Any, node: Expression, position: int, value: Expression) -> list[Any]:
    """A term with another value of an attribute, in one operator and then in all that have the same one."""

    def change(part: Expression) -> Expression:
        alike = part.head == node.head and part.arguments[position] == node.arguments[position]
        return with_argument(part, position, value) if alike else part

    one = replaced(term, {node: with_argument(node, position, value)})
    return list(dict.fromkeys((one, transformed(one, change))))
