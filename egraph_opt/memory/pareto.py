"""The Pareto front of cost and peak memory, and the point of it that meets an objective."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from egraph_opt.memory.objective import Objective


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
