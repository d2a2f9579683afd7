"""What strategies are made of: incumbents, proofs of narrow pieces, decomposition.

A piece has an incumbent before any search; one of small width is proved by dynamic programming; what
contraction leaves of another is solved piece by piece and put together again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from egraph_opt.errors import ExtractionError
from egraph_opt.extraction.dynamic_programming.frontier import WIDEST, dynamic_program
from egraph_opt.extraction.heuristics.greedy import greedy
from egraph_opt.extraction.piece import Choice, Found, Piece
from egraph_opt.extraction.presolve.contraction import contract
from egraph_opt.extraction.presolve.presolve import presolve
from egraph_opt.extraction.problem import ExtractionProblem
from egraph_opt.extraction.programs.landmark_cuts import landmark_cuts
from egraph_opt.extraction.solution import better, used_part
from egraph_opt.extraction.strategies.budget import Budget
from egraph_opt.extraction.strategies.isomorphism import IsomorphicPieces
from egraph_opt.extraction.structure import Ints


def starting_choice(piece: Piece) -> Choice:
    """The better of the incumbent and the greedy choice; the incumbent where they are equal."""
    found = piece.used(greedy(piece))
    if piece.incumbent is not None and not better(piece.value(found), piece.value(piece.incumbent)):
        return piece.incumbent
    return found


def trivial_bound(piece: Piece) -> float:
    """A lower bound of a piece that takes no time: the cheapest node of each root."""
    return sum(min(piece.cost[node] for node in piece.options[root]) for root in piece.roots)


def starting_point(piece: Piece) -> Found:
    """`starting_choice` and `trivial_bound` together."""
    return Found(starting_choice(piece), trivial_bound(piece))


def greedy_piece(piece: Piece, budget: Budget) -> Found:
    """The strategy `greedy-dag`."""
    return starting_point(piece)


def optimal(piece: Piece, choice: Choice) -> Found:
    """An optimal choice as it is found: the incumbent if that is as good."""
    if piece.incumbent is not None and not better(piece.value(choice), piece.value(piece.incumbent)):
        choice = piece.incumbent
    return Found(choice, piece.value(choice)[0])


def selection(problem: ExtractionProblem, nodes: npt.ArrayLike) -> Ints:
    """A solution (per class a node or -1) of the given nodes only, such as those of the original graph.

    Saturation may have merged values of that graph, a transposed transpose with its operand, say: then a
    class has several of its nodes, and one of them is taken so that no cycle arises.  It costs no more than
    all the given nodes together.  Nodes of infinite cost are taken where there is no other way.

    Raises:
        ExtractionError: the nodes do not provide the roots.
    """
    given = np.zeros(problem.n_nodes, np.bool_)
    given[np.asarray(nodes, np.int64)] = True
    finite = np.isfinite(problem.cost)
    last_resort = 1.0 + float(problem.cost[finite].sum())
    cost = np.where(finite, problem.cost, last_resort)
    known = replace(problem, cost=np.where(given, cost, np.inf))
    try:
        presolved = presolve(known, None)
    except ExtractionError as error:
        raise ExtractionError(f"the given nodes are no graph of their own: {error}") from error
    choices = [piece.used(greedy(piece)) for piece in presolved.pieces]
    return used_part(problem, presolved.postsolve(choices))


AUTO_STEPS = 400_000
"""Steps in `auto` for one piece, a fraction of a second."""

PART_STEPS = 3 * AUTO_STEPS
"""The same for what contraction leaves of a piece: integer programs, which come next, take longer."""

EXACT_STEPS = 12_000_000
"""The same in `exact`, and where it is the last resort."""

WIDE = 20_000
"""Frontiers at one depth there."""


def solve_narrow(piece: Piece, late: Callable[[], bool], most: int = AUTO_STEPS) -> Found | None:
    """The optimum, if that takes no more than so many steps (less for small pieces)."""
    size = len(piece.nodes)
    return _optimum(piece, max(20 * size, min(most, 1000 * size)), WIDEST, late)


def solve_wide(piece: Piece, late: Callable[[], bool]) -> Found | None:
    """The optimum, if that takes no more than `EXACT_STEPS`."""
    return _optimum(piece, EXACT_STEPS, WIDE, late)


def _optimum(piece: Piece, steps: int, widest: int, late: Callable[[], bool]) -> Found | None:
    choice = dynamic_program(piece, steps, widest, late)
    return None if choice is None else optimal(piece, choice)


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

    ``solve`` is given the share of the time that is left for a part, and what part of the piece's nodes the
    parts have together, of isomorphic ones one.  What no better solution has by its landmarks is left out
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
