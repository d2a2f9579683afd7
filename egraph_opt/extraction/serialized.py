"""A priced e-graph in the JSON form of egraph-serialize, which extraction-gym reads, as does `load_json`.

github.com/egraphs-good/egraph-serialize: ``{"nodes": {id: {"op", "children": [node ids], "eclass", "cost"}},
"root_eclasses": [..], "class_data": {id: {"type"}}}``.  A child is named by a node of its class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from egraph_opt.extraction.problem import ExtractionProblem, choosable


def as_json(
    problem: ExtractionProblem, labels: Sequence[str] = (), types: Sequence[str] = ()
) -> dict[str, Any]:
    """The nodes that a solution may have: of finite cost, which JSON can say, and below a root.

    Args:
        labels: per node what it is called; its number where there is none.
        types: per class what is known of its value.
    """
    can, reached = choosable(problem), np.zeros(problem.n_classes, np.bool_)
    owners, pending = problem.node_class.tolist(), list(dict.fromkeys(problem.roots.tolist()))
    members: dict[int, list[int]] = {}
    for node in np.flatnonzero(can).tolist():
        members.setdefault(owners[node], []).append(node)
    reached[pending] = True
    for owner in pending:
        for node in members.get(owner, ()):
            new = [c for c in dict.fromkeys(problem.children(node).tolist()) if not reached[c]]
            reached[new] = True
            pending += new
    nodes = np.flatnonzero(can & reached[problem.node_class]).tolist()
    named: dict[int, str] = {}
    for node in nodes:
        named.setdefault(owners[node], str(node))
    roots = dict.fromkeys(problem.roots.tolist())
    return {
        "nodes": {
            str(node): {
                "op": labels[node] if labels else str(node),
                "children": [named[c] for c in problem.children(node).tolist()],
                "eclass": str(owners[node]),
                "cost": float(problem.cost[node]),
            }
            for node in nodes
        },
        "root_eclasses": [str(root) for root in roots],
        "class_data": {str(c): {"type": types[c]} for c in named if types and types[c]},
    }
