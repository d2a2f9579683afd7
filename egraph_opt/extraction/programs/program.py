"""The 0/1 program of a piece, solved.

The program of a piece without integrality, solved again and again with more rows and other bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from egraph_opt.extraction.piece import Choice, Piece
from egraph_opt.extraction.programs.linear import Rows, integer_program
from egraph_opt.extraction.programs.solver import Effort, ProgramSolver
from egraph_opt.extraction.programs.trust import RelaxedSolution
from egraph_opt.extraction.solution import better
from egraph_opt.extraction.structure import Floats, Mask

TIE_NODES = 500
"""Larger programs are not solved again for ties: a second each, and none of the models had a smaller one."""


class Answer(NamedTuple):
    """What the solver found: a choice (maybe none, maybe cyclic), and how much work it was.

    ``work`` counts nodes in the program and simplex iterations, about 6,000 a second.
    """

    choice: Choice | None
    work: int


def solve(
    piece: Piece,
    rows: Sequence[Rows],
    usable: Mask,
    effort: Effort,
    *,
    start: Choice,
    objective: Floats | None = None,
    seed: int = 0,
) -> Answer:
    """Minimise the cost (or another ``objective`` over nodes) under the rows, from a solution."""
    program = integer_program(piece, rows, usable, objective=objective)
    session = ProgramSolver(program, effort, seed=seed, integers=len(piece.nodes))
    values = _columns(piece, start)
    session.start(values)
    answer = effort.trust.whole(session, program, len(piece.nodes), float(program.cost @ values), effort.gap)
    work = int(usable.sum()) + answer.work
    choice = None if answer.values is None else _choice(piece, answer.values)
    return Answer(choice, work)


def solve_with_ties(
    piece: Piece, rows: Sequence[Rows], usable: Mask, effort: Effort, *, start: Choice, seed: int = 0
) -> Answer:
    """`solve`, and once more for the smallest tie among the choices of that cost, where ties can differ."""
    answer = solve(piece, rows, usable, effort, start=start, seed=seed)
    if answer.choice is None:
        return answer
    again = smaller_tie(piece, rows, usable, effort, start=answer.choice, seed=seed)
    choice, work = answer.choice, answer.work + again.work
    if again.choice is not None and better(piece.value(again.choice), piece.value(choice)):
        choice = again.choice
    return Answer(choice, work)


def smaller_tie(
    piece: Piece, rows: Sequence[Rows], usable: Mask, effort: Effort, *, start: Choice, seed: int = 0
) -> Answer:
    """The choice with the smallest tie that costs no more than ``start``; none where ties cannot differ."""
    cost, tie = piece.value(start)
    ties = np.array(piece.tie)
    if len(piece.nodes) > TIE_NODES or tie <= 0 or not ties[usable].any():
        return Answer(None, 0)
    rows = [*rows, _cost_row(piece, usable, cost)]
    return solve(piece, rows, usable, effort, start=start, objective=ties, seed=seed)


def _cost_row(piece: Piece, usable: Mask, limit: float) -> Rows:
    """The cost is at most ``limit``, scaled so that the solver's tolerance is small beside it."""
    scale = limit / 1e4 or 1.0
    cost = np.minimum(
        np.array(piece.cost) / scale, 2e4
    )  # more expensive nodes are out anyway, and spoil the scaling
    column = np.flatnonzero(usable & (cost > 0))
    value = cost[column]
    return Rows(
        np.zeros(len(column), np.int64),
        column.astype(np.int64),
        value,
        np.array([-np.inf]),
        np.array([limit / scale]),
    )


def _columns(piece: Piece, choice: Choice) -> Floats:
    """The values of all columns."""
    chosen = np.array(choice)
    values = np.zeros(len(piece.nodes) + len(chosen))
    values[chosen[chosen >= 0]] = 1.0
    values[len(piece.nodes) :] = chosen >= 0
    return values


def _choice(piece: Piece, values: Floats) -> Choice:
    """The part that the roots need; a solution may switch on more where it costs nothing."""
    picked: Choice = [-1] * len(piece.classes)
    for node in np.flatnonzero(values[: len(piece.nodes)]).tolist():
        picked[piece.owner[node]] = node
    return piece.used(picked)


class Relaxation:
    """A linear program that keeps its basis, so that a few changes take a few more steps.

    Attributes:
        program: as it is now.
    """

    def __init__(self, piece: Piece, rows: Sequence[Rows], usable: Mask, effort: Effort) -> None:
        self.program = integer_program(piece, rows, usable)
        self._session = ProgramSolver(self.program, effort)
        self._trust = effort.trust

    def add(self, rows: Rows) -> None:
        """Add rows."""
        self.program.add(rows)
        self._session.add(rows)

    def bound(self, lower: Floats, upper: Floats) -> None:
        """Give the columns other bounds."""
        program = self.program
        changed = np.flatnonzero((lower != program.lower) | (upper != program.upper)).astype(np.int32)
        if len(changed):
            program.lower, program.upper = lower, upper
            self._session.bound(changed, lower[changed], upper[changed])

    def solve(self, known: float = np.inf) -> RelaxedSolution | None:
        """Solve it as it is now; None where it was not solved to the end.

        Args:
            known: the cost of a solution within the bounds.
        """
        return self._trust.relaxed(self._session, self.program, known)

    def multipliers_at(self, cost: Floats) -> Floats:
        """Multipliers of the rows at another cost per column, once; empty where it was not solved."""
        self._session.price(cost)
        found = self._trust.multipliers(self._session)
        self._session.price(self.program.cost / self.program.scale)
        return found
