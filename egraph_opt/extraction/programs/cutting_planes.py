"""Proved optima by cutting planes: the program without acyclicity, and cuts for the cycles of its solutions.

Every pair of classes that use each other (a transpose there and back) gets its cycle cuts beforehand; longer
cycles get theirs when a solution runs through them.  Bounds are proved by our own arithmetic, from the
landmarks, the relaxation and its branches in turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from egraph_opt.extraction.piece import Choice, Found, Piece
from egraph_opt.extraction.programs.branching import Branching
from egraph_opt.extraction.programs.cut_separation import separate_cuts
from egraph_opt.extraction.programs.landmark_cuts import landmark_cuts
from egraph_opt.extraction.programs.linear import (
    Cycle,
    CycleCut,
    Rows,
    cycle_cut_rows,
    cycle_cuts,
    structural_rows,
)
from egraph_opt.extraction.programs.program import Relaxation, smaller_tie
from egraph_opt.extraction.programs.solver import Effort
from egraph_opt.extraction.solution import better
from egraph_opt.extraction.structure import Mask, components_of

SEPARATIONS = 60
"""The most relaxations that are solved to separate cuts."""

TIE_ROUNDS = 4
"""Programs for a smaller tie, each with the cycles cut off that the last one ran into."""


def mutual_pairs(piece: Piece) -> list[Cycle]:
    """All pairs of classes that use each other."""
    node, child = piece.cyclic_pairs
    n = len(piece.classes)
    edges = np.unique(piece.owners[node].astype(np.int64) * n + child)
    above, below = edges // n, edges % n
    mutual = edges[(above < below) & np.isin(below * n + above, edges)]
    return [(int(edge // n), int(edge % n)) for edge in mutual]


def cycles_in(piece: Piece, choice: Choice) -> list[Cycle]:
    """The sets of classes on cycles of a choice: whole strong components, and one shortest cycle in each."""
    below = [piece.children[node] if node >= 0 else () for node in choice]
    component = components_of(below)
    size = np.bincount(component)
    members: dict[int, list[int]] = {}
    for here in np.flatnonzero(size[component] > 1).tolist():
        members.setdefault(int(component[here]), []).append(here)
    found: set[Cycle] = set()
    for group in members.values():
        found.add(tuple(group))
        found.update(_short_cycles(below, set(group)))
    return sorted(found)


def _short_cycles(below: list[tuple[int, ...]], group: set[int]) -> set[Cycle]:
    """A shortest cycle through each of a few classes of a strongly connected group."""
    cycles: set[Cycle] = set()
    covered: set[int] = set()
    for start in sorted(group):
        if start in covered:
            continue
        came = {start: -1}
        queue = [start]
        for here in queue:
            if start in below[here]:
                cycle = []
                while here >= 0:
                    cycle.append(here)
                    here = came[here]
                cycles.add(tuple(sorted(cycle)))
                covered.update(cycle)
                break
            for child in below[here]:
                if child in group and child not in came:
                    came[child] = here
                    queue.append(child)
    return cycles


def prove(
    piece: Piece,
    start: Choice,
    *,
    parts: int,
    effort: Callable[[], Effort | None],
    seed: int,
    work: float = math.inf,
    largest: float = math.inf,
) -> Found:
    """Raise the lower bound, and take what is found on the way; ``start`` is the solution so far.

    Args:
        parts: the most that branching looks at.
        effort: what the next program may spend, or None to stop.
        largest: how many nodes that may be in a better solution there may be.
        work: simplex iterations, at most.
    """
    landmarks = landmark_cuts(piece, lambda: effort() is None)
    cost, usable = piece.value(start)[0], landmarks.usable(piece.value(start)[0])
    spend = effort()
    if landmarks.price >= piece.enough(start) and not any(piece.tie):
        return Found(start, piece.lower(landmarks.price))
    if np.count_nonzero(usable) > largest or spend is None:
        return Found(start, piece.lower(landmarks.price))
    structure = structural_rows(piece, usable)
    mutual = cycle_cuts(mutual_pairs(piece))
    known: dict[CycleCut, None] = dict.fromkeys([*mutual, *landmarks.cuts])
    relaxation = Relaxation(piece, [structure, cycle_cut_rows(piece, known)], usable, spend)
    root = separate_cuts(
        piece, relaxation, known, rounds=SEPARATIONS, limit=work / 2, cost=cost, goal=piece.enough(start)
    )
    branching = Branching(piece, relaxation, known, start, max(landmarks.price, root.bound))
    branching.run(parts, work - root.work, lambda: effort() is None)
    best = branching.best
    if any(piece.tie) and branching.bound >= piece.enough(best):
        best = _least_tie(piece, structure, known, usable, best, effort=effort, seed=seed)
    return Found(best, piece.lower(branching.bound))


def _least_tie(
    piece: Piece,
    structure: Rows,
    known: dict[CycleCut, None],
    usable: Mask,
    best: Choice,
    *,
    effort: Callable[[], Effort | None],
    seed: int,
) -> Choice:
    """The solution with the smallest tie, of those that cost no more, as far as a few programs find it."""
    for _ in range(TIE_ROUNDS):
        spend = effort()
        if spend is None:
            break
        rows = [structure, cycle_cut_rows(piece, known)]
        found = smaller_tie(piece, rows, usable, spend, start=best, seed=seed).choice
        cycles = [] if found is None else cycles_in(piece, found)
        if found is None or not cycles:
            return found if found is not None and better(piece.value(found), piece.value(best)) else best
        known.update(dict.fromkeys(cycle_cuts(cycles)))
    return best
