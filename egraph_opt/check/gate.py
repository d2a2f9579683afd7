"""The stages of the gate: each tries a law on more, and raises where it goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count, repeat

from egraph_opt.check.as_read import declares_operators, is_as_read
from egraph_opt.check.beside.between_powers import with_integers_between_powers
from egraph_opt.check.beside.constants_of_halves import with_constants_of_halves
from egraph_opt.check.beside.families import beside, known_later, not_picky, related
from egraph_opt.check.beside.neighbours import OPSETS
from egraph_opt.check.beside.old_opsets import in_old_opsets, unlike_later
from egraph_opt.check.beside.side_by_side import side_by_side
from egraph_opt.check.beside.variants import variants
from egraph_opt.check.beside.where_it_ends import where_it_ends
from egraph_opt.check.choices import spread
from egraph_opt.check.declared_operators import check_declared_operators
from egraph_opt.check.evidence import Shapes, only_sizes, shapes_of
from egraph_opt.check.judging.comparing import NO_KERNEL
from egraph_opt.check.refusal import LawRefusedError, refused
from egraph_opt.check.scope import nodes_of, operators_in
from egraph_opt.check.sides import Side, sides_of
from egraph_opt.check.statement import BATCH, WHOLE, Outcome, TrialBudget, tried
from egraph_opt.check.themed import themed
from egraph_opt.check.tried_terms import FiredTerm, TriedTerm, Verdict, lowered_if_typed
from egraph_opt.check.trying import Trying, place_of
from egraph_opt.laws.law import Example, Law

FRUITLESS = 32
"""Tries after which no term is expected of a statement that the author's examples show."""

IN_PLACE = 4
"""Terms of each statement that are taken for examples where the author wrote none."""

IN_TYPE, IN_16_BITS = "in ", "in 16 bits"
"""What the names of variants in other types begin with, and one of them."""

TYPED = 24
"""Variants in other types that are tried for kernels in an opset."""

LATER_OPSETS = tuple(opset for opset in OPSETS if opset > 11)
"""Those in which onnxruntime has kernels of most types."""

PAIRED = 16
"""Terms that the tables made that are paired with what is near them, each of other operators."""

INTEGERS, BETWEEN = 4, 32
"""Terms that the tables made whose integers end between powers of two, and how many of each change."""

HALVES = 64
"""Terms of halves whose constants have no inverse, or no square."""

ENDING = 4
"""Examples of which the numbers are searched for where the law ends to fire."""

AT_RUN_TIME = 32
"""Terms that the tables made of which constants become inputs as well."""

ROUNDS = 4
"""Rounds of a law on the examples that its author wrote, which may show several steps."""


def _of_each(found: Iterable[Verdict], kind: Callable[[Example], object]) -> list[Example]:
    """Of terms that the tables made a small one of each kind; those that tell something apart first.

    Near the smallest of all most operands are single elements, or none.
    """
    by_kind: dict[object, Example] = {}
    for term in sorted((verdict.candidate for verdict in found), key=_single_elements_last):
        by_kind.setdefault(kind(term.example), term.example)
    return list(by_kind.values())


def _single_elements_last(term: TriedTerm) -> tuple[bool, int, int]:
    shapes = [fact.shape for fact in term.example.operands.facts if fact.shape is not None]
    return any(0 in shape for shape in shapes), sum(set(shape) <= {1} for shape in shapes), term.size


def _ranks(example: Example) -> object:
    return tuple(fact.rank for fact in example.operands.facts)


def _wording(example: Example) -> tuple[str, ...]:
    """The operators of a term with what names them: one of many that say the same has to do."""
    return tuple(f"{n.head.name} {n.arguments[0].head if n.arguments else ''}" for n in nodes_of(example))


def _by_model(examples: Iterable[Example]) -> Iterable[list[Example]]:
    """Examples that are saturated together: of one opset, and with the same limits."""
    together: dict[object, list[Example]] = {}
    for example in examples:
        together.setdefault((example.opset, example.limits), []).append(example)
    return together.values()


def _types(example: Example) -> object:
    return tuple(fact.dtype for fact in example.operands.facts)


def _is_old_and_referred(term: TriedTerm) -> bool:
    """Whether a term of an old opset is run by the reference only, which has the operators of later ones."""
    runner = term.original.runner
    return term.example.opset < min(OPSETS) and runner is not None and runner.by_reference


