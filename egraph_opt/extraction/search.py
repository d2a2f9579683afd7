"""How each extractor treats one piece, and how much it may spend on it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from egraph_opt.extraction.acyclic_order import improve
from egraph_opt.extraction.checking import better
from egraph_opt.extraction.exact import Found, prove
from egraph_opt.extraction.greedy import greedy
from egraph_opt.extraction.piece import Choice, Piece
from egraph_opt.extraction.program import Effort

QUICK_WORK = 8_000
"""Nodes that the programs of `auto` may hold in all, for problems of up to that size; about a second."""


@dataclass(frozen=True)
class Search:
    """The limits of one extraction.

    Attributes:
        iterations: the most programs for any one piece.
        deadline: of `time.monotonic`, an emergency stop; None for none.
        seed: of the random orders and the solver.
        size: how many undecided nodes the problem has.
    """

    iterations: int
    deadline: float | None
    seed: int
    size: int = 0

    def for_size(self, size: int) -> Search:
        """The same limits for a problem of so many undecided nodes."""
        return replace(self, size=size)

    def effort(self, effort: Effort) -> Effort | None:
        """``effort`` with the seconds that are left, None if there are none."""
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
    effort = Effort(mip_nodes=200)
    best = improve(
        piece,
        start_of(piece),
        iterations=1 if _acyclic(piece) else search.iterations,
        effort=lambda: search.effort(effort),
        seed=search.seed,
    )
    return prove(piece, best, rounds=3, effort=lambda: search.effort(effort), seed=search.seed)


def exact_piece(piece: Piece, search: Search) -> Found:
    """A short search for a good solution, then rounds of loop rows until the optimum is proved."""
    effort = Effort(mip_nodes=200_000)
    best = improve(
        piece,
        start_of(piece),
        iterations=min(10, search.iterations),
        effort=lambda: search.effort(Effort(mip_nodes=200)),
        seed=search.seed,
    )
    return prove(
        piece, best, rounds=search.iterations, effort=lambda: search.effort(effort), seed=search.seed
    )


def quick_piece(piece: Piece, search: Search) -> Found:
    """As much search as the size allows, within about a second for 10,000 nodes."""
    best = start_of(piece)
    size = len(piece.nodes)
    work = QUICK_WORK * size // max(search.size, 1)
    if size > QUICK_WORK:
        return Found(best, floor_of(piece))
    effort = Effort(mip_nodes=50)
    best = improve(
        piece,
        best,
        iterations=min(search.iterations, max(1, work // size)),
        effort=lambda: search.effort(effort),
        seed=search.seed,
    )
    return prove(piece, best, rounds=2, effort=lambda: search.effort(effort), seed=search.seed)


def _acyclic(piece: Piece) -> bool:
    return not len(piece.cyclic_pairs[0]) and bool(np.all(np.bincount(piece.component) == 1))
