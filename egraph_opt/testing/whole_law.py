"""All checks of one law at once, as its author calls them."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from egraph_opt.egraph.watchdog import watched
from egraph_opt.errors import EgraphOptError
from egraph_opt.laws.checking import check
from egraph_opt.laws.direction import check_named_laws
from egraph_opt.laws.law import Law, statements, where, written_examples
from egraph_opt.laws.messages import told
from egraph_opt.testing.comparison import Tally
from egraph_opt.testing.drawn_checks import check_statements
from egraph_opt.testing.entries import Entries, tables_of, told_entry
from egraph_opt.testing.harness import check_example
from egraph_opt.testing.scope import host_tally


@dataclass(frozen=True)
class LawReport:
    """What was checked of a law.

    Attributes:
        written, drawn: examples.
        checks, left_out: comparisons of outputs that were made, and that could not be made.
        unexampled: statements that no example shows, by number; `<` is the way back of an `equal`.
        unpinned: conditions without which no near-miss would match.
        entries: of statements about several operators, modes or types, which of these were checked.
        raised: host functions that raised on what was drawn.
    """

    key: str
    written: int
    drawn: int
    checks: int
    left_out: int
    unexampled: tuple[str, ...]
    unpinned: tuple[str, ...]
    entries: tuple[Entries, ...] = ()
    raised: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [
            f"{self.key}: {self.written} written and {self.drawn} drawn examples hold,"
            f" {self.checks} comparisons, {self.left_out} left out"
        ]
        lines += [line for entries in self.entries for line in _told(entries)]
        lines += [f"statement {rule} has no example" for rule in self.unexampled]
        lines += [f"condition {condition} has no near-miss" for condition in self.unpinned]
        return "\n".join([*lines, *self.raised])


def _told(entries: Entries) -> Iterable[str]:
    yield f"statement {entries.rule}: {len(entries.checked)} of {entries.count} {entries.about} checked"
    for entry in entries.missed:
        yield f"statement {entries.rule} has no example where {told_entry(entry)}"


def check_law(entry: Law) -> LawReport:
    """Check a law on the examples of its author and on examples and near-misses drawn from its statements.

    Raises:
        LawError: it is declared wrongly.
        AssertionError: it does not fire on an example, fires on a near-miss, its sides differ, or there is
            nothing to check one of its statements on.
    """
    check(entry)
    check_named_laws(entry)
    with watched(), _breaking(entry):
        return _report(entry)


@contextmanager
def _breaking(entry: Law) -> Iterator[None]:
    """What no checker expects, such as an attribute of a type that ONNX does not have, is told of the law."""
    try:
        yield
    except (AssertionError, EgraphOptError):
        raise
    except Exception as error:  # onnx's and onnxruntime's errors share no base class
        place = f"{where(entry.function)}: {entry.key}"
        raise AssertionError(f"{place}: what it writes cannot be checked: {told(error)}") from error


def _report(entry: Law) -> LawReport:
    written = written_examples(entry, np.random.default_rng(0))
    tally, rules = Tally(), set[str]()
    for example in written:
        checked = check_example(entry, example)
        tally.add(checked.tally)
        rules |= checked.rules.keys()
    with host_tally() as hosts:
        shown = check_statements(entry, written, rules)
        tables = tables_of(entry, written)
    tally.add(shown.tally)
    for table in tables:
        tally.add(table.tally)
    undrawn = set(shown.unexampled) - {table.rule for table in tables if table.checked}
    report = LawReport(
        entry.key,
        len(written),
        shown.drawn + sum(len(table.checked) for table in tables),
        tally.made.total(),
        tally.left_out.total(),
        tuple(_placed(entry, rule) for rule in sorted(undrawn)),
        tuple(_placed(entry, condition) for condition in shown.unpinned),
        tables,
        hosts.told(),
    )
    told = f"{report}\nwrite an example (`examples=`) on which it applies"
    assert report.checks and not report.unexampled, told
    return report


def _placed(entry: Law, told: str) -> str:
    """What is said of a statement, which begins with its number, with its line and what is written there."""
    number = re.match(r"\d+", told)
    line = statements(entry)[int(number[0])].line if number else 0
    return f"{told} (line {line}: {linecache.getline(entry.function.__code__.co_filename, line).strip()})"
