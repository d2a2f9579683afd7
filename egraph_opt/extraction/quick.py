"""The default treatment of a piece: by counts, so that it is the same everywhere, then as time allows."""

from __future__ import annotations

from dataclasses import replace

from egraph_opt.extraction.acyclic_order import improve
from egraph_opt.extraction.budget import Search
from egraph_opt.extraction.by_parts import by_parts
from egraph_opt.extraction.exact import Found, prove
from egraph_opt.extraction.frontier import frontier
from egraph_opt.extraction.highs import Effort
from egraph_opt.extraction.piece import Choice, Piece
from egraph_opt.extraction.starting import known, optimal, start_of

QUICK_STEPS = 400_000
"""Steps of dynamic programming in `auto` for one piece, a fraction of a second."""

EXACT_STEPS = 12_000_000
"""The same in `exact`."""

WIDE = 20_000
"""Frontiers at one depth where dynamic programming is the last resort."""

QUICK_SIZE = 10_000
"""Undecided nodes up to which `auto` spends `QUICK_WORK`; above, the work grows with the size."""

QUICK_WORK = 6_000
"""Nodes that the programs of `auto` may hold in all; about a second."""

QUICK_CHECKS = 20
"""Checks of each program of `auto`, which keeps its cutting rounds at the root short."""

TIE_PROGRAMS = 4
"""Programs for the ties of one part."""

QUICK_ROUNDS = 16
"""Rounds of loop rows in `auto` for a small piece."""

PROOF_WORK = 20_000
"""Work of `auto` to prove an optimum, some seconds; shared out as `QUICK_WORK` is."""

SMALL, SMALL_CHECKS = 500, 2_000
"""Nodes of a piece whose programs `auto` gives so many checks, some seconds."""

SEARCHED = 0.6
"""The share of the time for acyclic orders where there is a budget of seconds; the rest goes to the proof."""

PROVABLE = 20_000
"""Nodes of a piece up to which `auto` asks for a lower bound."""


def quick_piece(piece: Piece, search: Search) -> Found:
    """Dynamic programming where it fits, else a proof where the size allows one, else search."""
    thin = frontier(piece, _quick_steps(piece))
    if thin is not None:
        return optimal(piece, thin)

    def solve(part: Piece, share: float, left: float) -> Found:
        return _part(part, search.slice(share).for_size(int(search.size * left)))

    return by_parts(piece, start_of(piece), solve, lambda part: refine(part, search), search.late)


def draft_piece(piece: Piece, search: Search) -> Found:
    """Dynamic programming of what contraction leaves where that fits, else a short search: no proof."""

    def solve(part: Piece, share: float, left: float) -> Found:
        thin = frontier(part, _quick_steps(part))
        if thin is not None:
            return optimal(part, thin)
        return _improved(part, search.for_size(int(search.size * left)), known(part), QUICK_WORK // 2)

    return by_parts(piece, start_of(piece), solve, start_of, search.late)


def _quick_steps(piece: Piece) -> int:
    size = len(piece.nodes)
    return max(20 * size, min(QUICK_STEPS, 1000 * size))


def _share(work: int, piece: Piece, search: Search) -> int:
    """A piece's part of work that is done in full for problems of up to `QUICK_SIZE` nodes."""
    return work * len(piece.nodes) // min(max(search.size, 1), QUICK_SIZE)


def _part(piece: Piece, search: Search) -> Found:
    size = len(piece.nodes)
    if search.late():
        return known(piece)
    thin = frontier(piece, _quick_steps(piece))
    if thin is not None:
        return optimal(piece, thin)
    found = known(piece)
    if search.persistent and size <= SMALL:
        return _persist(piece, search, found)
    if size <= PROVABLE:
        checks = QUICK_CHECKS if size > SMALL else SMALL_CHECKS
        effort = Effort(mip_nodes=checks, checks=checks)
        found = prove(
            piece,
            found.choice,
            rounds=min(QUICK_ROUNDS, search.iterations),
            effort=lambda: search.effort(effort),
            seed=search.seed,
            work=_share(PROOF_WORK, piece, search),
        )
        if piece.value(found.choice)[0] <= found.bound * (1 + 1e-9):
            return found
    thin = None if search.late() else frontier(piece, EXACT_STEPS, WIDE)
    if thin is not None:
        return optimal(piece, thin)
    return _persist(piece, search, found) if search.persistent else _improved(piece, search, found)


def _improved(piece: Piece, search: Search, found: Found, work: int = QUICK_WORK) -> Found:
    """After a search of acyclic orders by counts."""
    effort = Effort(mip_nodes=5, checks=QUICK_CHECKS, gap=1e-4)
    best = improve(
        piece,
        found.choice,
        iterations=search.iterations,
        effort=lambda: search.effort(effort),
        seed=search.seed,
        work=_share(work, piece, search),
    )
    return Found(best, found.bound)


def _persist(piece: Piece, search: Search, found: Found) -> Found:
    """Search and then prove until the time is up; a small piece is proved at once."""
    best, programs, proofs = found.choice, Effort(mip_nodes=50, checks=100), Effort(mip_nodes=200_000)
    if len(piece.nodes) > SMALL:
        trial = search.slice(SEARCHED)
        best = improve(
            piece, best, iterations=1_000_000, effort=lambda: trial.effort(programs), seed=search.seed
        )
    proved = prove(piece, best, rounds=1_000, effort=lambda: search.effort(proofs), seed=search.seed)
    found = Found(proved.choice, max(found.bound, proved.bound))
    late = search.late() or piece.value(found.choice)[0] <= found.bound * (1 + 1e-9)
    thin = None if late else frontier(piece, EXACT_STEPS, WIDE)
    return found if thin is None else optimal(piece, thin)


def refine(piece: Piece, search: Search) -> Choice:
    """A smaller tie at no higher cost, by little work: the cost has been searched for already."""
    thin = frontier(piece, _quick_steps(piece))
    if thin is not None:
        return optimal(piece, thin).choice
    few = replace(search, iterations=min(TIE_PROGRAMS, search.iterations))
    return _improved(piece, few, known(piece), QUICK_WORK // 2).choice
