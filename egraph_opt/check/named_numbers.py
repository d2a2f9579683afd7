"""The numbers that a law names, and those that constants of a term are: inputs and neighbours hold them.

And the orders of axes, lists of them, equations and words that its host functions name.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from egraph_opt.egraph.lowering import Lowered
from egraph_opt.laws.checking import host_functions
from egraph_opt.laws.law import Law, statements
from egraph_opt.operators.declaration import Literal
from egraph_opt.operators.expressions import Constant, parts

MOST_AXES = 6
"""Of what is reduced along axes that a law names."""

LARGEST_TABLE = 32
"""Of a table in which a law's host function looks something up: larger ones are not about numbers."""


def numbers_of(law: Law) -> Iterator[float]:
    """The numbers that a law names: in its statements, and in what its host functions name."""
    pending: list[Any] = [*statements(law), *_named_in(law)]
    while pending:
        item = pending.pop()
        if hasattr(item, "arguments"):
            pending += [p.head.value for p in parts(item) if isinstance(p.head, Constant)]
        elif isinstance(item, Literal):
            pending += item.values
        elif isinstance(item, (int, float)) and not isinstance(item, bool):
            yield float(item)
        elif isinstance(item, (tuple, list)):
            pending += item
        elif hasattr(item, "__dataclass_fields__"):
            pending += [getattr(item, name) for name in item.__dataclass_fields__ if name != "line"]


def constants_of(lowered: Lowered) -> frozenset[float]:
    """The numbers that constants of a term are throughout."""
    found = (fact.splat for fact in lowered.facts if fact is not None and fact.splat is not None)
    return frozenset(float(n) for n in found if isinstance(n, (int, float)))


@dataclass(frozen=True)
class NamedAttributes:
    """What the host functions of a law name beside numbers.

    Attributes:
        orders: of axes, by how many there are; none of them leaves all in their place.
        equations: of Einsum.
        axes: lists of them, as reductions have.
        words: that may be settings.
    """

    orders: Mapping[int, frozenset[tuple[int, ...]]]
    equations: frozenset[str]
    axes: frozenset[tuple[int, ...]] = frozenset()
    words: frozenset[str] = frozenset()


def named_by(law: Law) -> NamedAttributes:
    """What a law names in the code of its host functions, of functions beside them, and in their tables."""
    orders: dict[int, frozenset[tuple[int, ...]]] = {}
    equations: set[str] = set()
    axes: set[tuple[int, ...]] = set()
    words: set[str] = set()
    for item in _named_in(law):
        if isinstance(item, str) and "->" in item and "," in item:
            equations.add(item)
        elif isinstance(item, str) and item.isidentifier():
            words.add(item)
        elif isinstance(item, tuple) and _is_order(item):
            orders[len(item)] = orders.get(len(item), frozenset()) | {item}
        elif isinstance(item, tuple) and _are_axes(item):
            axes.add(item)
    return NamedAttributes(orders, frozenset(equations), frozenset(axes), frozenset(words))


def _are_axes(item: tuple[Any, ...]) -> bool:
    rising = all(type(k) is int and 0 <= k < MOST_AXES for k in item) and [*item] == sorted({*item})
    return bool(item) and rising


def _is_order(item: tuple[Any, ...]) -> bool:
    whole = all(type(k) is int for k in item)
    return whole and sorted(item) == [*range(len(item))] != [*item]


def _named_in(law: Law) -> Iterator[Any]:
    """Constants, and those in tuples and tables, however deep."""
    pending: list[Any] = [inspect.unwrap(each.function) for each in host_functions(law)]
    met: set[int] = set()
    while pending:
        item = pending.pop()
        if isinstance(item, FunctionType) and id(item) not in met:
            met.add(id(item))
            pending.append(item.__code__)
            used = (item.__globals__.get(name) for code in _codes_in(item) for name in code.co_names)
            pending += [each for each in used if _is_beside(each, item)]
        elif isinstance(item, CodeType):
            pending += item.co_consts
        elif isinstance(item, dict):
            keys = (key for key in item if not isinstance(key, int))  # which are types of elements
            pending += (*keys, *item.values()) if len(item) <= LARGEST_TABLE else ()
        elif isinstance(item, (tuple, list, frozenset)):
            yield item
            pending += item if len(item) <= LARGEST_TABLE else ()
        else:
            yield item


def _codes_in(function: FunctionType) -> list[CodeType]:
    """The code of a function, and of what is defined within it: a condition of all elements, say."""
    found = [function.__code__]
    for code in found:
        found += [each for each in code.co_consts if isinstance(each, CodeType)]
    return found


def _is_beside(item: Any, function: FunctionType) -> bool:
    """Whether it is a table, a number with a name, or a function that the same module declares."""
    if isinstance(item, FunctionType):
        return item.__module__ == function.__module__
    return isinstance(item, (dict, tuple, list, int, float))
