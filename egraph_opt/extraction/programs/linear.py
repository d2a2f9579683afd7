"""The rows of the 0/1 program of a piece.

Columns: ``x[k]``, node k is chosen; ``y[c]``, class c is used.  Rows:

- the nodes of a class sum to its use: ``sum(x[k] for k in c) == y[c]``, and ``y == 1`` for the roots;
- what is used is there: for each class c and child d, ``sum(x[k] for k in c that use d) <= y[d]``;
- *cycle cuts*: for a set S of classes, ``y[c] <= sum(x[k] for k in ext(S))`` for each c in S,
  where ext(S) are the nodes of classes of S that use no class of S.  (In an acyclic solution, some used class
  of S comes before the others; so these are the loop formulas of logic programs.)  They are generated
  as solutions violate them.

Linear programs over the columns of a piece, and lower bounds of them that are ours.

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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from egraph_opt.extraction.piece import Piece
from egraph_opt.extraction.structure import Floats, Mask

Cycle = tuple[int, ...]
"""The classes of a cycle, or of several that share classes, sorted."""

CycleCut = tuple[int, Cycle]
"""A class and a set of classes that holds it: one cycle cut."""


@dataclass(frozen=True)
class Rows:
    """Sparse rows ``lower <= a @ column <= upper``."""

    row: npt.NDArray[np.int64]
    column: npt.NDArray[np.int64]
    value: Floats
    lower: Floats
    upper: Floats


def structural_rows(piece: Piece, usable: Mask) -> Rows:
    """The rows for one node per class and for children, over the usable nodes only."""
    n, m = len(piece.nodes), len(piece.classes)
    nodes = np.flatnonzero(usable)
    node, child = piece.pairs
    keep = usable[node]
    node, child = node[keep], child[keep]
    keys, row = np.unique(piece.owners[node].astype(np.int64) * m + child, return_inverse=True)
    classes = np.arange(m)
    return Rows(
        row=np.concatenate([piece.owners[nodes], classes, m + row, m + np.arange(len(keys))]),
        column=np.concatenate([nodes, n + classes, node, n + keys % max(m, 1)]),
        value=np.concatenate([np.ones(len(nodes)), -np.ones(m), np.ones(len(node)), -np.ones(len(keys))]),
        lower=np.concatenate([np.zeros(m), np.full(len(keys), -np.inf)]),
        upper=np.zeros(m + len(keys)),
    )


def cycle_cuts(sets: Iterable[Cycle]) -> list[CycleCut]:
    """The cycle cuts of sets of classes, one for each class."""
    return [(here, cycle) for cycle in sets for here in cycle]


def external_nodes(piece: Piece, cycle: Cycle) -> list[int]:
    """The nodes of a set's classes that use none of them."""
    inside = set(cycle)
    return [k for c in cycle for k in piece.options[c] if inside.isdisjoint(piece.children[k])]


def cycle_cut_rows(piece: Piece, cuts: Iterable[CycleCut]) -> Rows:
    """Cycle cuts as rows of the program."""
    row: list[int] = []
    column: list[int] = []
    value: list[float] = []
    count = 0
    known: dict[Cycle, tuple[set[int], list[int]]] = {}
    for here, cycle in cuts:
        if cycle not in known:
            known[cycle] = set(cycle), external_nodes(piece, cycle)
        inside, outer = known[cycle]
        # With y[c] = sum of its nodes, those in ext(S) cancel.
        own = [k for k in piece.options[here] if not inside.isdisjoint(piece.children[k])]
        others = [k for k in outer if piece.owner[k] != here]
        row += [count] * (len(own) + len(others))
        column += own + others
        value += [1.0] * len(own) + [-1.0] * len(others)
        count += 1
    return Rows(
        np.array(row, np.int64),
        np.array(column, np.int64),
        np.array(value),
        np.full(count, -np.inf),
        np.zeros(count),
    )


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
        """Take costs and bounds of columns, and whole-number costs, one of which is a ``unit``."""
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


def integer_program(
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
