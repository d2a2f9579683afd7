"""Objectives: the least cost, the least memory near it, or the least cost within a limit.

And the Pareto front of cost and peak memory, with the point of it that meets an objective.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from egraph_opt.errors import ObjectiveError, nearest

TOLERANCE = 0.05
"""How much more than the cheapest, relatively, a graph may cost that needs less memory."""

_NAMES = ("cost", "memory")


@dataclass(frozen=True)
class Objective:
    """What is minimised, within what.

    Attributes:
        name: `cost` or `memory`.
        tolerance: of `memory`: how much more than the cheapest a graph may cost, relatively.
        limit: of `cost`: bytes in use at once, or None for any.
    """

    name: str = "cost"
    tolerance: float = TOLERANCE
    limit: int | None = None

    @property
    def searches(self) -> bool:
        """Whether more than the cheapest graph is looked at."""
        return self.name == "memory" or self.limit is not None


COST = Objective()
"""The least cost, whatever memory it takes."""


ObjectiveLike = str | tuple[str, float] | Objective


def objective_of(wanted: Any) -> Objective:
    """The objective that is meant.

    Args:
        wanted: `"cost"`, `"memory"` (within `TOLERANCE`), `("memory", tolerance)`, where 0.1 allows 10 % more
            cost than the cheapest, or `("cost", bytes)`; an `Objective` is itself.

    Raises:
        ObjectiveError: anything else.

    >>> objective_of(("cost", 2**20)).limit
    1048576
    """
    if isinstance(wanted, Objective):
        return wanted
    name, *rest = wanted if isinstance(wanted, (tuple, list)) and wanted else (wanted,)
    if not isinstance(name, str) or name not in _NAMES or len(rest) > 1:
        near = nearest(name, _NAMES) if isinstance(name, str) else None
        hint = f"did you mean {near!r}? " if near and near != name else ""
        raise ObjectiveError(
            f"unknown objective {wanted!r}: {hint}there are 'cost', 'memory', ('memory', tolerance) and"
            " ('cost', bytes)"
        )
    if not rest:
        return Objective(name)
    (amount,) = rest
    number = not isinstance(amount, bool) and isinstance(amount, (int, float)) and math.isfinite(amount)
    if name == "memory":
        if not number or amount < 0:
            raise ObjectiveError(f"objective {wanted!r}: the tolerance must be a number of 0 or more")
        return Objective(name, tolerance=float(amount))
    if not number or amount <= 0 or amount != int(amount):
        raise ObjectiveError(f"objective {wanted!r}: the limit must be a positive number of bytes")
    return Objective(name, limit=int(amount))


_UNITS = {"": 1, "b": 1} | {
    f"{letter}{suffix}": base**power
    for power, letter in enumerate("kmgt", start=1)
    for suffix, base in (("", 1024), ("ib", 1024), ("b", 1000))
}


def parse_bytes(text: str) -> int:
    """A number of bytes as people write it: `512MiB`, `1.5 GB`, `64k`; units of 1024 but for kB, MB, GB, TB.

    Raises:
        ObjectiveError: it is no such number.

    >>> parse_bytes("1.5KiB"), parse_bytes("2 MB")
    (1536, 2000000)
    """
    digits = text.strip().rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    unit = text.strip()[len(digits) :].casefold()
    try:
        number = float(digits) * _UNITS[unit]
    except (ValueError, KeyError):
        number = math.nan
    if not math.isfinite(number) or number < 1:
        raise ObjectiveError(f"{text!r} is not a number of bytes such as 512MiB, 1.5GB or 65536")
    return int(number)


def bytes_text(count: float) -> str:
    """A number of bytes for people.

    >>> bytes_text(1536), bytes_text(100)
    ('1.50 KiB', '100 B')
    """
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(count) >= size:
            return f"{count / size:,.2f} {unit}"
    return f"{count:,.0f} B"


@dataclass(frozen=True)
class MemoryPoint:
    """A graph that was looked at: what it costs, and how many bytes it needs at its peak."""

    cost: float
    peak: int


class Measured(Protocol):
    """What has a cost and a peak in bytes: a candidate, or a point of a report."""

    @property
    def cost(self) -> float:
        """What it costs."""

    @property
    def peak(self) -> int:
        """The most bytes in use at once."""


Figures = TypeVar("Figures", bound=Measured)


def pareto_front(found: Sequence[Figures]) -> list[Figures]:
    """Those that no other dominates in cost and peak, the cheapest first."""
    best: list[Figures] = []
    for candidate in sorted(found, key=lambda c: (c.cost, c.peak)):
        if not best or candidate.peak < best[-1].peak:
            best.append(candidate)
    return best


def pick(found: Sequence[Figures], objective: Objective, cheapest: float | None = None) -> Figures:
    """The solution that meets the objective; the first found among equals.

    Where none keeps to the limit it is the one that needs the least, where none is within the tolerance the
    cheapest.

    Args:
        cheapest: what the tolerance counts from; if left out, the cheapest of those found.
    """
    least = min(c.cost for c in found)
    if objective.name == "memory":
        most = max(least, (least if cheapest is None else cheapest) * (1 + objective.tolerance))
        return min((c for c in found if c.cost <= most), key=lambda c: (c.peak, c.cost))
    if objective.limit is not None:
        within = [c for c in found if c.peak <= objective.limit]
        if not within:
            return min(found, key=lambda c: (c.peak, c.cost))
        found = within
    return min(found, key=lambda c: (c.cost, c.peak))
