"""How each extractor treats one piece, and how much it may spend on it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from egraph_opt.extraction.acyclic_order import improve
from egraph_opt.extraction.by_parts import by_parts
from egraph_opt.extraction.checking import better
from egraph_opt.extraction.exact import Found, prove
from egraph_opt.extraction.frontier import frontier
from egraph_opt.extraction.greedy import greedy
from egraph_opt.extraction.highs import Effort
from egraph_opt.extraction.piece import Choice, Piece

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


@dataclass(frozen=True)
class Search:
    """The limits of one extraction.

    Attributes:
        iterations: the most programs for any one piece.
        deadline: of `time.monotonic`, an emergency stop; None for none.
        seed: of the random orders and the solver.
        size: how many undecided nodes the problem has.
        persistent: whether to go on until the deadline or the proof.
        stop: asked before and within each program whether the best so far will do; None for never.
    """

    iterations: int
    deadline: float | None
    seed: int
    size: int = 0
    persistent: bool = False
    stop: Callable[[], bool] | None = None

    def for_size(self, size: int) -> Search:
        """The same limits for a problem of so many undecided nodes."""
        return replace(self, size=size)

    def slice(self, share: float) -> Search:
        """The same limits with a share of the time that is left."""
        if self.deadline is None or not self.persistent:
            return self
        now = time.monotonic()
        return replace(self, deadline=now + (self.deadline - now) * share)

    def effort(self, effort: Effort) -> Effort | None:
        """``effort`` with the seconds that are left, None if there are none."""
        if self.stop is not None:
            if self.stop():
                return None
            effort = replace(effort, stop=self.stop)
        if self.deadline is None:
            return effort
        left = self.deadline - time.monotonic()
        return replace(effort, seconds=left) if left > 0 else None


def start_of(piece: Piece) -> Choice:
    """The better of the incumbent and the greedy choice; the incumbent where they are equal."""
    found = piece.used(greedy(piece))
    if piece.incumbent is not None and not better(piece.value(found), piece.value(piece.incumbent)):
        return piece.incumbent
    return found


def floor_of(piece: Piece) -> float:
    """A lower bound of a piece that takes no time: the cheapest node of each root."""
    return sum(min(piece.cost[node] for node in piece.options[root]) for root in piece.roots)


def greedy_piece(piece: Piece, search: Search) -> Found:
    """The greedy choice."""
    return Found(start_of(piece), floor_of(piece))


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

    return by_parts(piece, start_of(piece), solve, lambda part: _refine(part, search))


def exact_piece(piece: Piece, search: Search) -> Found:
    """Dynamic programming where it fits, else rounds of loop rows until the optimum is proved."""
    thin = frontier(piece, EXACT_STEPS, WIDE)
    if thin is not None:
        return _optimal(piece, thin)
    effort = Effort(mip_nodes=200_000)

    def solve(part: Piece, share: float, left: float) -> Found:
        thin = frontier(part, EXACT_STEPS, WIDE)
        if thin is not None:
            return _optimal(part, thin)
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

    return by_parts(piece, start_of(piece), solve, lambda part: _refine(part, search))


def quick_piece(piece: Piece, search: Search) -> Found:
    """Dynamic programming where it fits, else a proof where the size allows one, else search."""
    thin = frontier(piece, _quick_steps(piece))
    if thin is not None:
        return _optimal(piece, thin)
    return by_parts(
        piece,
        start_of(piece),
        lambda part, share, left: _quick_part(part, search.slice(share).for_size(int(search.size * left))),
        lambda part: _refine(part, search),
    )


def _quick_steps(piece: Piece) -> int:
    size = len(piece.nodes)
    return max(20 * size, min(QUICK_STEPS, 1000 * size))


def _refine(piece: Piece, search: Search) -> Choice:
    """A smaller tie at no higher cost, by little work: the cost has been searched for already."""
    thin = frontier(piece, _quick_steps(piece))
    if thin is not None:
        return _optimal(piece, thin).choice
    effort = Effort(mip_nodes=5, checks=QUICK_CHECKS, gap=1e-4)
    return improve(
        piece,
        start_of(piece),
        iterations=min(TIE_PROGRAMS, search.iterations),
        effort=lambda: search.effort(effort),
        seed=search.seed,
        work=_share(QUICK_WORK, piece, search) // 2,
    )


def _persist(piece: Piece, search: Search) -> Found:
    """Search and proof by turns until the time is up; a small piece is proved at once."""
    best, bound = start_of(piece), floor_of(piece)
    programs = Effort(mip_nodes=50, checks=100)
    proofs = Effort(mip_nodes=200_000)
    if len(piece.nodes) > SMALL:
        trial = search.slice(SEARCHED)
        best = improve(
            piece, best, iterations=1_000_000, effort=lambda: trial.effort(programs), seed=search.seed
        )
    found = prove(piece, best, rounds=1_000, effort=lambda: search.effort(proofs), seed=search.seed)
    if piece.value(found.choice)[0] > found.bound * (1 + 1e-9):
        thin = frontier(piece, EXACT_STEPS, WIDE)
        if thin is not None:
            return _optimal(piece, thin)
    return Found(found.choice, max(bound, found.bound))


def _share(work: int, piece: Piece, search: Search) -> int:
    """A piece's part of work that is done in full for problems of up to `QUICK_SIZE` nodes."""
    return work * len(piece.nodes) // min(max(search.size, 1), QUICK_SIZE)


def _quick_part(piece: Piece, search: Search) -> Found:
    size = len(piece.nodes)
    thin = frontier(piece, _quick_steps(piece))
    if thin is not None:
        return _optimal(piece, thin)
    if search.persistent:
        return _persist(piece, search)
    found = Found(start_of(piece), floor_of(piece))
    if size <= PROVABLE:
        checks = QUICK_CHECKS if size > SMALL else SMALL_CHECKS
        effort = Effort(mip_nodes=checks, checks=checks)
        found = prove(
            piece,
            found.choice,
            rounds=QUICK_ROUNDS,
            effort=lambda: search.effort(effort),
            seed=search.seed,
            work=_share(PROOF_WORK, piece, search),
        )
        if piece.value(found.choice)[0] <= found.bound * (1 + 1e-9):
            return found
    thin = frontier(piece, EXACT_STEPS, WIDE)
    if thin is not None:
        return _optimal(piece, thin)
    effort = Effort(mip_nodes=5, checks=QUICK_CHECKS, gap=1e-4)
    best = improve(
        piece,
        found.choice,
        iterations=search.iterations,
        effort=lambda: search.effort(effort),
        seed=search.seed,
        work=_share(QUICK_WORK, piece, search),
    )
    return Found(best, found.bound)


def _optimal(piece: Piece, choice: Choice) -> Found:
    """An optimal choice as it is found: the incumbent if that is as good."""
    if piece.incumbent is not None and not better(piece.value(choice), piece.value(piece.incumbent)):
        choice = piece.incumbent
    return Found(choice, piece.value(choice)[0])


def _acyclic(piece: Piece) -> bool:
    return not len(piece.cyclic_pairs[0]) and bool(np.all(np.bincount(piece.component) == 1))
