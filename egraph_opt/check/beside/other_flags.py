"""Each setting of an example that is a flag, or a word, as another one, and two of them at once.

There are few of these, among many numbers that attributes are changed to, and a law that forgets one is wrong
on half of all graphs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import combinations, product
from typing import Any

from egraph_opt.check import tables
from egraph_opt.check.beside.changing import in_one_and_in_all
from egraph_opt.check.beside.magnitudes import floats_of
from egraph_opt.check.beside.variants import arrays_of
from egraph_opt.check.scope import attributes_in, nodes_of
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import constant


def with_other_flags(example: Example) -> Iterator[Example]:
    """Each flag turned over and each word another one, in one operator and in all that have the same ones.

    And beside constants of the other sign: what is right of means is wrong of the greatest of what is turned
    round.
    """
    for base in (example, *_negated(example)):
        yield from _of_each_operator(base)


def _negated(example: Example) -> Iterator[Example]:
    constants, _ = floats_of(example)
    arrays, operands = arrays_of(example), example.operands
    for place in constants:
        operands = operands.with_constant(place, -arrays[place])
    if constants:
        yield replace(example, operands=operands)


def _of_each_operator(example: Example) -> Iterator[Example]:
    for node in nodes_of(example):
        for position in attributes_in(node):
            old = node.arguments[position]
            name = node.head.parameters[position][0]
            for value in _others(old.head.value, name, is_flag=old.sort.name == "Flag"):
                other = constant(value, old.sort)
                for term in in_one_and_in_all(example.term, node, position, other):
                    yield replace(example, term=term)


def _others(value: Any, name: str = "", *, is_flag: bool) -> Iterator[Any]:
    if is_flag:
        yield 1 - value
    elif isinstance(value, str):
        yield from _of_setting(name, value)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            entry = getattr(value, field.name)
            if field.name in tables.FLAGS:
                yield replace(value, **{field.name: type(entry)(1 - entry)})
            elif field.name == "settings":
                yield from (replace(value, settings=other) for other in _others(entry, is_flag=False))
    elif isinstance(value, tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
        yield from _of_settings(value)


def _of_settings(settings: tuple[Any, ...]) -> Iterator[Any]:
    """One setting another one, and then two at once."""
    others = {k: list(_of_setting(*pair)) for k, pair in enumerate(settings)}
    for k, name in ((k, settings[k][0]) for k in others):
        yield from ((*settings[:k], (name, other), *settings[k + 1 :]) for other in others[k])
    for j, k in combinations(others, 2):
        for one, two in product(others[j], others[k]):
            changed = {j: one, k: two}
            yield tuple((name, changed.get(n, value)) for n, (name, value) in enumerate(settings))


def _of_setting(name: Any, value: Any) -> Iterator[Any]:
    if name in tables.FLAGS and value in (0, 1):
        yield type(value)(1 - value)
    elif isinstance(name, str):
        yield from (word for word in tables.SETTINGS_BY_NAME.get(name, ()) if word != value)
