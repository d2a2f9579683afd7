"""Presolve of a single piece: the classes are taken out about which there is nothing to decide by themselves.

- A class with one node is passed over: its users use that node's children instead.  What the node costs
  stays behind as a *leaf*, a class that uses nothing; so the class is on no cycle any more.
- A class that only one other class uses is merged into it, each of its nodes with each node that uses it,
  where that makes no more nodes than there were.
- Leaves that the same nodes use become one; one that a single class uses becomes part of its nodes' cost.
- Classes that give each other at no cost (views there and back) become one class.
- A node is dropped that uses its own class, or needs it by its children's `landmarks`; or that is no cheaper
  than another node of its class, with what that uses beyond the landmarks of the first.
- What the roots have as landmarks is in every solution, so using it costs nothing.

Passing over keeps who reaches whom, so what is acyclic afterwards was acyclic before, and costs are the same.

A contracted piece: what is left of it to decide, and the way back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from egraph_opt.extraction.piece import Choice, Piece
from egraph_opt.extraction.presolve.dominance import Needs, drop_needless, landmarks, members, needs_of
from egraph_opt.extraction.presolve.presolve import Presolved, presolve
from egraph_opt.extraction.presolve.working_piece import Parts, WorkingPiece
from egraph_opt.extraction.problem import ExtractionProblem
from egraph_opt.extraction.solution import used_part
from egraph_opt.extraction.structure import Mask, first_built, pointers, strong_components

ROOM = 8
"""How many more nodes a merge may make than it removes, where the class has few users."""

GROWTH = 4
"""By how much the children of all users may grow where a class is passed over."""

ROUNDS = 6
"""How often landmarks are looked for."""

WIDEST = 10_000
"""Classes up to which they are: their sets take the square of it."""


class Contraction(WorkingPiece):
    """The steps in turn, until none finds anything."""

    def run(self, late: Callable[[], bool]) -> None:
        """Every step leaves a problem with the same optimum, so it may end at any of them."""
        for _ in range(ROUNDS):
            self._settle_down(late)
            self._unite()
            self._settle_down(late)
            if late():
                return
            self._use_landmarks()
            if not self.pending:
                break
        self._settle_down(late)

    def _settle_down(self, late: Callable[[], bool]) -> None:
        while self.pending and not late():
            batch, self.pending = self.pending, []
            for here in batch:
                self.waiting[here] = False
            for here in batch:
                if self.options[here]:
                    self._treat(here)
            if not self.pending:
                self._join_leaves()

    def _treat(self, here: int) -> None:
        drop_needless(self, here)
        if not self.users[here] and here not in self.roots:
            self.remove_class(here)
        elif len(self.options[here]) == 1:
            self._pass_over(here)
        elif here not in self.roots:
            self._merge(here)

    def _unite(self) -> None:
        """Make one class of those that give each other at no cost."""
        free = [
            (here, next(iter(self.children[node])), node)
            for here, options in enumerate(self.options)
            for node in options
            if len(self.children[node]) == 1 and not self.cost[node] and not self.tie[node]
        ]
        owner = np.array([here for here, _, _ in free], np.int32)
        target = np.array([child for _, child, _ in free], np.int32)
        component = strong_components(pointers(owner, len(self.options)), target).tolist()
        groups: dict[int, set[int]] = {}
        for here, child, node in free:
            if component[here] == component[child]:
                groups.setdefault(component[here], set()).update((here, child))
                self.decide(node)
        if not groups:
            return
        united = {member: min(group) for group in groups.values() for member in group}
        for member, into in united.items():
            if member != into:
                self.move(member, into)
        for into in sorted(set(united.values())):
            for node in list(self.options[into]):
                if into in self.children[node]:
                    self.drop_node(node)
            self.again(into)

    def _use_landmarks(self) -> None:
        """Drop the nodes and the uses that no solution needs, by what is needed anyway."""
        if len(self.options) > WIDEST:
            return
        sets = landmarks(self.options, self.children)
        forced = members(needs_of(sets, self.roots))
        new = [here for here in forced if here not in self.roots]
        self.roots.update(new)
        for here in new:
            self.again(here)
        component, needs = self.components(), Needs.of(self, sets)
        for here, options in enumerate(self.options):
            bit = 1 << here
            for node in list(options):
                below = self.children[node]
                if needs_of(sets, below) & bit:
                    self.drop_node(node)
                    continue
                for child in [child for child in below if child in self.roots]:
                    if component[child] != component[here]:
                        below.discard(child)
                        self.users[child].discard(node)
                        self.again(child)
                        self.again(here)
            drop_needless(self, here, needs)

    def _pass_over(self, here: int) -> None:
        (node,) = self.options[here]
        below = set(self.children[node])
        users = self.users[here]
        if below and len(users) * len(below) > GROWTH * (len(users) + len(below)):
            return
        self.decide(node)
        forced = here in self.roots
        stays = forced or self.cost[node] > 0 or self.tie[node] > 0
        if forced:
            self.roots |= below
        if below or forced or not stays:
            for user in sorted(users):
                self.replace(user, here, below, stays and not forced)
        if forced:
            users.clear()
        for child in below:
            self.users[child].discard(node)
            self.again(child)
        self.children[node] = set()
        if not stays:
            self.options[here] = []
            users.clear()
            return
        owners = {self.owner[user] for user in users}
        if not forced and len(owners) == 1:
            for user in users:
                self.cost[user] += self.cost[node]
                self.tie[user] += self.tie[node]
                self.children[user].discard(here)
            users.clear()
            self.options[here] = []
            self.again(owners.pop())

    def _merge(self, here: int) -> None:
        """Merge a class into the only one that uses it."""
        users, options = self.users[here], self.options[here]
        owners = {self.owner[user] for user in users}
        if len(owners) != 1 or len(users) * len(options) > len(users) + len(options) + ROOM:
            return
        (above,) = owners
        for user in sorted(users):
            for option in options:
                if above not in self.children[option]:
                    node = self.join(user, option, here)
                    if user in self.chosen and option in self.chosen:
                        self.chosen.add(node)
            self.drop_node(user)
        self.remove_class(here)
        self.again(above)

    def _join_leaves(self) -> None:
        """Make one leaf of those that the same nodes use."""
        groups: dict[frozenset[int], int] = {}
        for here, options in enumerate(self.options):
            if len(options) != 1 or here in self.roots or not self.is_leaf(here):
                continue
            users = frozenset(self.users[here])
            first = groups.setdefault(users, here)
            if first == here:
                continue
            into, leaf = self.options[first][0], options[0]
            self.decide(leaf)
            self.cost[into] += self.cost[leaf]
            self.tie[into] += self.tie[leaf]
            for user in users:
                self.children[user].discard(here)
                self.again(self.owner[user])
            self.users[here].clear()
            self.options[here] = []


@dataclass(frozen=True, eq=False)
class Contracted:
    """What contraction leaves of a piece, presolved again, which cuts it.

    Attributes:
        piece: what was contracted.
        left: the smaller problem; its class ids are the piece's, and those of classes taken out have no node.
            The solution that contraction started from is the incumbent of its pieces.
        parts: of each of its nodes, the nodes of the piece.
        default: nodes of the piece that any solution may take, since each is the only one of its class or
            gives one of several equal classes from another.
    """

    piece: Piece
    left: Presolved
    parts: list[Parts]
    default: list[int]

    @property
    def pieces(self) -> list[Piece]:
        """What is left to decide."""
        return self.left.pieces

    def postsolve(self, choices: Sequence[Choice]) -> Choice:
        """The choice of the piece that choices of what is left make.

        Of the nodes that they and the default represent, each class takes the first whose children are there.
        """
        given = set(self.default)
        for node in self.left.postsolve(choices).tolist():
            if node >= 0:
                given.update(self.parts[node])
        piece = self.piece
        return piece.used(first_built(sorted(given), piece.children, piece.owner, piece.users))


def _buildable(piece: Piece, usable: Mask) -> Mask:
    """The usable nodes whose children can be built of such."""
    built = first_built(np.flatnonzero(usable).tolist(), piece.children, piece.owner, piece.users)
    missing = np.array([node < 0 for node in built], np.bool_)
    node, child = piece.pairs
    found = usable.copy()
    found[node[missing[child]]] = False
    return found


def contract(
    piece: Piece, start: Choice, late: Callable[[], bool] = lambda: False, usable: Mask | None = None
) -> Contracted:
    """Contract a piece and cut what is left.

    Args:
        start: a solution of the piece, which stays one (or becomes a better one).
        late: asked now and then whether to stop with what there is.
        usable: the nodes to choose from, those of ``start`` among them; None for all.
    """
    everything = np.ones(len(piece.nodes), np.bool_)
    work = Contraction(piece, start, everything if usable is None else _buildable(piece, usable))
    work.run(late)
    nodes = [node for options in work.options for node in options]
    number = {node: at for at, node in enumerate(nodes)}
    for options in work.options:
        if len(options) == 1:
            work.decide(options[0])
    below = [sorted(work.children[node]) for node in nodes]
    problem = ExtractionProblem(
        node_class=np.array([work.owner[node] for node in nodes], np.int32),
        child_ptr=np.cumsum([0, *map(len, below)]).astype(np.int32),
        child=np.array([child for row in below for child in row], np.int32),
        cost=np.array([work.cost[node] for node in nodes]),
        roots=np.array(sorted(work.roots), np.int32),
        tie=np.array([work.tie[node] for node in nodes]),
        n_classes=len(piece.classes),
    )
    known = np.array([number.get(node, -1) for node in work.incumbent()], np.int32)
    left = presolve(problem, used_part(problem, known))
    return Contracted(piece, left, [work.parts[node] for node in nodes], sorted(work.default))
