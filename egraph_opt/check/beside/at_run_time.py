"""Operands that only a run knows: each constant as an input, all of them, and two that are equal; and a zero
point where there was none.

A law that asks what a constant holds may take what is not known for its default, or for anything; and two of
which nothing is known for equal ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np

from egraph_opt.check.beside.optional_operands import QUANTIZING, given, places_in
from egraph_opt.check.beside.variants import arrays_of, dims_of, with_input
from egraph_opt.check.choices import spread
from egraph_opt.check.scope import operators_in, place_of_leaf, roots_of
from egraph_opt.check.shorthands import transformed, with_arguments
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example
from egraph_opt.operators.constants import leaf
from egraph_opt.operators.expressions import Expression, parts

MOST_PAIRS = 8
"""Pairs of equal constants that become two inputs."""

Array = np.ndarray[Any, Any]


def with_operands_at_run_time(example: Example) -> Iterator[Example]:
    """Each constant an input; each zero point that is not there an input."""
    for value in example.operands.values:
        if value.const_value is not None:
            yield with_input(example, value, dims_of(value))
    for place in places_in(example) if operators_in(roots_of(example)) & QUANTIZING else ():
        if place.is_absent and place.node.head.name in QUANTIZING:
            yield from (given(example, place, shape, at_run_time=True) for shape in place.shapes())


def with_several_at_run_time(example: Example) -> Iterator[Example]:
    """All constants inputs, also one for each operator that has it; each two that are equal; and each that
    several operators have, which is another constant in each of them as well."""
    arrays, uses = arrays_of(example), Counter(_read(example))
    shared = [place for place in arrays if uses[place] > 1]
    if len(arrays) > 1:
        yield _with_inputs(example, list(arrays))
    for places in dict.fromkeys((tuple(arrays), *((place,) for place in shared))) if shared else ():
        apart = _with_own_constants(example, places)
        copies = range(len(example.operands.values), len(apart.operands.values))
        yield _with_inputs(apart, [*places, *copies])
        yield replace(apart, operands=reduce(_with_another_number, copies, apart.operands))
    alike = [(a, b) for a, b in combinations(arrays, 2) if _are_equal(arrays[a], arrays[b])]
    for pair in spread(alike, MOST_PAIRS) if len(arrays) > 2 else ():
        yield _with_inputs(example, pair)


def _read(example: Example) -> Iterator[int]:
    """The places of leaves, as often as operators have them."""
    every = dict.fromkeys(part for term in roots_of(example) for part in parts(term))
    return (place_of_leaf(operand) for part in every for operand in part.arguments)


def _are_equal(one: Array, other: Array) -> bool:
    return one.dtype == other.dtype and np.array_equal(one, other)


def _with_another_number(operands: Operands, place: int) -> Operands:
    """A constant of which each number is another one."""
    known = operands.values[place].const_value
    assert known is not None
    array = known.numpy()
    if array.dtype.kind in "OSU":
        return operands
    with np.errstate(all="ignore"):
        other = ~array if array.dtype.kind == "b" else array + np.ones(1, array.dtype)
    return operands.with_constant(place, other.reshape(array.shape))


def _with_inputs(example: Example, places: Iterable[int]) -> Example:
    """An example with inputs instead of some constants."""
    old = [example.operands.values[place] for place in places]
    return reduce(lambda made, value: with_input(made, value, dims_of(value)), old, example)


def _with_own_constants(example: Example, places: Collection[int]) -> Example:
    """An example in which no two operators, and no two operands of one, have the same of some constants: the
    first one keeps it."""
    taken, operands = set[int](), example.operands
    made: dict[Expression, Expression] = {}

    def own(part: Expression) -> Expression:
        nonlocal operands
        given = list(part.arguments)
        for k, operand in enumerate(given):
            place = place_of_leaf(operand)
            if place in taken and place in places:
                operands = operands.with_leaf(operands.values[place], operands.facts[place])
                given[k] = leaf(len(operands.values) - 1)
            taken.add(place)
        return part if given == list(part.arguments) else with_arguments(part, tuple(given))

    def change(part: Expression) -> Expression:
        if part not in made:  # what two operators read stays one
            made[part] = own(part)
        return made[part]

    term = transformed(example.term, change)
    return replace(example, term=term, operands=operands)
