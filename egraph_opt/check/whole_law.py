"""The gate: a law is accepted where nothing that the tables make of it goes wrong, else refused."""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from egraph_opt.check.dropping import Missed, missed
from egraph_opt.check.evidence import Shapes
from egraph_opt.check.gate import FRUITLESS, Gate
from egraph_opt.check.growth import Growth, growth
from egraph_opt.check.judging.outcomes import Tally
from egraph_opt.check.meanwhile import Meanwhile, ProcessEndedError, has_room, meanwhile
from egraph_opt.check.refusal import LawRefusedError, refused
from egraph_opt.check.scope import HostTally, host_tally
from egraph_opt.check.sides import sides_of
from egraph_opt.check.statement import TrialBudget, tried
from egraph_opt.check.trying import Trying, place_of
from egraph_opt.check.used_operands import examples_of
from egraph_opt.egraph.watchdog import watched
from egraph_opt.errors import EgraphOptError
from egraph_opt.graph.arena import arena_of
from egraph_opt.laws.checking import check
from egraph_opt.laws.direction import check_named_laws
from egraph_opt.laws.dropping import asking_kernels
from egraph_opt.laws.law import Example, Law, statements
from egraph_opt.laws.messages import told
from egraph_opt.pipeline.collection import collected_rarely

TERMS = 200
"""Terms of a law, spread over its statements."""

LEAST = 16
"""Terms of a statement, however many there are; fewer only where few are asked for of the law."""

MOST_BYTES = 2**31
"""Memory that onnxruntime may take for terms: a Range is as long as numbers say."""

VARIANTS_A_TERM = 1
"""Variants of the author's examples that are tried for each term that is asked for, at most."""

MOST_PAIRS = 128
"""Pairs of terms side by side, of examples and of terms made of tables."""

MOST_FRUITLESS = 640
"""Tries after which no term is expected of a statement that the author's examples show, where all terms of a
law are wanted."""

FRUITLESS_A_TERM = 6
"""The same of conditions of kernels, for each term that is asked for of the law."""

FEW = 8
"""Terms of a statement, or half of those asked for, below which the author's examples are tried in other
types, sizes and ranks."""


class Beside(NamedTuple):
    """What came of what is beside examples and of laws that lack a condition, as far as it is counted."""

    needless: tuple[Missed, ...]
    tally: Tally
    rules: Counter[str]
    hosts: HostTally
    shapes: set[Shapes]


@dataclass(frozen=True)
class LawReport:
    """What was tried of a law that was accepted.

    Attributes:
        written, terms: examples of its author, and terms that the tables made.
        tally: comparisons of outputs that were made, and that could not be made.
        untried: statements that no term shows, by number; `<` is the way back of an `equal`.
        needless: conditions without which the law goes wrong nowhere, as far as is tried.
        raised: host functions that raised on what was made.
        seen_once: dims of the only example, at which alone the law was seen to do something.
    """

    key: str
    written: int
    terms: int
    tally: Tally
    untried: tuple[str, ...] = ()
    needless: tuple[Missed, ...] = ()
    raised: tuple[str, ...] = ()
    seen_once: str = ""

    @property
    def checks(self) -> int:
        """How many comparisons were made."""
        return self.tally.made.total()

    def __str__(self) -> str:
        lines = [
            f"{self.key}: holds on {self.terms} terms and {self.written} written examples,"
            f" {self.checks} comparisons, {self.tally.left_out.total()} left out"
        ]
        lines += [f"statement {rule} was tried on no term" for rule in self.untried]
        lines += [f"{each}" for each in self.needless]
        return "\n".join([*lines, *self.raised])


def check_law(
    law: Law,
    *,
    terms: int = TERMS,
    conditions: bool = True,
    neighbours: bool = True,
    partial: bool = False,
    alone: bool = False,
) -> LawReport:
    """Check a law on the examples of its author and on terms made of the tables of odd values.

    The verdict depends on what the law states, and on neither its name nor a seed.

    Args:
        terms: that are tried, spread over the statements of the law.
        conditions: look at what each condition is for, see `LawReport.needless`.
        neighbours: see that saturation ends beside the default laws, and not with the law alone only.
        partial: accept a law of which a statement was tried on no term.
        alone: in this process only; else what is beside examples is tried in another one, where there is a
            processor for it.

    Raises:
        LawError: it is declared wrongly. LawRefusedError: it goes wrong on a term, grows without end, does
        what its examples say it does not, or
            there is nothing to try one of its statements on.
    """
    check(law)
    check_named_laws(law)
    with watched(), collected_rarely(), arena_of(MOST_BYTES), _breaking(law), np.errstate(all="ignore"):
        report = _report(law, terms, conditions=conditions, neighbours=neighbours, alone=alone)
    if report.untried and not partial:
        placed = "; ".join(f"statement {_placed(law, rule)}" for rule in report.untried)
        raised = "".join(f"; {line}" for line in report.raised)
        raise LawRefusedError(
            f"{place_of(law)}: {law.key}: no term was found to try {placed}{raised}; write an example"
            " (`examples=`) on which it applies"
        )
    if report.seen_once and not partial:
        raise LawRefusedError(
            f"{place_of(law)}: {law.key}: it was tried at one size only, where {report.seen_once}; write"
            " another example (`examples=`) in which dims have other sizes, each one of its own"
        )
    return report


