"""Intervals of the elements of float tensors; what operators make of them is told in `float_rules`.

    interval(Sigmoid(x)) = 0..1      interval(Exp(x)) = 0..infinity      interval(Gather(x, i)) = interval(x)

An interval says whether NaN is possible apart from its ends, which may be infinite: an x that is no infinity
has finite ends.  Ends have few binary digits, so that every float type has them: rounding preserves order, so
a sum or product that is rounded stays within them.  Functions whose rounding nothing fixes (Exp, Erf) have
ends that they do not pass, or ends with room.  Where NaN is possible, what is made of one may lie elsewhere:
Max, Clip or a pool of NaN may be NaN, the other operand, or the least number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from egraph_opt.facts.assumption import Assumption
from egraph_opt.facts.dtypes import BOOL, FLOATS, INTEGERS
from egraph_opt.facts.fact import Fact, Interval, meet_intervals

from .call import Call, rules_in
from .ranges import range_of

IntervalRule = Callable[[Call], Sequence[Interval | None]]

INTERVALS: dict[str, IntervalRule] = {}
"""Rule by operator of the default domain: an interval per output, as far as known."""

ANY: Interval = (-math.inf, math.inf, True)

DIGITS = 6
"""Binary digits of ends: bfloat16 has 8."""

LEAST, GREATEST = 2.0**-14, 2.0**15
"""Magnitudes between which float16 has all numbers of so many digits."""


bounded = rules_in(INTERVALS, "rules for intervals")
"""Declares the decorated function as the rule of these operators."""


@lru_cache(1 << 14)
def interval_of(fact: Fact) -> Interval | None:
    """Between which floats the elements of a float tensor lie; None of any other, or where nothing is known.

    >>> float32, int64 = 1, 7
    >>> [interval_of(x) for x in (Fact(float32, (2,), data=(0.5, 2.0)), Fact(float32), Fact(int64))]
    [(0.5, 2.0, False), None, None]
    """
    if fact.dtype not in FLOATS:
        return None
    items = (fact.splat,) if fact.splat is not None else fact.data
    if items:
        numbers = [float(item) for item in items]
        return min(numbers), max(numbers), False
    known = fact.interval
    return known if known is not None and known[0] <= known[1] else None


def numbers_of(fact: Fact) -> Interval | None:
    """The interval of a tensor of floats, integers or truth values."""
    if fact.dtype not in INTEGERS and fact.dtype != BOOL:
        return interval_of(fact)
    whole = range_of(fact)
    return None if whole is None else (float(whole[0]), float(whole[1]), False)


def around(intervals: Iterable[Interval | None]) -> Interval | None:
    """The least interval around all of these; None if nothing is known of one, or there are none."""
    known = list(intervals)
    if not known or None in known:
        return None
    lows, highs, nans = zip(*(one for one in known if one), strict=True)
    return min(lows), max(highs), any(nans)


def _rounded(number: float, away: float) -> float:
    """The next end in the direction of `away`, an infinity."""
    if number == 0 or math.isinf(number):
        return number + 0.0
    size, outwards = abs(number), (number > 0) == (away > 0)
    if size > GREATEST:
        return away if outwards else math.copysign(GREATEST, number)
    if size < LEAST:
        return math.copysign(LEAST, number) if outwards else 0.0
    fraction, exponent = math.frexp(size)
    digits = fraction * 2**DIGITS
    kept = math.ceil(digits) if outwards else math.floor(digits)
    return math.copysign(math.ldexp(kept, exponent - DIGITS), number)


def coarse(given: Interval) -> Interval:
    """The interval with ends of few digits, rounded outwards.

    They take a few thousand values at most: the intervals of classes that contain themselves settle.

    >>> coarse((0.1, 1.0, False)), coarse((-1e9, 1e-9, True))
    ((0.099609375, 1.0, False), (-inf, 6.103515625e-05, True))
    """
    low, high, nan = given
    return _rounded(low, -math.inf), _rounded(high, math.inf), nan


def confined(fact: Fact, found: Interval | None) -> Fact:
    """The fact with an interval that was found for it."""
    if found is None or fact.dtype not in FLOATS or fact.has_numbers:
        return fact
    if math.isnan(found[0]) or math.isnan(found[1]) or found[0] > found[1]:
        return fact
    rounded = coarse(found)
    return fact if rounded == ANY else replace(fact, interval=meet_intervals(fact.interval, rounded))


def with_intervals(call: Call, facts: Sequence[Fact]) -> list[Fact]:
    """The facts of a node's outputs with the intervals of those that are floats."""
    rule = INTERVALS.get(call.op_type)
    if rule is None or not any(fact.dtype in FLOATS for fact in facts):
        return list(facts)
    found = list(rule(call))
    return [confined(fact, found[k]) if k < len(found) else fact for k, fact in enumerate(facts)]


def assumed_interval(fact: Fact, assumed: Assumption) -> Fact:
    """An input of floats whose elements are assumed to lie between two numbers."""
    return confined(fact, (assumed.low, assumed.high, False))


__all__ = ["around", "assumed_interval", "bounded", "confined", "interval_of", "numbers_of", "with_intervals"]
