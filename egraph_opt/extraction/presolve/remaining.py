"""A problem while it is presolved, and the pieces that it falls into in the end."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from egraph_opt.extraction.piece import Piece, used_choice
from egraph_opt.extraction.problem import ExtractionProblem
from egraph_opt.extraction.structure import Ints, Mask, pointers


@dataclass
class Remaining:
    """Which nodes are left, and their (node, child class) pairs sorted by node.

    Attributes:
        problem: the whole problem, which does not change.
        alive: the nodes that are left.
        pair_node, pair_child: their uses of classes.
        forced: classes that are part of every solution.
        preferred: the incumbent's nodes, and those that took the place of one.
        incumbent: a solution of what is left, per class a node or -1; None if none is known.
    """

    problem: ExtractionProblem
    alive: Mask
    pair_node: Ints
    pair_child: Ints
    forced: Mask
    preferred: Mask
    incumbent: Ints | None

    @classmethod
    def of(cls, problem: ExtractionProblem, can: Mask, incumbent: Ints | None) -> Remaining:
        """All nodes that can be built and do not use their own class."""
        owner, n = problem.owners(), max(problem.n_classes, 1)
        alive = can.copy()
        alive[owner[problem.node_class[owner] == problem.child]] = False
        keys = np.unique(owner.astype(np.int64) * problem.n_classes + problem.child)
        forced = np.zeros(problem.n_classes, np.bool_)
        forced[problem.roots] = True
        preferred = np.zeros(problem.n_nodes, np.bool_)
        if incumbent is not None:
            preferred[incumbent[incumbent >= 0]] = True
        pairs = (keys // n).astype(np.int32), (keys % n).astype(np.int32)
        left = cls(problem, alive, *pairs, forced, preferred, incumbent)
        left.drop_pairs_of_the_dead()
        return left

    def size(self) -> tuple[int, int]:
        """How many nodes and pairs are left."""
        return int(self.alive.sum()), len(self.pair_node)

    def node_counts(self) -> Ints:
        """How many nodes each class has."""
        return np.bincount(self.problem.node_class[self.alive], minlength=self.problem.n_classes).astype(
            np.int32
        )

    def class_edges(self) -> tuple[Ints, Ints, Ints]:
        """Distinct (class, child) pairs as pointers and targets, and of each how many nodes have it."""
        n = max(self.problem.n_classes, 1)
        keys, counts = np.unique(
            self.problem.node_class[self.pair_node].astype(np.int64) * n + self.pair_child, return_counts=True
        )
        ptr = pointers(keys // n, self.problem.n_classes)
        return ptr, (keys % n).astype(np.int32), counts.astype(np.int32)

    def keep_pairs(self, keep: Mask) -> None:
        """Drop all other pairs."""
        self.pair_node, self.pair_child = self.pair_node[keep], self.pair_child[keep]

    def drop_pairs_of_the_dead(self) -> None:
        """Drop the pairs of nodes that are not left."""
        self.keep_pairs(self.alive[self.pair_node])

    def replace_nodes(self, lost: Ints, instead: Ints) -> None:
        """Drop nodes, each of which has another of its class to take its place."""
        self.alive[lost] = False
        self.preferred[instead[self.preferred[lost]]] = True
        if self.incumbent is not None:
            substitute = np.arange(self.problem.n_nodes, dtype=np.int32)
            substitute[lost] = instead
            self.incumbent = np.where(self.incumbent >= 0, substitute[self.incumbent], -1).astype(np.int32)
        self.drop_pairs_of_the_dead()

    def pieces(self, part: Ints, undecided: Mask) -> list[Piece]:
        """The undecided classes as a piece for each part that has any, in the order of the parts."""
        problem = self.problem
        classes = np.flatnonzero(undecided)
        classes = classes[np.argsort(part[classes], kind="stable")]
        bounds = [0, *(np.flatnonzero(np.diff(part[classes])) + 1).tolist(), len(classes)]
        local = np.zeros(problem.n_classes, np.int64)
        rank = np.zeros(problem.n_classes, np.int64)
        rank[classes] = np.arange(len(classes))
        for start, end in pairwise(bounds):
            local[classes[start:end]] = np.arange(end - start)
        nodes = np.flatnonzero(self.alive & undecided[problem.node_class])
        nodes = nodes[np.argsort(rank[problem.node_class[nodes]], kind="stable")]
        node_bounds = np.searchsorted(rank[problem.node_class[nodes]], bounds).tolist()
        first = pointers(self.pair_node, problem.n_nodes).tolist()
        below = local[self.pair_child].tolist()
        pieces = []
        for (start, end), (head, tail) in zip(pairwise(bounds), pairwise(node_bounds), strict=True):
            if start == end:
                continue
            my_nodes = nodes[head:tail]
            children = [tuple(sorted(below[first[node] : first[node + 1]])) for node in my_nodes.tolist()]
            pieces.append(self._piece(classes[start:end], my_nodes, children, local))
        return pieces

    def _piece(
        self,
        classes: npt.NDArray[np.integer],
        nodes: npt.NDArray[np.integer],
        children: list[tuple[int, ...]],
        local: npt.NDArray[np.int64],
    ) -> Piece:
        """A piece of these classes and nodes; ``children`` and ``local`` are in the piece's numbers."""
        problem = self.problem
        owner = local[problem.node_class[nodes]].tolist()
        options: list[list[int]] = [[] for _ in range(len(classes))]
        for node, here in enumerate(owner):
            options[here].append(node)
        roots = local[classes[self.forced[classes]]].tolist()
        incumbent = None
        if self.incumbent is not None:
            number = {node: position for position, node in enumerate(nodes.tolist())}
            known = [number.get(node, -1) for node in self.incumbent[classes].tolist()]
            incumbent = used_choice(known, children, roots)
        return Piece(
            classes=classes.tolist(),
            nodes=nodes.tolist(),
            owner=owner,
            options=options,
            children=children,
            cost=problem.cost[nodes].tolist(),
            tie=problem.tie[nodes].tolist(),
            kept=self.preferred[nodes].tolist(),
            roots=roots,
            incumbent=incumbent,
        )
