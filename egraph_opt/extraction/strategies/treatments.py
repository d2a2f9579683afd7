"""The treatments of a piece: the default, and the integer programs of `ilp` and `exact`.

The default goes by counts, so that it is the same everywhere, then as time allows; integer programs have no
other limits than those given.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from egraph_opt.extraction.heuristics.acyclic_order import improve
from egraph_opt.extraction.piece import Choice, Found, Piece
from egraph_opt.extraction.programs.cutting_planes import prove
from egraph_opt.extraction.programs.solver import Effort
from egraph_opt.extraction.strategies.budget import Budget
from egraph_opt.extraction.strategies.steps import (
    PART_STEPS,
    solve_decomposed,
    solve_narrow,
    solve_wide,
    starting_choice,
    starting_point,
)

AUTO_SIZE = 10_000
"""Undecided nodes up to which `auto` spends `AUTO_WORK`; above, the work grows with the size."""

AUTO_WORK = 6_000
"""Nodes that the programs of `auto` may hold in all; about a second."""

AUTO_CHECKS = 20
"""Checks of each program of `auto`, which keeps its cutting rounds at the root short."""

FEW_PARTS, MORE_PARTS = 20, 400
"""Parts that a proof looks at before dynamic programming is tried, and after that has failed."""

TIE_PROGRAMS = 4
"""Programs for the ties of one part."""

PROOF_WORK = 20_000
"""Work of `auto` to prove an optimum, some seconds; shared out as `AUTO_WORK` is."""

SMALL, MOST_PARTS = 500, 2_000
"""Nodes of a piece whose last proof `auto` gives so many parts, some seconds."""

SEARCHED = 0.6
"""The share of the time for acyclic orders where there is a budget of seconds; the rest goes to the proof."""

PROVABLE = 20_000
"""Nodes of a piece, without those that no better solution has, up to which `auto` solves programs."""


def default_piece(piece: Piece, budget: Budget) -> Found:
    """Dynamic programming where it fits, else a proof where the size allows one, else search."""
    solved = solve_narrow(piece, budget.late)
    if solved is not None:
        return solved

    def solve(part: Piece, share: float, left: float) -> Found:
        return _part(part, budget.slice(share).for_size(int(budget.size * left)))

    return solve_decomposed(
        piece, starting_choice(piece), solve, lambda part: refine(part, budget), budget.late
    )


def draft_piece(piece: Piece, budget: Budget) -> Found:
    """Dynamic programming of what contraction leaves where that fits, else a short search: no proof."""

    def solve(part: Piece, share: float, left: float) -> Found:
        solved = solve_narrow(part, budget.late)
        if solved is not None:
            return solved
        return _improved(part, budget.for_size(int(budget.size * left)), starting_point(part), AUTO_WORK // 2)

    return solve_decomposed(piece, starting_choice(piece), solve, starting_choice, budget.late)


def _share(work: int, piece: Piece, budget: Budget) -> int:
    """A piece's part of work that is done in full for problems of up to `AUTO_SIZE` nodes."""
    return work * len(piece.nodes) // min(max(budget.size, 1), AUTO_SIZE)


def _part(piece: Piece, budget: Budget) -> Found:
    if budget.late():
        return starting_point(piece)
    solved = solve_narrow(piece, budget.late, PART_STEPS)
    return budget.searched.solve(piece, lambda part: _searched(part, budget)) if solved is None else solved


def _searched(piece: Piece, budget: Budget) -> Found:
    """A short proof, dynamic programming, a long proof, until one succeeds; else search."""
    size, found = len(piece.nodes), starting_point(piece)
    if budget.persistent and size <= SMALL:
        return _persist(piece, budget, found)
    many = MOST_PARTS if size <= SMALL else MORE_PARTS
    few = FEW_PARTS if len(piece.cyclic_pairs[0]) else many  # without cycles relaxations are nearly integral
    found = _proved(piece, budget, found, few)
    if _is_optimal(piece, found):
        return found
    solved = None if budget.late() else solve_wide(piece, budget.late)
    if solved is not None:
        return solved
    found = _proved(piece, budget, found, many) if many > few else found
    if _is_optimal(piece, found):
        return found
    return _persist(piece, budget, found) if budget.persistent else _improved(piece, budget, found)


def _is_optimal(piece: Piece, found: Found) -> bool:
    return piece.value(found.choice)[0] <= found.bound * (1 + 1e-9)


def _proved(piece: Piece, budget: Budget, found: Found, parts: int) -> Found:
    """After a proof that looks at so many parts."""
    if not budget.iterations:
        return found
    proved = prove(
        piece,
        found.choice,
        parts=parts,
        effort=lambda: budget.effort(Effort()),
        seed=budget.seed,
        work=_share(PROOF_WORK, piece, budget),
        largest=PROVABLE,
    )
    return Found(proved.choice, max(found.bound, proved.bound))


def _improved(
    piece: Piece, budget: Budget, found: Found, work: int = AUTO_WORK, *, ties_only: bool = False
) -> Found:
    """After a search of acyclic orders by counts."""
    effort = Effort(mip_nodes=5, checks=AUTO_CHECKS, gap=1e-4)
    best = improve(
        piece,
        found.choice,
        iterations=budget.iterations,
        effort=lambda: budget.effort(effort),
        seed=budget.seed,
        work=_share(work, piece, budget),
        ties_only=ties_only,
    )
    return Found(best, found.bound)


def _persist(piece: Piece, budget: Budget, found: Found) -> Found:
    """Search and then prove until the time is up; a small piece is proved at once."""
    best, programs = found.choice, Effort(mip_nodes=50, checks=100)
    if len(piece.nodes) > SMALL:
        trial = budget.slice(SEARCHED)
        best = improve(
            piece, best, iterations=1_000_000, effort=lambda: trial.effort(programs), seed=budget.seed
        )
    proved = prove(piece, best, parts=1_000_000, effort=lambda: budget.effort(Effort()), seed=budget.seed)
    found = Found(proved.choice, max(found.bound, proved.bound))
    late = budget.late() or _is_optimal(piece, found)
    solved = None if late else solve_wide(piece, budget.late)
    return found if solved is None else solved


def refine(piece: Piece, budget: Budget) -> Choice:
    """A smaller tie at no higher cost, by little work: the cost has been searched for already."""
    solved = solve_narrow(piece, budget.late, PART_STEPS)
    if solved is not None:
        return solved.choice
    few = replace(budget, iterations=min(TIE_PROGRAMS, budget.iterations))
    return _improved(piece, few, starting_point(piece), AUTO_WORK // 2, ties_only=True).choice


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
