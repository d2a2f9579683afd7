"""Separation of cuts for sets of classes that a fractional solution enters less than it uses them.

For a class c, the set S of classes with the least sum of nodes in ext(S) is a minimum cut, where every node
has one child: what flows from nodes without children to c, along nodes as wide as their value, falls short of
the value of c by what the cut of S is violated by.  Nodes of several children are taken for arcs from the
child that gets least, which finds sets, if not always the best; the cuts themselves hold in any case.

With the cuts of `landmark_cuts` these are the directed cuts of Steiner arborescences (Wong 1984; Koch and
Martin 1998), of which extraction is a generalisation: a node is an arc with several tails.
"""

from __future__ import annotations

from collections import deque

from egraph_opt.extraction.piece import Piece
from egraph_opt.extraction.programs.rows import CycleCut
from egraph_opt.extraction.structure import Floats

LEAST = 1e-3
"""How much a cut must be violated by to be added."""

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
    """Arcs between classes as wide as the nodes that they stand for; the source is behind the last class."""

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
