"""Fusion as TVM does it: an operator joins its post-dominator where all that lies between is element-wise.

Sources: Chen et al., "TVM", OSDI 2018, section 3.1; apache/tvm, src/relay/analysis/graph_partitioner.cc.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

Node = int


class FusionKind(IntEnum):
    """What an operator is for fusion; of several the greatest."""

    ELEMENT_WISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    REDUCTION = 3
    OUT_FUSABLE = 4  # what follows may join it: convolutions, products
    OPAQUE = 8


@dataclass(frozen=True)
class FusionGraph:
    """Nodes for fusion.

    Attributes:
        users: by node, operands first, those who read it.
        kind: by node.
        edge: what a user is for an operand: a broadcast one is element-wise for that of its own shape.
        outputs: nodes that are needed outside.
    """

    users: Mapping[Node, Sequence[Node]]
    kind: Mapping[Node, FusionKind]
    edge: Callable[[Node, Node], FusionKind]
    outputs: Collection[Node]

    def until(self, node: Node, end: Node) -> Iterator[Node]:
        """All nodes after one, up to another that all paths lead to."""
        pending, seen = list(self.users[node]), set[Node]()
        while pending:
            current = pending.pop()
            if current not in seen:
                seen.add(current)
                yield current
                pending += self.users[current] if current != end else ()


@dataclass(frozen=True)
class _Dominated:
    """A node in the tree of post-dominators; `kind` is that of all paths to the parent."""

    parent: Node | None
    depth: int
    kind: FusionKind


def fusion_groups(graph: FusionGraph) -> dict[Node, Node]:
    """By node, the last node of its group."""
    tree = post_dominators(graph)
    groups = _Groups(graph)
    for injective in (False, True):
        for node in graph.users:
            parent = tree[node].parent
            if parent is None or groups.last(node) == groups.last(parent):
                continue
            if groups.may_join(node, tree[node].kind, parent, injective=injective):
                groups.join(node, parent)
    return {node: groups.last(node) for node in graph.users}


def post_dominators(graph: FusionGraph) -> dict[Node, _Dominated]:
    """By node the first one that all paths from it to an output lead through."""
    tree: dict[Node, _Dominated] = {}
    for node in reversed(list(graph.users)):
        users = graph.users[node]
        if node in graph.outputs or not users:
            tree[node] = _Dominated(None, 1, FusionKind.OPAQUE)
            continue
        parent: Node | None = users[0]
        kind = max(graph.edge(user, node) for user in users)
        for user in users[1:]:
            parent, kind = _meet(tree, parent, user, kind)
        tree[node] = _Dominated(parent, 1 if parent is None else tree[parent].depth + 1, kind)
    return tree


def _meet(
    tree: Mapping[Node, _Dominated], a: Node | None, b: Node | None, kind: FusionKind
) -> tuple[Node | None, FusionKind]:
    """The least common ancestor, and the greatest kind on the way."""
    while a != b:
        if a is None or b is None:
            return None, FusionKind.OPAQUE
        deeper, other = (b, a) if tree[a].depth < tree[b].depth else (a, b)
        a, b, kind = tree[deeper].parent, other, max(kind, tree[deeper].kind)
    return a, kind


class _Groups:
    def __init__(self, graph: FusionGraph) -> None:
        self.graph = graph
        self.kind = dict(graph.kind)
        self.into: dict[Node, Node] = {}

    def last(self, node: Node) -> Node:
        while node in self.into:
            node = self.into[node]
        return node

    def may_join(self, node: Node, path: FusionKind, parent: Node, *, injective: bool) -> bool:
        """Whether a node may join its post-dominator, in the first turn or in that of injective ones."""
        own = self.kind[node]
        if injective:
            most = FusionKind.INJECTIVE
            return own == most and path <= most and self._all(node, parent, most, most)
        if own == FusionKind.OUT_FUSABLE:
            most = FusionKind.BROADCAST
            return path == FusionKind.ELEMENT_WISE and self._all(node, parent, most, most)
        if own > FusionKind.BROADCAST or path > FusionKind.REDUCTION:
            return False
        return self._all(node, parent, FusionKind.INJECTIVE, FusionKind.OUT_FUSABLE)

    def _all(self, node: Node, end: Node, between: FusionKind, at_end: FusionKind) -> bool:
        """Whether all nodes after one, up to its post-dominator, are of a kind."""
        return all(self.kind[k] <= (at_end if k == end else between) for k in self.graph.until(node, end))

    def join(self, node: Node, end: Node) -> None:
        """Merge the groups of a node, and of all between, into that of its post-dominator."""
        for current in (node, *self.graph.until(node, end)):
            group, target = self.last(current), self.last(end)
            if group != target:
                self.into[group] = target
                self.kind[target] = max(self.kind[target], self.kind[group])
