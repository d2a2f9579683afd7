"""Proved optima: the program without acyclicity, and loop rows for the cycles that its solutions show.

Every pair of classes that use each other (a transpose there and back) gets its loop rows beforehand; longer
cycles get theirs when a solution runs through them.  Each round's bound is a lower bound of the problem, and
a round whose optimum is acyclic ends the search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from egraph_opt.extraction.checking import better
from egraph_opt.extraction.piece import Choice, Piece
from egraph_opt.extraction.program import Effort, Loop, loop_rows, solve_with_ties, structural_rows
from egraph_opt.extraction.separation import separate
from egraph_opt.extraction.structure import pointers, strong_components

SEPARATIONS = 60
"""The most relaxations that are solved to find rows."""


@dataclass(frozen=True)
class Found:
    """A solution of a piece (the used part only) and a lower bound of the piece's cost."""

    choice: Choice
    bound: float


def mutual_pairs(piece: Piece) -> list[Loop]:
    """All pairs of classes that use each other."""
    node, child = piece.cyclic_pairs
    n = len(piece.classes)
    edges = np.unique(piece.owners[node].astype(np.int64) * n + child)
    above, below = edges // n, edges % n
    mutual = edges[(above < below) & np.isin(below * n + above, edges)]
    return [(int(edge // n), int(edge % n)) for edge in mutual]


def loops_in(piece: Piece, choice: Choice) -> list[Loop]:
    """The sets of classes on cycles of a choice: whole strong components, and one shortest cycle in each."""
    below = [piece.children[node] if node >= 0 else () for node in choice]
    owner = np.repeat(np.arange(len(below)), [len(children) for children in below])
    target = np.array([child for children in below for child in children], np.int32)
    component = strong_components(pointers(owner, len(below)), target)
    size = np.bincount(component)
    members: dict[int, list[int]] = {}
    for here in np.flatnonzero(size[component] > 1).tolist():
        members.setdefault(int(component[here]), []).append(here)
    found: set[Loop] = set()
    for group in members.values():
        found.add(tuple(group))
        found.update(_short_cycles(below, set(group)))
    return sorted(found)


def _short_cycles(below: list[tuple[int, ...]], group: set[int]) -> set[Loop]:
    """A shortest cycle through each of a few classes of a strongly connected group."""
    cycles: set[Loop] = set()
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
    rounds: int,
    effort: Callable[[], Effort | None],
    seed: int,
) -> Found:
    """Raise the lower bound, and take what the rounds find; ``start`` is the solution so far."""
    best, value, bound = start, piece.value(start), 0.0
    usable = np.ones(len(piece.nodes), np.bool_)
    structure = structural_rows(piece, usable)
    loops = dict.fromkeys(mutual_pairs(piece))
    spend = effort()
    if spend is not None and len(piece.cyclic_pairs[0]):
        bound = min(separate(piece, structure, loops, spend, SEPARATIONS), value[0])
    for _ in range(rounds):
        spend = effort()
        if spend is None:
            break
        answer = solve_with_ties(
            piece, [structure, loop_rows(piece, loops)], usable, spend, start=best, seed=seed
        )
        bound = max(bound, min(answer.bound, value[0]))
        new = [] if answer.choice is None else [x for x in loops_in(piece, answer.choice) if x not in loops]
        if answer.choice is not None and piece.order(answer.choice) is not None:
            if better(piece.value(answer.choice), value):
                best, value = answer.choice, piece.value(answer.choice)
            if answer.optimal:
                bound = value[0]
        if not new or bound >= value[0] * (1 - 1e-9):
            break
        loops.update(dict.fromkeys(new))
    return Found(best, bound)
