"""What extraction returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from egraph_opt.extraction.structure import Ints


@dataclass(frozen=True)
class PieceReport:
    """What is known of one part of a problem that was solved by itself.

    Attributes:
        nodes: how many nodes there were to choose from.
        cost: of what was chosen.
        lower_bound: no solution of the piece costs less.
        proved: the cost is optimal, up to a relative 1e-9.
        roots: the classes that it provides to the others.
        checked: how many statements of the solver were checked for it.
        refused: how many of them were wrong, by what was wrong; they were not used.
    """

    nodes: int
    cost: float
    lower_bound: float
    proved: bool
    roots: tuple[int, ...]
    checked: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Solution:
    """What was extracted.

    Attributes:
        choice: per class the chosen node, or -1 if the class is not used.
        cost: the sum over the chosen nodes.
        lower_bound: no solution costs less.
        proved: the cost is optimal, up to a relative 1e-9.
        extractor: the name of the extractor.
        pieces: the parts that were solved apart; what had to be chosen anyway is in none of them.
        interrupted: the search was told to stop, and this is the best it had.
    """

    choice: Ints
    cost: float
    lower_bound: float
    proved: bool
    extractor: str
    pieces: tuple[PieceReport, ...] = ()
    interrupted: bool = False

    @property
    def gap(self) -> float:
        """(cost - lower_bound) / cost; 0 where the cost is 0."""
        return (self.cost - self.lower_bound) / self.cost if self.cost > 0 else 0.0

    @property
    def refused(self) -> dict[str, int]:
        """How many statements of the solver were wrong, by what was wrong; none of them was used."""
        total: Counter[str] = Counter()
        for piece in self.pieces:
            total.update(piece.refused)
        return dict(total)

    @property
    def nodes(self) -> Ints:
        """The chosen nodes, in their order in the problem."""
        return np.sort(self.choice[self.choice >= 0])
