"""Separation of cycle cuts: sets of classes that a fractional solution uses more than it can build.

Two separation procedures, both exact for their kind of set and in polynomial time:

- *Cycles.*  The cut of the classes on a cycle is violated where the uses along it that the solution does not
  make add up to less than the most used class on it: a shortest path for each class.
- *Unfounded sets.*  With the nodes up to some value left out, some classes cannot be built any more; the
  strongest components of what keeps them up hold little from outside.

A cut forbids no acyclic solution (see `rows`), so the relaxation with them is a lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from heapq import heappop, heappush

import numpy as np

from egraph_opt.extraction.piece import Piece
from egraph_opt.extraction.programs.entrance_cuts import entrances
from egraph_opt.extraction.programs.linear import Prices
from egraph_opt.extraction.programs.relaxation import Relaxation
from egraph_opt.extraction.programs.rows import Cycle, CycleCut, cycle_cut_rows, external_nodes
from egraph_opt.extraction.structure import Floats, components_of, first_built

LEAST = 1e-3
"""How much a cut must be violated by to be added."""

THRESHOLDS = (1e-6, 0.05, 0.2, 0.34, 0.5)
"""The values up to which nodes are left out, in turn."""


@dataclass(frozen=True)
class Separation:
    """What the relaxation came to.

    Attributes:
        bound: a lower bound, in `Piece.price`.
        left: of each column, what a solution with it costs beyond that, at least.
        work: simplex iterations.
        values: of the last relaxed solution; None where there is none.
        done: no more cuts are violated.
    """

    bound: int
    left: Prices | None
    work: int
    values: Floats | None
    done: bool


def separate_cuts(
    piece: Piece,
    relaxation: Relaxation,
    known: dict[CycleCut, None],
    *,
    rounds: int,
    limit: float = math.inf,
    cost: float = math.inf,
    goal: float = math.inf,
) -> Separation:
    """Add to the ``known`` cuts those that relaxed solutions violate.

    Args:
        limit: of the work.
        cost: of a solution of the relaxation that is known.
        goal: the bound at which no more are needed.
    """
    found = Separation(0, None, 0, None, False)
    for _ in range(rounds):
        relaxed = relaxation.solve(cost)
        if relaxed is None:
            break
        bound, left = max((found.bound, found.left), (relaxed.bound, relaxed.left), key=lambda pair: pair[0])
        found = Separation(bound, left, found.work + relaxed.work, relaxed.values, False)
        if bound >= goal:
            break
        node_value, class_value = np.split(relaxed.values, [len(piece.nodes)])
        violated = violated_cuts(piece, node_value, class_value) + entrances(piece, node_value, class_value)
        new = list(dict.fromkeys(row for row in violated if row not in known))
        if not new:
            return replace(found, done=True)
        if found.work >= limit:
            break
        relaxation.add(cycle_cut_rows(piece, new))
        known.update(dict.fromkeys(new))
    return found


def binding(piece: Piece, cuts: Collection[CycleCut], values: Floats) -> list[CycleCut]:
    """The cuts that hold the values back, or would."""
    rows = cycle_cut_rows(piece, cuts)
    sums = np.bincount(rows.row, rows.value * values[rows.column], minlength=len(cuts))
    return [cut for cut, total in zip(cuts, sums.tolist(), strict=True) if total > -LEAST]


def violated_cuts(piece: Piece, node_value: Floats, class_value: Floats) -> list[CycleCut]:
    """The cycle rows of the sets found that the values violate, in order."""
    found = cycles(piece, node_value, class_value) | unfounded(piece, node_value, class_value)
    rows = []
    for cycle in sorted(found):
        built = float(node_value[external_nodes(piece, cycle)].sum())
        rows += [(here, cycle) for here in cycle if class_value[here] - built > LEAST]
    return rows


def cycles(piece: Piece, node_value: Floats, class_value: Floats) -> set[Cycle]:
    """For each class the cycle through it whose row is violated most, as sets."""
    node, child = piece.cyclic_pairs
    size = len(piece.classes)
    keys, place = np.unique(piece.owners[node].astype(np.int64) * size + child, return_inverse=True)
    use = np.bincount(place, weights=node_value[node], minlength=len(keys))
    above, below = keys // max(size, 1), keys % max(size, 1)
    usual = (use > LEAST / 10) & (class_value[below] > LEAST / 10)
    lost = np.maximum(class_value[above] - use, 0.0)
    steps: dict[int, list[tuple[int, float]]] = {}
    for here, other, weight in zip(
        above[usual].tolist(), below[usual].tolist(), lost[usual].tolist(), strict=True
    ):
        steps.setdefault(here, []).append((other, weight))
    found: set[Cycle] = set()
    for start in sorted(steps):
        cycle = _shortest(start, steps, float(class_value[start]) - LEAST)
        if cycle is not None:
            found.add(cycle)
    return found


def _shortest(start: int, steps: dict[int, list[tuple[int, float]]], limit: float) -> Cycle | None:
    """The classes of the lightest cycle through ``start`` that weighs less than ``limit``."""
    weight, came = {start: 0.0}, {start: -1}
    heap, done, last = [(0.0, start)], set(), -1
    while heap:
        so_far, here = heappop(heap)
        if here in done or so_far >= limit:
            continue
        done.add(here)
        for other, more in steps.get(here, ()):
            total = so_far + more
            if total >= limit:
                continue
            if other == start:
                limit, last = total, here
            elif total < weight.get(other, limit):
                weight[other], came[other] = total, here
                heappush(heap, (total, other))
    if last < 0:
        return None
    cycle = []
    while last >= 0:
        cycle.append(last)
        last = came[last]
    return tuple(sorted(cycle))


def unfounded(piece: Piece, node_value: Floats, class_value: Floats) -> set[Cycle]:
    """Groups of classes that hold each other up, for each of the thresholds."""
    found: set[Cycle] = set()
    for threshold in THRESHOLDS:
        strong = node_value > threshold
        built = first_built(np.flatnonzero(strong).tolist(), piece.children, piece.owner, piece.users)
        lost = [here for here in np.flatnonzero(class_value > threshold).tolist() if built[here] < 0]
        if not lost:
            continue
        below: list[list[int]] = [[] for _ in piece.classes]
        for here in lost:
            needs = {child for k in piece.options[here] if strong[k] for child in piece.children[k]}
            below[here] = sorted(child for child in needs if built[child] < 0)
        component = components_of(below).tolist()
        groups: dict[int, list[int]] = {}
        for here in lost:
            groups.setdefault(component[here], []).append(here)
        found.update(tuple(group) for group in groups.values() if len(group) > 1)
    return found
