"""Checks of a law on examples drawn from its statements, and which conditions a near-miss pins."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from egraph_opt.egraph.engine import engine_for
from egraph_opt.laws.law import Example, Law
from egraph_opt.testing.comparison import Tally
from egraph_opt.testing.drawing import drawn
from egraph_opt.testing.harness import check_drawn, fired_on
from egraph_opt.testing.matching import matches, meets, scope_of
from egraph_opt.testing.sides import Side, sides_of
from egraph_opt.testing.terms import lower_example

POSITIVES = 2
"""Examples that are drawn of a statement."""

TRIES = 400
"""Draws of an example."""

MISS_TRIES = 120
"""Draws of a near-miss."""

FEW = 20
"""Draws of a near-miss of a statement of which no example was drawn."""


def _rng(entry: Law, side: Side, number: int) -> np.random.Generator:
    return np.random.default_rng([zlib.crc32(entry.key.encode()), zlib.crc32(side.rule.encode()), number])


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


def check_positives(entry: Law, side: Side) -> Positives:
    """Draw examples of a statement and check each, some of them with the guards if there are any.

    Raises:
        AssertionError: the statement did not fire on one, or its sides differ.
    """
    tally = Tally()
    demanded = _check_drawn(entry, side.guarded(), tally, guards=True) if side.is_guarded else 0
    count = demanded if demanded == POSITIVES else _check_drawn(entry, side, tally, guards=False)
    return Positives(count, demanded, tally)


def _check_drawn(entry: Law, side: Side, tally: Tally, *, guards: bool) -> int:
    count = 0
    for example in drawn(side, _rng(entry, side, 0), TRIES):
        checked = check_drawn(
            entry, side.rule, example, guards=guards, strict=not (guards or side.asks_tables)
        )
        if checked is not None:
            tally.add(checked.tally)
            count += 1
        if count == POSITIVES:
            break
    return count


def near_miss(entry: Law, side: Side, number: int, tries: int = MISS_TRIES) -> Example | None:
    """A drawn example on which one condition fails alone, and which matches nowhere else.

    Where a statement that asks tables matches is known to the engine only.
    """
    for example in drawn(side, _rng(entry, side, number + 1), tries, fail=number):
        if side.asks_tables:
            elsewhere = _fired(entry, side.rule, example)
        else:
            elsewhere = any(meets(side, scope) for scope in matches(side, scope_of(example)))
        if not elsewhere:
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


def check_statements(entry: Law, written: Sequence[Example]) -> Shown:
    """Draw examples and near-misses of every statement of a law and check them.

    Args:
        written: the examples of its author, which show what none that is drawn does.

    Raises:
        AssertionError: a statement does not fire on an example or fires on a near-miss, or its sides differ.
    """
    tally, count, undrawn, undemanded, unpinned = Tally(), 0, set[str](), set[str](), list[str]()
    misses = [example for example in written if not example.fires]
    for side in sides_of(entry):
        found = check_positives(entry, side)
        tally.add(found.tally)
        count += found.count
        if not found.count:
            undrawn.add(side.rule)
        if side.is_guarded and not found.demanded:
            undemanded.add(side.rule)
        pinned = check_near_misses(entry, side, MISS_TRIES if found.count else FEW)
        if len(pinned) < len(side.conditions):
            pinned |= pinned_by(side, misses)
        unpinned += [f"{side.rule}: {c!r}" for k, c in enumerate(side.conditions) if k not in pinned]
    shown = fired_on(entry, (e for e in written if e.fires)) if undrawn | undemanded else set()
    return Shown(tally, count, frozenset(undrawn - shown), frozenset(undemanded - shown), tuple(unpinned))
