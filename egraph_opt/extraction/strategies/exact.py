"""The treatments of a piece that are asked for by name: greedy, acyclic orders, exact."""

from __future__ import annotations

import numpy as np

from egraph_opt.extraction.dynamic_programming.frontier import dynamic_program
from egraph_opt.extraction.heuristics.acyclic_order import improve
from egraph_opt.extraction.piece import Found, Piece
from egraph_opt.extraction.programs.cutting_planes import prove
from egraph_opt.extraction.programs.highs import Effort
from egraph_opt.extraction.strategies.decomposition import solve_decomposed
from egraph_opt.extraction.strategies.default import EXACT_STEPS, WIDE, refine
from egraph_opt.extraction.strategies.incumbent import optimal, starting_choice, starting_point
from egraph_opt.extraction.strategies.limits import SearchLimits


def greedy_piece(piece: Piece, limits: SearchLimits) -> Found:
    """The greedy choice."""
    return starting_point(piece)


def ilp_piece(piece: Piece, limits: SearchLimits) -> Found:
    """Acyclic-order limits, and a lower bound from one program with loop rows."""
    effort = Effort(mip_nodes=50, checks=100)

    def solve(part: Piece, share: float, left: float) -> Found:
        best = improve(
            part,
            starting_choice(part),
            iterations=1 if _acyclic(part) else limits.iterations,
            effort=lambda: limits.effort(effort),
            seed=limits.seed,
        )
        return prove(part, best, rounds=3, effort=lambda: limits.effort(effort), seed=limits.seed)

    return solve_decomposed(
        piece, starting_choice(piece), solve, lambda part: refine(part, limits), limits.late
    )


def exact_piece(piece: Piece, limits: SearchLimits) -> Found:
    """Dynamic programming where it fits, else rounds of loop rows until the optimum is proved."""
    thin = dynamic_program(piece, EXACT_STEPS, WIDE)
    if thin is not None:
        return optimal(piece, thin)
    effort = Effort(mip_nodes=200_000)

    def solve(part: Piece, share: float, left: float) -> Found:
        thin = dynamic_program(part, EXACT_STEPS, WIDE)
        if thin is not None:
            return optimal(part, thin)
        best = improve(
            part,
            starting_choice(part),
            iterations=min(10, limits.iterations),
            effort=lambda: limits.effort(Effort(mip_nodes=50, checks=100)),
            seed=limits.seed,
        )
        return prove(
            part, best, rounds=limits.iterations, effort=lambda: limits.effort(effort), seed=limits.seed
        )

    return solve_decomposed(
        piece, starting_choice(piece), solve, lambda part: refine(part, limits), limits.late
    )


def _acyclic(piece: Piece) -> bool:
    return not len(piece.cyclic_pairs[0]) and bool(np.all(np.bincount(piece.component) == 1))
