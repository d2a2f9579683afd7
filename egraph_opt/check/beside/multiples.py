"""Integers that are multiples of each other, of either sign, beside inputs that have one end of their type.

A law about both asks for sums or products that do not overflow, and may ask it of one end only: that shows
where a constant is of the other sign, and is no power of two, which divides the numbers of a type.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, permutations

from egraph_opt.check.beside.changing import with_parts
from egraph_opt.check.beside.magnitudes import with_numbers
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.facts.dtypes import INTEGERS
from egraph_opt.inference.numbers import integer_range
from egraph_opt.laws.law import Example
from egraph_opt.operators.constants import leaf
from egraph_opt.operators.elementwise import unary
from egraph_opt.operators.expressions import Expression

MULTIPLE, DIVISOR = 21, 7
"""Of as large a number and its opposite the quotient is -1, by which no least integer is divided."""

SIGNS = ((1, 1), (-1, 1), (1, -1))

MIDDLE = 1000
"""Where an input ends that has no bounds."""

MOST = 3
"""Constants of which pairs are changed."""


def with_multiples(example: Example) -> Iterator[Example]:
    """Each constant of integers that something is computed with, and then all, of the other sign; and each
    two, one a multiple of the other: each time with inputs that lack the upper bound, the lower one, or
    both."""
    places = list(islice(_computed_with(example), MOST))
    for changed in [with_parts(example, by) for by in _open_ends(example)] if places else ():
        for numbers in _numbers(example, places):
            yield replace(changed, operands=with_numbers(changed.operands, numbers))


def _computed_with(example: Example) -> Iterator[int]:
    """The places of constants that are one integer, and operands of arithmetic."""
    facts, values = example.operands.facts, example.operands.values
    nodes = (node.arguments for node in nodes_of(example) if node.head.name == "binary")
    for place in dict.fromkeys(place_of_leaf(operand) for arguments in nodes for operand in arguments[1:]):
        known = place >= 0 and values[place].const_value is not None and facts[place].dtype in INTEGERS
        if known and isinstance(facts[place].splat, int):
            yield place


def _numbers(example: Example, places: list[int]) -> Iterator[dict[int, float]]:
    facts = example.operands.facts
    opposite = {place: -int(facts[place].splat or 0) for place in places}
    found = [{}, opposite, *({place: number} for place, number in opposite.items() if len(places) > 1)]
    for one, other in permutations(places, 2):
        found += [{one: s * MULTIPLE, other: t * DIVISOR} for s, t in SIGNS]
    for numbers in found:
        if all(_holds(facts[place].dtype, number) for place, number in numbers.items()):
            yield dict(numbers)


def _holds(dtype: int, number: int) -> bool:
    least, most = integer_range(dtype)
    return least <= number <= most


def _open_ends(example: Example) -> list[dict[Expression, Expression]]:
    """What takes the place of inputs of integers, or of their Clips."""
    facts, values = example.operands.facts, example.operands.values
    clips = [n for n in nodes_of(example) if n.head.name == "unary" and n.arguments[0].head.value == "Clip"]
    known = {place_of_leaf(node.arguments[2]): node for node in clips}
    ways: list[dict[Expression, Expression]] = [{}, {}, {}]
    for place, (value, fact) in enumerate(zip(values, facts, strict=True)):
        if value.const_value is not None or fact.dtype not in INTEGERS:
            continue
        old, inner = known.get(place, leaf(place)), leaf(place)
        ends = dict(old.arguments[1].head.value) if place in known else {}
        low, high = ends.get("min"), ends.get("max")
        bounds = (("max", MIDDLE if high is None else high), ("min", None))
        others = (("max", None), ("min", 0 if low is None else low))
        ways[0][old] = unary("Clip", bounds, inner)
        ways[1][old] = unary("Clip", others, inner)
        if place in known:
            ways[2][old] = inner
    return [way for way in ways[:2] if way] + [ways[2]] if ways[0] else []
