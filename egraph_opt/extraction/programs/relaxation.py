"""The program of a piece without integrality, solved again and again with more rows and other bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from egraph_opt.extraction.piece import Piece
from egraph_opt.extraction.programs.linear import program_of
from egraph_opt.extraction.programs.rows import Rows
from egraph_opt.extraction.programs.solver import Effort, ProgramSolver
from egraph_opt.extraction.programs.trust import RelaxedSolution
from egraph_opt.extraction.structure import Floats, Mask


class Relaxation:
    """A linear program that keeps its basis, so that a few changes take a few more steps.

    Attributes:
        program: as it is now.
    """

    def __init__(self, piece: Piece, rows: Sequence[Rows], usable: Mask, effort: Effort) -> None:
        self.program = program_of(piece, rows, usable)
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
