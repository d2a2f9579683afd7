"""Whether a law holds at all sizes: proved, refuted with an example, or open for a reason."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import z3

from egraph_opt.check.refusal import LawRefusedError
from egraph_opt.check.resolution import Filler
from egraph_opt.check.scope import operators_in
from egraph_opt.check.sides import Side, sides_of
from egraph_opt.check.whole_law import check_law
from egraph_opt.laws.law import Law
from egraph_opt.operators.expressions import Constant, Variable, parts
from egraph_opt.proofs.case import Case, case_of
from egraph_opt.proofs.goals import joined
from egraph_opt.proofs.hosts import is_question
from egraph_opt.proofs.instance import Arithmetic, Dims, Instance
from egraph_opt.proofs.paths import Path, Unproved, explore
from egraph_opt.proofs.python import symbolic_python
from egraph_opt.proofs.sides import Sides
from egraph_opt.proofs.tables import (
    Definitions,
    definitions_of,
    repeated,
    says_too_little,
    with_own_rules,
    without_demands,
)
from egraph_opt.proofs.terms import TermValues
from egraph_opt.proofs.trail import NO_TIME, Open
from egraph_opt.semantics.values import NoMeaningError

Status = Literal["proved", "refuted", "open"]

MOST_RANK = 4
"""Operands of any rank are tried up to here; see `least_rank` for what has to be reached."""

MOST_RANK_OF_SYMBOLS = 2
"""Where dims are symbols; what may differ of them is how host functions read a dim."""

MOST_AXES = 4
"""Of dims that a pattern leaves open."""

STEPS_OF_TABLES = (4, 7)
"""Entries of tables that are filled for a statement: a chain along a list, say, has so many links.  More are
filled where nothing is proved by fewer."""

SECONDS = 20.0

SHARE_OF_TRIAL = 0.5
"""Of the time, for one way to fill tables before the next."""

SHARE_OF_RANKS = 0.05
"""Of the time, for ranks above the least."""

SHARE_OF_WEAK = 0.5
"""Of the time, for what follows with fewer conditions."""


@dataclass(frozen=True)
class LawProof:
    """What became of a law.

    Attributes:
        name: of the law.
        status: of all its statements together.
        reason: why it is open, or what is not so.
        arithmetic: in which it follows, the one that it claims; see `instance.Instance`.
        ranks: of operands that may have any, up to which it is proved.
        cases: how many were looked at.
        notes: what the proof takes for granted.
        operators: those of which a meaning was looked for.
    """

    name: str
    status: Status
    reason: str
    arithmetic: Arithmetic
    ranks: int
    cases: int
    seconds: float
    notes: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()


def prove(law: Law, seconds: float = SECONDS, *, refute: bool = True) -> LawProof:
    """Prove a law for all sizes, as far as is known how.

    Args:
        seconds: after which it stays open.
        refute: where it does not follow, look for an example on which it is wrong.
    """
    began = time.process_time()
    state = _State(
        law, lambda: time.process_time() - began > seconds, seconds, CLAIMED.get(law.numerics, "real")
    )
    status: Status = "proved"
    try:
        with symbolic_python(law):
            state.definitions = definitions_of(law)
            if says_too_little(law):
                raise Open(says_too_little(law))
            for side in sides_of(law):
                state.take_apart(with_own_rules(side, law))
        reason = state.shortfall()
        status = "open" if reason else "proved"
    except Open as error:
        status, reason = "open", str(error)
    except NoMeaningError as error:
        status, reason = "open", f"{error} has no meaning yet"
    except z3.Z3Exception as error:
        status, reason = "open", f"the solver says: {error}"
    except Unproved as error:
        found = _counterexample(law) if refute else ""
        status, reason = ("refuted", found) if found else ("open", f"it does not follow {error}")
    except Exception as error:  # of what no law had before: said, and no proof
        status, reason = "open", f"the prover fails: {type(error).__name__}: {error}"
    spent = time.process_time() - began
    return LawProof(
        law.key, status, reason, state.arithmetic, state.ranks, state.cases, spent,
        tuple(sorted(state.notes)), tuple(sorted(state.operators)),
    )  # fmt: skip


def _counterexample(law: Law) -> str:
    """What the gate says of an example on which a law is wrong; nothing where it finds none."""
    try:
        check_law(law, conditions=False, neighbours=False)
    except LawRefusedError as error:
        return str(error)
    return ""


OF_MATRICES = frozenset(("matmul", "einsum"))


def least_rank(side: Side) -> int:
    """The rank up to which a statement has to be looked at.

    Axes that no attribute names are all treated alike, so one that is broadcast and one that is not are
    enough.  An attribute names axes in front of others, behind them, and two at once: that is three.  A
    permutation of three axes is not its own inverse, as those of two are; two that move all of four axes
    need not commute, as those of three do; and products have two axes of their own, next to which two can be
    exchanged.
    """
    terms = (*side.tops, *side.named.values(), *side.written)
    every = {part for top in terms for part in parts(top)}
    sorts = {part.sort.name for part in every}
    heads = {getattr(part.head, "name", "") for part in every}
    if "Permutation" in sorts:
        orders = {
            part for part in every if part.sort.name == "Permutation" and isinstance(part.head, Variable)
        }
        return 4 if heads & OF_MATRICES or len(orders) > 1 else 3
    return 3 if sorts & NAMING_AXES or heads & OF_MATRICES else 2


def parts_named(side: Side) -> int:
    """How many outputs of an operator a statement names."""
    terms = (*side.tops, *side.named.values(), *side.written)
    every = {part for top in terms for part in parts(top) if getattr(part.head, "name", "") == "output"}
    numbers = [n.head.value for part in every if isinstance((n := part.arguments[1]).head, Constant)]
    return max(numbers, default=0) + 1


NAMING_AXES = frozenset("Axis Axes Cut Dims Pads Place Ranges Sizes Slices Steps".split())
"""Sorts of attributes that tell axes apart."""

CLAIMED: dict[str, Arithmetic] = {"bitwise": "bitwise", "finite": "finite"}
"""By class of a law what it has to be proved in; others are about real numbers."""


@dataclass
class _State:
    """How far a law is proved.

    Attributes:
        arithmetic: the one that the law claims.
        kept: the conditions that a statement needs, by its identity; None where it needs them all.
        used: the rules that fill tables in cases that follow.
        of_symbols: why it is not shown where dims are symbols to the host.
    """

    law: Law
    stop: Callable[[], bool]
    seconds: float
    arithmetic: Arithmetic
    ranks: int = MOST_RANK
    of_symbols: str = ""
    cases: int = 0
    notes: set[str] = field(default_factory=set)
    operators: set[str] = field(default_factory=set)
    asks_dims: bool = False
    asks_ranks: bool = False
    new: int = 0
    steps: int = STEPS_OF_TABLES[0]
    kept: dict[int, tuple[Any, ...] | None] = field(default_factory=dict)
    definitions: Definitions = field(default_factory=dict)
    used: set[Filler] = field(default_factory=set)

    def shortfall(self) -> str:
        """What is missing where the law claims more than follows."""
        return f"it holds where dims are numbers; of symbols: {self.of_symbols}" if self.of_symbols else ""

    def take_apart(self, side: Side) -> None:
        """Prove a statement, without the marks that it asks where it follows so, by few steps or by more."""
        if not side.asks_tables:
            self.take(side)
            return
        before = self.ranks, set(self.notes), self.of_symbols, self.stop
        fewer = without_demands(side)
        trials = [(each, steps) for steps in STEPS_OF_TABLES for each in (fewer, side) if each is not None]
        for each, steps in trials:
            until = time.process_time() + self.seconds * SHARE_OF_TRIAL
            last = (each, steps) == trials[-1]
            self.ranks, self.notes, self.of_symbols = before[0], set(before[1]), before[2]
            if not last:
                self.stop = lambda until=until: before[-1]() or time.process_time() > until  # type: ignore[misc]
            self.steps = steps
            try:
                self.take(each)
                if repeated(each) - self.used:
                    raise Open("tables are filled further than was looked at")
            except (Open, Unproved, NoMeaningError):
                if last:
                    raise
            else:
                if not self.of_symbols:
                    break
            finally:
                self.stop = before[-1]

    def take(self, side: Side) -> None:
        """Prove a statement: rank after rank with numbers for dims, then with symbols.

        Raises:
            Unproved: one of its cases does not follow.
            Open: time is up before `least_rank` is reached, or no case meets the conditions.
        """
        self.asks_dims, self.asks_ranks, least = False, False, least_rank(side)
        numbers, reached = self._follow(side, range(least + 1), "numbers", self.stop), least
        while not numbers and reached < MOST_RANK:  # a law of images, say
            reached += 1
            numbers = self._follow(side, range(reached + 1), "numbers", self.stop, new=True)
        if self.asks_dims or not numbers:  # else symbols are the same to it
            self._of_symbols(side, numbers, reached if reached > least and numbers else 0)
        if self.asks_ranks:
            self._of_unknown(side, reached)
        until = time.process_time() + self.seconds * SHARE_OF_RANKS
        with suppress(Open):
            for rank in range(reached + 1, MOST_RANK + 1):
                stop = lambda: self.stop() or time.process_time() > until  # noqa: E731
                self._follow(side, range(rank + 1), "numbers", stop, new=True)
                reached = rank
        self.ranks = min(self.ranks, reached)

    def _of_symbols(self, side: Side, numbers: int, only: int) -> None:
        """Prove a statement where dims are symbols.

        Args:
            only: the least rank that there is a case of, where it is above that which has to be reached.
        """
        try:
            ranks = range((only or MOST_RANK_OF_SYMBOLS) + 1)
            found = self._follow(side, ranks, "symbols", self.stop, new=bool(only))
        except (Open, NoMeaningError) as error:
            if not numbers:
                raise
            self.of_symbols = str(error)
        else:
            if not found and not numbers:
                raise Open(f"no case that was looked at meets the conditions of statement {side.rule}")

    def _of_unknown(self, side: Side, reached: int) -> None:
        """Prove a statement where a host function knows no shapes.

        Raises:
            Unproved: a law takes what is not known for known.
        """
        try:
            self._follow(side, range(reached + 1), "unknown", self.stop)
        except (Open, NoMeaningError) as error:
            self.of_symbols = self.of_symbols or f"where shapes are not known: {error}"

    def _follow(
        self, side: Side, ranks: Sequence[int], dims: Dims, stop: Callable[[], bool], *, new: bool = False
    ) -> int:
        """How many cases follow; where only the highest rank is new, those that have it."""
        self.new = ranks[-1] if new else 0
        found = self._weakly(side, ranks, dims, stop) or self._cases(side, ranks, dims, stop)
        self.cases += found
        return found

    def _weakly(self, side: Side, ranks: Sequence[int], dims: Dims, stop: Callable[[], bool]) -> int:
        """How many cases follow with some of the conditions; 0 where it has none to spare, or they do not.

        One condition after another is added, each time the one with which most cases follow.
        """
        every = dict.fromkeys((*side.statement.conditions, *side.conditions))
        questions = [c for c in every if is_question(c)]
        until = time.process_time() + self.seconds * SHARE_OF_WEAK
        late = lambda: stop() or time.process_time() > until  # noqa: E731
        kept = self.kept.get(id(side.statement), ())
        if kept is None or len(kept) >= len(questions):
            return 0
        found, whole = self._tried(side, ranks, dims, late, kept)
        while not whole and found is not None and len(kept) + 1 < len(questions):
            trials = []  # type: ignore[var-annotated]
            for question in questions:
                if question not in kept:
                    count, whole = self._tried(side, ranks, dims, late, (*kept, question))
                    trials.append((-1 if count is None else count, -len(trials), (*kept, question)))
                    if whole or count is None:
                        break
            (found, _, kept) = trials[-1] if whole else max(trials)
            found = None if count is None else found
        self.kept[id(side.statement)] = kept if whole else None
        return found if whole and found else 0

    def _tried(
        self, side: Side, ranks: Sequence[int], dims: Dims, stop: Callable[[], bool], kept: tuple[Any, ...]
    ) -> tuple[int | None, bool]:
        """How many cases follow before one does not, None where time is up; and whether all do."""
        found = 0
        try:
            for each in explore(lambda path: self._case(side, path, ranks, dims, kept), stop):
                found += each
        except (Open, NoMeaningError) as error:
            return (None if str(error) == NO_TIME else found), False
        except Exception:  # not only what does not follow: without a condition there may be no axis, say
            return found, False
        return found, True

    def _cases(self, side: Side, ranks: Sequence[int], dims: Dims, stop: Callable[[], bool]) -> int:
        return sum(explore(lambda path: self._case(side, path, ranks, dims, None), stop))

    def _case(
        self, side: Side, path: Path, ranks: Sequence[int], dims: Dims, kept: tuple[Any, ...] | None
    ) -> int:
        case = case_of(path, lambda: self._new_case(side, path, ranks, dims, kept))
        scene = case.scene
        try:
            case.follow()
        finally:
            self.asks_dims |= scene.asks_dims
            self.asks_ranks |= scene.asks_ranks
            self.operators |= scene.operators
        self.notes |= scene.notes
        self.used.update(case.used)
        return 1

    def _new_case(
        self, side: Side, path: Path, ranks: Sequence[int], dims: Dims, kept: tuple[Any, ...] | None
    ) -> Case:
        most_axes = max(ranks[-1], MOST_AXES)
        scene = Instance(path, arithmetic=self.arithmetic, most_axes=most_axes, dims=dims)
        scene.parts = max(scene.parts, parts_named(side) + 1)  # one for all that are not named
        used: Sequence[Filler] = ()
        if side.asks_tables:
            side, join = joined(side, scene, self.steps)
            used = join.used
        self.operators |= operators_in((*side.tops, *side.named.values(), *side.written))
        terms = TermValues(side, scene, ranks, definitions=self.definitions)
        return Case(Sides(terms, new=self.new), kept, used)
