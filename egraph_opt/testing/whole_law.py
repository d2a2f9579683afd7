"""All checks of one law at once, as its author calls them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from egraph_opt.laws.checking import check
from egraph_opt.laws.law import Law
from egraph_opt.testing.comparison import Tally
from egraph_opt.testing.drawn_checks import check_statements
from egraph_opt.testing.harness import check_example


@dataclass(frozen=True)
class LawReport:
    """What was checked of a law.

    Attributes:
        written, drawn: examples.
        checks, left_out: comparisons of outputs that were made, and that could not be made.
        unexampled: statements that no example shows, by number; `<` is the way back of an `equal`.
        unpinned: conditions without which no near-miss would match.
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
    written = list(entry.examples(np.random.default_rng(0))) if entry.examples else []
    tally = Tally()
    for example in written:
        tally.add(check_example(entry, example).tally)
    shown = check_statements(entry, written)
    tally.add(shown.tally)
    return LawReport(
        entry.key,
        len(written),
        shown.drawn,
        tally.made.total(),
        tally.left_out.total(),
        tuple(sorted(shown.unexampled)),
        shown.unpinned,
    )
