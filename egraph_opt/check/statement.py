"""A statement of a law, tried on the terms that its tables make: 30 to 100 of them, covered pair by pair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from egraph_opt.check import tables
from egraph_opt.check.building import built
from egraph_opt.check.choices import Choices
from egraph_opt.check.scope import attributes_in, nodes_of
from egraph_opt.check.sides import Side
from egraph_opt.check.tried_terms import TriedTerm, Verdict
from egraph_opt.check.trying import Trying
from egraph_opt.laws.law import Example

BATCH = 12
"""Terms that are saturated together."""

FIRST = 4
"""The same of the first ones, on which most that is wrong shows."""

REFERENCE = 4
"""The reference evaluator checks one of so many terms."""

WHOLE = 48
"""Terms that are run on whole tables of inputs; further ones on a part of each, in turn."""

IDLE = 8
"""One of so many terms may have an attribute of nothing, such as a Slice of no axis, on which most conditions
hold of themselves; more only where there are no others."""

BASES = 12
"""Terms that meet all conditions beside which those are looked for on which one fails."""

TRIES, MORE = 6, 10
"""Terms that are begun for each that is wanted, and beyond that where few came of it."""

FIRST_TRIES, FIRST_SHARE, ENOUGH = 200, 25, 72
"""So many are begun in any case, but no more than so many for each that is wanted; so many are not few."""

NEARLY = 1.0005
"""What is within a thousandth of a number that a law names is tried, too."""

MOST_NUMBER = 1e4
"""Larger ones that a law names are seldom what constants hold."""


@dataclass(frozen=True)
class TrialBudget:
    """How much is tried of a statement.

    Attributes:
        terms: that are to be run.
        tries: terms that are begun at most on which a condition is not to hold.
        fruitless: tries after which none is expected any more.
        shown: whether the author's examples show the statement, beside which others are tried.
    """

    terms: int = 48
    tries: int = 640
    fruitless: int = 960
    shown: bool = False

    def attempts(self, *, fails: bool) -> tuple[int, int]:
        """Terms that are begun where many come of it, and where few do.

        Args:
            fails: one condition is not to hold, on which fewer terms are tried.
        """
        if fails:
            first = max(TRIES * self.terms, self.tries)
            return first, first
        first = max(TRIES * self.terms, min(FIRST_TRIES, FIRST_SHARE * self.terms))
        more = first + MORE * self.terms
        return first, more if self.shown else max(more, self.fruitless)


@dataclass
class Outcome:
    """What came of the terms of a statement.

    Attributes:
        tried: terms that ran.
        changed: those to which the law added something.
        failures: those on which it is wrong.
        holds: those on which it is right.
    """

    tried: int = 0
    changed: int = 0
    failures: list[Verdict] = field(default_factory=list)
    holds: list[Verdict] = field(default_factory=list)


def tried(side: Side, trying: Trying, budget: TrialBudget, *, fail: int | None = None) -> Outcome:
    """Try terms of a statement until the first ones fail, or there are enough.

    Args:
        fail: terms on which one condition of the side does not hold; the law that is tried lacks it.
    """
    found = Outcome()
    for batch in _batches(side, trying, budget, fail):
        for verdict in trying.verdicts(batch):
            found.tried += 1
            found.changed += verdict.changed
            if verdict.failure is not None:
                found.failures.append(verdict)
            elif verdict.changed:
                found.holds.append(verdict)
        if found.failures:
            break
    return found


def _batches(side: Side, trying: Trying, budget: TrialBudget, fail: int | None) -> Iterator[list[TriedTerm]]:
    """Terms that run, together those of one opset and the same limits."""
    waiting, count = dict[object, list[TriedTerm]](), 0
    named = sorted(n for n in trying.numbers if abs(n) < MOST_NUMBER)
    numbers = tuple(named) + tuple(n * NEARLY for n in named if n)
    given: dict[str, Any] = {"numbers": numbers, "numerics": trying.law.numerics}
    given |= {"words": trying.named.words, "fruitless": budget.fruitless}
    if trying.is_assumed:
        given["large_integers"] = given["huge_integers"] = tables.MIXED_INTEGERS
    choices = Choices() if fail is None else _near(side, budget.tries // 2, given)
    before, (first, tries) = choices.attempts, budget.attempts(fails=fail is not None)
    enough, few, idle = min(ENOUGH, budget.terms // 2), 0, list[Example]()
    for example in built(side, choices, tries, fail=fail, **given):
        made = choices.attempts - before
        if (made > budget.fruitless and not count) or (made > first and count >= enough):
            break
        is_idle = _has_empty_attribute(example)
        if is_idle and few > budget.terms // IDLE:
            idle.append(example)
            continue
        candidate = _candidate(trying, example, count)
        if candidate is None:
            continue
        few += is_idle
        choices.keep()
        count += 1
        together = waiting.setdefault((example.opset, example.limits), [])
        together.append(candidate)
        if len(together) == (BATCH if count > FIRST else FIRST):
            yield together
            together.clear()
        if count == budget.terms:
            break
    spare = filter(None, (_candidate(trying, example, count) for example in idle))
    for candidate in islice(spare, budget.terms - count):
        waiting.setdefault((candidate.example.opset, candidate.example.limits), []).append(candidate)
    yield from (together for together in waiting.values() if together)


def _candidate(trying: Trying, example: Example, count: int) -> TriedTerm | None:
    """A term that is run, the next after so many."""
    turn = None if count < WHOLE else count
    return trying.candidate(example, reference=count % REFERENCE == 0, turn=turn)


def _has_empty_attribute(example: Example) -> bool:
    return any(part.arguments[k].head.value == () for part in nodes_of(example) for k in attributes_in(part))


def _near(side: Side, tries: int, given: dict[str, Any]) -> Choices:
    """Choices beside those of terms that meet all conditions: one of these is the next to fail."""
    choices, count = Choices(), 0
    for _ in built(side, choices, tries, **given):
        choices.keep()
        count += 1
        if count == BASES:
            break
    choices.stays_near = count > 0
    return choices
