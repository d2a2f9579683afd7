"""Separation of cycle cuts: sets of classes that a fractional solution uses more than it can build.

Two separation procedures, both exact for their kind of set and in polynomial time:

- *Cycles.*  The cut of the classes on a cycle is violated where the uses along it that the solution does not
  make add up to less than the most used class on it: a shortest path for each class.
- *Unfounded sets.*  With the nodes up to some value left out, some classes cannot be built any more; the
  strongest components of what keeps them up hold little from outside.

A cut forbids no acyclic solution (see `linear`), so the relaxation with them is a lower bound.

Separation of cuts for sets of classes that a fractional solution enters less than it uses them.

For a class c, the set S of classes with the least sum of nodes in ext(S) is a minimum cut, where every node
has one child: what flows from nodes without children to c, along nodes as wide as their value, falls short of
the value of c by what the cut of S is violated by.  Nodes of several children are taken for arcs from the
child that gets least, which finds sets, if not always the best; the cuts themselves hold in any case.

With the cuts of `landmark_cuts` these are the directed cuts of Steiner arborescences (Wong 1984; Koch and
Martin 1998), of which extraction is a generalisation: a node is an arc with several tails.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, replace
from heapq import heappop, heappush

import numpy as np

from egraph_opt.extraction.piece import Piece
from egraph_opt.extraction.programs.linear import Cycle, CycleCut, Prices, cycle_cut_rows, external_nodes
from egraph_opt.extraction.programs.program import Relaxation
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
        multipliers: that prove the bound, of the rows that there were; None where there are none.
    """

    bound: int
    left: Prices | None
    work: int
    values: Floats | None
    done: bool
    multipliers: Floats | None = None


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
        best = found if found.multipliers is not None and found.bound >= relaxed.bound else relaxed
        bound, work = max(found.bound, best.bound), found.work + relaxed.work
        found = Separation(bound, best.left, work, relaxed.values, False, best.multipliers)
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


NONE = 1e-7
"""Values up to which a node carries nothing."""


def entrances(piece: Piece, node_value: Floats, class_value: Floats) -> list[CycleCut]:
    """For each class that is used the cut that says least can enter, if that is violated."""
    network, values = _Network(len(piece.classes)), class_value.tolist()
    found: list[CycleCut] = []
    for group in _in_order(piece, values):
        network.attach(piece, group, node_value)
        for here in group:
            cut = network.cut(here, values[here])
            if cut is not None:
                found.append((here, _leading(piece, here, cut, values)))
    return found


def _in_order(piece: Piece, values: list[float]) -> list[list[int]]:
    """The strongly connected classes that are used, those of children first."""
    groups: dict[int, list[int]] = {}
    for here, component in enumerate(piece.component.tolist()):
        if values[here] > LEAST:
            groups.setdefault(component, []).append(here)
    return [groups[component] for component in sorted(groups)]


def _leading(piece: Piece, here: int, reached: bytearray, values: list[float]) -> tuple[int, ...]:
    """The classes that are not reached and lead to one of them."""
    inside, stack = {here}, [here]
    while stack:
        for node in piece.options[stack.pop()]:
            for child in piece.children[node]:
                if not reached[child] and child not in inside and values[child] > NONE:
                    inside.add(child)
                    stack.append(child)
    return tuple(sorted(inside))


class _Network:
    """Arcs between classes as wide as the nodes that they represent; the source is behind the last class."""

    def __init__(self, count: int) -> None:
        self._source = count
        self._wide: list[dict[int, float]] = [{} for _ in range(count + 1)]
        self._into: list[list[int]] = [[] for _ in range(count + 1)]
        self._gets = [0.0] * count + [float("inf")]

    def attach(self, piece: Piece, group: list[int], node_value: Floats) -> None:
        """The nodes of some classes, which hang together, as arcs."""
        inside = set(group)
        for here in group:
            for node in piece.options[here]:
                value = float(node_value[node])
                if value <= NONE:
                    continue
                below = piece.children[node]
                within = [child for child in below if child in inside]
                tail = min(within or below, key=self._gets.__getitem__, default=self._source)
                if here not in self._wide[tail]:
                    self._into[here].append(tail)
                self._wide[tail][here] = self._wide[tail].get(here, 0.0) + value

    def cut(self, here: int, value: float) -> bytearray | None:
        """What the source reaches beside the least cut before a class, if that is below the class's value."""
        tails = self._into[here]
        if len(tails) == 1 and tails[0] != self._source:  # the class behind has the same cut
            self._gets[here] = min(value, self._gets[tails[0]])
            return None
        used: dict[tuple[int, int], float] = {}
        total = 0.0
        while total < value - LEAST:
            came = self._path(here, used)
            if came[here] == -1:
                self._gets[here] = total
                return bytearray(before != -1 for before in came)
            total += self._augment(here, came, used, value - total)
        self._gets[here] = value
        return None

    def _path(self, goal: int, used: dict[tuple[int, int], float]) -> list[int]:
        """Where each class that more can flow to is reached from, -1 for others; ends at the goal."""
        came = [-1] * (self._source + 1)
        came[self._source] = self._source
        queue = deque([self._source])
        while queue:
            here = queue.popleft()
            for other, width in self._wide[here].items():
                if came[other] == -1 and width - used.get((here, other), 0.0) > NONE:
                    came[other] = here
                    if other == goal:
                        return came
                    queue.append(other)
            for other in self._into[here]:
                if came[other] == -1 and used.get((other, here), 0.0) > NONE:
                    came[other] = here
                    queue.append(other)
        return came

    def _augment(self, goal: int, came: list[int], used: dict[tuple[int, int], float], most: float) -> float:
        """Send as much as goes along a path."""
        path = []
        while goal != self._source:
            path.append((came[goal], goal))
            goal = came[goal]
        forward = [self._wide[a].get(b, 0.0) - used.get((a, b), 0.0) for a, b in path]
        amount = min(
            most, *(room if room > NONE else used[b, a] for room, (a, b) in zip(forward, path, strict=True))
        )
        for room, (a, b) in zip(forward, path, strict=True):
            arc, sign = ((a, b), 1.0) if room > NONE else ((b, a), -1.0)
            used[arc] = used.get(arc, 0.0) + sign * amount
        return amount
