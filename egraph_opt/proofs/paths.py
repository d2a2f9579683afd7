"""Paths through Python code that runs on symbolic numbers: where it asks for a truth value, it forks.

`explore` runs a function again and again, each time along another path: a path is the list of answers that
its questions got.  A question that the solver can answer from what was answered before is no fork.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TypeVar

import z3

T = TypeVar("T")

SOLVER_MS = 1_000
"""How long the solver may think about one question of a path; what it cannot say may be either."""


class Open(BaseException):
    """A proof goes no further, for a reason.  No `Exception`: host functions' are answers."""


class Dead(BaseException):
    """No values take this path, or the law says nothing of those that do."""


class Unproved(Exception):
    """What has to hold does not follow."""


Answer = tuple[int, tuple[int, ...]]
"""What a question got for an answer, and the answers that are left to be tried."""


class Path:
    """What was answered so far along one path, and what follows from it.

    A question that another path has asked before gets its answer from there, without the solver.

    Attributes:
        taken: the answers to all questions, in order.
    """

    def __init__(self, prefix: tuple[Answer, ...] = ()) -> None:
        self.prefix = prefix
        self.taken: list[Answer] = []
        self.solver = z3.Solver()
        self.solver.set("timeout", SOLVER_MS)
        self._model: z3.ModelRef | None = None
        self._made = 0

    def fresh(self, name: str) -> z3.ArithRef:
        """A whole number of which nothing is known."""
        return z3.Int(f"{name}.{self.number()}")

    def fresh_real(self, name: str) -> z3.ArithRef:
        return z3.Real(f"{name}.{self.number()}")

    def number(self) -> int:
        """A number of its own, for names."""
        self._made += 1
        return self._made

    def choose(self, count: int) -> int:
        """One of so many cases; all are tried."""
        if count <= 0:
            raise Dead
        return self._answered(lambda: (0, tuple(range(1, count))))

    def assume(self, condition: z3.BoolRef | bool, *, possible: bool = False) -> None:
        """From here on a condition holds.

        Args:
            possible: it is of something new, of which nothing is known.
        """
        if condition is True:
            return
        if condition is False:
            raise Dead
        self._add(condition)
        if not possible and not self._answered(lambda: (int(self._may(z3.BoolVal(True))), ())):
            raise Dead

    def decide(self, condition: z3.BoolRef | bool) -> bool:
        """Whether a condition holds: a fork where it may and may not."""
        condition = z3.simplify(condition) if isinstance(condition, z3.BoolRef) else condition
        if z3.is_true(condition) or condition is True:
            return True
        if z3.is_false(condition) or condition is False:
            return False
        holds = bool(self._answered(lambda: self._possible(condition)))
        self._add(condition if holds else z3.Not(condition))
        return holds

    def _answered(self, ask: Callable[[], Answer]) -> int:
        position = len(self.taken)
        self.taken.append(self.prefix[position] if position < len(self.prefix) else ask())
        return self.taken[-1][0]

    def _possible(self, condition: z3.BoolRef) -> Answer:
        """Which of both answers there may be."""
        if not self._may(condition):
            return 0, ()
        return (1, (0,)) if self._may(z3.Not(condition)) else (1, ())

    def _add(self, condition: z3.BoolRef) -> None:
        self.solver.add(condition)
        if self._model is not None and not z3.is_true(self._model.eval(condition, model_completion=True)):
            self._model = None

    def _may(self, condition: z3.BoolRef) -> bool:
        """Whether a condition is possible, for all that is known."""
        if self._model is not None and z3.is_true(self._model.eval(condition, model_completion=True)):
            return True
        answer = self.solver.check(condition)
        if answer == z3.sat:
            self._model = self.solver.model()
        return bool(answer != z3.unsat)

    def follows(self, condition: z3.BoolRef | bool, milliseconds: int = SOLVER_MS) -> bool:
        """Whether a condition holds all along this path, as far as the solver can say."""
        if isinstance(condition, bool):
            return condition
        condition = z3.simplify(condition)
        if z3.is_true(condition):
            return True

        def ask() -> Answer:
            other = z3.Not(condition)
            if self._model is not None and z3.is_true(self._model.eval(other, model_completion=True)):
                return 0, ()
            self.solver.set("timeout", milliseconds)
            try:
                return int(self.solver.check(other) == z3.unsat), ()
            finally:
                self.solver.set("timeout", SOLVER_MS)

        return bool(self._answered(ask))


def explore(run: Callable[[Path], T], stop: Callable[[], bool]) -> Iterator[T]:
    """What a function answers along each of its paths; those on which it raises `Dead` are left out.

    Raises:
        Open: `stop` says so before all paths are explored.
    """
    prefix: tuple[Answer, ...] | None = ()
    while prefix is not None:
        if stop():
            raise Open("more cases than there is time for")
        path = Path(prefix)
        with suppress(Dead):
            yield run(path)
        prefix = _next(path.taken)


def _next(taken: list[Answer]) -> tuple[Answer, ...] | None:
    """The answers of the path after this one: the last question with an answer left gets it."""
    for position in range(len(taken) - 1, -1, -1):
        _, left = taken[position]
        if left:
            return (*taken[:position], (left[0], left[1:]))
    return None
