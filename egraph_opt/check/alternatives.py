"""Graphs that a saturated example can be rebuilt as: as it was written, or with another e-node in turn."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import onnx
import onnx_ir as ir

from egraph_opt.cost.constant_nodes import constant_nodes
from egraph_opt.cost.expansion import form_of
from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.cost.pricing import given_of, original_choice, price
from egraph_opt.cost.views import Prices
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.facts.fact import UNKNOWN, Fact
from egraph_opt.graph.names import Namer, names_in
from egraph_opt.inference.kernels import FOUR_BITS, has_kernel
from egraph_opt.inference.onnx_inference import schema
from egraph_opt.operators.declaration import OnnxForm, operators
from egraph_opt.operators.typing import types_of
from egraph_opt.rebuild.choice import Choice
from egraph_opt.rebuild.graph import rebuild_graph

FOLD_BYTES = 1 << 30
"""Constants are folded however much bigger they become."""


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
        self.cost = prices.cost.tolist()
        self.roots = snapshot.term_classes[lowered.outputs].tolist()
        computed = set(prices.computed[prices.computed >= 0].tolist())
        children = map(snapshot.children, range(snapshot.n_nodes))
        self.operands = [() if node in computed else tuple(of) for node, of in enumerate(children)]
        self.nodes: list[list[int]] = [[] for _ in range(snapshot.n_classes)]
        for node, owner in enumerate(snapshot.node_class.tolist()):
            self.nodes[owner].append(node)
        given = given_of(snapshot, prices).tolist()
        self.allowed = [nodes if node < 0 else [node] for node, nodes in zip(given, self.nodes, strict=True)]
        self.users: list[list[int]] = [[] for _ in self.nodes]
        for owner, nodes in enumerate(self.allowed):
            for operand in {operand for node in nodes for operand in self.operands[node]}:
                self.users[operand].append(owner)
        self.best, self.chosen = [math.inf] * len(self.nodes), [-1] * len(self.nodes)
        self._settle(range(len(self.nodes)), self.allowed, self.best, self.chosen)

    def with_node(self, owner: int, forced: int) -> npt.NDArray[np.int32] | None:
        """A graph of the outputs in which a class, where it is used, is written by one of its nodes."""
        best, chosen, above = self.best.copy(), self.chosen.copy(), self._above(owner)
        for k in above:  # of all others the least tree has no such class
            best[k], chosen[k] = math.inf, -1
        allowed = self.allowed.copy()
        allowed[owner] = [forced]
        self._settle(above, allowed, best, chosen)
        return self._used(chosen) if all(best[root] < math.inf for root in self.roots) else None

    def _settle(
        self, classes: Iterable[int], allowed: Sequence[Sequence[int]], best: list[float], chosen: list[int]
    ) -> None:
        """The least trees of some classes, those of all others being known."""
        changed = True
        while changed:
            changed = False
            for c in classes:
                for node in allowed[c]:
                    total = self.cost[node]
                    for k in self.operands[node]:
                        total += best[k]
                    if total < best[c]:
                        best[c], chosen[c], changed = total, node, True

    def _above(self, owner: int) -> list[int]:
        """A class and all that may be made of it."""
        found, pending = {owner}, [owner]
        while pending:
            new = set(self.users[pending.pop()]) - found
            found |= new
            pending += new
        return sorted(found)

    def _used(self, chosen: list[int]) -> npt.NDArray[np.int32]:
        used = np.full(len(chosen), -1, dtype=np.int32)
        pending = list(self.roots)
        while pending:
            c = pending.pop()
            if used[c] < 0:
                used[c] = chosen[c]
                pending.extend(self.operands[chosen[c]])
        return used


class _EveryNode(CostModel):
    """1 for every node, so that all can be chosen, pseudo-operators as well."""

    name = "every-node"
    unit = "nodes"

    def __init__(self, *, any_types: bool) -> None:
        self.pseudo_operators, self.any_types = frozenset(operators()), any_types

    def cost(self, node: NodeView) -> float:
        return 1.0 + node.body_cost


def prices_of(lowered: Lowered, snapshot: Snapshot) -> Prices:
    """All nodes at 1; of numbers of four bits, which few operators take, those that are written of them.

    What is written is a matter of types alone there, and no law has to ask each operator that it moves past.
    """
    narrow = any(fact is not None and fact.dtype in FOUR_BITS for fact in lowered.facts)
    return price(lowered, snapshot, _EveryNode(any_types=not narrow), {}, [], fold_bytes=FOLD_BYTES)


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


def _of_constants(lowered: Lowered) -> Iterator[tuple[OnnxForm, Sequence[Fact], Fact]]:
    """The nodes of ONNX's that are computed of constants alone, and so once, with operands and results."""
    written = snapshot_as_written(lowered)
    for node in range(written.n_nodes):
        operands = [written.facts[c] for c in written.children(node)]
        form = form_of(written, node, lowered.opset) if operands and all(x.const for x in operands) else None
        if form is not None and not form.domain:
            yield form, operands, written.facts[node]


def computes_without_kernel(lowered: Lowered) -> bool:
    """Whether onnxruntime has no kernel for something that is computed of constants alone."""
    for form, operands, result in _of_constants(lowered):
        types = types_of([operands[k] if isinstance(k, int) else None for k in form.inputs])
        if not has_kernel(form.op_type, types, types_of([result]), lowered.opset):
            return True
    return False


def constants_are_written(lowered: Lowered) -> bool:
    """Whether ONNX knows the attributes of all that is computed of constants alone, which no model shows, and
    no pool is padded by more than its window, which onnxruntime refuses."""
    for form, _, _ in _of_constants(lowered):
        kernel, pads = (dict(form.attributes).get(name, ()) for name in ("kernel_shape", "pads"))
        if "Pool" in form.op_type and any(p >= kernel[k % len(kernel)] for k, p in enumerate(pads)):
            return False
        found = schema(form.op_type, "", lowered.opset)
        if found is not None and not found.attributes.keys() >= {name for name, _ in form.attributes}:
            return False
    return True


def rebuilt_original(lowered: Lowered, opset: int) -> onnx.ModelProto:
    """A lowered example as ONNX again, no law applied; pseudo-operators are erased."""
    snapshot = snapshot_as_written(lowered)
    computed = constant_nodes(lowered, snapshot, FOLD_BYTES)
    choice = Choice(lowered, snapshot, original_choice(snapshot, computed), computed)
    return rewritten_model(choice, opset)
