"""Smaller problems with the same optimum, cut into pieces that do not depend on each other.

- A node that can never be chosen goes: infinite cost, a child that cannot be built, its own class as a child.
- A class that no root can reach goes.
- A *dominated* node goes: another node of its class has no child that it has not, and is not more expensive.
- A *forced* class is part of every solution (the roots, and what all nodes of a forced class use), so using
  it costs nothing more.  Where no cycle can come of it the edge to it goes, which is what makes pieces.

Rounds of these are repeated, since each opens chances for the others.  They work on arrays, in time that
grows with the problem; what takes more is done for a single piece, by `contraction`, whose result comes back
here to be cut.

Presolve for problems that are priced again and again: what holds whatever the nodes cost.

Nodes that no solution can hold, classes that nothing needs and choices of one need not be looked at under the
next prices: they are left out once, and each price list is solved on the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from egraph_opt.errors import ExtractionError
from egraph_opt.extraction.piece import Piece
from egraph_opt.extraction.presolve.remaining import Remaining
from egraph_opt.extraction.problem import ExtractionProblem, choosable, explain_unbuildable, least_costs
from egraph_opt.extraction.solution import Solution, check, used_part
from egraph_opt.extraction.structure import (
    Floats,
    Ints,
    Mask,
    pointers,
    reached,
    strong_components,
    weak_components,
)

ROUNDS = 6
SMALL_SET = 4
"""Up to this many children, all subsets are looked up to find a dominating node."""

COMPARED = 64
"""How many nodes of a class one with more children is compared with."""


@dataclass(frozen=True, eq=False)
class Presolved:
    """What is left to decide, and the way back.

    Attributes:
        problem: what was presolved.
        fixed: per class the node that some optimal solution takes whatever the pieces do, or -1.
        pieces: independent problems for the remaining classes.
        floor: a lower bound of the whole cost: the cheapest node of each forced class.
    """

    problem: ExtractionProblem
    fixed: Ints
    pieces: list[Piece]
    floor: float

    def bound(self, bounds: Iterable[float]) -> float:
        """The lower bound that those of the pieces add up to with the cost of what is fixed."""
        settled = self.problem.cost[self.fixed[self.fixed >= 0]].tolist()
        return math.fsum([*settled, *bounds])

    def postsolve(self, choices: Iterable[Sequence[int]]) -> Ints:
        """The choice of the whole problem that choices of its pieces make."""
        choice = self.fixed.copy()
        for piece, picked in zip(self.pieces, choices, strict=True):
            for here, node in enumerate(picked):
                if node >= 0:
                    choice[piece.classes[here]] = piece.nodes[node]
        return used_part(self.problem, choice)


def presolve(problem: ExtractionProblem, incumbent: Ints | None, *, at_any_cost: bool = False) -> Presolved:
    """Leave out what need not be decided, and cut the rest into pieces.

    Args:
        incumbent: a solution of finite cost, which stays one of the pieces' choices (a node of it is only
            replaced by one that is strictly better, or as good and needs less).
        at_any_cost: keep every solution, whatever it costs: dominated nodes are not dropped.

    Raises:
        ExtractionError: a root has no acyclic solution of finite cost.
    """
    can = choosable(problem)
    reason = explain_unbuildable(problem, can)
    if reason is not None:
        raise ExtractionError(reason)
    left = Remaining.of(problem, can, incumbent)
    for _ in range(ROUNDS):
        before = left.size()
        drop_unreachable(left)
        drop_edges_to_forced(left)
        if not at_any_cost:
            drop_dominated(left)
        if left.size() == before:
            break
    drop_unreachable(left)
    part = weak_components(problem.n_classes, problem.node_class[left.pair_node], left.pair_child)
    undecided = _undecided(left, part)
    fixed = np.full(problem.n_classes, -1, np.int32)
    settled = np.flatnonzero(left.alive & ~undecided[problem.node_class])
    fixed[problem.node_class[settled]] = settled
    floor = float(least_costs(problem, np.flatnonzero(left.alive))[left.forced].sum())
    return Presolved(problem, fixed, left.pieces(part, undecided), floor)


def _undecided(left: Remaining, part: Ints) -> Mask:
    """The classes with nodes that are in one part with a class that has several."""
    count = left.node_counts()
    undecided_part = np.zeros(left.problem.n_classes + 1, np.bool_)
    undecided_part[part[count > 1]] = True
    return undecided_part[part] & (count > 0)


def drop_unreachable(left: Remaining) -> None:
    """Drop what no forced class can need."""
    ptr, child, _ = left.class_edges()
    left.alive &= reached(np.flatnonzero(left.forced), ptr, child)[left.problem.node_class]
    left.drop_pairs_of_the_dead()


def drop_edges_to_forced(left: Remaining) -> None:
    """Find forced classes, and drop the uses of them that can be on no cycle."""
    node_class, n = left.problem.node_class, left.problem.n_classes
    ptr, child, counts = left.class_edges()
    owner = np.repeat(np.arange(n, dtype=np.int32), np.diff(ptr))
    always = counts == left.node_counts()[owner]
    left.forced = reached(np.flatnonzero(left.forced), pointers(owner[always], n), child[always])
    component = strong_components(ptr, child)
    above = component[node_class[left.pair_node]]
    left.keep_pairs(~left.forced[left.pair_child] | (above == component[left.pair_child]))


def drop_dominated(left: Remaining) -> None:
    """Drop nodes that another node of their class, with no further child, makes needless."""
    problem = left.problem
    nodes = np.flatnonzero(left.alive & (left.node_counts()[problem.node_class] > 1))
    ptr = pointers(left.pair_node, problem.n_nodes)
    width = np.diff(ptr)[nodes]
    order = np.lexsort(
        (
            nodes,
            ~left.preferred[nodes],
            width,
            problem.tie[nodes],
            problem.cost[nodes],
            problem.node_class[nodes],
        )
    )
    first, below = ptr.tolist(), left.pair_child.tolist()
    replaced: list[tuple[int, int]] = []
    current = -1
    seen: dict[tuple[int, ...], int] = {}
    for node, owner in zip(nodes[order].tolist(), problem.node_class[nodes[order]].tolist(), strict=True):
        if owner != current:
            current, seen = owner, {}
        children = tuple(below[first[node] : first[node + 1]])
        by = _dominator(children, seen)
        if by < 0:
            seen[children] = node
        else:
            replaced.append((node, by))
    if replaced:
        lost, instead = (np.array(column, np.int32) for column in zip(*replaced, strict=True))
        left.replace_nodes(lost, instead)


def _dominator(children: tuple[int, ...], seen: dict[tuple[int, ...], int]) -> int:
    """A node among ``seen`` (none is more expensive) whose children are among these; -1 if none was found."""
    if len(children) <= SMALL_SET:
        for n in range(len(children) + 1):
            for subset in combinations(children, n):
                if subset in seen:
                    return seen[subset]
        return -1
    if children in seen:
        return seen[children]
    if len(seen) <= COMPARED:
        own = set(children)
        for other, node in seen.items():
            if len(other) < len(children) and own.issuperset(other):
                return node
    return -1


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
