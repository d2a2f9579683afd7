"""A piece with the classes taken out about which there is nothing to decide by themselves.

- A class with one node is passed over: its users use that node's children instead.  What the node costs
  stays behind as a *leaf*, a class that uses nothing; so the class is on no cycle any more.
- A class that only one other class uses is merged into it, each of its nodes with each node that uses it,
  where that makes no more nodes than there were.
- Leaves that the same nodes use become one leaf, and a leaf that one class alone uses part of its nodes' cost.
- A node is dropped that uses its own class, or where another node of its class is no dearer even with the
  leaves that it uses beyond those of the first.

Passing over keeps who reaches whom, so what is acyclic afterwards was acyclic before, and costs are the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from egraph_opt.extraction.landmarks import Sets, landmarks, members, needs_of
from egraph_opt.extraction.piece import Choice, Piece
from egraph_opt.extraction.problem import ExtractionProblem
from egraph_opt.extraction.structure import Ints, pointers, strong_components

ROOM = 8
"""How many more nodes a merge may make than it removes, where the class has few users."""

GROWTH = 4
"""By how much the children of all users may grow where a class is passed over."""

ROUNDS = 6
"""How often landmarks are looked for."""

WIDEST = 10_000
"""Classes up to which they are: their sets take the square of it."""

Parts = tuple[int, ...]
"""Nodes of the piece that are chosen together."""


@dataclass(frozen=True)
class Contracted:
    """A smaller problem and the way back.

    Attributes:
        problem: its class ids are the piece's; those of classes taken out have no node.
        parts: of each of its nodes, the nodes of the piece.
        default: of each class of the piece the node that it takes where nothing else is said, or -1.
        incumbent: the start as a choice of the smaller problem.
    """

    problem: ExtractionProblem
    parts: list[Parts]
    default: Choice
    incumbent: Choice

    def expand(self, piece: Piece, choice: Iterable[int]) -> Choice:
        """A choice of the piece from one of the smaller problem."""
        full = list(self.default)
        for node in choice:
            if node >= 0:
                for part in self.parts[node]:
                    full[piece.owner[part]] = part
        return piece.used(full)


class _Contraction:
    """The shrinking piece, as sets."""

    def __init__(self, piece: Piece, start: Choice) -> None:
        self.piece = piece
        self.options: list[list[int]] = [list(nodes) for nodes in piece.options]
        self.children: list[set[int]] = [set(below) for below in piece.children]
        self.cost, self.tie = list(piece.cost), list(piece.tie)
        self.owner: list[int] = list(piece.owner)
        self.parts: list[Parts] = [(node,) for node in range(len(piece.nodes))]
        self.users: list[set[int]] = [set(nodes) for nodes in piece.users]
        self.roots = set(piece.roots)
        self.incumbent = list(start)
        self.default: Choice = [-1] * len(piece.classes)
        self.pending = list(range(len(piece.classes)))
        self.waiting = [True] * len(piece.classes)

    def run(self) -> None:
        for _ in range(ROUNDS):
            self._settle_down()
            self._use_landmarks()
            if not self.pending:
                break
        self._settle_down()

    def _settle_down(self) -> None:
        while self.pending:
            batch, self.pending = self.pending, []
            for here in batch:
                self.waiting[here] = False
            for here in batch:
                if self.options[here]:
                    self._treat(here)
            if not self.pending:
                self._join_leaves()

    def _treat(self, here: int) -> None:
        self._drop_dominated(here)
        if not self.users[here] and here not in self.roots:
            self._remove_class(here)
        elif len(self.options[here]) == 1:
            self._pass_over(here)
        elif here not in self.roots:
            self._merge(here)

    def _use_landmarks(self) -> None:
        """Drop the nodes and the uses that no solution needs, by what is needed anyway."""
        if len(self.options) > WIDEST:
            return
        sets = landmarks(self.options, self.children, self.owner)
        forced = members(needs_of(sets, self.roots))
        new = [here for here in forced if here not in self.roots]
        self.roots.update(new)
        for here in new:
            self._again(here)
        component = self._components()
        for here, options in enumerate(self.options):
            bit = 1 << here
            for node in list(options):
                below = self.children[node]
                if needs_of(sets, below) & bit:
                    self._drop_node(node)
                    continue
                for child in [child for child in below if child in self.roots]:
                    if component[child] != component[here]:
                        below.discard(child)
                        self.users[child].discard(node)
                        self._again(child)
                        self._again(here)
            self._drop_dominated(here, sets)

    def _components(self) -> Ints:
        below = [
            sorted({child for node in options for child in self.children[node]}) for options in self.options
        ]
        owner = np.repeat(np.arange(len(below)), [len(row) for row in below])
        target = np.array([child for row in below for child in row], np.int32)
        return strong_components(pointers(owner, len(below)), target)

    def _again(self, here: int) -> None:
        if not self.waiting[here]:
            self.waiting[here] = True
            self.pending.append(here)

    def _drop_node(self, node: int) -> None:
        here = self.owner[node]
        self.options[here].remove(node)
        for child in self.children[node]:
            self.users[child].discard(node)
            self._again(child)
        self._again(here)

    def _remove_class(self, here: int) -> None:
        for node in list(self.options[here]):
            self._drop_node(node)

    def _is_leaf(self, here: int) -> bool:
        options = self.options[here]
        return len(options) == 1 and not self.children[options[0]]

    def _dominates(self, strong: int, weak: int, needed: int) -> bool:
        """Whether ``strong`` with the leaves that it adds is no dearer than ``weak``, which needs ``needed``."""
        if self.cost[strong] > self.cost[weak] * (1 + 1e-12):
            return False
        cost, tie = self.cost[strong], self.tie[strong]
        for child in self.children[strong]:
            if not needed >> child & 1:
                if not self._is_leaf(child):
                    return False
                leaf = self.options[child][0]
                cost, tie = cost + self.cost[leaf], tie + self.tie[leaf]
        limit = self.cost[weak]
        if cost < limit * (1 - 1e-9):
            return True
        return cost <= limit * (1 + 1e-12) and tie <= self.tie[weak]

    def _drop_dominated(self, here: int, sets: Sets | None = None) -> None:
        options = self.options[here]
        if len(options) < 2:
            return
        chosen = self.incumbent[here]
        ranked = sorted(
            options, key=lambda k: (self.cost[k], len(self.children[k]), self.tie[k], k != chosen, k)
        )
        left: list[int] = []
        for node in ranked:
            below = self.children[node]
            needed = sum(1 << child for child in below) if sets is None else needs_of(sets, below)
            by = next((other for other in left[:64] if self._dominates(other, node, needed)), -1)
            if by < 0:
                left.append(node)
                continue
            if chosen == node:
                chosen = self.incumbent[here] = by
                self._start_leaves(by)
            self._drop_node(node)

    def _start_leaves(self, node: int) -> None:
        for child in self.children[node]:
            if self.incumbent[child] < 0:
                self.incumbent[child] = self.options[child][0]

    def _pass_over(self, here: int) -> None:
        (node,) = self.options[here]
        below = set(self.children[node])
        users = self.users[here]
        if below and len(users) * len(below) > GROWTH * (len(users) + len(below)):
            return
        self._settle(node)
        forced = here in self.roots
        stays = forced or self.cost[node] > 0 or self.tie[node] > 0
        if forced:
            self.roots |= below
        if below or forced or not stays:
            for user in sorted(users):
                self._replace(user, here, below, stays and not forced)
        if forced:
            users.clear()
        for child in below:
            self.users[child].discard(node)
            self._again(child)
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
            self._again(owners.pop())

    def _settle(self, node: int) -> None:
        for part in self.parts[node]:
            self.default[self.piece.owner[part]] = part

    def _replace(self, user: int, old: int, new: set[int], stays: bool) -> None:
        """Let a node use ``new`` instead of ``old`` (beside it, if that stays as a leaf)."""
        owner = self.owner[user]
        if owner in new:
            self._drop_node(user)
            return
        if not stays:
            self.children[user].discard(old)
        self.children[user] |= new
        for child in new:
            self.users[child].add(user)
        self._again(owner)

    def _merge(self, here: int) -> None:
        """Merge a class into the only one that uses it."""
        users, options = self.users[here], self.options[here]
        owners = {self.owner[user] for user in users}
        if len(owners) != 1 or len(users) * len(options) > len(users) + len(options) + ROOM:
            return
        (above,) = owners
        for user in sorted(users):
            kept = self.incumbent[above] == user
            for option in options:
                if above not in self.children[option]:
                    node = self._joined(user, option, here)
                    if kept and self.incumbent[here] == option:
                        self.incumbent[above] = node
            self._drop_node(user)
        self._remove_class(here)
        self._again(above)

    def _joined(self, user: int, option: int, between: int) -> int:
        node = len(self.owner)
        above = self.owner[user]
        self.owner.append(above)
        self.children.append((self.children[user] - {between}) | self.children[option])
        self.cost.append(self.cost[user] + self.cost[option])
        self.tie.append(self.tie[user] + self.tie[option])
        self.parts.append(self.parts[user] + self.parts[option])
        self.options[above].append(node)
        for child in self.children[node]:
            self.users[child].add(node)
        return node

    def _join_leaves(self) -> None:
        """Make one leaf of those that the same nodes use."""
        groups: dict[frozenset[int], int] = {}
        for here, options in enumerate(self.options):
            if len(options) != 1 or here in self.roots or not self._is_leaf(here):
                continue
            users = frozenset(self.users[here])
            first = groups.setdefault(users, here)
            if first == here:
                continue
            into, leaf = self.options[first][0], options[0]
            self._settle(leaf)
            self.cost[into] += self.cost[leaf]
            self.tie[into] += self.tie[leaf]
            for user in users:
                self.children[user].discard(here)
                self._again(self.owner[user])
            self.users[here].clear()
            self.options[here] = []


def contract(piece: Piece, start: Choice) -> Contracted:
    """Contract a piece; ``start`` is a solution of it, which stays one (or becomes a better one)."""
    work = _Contraction(piece, start)
    work.run()
    nodes = [node for options in work.options for node in options]
    number = {node: at for at, node in enumerate(nodes)}
    for options in work.options:
        if len(options) == 1:
            work._settle(options[0])
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
    incumbent = [number.get(node, -1) for node in work.incumbent]
    return Contracted(problem, [work.parts[node] for node in nodes], work.default, incumbent)
