"""What the chosen graph costs, operator by operator, and which resource binds each."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from egraph_opt.cost.expansion import is_pseudo
from egraph_opt.cost.model import CostModel
from egraph_opt.operators.declaration import operator_named
from egraph_opt.pipeline.region_extraction import Extracted
from egraph_opt.rebuild.choice import Choice
from egraph_opt.report.report import OperatorCost


@dataclass
class _Sum:
    """Of one operator, while it is added up."""

    nodes: int = 0
    cost: float = 0.0
    resources: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    tensors: list[str] = field(default_factory=list)


def costs_by_operator(model: CostModel, extracted: Extracted) -> tuple[OperatorCost, ...]:
    """The cost of the nodes of a graph by operator; If, Loop and Scan with what their bodies cost."""
    view = extracted.prices.view
    if view is None:
        return ()
    choice = extracted.choice
    snapshot, names = choice.snapshot, _names(choice)
    found: defaultdict[str, _Sum] = defaultdict(_Sum)
    described: dict[int, tuple[str, Mapping[str, float]]] = {}  # by view: many nodes share one
    for node in choice.node[choice.node >= 0].tolist():
        if view.view[node] < 0 or view.once[node]:
            continue
        number = int(view.view[node])
        if number not in described:
            seen = view.views[number]
            described[number] = model.kernel_name(seen), model.breakdown(seen)
        name, resources = described[number]
        entry = found[name]
        entry.nodes += 1
        entry.cost += float(extracted.prices.cost[node])
        for resource, share in resources.items():
            entry.resources[resource] += share
        if _converts(extracted, node):
            entry.tensors.append(names.get(snapshot.plain[int(snapshot.node_class[node])], ""))
    rows = (
        OperatorCost(
            name,
            entry.nodes,
            entry.cost,
            dict(sorted(entry.resources.items())),
            tuple(sorted(filter(None, entry.tensors))),
        )
        for name, entry in found.items()
        if not math.isclose(entry.cost, 0.0)
    )
    return tuple(sorted(rows, key=lambda row: (-row.cost, row.operator)))


def _converts(extracted: Extracted, node: int) -> bool:
    """Whether a pseudo-operator stands for its operand in another format."""
    snapshot, opset = extracted.choice.snapshot, extracted.choice.lowered.opset
    if not is_pseudo(snapshot, node, opset):
        return False
    expand = operator_named(snapshot.operator[node]).expand
    return expand is not None and expand(snapshot.attributes[node]) == ()


def _names(choice: Choice) -> dict[int, str]:
    """Per class the name of a value of the original, graph inputs included."""
    classes, terms = choice.snapshot.term_classes, choice.lowered.term_of
    named = {int(classes[terms[v]]): v.name or "" for v in choice.lowered.graph.inputs if v in terms}
    return {**named, **{owner: value.name or "" for owner, value in choice.original_names().items()}}
