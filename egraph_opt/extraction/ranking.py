"""The next cheapest solutions, one after the other.

Lawler's partition (1972): all solutions but the best one, S, are those that agree with S on the first i
classes, users first, and differ on the next one, for one i.  Each part is a problem with nodes left out, and
has a best solution of its own.  Parts are solved only when nothing that is at hand is cheaper.  Pieces that
do not depend on each other are ranked apart, and their solutions combined in the order of the sums: the work
adds up, and does not multiply.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from heapq import heappop, heappush

import numpy as np

from egraph_opt.errors import ExtractionError
from egraph_opt.extraction.presolve.presolve import presolve
from egraph_opt.extraction.problem import ExtractionProblem, has_solution
from egraph_opt.extraction.registry import ExtractorLike, Solve, extract, extractor_named, solution_of
from egraph_opt.extraction.solution import Solution, check, chosen_children, measure
from egraph_opt.extraction.structure import Ints, Mask, topological

CostAndTie = tuple[float, float]
"""What solutions are ranked by."""

Pick = tuple[tuple[int, int], ...]
"""Of which pieces another solution than the best is taken, and which: (piece, rank), sorted by piece."""


def k_best(
    problem: ExtractionProblem,
    k: int,
    extractor: ExtractorLike = "auto",
    *,
    iterations: int = 200,
    seconds: float | None = None,
    seed: int = 0,
) -> list[Solution]:
    """The ``k`` cheapest solutions, cheapest first; fewer where there are no more.

    Solutions are distinct in what they choose, though they may cost the same (then the smaller tie is first).

    Args:
        extractor: solves the parts that solutions are found in.
        iterations: programs for any one piece of a part.
        seconds: when these are over, only what was found until then is returned.
        seed: of the searches.

    Returns:
        Solutions whose ``lower_bound`` says that fewer than i + 1 solutions cost less, for the i-th (from 0);
        ``proved`` that its cost is the one of the i-th cheapest.

    Raises:
        ExtractionError: no solution of finite cost, an unknown extractor, a ``k`` below 1.

    >>> problem = ExtractionProblem(  # class 0: by class 1 (cost 1 + 1), or alone (5, 6)
    ...     node_class=np.array([0, 0, 0, 1]), child_ptr=np.array([0, 1, 1, 1, 1]), child=np.array([1]),
    ...     cost=np.array([1.0, 5.0, 6.0, 1.0]), roots=np.array([0]))
    >>> [(solution.cost, solution.nodes.tolist()) for solution in k_best(problem, 2)]
    [(2.0, [0, 3]), (5.0, [1])]
    """
    if k < 1:
        raise ExtractionError(f"k={k}: must be at least 1")
    name = extractor_named(extractor).name
    deadline = None if seconds is None else time.monotonic() + seconds

    def solve(part: ExtractionProblem) -> Solution | None:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            return None
        return extract(part, extractor, iterations=iterations, seconds=left, seed=seed)

    presolved = presolve(problem, None, at_any_cost=True)
    rankings = [_Ranking(piece.problem, solve) for piece in presolved.pieces]
    picks = _cheapest_sums(len(rankings), k, lambda piece, rank: rankings[piece].value(rank))
    lowest = _cheapest_sums(len(rankings), k, lambda piece, rank: rankings[piece].bound(rank))
    choices = []
    for pick in picks:
        ranks = dict(pick)
        parts = [r.choice(ranks.get(piece, 0)).tolist() for piece, r in enumerate(rankings)]
        choices.append(presolved.postsolve(parts))
    choices.sort(key=lambda choice: measure(problem, choice))
    solutions = []
    for choice, pick in zip(choices, lowest, strict=False):
        ranks = dict(pick)
        bounds = [r.bound(ranks.get(piece, 0)) for piece, r in enumerate(rankings)]
        check(problem, choice)
        bound = presolved.bound(value[0] for value in bounds if value is not None)
        solutions.append(solution_of(problem, choice, bound, name))
    return solutions


def _cheapest_sums(pieces: int, k: int, value: Callable[[int, int], CostAndTie | None]) -> list[Pick]:
    """The picks of the ``k`` smallest sums of one value for each piece; ranks count from 0.

    Every pick but the empty one comes of one other: its last piece one rank lower.
    """
    empty: Pick = ()
    heap: list[tuple[float, float, Pick]] = [(0.0, 0.0, empty)]
    picks: list[Pick] = []
    while heap and len(picks) < k:
        cost, tie, pick = heappop(heap)
        picks.append(pick)
        if len(picks) == k:
            break
        last, rank = pick[-1] if pick else (-1, 0)
        steps = [(piece, 0, pick) for piece in range(last + 1, pieces)]
        if pick:
            steps.append((last, rank, pick[:-1]))
        for piece, old, kept in steps:
            before, after = value(piece, old), value(piece, old + 1)
            if before is not None and after is not None:
                more = cost - before[0] + after[0], tie - before[1] + after[1]
                heappush(heap, (*more, (*kept, (piece, old + 1))))
    return picks


@dataclass(frozen=True, eq=False)
class _Part:
    """The solutions that use nodes of ``allowed`` only.

    Attributes:
        bound: none costs less.
        best: one of them with the least value known.
        order: its classes, users first.
    """

    allowed: Mask
    bound: float
    best: Ints
    order: Ints


class _Ranking:
    """The solutions of one piece, found on demand."""

    def __init__(self, problem: ExtractionProblem, solve: Solve) -> None:
        self.problem, self._solve = problem, solve
        self.found: list[Ints] = []
        self._values: list[CostAndTie] = []
        self._bounds: list[float] = []
        self._abandoned = math.inf
        # By value: parts that are solved, and after them (part, i): those of its solutions that differ first
        # in its i-th class, which cost no less than its best one if that is proved.
        self._heap: list[tuple[float, float, int, int, _Part, int]] = []
        self._number = 0
        everything = np.ones(problem.n_nodes, np.bool_)
        self._look_into(everything, 0.0)
        if not self._heap:  # no time at all
            choice = extract(problem, "greedy-dag").choice
            self._push(_Part(everything, 0.0, choice, _users_first(problem, choice)), -1)

    def value(self, rank: int) -> CostAndTie | None:
        """What the solution of a rank costs; None if there is none, or no time to find it."""
        while len(self.found) <= rank:
            if not self._next():
                return None
        return self._values[rank]

    def choice(self, rank: int) -> Ints:
        """The solution of a rank that there is."""
        self.value(rank)
        return self.found[rank]

    def bound(self, rank: int) -> CostAndTie | None:
        """A cost that the solution of a rank cannot be below (and a tie of 0); None if there is none."""
        if rank < len(self._bounds):
            return self._bounds[rank], 0.0
        left = self._least()
        return (left, 0.0) if math.isfinite(left) else None

    def _least(self) -> float:
        return min([self._abandoned, *(entry[4].bound for entry in self._heap)])

    def _push(self, part: _Part, position: int) -> None:
        self._number += 1
        heappush(
            self._heap, (*measure(self.problem, part.best), int(position >= 0), self._number, part, position)
        )

    def _next(self) -> bool:
        """Find one more solution."""
        while self._heap:
            *_, part, position = heappop(self._heap)
            if position < 0:
                least = min(part.bound, self._least())
                self.found.append(part.best)
                self._values.append(measure(self.problem, part.best))
                self._bounds.append(max([least, *self._bounds[-1:]]))
                self._split(part)
                return True
            self._look_into(self._allowed(part, position), part.bound)
        return False

    def _look_into(self, allowed: Mask, bound: float) -> None:
        """Solve a part, if it has a solution."""
        problem = replace(self.problem, cost=np.where(allowed, self.problem.cost, np.inf))
        if not has_solution(problem):
            return
        solution = self._solve(problem)
        if solution is None:
            self._abandoned = min(self._abandoned, bound)
            return
        order = _users_first(self.problem, solution.choice)
        self._push(_Part(allowed, max(bound, solution.lower_bound), solution.choice, order), -1)

    def _split(self, part: _Part) -> None:
        open_nodes = np.bincount(self.problem.node_class[part.allowed], minlength=self.problem.n_classes)
        for position, here in enumerate(part.order.tolist()):
            if open_nodes[here] > 1:
                self._push(part, position)

    def _allowed(self, part: _Part, position: int) -> Mask:
        """The nodes of the solutions that differ from the best one first at a position of its order."""
        order = part.order
        same = np.zeros(self.problem.n_classes, np.bool_)
        same[order[:position]] = True
        allowed = part.allowed & ~same[self.problem.node_class]
        allowed[part.best[order[:position]]] = True
        allowed[part.best[order[position]]] = False
        return allowed


def _users_first(problem: ExtractionProblem, choice: Ints) -> Ints:
    """The classes of a solution, each before those that its node uses."""
    order = topological(chosen_children(problem, choice))
    if order is None:
        raise AssertionError("a solution with a cycle")
    return np.flatnonzero(choice >= 0).astype(np.int32)[order[::-1]]
