"""Ranges of the elements of integer tensors; what operators make of them is told in `range_rules`.

    range(Gather(x, i)) = range(x)      range(x + y) = range(x) + range(y), where the element type has it
    range(ArgMax(x)) = 0..dim - 1       range(Cast_T(x)) = range(x), where T has it

A range is a claim about every element, so one of an empty tensor is never wrong.  They are sound without any
assumption but for what the user said of inputs and symbols (`Call.bounds`, and ranges of inputs): of a
symbolic dim nothing is known but that it is not negative and that an int64 has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from egraph_opt.facts import symbolic
from egraph_opt.facts.assumption import Assumption, Assumptions, part_of
from egraph_opt.facts.dtypes import BOOL, INTEGERS
from egraph_opt.facts.fact import NO_NUMBER, Fact, Range, meet_ranges
from egraph_opt.facts.polynomials import Bounds

from . import intervals
from .call import Call, rules_in
from .numbers import completed, integer_range

RangeRule = Callable[[Call], Sequence[Range | None]]

RANGES: dict[str, RangeRule] = {}
"""Rule by operator of the default domain: a range per output, as far as known."""

LARGEST_DIM = 2**63 - 1


ranged = rules_in(RANGES, "rules for ranges")
"""Declares the decorated function as the rule of these operators."""


@lru_cache(1 << 14)
def range_of(fact: Fact, bounds: Bounds = ()) -> Range | None:
    """Between which numbers the elements of an integer tensor lie; None of any other.

    >>> int32, boolean = 6, 9
    >>> range_of(Fact(int32, (2,), data=(3, 8))), range_of(Fact(boolean))
    ((3, 8), (0, 1))
    """
    if fact.dtype not in INTEGERS and fact.dtype != BOOL:
        return None
    if isinstance(fact.splat, int):
        return fact.splat, fact.splat
    whole = integer_range(fact.dtype)
    items = fact.data if fact.data is not None else fact.value
    if items:
        low, high = zip(*(_element(item, bounds, whole) for item in items), strict=True)
        whole = meet_ranges(whole, (min(low), max(high))) or whole
    if fact.range is not None and fact.range != NO_NUMBER:
        both = meet_ranges(whole, fact.range)
        return fact.range if both is None or both == NO_NUMBER else both
    return whole if whole != NO_NUMBER else integer_range(fact.dtype)


def _element(item: int | float | str, bounds: Bounds, whole: Range) -> Range:
    if not isinstance(item, str):
        return int(item), int(item)
    low, high = symbolic.bounds_of(item, bounds)
    return (whole[0] if low is None else low), (whole[1] if high is None else high)


def narrowed(fact: Fact, found: Range | None) -> Fact:
    """The fact with a range that was found for it, which says nothing where the element type lacks it."""
    if found is None or fact.has_numbers or found[0] > found[1]:
        return fact
    whole = integer_range(fact.dtype)
    if not intervals.within(found, whole):
        return fact
    if found[0] == found[1] and fact.data is None:
        return completed(replace(fact, splat=found[0], range=None))
    rounded = meet_ranges(intervals.coarse(found), whole)
    known = range_of(fact)
    if rounded is None or known is None or intervals.within(known, rounded):
        return fact
    return replace(fact, range=meet_ranges(fact.range, rounded))


def bounds_from(assume: Assumptions) -> Bounds:
    """Assumptions as bounds of symbols; those that have no whole number bound nothing.

    >>> bounds_from({"H": Assumption(32, 640, 32), "N": Assumption(0, 8)})
    (('?(H-32)/32', 0, 19), ('H', 32, 640), ('N', 0, 8))
    """
    ends: list[tuple[str, float, float]] = []
    for name, known in assume.items():
        ends.append((name, max(known.low, 0), known.high))
        part = part_of(name, known)
        if part is not None:
            ends.append((part, 0, (known.high - known.least) / known.step))
    ends.sort()
    bounded = [end for end in ends if end[1] <= end[2] < LARGEST_DIM]
    return tuple((name, math.ceil(low), math.floor(high)) for name, low, high in bounded)


def assumed_range(fact: Fact, assumed: Assumption) -> Fact:
    """An input of integers whose elements are assumed to lie in a range.

    One that leaves a single number makes no constant of the input: it stays an input, and its range says it.
    """
    whole = integer_range(fact.dtype)
    low, high = max(assumed.low, whole[0]), min(assumed.high, whole[1])
    if low > high:
        return fact
    return replace(fact, range=intervals.coarse((math.ceil(low), math.floor(high))))


def with_ranges(call: Call, facts: Sequence[Fact]) -> list[Fact]:
    """The facts of a node's outputs with the ranges of those that are integers."""
    integral = [fact.dtype in INTEGERS or fact.dtype == BOOL for fact in facts]
    rule = RANGES.get(call.op_type)
    if not any(integral):
        return list(facts)
    found = list(rule(call)) if rule is not None else []
    answer = []
    for k, fact in enumerate(facts):
        if integral[k]:
            fact = narrowed(fact, found[k] if k < len(found) else None)
            if call.bounds and not fact.has_numbers and fact.data is not None:
                fact = narrowed(fact, range_of(fact, call.bounds))
        answer.append(fact)
    return answer


__all__ = ["assumed_range", "bounds_from", "narrowed", "range_of", "ranged", "with_ranges"]
