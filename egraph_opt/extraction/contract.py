"""A piece with the classes taken out about which there is nothing to decide by themselves.

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
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from egraph_opt.extraction.landmarks import Sets, bits_of, landmarks, members, needs_of
from egraph_opt.extraction.piece import Choice, Piece
from egraph_opt.extraction.problem import ExtractionProblem
from egraph_opt.extraction.structure import Ints, pointers, strong_components

ROOM = 8
"""How many more nodes a merge may make than it removes, where the class has few users."""

ADDED = 3
"""How many classes a node may need provided to take another's place."""

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
        default: nodes of the piece that any solution may take, since each is the only one of its class or
            gives one of several equal classes from another.
        incumbent: the start as a choice of the smaller problem.
    """

    problem: ExtractionProblem
    parts: list[Parts]
    default: list[int]
    incumbent: Choice

    def expand(self, piece: Piece, choice: Iterable[int]) -> Choice:
        """A choice of the piece from one of the smaller problem.

        Of the nodes that it and the default stand for, each class takes the first whose children are there.
        """
        given = set(self.default)
        for node in choice:
            if node >= 0:
                given.update(self.parts[node])
        return piece.used(first_built(sorted(given), piece.children, piece.owner, piece.users))


def first_built(
    nodes: Sequence[int],
    children: Sequence[Collection[int]],
    owner: Sequence[int],
    users: Sequence[Collection[int]],
) -> Choice:
    """Of the given nodes, for each class the first whose children are there, or -1: never a cycle."""
    missing = {node: len(children[node]) for node in nodes}
    choice: Choice = [-1] * len(users)
    ready = [node for node in nodes if not missing[node]]
    for node in ready:
        here = owner[node]
        if choice[here] >= 0:
            continue
        choice[here] = node
        for above in sorted(users[here]):
            if above in missing:
                missing[above] -= 1
                if not missing[above]:
                    ready.append(above)
    return choice


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
        self.chosen = {node for node in start if node >= 0}
        self.masks: list[int] = []
        self.least: list[float] = []
        self.default: set[int] = set()
        self.pending = list(range(len(piece.classes)))
        self.waiting = [True] * len(piece.classes)

    def run(self) -> None:
        for _ in range(ROUNDS):
            self._settle_down()
            self._unite()
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
                self._settle(node)
        if not groups:
            return
        united = {member: min(group) for group in groups.values() for member in group}
        for member, into in united.items():
            if member != into:
                self._move(member, into)
        for into in sorted(set(united.values())):
            for node in list(self.options[into]):
                if into in self.children[node]:
                    self._drop_node(node)
            self._again(into)

    def _move(self, member: int, into: int) -> None:
        for node in self.options[member]:
            self.owner[node] = into
        self.options[into] += self.options[member]
        self.options[member] = []
        for user in sorted(self.users[member]):
            self.children[user].discard(member)
            self.children[user].add(into)
            self.users[into].add(user)
            self._again(self.owner[user])
        self.users[member].clear()
        if member in self.roots:
            self.roots.discard(member)
            self.roots.add(into)

    def incumbent(self) -> Choice:
        """A choice of nodes that the start turned into: for each class the first that can be built."""
        alive = {node for node in self.chosen if node in self.options[self.owner[node]]}
        alive.update(options[0] for options in self.options if len(options) == 1)
        return first_built(sorted(alive), self.children, self.owner, self.users)

    def _use_landmarks(self) -> None:
        """Drop the nodes and the uses that no solution needs, by what is needed anyway."""
        if len(self.options) > WIDEST:
            return
        sets = landmarks(self.options, self.children)
        forced = members(needs_of(sets, self.roots))
        new = [here for here in forced if here not in self.roots]
        self.roots.update(new)
        for here in new:
            self._again(here)
        component = self._components()
        self.masks = [bits_of(below) for below in self.children]
        self.least = [min((self.cost[k] for k in nodes), default=0.0) for nodes in self.options]
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
        self.masks = []

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
        """Whether ``strong``, with what it adds to the classes ``needed`` by ``weak``, is no dearer.

        A class that it adds is taken from those needed by one node, unless the solution has it below already;
        either way no cycle arises, as what ``weak`` needs does not use the class of both.
        """
        if self.cost[strong] > self.cost[weak] * (1 + 1e-12):
            return False
        extra = self._beyond(strong, weak, needed)
        if len(extra) > ADDED:
            return False
        cost, tie = self.cost[strong], self.tie[strong]
        room = self.cost[weak] * (1 + 1e-12) - cost
        if self.masks and any(self.least[child] > room for child in extra):
            return False
        for child in extra:
            added = self._provider(child, weak, needed)
            if added < 0:
                return False
            cost, tie = cost + self.cost[added], tie + self.tie[added]
        limit = self.cost[weak]
        if cost < limit * (1 - 1e-9):
            return True
        return cost <= limit * (1 + 1e-12) and tie <= self.tie[weak]

    def _beyond(self, strong: int, weak: int, needed: int) -> Collection[int]:
        """What ``strong`` uses that ``weak`` does not need."""
        if not self.masks:
            return self.children[strong] - self.children[weak]
        bits = self.masks[strong] & ~needed
        return range(ADDED + 1) if bits.bit_count() > ADDED else members(bits)

    def _provider(self, here: int, weak: int, needed: int) -> int:
        """The cheapest node of a class that uses nothing but ``needed``, no dearer than ``weak``; or -1."""
        best, limit = -1, self.cost[weak] * (1 + 1e-12)
        if not self.masks and not self._is_leaf(here):
            return -1
        for node in self.options[here]:
            if self.cost[node] > limit or (self.masks and self.masks[node] & ~needed):
                continue
            if best < 0 or (self.cost[node], self.tie[node]) < (self.cost[best], self.tie[best]):
                best = node
        return best

    def _drop_dominated(self, here: int, sets: Sets | None = None) -> None:
        options = self.options[here]
        if len(options) < 2:
            return
        ranked = sorted(
            options, key=lambda k: (self.cost[k], len(self.children[k]), self.tie[k], k not in self.chosen, k)
        )
        left: list[int] = []
        for node in ranked:
            below = self.children[node]
            needed = 0 if sets is None else needs_of(sets, below)
            by = next((other for other in left[:64] if self._dominates(other, node, needed)), -1)
            if by < 0:
                left.append(node)
                continue
            if node in self.chosen:
                self.chosen.add(by)
                self.chosen.update(
                    self._provider(child, node, needed) for child in self._beyond(by, node, needed)
                )
            self._drop_node(node)

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
        self.default.update(self.parts[node])

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
            for option in options:
                if above not in self.children[option]:
                    node = self._joined(user, option, here)
                    if user in self.chosen and option in self.chosen:
                        self.chosen.add(node)
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
    incumbent = [number.get(node, -1) for node in work.incumbent()]
    return Contracted(problem, [work.parts[node] for node in nodes], sorted(work.default), incumbent)
