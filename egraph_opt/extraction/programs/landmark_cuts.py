"""A lower bound and cuts from disjunctive landmarks: sets of nodes of which every solution holds one.

This is LM-cut (Helmert and Domshlak, "Landmarks, critical paths and abstractions: what's the difference
anyway?", ICAPS 2009), a heuristic of planning without deletes, of which extraction is an instance.  What a
class needs at least is what one of its nodes costs with the most expensive child of that, the node's
*supporter*.  The set S of classes from which only nodes without cost lead up to a root, by supporters, must
be entered by a node that costs something: one of ext(S) is chosen (see `linear`).  The least cost of these is
added to the bound and taken off each of them, until a root needs nothing more.

A class that every solution holds is as good as a root.  Such *goals* come one after the other, from the
inputs up: what lies below the next one needs nothing more, so that a cut changes only what is between two of
them, and a network of many layers takes time in proportion to their number.

What is left of a node's cost is what a solution with that node costs beyond the bound, at least: a node with
more than the best solution leaves is in no better one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from egraph_opt.extraction.piece import Piece
from egraph_opt.extraction.presolve.dominance import landmarks, members, needs_of
from egraph_opt.extraction.programs.linear import CycleCut, external_nodes
from egraph_opt.extraction.structure import Floats, Mask

WIDEST = 10_000
"""Classes up to which all that every solution holds is found: it takes their square in bits."""

MOST_STEPS = 5_000_000
"""Nodes that are looked at, at most; two or three seconds."""


@dataclass(frozen=True)
class LandmarkCuts:
    """What LM-cut found.

    Attributes:
        bound: a lower bound of the cost.
        price: the same in `Piece.price`.
        cuts: a root and a set of classes each.
        amounts: by how much each cut raised the bound, in `Piece.price`.
        left: of each node's cost what no cut accounts for.
    """

    bound: float
    price: int
    cuts: list[CycleCut]
    amounts: list[int]
    left: Floats

    def usable(self, cost: float) -> Mask:
        """The nodes of solutions that cost no more than that."""
        return self.left <= max(cost - self.bound, 0.0) + 1e-9 * cost


def landmark_cuts(
    piece: Piece, late: Callable[[], bool] = lambda: False, steps: int = MOST_STEPS
) -> LandmarkCuts:
    """Cuts one after the other, as long as they raise the bound."""
    needs = _Needs(piece)
    bound, cuts, amounts = 0, [], []
    for goal in _goals(piece):
        needs.go_up(goal)
        while needs.of[goal] and needs.steps < steps and not late():
            zone = needs.zone(goal)
            entering = external_nodes(piece, zone)
            least = min(needs.left[node] for node in entering)
            bound += least
            cuts.append((goal, zone))
            amounts.append(least)
            needs.lower(entering, least)
        if needs.of[goal]:
            break
    return LandmarkCuts(piece.lower(bound), bound, cuts, amounts, np.array(needs.left) * piece.unit)


def _goals(piece: Piece) -> list[int]:
    """The classes that every solution holds, or of a wide piece its roots, from the inputs up."""
    found = piece.roots
    if len(piece.classes) <= WIDEST:
        found = members(needs_of(landmarks(piece.options, piece.children), piece.roots))
    return sorted(found, key=lambda here: (piece.component[here], here))


class _Needs:
    """What classes need at least, as far up as it was asked for, while the costs of nodes are lowered."""

    def __init__(self, piece: Piece) -> None:
        self._piece = piece
        self.left = list(piece.price)
        self.steps = 0
        self.of = [sum(self.left) + 1] * len(piece.classes)
        self._supporter = [-1] * len(piece.nodes)
        self._rank: list[int] = piece.component.tolist()
        self._waiting: list[tuple[int, int, int]] = []
        self._upwards = sorted(range(len(piece.nodes)), key=lambda node: self._rank[piece.owner[node]])
        self._seen, self._top = 0, -1

    def go_up(self, goal: int) -> None:
        """Look at all that a class may be made of."""
        self._top, first = max(self._top, self._rank[goal]), self._seen
        while self._seen < len(self._upwards) and self._rank_of(self._upwards[self._seen]) <= self._top:
            self._seen += 1
        self._bring_down(self._upwards[first : self._seen])

    def _rank_of(self, node: int) -> int:
        return self._rank[self._piece.owner[node]]

    def zone(self, root: int) -> tuple[int, ...]:
        """The classes from which supporters lead up to a root by nodes that cost nothing any more."""
        inside, stack = {root}, [root]
        while stack:
            for node in self._piece.options[stack.pop()]:
                supporter = self._supporter[node]
                if not self.left[node] and supporter >= 0 and supporter not in inside:
                    inside.add(supporter)
                    stack.append(supporter)
        return tuple(sorted(inside))

    def lower(self, nodes: list[int], by: int) -> None:
        """Take something off the cost of nodes."""
        for node in nodes:
            self.left[node] -= by
        self._bring_down(nodes)

    def _bring_down(self, nodes: Iterable[int]) -> None:
        """Lower what is too high, from some nodes upwards.

        Classes are settled as in Dijkstra's algorithm (Knuth 1977), one strong component after the other.
        """
        self._look_at(nodes)
        while self._waiting:
            _, value, here = heappop(self._waiting)
            if value == self.of[here]:
                self._look_at(self._piece.users[here])

    def _look_at(self, nodes: Iterable[int]) -> None:
        of, children, left = self.of, self._piece.children, self.left
        for node in nodes:
            here = self._piece.owner[node]
            if self._rank[here] > self._top:
                continue
            most, supporter = 0, -1
            for child in children[node]:
                if supporter < 0 or of[child] > most:
                    most, supporter = of[child], child
            self._supporter[node] = supporter
            self.steps += 1
            if left[node] + most < of[here]:
                of[here] = left[node] + most
                heappush(self._waiting, (self._rank[here], of[here], here))
