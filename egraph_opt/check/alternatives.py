"""Graphs that a saturated example can be rebuilt as: as it was written, or with another e-node in turn."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt
import onnx
import onnx_ir as ir

from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.cost.pricing import given_of, original_choice, price
from egraph_opt.cost.views import Prices
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.facts.fact import UNKNOWN
from egraph_opt.graph.names import Namer, names_in
from egraph_opt.operators.declaration import operators
from egraph_opt.rebuild.choice import Choice
from egraph_opt.rebuild.graph import rebuild_graph


def rewritten_model(choice: Choice, opset: int) -> onnx.ModelProto:
    graph = rebuild_graph(choice, 10, Namer(names_in(choice.lowered.graph)))
    return ir.serde.serialize_model(ir.Model(graph, ir_version=10))


def alternatives_of(lowered: Lowered, snapshot: Snapshot, prices: Prices) -> tuple[list[Choice], list[int]]:
    """The graph with one class written by another node than the original, for every such node.

    And the nodes of classes of the original that can be in no graph, since they depend on themselves.
    """
    original = set(snapshot.term_node.tolist())
    ways = Counter(snapshot.node_class[sorted(original)].tolist())  # of which a law made one class
    roots = set(snapshot.term_classes[lowered.outputs].tolist())
    forest = _Forest(lowered, snapshot, prices)
    found: dict[bytes, Choice] = {}
    cyclic: list[int] = []
    for owner in dict.fromkeys((*snapshot.term_classes.tolist(), *range(snapshot.n_classes))):
        for node in forest.nodes[owner]:
            if not np.isfinite(prices.cost[node]) or (node in original and ways[owner] == 1):
                continue
            chosen = forest.with_node(owner, node)
            if chosen is None:
                if owner in roots and node not in original:
                    cyclic.append(node)
            elif chosen[owner] == node:
                found.setdefault(chosen.tobytes(), Choice(lowered, snapshot, chosen, prices.computed))
    return list(found.values()), cyclic


class _Forest:
    """Finds graphs in an e-graph of a few dozen nodes: per class the node of the least tree, a class at a
    time."""

    def __init__(self, lowered: Lowered, snapshot: Snapshot, prices: Prices) -> None:
        self.snapshot = snapshot
        self.cost = prices.cost.tolist()
        self.roots = snapshot.term_classes[lowered.outputs].tolist()
        self.given = given_of(snapshot, prices).tolist()
        self.computed = set(prices.computed[prices.computed >= 0].tolist())
        self.operands = [snapshot.children(node) for node in range(snapshot.n_nodes)]
        self.nodes: list[list[int]] = [[] for _ in range(snapshot.n_classes)]
        for node, owner in enumerate(snapshot.node_class.tolist()):
            self.nodes[owner].append(node)

    def with_node(self, owner: int, forced: int) -> npt.NDArray[np.int32] | None:
        """A graph of the outputs in which a class, where it is used, is written by one of its nodes."""
        best = [np.inf] * len(self.nodes)
        chosen = [-1] * len(self.nodes)
        changed = True
        while changed:
            changed = False
            for c, nodes in enumerate(self.nodes):
                given = self.given[c]
                for node in [forced] if c == owner else nodes if given < 0 else [given]:
                    operands = () if node in self.computed else self.operands[node]
                    total = self.cost[node] + sum(best[k] for k in operands)
                    if total < best[c]:
                        best[c], chosen[c], changed = total, node, True
        return self._used(chosen) if all(np.isfinite(best[root]) for root in self.roots) else None

    def _used(self, chosen: list[int]) -> npt.NDArray[np.int32]:
        used = np.full(len(chosen), -1, dtype=np.int32)
        pending = list(self.roots)
        while pending:
            c = pending.pop()
            if used[c] < 0:
                used[c] = chosen[c]
                if chosen[c] not in self.computed:
                    pending.extend(self.operands[chosen[c]])
        return used


class _EveryNode(CostModel):
    """1 for every node, so that all can be chosen, pseudo-operators as well."""

    name = "every-node"
    unit = "nodes"
    any_types = True

    def __init__(self) -> None:
        self.pseudo_operators = frozenset(operators())

    def cost(self, node: NodeView) -> float:
        return 1.0 + node.body_cost


def prices_of(lowered: Lowered, snapshot: Snapshot) -> Prices:
    return price(lowered, snapshot, _EveryNode(), {}, [], fold_bytes=1 << 30)


def snapshot_as_written(lowered: Lowered) -> Snapshot:
    """A lowered example without an engine: an e-node, and a class, for every term."""
    flat = [
        [k for item in term.operands for k in (item if isinstance(item, tuple) else (item,))]
        for term in lowered.terms
    ]
    terms = np.arange(len(flat), dtype=np.int32)
    return Snapshot(
        operator=tuple(term.operator for term in lowered.terms),
        attributes=tuple(term.attributes for term in lowered.terms),
        node_class=terms,
        child_ptr=np.cumsum([0, *map(len, flat)]).astype(np.int32),
        child=np.array([k for operands in flat for k in operands], dtype=np.int32),
        made_by=np.zeros_like(terms),
        facts=tuple(UNKNOWN if known is None else known for known in lowered.facts),
        laws=(),
        term_node=terms,
    )


def rebuilt_original(lowered: Lowered, opset: int) -> onnx.ModelProto:
    """A lowered example as ONNX again, no law applied; pseudo-operators are erased."""
    snapshot = snapshot_as_written(lowered)
    prices = prices_of(lowered, snapshot)
    choice = Choice(lowered, snapshot, original_choice(snapshot, prices), prices.computed)
    return rewritten_model(choice, opset)
