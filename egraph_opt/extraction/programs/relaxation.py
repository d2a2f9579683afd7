"""The program of a piece without integrality, solved again and again as rows are added."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import highspy
import numpy as np

from egraph_opt.extraction.piece import Piece
from egraph_opt.extraction.programs.highs import Effort, cost_scale, model_of, solver_of
from egraph_opt.extraction.programs.rows import Rows
from egraph_opt.extraction.structure import Floats, Mask


class Relaxed(NamedTuple):
    """The values of the columns, their cost, and the simplex iterations that it took."""

    values: Floats
    cost: float
    work: int


class Relaxation:
    """A linear program that keeps its basis, so that a few more rows take a few more steps."""

    def __init__(self, piece: Piece, rows: Sequence[Rows], usable: Mask, effort: Effort) -> None:
        cost = np.array(piece.cost)
        self._scale = cost_scale(cost)
        self._solver = solver_of(effort, 0)
        self._solver.passModel(model_of(piece, rows, usable, cost / self._scale, relaxed=True))
        self._deadline = None if effort.seconds is None else time.monotonic() + effort.seconds

    def add(self, rows: Rows) -> None:
        """Add rows."""
        order = np.argsort(rows.row, kind="stable")
        starts = np.searchsorted(rows.row[order], np.arange(len(rows.lower))).astype(np.int32)
        entries = rows.column[order].astype(np.int32), rows.value[order]
        self._solver.addRows(len(rows.lower), rows.lower, rows.upper, len(order), starts, *entries)

    def solve(self) -> Relaxed | None:
        """Solve it as it is now; None where it was not solved to the end."""
        if self._deadline is not None:
            self._solver.setOptionValue(
                "time_limit", self._solver.getRunTime() + max(0.0, self._deadline - time.monotonic())
            )
        self._solver.run()
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        info = self._solver.getInfo()
        values = np.array(self._solver.getSolution().col_value)
        work = max(info.simplex_iteration_count, 0)
        return Relaxed(values, info.objective_function_value * self._scale, work)
