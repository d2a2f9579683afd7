"""Checks of a law on examples drawn from its statements, and which conditions a near-miss pins."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from egraph_opt.egraph.engines import engine_for
from egraph_opt.laws.law import Example, Law
from egraph_opt.testing.comparison import Tally
from egraph_opt.testing.drawn_examples import drawn
from egraph_opt.testing.harness import check_drawn
from egraph_opt.testing.matching import matches, meets, scope_of
from egraph_opt.testing.sides import Side, sides_of
from egraph_opt.testing.terms import lower_example

POSITIVES = 2
"""Examples that are drawn of a statement; of one that matches an example written by hand one more."""

TRIES = 200
"""Draws of an example."""

MISS_TRIES = 60
"""Draws of a near-miss."""

SHOWN_TRIES = 20
"""Draws of an example of a statement that matches one written by hand."""

FEW = 20
"""Draws of a near-miss of a statement of which no example was drawn."""


@dataclass(frozen=True)
class Positives:
    """Examples that were drawn of a statement.

    Attributes:
        count: how many.
        demanded: how many of them the statement matches with its guards.
        tally: what was checked of them.
    """

    count: int
    demanded: int
    tally: Tally


@dataclass
class Drawn:
    """What was drawn of the statements of a law: of one with shorthands, of any operator that it means.

    Attributes:
        tally: what was checked of the examples.
        found: by rule, the number of examples.
        demanded: of rules with guards, how many of these match with them.
        open: by rule, the conditions without a near-miss, by number.
    """

    tally: Tally = field(default_factory=Tally)
    found: Counter[str] = field(default_factory=Counter)
    demanded: Counter[str] = field(default_factory=Counter)
    open: dict[str, dict[int, Any]] = field(default_factory=dict)

    def add(self, side: Side, found: Positives, pinned: set[int]) -> None:
        """Count what was drawn of a side of a statement."""
        self.tally.add(found.tally)
        self.found[side.rule] += found.count
        if side.is_guarded:
            self.demanded[side.rule] += found.demanded
        left = {k: condition for k, condition in enumerate(side.conditions) if k not in pinned}
        before = self.open.setdefault(side.rule, left)
        self.open[side.rule] = {k: condition for k, condition in before.items() if k in left}

    def undrawn(self) -> set[str]:
        """Rules of which no example was drawn."""
        return {rule for rule, count in self.found.items() if not count}

    def undemanded(self) -> set[str]:
        """Rules with guards of which no example was drawn that meets them."""
        return {rule for rule, count in self.demanded.items() if not count}

    def unpinned(self) -> tuple[str, ...]:
        """Conditions of which no near-miss was drawn."""
        return tuple(f"{rule}: {c!r}" for rule, left in self.open.items() for c in left.values())


def _rng(entry: Law, side: Side, number: int) -> np.random.Generator:
    return np.random.default_rng([zlib.crc32(entry.key.encode()), zlib.crc32(side.rule.encode()), number])


def check_positives(entry: Law, side: Side, *, shown: bool) -> Positives:
    """Draw examples of a statement and check each, some of them with the guards if there are any.

    Args:
        shown: it matches an example that was written by hand.

    Raises:
        AssertionError: the statement did not fire on one, or its sides differ.
    """
    tally = Tally()
    demanded = _check_drawn(entry, side.guarded(), tally, shown=shown, guards=True) if side.is_guarded else 0
    enough = demanded == _wanted(shown)
    count = demanded if enough else _check_drawn(entry, side, tally, shown=shown, guards=False)
    return Positives(count, demanded, tally)


def _wanted(shown: bool) -> int:
    return 1 if shown else POSITIVES


def _check_drawn(entry: Law, side: Side, tally: Tally, *, shown: bool, guards: bool) -> int:
    """How many examples there are.

    Of those that run all have to match; where a table is asked, one of them; with guards none.
    """
    count, strict, missed = 0, not (guards or side.asks_tables), list[Example]()
    for example in drawn(side, _rng(entry, side, 0), SHOWN_TRIES if shown else TRIES):
        checked = check_drawn(entry, side.rule, example, guards=guards, strict=strict)
        if checked is not None and side.rule not in checked.rules:
            missed.append(example)
        elif checked is not None:
            tally.add(checked.tally)
            count += 1
        if count == _wanted(shown):
            break
    assert count or guards or not missed, f"{entry.key}#{side.rule} fired on none: {missed[0].term}"
    return count


def near_miss(entry: Law, alike: Sequence[Side], side: Side, number: int, tries: int) -> Example | None:
    """A drawn example on which one condition fails alone, and which matches nowhere else.

    Where a statement that asks tables matches is known to the engine only.

    Args:
        alike: the statement for all that its shorthands mean.
    """
    for example in drawn(side, _rng(entry, side, number + 1), tries, fail=number):
        if not _matches(entry, alike, example):
            return example
    return None


def _matches(entry: Law, alike: Sequence[Side], example: Example) -> bool:
    """Whether a statement matches an example, by any operator that its shorthands mean."""
    if any(side.asks_tables for side in alike):
        return _fired(entry, alike[0].rule, example)
    found = scope_of(example)
    return any(meets(side, scope) for side in alike for scope in matches(side, found))


def check_near_misses(entry: Law, side: Side, tries: int, pinned: set[int]) -> set[int]:
    """Draw a near-miss of each condition of a statement: the numbers of those for which one was found.

    Args:
        pinned: by a near-miss that was written by hand; none is drawn.

    Raises:
        AssertionError: the statement matches one all the same.
    """
    found = set(pinned)
    alike = [other for other in sides_of(entry) if other.rule == side.rule]
    asks_tables = any(other.asks_tables for other in alike)
    for number, condition in enumerate(side.conditions):
        if number in pinned:
            continue
        example = near_miss(entry, alike, side, number, tries)
        if example is not None:
            # Of a statement that asks tables the engine has been asked already.
            fired = not asks_tables and _fired(entry, side.rule, example)
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


@dataclass(frozen=True)
class Shown:
    """What examples show of the statements of a law.

    Attributes:
        tally: what was checked of those that were drawn.
        drawn: how many these are.
        unexampled: statements that no example shows, by number; `<` is the way back of an `equal`.
        undemanded: statements that match no example as long as their guards are kept.
        unpinned: conditions without which no near-miss would match.
    """

    tally: Tally
    drawn: int
    unexampled: frozenset[str]
    undemanded: frozenset[str]
    unpinned: tuple[str, ...]


def check_statements(entry: Law, written: Sequence[Example], shown: Set[str]) -> Shown:
    """Draw examples and near-misses of every statement of a law and check them.

    Args:
        written: the examples of its author, which show what none that is drawn does.
        shown: the rules that match on some of them, as `Checked.rules` calls these.

    Raises:
        AssertionError: a statement does not fire on an example or fires on a near-miss, or its sides differ.
    """
    made, misses = Drawn(), [example for example in written if not example.fires]
    for side in sides_of(entry):
        found = check_positives(entry, side, shown=side.rule in shown)
        tries = MISS_TRIES if found.count else FEW
        pinned = check_near_misses(entry, side, tries, pinned_by(side, misses))
        made.add(side, found, pinned)
    undrawn, undemanded = made.undrawn(), made.undemanded()
    count = made.found.total()
    return Shown(
        made.tally, count, frozenset(undrawn - shown), frozenset(undemanded - shown), made.unpinned()
    )
