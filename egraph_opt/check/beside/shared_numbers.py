"""Numbers that several attributes of a term have, changed in all of them at once.

A condition that compares attributes, such as that one slice begins where another one ends, holds on what is
beside an example only where both change alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from egraph_opt.check.beside.near_values import is_of
from egraph_opt.check.scope import attributes_in
from egraph_opt.check.shorthands import transformed, with_arguments
from egraph_opt.operators.expressions import Expression, constant, parts

AXES = frozenset({"Axis", "Axes"})
"""Sorts whose numbers are axes, as the first of each cut of a slice is."""

Place = tuple[str, int]
"""What a number is for, and the number."""


def with_other_shared_numbers(term: Any) -> Iterator[Any]:
    """The term or terms, with each number that is there several times one more, one less, twice as much, and
    counted from the end."""
    terms = term if isinstance(term, tuple) else (term,)
    for (use, number), times in _places(terms).items():
        if times > 1:
            for other in dict.fromkeys((number + 1, number - 1, 2 * number, -number - 1, -number)):
                if other != number:
                    yield _changed(term, (use, number), other)


def _places(terms: Iterable[Expression]) -> Counter[Place]:
    found: Counter[Place] = Counter()
    for part in (part for term in terms for part in parts(term)):
        found.update(use for k in attributes_in(part) for use, _ in _numbers(part.arguments[k]))
    return found


def _numbers(attribute: Expression) -> Iterator[tuple[Place, tuple[int, ...]]]:
    """What the numbers of an attribute are for, with where they are in its value."""
    value, name = getattr(attribute.head, "value", None), attribute.sort.name
    if name == "Slices" and isinstance(value, tuple):
        for k, cut in enumerate(value):
            named = ("axis", "bound", "bound", "step")
            yield from (((named[j], n), (k, j)) for j, n in enumerate(cut) if isinstance(n, int))
        return
    use = "axis" if name in AXES else name
    if isinstance(value, tuple):
        yield from (((use, n), (k,)) for k, n in enumerate(value) if _is_number(n))
    elif isinstance(value, int) and _is_number(value):
        yield (use, value), ()


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _changed(term: Any, place: Place, other: int) -> Any:
    def change(part: Expression) -> Expression:
        given = list(part.arguments)
        for position in attributes_in(part):
            for use, where in _numbers(part.arguments[position]):
                if use == place:
                    old = given[position]
                    value = _with(old.head.value, where, other)
                    given[position] = constant(value, old.sort) if is_of(old.sort, value) else old
        return part if given == list(part.arguments) else with_arguments(part, tuple(given))

    return transformed(term, change)


def _with(value: Any, where: tuple[int, ...], other: int) -> Any:
    """A value with the number at a place changed."""
    if not where:
        return other
    k, *rest = where
    return (*value[:k], _with(value[k], tuple(rest), other), *value[k + 1 :])
