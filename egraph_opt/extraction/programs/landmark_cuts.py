"""A lower bound and cuts from disjunctive landmarks: sets of nodes of which every solution holds one.

This is LM-cut (Helmert and Domshlak, "Landmarks, critical paths and abstractions: what's the difference
anyway?", ICAPS 2009), a heuristic of planning without deletes, of which extraction is an instance.  What a
class needs at least is what one of its nodes costs with the most expensive child of that, the node's
*supporter*.  The set S of classes from which only nodes without cost lead up to a root, by supporters, must
be entered by a node that costs something: one of ext(S) is chosen (see `linear`).  The least cost of these is
added to the bound and taken off each of them, until a root needs nothing more.

What is left of a node's cost is what a solution with that node costs beyond the bound, at least: a node with
more than the best solution leaves is in no better one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from egraph_opt.extraction.piece import Piece
from egraph_opt.extraction.programs.linear import CycleCut, external_nodes
from egraph_opt.extraction.structure import Floats, Mask

MOST_STEPS = 5_000_000
"""Nodes that are looked at, at most; two or three seconds."""


@dataclass(frozen=True)
class LandmarkCuts:
    """What LM-cut found.

    Attributes:
        bound: a lower bound of the cost.
        price: the same in `Piece.price`.
        cuts: a root and a set of classes each.
        left: of each node's cost what no cut accounts for.
    """

    bound: float
    price: int
    cuts: list[CycleCut]
    left: Floats

    def usable(self, cost: float) -> Mask:
        """The nodes of solutions that cost no more than that."""
        return self.left <= max(cost - self.bound, 0.0) + 1e-9 * cost


def landmark_cuts(
    piece: Piece, late: Callable[[], bool] = lambda: False, steps: int = MOST_STEPS
) -> LandmarkCuts:
    """Cuts one after the other, as long as they raise the bound."""
    needs = _Needs(piece)
    bound, cuts = 0, []
    while needs.steps < steps and not late():
        root = max(piece.roots, key=needs.of.__getitem__, default=-1)
        if root < 0 or needs.of[root] == 0:
            break
        zone = needs.zone(root)
        entering = external_nodes(piece, zone)
        least = min(needs.left[node] for node in entering)
        bound += least
        cuts.append((root, zone))
        needs.lower(entering, least)
    return LandmarkCuts(piece.lower(bound), bound, cuts, np.array(needs.left) * piece.unit)


class _Needs:
    """What classes need at least, while the costs of nodes are lowered."""

    def __init__(self, piece: Piece) -> None:
        self._piece = piece
        self.left = list(piece.price)
        self.steps = 0
        self.of = [sum(self.left) + 1] * len(piece.classes)
        self._supporter = [-1] * len(piece.nodes)
        self._rank = piece.component.tolist()
        self._waiting: list[tuple[int, int, int]] = []
        self._bring_down(node for node, below in enumerate(piece.children) if not below)

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
            most, supporter = 0, -1
            for child in children[node]:
                if supporter < 0 or of[child] > most:
                    most, supporter = of[child], child
            self._supporter[node] = supporter
            self.steps += 1
            here = self._piece.owner[node]
            if left[node] + most < of[here]:
                of[here] = left[node] + most
                heappush(self._waiting, (self._rank[here], of[here], here))
