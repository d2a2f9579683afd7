"""Sets of numbers that become one."""

from __future__ import annotations

from collections.abc import Iterable


class UnionFind:
    """Sets, each known by one of its numbers; at first all numbers are alone."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self._leader = {k: k for k in numbers}

    def find(self, k: int) -> int:
        """The number by which the set of k is known."""
        leader = self._leader
        while leader[k] != k:
            leader[k] = leader[leader[k]]
            k = leader[k]
        return k

    def join(self, other: int, into: int) -> None:
        """The set of `other` becomes part of that of `into`, whose number stays."""
        self._leader[self.find(other)] = self.find(into)
