"""The gate: a law is accepted where nothing that the tables make of it goes wrong, else refused."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count, repeat

import numpy as np

from egraph_opt.check.beside_examples import beside, known_later, related
from egraph_opt.check.choices import spread
from egraph_opt.check.dropping import Missed, missed
from egraph_opt.check.growth import growth
from egraph_opt.check.neighbours import OPSETS
from egraph_opt.check.outcomes import Tally
from egraph_opt.check.refusal import LawRefusedError, refused
from egraph_opt.check.scope import host_tally, nodes_of, operators_in
from egraph_opt.check.side_by_side import side_by_side
from egraph_opt.check.sides import Side, sides_of
from egraph_opt.check.statement import BATCH, WHOLE, Outcome, TrialBudget, tried
from egraph_opt.check.trials import NO_KERNEL
from egraph_opt.check.trying import TriedTerm, Trying, Verdict, place_of
from egraph_opt.check.variants import variants
from egraph_opt.egraph.watchdog import watched
from egraph_opt.errors import EgraphOptError
from egraph_opt.laws.checking import check
from egraph_opt.laws.direction import check_named_laws
from egraph_opt.laws.dropping import asking_kernels
from egraph_opt.laws.law import Example, Law, statements, written_examples
from egraph_opt.laws.messages import told

TERMS = 400
"""Terms of a law, spread over its statements."""

LEAST = 16
"""Terms of a statement, however many there are; fewer only where few are asked for of the law."""

VARIANTS_A_TERM = 1
"""Variants of the author's examples that are tried for each term that is asked for, at most."""

SHOWN_FRUITLESS = 32, 640
"""Tries after which no term is expected of a statement that the author's examples show: at least, and where
all terms of a law are wanted."""

MOST_PAIRS, PAIRED = 128, 16
"""Pairs of terms side by side, of examples and of terms made of tables, and how many of these are paired,
each of other operators."""

IN_PLACE = 4
"""Terms of each statement that are taken for examples where the author wrote none."""

IN_TYPE, TYPED = "in ", 24
"""What the names of variants in other types begin with, and how many are tried for kernels in an opset."""

LATER_OPSETS = tuple(opset for opset in OPSETS if opset > 11)
"""Those in which onnxruntime has kernels of most types."""

AT_RUN_TIME = 32
"""Terms that the tables made of which constants become inputs as well."""

FRUITLESS_A_TERM = 6
"""The same of conditions of kernels, for each term that is asked for of the law."""

FEW = 8
"""Terms of a statement, or half of those asked for, below which the author's examples are tried in other
types, sizes and ranks."""

ROUNDS = 4
"""Rounds of a law on the examples that its author wrote, which may show several steps."""


@dataclass(frozen=True)
class LawReport:
    """What was tried of a law that was accepted.

    Attributes:
        written, terms: examples of its author, and terms that the tables made.
        tally: comparisons of outputs that were made, and that could not be made.
        untried: statements that no term shows, by number; `<` is the way back of an `equal`.
        needless: conditions without which the law goes wrong nowhere, as far as is tried.
        raised: host functions that raised on what was made.
    """

    key: str
    written: int
    terms: int
    tally: Tally
    untried: tuple[str, ...] = ()
    needless: tuple[Missed, ...] = ()
    raised: tuple[str, ...] = ()

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


def _small(found: Outcome) -> Sequence[TriedTerm]:
    """Some small terms of a statement that the tables made, for want of an author's, of other ranks each.

    Near the smallest of all most operands are single elements, or none, which tell nothing apart.
    """
    by_ranks: dict[object, TriedTerm] = {}
    for term in sorted((verdict.candidate for verdict in found.holds), key=_single_elements_last):
        by_ranks.setdefault(tuple(fact.rank for fact in term.example.operands.facts), term)
    return spread(list(by_ranks.values()), IN_PLACE)


def _single_elements_last(term: TriedTerm) -> tuple[bool, int, int]:
    shapes = [fact.shape for fact in term.example.operands.facts if fact.shape is not None]
    return any(0 in shape for shape in shapes), sum(set(shape) <= {1} for shape in shapes), term.size


def _wording(example: Example) -> tuple[str, ...]:
    """The operators of a term with what names them: one of many that say the same has to do."""
    return tuple(f"{n.head.name} {n.arguments[0].head if n.arguments else ''}" for n in nodes_of(example))


def _by_model(examples: Iterable[Example]) -> Iterable[list[Example]]:
    """Examples that are saturated together: of one opset, and with the same limits."""
    together: dict[object, list[Example]] = {}
    for example in examples:
        together.setdefault((example.opset, example.limits), []).append(example)
    return together.values()


