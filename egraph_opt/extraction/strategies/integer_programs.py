"""The strategies `ilp` and `exact`: integer programs with no other limits than those given."""

from __future__ import annotations

import numpy as np

from egraph_opt.extraction.heuristics.acyclic_order import improve
from egraph_opt.extraction.piece import Found, Piece
from egraph_opt.extraction.programs.cutting_planes import prove
from egraph_opt.extraction.programs.solver import Effort
from egraph_opt.extraction.strategies.budget import Budget
from egraph_opt.extraction.strategies.decomposition import solve_decomposed
from egraph_opt.extraction.strategies.default import refine
from egraph_opt.extraction.strategies.incumbent import starting_choice
from egraph_opt.extraction.strategies.narrow import solve_wide

BOUNDING, PROVING = 100, 1_000_000
"""Parts that branching looks at in `ilp`, and in `exact`."""


def ilp_piece(piece: Piece, budget: Budget) -> Found:
    """Acyclic-order search, and a lower bound from the relaxation with cycle cuts and a few branches."""
    effort = Effort(mip_nodes=50, checks=100)

    def solve(part: Piece, share: float, left: float) -> Found:
        best = improve(
            part,
            starting_choice(part),
            iterations=1 if _acyclic(part) else budget.iterations,
            effort=lambda: budget.effort(effort),
            seed=budget.seed,
        )
        return prove(part, best, parts=BOUNDING, effort=lambda: budget.effort(effort), seed=budget.seed)

    return solve_decomposed(
        piece, starting_choice(piece), solve, lambda part: refine(part, budget), budget.late
    )


def exact_piece(piece: Piece, budget: Budget) -> Found:
    """Dynamic programming where it fits, else branch and cut until the optimum is proved."""
    solved = solve_wide(piece, budget.late)
    if solved is not None:
        return solved

    def solve(part: Piece, share: float, left: float) -> Found:
        solved = solve_wide(part, budget.late)
        if solved is not None:
            return solved
        best = improve(
            part,
            starting_choice(part),
            iterations=min(10, budget.iterations),
            effort=lambda: budget.effort(Effort(mip_nodes=50, checks=100)),
            seed=budget.seed,
        )
        parts = PROVING if budget.iterations else 0
        return prove(part, best, parts=parts, effort=lambda: budget.effort(Effort()), seed=budget.seed)

    return solve_decomposed(
        piece, starting_choice(piece), solve, lambda part: refine(part, budget), budget.late
    )


def _acyclic(piece: Piece) -> bool:
    return not len(piece.cyclic_pairs[0]) and bool(np.all(np.bincount(piece.component) == 1))
