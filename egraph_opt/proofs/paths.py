"""Paths through Python code that runs on symbolic numbers: where it asks for a truth value, it forks.

`explore` runs a function again and again, each time along another path: a path is the list of answers that
its questions got.  A question that the solver can answer from what was answered before is no fork.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import z3

from egraph_opt.proofs.trail import NO_TIME, SOLVER_MS, STEPS, Answer, Asked, Open, Question, Trail

T = TypeVar("T")

NOT_THE_SAME = "what is asked along a path is not the same each time"


class Dead(BaseException):
    """No values take this path, or the law says nothing of those that do."""


class NotHereError(BaseException):
    """What concerns the path is asked along a way through a function; see `Path.ways_through`."""


class Unproved(Exception):
    """What has to hold does not follow."""


class Path:
    """What was answered so far along one path, and what follows from it.

    Attributes:
        trail: what it shares with the paths before it.
        inner: a way through a function that is being looked at, which gets all questions.
        taken: what was decided where the path forked.
        kept: what it came to know of facts.
        types: what is known of element types along it.
        states: at which it can be taken up again, see `resuming`.
        case: what is kept of the path before, which goes on from there.
        remembered: what functions answer wherever they are asked, see `remembered`.
        is_real: what follows is about real numbers, which nothing rounds.
    """

    is_real = False

    def __init__(self, trail: Trail | None = None) -> None:
        self.trail = Trail() if trail is None else trail
        self.types: Any = None
        self.states: list[Any] = []
        self.case: Any = None
        self.remembered: dict[Any, Any] = {}
        self.solver = self.trail.solver
        self.begin(None)

    def begin(self, model: z3.ModelRef | None) -> None:
        """Start again, with the answers that the trail has.

        Args:
            model: of what those assume, where one is known.
        """
        self._known = len(self.trail.answers)
        self._asked = self._assumed = self._made = 0
        self._model = model
        self.inner: Path | None = None
        self.taken: list[z3.BoolRef] = []
        self.kept: dict[Any, Any] = {}
        self._merged: list[Sequence[z3.BoolRef]] = []
        while self.states and self.states[-1].asked >= self._known:  # the last answer is another one now
            self.states.pop()

    def position(self) -> tuple[int, int, int]:
        """How much was asked, assumed and named so far."""
        return self._asked, self._assumed, self._made

    def fresh(self, name: str) -> z3.ArithRef:
        """A whole number of which nothing is known."""
        return z3.Int(f"{name}.{self.number()}")

    def fresh_real(self, name: str) -> z3.ArithRef:
        return z3.Real(f"{name}.{self.number()}")

    def fresh_truth(self, name: str) -> z3.BoolRef:
        return z3.Bool(f"{name}.{self.number()}")

    def number(self) -> int:
        """A number of its own, for names."""
        self._of_path()
        self._made += 1
        return self._made

    def _of_path(self) -> None:
        if self.inner is not None:
            raise NotHereError

    def choose(self, count: int) -> int:
        """One of so many cases; all are tried."""
        self._of_path()
        if count <= 0:
            raise Dead
        if count == 1:
            return 0
        return self._answered(count, lambda: (0, tuple(range(1, count)))) or 0

    def assume(self, condition: z3.BoolRef | bool, *, possible: bool = False) -> None:
        """From here on a condition holds.

        Args:
            possible: it is of something new, of which nothing is known.
        """
        self._of_path()
        if condition is True:
            return
        if condition is False:
            raise Dead
        self._add(condition)
        if not possible and not self._answered(None, lambda: (int(self._may(z3.BoolVal(True))), ())):
            raise Dead

    def decide(self, condition: z3.BoolRef | bool) -> bool:
        """Whether a condition holds: a fork where it may and may not."""
        condition = z3.simplify(condition) if isinstance(condition, z3.BoolRef) else condition
        if z3.is_true(condition) or condition is True:
            return True
        if z3.is_false(condition) or condition is False:
            return False
        if self.inner is not None:
            return self.inner.decide(condition)
        other: list[z3.ModelRef | None] = [None]
        holds = bool(self._answered(condition, lambda: self._possible(condition, other), other))
        decided = condition if holds else z3.Not(condition)
        self._add(decided)
        if self.trail.answers[self._asked - 1].forked:
            self.taken.append(decided)
        return holds

    def one_of(self, count: int, case: Callable[[int], z3.BoolRef]) -> int:
        """Which of some conditions holds, one of which does; the solver is not asked which may."""
        chosen = self.choose(count)
        if count > 1:
            self.taken.append(case(chosen))
            self._add(self.taken[-1])
        return chosen

    @property
    def innermost(self) -> Path:
        """The way that is being looked at, through a function within a function; or the path itself."""
        found = self
        while found.inner is not None:
            found = found.inner
        return found

    def kept_on_way(self, key: Any) -> Any:
        """What this way, or one that it is a part of, came to know; None where it did not."""
        way, found = self.inner, None
        while way is not None:
            found = way.kept.get(key, found)
            way = way.inner
        return found

    def all_kept(self, kind: str) -> dict[str, Any]:
        """What this way, and those that it is a part of, came to know of things of a kind, by name."""
        way, found = self.inner, dict[str, Any]()
        while way is not None:
            found |= {key[1]: value for key, value in way.kept.items() if key[0] == kind}
            way = way.inner
        return found

    def ways_through(
        self, run: Callable[[], T], known: Sequence[z3.BoolRef] | None = None, most: int | None = None
    ) -> list[tuple[T, z3.BoolRef]]:
        """What a function answers along each way through it, and where it takes that way: one of them all.

        Args:
            known: what is known, if it is not all that this path knows.
            most: how many ways there may be.

        Raises:
            NotHereError: it asks for more than truth values, or there are more ways.
        """
        solver = self.solver if known is None else z3.Solver()
        scopes = solver.num_scopes()
        solver.push()
        self.inner = inner = Path(Trail(self.trail.stop, solver))
        try:
            solver.add(*(known or ()))
            model = self._model if known is None else None
            found: list[tuple[T, z3.BoolRef]] = []
            for each in _walked(inner, lambda _: (run(), z3.And(inner.taken)), model):
                if len(found) == most:
                    raise NotHereError
                found.append(each)
            return found
        finally:
            self.inner = None
            solver.pop(solver.num_scopes() - scopes)

    def once(self, name: str, ask: Callable[[], T]) -> T:
        """What is answered on all paths that are one with this up to here."""
        self._of_path()
        answers, position = self.trail.answers, self._asked
        self._asked += 1
        if position >= self._known:
            answers.append(Question((None, ()), name, False, ask()))
        elif not isinstance(answers[position].asked, str) or answers[position].asked != name:
            raise Open(NOT_THE_SAME)
        return answers[position].result

    def assume_any(self, ways: Sequence[z3.BoolRef]) -> None:
        """From here on one of some conditions holds; which one is said by `split` only."""
        self.assume(z3.Or(ways))
        if len(ways) > 1:
            self._merged.append(ways)

    def split(self) -> bool:
        """Look at each of the conditions by itself of which one was assumed; False where there are none."""
        merged, self._merged = self._merged, []
        for ways in merged:
            self.assume(ways[self.choose(len(ways))])
        return bool(merged)

    def _answered(
        self, asked: Asked, ask: Callable[[], Answer], other: list[z3.ModelRef | None] | None = None
    ) -> int | None:
        """The answer to a question: the one that the trail has, or else a new one."""
        answers, position = self.trail.answers, self._asked
        self._asked += 1
        if position < self._known:
            before = answers[position]
            if not _is_one(before.asked, asked):
                raise Open(NOT_THE_SAME)
            return before.answer[0]
        found = ask()
        answers.append(Question(found, asked, bool(found[1])))
        if found[1]:
            self.trail.branch(self._assumed, other[0] if other else self._model)
        return found[0]

    def _possible(self, condition: z3.BoolRef, other: list[z3.ModelRef | None]) -> Answer:
        """Which of both answers there may be; a model of the one that is left goes into `other`."""
        if not self._may(condition):
            return 0, ()
        holds = self._model
        if not self._may(z3.Not(condition)):
            return 1, ()
        other[0], self._model = self._model, holds
        return 1, (0,)

    def _add(self, condition: z3.BoolRef) -> None:
        self._assumed += 1
        if self._assumed <= self.trail.depth:
            return
        self.solver.add(condition)
        if self._model is not None and not z3.is_true(self._model.eval(condition, model_completion=True)):
            self._model = None

    def may(self, condition: z3.BoolRef) -> bool:
        """Whether a condition is possible; asked within `once`, as it is no question of its own."""
        return self._may(condition)

    def _may(self, condition: z3.BoolRef) -> bool:
        """Whether a condition is possible, for all that is known."""
        if self._model is not None and z3.is_true(self._model.eval(condition, model_completion=True)):
            return True
        answer = self.trail.check(condition)
        if answer == z3.sat:
            self._model = self.solver.model()
        return bool(answer != z3.unsat)

    def follows(self, condition: z3.BoolRef | bool, milliseconds: int = SOLVER_MS) -> bool:
        """Whether a condition holds all along this path, as far as the solver can say."""
        if isinstance(condition, bool):
            return condition
        if self.inner is not None:
            return self.inner.follows(condition, milliseconds)
        condition = z3.simplify(condition)
        if z3.is_true(condition):
            return True

        def ask() -> Answer:
            other = z3.Not(condition)
            if self._model is not None and z3.is_true(self._model.eval(other, model_completion=True)):
                return 0, ()
            self.trail.limit(milliseconds)
            try:
                answer = self.trail.check(other)
                if answer == z3.sat and self._model is None:
                    self._model = self.solver.model()
                return int(answer == z3.unsat), ()
            finally:
                self.trail.limit(SOLVER_MS)

        return bool(self._answered(condition, ask))

    def possible(self, number: z3.ArithRef, values: Sequence[int]) -> list[int]:
        """Which of some values a whole number can have along this path."""
        if self.inner is not None:
            return self.inner.possible(number, values)

        def ask() -> list[int]:
            left = list(values)
            while left:
                asked = z3.Or([number == value for value in left])
                if not self._may(asked):
                    break
                if self._model is None or not z3.is_true(self._model.eval(asked, model_completion=True)):
                    return list(values)  # the solver cannot say
                left.remove(self._model.eval(number, model_completion=True).as_long())
            return [value for value in values if value not in left]

        return self.once(f"values of {number}", ask)

    def only_value(self, formula: z3.ArithRef) -> int | None:
        """The one whole number that a formula can be along this path, or None."""
        if self.inner is not None:
            return self.inner.only_value(formula)

        def ask() -> Answer:
            if not self._may(z3.BoolVal(True)) or self._model is None:
                return None, ()
            value = self._model.eval(formula, model_completion=True)
            alone = z3.is_int_value(value) and self.trail.check(formula != value) == z3.unsat
            return (value.as_long() if alone else None), ()

        return self._answered(formula, ask)


def _is_one(before: Asked | str, asked: Asked) -> bool:
    """Whether two questions are one: a formula may be written in another order the next time."""
    if isinstance(before, z3.ExprRef) and isinstance(asked, z3.ExprRef):
        return z3.eq(before, asked) or _means_the_same(before, asked)
    return type(before) is type(asked) and before == asked


def _means_the_same(a: z3.ExprRef, b: z3.ExprRef) -> bool:
    if a.sort() != b.sort():
        return False
    solver = z3.Solver()
    solver.set("rlimit", SOLVER_MS * STEPS)
    return bool(solver.check(a != b) == z3.unsat)


def explore(run: Callable[[Path], T], stop: Callable[[], bool]) -> Iterator[T]:
    """What a function answers along each of its paths; those on which it raises `Dead` are left out.

    Raises:
        Open: `stop` says so before all paths are explored.
    """
    return _walked(Path(Trail(stop)), run, None)


def _walked(path: Path, run: Callable[[Path], T], model: z3.ModelRef | None) -> Iterator[T]:
    """What a function answers along each path of a trail; `model` is one of what holds before all of them."""
    found: z3.ModelRef | bool | None = model
    while found is not False:
        if path.trail.stop():
            raise Open(NO_TIME)
        path.begin(None if found is True else found)
        with suppress(Dead):
            yield run(path)
        found = path.trail.turned()
