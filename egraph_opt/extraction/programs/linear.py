"""Linear programs over the columns of a piece, and lower bounds of them that are ours.

A column for each node and each class, between 0 and 1, and rows among them.  Whatever multipliers y somebody
proposes for the rows, no solution costs less than

    the sum over rows of y * (the side that it presses against)
    + the sum over columns of the least that (price - y A) times the column can be,

by weak duality (Neumaier and Shcherbina, "Safe bounds in linear and mixed-integer linear programming", 2004,
do it in rounded arithmetic; ours is in integers, in `Piece.price`, so nothing is rounded).  Good multipliers
come from a solver; bad ones give a low bound, never a wrong one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from egraph_opt.extraction.piece import Piece
from egraph_opt.extraction.programs.rows import Rows
from egraph_opt.extraction.structure import Floats, Mask

Prices = npt.NDArray[np.int64]

TOLERANCE = 1e-5
"""By how much a value may miss a row or a bound."""

SPLIT = 2.0**26
"""Multipliers are added in two halves, each exact in a double."""

LARGEST = 2.0**61
"""Sums of multipliers up to which 64 bits are enough."""


class LinearProgram:
    """Columns with costs and bounds, and rows, to which more can be added.

    Attributes:
        cost: of each column.
        scale: what costs are divided by for a solver, whose tolerances are small beside the largest then.
        unit: what one of `Piece.price` is for the solver.
        lower, upper: of each column.
    """

    def __init__(
        self, cost: Floats, bounds: tuple[Floats, Floats], rows: Sequence[Rows], price: Prices, unit: float
    ) -> None:
        """Take costs and bounds of columns, and whole-number costs, one of which stands for a ``unit``."""
        self.cost = cost
        self.lower, self.upper = bounds
        self.scale = float(cost.max(initial=0.0)) / 1000.0 or 1.0
        self.unit = unit / self.scale
        self._price = price
        self._blocks = list(rows)
        self.n_rows = sum(len(block.lower) for block in rows)

    def add(self, rows: Rows) -> None:
        """Add rows."""
        self._blocks.append(rows)
        self.n_rows += len(rows.lower)

    @property
    def entries(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Floats]:
        """The rows, columns and values of what is in the matrix."""
        return self._joined().row, self._joined().column, self._joined().value

    @property
    def sides(self) -> tuple[Floats, Floats]:
        """The lower and upper sides of the rows."""
        return self._joined().lower, self._joined().upper

    def _joined(self) -> Rows:
        if len(self._blocks) > 1:
            offsets = np.cumsum([0, *(len(block.lower) for block in self._blocks)])
            parts = zip(self._blocks, offsets, strict=False)
            self._blocks = [
                Rows(
                    np.concatenate([block.row + offset for block, offset in parts]),
                    *(
                        np.concatenate([getattr(block, name) for block in self._blocks])
                        for name in ("column", "value", "lower", "upper")
                    ),
                )
            ]
        return self._blocks[0]

    def holds(self, values: Floats) -> bool:
        """Whether values for all columns are within the bounds and satisfy the rows."""
        if values.shape != self.cost.shape or not np.isfinite(values).all():
            return False
        rows = self._joined()
        sums = np.bincount(rows.row, rows.value * values[rows.column], minlength=self.n_rows)
        size = np.bincount(rows.row, np.abs(rows.value), minlength=self.n_rows)
        slack = TOLERANCE * np.maximum(size, 1.0)
        inside = (values >= self.lower - TOLERANCE) & (values <= self.upper + TOLERANCE)
        return bool(
            inside.all() and (sums >= rows.lower - slack).all() and (sums <= rows.upper + slack).all()
        )

    def dual_bound(self, multipliers: Floats) -> tuple[int, Prices]:
        """What no solution is below, in `Piece.price`, and what is left of each column's price.

        A solution in which a column is 1 that could be 0 costs that much more than the bound, at least.

        Args:
            multipliers: of the rows, for costs divided by `scale`.  All rows have zeros on the sides that
                multipliers press against, and the values 1 and -1.
        """
        rows = self._joined()
        if multipliers.shape != rows.lower.shape or not np.isfinite(multipliers).all():
            return 0, np.zeros_like(self._price)
        times = np.rint(multipliers * (1.0 / self.unit))
        times[(times > 0) & (rows.lower != 0)] = 0.0
        times[(times < 0) & (rows.upper != 0)] = 0.0
        here = times[rows.row] * rows.value
        if np.bincount(rows.column, np.abs(here), minlength=len(self.cost)).max(initial=0.0) > LARGEST:
            return 0, np.zeros_like(self._price)
        high = np.floor(here / SPLIT)
        low = here - high * SPLIT
        left = self._price.copy()
        left -= np.bincount(rows.column, high, minlength=len(left)).astype(np.int64) * int(SPLIT)
        left -= np.bincount(rows.column, low, minlength=len(left)).astype(np.int64)
        least = np.where(self.lower > 0, left, np.where(self.upper > 0, np.minimum(left, 0), 0))
        return sum(least[least != 0].tolist()), left


def program_of(
    piece: Piece, rows: Sequence[Rows], usable: Mask, *, objective: Floats | None = None
) -> LinearProgram:
    """The program of the usable nodes of a piece; ``objective`` takes the place of the costs of nodes."""
    n, m = len(piece.nodes), len(piece.classes)
    cost = np.array(piece.cost) if objective is None else objective
    lower, upper = np.zeros(n + m), np.ones(n + m)
    lower[[n + root for root in piece.roots]] = 1.0
    upper[:n] = usable
    return LinearProgram(
        np.concatenate([np.where(usable, cost, 0.0), np.zeros(m)]),
        (lower, upper),
        rows,
        np.concatenate([np.array(piece.price, np.int64), np.zeros(m, np.int64)]),
        piece.unit,
    )


def common_divisor(prices: Sequence[int]) -> int:
    """What every sum of the prices is a multiple of; 1 where all are 0."""
    return math.gcd(*prices) or 1
