"""Terms of a law tried: saturated with the law alone, and every graph that comes of it compared with the
term."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import onnx

from egraph_opt.check.alternatives import (
    alternatives_of,
    computes_without_kernel,
    constants_are_written,
    prices_of,
    rebuilt_original,
    rewritten_model,
)
from egraph_opt.check.as_read import is_as_read
from egraph_opt.check.batches import lowered_at, saturated
from egraph_opt.check.choices import spread
from egraph_opt.check.cycles import written_on_the_original
from egraph_opt.check.feeds.kinds import BY_CLASS, ORDINARY
from egraph_opt.check.feeds.points import numbers_between
from egraph_opt.check.judging.comparing import NO_KERNEL, compare
from egraph_opt.check.judging.outcomes import Failure, Tally
from egraph_opt.check.judging.trials import Original
from egraph_opt.check.named_numbers import constants_of, named_by, numbers_of
from egraph_opt.check.terms import output_value, show_all
from egraph_opt.check.tried_terms import (
    FiredTerm,
    TriedTerm,
    Verdict,
    is_changed,
    is_huge,
    is_rewritten,
    is_run,
    lowered_if_typed,
)
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.saturation import ORIGINAL, SaturationReport
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.errors import UnsoundLawError
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, Law, statements
from egraph_opt.laws.selection import ASSUME, select
from egraph_opt.laws.statements import Guard

ASKED = 24
"""Terms near an example that are saturated together to see on which of them a law does something."""

MOST_ALTERNATIVES, IN_TURN = 24, 6
"""Graphs of a term that are compared; of more every other one, and so on.  Of a term that is run on parts of
the tables fewer are, others in turn: many terms have graphs alike."""


@dataclass
class Trying:
    """Tries terms of a law, many at a time.

    Attributes:
        rules: how often each rule of the law matched: "2" is its statement 2, "2<" that from the right.
        met: what tells terms that are near examples apart.
        as_read: operators that files declare have only attributes that nodes are read with, see `as_read`.
    """

    law: Law
    guards: bool = False
    tally: Tally = field(default_factory=Tally)
    rules: Counter[str] = field(default_factory=Counter)
    met: set[object] = field(default_factory=set)
    as_read: bool = False

    def __post_init__(self) -> None:
        required = [law for law in select(_rulesets(self.law.required)) if law.key in self.law.required]
        self.laws = tuple(sorted({self.law, *required}, key=lambda law: law.key))
        # What is assumed of inputs is not so of large ones.
        named = frozenset[float]() if self.is_assumed else frozenset(numbers_of(self.law))
        self.numbers = named.union(numbers_between(named))
        self.named = named_by(self.law)
        self.own_types = self.law.numerics in ("bitwise", "finite")  # as where no more is allowed
        # Without its guards a law may write what nobody runs, and is judged by the reference there.
        self.needs_kernels = self.guards or not any(
            isinstance(condition, Guard) and condition.purpose == "kernel"
            for statement in statements(self.law)
            for condition in statement.conditions
        )

    @property
    def is_assumed(self) -> bool:
        """Whether the law takes something of its inputs for granted: that integers are small, say."""
        return self.law.ruleset == ASSUME

    def candidate(
        self, term: Example | FiredTerm, *, reference: bool = True, turn: int | None = None
    ) -> TriedTerm | None:
        """A term as it is written; None where nobody runs it, or ONNX is wrong about its shapes.

        Args:
            turn: run it on a part of each table of inputs, this one in turn, and not on all.
        """
        try:
            fired = term if isinstance(term, FiredTerm) else FiredTerm(term, lowered_at(term))
            if any(map(is_huge, fired.lowered.facts)) or not constants_are_written(fired.lowered):
                return None
            if self.as_read and not is_as_read(fired.lowered):
                return None
            candidate = self._tried(fired, reference=reference, turn=turn)
        except Exception:  # operands that do not suit an operator make inference fail in many ways
            return None
        return candidate if is_run(candidate) else None

    def fired(self, examples: Sequence[Example]) -> Iterator[FiredTerm]:
        """Those of some examples, of one opset and the same limits, on which the law may do something.

        What is near an example need be no term that anybody runs; to run each of them would take long, and on
        most of them a law does nothing.  What is near several examples, or by several ways, is tried once.
        """
        for term, snapshot in self._asked([example for example in examples if self._is_new(example)]):
            if snapshot is None or is_changed(term.lowered, snapshot):
                yield term

    def do_fire(self, examples: Sequence[Example]) -> list[bool]:
        """On which of some examples, of one opset and the same limits, the law may do something."""
        found = {
            id(term.example)
            for term, snapshot in self._asked(examples)
            if snapshot is None or is_rewritten(term.lowered, snapshot)
        }
        return [id(example) in found for example in examples]

    def _asked(self, examples: Sequence[Example]) -> Iterator[tuple[FiredTerm, Snapshot | None]]:
        """Those of some examples that are well-typed, and what the law makes of each; None where it fails."""
        lowered = ((example, lowered_if_typed(example)) for example in examples)
        typed = [FiredTerm(example, term) for example, term in lowered if term is not None]
        typed = [term for term in typed if not self.as_read or is_as_read(term.lowered)]
        for k in range(0, len(typed), ASKED):
            several = typed[k : k + ASKED]
            limits = several[0].example.limits
            try:
                snapshots, report = saturated(
                    self.laws, [term.lowered for term in several], limits, guards=self.guards
                )
            except UnsoundLawError:  # by what runs, perhaps
                yield from ((term, None) for term in several)
                continue
            # A rule is shown where a term runs on which it matches, and these need not run.
            tells_more = report.failed or self._matched(report).keys() - self.rules.keys()
            for term, snapshot in zip(several, snapshots, strict=True):
                made = term if tells_more else replace(term, snapshot=snapshot)
                yield made, None if report.failed else snapshot

    def _is_new(self, example: Example) -> bool:
        """Whether it is a term, of leaves, that was not there before."""
        operands: Operands = example.operands
        arrays = (None if v.const_value is None else v.const_value.numpy().tobytes() for v in operands.values)
        leaves = tuple((f.dtype, f.shape, array) for f, array in zip(operands.facts, arrays, strict=True))
        before = len(self.met)
        self.met.add((example.term, leaves, example.limits, example.opset))
        return len(self.met) > before

    def written(self, example: Example, *, reference: bool = True) -> TriedTerm:
        """The same of an example of the author, whoever runs it; what goes wrong is raised."""
        return self._tried(FiredTerm(example, lowered_at(example)), reference=reference, turn=None)

    def _tried(self, term: FiredTerm, *, reference: bool, turn: int | None) -> TriedTerm:
        show_all(term.lowered)
        term.lowered.own_types = self.own_types
        return self.of_model(term, rebuilt_original(term.lowered, term.lowered.opset), reference, turn)

    def of_model(
        self, term: FiredTerm, model: onnx.ModelProto, reference: bool = False, turn: int | None = None
    ) -> TriedTerm:
        """A term that is compared with a model of which all values that it has are outputs."""
        lowered = term.lowered
        lowered.own_types = self.own_types
        ordinary = self.law.within is not None  # whose promise is about ordinary numbers
        known = frozenset[float]() if self.is_assumed else constants_of(lowered)
        numbers = frozenset() if ordinary else self.numbers | known
        kinds = ORDINARY if self.is_assumed else BY_CLASS[self.law.numerics]
        original = Original(
            model,
            self.law.claim,
            kinds,
            numbers=numbers,
            reference=reference,
            kernels=self.needs_kernels,
            turn=turn,
            closer=self.law.serves == "accuracy",
        )
        return TriedTerm(term.example, lowered, original, term.snapshot)

    def verdicts(self, candidates: Sequence[TriedTerm], *, rounds: int = 1) -> list[Verdict]:
        """What comes of terms of one opset and of the same limits."""
        known = [candidate.snapshot for candidate in candidates]
        missing = [candidate for candidate in candidates if candidate.snapshot is None]
        if missing:
            limits, terms = missing[0].example.limits, [candidate.lowered for candidate in missing]
            try:
                found, report = saturated(self.laws, terms, limits, rounds=rounds, guards=self.guards)
            except UnsoundLawError as error:
                if len(candidates) > 1:
                    return [v for candidate in candidates for v in self.verdicts([candidate], rounds=rounds)]
                if str(error).startswith(ORIGINAL):
                    return [Verdict(candidates[0])]  # what is near an example may contradict itself
                return [Verdict(candidates[0], changed=True, failure=Failure(" ".join(str(error).split())))]
            self.rules.update(self._matched(report))
            if report.failed:
                return [Verdict(missing[0], changed=True, failure=Failure("; ".join(report.failed)))]
            made = iter(found)
            known = [next(made) if snapshot is None else snapshot for snapshot in known]
        return [
            self._compared(c, snapshot)
            for c, snapshot in zip(candidates, known, strict=True)
            if snapshot is not None
        ]

    def _matched(self, report: SaturationReport) -> Counter[str]:
        """How often each rule of the law matched."""
        prefix = f"{self.law.key}#"
        matches = report.rule_matches.items()
        return Counter({name.removeprefix(prefix): n for name, n in matches if n and name.startswith(prefix)})

    def _compared(self, candidate: TriedTerm, snapshot: Snapshot) -> Verdict:
        lowered, original = candidate.lowered, candidate.original
        alternatives, cyclic = alternatives_of(lowered, snapshot, prices_of(lowered, snapshot))
        failure = None
        for node in cyclic:
            failure = failure or self._cyclic(candidate, snapshot, node)
        turn = original.turn
        compared = spread(alternatives, MOST_ALTERNATIVES if turn is None else IN_TURN, turn or 0)
        for alternative in compared:
            if failure is None:
                failure = self._alternative(original, alternative, lowered)
        self.tally.add(original.tally)
        return Verdict(candidate, len(alternatives), bool(alternatives or cyclic), failure)

    def _alternative(self, original: Original, alternative: Any, lowered: Lowered) -> Failure | None:
        try:
            model = rewritten_model(alternative, lowered.opset)
        except NotImplementedError:
            self.tally.left_out["constants that ONNX's reference does not compute"] += 1
            return None
        except Exception as error:  # a wrong law may write what cannot be rebuilt, for many reasons
            return Failure(f"what was rewritten cannot be written: {' '.join(str(error).split())}")
        failure = compare(original, model, self.tally)
        if failure is not None and failure.message == NO_KERNEL and computes_without_kernel(lowered):
            self.tally.left_out["what is computed of constants has no kernel, and needs none"] += 1
            return None
        return failure

    def _cyclic(self, candidate: TriedTerm, snapshot: Snapshot, node: int) -> Failure | None:
        """Compare an e-node that depends on itself, written on the term's own operands, with its class."""
        lowered = candidate.lowered
        try:
            written = written_on_the_original(lowered, snapshot, node)
        except Exception:  # what a wrong law makes of operands may suit no operator
            written = None
        if written is None:
            self.tally.left_out["an e-node depends on itself"] += 1
            return None
        copy, index = written
        fact = copy.facts[index]
        assert fact is not None
        number = snapshot.term_classes[lowered.outputs].tolist().index(snapshot.node_class[node])
        outputs = list(lowered.graph.outputs)
        copy = replace(copy, outputs=[index])
        lowered.graph.outputs[:] = [output_value("y", fact)]
        try:
            model = rebuilt_original(copy, lowered.opset)
        except AssertionError:  # which nobody chooses, as it cannot be written
            self.tally.left_out["an e-node depends on itself"] += 1
            return None
        finally:
            lowered.graph.outputs[:] = outputs
        return compare(candidate.original, model, self.tally, only=number)


def place_of(law: Law, rule: str = "") -> str:
    """The file and line of a statement of a law, or of the law."""
    code = law.function.__code__
    lines = {k: statement.line for k, statement in enumerate(statements(law))}
    number = int(rule.rstrip("<")) if rule else 0
    only = len(lines) == 1 or rule
    return f"{code.co_filename}:{lines[number] if only else code.co_firstlineno}"


def _rulesets(keys: Iterable[str]) -> list[str]:
    return [key.rsplit(".", 1)[0] for key in keys]