@contextmanager
def _breaking(law: Law) -> Iterator[None]:
    """What nobody expects, such as an attribute of a type that ONNX does not have, is reported of the law."""
    try:
        yield
    except EgraphOptError:
        raise
    except Exception as error:  # onnx's and onnxruntime's errors share no base class
        place = f"{place_of(law)}: {law.key}"
        raise LawRefusedError(f"{place}: what it writes cannot be checked: {told(error)}") from error


def _report(law: Law, terms: int, *, conditions: bool, neighbours: bool, alone: bool) -> LawReport:
    written = examples_of(law)
    gate = Gate(law, Trying(law), written, MOST_FRUITLESS if terms >= TERMS else FRUITLESS)
    with host_tally() as hosts:
        gate.examples(written)
        if alone or not gate.firing() or not has_room():
            grown = _tables(gate, terms, lambda few: _beside(gate, terms, lambda: few), neighbours=neighbours)
            needless = None
        else:
            with meanwhile(partial(_beside_elsewhere, gate, terms, conditions=conditions)) as other:
                grown = _tables(gate, terms, other.tell, neighbours=neighbours)
                beside = _answer(law, other)
            needless = beside.needless
            gate.trying.tally.add(beside.tally)
            gate.trying.rules.update(beside.rules)
            gate.shapes.update(beside.shapes)
            hosts.add_all(beside.hosts)
    if grown is not None:
        raise LawRefusedError(f"{place_of(law)}: {law.key} grows without end: {grown}")
    return LawReport(
        law.key,
        len(written),
        sum(found.tried for found in gate.found.values()),
        gate.trying.tally,
        gate.untried(),
        _needless(law, conditions) if needless is None else needless,
        hosts.told(),
        gate.seen_once(),
    )


def _tables(gate: Gate, terms: int, beside: Callable[[bool], None], *, neighbours: bool) -> Growth | None:
    """What the tables make of statements, and of terms that they made.

    Args:
        beside: tries what is beside examples, here or elsewhere; takes whether the tables make few terms.
    """
    sides = sides_of(gate.law)
    each = max(terms // len(sides), min(LEAST, terms // 3)) if sides else 0
    for side in sides:
        gate.statement(side, each)
    if not gate.firing():
        gate.themed(sides)  # of some statements nothing else is made
    beside(any(found.changed < min(FEW, each // 2) for found in gate.found.values()))
    gate.at_run_time()
    if not gate.in_themes:
        gate.themed(sides)
    gate.between_powers()
    gate.old_opsets()
    gate.pairs(min(MOST_PAIRS, terms))
    _check_kernels(gate, TrialBudget(each, fruitless=FRUITLESS_A_TERM * terms))
    return growth(gate.trying, gate.holds(), gate.firing(), neighbours=neighbours)


def _beside(gate: Gate, terms: int, few: Callable[[], bool]) -> None:
    gate.declared_operators()
    gate.related(VARIANTS_A_TERM * terms)  # the whole table of inputs, for what is there again later, too
    gate.constants_of_halves()
    gate.where_it_ends()
    gate.variants(VARIANTS_A_TERM * terms, few=few())


def _beside_elsewhere(gate: Gate, terms: int, few: Callable[[], bool], *, conditions: bool) -> Beside:
    """The same in a process of its own, which is told on the way whether the tables make few terms."""
    gate.forget()
    with watched(), collected_rarely(), _breaking(gate.law), host_tally() as hosts:
        _beside(gate, terms, few)
    with watched(), collected_rarely(), _breaking(gate.law):
        needless = tuple(each.in_words for each in _needless(gate.law, conditions))
    return Beside(needless, gate.trying.tally, gate.trying.rules, hosts, gate.shapes)


def _needless(law: Law, wanted: bool) -> tuple[Missed, ...]:
    return tuple(missed(law)) if wanted else ()


def _answer(law: Law, other: Meanwhile[bool, Beside]) -> Beside:
    try:
        return other.answer()
    except ProcessEndedError as error:  # a kernel that crashes has no other answer
        raise LawRefusedError(f"{place_of(law)}: {law.key}: what is beside its examples: {error}") from error


def _check_kernels(gate: Gate, budget: TrialBudget) -> None:
    """Where its conditions of `kernel` hold, onnxruntime runs what a law writes, too."""
    law, asking = gate.law, asking_kernels(gate.law)
    if asking is None:
        return
    trying = Trying(asking, tally=gate.trying.tally)
    Gate(law, trying, ()).in_other_types(gate.firing())
    for side in sides_of(asking):
        found = tried(side, trying, budget)
        if found.failures:
            raise refused(law, side.rule, found.failures, found.holds)


def check_example(law: Law, example: Example) -> Trying:
    """Check what an example says of a law: that it fires or not, and that all it writes answers alike.

    Returns:
        What was tried: `rules` that matched, and the `tally` of checks.

    Raises:
        LawRefusedError: the law did not fire, or fired on a near-miss, or a side computes something else.
    """
    gate = Gate(law, Trying(law), [example])
    gate.examples([example])
    return gate.trying


def _placed(law: Law, rule: str) -> str:
    """A statement with its line and what is written there."""
    line = statements(law)[int(rule.rstrip("<"))].line
    return f"{rule} (line {line}: {linecache.getline(law.function.__code__.co_filename, line).strip()})"
