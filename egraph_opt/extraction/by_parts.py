"""A piece by way of its contraction: what is left of it is solved apart and put together again."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from egraph_opt.extraction.checking import better, used_part
from egraph_opt.extraction.contraction import Contracted, contract
from egraph_opt.extraction.exact import Found
from egraph_opt.extraction.piece import Choice, Piece
from egraph_opt.extraction.simplify import Simplified, simplify, whole_choice
from egraph_opt.extraction.starting import floor_of

MOST = 0.7
"""The share of the time that a piece may take though others follow: most take far less than they may."""


@dataclass(frozen=True)
class Remainder:
    """A piece after contraction: a constant and independent parts, each with the start as its incumbent."""

    piece: Piece
    contracted: Contracted
    simplified: Simplified

    @property
    def parts(self) -> list[Piece]:
        """What is left to decide."""
        return self.simplified.pieces

    @property
    def settled(self) -> float:
        """The cost of what is decided."""
        nodes = self.simplified.fixed[self.simplified.fixed >= 0]
        return math.fsum(self.contracted.problem.cost[nodes].tolist())

    def expand(self, choices: list[Choice]) -> Choice:
        """The choice of the piece that choices of the parts make."""
        problem = self.contracted.problem
        whole = whole_choice(problem, self.simplified, choices)
        return self.contracted.expand(self.piece, whole.tolist())


def remainder_of(piece: Piece, start: Choice, late: Callable[[], bool] = lambda: False) -> Remainder:
    """Contract a piece and cut what is left; ``start`` is a solution of it."""
    contracted = contract(piece, start, late)
    known = used_part(contracted.problem, np.array(contracted.incumbent, np.int32))
    return Remainder(piece, contracted, simplify(contracted.problem, known))


def by_parts(
    piece: Piece,
    start: Choice,
    solve: Callable[[Piece, float, float], Found],
    refine: Callable[[Piece], Choice],
    late: Callable[[], bool],
) -> Found:
    """Solve what contraction leaves of a piece; never worse than ``start``.

    ``solve`` is told which share of the time that is left a part may take, and what part of the piece's nodes
    all parts have together.  Without ties far more can be contracted, so the cost comes first; then, where
    there are ties, ``refine`` looks for smaller ones.  When it is ``late``, contraction is left out.
    """
    if late():
        return Found(start, floor_of(piece))
    costs_only = replace(piece, tie=[0.0] * len(piece.nodes))
    remainder = remainder_of(costs_only, start, late)
    shares = shares_of(remainder.parts)
    left = sum(len(part.nodes) for part in remainder.parts) / max(len(piece.nodes), 1)
    found = [solve(part, share, left) for part, share in zip(remainder.parts, shares, strict=True)]
    best = _better_of(piece, start, remainder.expand([part.choice for part in found]))
    # The cost of a contracted node is the sum of several, rounded once more than that of the piece.
    bound = math.fsum([remainder.settled, *(part.bound for part in found)]) * (1 - 1e-12)
    if any(piece.tie) and not late():
        remainder = remainder_of(piece, best, late)
        best = _better_of(piece, best, remainder.expand([refine(part) for part in remainder.parts]))
    return Found(best, min(bound, piece.value(best)[0]))


def _better_of(piece: Piece, old: Choice, new: Choice) -> Choice:
    return new if better(piece.value(new), piece.value(old)) else old


def shares_of(pieces: Sequence[Piece]) -> list[float]:
    """How much of the time that is left each piece may take: what it is of the later ones, or `MOST`."""
    sizes = np.array([len(piece.nodes) for piece in pieces], np.float64)
    part = sizes / np.maximum(np.cumsum(sizes[::-1])[::-1], 1.0)
    shares: list[float] = np.maximum(part, MOST).tolist()
    return shares
