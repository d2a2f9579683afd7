"""A piece by decomposition: what contraction leaves of it is solved piece by piece and put together again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from egraph_opt.extraction.checking import better
from egraph_opt.extraction.piece import Choice, Found, Piece
from egraph_opt.extraction.presolve.contracted import contract
from egraph_opt.extraction.programs.landmark_cuts import landmark_cuts
from egraph_opt.extraction.strategies.incumbent import trivial_bound
from egraph_opt.extraction.strategies.isomorphism import IsomorphicPieces

MOST = 0.7
"""The share of the time that a piece may take though others follow: most take far less than they may."""


def solve_decomposed(
    piece: Piece,
    start: Choice,
    solve: Callable[[Piece, float, float], Found],
    refine: Callable[[Piece], Choice],
    late: Callable[[], bool],
) -> Found:
    """Solve what contraction leaves of a piece; never worse than ``start``.

    ``solve`` is told which share of the time that is left a part may take, and what part of the piece's nodes
    the parts have together, of isomorphic ones one.  What no better solution has by its landmarks is left out
    beforehand.  Without ties far more can be contracted, so the cost
    comes first; then, where there are ties, ``refine`` looks for smaller ones.  When it is ``late``,
    contraction is left out.
    """
    if late():
        return Found(start, trivial_bound(piece))
    landmarks = landmark_cuts(piece, late)
    costs_only = replace(piece, tie=[0.0] * len(piece.nodes))
    contracted = contract(costs_only, start, late, landmarks.usable(piece.value(start)[0]))
    parts = contracted.pieces
    isomorphic = IsomorphicPieces(parts)
    shares = time_shares(parts, isomorphic.distinct)
    left = sum(len(parts[number].nodes) for number in shares) / max(len(piece.nodes), 1)
    found = isomorphic.solve(lambda number: solve(parts[number], shares[number], left))
    best = _better_of(piece, start, contracted.postsolve([part.choice for part in found]))
    # The cost of a contracted node is the sum of several, rounded once more than that of the piece.
    bound = max(landmarks.bound, contracted.left.bound(part.bound for part in found) * (1 - 1e-12))
    if any(piece.tie) and not late():
        contracted = contract(piece, best, late, landmarks.usable(piece.value(best)[0]))
        smaller = contracted.pieces
        refined = IsomorphicPieces(smaller).solve(lambda number: Found(refine(smaller[number]), 0.0))
        best = _better_of(piece, best, contracted.postsolve([part.choice for part in refined]))
    return Found(best, min(bound, piece.value(best)[0]))


def _better_of(piece: Piece, old: Choice, new: Choice) -> Choice:
    return new if better(piece.value(new), piece.value(old)) else old


def time_shares(pieces: Sequence[Piece], numbers: Sequence[int]) -> dict[int, float]:
    """How much of the time that is left each of these may take: what it is of the later ones, or `MOST`."""
    sizes = np.array([len(pieces[number].nodes) for number in numbers], np.float64)
    part = sizes / np.maximum(np.cumsum(sizes[::-1])[::-1], 1.0)
    return dict(zip(numbers, np.maximum(part, MOST).tolist(), strict=True))
