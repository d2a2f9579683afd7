"""Branch and cut: a lower bound that is ours, from relaxations whose bounds are.

A relaxed solution that is not in whole numbers is excluded by asking twice: with a class and without it, or
with a node and with another one of its class.  Whether anything can be built at all is seen without a solver.
The bound of the piece is the least of those of the parts that are left.  Cuts that are found in one part hold
in all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from egraph_opt.extraction.piece import Choice, Piece
from egraph_opt.extraction.programs.cut_separation import separate_cuts
from egraph_opt.extraction.programs.linear import CycleCut, common_divisor
from egraph_opt.extraction.programs.program import Relaxation
from egraph_opt.extraction.solution import better
from egraph_opt.extraction.structure import Floats, first_built

SEPARATIONS = 10
"""Relaxations of a part, each with more cuts."""

WHOLE = 1e-5
"""How far from a whole number a value may be that counts as one."""


class _Region(NamedTuple):
    """Some of the solutions: those within bounds of the columns."""

    lower: Floats
    upper: Floats


class Branching:
    """Parts of the solutions of a piece, of which the one with the least bound is looked at next.

    Attributes:
        best: the best solution so far.
        work: simplex iterations.
    """

    def __init__(
        self, piece: Piece, relaxation: Relaxation, known: dict[CycleCut, None], best: Choice, bound: int
    ) -> None:
        """Take a relaxation with its cuts, the best solution and a lower bound so far."""
        self._piece, self._relaxation, self._known = piece, relaxation, known
        self.best, self.work = best, 0
        usable = np.flatnonzero(relaxation.program.upper[: len(piece.nodes)])
        self._step = common_divisor([piece.price[node] for node in usable.tolist()])
        self._open: list[tuple[int, int, _Region]] = []
        self._closed = piece.price_of(best)
        self._number = 0
        self._push(bound, _Region(relaxation.program.lower, relaxation.program.upper))

    @property
    def bound(self) -> int:
        """No solution has a lower price."""
        return min(self._closed, self._open[0][0]) if self._open else self._closed

    @property
    def goal(self) -> int:
        """The bound that proves the best solution."""
        return self._piece.enough(self.best)

    def run(self, parts: int, work: float, late: Callable[[], bool]) -> None:
        """Look at so many parts, with so many simplex iterations, at most."""
        while self._open and self.bound < self.goal <= self._closed:
            if parts <= 0 or self.work >= work or late():
                return
            parts -= 1
            bound, _, part = heappop(self._open)
            self._look_at(bound, part, work)

    def _look_at(self, bound: int, part: _Region, limit: float) -> None:
        if not self._can_be_built(part):
            return
        self._relaxation.bound(part.lower, part.upper)
        found = separate_cuts(
            self._piece,
            self._relaxation,
            self._known,
            rounds=SEPARATIONS,
            limit=limit - self.work,
            goal=self.goal,
        )
        self.work += found.work
        bound = max(bound, -(-found.bound // self._step) * self._step)
        halves: list[_Region] = []
        if found.values is not None:
            self._round(found.values)
            if bound < self.goal:
                halves = self._halves(found.values, part)
        if not halves:  # done, or the solver has no answer
            self._closed = min(self._closed, bound)
        for half in halves:
            self._push(bound, half)

    def _push(self, bound: int, part: _Region) -> None:
        self._number -= 1  # of equal ones the last, which has most in common with what was solved before
        heappush(self._open, (bound, self._number, part))

    def _can_be_built(self, part: _Region) -> bool:
        """Whether the part has a solution: what is asked for can be built from what may be used."""
        piece = self._piece
        node_upper, class_lower = part.upper[: len(piece.nodes)], part.lower[len(piece.nodes) :]
        built = first_built(np.flatnonzero(node_upper).tolist(), piece.children, piece.owner, piece.users)
        return all(built[here] >= 0 for here in np.flatnonzero(class_lower).tolist())

    def _round(self, values: Floats) -> None:
        """A solution from the nodes with the largest values."""
        piece = self._piece
        missing = [len(below) for below in piece.children]
        choice = [-1] * len(piece.classes)
        order = (-np.round(values[: len(piece.nodes)], 6)).tolist()
        heap = [(order[node], piece.price[node], node) for node, count in enumerate(missing) if not count]
        heapify(heap)
        while heap:
            _, _, node = heappop(heap)
            here = piece.owner[node]
            if choice[here] >= 0:
                continue
            choice[here] = node
            for above in piece.users[here]:
                missing[above] -= 1
                if not missing[above] and choice[piece.owner[above]] < 0:
                    heappush(heap, (order[above], piece.price[above], above))
        choice = piece.used(choice)
        if better(piece.value(choice), piece.value(self.best)):
            self.best = choice
            self._closed = min(self._closed, piece.price_of(choice))

    def _halves(self, values: Floats, part: _Region) -> list[_Region]:
        """With and without the class that is most in doubt, or a node of one; none where all are whole."""
        nodes = len(self._piece.nodes)
        doubt = np.minimum(values, 1.0 - values)
        here = nodes + int(np.argmax(doubt[nodes:])) if len(values) > nodes else 0
        if doubt[here] <= WHOLE:
            here = int(np.argmax(doubt[:nodes]))
        if doubt[here] <= WHOLE:
            return []
        return [self._without(here, part), self._with(here, part)]

    def _without(self, column: int, part: _Region) -> _Region:
        upper = part.upper.copy()
        upper[column] = 0.0
        if column >= len(self._piece.nodes):
            here = column - len(self._piece.nodes)
            upper[self._piece.options[here]] = 0.0
            upper[self._piece.users[here]] = 0.0
        return _Region(part.lower, upper)

    def _with(self, column: int, part: _Region) -> _Region:
        lower, upper = part.lower.copy(), part.upper
        nodes = len(self._piece.nodes)
        here = column - nodes if column >= nodes else self._piece.owner[column]
        lower[nodes + here] = 1.0
        if column < nodes:
            upper = upper.copy()
            upper[[node for node in self._piece.options[here] if node != column]] = 0.0
        return _Region(lower, upper)
