"""What paths share: the answers to their first questions, and a solver that keeps what those assume."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import z3

SOLVER_MS = 1_000
"""How long the solver may think about one question of a path; what it cannot say may be either."""


NO_TIME = "more cases than there is time for"

STEPS = 1_000
"""Of the solver in a millisecond, about: it stops after as many of them, on a machine that is busy too."""

SLOWEST = 4
"""How much longer it may take where the steps are long ones."""


class Open(BaseException):
    """A proof goes no further, for a reason.  No `Exception`: host functions' are answers."""


Answer = tuple[int | None, tuple[int, ...]]
"""What a question got for an answer, and the answers that are left to be tried."""

Asked: TypeAlias = z3.ExprRef | int | None
"""What a question is about: a formula, or how many cases there are to choose from."""


@dataclass
class Question:
    """A question along a path.

    Attributes:
        answer: what it got, and what is left to be tried.
        forked: there was more than one answer.
        result: of a question that is asked once (`Path.once`), and `asked` is its name then.
    """

    answer: Answer
    asked: Asked | str
    forked: bool
    result: Any = None


class Trail:
    """What paths share: the answers to their first questions, and a solver that keeps what those assume.

    Attributes:
        answers: to the questions of the last path, in order, and what they were about; a path that branches
            off gets the first of them without the solver.
        depth: how many of its assumptions the solver has already.
    """

    def __init__(self, stop: Callable[[], bool] = lambda: False, solver: z3.Solver | None = None) -> None:
        self.stop = stop
        self.answers: list[Question] = []
        self.depth = 0
        self.solver = z3.Solver() if solver is None else solver
        self.milliseconds = 0
        self.limit(SOLVER_MS)
        self._branches: list[tuple[int, int, z3.ModelRef | None]] = []

    def check(self, *conditions: z3.BoolRef) -> z3.CheckSatResult:
        """What the solver says.

        Raises:
            Open: there is no time left.
        """
        if self.stop():
            raise Open(NO_TIME)
        return self.solver.check(*conditions)

    def limit(self, milliseconds: int) -> None:
        """Set how long the solver may think."""
        if milliseconds != self.milliseconds:
            self.milliseconds = milliseconds
            self.solver.set("rlimit", milliseconds * STEPS)
            self.solver.set("timeout", milliseconds * SLOWEST)

    @property
    def branches(self) -> int:
        """How many questions have answers left."""
        return len(self._branches)

    def branch(self, assumed: int, model: z3.ModelRef | None) -> None:
        """The last question has answers left: what follows is taken back before those are tried.

        Args:
            assumed: how much was up to here.
            model: in which another answer holds.
        """
        self._branches.append((len(self.answers) - 1, assumed, model))
        self.solver.push()

    def turned(self) -> z3.ModelRef | bool | None:
        """Go back to the last question with an answer left, and give it that; False where there is none.

        Returns:
            A model of what is assumed with that answer, where one is known.
        """
        if not self._branches:
            return False
        position, self.depth, model = self._branches.pop()
        self.solver.pop()
        question = self.answers[position]
        _, left = question.answer
        del self.answers[position + 1 :]
        question.answer = left[0], left[1:]
        if left[1:]:
            self.branch(self.depth, None)
        return model
