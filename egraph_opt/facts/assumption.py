"""What a user says of an input's elements, or of a symbolic dim."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

from egraph_opt.errors import AssumptionError

FORMS = "a number, two in order, or as text '8', '1..8', '32*' (a multiple of 32) or '32*..640*'"


class Assumption(NamedTuple):
    """Least and greatest number, both included, and what a dim is a multiple of."""

    low: float
    high: float
    step: int = 1

    def nearest(self, size: int) -> int:
        """The number closest to a size that is as assumed, the lower one of two ends.

        >>> [known.nearest(100) for known in (Assumption(32, 640, 32), Assumption(0, 50, 8))]
        [96, 48]
        """
        within = min(max(size, self.low), self.high)
        below = int(within) // self.step * self.step
        return below if below >= max(self.low, 1) else below + self.step if self.step > 1 else int(within)

    @property
    def least(self) -> int:
        """Of a dim: the least number of 0 or more that is as assumed.

        >>> [known.least for known in (Assumption(-3, 8), Assumption(1, 8), Assumption(33, 640, 32))]
        [0, 1, 64]
        """
        return math.ceil(max(self.low, 0) / self.step) * self.step

    @property
    def single(self) -> float | None:
        """The only number that is as assumed; None where there are several."""
        return self.low if self.low == self.high else None


Assumptions = Mapping[str, Assumption]
"""Assumptions by name of an input or of a symbolic dim."""


def assumptions_of(assume: Mapping[str, Any] | None) -> dict[str, Assumption]:
    """Assumptions as a user writes them.

    >>> assumptions_of({"batch": 8, "H": "32*..640*"})
    {'batch': Assumption(low=8, high=8, step=1), 'H': Assumption(low=32, high=640, step=32)}

    Raises:
        AssumptionError: one is none of the forms, or has no number.
    """
    return {name: _assumption(name, value) for name, value in (assume or {}).items()}


def _assumption(name: str, value: Any) -> Assumption:
    if isinstance(value, Assumption):
        return value
    found = None
    if isinstance(value, str):
        found = parsed(value)
    elif _is_number(value):
        found = Assumption(value, value)
    elif isinstance(value, Sequence) and len(value) == 2 and all(map(_is_number, value)):
        found = Assumption(*value)
    if found is None:
        raise AssumptionError(f"assume: {value!r} says nothing of {name!r}: write {FORMS}")
    if not found.low <= found.high:
        raise AssumptionError(f"assume: no number is {value!r}, which is said of {name!r}")
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)


_END = re.compile(r"\s*(-?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(\*?)\s*\Z")


def parsed(text: str) -> Assumption | None:
    """An assumption in text; None where it is in no form.

    >>> parsed("1..8"), parsed("32*"), parsed("banana"), parsed("32*..100*")
    (Assumption(low=1, high=8, step=1), Assumption(low=0, high=inf, step=32), None, None)
    """
    first, dots, second = text.partition("..")
    ends = [_END.match(part) for part in ([first, second] if dots else [first])]
    try:
        numbers = [_number(end[1]) for end in ends if end]
    except ValueError:
        return None
    if len(numbers) < len(ends):
        return None
    stars = [bool(end and end[2]) for end in ends]
    low, high = numbers[0], numbers[-1]
    if not any(stars):
        return Assumption(low, high)
    if not stars[0] or not isinstance(low, int) or low < 1 or high % low:
        return None
    return Assumption(low, high, low) if dots else Assumption(0, math.inf, low)


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def part_of(name: str, known: Assumption) -> str | None:
    """The symbol that a dim has instead of its own: how many steps it is above the least.

    None where a dim is one number, or any of 0 or more.

    >>> part_of("H", Assumption(64, 640, 32)), part_of("H", Assumption(0, 640))
    ('?(H-64)/32', None)
    """
    if known.single is not None or (known.step == 1 and not known.least):
        return None
    return f"?({name}-{known.least})/{known.step}" if known.least else f"?{name}/{known.step}"


__all__ = ["FORMS", "Assumption", "Assumptions", "assumptions_of", "parsed", "part_of"]
