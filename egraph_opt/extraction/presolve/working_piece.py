"""A piece while it is contracted: its classes and nodes as sets, and the steps by which they change."""

from __future__ import annotations

from egraph_opt.extraction.piece import Choice, Piece
from egraph_opt.extraction.structure import Ints, Mask, components_of, first_built

Parts = tuple[int, ...]
"""Nodes of the piece that are chosen together."""


class WorkingPiece:
    """What is left of a piece; ids are the piece's, new nodes come after them.

    Attributes:
        options: the nodes of each class.
        children: the classes that each node uses.
        cost, tie, owner, parts: of each node.
        users: the nodes that use each class.
        chosen: the nodes of a solution, and those that represent some of its nodes.
        default: nodes of the piece that any solution may take.
        pending: the classes to look at again.
    """

    def __init__(self, piece: Piece, start: Choice, usable: Mask) -> None:
        self.options: list[list[int]] = [[k for k in nodes if usable[k]] for nodes in piece.options]
        self.children: list[set[int]] = [set(below) for below in piece.children]
        self.cost, self.tie = list(piece.cost), list(piece.tie)
        self.owner: list[int] = list(piece.owner)
        self.parts: list[Parts] = [(node,) for node in range(len(piece.nodes))]
        self.users: list[set[int]] = [{k for k in nodes if usable[k]} for nodes in piece.users]
        self.roots = set(piece.roots)
        self.chosen = {node for node in start if node >= 0}
        self.default: set[int] = set()
        self.pending = list(range(len(piece.classes)))
        self.waiting = [True] * len(piece.classes)

    def again(self, here: int) -> None:
        """Have a class looked at again."""
        if not self.waiting[here]:
            self.waiting[here] = True
            self.pending.append(here)

    def drop_node(self, node: int) -> None:
        """Take a node out."""
        here = self.owner[node]
        self.options[here].remove(node)
        for child in self.children[node]:
            self.users[child].discard(node)
            self.again(child)
        self.again(here)

    def remove_class(self, here: int) -> None:
        """Take a class's nodes out."""
        for node in list(self.options[here]):
            self.drop_node(node)

    def is_leaf(self, here: int) -> bool:
        """Whether a class has but one node, which uses nothing."""
        options = self.options[here]
        return len(options) == 1 and not self.children[options[0]]

    def decide(self, node: int) -> None:
        """Let any solution take what a node represents."""
        self.default.update(self.parts[node])

    def move(self, member: int, into: int) -> None:
        """Make two classes one."""
        for node in self.options[member]:
            self.owner[node] = into
        self.options[into] += self.options[member]
        self.options[member] = []
        for user in sorted(self.users[member]):
            self.children[user].discard(member)
            self.children[user].add(into)
            self.users[into].add(user)
            self.again(self.owner[user])
        self.users[member].clear()
        if member in self.roots:
            self.roots.discard(member)
            self.roots.add(into)

    def replace(self, user: int, old: int, new: set[int], stays: bool) -> None:
        """Let a node use ``new`` instead of ``old`` (beside it, if that stays as a leaf)."""
        owner = self.owner[user]
        if owner in new:
            self.drop_node(user)
            return
        if not stays:
            self.children[user].discard(old)
        self.children[user] |= new
        for child in new:
            self.users[child].add(user)
        self.again(owner)

    def join(self, user: int, option: int, between: int) -> int:
        """A new node for one and the node of the class ``between`` that it uses."""
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

    def components(self) -> Ints:
        """The strongly connected component of each class."""
        below = [
            sorted({child for node in options for child in self.children[node]}) for options in self.options
        ]
        return components_of(below)

    def incumbent(self) -> Choice:
        """A choice of nodes that the start turned into: for each class the first that can be built."""
        alive = {node for node in self.chosen if node in self.options[self.owner[node]]}
        alive.update(options[0] for options in self.options if len(options) == 1)
        return first_built(sorted(alive), self.children, self.owner, self.users)
