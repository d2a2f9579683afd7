"""All checks of one law at once, as its author calls them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from egraph_opt.laws.checking import check
from egraph_opt.laws.law import Example, Law
from egraph_opt.testing.comparison import Tally
from egraph_opt.testing.drawing import sides_of
from egraph_opt.testing.drawn_checks import Drawn, check_near_misses, check_positives
from egraph_opt.testing.harness import check_example, fired_on


@dataclass(frozen=True)
class LawReport:
    """What was checked of a law.

    Attributes:
        written, drawn: examples.
        checks, left_out: comparisons of outputs that were made, and that could not be made.
        unexampled: statements that no example shows, by number; `<` is the way back of an `equal`.
        unpinned: conditions without which no drawn near-miss would match.
    """

    key: str
    written: int
    drawn: int
    checks: int
    left_out: int
    unexampled: tuple[str, ...]
    unpinned: tuple[str, ...]

    def __str__(self) -> str:
        lines = [
            f"{self.key}: {self.written} written and {self.drawn} drawn examples hold,"
            f" {self.checks} comparisons, {self.left_out} left out"
        ]
        lines += [f"statement {rule} has no example" for rule in self.unexampled]
        lines += [f"condition {condition} has no near-miss" for condition in self.unpinned]
        return "\n".join(lines)


def check_law(entry: Law) -> LawReport:
    """Check a law on the examples of its author and on examples and near-misses drawn from its statements.

    Raises:
        LawError: it is declared wrongly.
        AssertionError: it does not fire on an example, fires on a near-miss, or its sides differ.
    """
    check(entry)
    written: list[Example] = list(entry.examples(np.random.default_rng(0))) if entry.examples else []
    tally, count, checked = Tally(), 0, Drawn()
    for example in written:
        tally.add(check_example(entry, example).tally)
    for side in sides_of(entry):
        found, made = check_positives(entry, side)
        tally.add(made)
        count += found
        checked.add(side, found, check_near_misses(entry, side))
    undrawn = checked.undrawn()
    if undrawn:
        undrawn -= fired_on(entry, [example for example in written if example.fires])
    return LawReport(
        entry.key,
        len(written),
        count,
        tally.made.total(),
        tally.left_out.total(),
        tuple(sorted(undrawn)),
        tuple(checked.unpinned()),
    )
