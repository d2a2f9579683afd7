"""Conditions of a law dropped in turn: the law has to go wrong, or say what else a condition is for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from egraph_opt.check.gate import ROUNDS
from egraph_opt.check.sides import Side, sides_of
from egraph_opt.check.statement import TrialBudget, tried
from egraph_opt.check.trying import Trying
from egraph_opt.check.used_operands import examples_of
from egraph_opt.laws.dropping import Dropped, droppable, without
from egraph_opt.laws.law import Law

BUDGET = TrialBudget(terms=24, tries=240, fruitless=160)


class Wording(str):
    """An expression as it is written, without what it calls, which another process may not know."""

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Missed:
    """A condition without which nothing goes wrong.

    Attributes:
        reached: whether there were terms on which it alone does not hold.
    """

    dropped: Dropped
    reached: bool

    @property
    def in_words(self) -> Missed:
        """The same for another process."""
        return replace(self, dropped=replace(self.dropped, expression=Wording(self.dropped.expression)))

    def __str__(self) -> str:
        what = "right" if self.reached else "never tried: no term was found on which it alone fails"
        return f"line {self.dropped.line}: without {self.dropped.expression!r} the law is {what}"


def missed(law: Law, budget: TrialBudget = BUDGET) -> Iterator[Missed]:
    """The conditions that are there for truth, and without which the law goes wrong on no term."""
    for dropped in droppable(law):
        if dropped.purpose == "truth":
            found = _found(law, dropped, budget)
            if found is not None:
                yield found


def _found(law: Law, dropped: Dropped, budget: TrialBudget) -> Missed | None:
    weaker, reached = without(law, dropped.statement, dropped.condition), False
    trying = Trying(weaker)
    # Without what bounds growth one round is enough; with it the several that an example may show.
    if _fails_on_an_example(trying, rounds=1):
        return None
    if _fails_on_an_example(Trying(weaker, guards=True), rounds=ROUNDS):
        return None
    for side in sides_of(law):
        number = _number(side, dropped)
        if number is None:
            continue
        found = tried(side, trying, budget, fail=number)
        if found.failures:
            return None
        reached |= bool(found.changed)
    return Missed(dropped, reached)


def _fails_on_an_example(trying: Trying, *, rounds: int) -> bool:
    """Whether a law that lacks a condition goes wrong on what its author wrote, near-misses above all."""
    examples = examples_of(trying.law)
    for example in sorted(examples, key=lambda each: each.fires):
        candidate = trying.candidate(example)
        if candidate is not None and trying.verdicts([candidate], rounds=rounds)[0].failure is not None:
            return True
    return False


def _number(side: Side, dropped: Dropped) -> int | None:
    """The number of a dropped condition among those of a side of its statement."""
    if int(side.rule.rstrip("<")) != dropped.statement or dropped.expression not in side.conditions:
        return None
    return side.conditions.index(dropped.expression)
