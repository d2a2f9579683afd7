"""One case of a statement, from its pattern to its goal, which a later path may take up in the middle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from egraph_opt.check.resolution import Filler
from egraph_opt.operators.expressions import Expression
from egraph_opt.proofs.goals import show_goals
from egraph_opt.proofs.instance import Instance
from egraph_opt.proofs.paths import Path, Unproved
from egraph_opt.proofs.resuming import Resuming
from egraph_opt.proofs.sides import Sides
from egraph_opt.proofs.terms import TermValues

MATCHING, SHOWING, FAILED, SPLIT = range(4)
"""How far a case is: its goals are shown once more, split, where they did not follow."""


class Case:
    """A statement along a path.

    Attributes:
        phase: how far it is.
        matched: what variables and terms stand for that were matched.
        failure: of the goals, as they were first.
        used: the rules that fill the tables which it asks.
    """

    def __init__(self, sides: Sides, kept: Any, used: Sequence[Filler] = ()) -> None:
        self.sides, self.kept, self.used = sides, kept, used
        self.phase = MATCHING
        self.matched: dict[Expression, Any] = {}
        self.failure: Unproved | None = None

    @property
    def terms(self) -> TermValues:
        return self.sides.terms

    @property
    def scene(self) -> Instance:
        return self.terms.scene

    def follow(self) -> None:
        """Match the pattern and show the goals.

        Raises:
            Dead: the conditions do not hold.
            Unproved: a goal does not follow.
        """
        sides = self.sides
        if self.phase == MATCHING:
            sides.match(self.kept)
            self._comes_to(SHOWING)
        if self.phase == SHOWING:
            try:
                show_goals(sides)
                return
            except Unproved as error:
                self.failure = error
                sides.go_back(dict(self.matched))
                self._comes_to(FAILED)
        if self.phase == FAILED:
            if not self.scene.split():
                assert self.failure is not None
                raise self.failure
            self._comes_to(SPLIT)
        show_goals(sides)

    def _comes_to(self, phase: int) -> None:
        if phase == SHOWING:
            self.matched = dict(self.terms.environment)
        self.phase = phase
        self.terms.reached()


def case_of(path: Path, made: Callable[[], Case]) -> Case:
    """The case along a path: the one before, as it was where this path branches off, or a new one."""
    case: Case | None = path.case
    if case is not None and case.terms.resuming is not None and case.terms.resuming.back():
        case.terms.leave_lists()
        return case
    path.case = case = made()
    case.scene.remembering += (case, case.sides, case.terms)
    case.terms.resuming = Resuming(path)
    return case
