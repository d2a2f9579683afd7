"""Proved optima by cutting planes: the program without acyclicity, and cuts for the cycles of its solutions.

Every pair of classes that use each other (a transpose there and back) gets its cycle cuts beforehand; longer
cycles get theirs when a solution runs through them.  Each round's bound is a lower bound of the problem, and
a round whose optimum is acyclic ends the search.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from egraph_opt.extraction.checking import better
from egraph_opt.extraction.piece import Choice, Found, Piece
from egraph_opt.extraction.programs.cut_separation import separate_cuts
from egraph_opt.extraction.programs.highs import Effort
from egraph_opt.extraction.programs.landmark_cuts import landmark_cuts
from egraph_opt.extraction.programs.precedence import Precedence, precedence
from egraph_opt.extraction.programs.program import solve_with_ties
from egraph_opt.extraction.programs.rows import Cycle, CycleCut, cycle_cut_rows, cycle_cuts, structural_rows
from egraph_opt.extraction.structure import components_of

SEPARATIONS = 60
"""The most relaxations that are solved to separate cuts."""

CYCLE_CUTS_FIRST = 4
"""Programs with cycle cuts alone before those of precedence are added."""

TRIPLES = 20
"""Rows of precedence for each node, at most."""


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
    rounds: int,
    effort: Callable[[], Effort | None],
    seed: int,
    work: float = math.inf,
    largest: float = math.inf,
) -> Found:
    """Raise the lower bound, and take what the rounds find; ``start`` is the solution so far.

    Args:
        rounds: the most programs that are solved.
        largest: how many nodes that may be in a better solution they may have.
        work: no further one is begun once they took so much (see `Answer.work`).
    """
    best, value = start, piece.value(start)
    landmarks = landmark_cuts(piece, lambda: effort() is None)
    bound, usable = min(landmarks.bound, value[0]), landmarks.usable(value[0])
    if bound >= value[0] * (1 - 1e-9) or np.count_nonzero(usable) > largest:
        return Found(best, bound)
    structure = structural_rows(piece, usable)
    mutual = cycle_cuts(mutual_pairs(piece))
    known: dict[CycleCut, None] = dict.fromkeys([*mutual, *landmarks.cuts])
    spend = effort()
    if spend is not None:
        separated = separate_cuts(piece, structure, usable, known, spend, rounds=SEPARATIONS, limit=work / 2)
        bound, work = max(bound, min(separated.bound, value[0])), work - separated.work
        known = dict.fromkeys([*mutual, *separated.binding])
    orders: Precedence | None = None
    for number in range(rounds):
        spend = effort()
        if spend is None or work <= 0 or bound >= value[0] * (1 - 1e-9):
            break
        if number == CYCLE_CUTS_FIRST:
            orders = precedence(piece, TRIPLES * len(piece.nodes))
        rows = [structure, cycle_cut_rows(piece, known)]
        if orders is not None:
            rows.append(orders.rows)
            spend = replace(spend, heuristics=0.0)
        columns = 0 if orders is None else orders.columns
        answer = solve_with_ties(piece, rows, usable, spend, start=best, seed=seed, columns=columns)
        work -= answer.work
        bound = max(bound, min(answer.bound, value[0]))
        shown = [] if answer.choice is None else cycle_cuts(cycles_in(piece, answer.choice))
        new = [row for row in shown if row not in known]
        if answer.choice is not None and piece.order(answer.choice) is not None:
            if better(piece.value(answer.choice), value):
                best, value = answer.choice, piece.value(answer.choice)
            if answer.optimal:
                bound = value[0]
        if not new:
            break
        known.update(dict.fromkeys(new))
    return Found(best, bound)
