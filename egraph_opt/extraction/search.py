"""The treatments of a piece that are asked for by name: greedy, acyclic orders, exact."""

from __future__ import annotations

import numpy as np

from egraph_opt.extraction.acyclic_order import improve
from egraph_opt.extraction.budget import Search
from egraph_opt.extraction.by_parts import by_parts
from egraph_opt.extraction.exact import Found, prove
from egraph_opt.extraction.frontier import frontier
from egraph_opt.extraction.highs import Effort
from egraph_opt.extraction.piece import Piece
from egraph_opt.extraction.quick import EXACT_STEPS, WIDE, refine
from egraph_opt.extraction.starting import known, optimal, start_of


def greedy_piece(piece: Piece, search: Search) -> Found:
    """The greedy choice."""
    return known(piece)


def ilp_piece(piece: Piece, search: Search) -> Found:
    """Acyclic-order search, and a lower bound from one program with loop rows."""
    effort = Effort(mip_nodes=50, checks=100)

    def solve(part: Piece, share: float, left: float) -> Found:
        best = improve(
            part,
            start_of(part),
            iterations=1 if _acyclic(part) else search.iterations,
            effort=lambda: search.effort(effort),
            seed=search.seed,
        )
        return prove(part, best, rounds=3, effort=lambda: search.effort(effort), seed=search.seed)

    return by_parts(piece, start_of(piece), solve, lambda part: refine(part, search), search.late)


def exact_piece(piece: Piece, search: Search) -> Found:
    """Dynamic programming where it fits, else rounds of loop rows until the optimum is proved."""
    thin = frontier(piece, EXACT_STEPS, WIDE)
    if thin is not None:
        return optimal(piece, thin)
    effort = Effort(mip_nodes=200_000)

    def solve(part: Piece, share: float, left: float) -> Found:
        thin = frontier(part, EXACT_STEPS, WIDE)
        if thin is not None:
            return optimal(part, thin)
        best = improve(
            part,
            start_of(part),
            iterations=min(10, search.iterations),
            effort=lambda: search.effort(Effort(mip_nodes=50, checks=100)),
            seed=search.seed,
        )
        return prove(
            part, best, rounds=search.iterations, effort=lambda: search.effort(effort), seed=search.seed
        )

    return by_parts(piece, start_of(piece), solve, lambda part: refine(part, search), search.late)


def _acyclic(piece: Piece) -> bool:
    return not len(piece.cyclic_pairs[0]) and bool(np.all(np.bincount(piece.component) == 1))