@dataclass
class _Gate:
    """The checks of a law, one after the other."""

    law: Law
    trying: Trying
    written: Sequence[Example]
    fruitless: int = SHOWN_FRUITLESS[0]
    found: dict[str, Outcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.guarded = Trying(self.law, guards=True, tally=self.trying.tally, rules=self.trying.rules)

    def examples(self, written: Sequence[Example]) -> None:
        """Those of the author: where the law is to fire it does, else not, and nothing goes wrong."""
        together: dict[object, list[Example]] = {}
        for example in written:
            together.setdefault((example.fires, example.opset, example.limits), []).append(example)
        for alike in together.values():
            if len(alike) == 1 or not self._all_as_written(alike):
                for example in alike:  # which of them it is
                    self._example(example)

    def _all_as_written(self, examples: Sequence[Example]) -> bool:
        """Whether examples that are to fire alike do, saturated together."""
        before = self.trying.rules.copy()
        candidates = list(map(self._candidate, examples))
        verdicts = self.guarded.verdicts(candidates, rounds=ROUNDS)
        fired, fires = self.trying.rules != before, examples[0].fires
        right = len(verdicts) == len(examples) and not any(verdict.failure for verdict in verdicts)
        if right and (all(verdict.changed for verdict in verdicts) if fires else not fired):
            return True
        self.trying.rules.clear()
        self.trying.rules.update(before)
        return False

    def _candidate(self, example: Example) -> TriedTerm:
        candidate = self.guarded.written(example)
        if example.fires and not candidate.original.runs:
            raise LawRefusedError(f"{place_of(self.law)}: {self.law.key}: nobody runs {example.term!r}")
        return candidate

    def _example(self, example: Example) -> None:
        before = self.trying.rules.total()
        (verdict,) = self.guarded.verdicts([self._candidate(example)], rounds=ROUNDS)
        if verdict.failure is not None:
            raise refused(self.law, "", [verdict], [])
        self._assert_fires(example, self.trying.rules.total() > before, verdict)

    def _assert_fires(self, example: Example, fired: bool, verdict: Verdict) -> None:
        place = f"{place_of(self.law)}: {self.law.key}"
        if not example.fires:
            if fired:
                raise LawRefusedError(f"{place} fired where it must not ({example.why}): {example.term!r}")
        elif not fired:
            raise LawRefusedError(f"{place} did not fire: {example.term!r}")
        elif not verdict.changed:
            raise LawRefusedError(
                f"{place} fired and added nothing that can be written to a class of {example.term!r}"
            )

    def firing(self) -> list[Example]:
        """The author's examples on which the law fires, or small terms that the tables made."""
        written = [example for example in self.written if example.fires]
        return written or [term.example for found in self.found.values() for term in _small(found)]

    def in_other_types(self, firing: Sequence[Example]) -> None:
        """Examples in other types and opsets, for which there may be no kernel; nothing else is looked at."""
        typed = [other for each in firing for name, other in variants(each) if name.startswith(IN_TYPE)]
        found = [replace(each, opset=opset) for opset in LATER_OPSETS for each in spread(typed, TYPED)]
        for alike in _by_model(found):
            self._beside(self.trying.fired(alike), count(), only=NO_KERNEL)

    def variants(self, most: int, *, few: bool) -> None:
        """What is beside the author's examples, on which the law need not fire."""
        firing = self.firing()
        terms = (term for side in sides_of(self.law) for term in (*side.tops, *side.written))
        casts = "cast" in operators_in(terms)  # to types that may count less far
        bits = self.law.numerics == "bitwise"
        later = known_later([verdict.candidate.example for verdict in self.holds()], AT_RUN_TIME)
        for alike in _by_model([*related(firing, self.trying.numbers, most), *later]):
            self._beside(self.trying.fired(alike))
        found = beside(firing, self.trying.numbers, most, few=few, long=casts, bits=bits)
        number = count()
        for alike in _by_model(found):
            self._beside(self.trying.fired(alike), number)

    def _beside(
        self, examples: Iterable[Example], number: Iterator[int] | None = None, *, only: str = ""
    ) -> None:
        """Try what is beside examples; where they are counted, all but the first on a part of the inputs, in
        turn.

        Args:
            only: what a failure says that counts.
        """
        whole = number is None
        made = (
            self.trying.candidate(each, reference=whole, turn=None if k < WHOLE else k)
            for k, each in zip(number or repeat(0), examples, strict=False)
        )
        candidates = [candidate for candidate in made if candidate is not None]
        for k in range(0, len(candidates), BATCH):
            verdicts = self.trying.verdicts(candidates[k : k + BATCH])
            failures = [(verdict, verdict.failure) for verdict in verdicts if verdict.failure is not None]
            wrong = [verdict for verdict, failure in failures if only in failure.message]
            if wrong:
                raise refused(self.law, "", wrong, [])

    def pairs(self, most: int) -> None:
        """Terms side by side with what is near them, where tables or shorthands tell them apart."""
        if not self.law.uses:
            return
        shown = [example for example in self.written if example.fires]
        made = {_wording(verdict.candidate.example): verdict.candidate.example for verdict in self.holds()}
        own, others = (
            [pair for each in examples for pair in side_by_side(each)]
            for examples in (shown, spread(list(made.values()), PAIRED))
        )
        number = count(WHOLE)
        for alike in _by_model([*spread(own, most), *spread(others, most)]):
            self._beside(alike, number)

    def statement(self, side: Side, terms: int) -> None:
        """Terms that the tables make of one statement."""
        shown = side.rule in self.trying.rules
        budget = TrialBudget(terms, fruitless=self.fruitless, shown=True) if shown else TrialBudget(terms)
        found = tried(side, self.trying, budget)
        known = self.found.setdefault(side.rule, Outcome())
        known.tried += found.tried
        known.changed += found.changed
        known.holds += found.holds
        if found.failures:
            raise refused(self.law, side.rule, found.failures, known.holds)

    def untried(self) -> tuple[str, ...]:
        """Statements that no term shows, nor an example of the author."""
        return tuple(
            rule for rule, found in self.found.items() if not found.changed and rule not in self.trying.rules
        )

    def holds(self) -> list[Verdict]:
        return [verdict for found in self.found.values() for verdict in found.holds]


def check_law(
    law: Law, *, terms: int = TERMS, conditions: bool = True, neighbours: bool = True, partial: bool = False
) -> LawReport:
    """Check a law on the examples of its author and on terms made of the tables of odd values.

    The verdict depends on what the law states, and on neither its name nor a seed.

    Args:
        terms: that are tried, spread over the statements of the law.
        conditions: look at what each condition is for, see `LawReport.needless`.
        neighbours: see that saturation ends beside the default laws, and not with the law alone only.
        partial: accept a law of which a statement was tried on no term.

    Raises:
        LawError: it is declared wrongly. LawRefusedError: it goes wrong on a term, grows without end, does
        what its examples say it does not, or
            there is nothing to try one of its statements on.
    """
    check(law)
    check_named_laws(law)
    with watched(), _breaking(law), np.errstate(all="ignore"):
        report = _report(law, terms, conditions=conditions, neighbours=neighbours)
    if report.untried and not partial:
        placed = "; ".join(f"statement {_placed(law, rule)}" for rule in report.untried)
        raised = "".join(f"; {line}" for line in report.raised)
        raise LawRefusedError(
            f"{place_of(law)}: {law.key}: no term was found to try {placed}{raised}; write an example"
            " (`examples=`) on which it applies"
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


def _report(law: Law, terms: int, *, conditions: bool, neighbours: bool) -> LawReport:
    written = written_examples(law, np.random.default_rng(0))
    gate = _Gate(law, Trying(law), written, SHOWN_FRUITLESS[terms >= TERMS])
    with host_tally() as hosts:
        gate.examples(written)
        sides = sides_of(law)
        each = max(terms // len(sides), min(LEAST, terms // 3)) if sides else 0
        for side in sides:
            gate.statement(side, each)
        few = any(found.changed < min(FEW, each // 2) for found in gate.found.values())
        gate.variants(VARIANTS_A_TERM * terms, few=few)
        gate.pairs(min(MOST_PAIRS, terms))
        _check_kernels(gate, TrialBudget(each, fruitless=FRUITLESS_A_TERM * terms))
    grown = growth(gate.trying, gate.holds(), neighbours=neighbours)
    if grown is not None:
        raise LawRefusedError(f"{place_of(law)}: {law.key} grows without end: {grown}")
    return LawReport(
        law.key,
        len(written),
        sum(found.tried for found in gate.found.values()),
        gate.trying.tally,
        gate.untried(),
        tuple(missed(law)) if conditions else (),
        hosts.told(),
    )


def _check_kernels(gate: _Gate, budget: TrialBudget) -> None:
    """Where its conditions of `kernel` hold, onnxruntime runs what a law writes, too."""
    law, asking = gate.law, asking_kernels(gate.law)
    if asking is None:
        return
    trying = Trying(asking, tally=gate.trying.tally)
    _Gate(law, trying, ()).in_other_types(gate.firing())
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
    gate = _Gate(law, Trying(law), [example])
    gate.examples([example])
    return gate.trying


def _placed(law: Law, rule: str) -> str:
    """A statement with its line and what is written there."""
    line = statements(law)[int(rule.rstrip("<"))].line
    return f"{rule} (line {line}: {linecache.getline(law.function.__code__.co_filename, line).strip()})"
