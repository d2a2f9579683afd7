"""Which values of the tables a term is made of: greedy pairwise coverage.

Making a term asks for many choices, each with a label of its own (the rank of x, the step of a slice, ..).
A term takes, for one label after the other, the value of which the fewest pairs with the values chosen
before were in terms already, as covering arrays are built row by row (AETG: Cohen, Dalal, Fredman and Patton
1997).  Pairs that were tried and came to nothing, because no term can have them, count a little, so that
others get their turn. Every other term is drawn at random, where the weights of a table count, since most
that is odd throughout suits no operator, and half of these in the usual type and opset.  Every fourth is a
term that was kept with some of its choices made anew: where conditions are narrow, there are others beside
one that meets them.  Nothing depends on a name, a clock or a seed of the caller's.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from itertools import repeat
from typing import Any, TypeVar

import numpy as np

KEPT = 8
"""What a pair in a term that was kept weighs, against one that was tried only."""

ANEW = 0.3
"""The share of choices that are made anew of a term that was kept."""

REMEMBERED = 32
"""Terms that were kept from which others begin."""

CANDIDATES = 6
"""Values that are looked at for a choice."""

NEIGHBOURS = 16
"""Choices before it with which a value makes pairs."""


class Choices(np.random.Generator):
    """A source of values that remembers which of them were in terms together.

    It is a generator of random numbers as well, for choices that need no coverage.

    Args:
        seed: the gate has one; others are for who wants other terms.

    Attributes:
        attempts, kept: how many terms were begun, and how many of them are tried.
    """

    def __init__(self, seed: int = 0) -> None:
        super().__init__(np.random.PCG64(seed))
        self._ids: dict[tuple[str, str], int] = {}
        self._weight: defaultdict[int, Counter[int]] = defaultdict(Counter)  # with those chosen before
        self._chosen: list[int] = []
        self._made: dict[str, Any] = {}
        self._kept: list[dict[str, Any]] = []
        self._base: dict[str, Any] = {}
        self._place, self._number = "", 0
        self.attempts, self.kept, self.stays_near = 0, 0, False

    def begin(self) -> None:
        """Begin a term."""
        self._count(1)
        self._chosen, self._made, self._base = [], {}, {}
        self.attempts += 1
        few = len(self._kept) < REMEMBERED and self.attempts % 2 == 0
        if self._kept and (few or self.attempts % 4 == 2 or self.stays_near):
            self._base = self._kept[int(self.integers(len(self._kept)))]
        self.at("")

    @property
    def plain(self) -> bool:
        """Whether the term is of the usual type and opset."""
        return self.attempts % 4 == 1

    def keep(self) -> None:
        """The term is one of those that are tried."""
        self._count(KEPT)
        self.kept += 1
        self._kept.append(self._made)
        del self._kept[:-REMEMBERED]
        self._chosen = []

    def at(self, place: str) -> None:
        """What follows are choices for one place of the term; they are told apart by their order."""
        self._place, self._number = place, 0

    def among(self, values: Sequence[Any]) -> Any:
        """One of some values, of which those that stand there several times are likelier at random."""
        self._number += 1
        label = f"{self._place}.{self._number}"
        if label in self._base and self.random() >= ANEW and self._base[label] in values:
            value = values[list(values).index(self._base[label])]  # 1 is no True
        elif self.attempts % 2:
            value = values[int(self.random() * len(values))]
        else:
            value = self._least(label, values)
        self._chosen.append(self._id(label, repr(value)))
        self._made[label] = value
        return value

    def _least(self, label: str, values: Sequence[Any]) -> Any:
        """A value of which the fewest pairs were there; of several a random one."""
        named = dict(zip(map(repr, values), values, strict=True))  # 0.0 is no -0.0, True no 1
        names, before = list(named), self._chosen[-NEIGHBOURS:]
        best, found, count = float("inf"), names[0], len(names)
        for _ in range(min(count, CANDIDATES)):
            name = names[int(self.random() * count)]
            own = self._id(label, name)
            with_others = self._weight[own].get
            weight = sum(map(with_others, (own, *before), repeat(0)))
            if weight < best:
                best, found = weight, name
                if not weight:
                    break
        return named[found]

    def _id(self, label: str, name: str) -> int:
        return self._ids.setdefault((label, name), len(self._ids))

    def mark(self) -> int:
        """How many choices there are; see `back`."""
        return len(self._chosen)

    def back(self, mark: int) -> None:
        """Forget the choices that came after a mark: what was made of them is made anew."""
        del self._chosen[mark:]

    def _count(self, weight: int) -> None:
        for k, own in enumerate(self._chosen):
            self._weight[own][own] += weight
            for other in self._chosen[max(k - NEIGHBOURS, 0) : k]:
                self._weight[own][other] += weight


Item = TypeVar("Item")


def spread(items: Sequence[Item], most: int, turn: int = 0) -> Sequence[Item]:
    """So many of some, evenly, others in each turn."""
    step = -(-len(items) // most) or 1
    return items[turn % step :: step]


def with_half_of(items: Sequence[Item], likely: Collection[Item]) -> list[Item]:
    """Items, and as many more of those that are likely, where some are."""
    own = [item for item in dict.fromkeys(items) if item in likely]
    return [*items, *(own * (len(items) // len(own)) if own else ())]


Random = np.random.Generator
"""`Choices`, or plain random numbers where nothing is to be covered."""


def pick(rng: Random, *choices: Any) -> Any:
    """One of some values."""
    return rng.among(choices) if isinstance(rng, Choices) else choices[int(rng.integers(len(choices)))]


def picks(rng: Random, choices: Sequence[Any], count: int) -> list[Any]:
    """Some of some values."""
    if isinstance(rng, Choices):
        return [rng.among(choices) for _ in range(count)]
    return [choices[k] for k in rng.integers(0, len(choices), count).tolist()]


def chance(rng: Random, share: float) -> bool:
    """Yes or no: at random, yes in that share of cases."""
    if isinstance(rng, Choices):
        yes = max(1, min(9, round(10 * share)))
        return bool(rng.among((True,) * yes + (False,) * (10 - yes)))
    return bool(rng.random() < share)
