"""What keeps a saturation within its limits, as egglog cannot be interrupted within a run.

A rule that matches very often rests for some rounds: twice as many each time, and for twice as many matches.
No step begins that would probably end after the deadline, going by how long it took last.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

MOST_MATCHES = 1 << 14
"""In one run of a rule; the laws of ours come to a few thousand in models of thousands of nodes."""

SECONDS_PER_READ_NODE = 5e-5
"""What reading the e-graph out takes after the last step."""


FEW = 500
"""So many e-nodes take a step no longer than one: what it took is the time to begin, which does not grow."""

CHAINED = "binary"
"""The operator of which laws join the most: three in a row, of one class where each is an operand of each."""

JOINED_PER_SECOND = 1e7
"""Combinations of terms that egglog looks at."""

MULTIPLIED = 2
"""By how much an e-graph has to grow in a round for its classes to be looked at."""


class BackOff:
    """Rules that rest.

    Attributes:
        times: how often a rule has begun to rest.
    """

    def __init__(self, most_matches: int = MOST_MATCHES) -> None:
        self._most = most_matches
        self._rounds: dict[str, int] = {}
        self.times: dict[str, int] = {}

    @property
    def resting(self) -> frozenset[str]:
        return frozenset(self._rounds)

    def record(self, matches: Mapping[str, int]) -> None:
        """Let those rest that matched too often."""
        for rule, count in matches.items():
            if count > self._most << self.times.get(rule, 0):
                self.times[rule] = self.times.get(rule, 0) + 1
                self._rounds[rule] = 1 << self.times[rule]

    def end_round(self) -> None:
        """A round is over."""
        self._rounds = {rule: left - 1 for rule, left in self._rounds.items() if left > 1}

    def wake(self) -> bool:
        """Let all go on, where nothing else is left to do; whether there are any."""
        woken = bool(self._rounds)
        self._rounds.clear()
        return woken


class Pace:
    """How long steps take.

    Args:
        deadline: as `time.monotonic` has it.
    """

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self._last: dict[str, tuple[float, int]] = {}
        self.seconds: dict[str, float] = {}

    def record(self, step: str, seconds: float, nodes: int) -> None:
        """A step took so long in an e-graph of so many nodes."""
        self.seconds[step] = self.seconds.get(step, 0.0) + seconds
        self._last[step] = seconds, nodes

    def forecast(self, step: str, nodes: int) -> float:
        """How long a step will take; 0 where it has not been seen.

        It grows with the e-graph; where that has more than doubled, classes have become large, and what joins
        the terms of three classes grows by the third power.
        """
        seconds, then = self._last.get(step, (0.0, nodes))
        growth = max(1.0, nodes / max(then, FEW))
        return seconds * growth * max(1.0, growth / 2) ** 2

    def is_crowded(self, most: int) -> bool:
        """Whether rules that join three terms, of which one class has so many, may end after the deadline."""
        return time.monotonic() + most**3 / JOINED_PER_SECOND > self.deadline

    def is_over(self) -> bool:
        return time.monotonic() > self.deadline

    def has_time(self, step: str, last: str, nodes: int) -> bool:
        """Whether a step, and the `last` one after it, and reading the e-graph out, will end in time."""
        if step not in self._last:
            return True
        needed = self.forecast(step, nodes) + self.forecast(last, nodes) + SECONDS_PER_READ_NODE * nodes
        return time.monotonic() + needed <= self.deadline