@dataclass
class Gate:
    """A law and what has been tried of it.

    Args:
        written: the author's examples.
        fruitless: tries after which no term is expected of a statement that these show.

    Attributes:
        found: by statement what came of the terms that the tables made.
        in_themes: terms of themes on which it fires.
        shapes: what examples, and terms beside them, on which it does something, have for operands.

    Raises:
        LawRefusedError: by each of its methods, on which the law goes wrong.
    """

    law: Law
    trying: Trying
    written: Sequence[Example]
    fruitless: int = FRUITLESS
    found: dict[str, Outcome] = field(default_factory=dict)
    in_themes: list[Example] = field(default_factory=list)
    shapes: set[Shapes] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.guarded = Trying(self.law, guards=True, tally=self.trying.tally, rules=self.trying.rules)
        self.trying.as_read = declares_operators() and self._shows_what_is_read()

    def _shows_what_is_read(self) -> bool:
        """Whether the readers of operators that files declare answer what the author's examples have."""
        shown = (lowered_if_typed(example) for example in self.written if example.fires)
        return all(term is None or is_as_read(term) for term in shown)

    def forget(self) -> None:
        """Count from here on: what came before is counted elsewhere."""
        for counter in (self.trying.tally.made, self.trying.tally.left_out, self.trying.rules):
            counter.clear()

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
        """The author's examples on which the law fires, or small terms that the tables made, or those of
        themes."""
        written = [example for example in self.written if example.fires]
        small = (_of_each(found.holds, _ranks) for found in self.found.values())
        shown = written or [each for terms in small for each in spread(terms, IN_PLACE)]
        return shown or list(spread(self.in_themes, IN_PLACE))

    def in_other_types(self, firing: Sequence[Example]) -> None:
        """Examples in other types and opsets, for which there may be no kernel; nothing else is looked at."""
        typed = [other for each in firing for name, other in variants(each) if name.startswith(IN_TYPE)]
        found = [replace(each, opset=opset) for opset in LATER_OPSETS for each in spread(typed, TYPED)]
        for alike in _by_model(found):
            self._beside(self.trying.fired(alike), count(), only=NO_KERNEL)

    def old_opsets(self) -> None:
        """Examples in opsets before those of the tables, and a term of each kind that these made."""
        old = in_old_opsets([*self.firing(), *spread(_of_each(self.holds(), _wording), PAIRED)])
        fired = [term for alike in _by_model(old) for term in self.trying.fired(alike)]
        self._each(unlike_later(fired), count(WHOLE))

    def _each(self, fired: Sequence[FiredTerm], number: Iterator[int]) -> None:
        """Try terms of several models."""
        for model in dict.fromkeys((term.example.opset, term.example.limits) for term in fired):
            alike = [term for term in fired if (term.example.opset, term.example.limits) == model]
            self._beside(alike, number)

    def between_powers(self) -> None:
        """Examples whose integers end where types do not hold all of them, and a term of each few types."""
        bases = [*spread(self.firing(), INTEGERS), *spread(_of_each(self.holds(), _types), INTEGERS)]
        fired: dict[tuple[str, object], FiredTerm] = {}
        for base in bases:
            changed = {k: other for k, other in with_integers_between_powers(base) if k not in fired}
            names = {id(other): name for name, other in changed.items()}
            for alike in _by_model(changed.values()):
                fired |= {names[id(term.example)]: term for term in self.trying.fired(alike)}
        number = count(WHOLE)
        for kind in dict.fromkeys(kind for kind, _ in fired):
            self._each(spread([term for name, term in fired.items() if name[0] == kind], BETWEEN), number)

    def declared_operators(self) -> None:
        """Examples in which operators that a file declares are nodes that no term has written."""
        check_declared_operators(self.trying, self.firing())

    def constants_of_halves(self) -> None:
        """Examples of halves with constants whose inverse or square is none: which shows on most inputs."""
        found = [other for each in not_picky(self.firing()) for other in with_constants_of_halves(each)]
        number = count(WHOLE)
        for alike in _by_model(spread(found, HALVES)):
            self._beside(self.trying.fired(alike), number)

    def where_it_ends(self) -> None:
        """Examples with numbers at which the law only just fires."""
        shown = spread(not_picky(self.firing()), ENDING)
        wide = [other for each in shown for name, other in variants(each) if name == IN_16_BITS]
        for example in (*shown, *wide):
            self._beside(self.trying.fired(where_it_ends(example, self.trying.do_fire)))

    def related(self, most: int) -> None:
        """What differs from examples in several things that belong together, on which the law need not
        fire."""
        bits = self.law.numerics == "bitwise"
        trying = self.trying
        for alike in _by_model(related(self.firing(), trying.numbers, trying.named, most, bits=bits)):
            self._beside(trying.fired(alike))

    def at_run_time(self) -> None:
        """Terms that the tables made, with constants that only a run knows."""
        terms = [verdict.candidate.example for verdict in self.holds()]
        for alike in _by_model(known_later(terms, AT_RUN_TIME)):
            self._beside(self.trying.fired(alike))

    def variants(self, most: int, *, few: bool) -> None:
        """What differs from examples in one thing or two, on which the law need not fire."""
        terms = (term for side in sides_of(self.law) for term in (*side.tops, *side.written))
        casts = "cast" in operators_in(terms)  # to types that may count less far
        bits = self.law.numerics == "bitwise"
        found = beside(self.firing(), self.trying.numbers, most, few=few, long=casts, bits=bits)
        number = count()
        for alike in _by_model(found):
            self._beside(self.trying.fired(alike), number)

    def _beside(
        self, examples: Iterable[Example | FiredTerm], number: Iterator[int] | None = None, *, only: str = ""
    ) -> list[Example]:
        """Try what is beside examples; where they are counted, all but the first on a part of the inputs, in
        turn.

        Args:
            only: what a failure says that counts.

        Returns:
            Those on which the law fires.
        """
        fired: list[Example] = []
        whole = number is None
        made = (
            self.trying.candidate(each, reference=whole, turn=None if k < WHOLE else k)
            for k, each in zip(number or repeat(0), examples, strict=False)
        )
        candidates = [each for each in made if each is not None and not _is_old_and_referred(each)]
        for k in range(0, len(candidates), BATCH):
            verdicts = self.trying.verdicts(candidates[k : k + BATCH])
            failures = [(verdict, verdict.failure) for verdict in verdicts if verdict.failure is not None]
            wrong = [verdict for verdict, failure in failures if only in failure.message]
            if wrong:
                raise refused(self.law, "", wrong, [])
            fired += [verdict.candidate.example for verdict in verdicts if verdict.changed]
        self.shapes.update(map(shapes_of, fired))
        return fired

    def pairs(self, most: int) -> None:
        """Terms side by side with what is near them, where tables or shorthands tell them apart."""
        if not self.law.uses:
            return
        shown = [example for example in self.written if example.fires]
        number = count(WHOLE)
        for examples in (shown, spread(_of_each(self.holds(), _wording), PAIRED)):
            if not examples:
                continue
            kinds = zip(*map(side_by_side, examples), strict=True)
            # A key that forgets an attribute is what to look for; there are more pairs of other kinds.
            attributes, *others = (list(chain.from_iterable(kind)) for kind in kinds)
            chosen = [pair for kind in others for pair in spread(kind, most // len(others))]
            for alike in _by_model([*spread(attributes, most), *chosen]):
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

    def themed(self, sides: Sequence[Side]) -> None:
        """Terms of statements of which several parts have what the tables seldom bring together."""
        number = count(WHOLE)
        for alike in _by_model(themed(sides, self.trying.numbers, self.law.numerics)):
            self.in_themes += self._beside(alike, number)

    def untried(self) -> tuple[str, ...]:
        """Statements that no term shows, nor an example of the author."""
        return tuple(
            rule for rule, found in self.found.items() if not found.changed and rule not in self.trying.rules
        )

    def seen_once(self) -> str:
        """The dims of the author's example at which alone a statement was tried, of which the tables make
        nothing; "" where there are none, or examples of several sizes."""
        shown = {shapes_of(example) for example in self.written if example.fires}
        if self.in_themes or len(shown) != 1 or all(found.changed for found in self.found.values()):
            return ""
        return only_sizes(next(iter(shown)), self.shapes)

    def holds(self) -> list[Verdict]:
        return [verdict for found in self.found.values() for verdict in found.holds]
