"""Fusion as TVM does it: an operator joins its post-dominator where all that lies between is element-wise.

What a graph costs with its kernels grouped so, instead of by cost.
Sources: Chen et al., "TVM", OSDI 2018, section 3.1; apache/tvm, src/relay/analysis/graph_partitioner.cc.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from graphlib import TopologicalSorter

import numpy as np

from egraph_opt.cost.expansion import stages_of_pseudo
from egraph_opt.cost.repricing import Compiled, Floats
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.operators.declaration import operator_named

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


_OPERATORS = {
    FusionKind.ELEMENT_WISE: ("unary", "cast"),
    FusionKind.BROADCAST: ("binary", "variadic", "where", "batchnorm", "expand"),
    FusionKind.INJECTIVE: ("reshape", "transpose", "concat", "slice_", "split", "output", "gather", "pad"),
    FusionKind.REDUCTION: ("reduce",),
    FusionKind.OUT_FUSABLE: ("conv", "conv_transpose", "matmul", "gemm", "pool", "global_pool"),
}
_KINDS = {name: kind for kind, names in _OPERATORS.items() for name in names}
"""By operator; all others are opaque."""


def dominator_cost(lowered: Lowered, snapshot: Snapshot, ready: Compiled, cost: Floats) -> float:
    """The cost of the original graph with the kernels that TVM's groups are.

    Of a group, a kernel has as many stages as the target's laws offer; what is left makes kernels of its own,
    or runs by itself.
    """
    assert ready.original is not None
    chosen = ready.original[ready.original >= 0].tolist()
    of_class = {int(snapshot.node_class[node]): node for node in chosen}
    graph = _graph(snapshot, of_class, snapshot.term_classes[lowered.outputs])
    group = fusion_groups(graph)
    found: list[tuple[int, float, list[int]]] = []  # how many nodes, what they save, and which they are
    for node in np.flatnonzero(ready.view.made & np.isfinite(cost)).tolist():
        if operator_named(snapshot.operator[node]).expand is None:
            continue
        parts = _parts(snapshot, node, of_class, graph)
        if parts and _is_closed(parts, graph, group):
            saved = float(cost[parts].sum() - cost[node])
            found.append((len(parts), saved, parts))
    taken: set[int] = set()
    total = float(cost[chosen].sum())
    for _, saved, parts in sorted(found, reverse=True):
        if taken.isdisjoint(parts):
            taken.update(parts)
            total -= saved
    return total


def _parts(snapshot: Snapshot, node: int, of_class: Mapping[int, int], graph: FusionGraph) -> list[int]:
    """The original e-nodes that a kernel does the work of, the cube operator first.

    A stage that the original spells out is all that lies between the stage before and its result.
    """
    found: dict[int, None] = {}
    before = -1
    for stage in stages_of_pseudo(snapshot, node):
        result = of_class.get(int(snapshot.node_class[stage.node]), -1) if stage.node >= 0 else -1
        if result < 0:
            return []
        is_spelled = before >= 0 and result != stage.node
        found |= dict.fromkeys(graph.until(before, result) if is_spelled else ())
        found.pop(result, None)
        found[result] = None  # last
        before = result
    return list(found)


def _is_closed(parts: Sequence[int], graph: FusionGraph, group: Mapping[int, int]) -> bool:
    """Whether some e-nodes are of one group, and nobody else reads what they compute but for the last."""
    return len({group[node] for node in parts}) == 1 and not any(
        node in graph.outputs or not set(graph.users[node]) <= set(parts) for node in parts[:-1]
    )


def _graph(snapshot: Snapshot, of_class: Mapping[int, int], outputs: Iterable[int]) -> FusionGraph:
    """The e-nodes of some classes, each after its operands.

    Args:
        outputs: the classes that the graph hands out.
    """
    read = {node: dict.fromkeys(snapshot.children(node)) for node in of_class.values()}
    operands = {node: [of_class[c] for c in classes if c in of_class] for node, classes in read.items()}
    users: dict[int, list[int]] = {node: [] for node in TopologicalSorter(operands).static_order()}
    for node, given in operands.items():
        for operand in given:
            users[operand].append(node)

    def edge(user: int, operand: int) -> FusionKind:
        shapes = [snapshot.facts[int(snapshot.node_class[k])].shape for k in (user, operand)]
        kind = kinds[user]
        return FusionKind.ELEMENT_WISE if kind == FusionKind.BROADCAST and shapes[0] == shapes[1] else kind

    kinds = {node: _KINDS.get(snapshot.operator[node], FusionKind.OPAQUE) for node in read}
    needed = {of_class[int(owner)] for owner in outputs if int(owner) in of_class}
    return FusionGraph(users, kinds, edge, needed)
