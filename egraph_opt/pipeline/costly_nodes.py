"""The nodes of the original that cost most: why they do, and what computes their results now.

Original and result are compared between tensors that both have as results of kernels.  Where the result has
not that of a node, its place ends at the next ones behind it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import onnx_ir as ir

from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.graph.node_counts import computed_from_constants
from egraph_opt.pipeline.original import OriginalNode, bound_view, original_cost
from egraph_opt.pipeline.region_extraction import Extracted
from egraph_opt.rebuild.choice import Choice
from egraph_opt.rebuild.value_info import NodeOrigin
from egraph_opt.report.figures import CostlyNode

Value = TypeVar("Value", bound=Hashable)
Maker = TypeVar("Maker", bound=Hashable)

MOST = 8
"""So many nodes are named."""

LEAST_SHARE = 0.01
"""The share of the whole from which on a node is costly."""

BINDING = 0.2
"""The share of a price from which on a resource is a reason for it."""


def costly_nodes(
    model: CostModel,
    nodes: Sequence[OriginalNode],
    points: Mapping[str, int],
    extracted: Extracted,
    *,
    written: ir.Model,
    origins: Mapping[ir.Node, NodeOrigin],
) -> tuple[CostlyNode, ...]:
    """The costly nodes of the main graph, the most expensive first; none where a cost model gives no reason.

    Args:
        written: the result, as it was `extracted`.
        origins: of its nodes.
    """
    prices = [original_cost((node,), model, points) for node in nodes]
    least = LEAST_SHARE * math.fsum(prices)
    order = sorted(range(len(nodes)), key=lambda k: (-prices[k], k))[:MOST]
    costly = [k for k in order if prices[k] > 0 and prices[k] >= least]
    reasons = {k: why for k in costly if (why := _why(model, bound_view(nodes[k].view, points), prices[k]))}
    if not reasons:
        return ()
    places = _Places(nodes, prices, extracted, written=written, origins=origins)
    return tuple(places.of(k, why) for k, why in reasons.items())


def _why(model: CostModel, view: NodeView, price: float) -> str:
    """What a cost model says of a price, else the resources that bind it."""
    if told := model.reason(view):
        return told
    shares = sorted(model.breakdown(view).items(), key=lambda entry: (-entry[1], entry[0]))
    bound = [f"{name} {share / price:.0%}" for name, share in shares if share >= BINDING * price]
    return f"bound by {', '.join(bound)}" if bound else ""


class _Places:
    """What original and result compute between tensors that both have."""

    def __init__(
        self,
        nodes: Sequence[OriginalNode],
        prices: Sequence[float],
        extracted: Extracted,
        *,
        written: ir.Model,
        origins: Mapping[ir.Node, NodeOrigin],
    ) -> None:
        self._nodes, self._prices, self._extracted = nodes, prices, extracted
        self._producer = {name: k for k, node in enumerate(nodes) for name in _names(node.outputs)}
        self._users: defaultdict[str, list[int]] = defaultdict(list)
        for k, node in enumerate(nodes):
            for name in _names(node.inputs):
                self._users[name].append(k)
        self._written = {name: node for node in written.graph for name in _names(node.outputs)}
        self._once = computed_from_constants(written)
        shared = self._written.keys() & self._producer.keys()
        choice, view = extracted.choice, extracted.prices.view
        classes, graph = choice.snapshot.term_classes, choice.lowered.graph
        named = [(value, term) for term, values in enumerate(choice.lowered.names) for value in values]
        named += list(zip(graph.outputs, choice.lowered.outputs, strict=True))
        owners = {value.name: int(classes[term]) for value, term in named if value.name in shared}
        self._class = {name: owner for name, owner in owners.items() if choice.node[owner] >= 0}
        for name, owner in _results_of_kernels(choice, written, origins):
            if name in shared:  # in the kernel's own format, if it is nowhere in that of the model
                self._class.setdefault(name, owner)
        self._common = self._class.keys()  # what is inside of a kernel is written, and is no result of one
        assert view is not None  # or nothing would have been chosen
        self._view = view

    def of(self, number: int, why: str) -> CostlyNode:
        """A node, with what is computed there instead."""
        node = self._nodes[number]
        own = list(_names(node.outputs))
        producer = node.outputs[0].producer()
        name = (producer.name if producer is not None else "") or next(iter(own), "")
        ends = self._ends(own)
        before = self._before(ends) | {number}
        after = _between(ends, self._written, lambda made: _names(made.inputs), self._common)
        gone = Counter(self._nodes[k].view.op_type for k in before)
        came = Counter(made.op_type for made in after if self._runs(made))
        return CostlyNode(
            name,
            node.view.op_type,
            self._prices[number],
            why,
            dict(sorted((came - gone).items())),
            dict(sorted((gone - came).items())),
            math.fsum(self._prices[k] for k in before),
            self._cost(ends),
            kept=came[node.view.op_type] >= gone[node.view.op_type],
        )

    def _runs(self, made: ir.Node) -> bool:
        """Whether a node of the result does not depend on constants alone."""
        return made.op_type != "Constant" and not self._once.issuperset(_names(made.outputs))

    def _ends(self, names: Sequence[str]) -> list[str]:
        """These tensors, or the next ones behind them, as far as the result has them."""
        found, seen, pending = [], set(names), list(names)
        for name in pending:
            if name in self._common:
                found.append(name)
                continue
            following = [out for k in self._users[name] for out in _names(self._nodes[k].outputs)]
            fresh = [out for out in dict.fromkeys(following) if out not in seen]
            seen.update(fresh)
            pending += fresh
        return found

    def _before(self, ends: Sequence[str]) -> set[int]:
        """The nodes of the original that compute these tensors."""
        return set(_between(ends, self._producer, lambda k: _names(self._nodes[k].inputs), self._common))

    def _cost(self, ends: Sequence[str]) -> float:
        """What the kernels of the result cost that compute these tensors."""
        choice, cuts = self._extracted.choice, frozenset(self._class.values())
        chosen = dict(enumerate(choice.node.tolist()))
        starts = [self._class[name] for name in ends]

        def operands(node: int) -> Iterable[int]:
            return choice.snapshot.children(node) if node >= 0 else ()

        found = _between(starts, chosen, operands, cuts)
        priced = [k for k in found if k >= 0 and self._view.view[k] >= 0 and not self._view.once[k]]
        return math.fsum(float(self._extracted.prices.cost[k]) for k in priced)


def _results_of_kernels(
    choice: Choice, written: ir.Model, origins: Mapping[ir.Node, NodeOrigin]
) -> Iterator[tuple[str, int]]:
    """The tensors that kernels of the result compute, with the classes that these were chosen for."""
    snapshot, last = choice.snapshot, dict[int, ir.Node]()
    for node in written.graph:
        origin = origins.get(node)
        if origin is not None and origin.snapshot is snapshot and origin.chosen >= 0:
            last[origin.chosen] = node
    for chosen, node in last.items():
        owner = int(snapshot.node_class[chosen])
        if len(node.outputs) == 1 and choice.node[owner] == chosen:
            yield from ((name, owner) for name in _names(node.outputs))


def _between(
    starts: Iterable[Value],
    maker: Mapping[Value, Maker],
    operands: Callable[[Maker], Iterable[Value]],
    cuts: Collection[Value],
) -> list[Maker]:
    """What makes some values, back to others where it is cut; each once."""
    pending = list(dict.fromkeys(starts))
    seen, found = set(pending), dict[Maker, None]()
    for value in pending:
        if value not in maker:
            continue
        found[maker[value]] = None
        fresh = [v for v in dict.fromkeys(operands(maker[value])) if v not in seen and v not in cuts]
        seen.update(fresh)
        pending += fresh
    return list(found)


def _names(values: Sequence[ir.Value | None]) -> Iterator[str]:
    return (value.name for value in values if value is not None and value.name)
