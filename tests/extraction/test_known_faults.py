"""What versions of the solver are known to get wrong, in a few lines each, and that it is noticed."""

from __future__ import annotations

import highspy
import numpy as np
import pytest

from egraph_opt.extraction.programs.linear import LinearProgram, Rows
from egraph_opt.extraction.programs.solver import Effort, ProgramSolver
from egraph_opt.extraction.programs.trust import Trust

COSTS = (2, 4, 0, 10, 0, 1, 0, 10, 1, 0, 0, 0, 0, 0, 0, 0)
BINARY = 9
FORCED = (10, 11, 12)
EQUAL = (
    {0: 1, 9: -1},
    {1: 1, 2: 1, 10: -1},
    {3: 1, 4: 1, 11: -1},
    {5: 1, 6: 1, 12: -1},
    {7: 1, 8: 1, 13: -1},
)
AT_MOST = (
    {4: 1, 9: -1},
    {4: 1, 13: -1},
    {6: 1, 9: -1},
    {5: 1, 13: -1},
    {4: 1, 14: -1},
    {8: 1, 15: -1},
    {14: 1, 15: 1},
)
"""Rows that are 0, and rows that are at most 0, the last one 1."""

LEAST = 12.0
"""The optimum."""


def program() -> LinearProgram:
    rows = (*EQUAL, *AT_MOST)
    row = np.concatenate([[number] * len(entries) for number, entries in enumerate(rows)])
    entries = [entry for given in rows for entry in given.items()]
    upper = np.zeros(len(rows))
    upper[-1] = 1.0
    lower = np.where(np.arange(len(rows)) < len(EQUAL), 0.0, -np.inf)
    column, value = np.array([at for at, _ in entries]), np.array([float(value) for _, value in entries])
    cost = np.array(COSTS, np.float64)
    least = np.zeros(len(COSTS))
    least[list(FORCED)] = 1.0
    block = Rows(row.astype(np.int64), column.astype(np.int64), value, lower, upper)
    return LinearProgram(cost, (least, np.ones(len(COSTS))), [block], cost.astype(np.int64), 1.0)


class FromAPart(ProgramSolver):
    """Starts from a value for one column, which leaves the others out."""

    def first_of(self, column: int, value: float) -> None:
        self._todo.append(
            lambda solver: solver.setSolution(1, np.array([column], np.int32), np.array([value]))
        )


def test_a_start_that_comes_back_as_the_optimum_is_noticed() -> None:
    """HiGHS 1.16.0: the objective is that of the optimum, 12, and the solution another one, of 16."""
    session = FromAPart(program(), Effort(), integers=BINARY)
    session.first_of(2, 0.0)
    trust = Trust()
    answer = trust.whole(session, session.program, BINARY, np.inf, 0.0)
    assert answer.values is not None
    wrong = float(session.program.cost @ answer.values) > LEAST + 1e-6
    assert wrong == bool(trust.refused)
    if highspy.Highs().version() == "1.16.0":
        assert trust.refused == {"a cost that is not that of the solution": 1}


def test_the_same_from_a_whole_start_is_right() -> None:
    session = ProgramSolver(program(), Effort(), integers=BINARY)
    trust = Trust()
    first = trust.whole(session, session.program, BINARY, np.inf, 0.0).values
    assert first is not None
    assert float(session.program.cost @ first) == pytest.approx(LEAST)
    again = ProgramSolver(program(), Effort(), integers=BINARY)
    again.start(first)
    assert trust.whole(again, again.program, BINARY, LEAST, 0.0).values is not None
    assert not trust.refused
