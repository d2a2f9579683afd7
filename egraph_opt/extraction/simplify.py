"""Smaller problems with the same optimum, cut into pieces that do not depend on each other.

- A node that can never be chosen goes: infinite cost, a child that cannot be built, its own class as a child.
- A class that no root can reach goes.
- A *dominated* node goes: another node of its class has no child that it has not, and is no dearer.
- A *forced* class is part of every solution (the roots, and what all nodes of a forced class use), so using
  it costs nothing more.  Where no cycle can come of it the edge to it goes, which is what makes pieces.

Rounds of these are repeated, since each opens chances for the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from egraph_opt.errors import ExtractionError
from egraph_opt.extraction.checking import used_part
from egraph_opt.extraction.piece import Piece
from egraph_opt.extraction.problem import ExtractionProblem, choosable, explain_unbuildable
from egraph_opt.extraction.structure import (
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


@dataclass(frozen=True)
class Simplified:
    """What is left to decide.

    Attributes:
        fixed: per class the node that some optimal solution takes whatever the pieces do, or -1.
        pieces: independent problems for the remaining classes.
        floor: a lower bound of the whole cost: the cheapest node of each forced class.
        n_alive: how many nodes are left, the fixed ones included.
    """

    fixed: Ints
    pieces: list[Piece]
    floor: float
    n_alive: int


@dataclass
class _Work:
    """The shrinking problem: which nodes are alive, and their (node, child) pairs sorted by node."""

    alive: Mask
    pair_node: Ints
    pair_child: Ints
    forced: Mask
    instead: Ints

    def drop_pairs_of_the_dead(self) -> None:
        keep = self.alive[self.pair_node]
        self.pair_node, self.pair_child = self.pair_node[keep], self.pair_child[keep]


def simplify(problem: ExtractionProblem, incumbent: Ints | None, *, keep_all: bool = False) -> Simplified:
    """Simplify and cut.  ``incumbent`` is a solution of finite cost, which stays one of the pieces' choices
    (a node of it is only replaced by one that is strictly better, or as good and needs less).  With
    ``keep_all`` every solution stays, whatever it costs: dominated nodes are not dropped.

    Raises:
        ExtractionError: a root has no acyclic solution of finite cost.
    """
    can = choosable(problem)
    reason = explain_unbuildable(problem, can)
    if reason is not None:
        raise ExtractionError(reason)
    work = _start(problem, can)
    kept = np.zeros(problem.n_nodes, np.bool_)
    if incumbent is not None:
        kept[incumbent[incumbent >= 0]] = True
    for _ in range(ROUNDS):
        before = int(work.alive.sum()), len(work.pair_node)
        _drop_unreachable(problem, work)
        _drop_edges_to_forced(problem, work)
        if not keep_all:
            _drop_dominated(problem, work, kept)
        if before == (int(work.alive.sum()), len(work.pair_node)):
            break
    _drop_unreachable(problem, work)
    mapped = None if incumbent is None else np.where(incumbent >= 0, work.instead[incumbent], -1)
    return _cut(problem, work, kept, None if mapped is None else mapped.astype(np.int32))


def _start(problem: ExtractionProblem, can: Mask) -> _Work:
    owner = problem.owners()
    alive = can.copy()
    alive[owner[problem.node_class[owner] == problem.child]] = False
    keys = np.unique(owner.astype(np.int64) * problem.n_classes + problem.child)
    forced = np.zeros(problem.n_classes, np.bool_)
    forced[problem.roots] = True
    work = _Work(
        alive,
        (keys // max(problem.n_classes, 1)).astype(np.int32),
        (keys % max(problem.n_classes, 1)).astype(np.int32),
        forced,
        np.arange(problem.n_nodes, dtype=np.int32),
    )
    work.drop_pairs_of_the_dead()
    return work


def _class_edges(problem: ExtractionProblem, work: _Work) -> tuple[Ints, Ints, Ints]:
    """Distinct (class, child) pairs as pointers and targets, and how many nodes of the class have each."""
    n = max(problem.n_classes, 1)
    keys, counts = np.unique(
        problem.node_class[work.pair_node].astype(np.int64) * n + work.pair_child, return_counts=True
    )
    return pointers(keys // n, problem.n_classes), (keys % n).astype(np.int32), counts.astype(np.int32)


def _drop_unreachable(problem: ExtractionProblem, work: _Work) -> None:
    ptr, child, _ = _class_edges(problem, work)
    work.alive &= reached(np.flatnonzero(work.forced), ptr, child)[problem.node_class]
    work.drop_pairs_of_the_dead()


def _drop_edges_to_forced(problem: ExtractionProblem, work: _Work) -> None:
    ptr, child, counts = _class_edges(problem, work)
    owner = np.repeat(np.arange(problem.n_classes, dtype=np.int32), np.diff(ptr))
    size = np.bincount(problem.node_class[work.alive], minlength=problem.n_classes)
    always = counts == size[owner]
    work.forced = reached(
        np.flatnonzero(work.forced), pointers(owner[always], problem.n_classes), child[always]
    )
    component = strong_components(ptr, child)
    above = component[problem.node_class[work.pair_node]]
    keep = ~work.forced[work.pair_child] | (above == component[work.pair_child])
    work.pair_node, work.pair_child = work.pair_node[keep], work.pair_child[keep]


def _drop_dominated(problem: ExtractionProblem, work: _Work, kept: Mask) -> None:
    size = np.bincount(problem.node_class[work.alive], minlength=problem.n_classes)
    nodes = np.flatnonzero(work.alive & (size[problem.node_class] > 1))
    ptr = pointers(work.pair_node, problem.n_nodes)
    width = np.diff(ptr)[nodes]
    order = np.lexsort(
        (nodes, ~kept[nodes], width, problem.tie[nodes], problem.cost[nodes], problem.node_class[nodes])
    )
    first, below = ptr.tolist(), work.pair_child.tolist()
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
        work.alive[lost] = False
        kept[instead[kept[lost]]] = True
        substitute = np.arange(problem.n_nodes, dtype=np.int32)
        substitute[lost] = instead
        work.instead = substitute[work.instead]
        work.drop_pairs_of_the_dead()


def _dominator(children: tuple[int, ...], seen: dict[tuple[int, ...], int]) -> int:
    """A node among ``seen`` (all no dearer) whose children are among these; -1 if none was found."""
    if len(children) <= SMALL_SET:
        for n in range(len(children) + 1):
            for subset in combinations(children, n):
                if subset in seen:
                    return seen[subset]
        return -1
    if children in seen:
        return seen[children]
    if len(seen) <= 64:
        own = set(children)
        for other, node in seen.items():
            if len(other) < len(children) and own.issuperset(other):
                return node
    return -1


def _cut(problem: ExtractionProblem, work: _Work, kept: Mask, incumbent: Ints | None) -> Simplified:
    n = problem.n_classes
    size = np.bincount(problem.node_class[work.alive], minlength=n)
    part = weak_components(n, problem.node_class[work.pair_node], work.pair_child)
    open_part = np.zeros(n + 1, np.bool_)
    open_part[part[size > 1]] = True
    is_open = open_part[part] & (size > 0)
    fixed = np.full(n, -1, np.int32)
    settled = np.flatnonzero(work.alive & ~is_open[problem.node_class])
    fixed[problem.node_class[settled]] = settled
    cheapest = np.full(n, np.inf)
    alive = np.flatnonzero(work.alive)
    np.minimum.at(cheapest, problem.node_class[alive], problem.cost[alive])
    pieces = _pieces(problem, work, part, is_open, kept=kept, incumbent=incumbent)
    return Simplified(fixed, pieces, float(cheapest[work.forced].sum()), len(alive))


def _pieces(
    problem: ExtractionProblem, work: _Work, part: Ints, is_open: Mask, *, kept: Mask, incumbent: Ints | None
) -> list[Piece]:
    classes = np.flatnonzero(is_open)
    classes = classes[np.argsort(part[classes], kind="stable")]
    bounds = [0, *(np.flatnonzero(np.diff(part[classes])) + 1).tolist(), len(classes)]
    local = np.zeros(problem.n_classes, np.int64)
    for start, end in pairwise(bounds):
        local[classes[start:end]] = np.arange(end - start)
    nodes = np.flatnonzero(work.alive & is_open[problem.node_class])
    rank = np.zeros(problem.n_classes, np.int64)
    rank[classes] = np.arange(len(classes))
    nodes = nodes[np.argsort(rank[problem.node_class[nodes]], kind="stable")]
    node_bounds = np.searchsorted(rank[problem.node_class[nodes]], bounds).tolist()
    first = pointers(work.pair_node, problem.n_nodes).tolist()
    below = local[work.pair_child].tolist()
    pieces = []
    for i in range(len(bounds) - 1):
        mine, my_nodes = classes[bounds[i] : bounds[i + 1]], nodes[node_bounds[i] : node_bounds[i + 1]]
        if not len(mine):
            continue
        number = {node: position for position, node in enumerate(my_nodes.tolist())}
        owner = local[problem.node_class[my_nodes]].tolist()
        options: list[list[int]] = [[] for _ in range(len(mine))]
        for node, here in enumerate(owner):
            options[here].append(node)
        piece = Piece(
            classes=mine.tolist(),
            nodes=my_nodes.tolist(),
            owner=owner,
            options=options,
            children=[tuple(sorted(below[first[node] : first[node + 1]])) for node in my_nodes.tolist()],
            cost=problem.cost[my_nodes].tolist(),
            tie=problem.tie[my_nodes].tolist(),
            kept=kept[my_nodes].tolist(),
            roots=local[mine[work.forced[mine]]].tolist(),
            incumbent=None,
        )
        if incumbent is not None:
            start_from = piece.used([number.get(node, -1) for node in incumbent[mine].tolist()])
            object.__setattr__(piece, "incumbent", start_from)
        pieces.append(piece)
    return pieces


def whole_choice(problem: ExtractionProblem, simplified: Simplified, choices: list[list[int]]) -> Ints:
    """The choice of the whole problem from the choices of its pieces."""
    choice = simplified.fixed.copy()
    for piece, picked in zip(simplified.pieces, choices, strict=True):
        for here, node in enumerate(picked):
            if node >= 0:
                choice[piece.classes[here]] = piece.nodes[node]
    return used_part(problem, choice)
