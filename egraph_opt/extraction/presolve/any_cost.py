"""Presolve for problems that are priced again and again: what holds whatever the nodes cost.

Nodes that no solution can hold, classes that nothing needs and choices of one need not be looked at under the
next prices: they are left out once, and each price list is solved on the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from egraph_opt.errors import ExtractionError
from egraph_opt.extraction.checking import check, used_part
from egraph_opt.extraction.presolve.presolve import presolve
from egraph_opt.extraction.problem import ExtractionProblem
from egraph_opt.extraction.solution import Solution
from egraph_opt.extraction.structure import Floats, Ints


@dataclass(frozen=True, eq=False)
class Reduced:
    """A smaller problem with the same solutions.

    Attributes:
        whole: the problem that it was made of; a node whose cost is infinite there is out for good.
        problem: the smaller problem.
        node, class_: per node and class of `problem` its id in `whole`.
        fixed: per class of `whole` the node of every solution, or -1.
    """

    whole: ExtractionProblem
    problem: ExtractionProblem
    node: Ints
    class_: Ints
    fixed: Ints

    def at(self, cost: Floats) -> ExtractionProblem:
        """The smaller problem at other costs, given per node of the whole problem."""
        return replace(self.problem, cost=cost[self.node])

    def down(self, choice: Ints | None) -> Ints | None:
        """A choice of the whole problem in the smaller one; None where it is no solution there."""
        if choice is None or choice.shape != (self.whole.n_classes,):
            return None
        number = np.full(self.whole.n_nodes + 1, -1, np.int32)
        number[self.node] = np.arange(len(self.node), dtype=np.int32)
        small = number[choice[self.class_]]
        free = replace(self.problem, cost=np.zeros(len(self.node)))
        try:
            small = used_part(free, small)
            check(free, small)
        except (ExtractionError, IndexError):
            return None
        return small

    def up(self, choice: Ints) -> Ints:
        """A solution of the smaller problem as one of the whole problem."""
        answer = self.fixed.copy()
        used = choice >= 0
        answer[self.class_[used]] = self.node[choice[used]]
        return answer

    def lift(self, solution: Solution, cost: Floats) -> Solution:
        """A solution of ``self.at(cost)`` as one of the whole problem."""
        choice = self.up(solution.choice)
        total = math.fsum(cost[choice[choice >= 0]].tolist())
        settled = math.fsum(cost[self.fixed[self.fixed >= 0]].tolist())
        lower = total if solution.proved else min(total, settled + solution.lower_bound)
        pieces = tuple(
            replace(piece, roots=tuple(self.class_[list(piece.roots)].tolist())) for piece in solution.pieces
        )
        return replace(solution, choice=choice, cost=total, lower_bound=lower, pieces=pieces)


def presolve_at_any_cost(problem: ExtractionProblem) -> Reduced:
    """Leave out what is settled whatever the nodes of finite cost cost.

    Raises:
        ExtractionError: a root has no acyclic solution of finite cost.
    """
    presolved = presolve(problem, None, at_any_cost=True)
    pieces = presolved.pieces
    bounds = np.cumsum([0, *(len(piece.classes) for piece in pieces)]).tolist()
    children = [child for piece in pieces for child in piece.children]
    offset = np.repeat(bounds[:-1], [len(piece.nodes) for piece in pieces]).astype(np.int32)
    width = np.array([len(below) for below in children], np.int32)
    node = _ids(n for piece in pieces for n in piece.nodes)
    roots = [first + root for first, piece in zip(bounds, pieces, strict=False) for root in piece.roots]
    smaller = ExtractionProblem(
        node_class=_ids(here for piece in pieces for here in piece.owner) + offset,
        child_ptr=np.concatenate([[0], np.cumsum(width)]).astype(np.int32),
        child=_ids(child for below in children for child in below) + np.repeat(offset, width),
        cost=problem.cost[node],
        roots=np.array(roots, np.int32),
        tie=problem.tie[node],
        n_classes=bounds[-1],
    )
    class_ = _ids(here for piece in pieces for here in piece.classes)
    return Reduced(problem, smaller, node, class_, presolved.fixed)


def _ids(values: Iterable[int]) -> Ints:
    return np.fromiter(values, np.int32)
