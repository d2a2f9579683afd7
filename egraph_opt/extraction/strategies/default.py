"""The default treatment of a piece: by counts, so that it is the same everywhere, then as time allows."""

from __future__ import annotations

from dataclasses import replace

from egraph_opt.extraction.dynamic_programming.frontier import dynamic_program
from egraph_opt.extraction.heuristics.acyclic_order import improve
from egraph_opt.extraction.piece import Choice, Found, Piece
from egraph_opt.extraction.programs.cutting_planes import prove
from egraph_opt.extraction.programs.highs import Effort
from egraph_opt.extraction.strategies.decomposition import solve_decomposed
from egraph_opt.extraction.strategies.incumbent import optimal, starting_choice, starting_point
from egraph_opt.extraction.strategies.limits import SearchLimits

AUTO_STEPS = 400_000
"""Steps of dynamic programming in `auto` for one piece, a fraction of a second."""

EXACT_STEPS = 12_000_000
"""The same in `exact`."""

WIDE = 20_000
"""Frontiers at one depth where dynamic programming is the last resort."""

AUTO_SIZE = 10_000
"""Undecided nodes up to which `auto` spends `AUTO_WORK`; above, the work grows with the size."""

AUTO_WORK = 6_000
"""Nodes that the programs of `auto` may hold in all; about a second."""

AUTO_CHECKS = 20
"""Checks of each program of `auto`, which keeps its cutting rounds at the root short."""

TIE_PROGRAMS = 4
"""Programs for the ties of one part."""

AUTO_ROUNDS = 16
"""Rounds of loop rows in `auto` for a small piece."""

PROOF_WORK = 20_000
"""Work of `auto` to prove an optimum, some seconds; shared out as `AUTO_WORK` is."""

SMALL, SMALL_CHECKS = 500, 2_000
"""Nodes of a piece whose programs `auto` gives so many checks, some seconds."""

SEARCHED = 0.6
"""The share of the time for acyclic orders where there is a budget of seconds; the rest goes to the proof."""

PROVABLE = 20_000
"""Nodes of a piece up to which `auto` asks for a lower bound."""


def default_piece(piece: Piece, limits: SearchLimits) -> Found:
    """Dynamic programming where it fits, else a proof where the size allows one, else limits."""
    thin = dynamic_program(piece, _steps_for(piece))
    if thin is not None:
        return optimal(piece, thin)

    def solve(part: Piece, share: float, left: float) -> Found:
        return _part(part, limits.slice(share).for_size(int(limits.size * left)))

    return solve_decomposed(
        piece, starting_choice(piece), solve, lambda part: refine(part, limits), limits.late
    )


def draft_piece(piece: Piece, limits: SearchLimits) -> Found:
    """Dynamic programming of what contraction leaves where that fits, else a short search: no proof."""

    def solve(part: Piece, share: float, left: float) -> Found:
        thin = dynamic_program(part, _steps_for(part))
        if thin is not None:
            return optimal(part, thin)
        return _improved(part, limits.for_size(int(limits.size * left)), starting_point(part), AUTO_WORK // 2)

    return solve_decomposed(piece, starting_choice(piece), solve, starting_choice, limits.late)


def _steps_for(piece: Piece) -> int:
    size = len(piece.nodes)
    return max(20 * size, min(AUTO_STEPS, 1000 * size))


def _share(work: int, piece: Piece, limits: SearchLimits) -> int:
    """A piece's part of work that is done in full for problems of up to `AUTO_SIZE` nodes."""
    return work * len(piece.nodes) // min(max(limits.size, 1), AUTO_SIZE)


def _part(piece: Piece, limits: SearchLimits) -> Found:
    size = len(piece.nodes)
    if limits.late():
        return starting_point(piece)
    thin = dynamic_program(piece, _steps_for(piece))
    if thin is not None:
        return optimal(piece, thin)
    found = starting_point(piece)
    if limits.persistent and size <= SMALL:
        return _persist(piece, limits, found)
    if size <= PROVABLE:
        checks = AUTO_CHECKS if size > SMALL else SMALL_CHECKS
        effort = Effort(mip_nodes=checks, checks=checks)
        found = prove(
            piece,
            found.choice,
            rounds=min(AUTO_ROUNDS, limits.iterations),
            effort=lambda: limits.effort(effort),
            seed=limits.seed,
            work=_share(PROOF_WORK, piece, limits),
        )
        if piece.value(found.choice)[0] <= found.bound * (1 + 1e-9):
            return found
    thin = None if limits.late() else dynamic_program(piece, EXACT_STEPS, WIDE)
    if thin is not None:
        return optimal(piece, thin)
    return _persist(piece, limits, found) if limits.persistent else _improved(piece, limits, found)


def _improved(piece: Piece, limits: SearchLimits, found: Found, work: int = AUTO_WORK) -> Found:
    """After a search of acyclic orders by counts."""
    effort = Effort(mip_nodes=5, checks=AUTO_CHECKS, gap=1e-4)
    best = improve(
        piece,
        found.choice,
        iterations=limits.iterations,
        effort=lambda: limits.effort(effort),
        seed=limits.seed,
        work=_share(work, piece, limits),
    )
    return Found(best, found.bound)


def _persist(piece: Piece, limits: SearchLimits, found: Found) -> Found:
    """Search and then prove until the time is up; a small piece is proved at once."""
    best, programs, proofs = found.choice, Effort(mip_nodes=50, checks=100), Effort(mip_nodes=200_000)
    if len(piece.nodes) > SMALL:
        trial = limits.slice(SEARCHED)
        best = improve(
            piece, best, iterations=1_000_000, effort=lambda: trial.effort(programs), seed=limits.seed
        )
    proved = prove(piece, best, rounds=1_000, effort=lambda: limits.effort(proofs), seed=limits.seed)
    found = Found(proved.choice, max(found.bound, proved.bound))
    late = limits.late() or piece.value(found.choice)[0] <= found.bound * (1 + 1e-9)
    thin = None if late else dynamic_program(piece, EXACT_STEPS, WIDE)
    return found if thin is None else optimal(piece, thin)


def refine(piece: Piece, limits: SearchLimits) -> Choice:
    """A smaller tie at no higher cost, by little work: the cost has been searched for already."""
    thin = dynamic_program(piece, _steps_for(piece))
    if thin is not None:
        return optimal(piece, thin).choice
    few = replace(limits, iterations=min(TIE_PROGRAMS, limits.iterations))
    return _improved(piece, few, starting_point(piece), AUTO_WORK // 2).choice
