"""Checks of a law on examples drawn from its statements, and which conditions a near-miss pins."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from egraph_opt.egraph.engine import engine_for
from egraph_opt.laws.law import Example, Law
from egraph_opt.testing.comparison import Tally
from egraph_opt.testing.drawing import Side, drawn, sides_of
from egraph_opt.testing.harness import check_drawn
from egraph_opt.testing.matching import matches, meets, scope_of
from egraph_opt.testing.terms import lower_example

POSITIVES = 2
"""Examples that are drawn of a statement."""

TRIES = 200
"""Draws of an example."""

MISS_TRIES = 60
"""Draws of a near-miss."""

FEW = 20
"""Draws of a near-miss of a statement of which no example was drawn."""


@dataclass
class Drawn:
    """What was drawn of the statements of a law: of one with shorthands, of any operator that it means.

    Attributes:
        found: by rule, the number of examples.
        open: by rule, the conditions without a near-miss, by number.
    """

    found: Counter[str] = field(default_factory=Counter)
    open: dict[str, dict[int, Any]] = field(default_factory=dict)

    def add(self, side: Side, found: int, pinned: set[int]) -> None:
        """Count what was drawn of a side of a statement."""
        self.found[side.rule] += found
        left = {k: condition for k, condition in enumerate(side.conditions) if k not in pinned}
        before = self.open.setdefault(side.rule, left)
        self.open[side.rule] = {k: condition for k, condition in before.items() if k in left}

    def undrawn(self) -> set[str]:
        """Rules of which no example was drawn."""
        return {rule for rule, count in self.found.items() if not count}

    def unpinned(self) -> list[str]:
        """Conditions of which no near-miss was drawn."""
        return [f"{rule}: {c!r}" for rule, conditions in self.open.items() for c in conditions.values()]


def _rng(entry: Law, side: Side, number: int) -> np.random.Generator:
    return np.random.default_rng([zlib.crc32(entry.key.encode()), zlib.crc32(side.rule.encode()), number])


def check_positives(entry: Law, side: Side) -> tuple[int, Tally]:
    """Draw examples of a statement and check each: how many were found, and what was checked.

    Raises:
        AssertionError: the statement did not fire on one, or its sides differ.
    """
    tally, count = Tally(), 0
    for example in drawn(side, _rng(entry, side, 0), TRIES):
        checked = check_drawn(entry, side.rule, example)
        if checked is not None:
            tally.add(checked.tally)
            count += 1
        if count == POSITIVES:
            break
    return count, tally


def near_miss(entry: Law, side: Side, number: int, tries: int = MISS_TRIES) -> Example | None:
    """A drawn example on which one condition fails alone, and which matches nowhere else."""
    alike = [other for other in sides_of(entry) if other.rule == side.rule]
    for example in drawn(side, _rng(entry, side, number + 1), tries, fail=number):
        found = scope_of(example)
        if not any(meets(other, scope) for other in alike for scope in matches(other, found)):
            return example
    return None


def check_near_misses(entry: Law, side: Side, tries: int = MISS_TRIES) -> set[int]:
    """Draw a near-miss of each condition of a statement: the numbers of those for which one was found.

    Raises:
        AssertionError: the statement matches one all the same.
    """
    found = set()
    for number, condition in enumerate(side.conditions):
        example = near_miss(entry, side, number, tries)
        if example is not None:
            fired = _fired(entry, side.rule, example)
            assert not fired, f"{entry.key}#{side.rule} fired where not {condition!r}: {example.term}"
            found.add(number)
    return found


def _fired(entry: Law, rule: str, example: Example) -> bool:
    """Whether a rule of a law matches an example as it was written; the law is alone."""
    engine = engine_for((entry,), guards=False)
    engine.load(lower_example(example), dict(example.limits))
    (ruleset,) = engine.rulesets
    return bool(engine.apply(ruleset)[1].get(f"{entry.key}#{rule}"))


def pinned_by(side: Side, examples: Iterable[Example]) -> set[int]:
    """The conditions, by number, that alone keep a statement from matching one of the near-misses given."""
    open_conditions = set(range(len(side.conditions)))
    pinned: set[int] = set()
    for example in examples:
        found = scope_of(example)
        for scope in matches(side, found):
            for number in open_conditions - pinned:
                if meets(side, scope, number):
                    pinned.add(number)
    return pinned
