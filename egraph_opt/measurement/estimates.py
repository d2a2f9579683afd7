"""Times of nodes that were not measured, from the nearest ones that were.

Near is the same operator with about the same work and traffic.  Times scale with the larger of the two
ratios; without any node of the operator, with what the measured nodes reach in bytes and operations.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

NEIGHBOURS = 3

SLOWEST, FASTEST = 2e3, 1e5
"""Floating-point operations, and bytes, a microsecond: what is assumed where nothing was measured at all."""

LEAST = 1.0
"""Microseconds of any kernel."""


@dataclass(frozen=True)
class Size:
    """How much a node does.

    Attributes:
        work: arithmetic operations.
        traffic: bytes read and written.
    """

    work: float
    traffic: float

    def distance(self, other: Size) -> float:
        return abs(_log(self.work) - _log(other.work)) + abs(_log(self.traffic) - _log(other.traffic))

    def times(self, other: Size) -> float:
        """How many times as long this takes as another of the same kind."""
        traffic = (self.traffic + 1) / (other.traffic + 1)
        return max(traffic, (self.work + 1) / (other.work + 1)) if other.work and self.work else traffic


def _log(amount: float) -> float:
    return math.log2(amount + 1)


@dataclass
class Estimator:
    """Learns from measured nodes what others take."""

    seen: dict[str, list[tuple[Size, float]]] = field(default_factory=lambda: defaultdict(list))

    def learn(self, nodes: Iterable[tuple[str, Size, float]]) -> None:
        """Operator, size and microseconds of each."""
        for op_type, size, micros in nodes:
            self.seen[op_type].append((size, micros))

    def estimate(self, op_type: str, size: Size) -> float:
        """Microseconds."""
        known = sorted(self.seen.get(op_type, ()), key=lambda entry: (size.distance(entry[0]), entry[1]))
        if not known:
            return LEAST + size.work / SLOWEST + size.traffic / FASTEST
        near = known[:NEIGHBOURS]
        logs = [math.log(max(micros, 0.1) * max(size.times(other), 1e-6)) for other, micros in near]
        weights = [1.0 / (0.1 + size.distance(other)) for other, _ in near]
        mean = math.fsum(w * v for w, v in zip(weights, logs, strict=True)) / math.fsum(weights)
        return max(math.exp(mean), min(LEAST, min(micros for _, micros in near)))
