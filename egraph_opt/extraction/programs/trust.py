"""What is believed of a solver: nothing that we can compute.

A solver proposes, and we look.  A solution is what satisfies the rows in whole numbers; it costs what our own
sum says.  A lower bound is what multipliers of rows prove in our own arithmetic (`linear`).  Whether anything
satisfies the rows is known before somebody is asked.  What the solver says beyond that, that its solution is
optimal or that nothing is below some bound, steers the search and proves nothing.

Where a statement is seen to be wrong, it is noted, and said in the report; a bound above the cost of a
solution that is known, or a failure, ends all trust for the piece: nothing more is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from egraph_opt.extraction.programs.linear import LinearProgram, Prices
from egraph_opt.extraction.structure import Floats

CLOSE = 1e-5
"""Relative differences up to which two statements of costs agree: ten times the solver's tolerances."""


class Statement(NamedTuple):
    """What a solver says of a program: all of it hearsay.

    Attributes:
        optimal, infeasible: its status.
        objective, bound: the cost of its solution, and what it says that nothing is below.
        values: of the columns; empty where it has no solution.
        multipliers: of the rows; empty where it has none.
        work: how many steps it took.
    """

    optimal: bool
    infeasible: bool
    objective: float
    bound: float
    values: Floats
    multipliers: Floats
    work: int


class Solver(Protocol):
    """Whoever answers.

    Attributes:
        raised: what a callback of ours raised during a run.
    """

    raised: BaseException | None

    def run(self) -> Statement:
        """Solve a program; raises whatever it raises."""


class WholeSolution(NamedTuple):
    """What is left of a statement about a program in whole numbers: values, or None."""

    values: Floats | None
    work: int


class RelaxedSolution(NamedTuple):
    """What is left of one about a relaxation: values, and multipliers with the bound that they prove."""

    values: Floats
    bound: int
    left: Prices
    multipliers: Floats
    work: int


@dataclass
class Trust:
    """What became of a solver's statements about one piece.

    Attributes:
        checked: how many were looked at.
        refused: how many were seen to be wrong, by what was wrong.
        withdrawn: nothing more is asked.
    """

    checked: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    withdrawn: bool = False

    def whole(
        self, solver: Solver, program: LinearProgram, integers: int, known: float, gap: float
    ) -> WholeSolution:
        """Solve for whole numbers in the first ``integers`` columns, which the others follow from.

        Args:
            known: the cost of a solution.
            gap: the relative difference of cost and bound at which the solver may stop.
        """
        said = self._ask(solver)
        if said is None or not self._possible(said, program, known):
            return WholeSolution(None, 0 if said is None else said.work)
        if not len(said.values):
            if said.optimal:
                self._refuse("an optimum without a solution")
            return WholeSolution(None, said.work)
        if not program.holds(said.values):
            self._refuse("a solution that violates a row")
            return WholeSolution(None, said.work)
        values = np.rint(said.values)
        if np.abs(said.values - values)[:integers].max(initial=0.0) > CLOSE or not program.holds(values):
            self._refuse("a solution that is not in whole numbers")
            return WholeSolution(None, said.work)
        cost = float(program.cost @ values) / program.scale
        if not _close(said.objective, cost, CLOSE):
            self._refuse("a cost that is not that of the solution")
        elif said.optimal and not _close(said.bound, cost, max(gap, CLOSE)):
            self._refuse("an optimum that its bound contradicts")
        return WholeSolution(values, said.work)

    def relaxed(self, solver: Solver, program: LinearProgram, known: float) -> RelaxedSolution | None:
        """Solve a relaxation, of which something is known to be a solution; None where that failed."""
        said = self._ask(solver)
        if said is None or not self._possible(said, program, known) or not said.optimal:
            return None
        if not program.holds(said.values):
            self._refuse("a relaxed solution that violates a row")
            return None
        if not _close(said.objective, float(program.cost @ said.values) / program.scale, CLOSE):
            self._refuse("a cost that is not that of the relaxed solution")
            return None
        bound, left = program.dual_bound(said.multipliers)
        if not _close(bound * program.unit, said.objective, CLOSE):
            self._refuse("a bound that its multipliers do not prove")
        return RelaxedSolution(said.values, bound, left, said.multipliers, said.work)

    def multipliers(self, solver: Solver) -> Floats:
        """Multipliers of the rows, which prove what they prove; empty where there are none."""
        said = self._ask(solver)
        return np.zeros(0) if said is None or not said.optimal else said.multipliers

    def _ask(self, solver: Solver) -> Statement | None:
        if self.withdrawn:
            return None
        self.checked += 1
        try:
            return solver.run()
        except Exception as error:  # whatever a library raises
            if solver.raised is not None:
                raise
            self._refuse(f"a failure, {type(error).__name__}", withdraw=True)
            return None

    def _possible(self, said: Statement, program: LinearProgram, known: float) -> bool:
        limit = known / program.scale
        if said.infeasible:
            self._refuse("no solution, where one is known", withdraw=True)
            return False
        if said.bound > limit + CLOSE * max(abs(limit), 1.0):
            self._refuse("a lower bound above the cost of a solution that is known", withdraw=True)
            return False
        return True

    def _refuse(self, reason: str, *, withdraw: bool = False) -> None:
        self.refused[reason] = self.refused.get(reason, 0) + 1
        self.withdrawn = self.withdrawn or withdraw


def _close(one: float, other: float, apart: float) -> bool:
    return abs(one - other) <= apart * max(abs(one), abs(other), 1.0)
