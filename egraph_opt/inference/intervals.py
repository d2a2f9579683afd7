"""Arithmetic on ranges of integers: exact in whole numbers, whatever the element type makes of them.

``combine(f)(a, b)`` holds every ``f(x, y)`` for x in a and y in b.  That a result fits the element type is
asked by who uses it: integer arithmetic of ONNX wraps around.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from egraph_opt.facts.fact import Range

EXACT = 1 << 16
"""Ends up to this are kept as they are."""

DIGITS = 6
"""Binary digits kept of ends beyond."""


def coarse(given: Range) -> Range:
    """The range with ends beyond `EXACT` rounded outwards.

    So ends take a few ten thousand values at most, and the ranges of an e-graph whose classes contain
    themselves cannot shrink for ever by one at a time.

    >>> coarse((-5, 30522)), coarse((100_000, 2**31 - 1))
    ((-5, 30522), (98304, 2147483647))
    """
    low, high = given
    return (low if abs(low) <= EXACT else _down(low)), (high if abs(high) <= EXACT else ~_down(~high))


def _down(number: int) -> int:
    """The next smaller number of few digits; `~` turns that into the next greater one before a round one."""
    dropped = abs(number).bit_length() - DIGITS
    return (number >> dropped) << dropped


def hull(ranges: Iterable[Range | None]) -> Range | None:
    """The least range around all of these; None if one of them is not known, or there are none."""
    known = list(ranges)
    if not known or None in known:
        return None
    return min(r[0] for r in known if r), max(r[1] for r in known if r)


def _corners(operation: Callable[[int, int], int], a: Range, b: Range) -> Range:
    """For an operation that grows or falls along each operand."""
    ends = [operation(x, y) for x in a for y in b]
    return min(ends), max(ends)


def add(a: Range, b: Range) -> Range:
    return a[0] + b[0], a[1] + b[1]


def subtract(a: Range, b: Range) -> Range:
    return a[0] - b[1], a[1] - b[0]


def multiply(a: Range, b: Range) -> Range:
    return _corners(lambda x, y: x * y, a, b)


def truncated(x: int, y: int) -> int:
    """The quotient, rounded towards zero."""
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def divide(a: Range, b: Range) -> Range | None:
    """Quotients, rounded towards zero; nothing is divided by zero where the model runs."""
    return hull([_corners(truncated, a, part) for part in _without_zero(b)])


def _without_zero(b: Range) -> Sequence[Range]:
    parts = ((b[0], min(b[1], -1)), (max(b[0], 1), b[1]))
    return [part for part in parts if part[0] <= part[1]]


def modulo(a: Range, b: Range) -> Range | None:
    """Remainders with the sign of the divisor."""
    return hull([_positive_modulo(a, p) if p[0] > 0 else _negative_modulo(a, p) for p in _without_zero(b)])


def _positive_modulo(a: Range, b: Range) -> Range:
    if a[0] >= 0:
        return a if a[1] < b[0] else (0, min(a[1], b[1] - 1))
    return 0, b[1] - 1


def _negative_modulo(a: Range, b: Range) -> Range:
    return b[0] + 1, 0


def c_modulo(a: Range, b: Range) -> Range | None:
    """Remainders with the sign of the dividend (fmod)."""
    if not _without_zero(b):
        return None
    most = max(abs(b[0]), abs(b[1])) - 1
    return (0 if a[0] >= 0 else max(a[0], -most)), (0 if a[1] <= 0 else min(a[1], most))


def negate(a: Range) -> Range:
    return -a[1], -a[0]


def absolute(a: Range) -> Range:
    ends = sorted((abs(a[0]), abs(a[1])))
    return (0 if a[0] <= 0 <= a[1] else ends[0]), ends[1]


def sign(a: Range) -> Range:
    return (a[0] > 0) - (a[0] < 0), (a[1] > 0) - (a[1] < 0)


def greatest(a: Range, b: Range) -> Range:
    return max(a[0], b[0]), max(a[1], b[1])


def least(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), min(a[1], b[1])


def bitwise_and(a: Range, b: Range) -> Range | None:
    """An operand that is not negative bounds the result."""
    bounds = [r[1] for r in (a, b) if r[0] >= 0]
    return (0, min(bounds)) if bounds else None


def within(a: Range, b: Range) -> bool:
    """Every number of `a` is in `b`."""
    return b[0] <= a[0] and a[1] <= b[1]


# Comparisons: 1 or 0 where all numbers agree.


def less(a: Range, b: Range) -> Range | None:
    if a[1] < b[0]:
        return 1, 1
    return (0, 0) if a[0] >= b[1] else None


def less_or_equal(a: Range, b: Range) -> Range | None:
    if a[1] <= b[0]:
        return 1, 1
    return (0, 0) if a[0] > b[1] else None


def equal(a: Range, b: Range) -> Range | None:
    if a[1] < b[0] or b[1] < a[0]:
        return 0, 0
    return (1, 1) if a[0] == a[1] == b[0] == b[1] else None


def exclusive_or(a: Range, b: Range) -> Range | None:
    """Of truth values."""
    return (a[0] ^ b[0],) * 2 if a[0] == a[1] and b[0] == b[1] else None
