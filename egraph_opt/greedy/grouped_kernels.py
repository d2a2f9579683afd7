"""What a graph costs with its kernels grouped by dominators instead of by cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from graphlib import TopologicalSorter

import numpy as np

from egraph_opt.cost.expansion import stages_of_pseudo
from egraph_opt.cost.repricing import Compiled, Floats
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.greedy.dominators import FusionGraph, FusionKind, fusion_groups
from egraph_opt.operators.declaration import operator_named

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
