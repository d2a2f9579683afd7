"""Smaller problems with the same optimum, cut into pieces that do not depend on each other.

- A node that can never be chosen goes: infinite cost, a child that cannot be built, its own class as a child.
- A class that no root can reach goes.
- A *dominated* node goes: another node of its class has no child that it has not, and is not more expensive.
- A *forced* class is part of every solution (the roots, and what all nodes of a forced class use), so using
  it costs nothing more.  Where no cycle can come of it the edge to it goes, which is what makes pieces.

Rounds of these are repeated, since each opens chances for the others.  They work on arrays, in time that
grows with the problem; what takes more is done for a single piece, by `contraction`, whose result comes back
here to be cut.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from egraph_opt.errors import ExtractionError
from egraph_opt.extraction.checking import used_part
from egraph_opt.extraction.piece import Piece
from egraph_opt.extraction.presolve.remaining import Remaining
from egraph_opt.extraction.problem import ExtractionProblem, choosable, explain_unbuildable, least_costs
from egraph_opt.extraction.structure import Ints, Mask, pointers, reached, strong_components, weak_components

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
