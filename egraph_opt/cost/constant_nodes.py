"""Which constants are computed when a model is rebuilt, and by which e-node."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from egraph_opt.cost.expansion import form_of
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.facts.fact import ABSENT
from egraph_opt.graph.constants import byte_size, most_growth
from egraph_opt.graph.work import FoldingBudget
from egraph_opt.operators.declaration import OnnxForm
from egraph_opt.operators.typing import form_facts

FREE = frozenset(("leaf", "literal", "none", "output"))
"""Operators that cost nothing."""


def _called(node: ir.Node) -> str:
    return f"node {node.name!r} ({node.op_type})"


def nodes_by_e_node(lowered: Lowered, snapshot: Snapshot) -> dict[int, tuple[ir.Node, bool]]:
    """The ONNX node that an e-node of the original was, and whether it can be written back as it was."""
    return {int(snapshot.term_node[term]): source for term, source in reversed(lowered.nodes.items())}


def constant_nodes(
    lowered: Lowered, snapshot: Snapshot, fold_bytes: int, tell: Callable[[str], None] = lambda text: None
) -> npt.NDArray[np.int32]:
    """Per class of constant value an e-node to compute it by, from leaves in the fewest steps; else -1.

    An e-node whose result is more than `fold_bytes` bigger than its operands is not computed, unless it has
    one value in every element: that is written in a few bytes.  Quantised weights are not made wider, unless
    `lowered` says so.  Nor is an e-node computed that takes too much; `tell` is
    told of those of the original.
    """
    computed = np.full(snapshot.n_classes, -1, dtype=np.int32)
    sizes = [byte_size(fact) if fact.const else None for fact in snapshot.facts]
    users: list[list[int]] = [[] for _ in range(snapshot.n_classes)]
    missing = np.zeros(snapshot.n_nodes, dtype=np.int64)
    ready: list[int] = []
    forms: dict[int, OnnxForm] = {}
    for k in range(snapshot.n_nodes):
        fact = snapshot.facts[int(snapshot.node_class[k])]
        name = snapshot.operator[k]
        if not fact.const or name in ("opaque", "output", "split", "none"):
            continue
        if name not in FREE and name != "reshape":
            form = form_of(snapshot, k, lowered.opset)
            if form is None or form.domain:  # only ONNX's own operators are computed here
                continue
            forms[k] = form
        if name == "leaf" and not lowered.constants.has(lowered.leaves[snapshot.attributes[k][0]]):
            continue  # an empty input equals an empty constant
        below = {c for c in snapshot.children(k) if snapshot.facts[c] != ABSENT}
        if below and not fact.is_static:
            continue
        if below and fact.splat is None:
            size = sizes[int(snapshot.node_class[k])]
            most = fold_bytes
            if k in forms and not lowered.fold_quantized:
                first = snapshot.facts[snapshot.children(k)[0]].dtype
                most = most_growth(forms[k].op_type, first, fold_bytes)
            if size is None or size - sum(sizes[c] or 0 for c in below) > most:
                continue
        missing[k] = len(below)
        for c in below:
            users[c].append(k)
        if not below:
            ready.append(k)
    position, budget, original = 0, FoldingBudget(), nodes_by_e_node(lowered, snapshot)
    while position < len(ready):
        node = ready[position]
        position += 1
        owner = int(snapshot.node_class[node])
        if computed[owner] >= 0:
            continue
        if node in forms and snapshot.facts[owner].splat is None:
            operands = form_facts(forms[node], tuple(snapshot.facts[c] for c in snapshot.children(node)))
            plain = dict(forms[node].attributes)
            reason = budget.takes(forms[node].op_type, plain, operands, snapshot.facts[owner : owner + 1])
            if reason:
                if node in original:
                    tell(f"{_called(original[node][0])} depends on constants, and is not computed: {reason}")
                continue
        computed[owner] = node
        for user in users[owner]:
            missing[user] -= 1
            if missing[user] == 0:
                ready.append(user)
    return computed
