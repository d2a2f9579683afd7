"""A cost for every e-node of a snapshot, and the extraction problem that follows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from egraph_opt.cost.expansion import expand_pseudo, form_of, is_pseudo
from egraph_opt.cost.model import CostModel, NodeView, bind
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.errors import ExtractionError
from egraph_opt.extraction.problem import ExtractionProblem
from egraph_opt.facts.fact import ABSENT, UNKNOWN, Fact
from egraph_opt.graph.constants import byte_size
from egraph_opt.graph.walks import bodies
from egraph_opt.inference.graph import attributes_of
from egraph_opt.operators.declaration import PSEUDO_DOMAIN, Step, operator_named
from egraph_opt.operators.typing import form_facts, infer_operator, step_operands

FREE = frozenset(("leaf", "literal", "none", "output"))

FREE_OF_CHARGE, UNWRITABLE = -1, -2
"""In place of a view: what costs nothing whatever the model, and what cannot be written."""

NODE_BYTES = 2**20
"""Among graphs of equal cost, how many bytes of constants may save one node that runs."""


@dataclass(frozen=True)
class Prices:
    """Costs of a snapshot's e-nodes.

    Attributes:
        cost: per e-node; infinite where it cannot be written, 0 where it depends on constants alone.
        tie: per e-node the bytes it adds to the file as a constant, or `NODE_BYTES` where it runs.
        computed: per class the e-node by which a constant is computed when the model is rebuilt; -1 for what
            is computed when it runs.
    """

    cost: npt.NDArray[np.float64]
    tie: npt.NDArray[np.float64]
    computed: npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class PricingView:
    """A snapshot as cost models see it: all of pricing that no price depends on.

    Attributes:
        views: the distinct views of e-nodes, their symbols bound; a cost model is asked once for each.
        bodies: which views have bodies, and the kept node whose they are.
        view: per e-node its view, `FREE_OF_CHARGE` or `UNWRITABLE`.
        once: per e-node whether it depends on constants alone, so that it costs nothing where it can be
            written.
        tie: as in `Prices`.
        computed: as in `Prices`.
    """

    views: tuple[NodeView, ...]
    bodies: Mapping[int, int]
    view: npt.NDArray[np.int32]
    once: npt.NDArray[np.bool_]
    tie: npt.NDArray[np.float64]
    computed: npt.NDArray[np.int32]

    def prices(self, model: CostModel, body_costs: Sequence[float]) -> Prices:
        """The costs under a model whose pseudo-operators are those of this view.

        Args:
            body_costs: per kept node the cost of its bodies.

        Raises:
            ExtractionError: a price that is negative or no number.
        """
        table = np.zeros(len(self.views) + 2)
        table[UNWRITABLE] = math.inf
        for number, view in enumerate(self.views):
            key = self.bodies.get(number, -1)
            seen = view if key < 0 else replace(view, body_cost=body_costs[key])
            table[number] = price = model.cost(seen)
            if not price >= 0:
                raise ExtractionError(
                    f"cost model {model.name!r} prices {view.op_type} at {price}; a price must be 0 or more"
                )
        cost = table[self.view]
        cost[self.once & np.isfinite(cost)] = 0.0
        return Prices(cost, self.tie, self.computed)


class _Compiler:
    """Finds the distinct views of a snapshot's e-nodes."""

    def __init__(
        self, lowered: Lowered, snapshot: Snapshot, pseudo: frozenset[str], points: Mapping[str, int]
    ) -> None:
        self.lowered, self.snapshot, self.pseudo, self.points = lowered, snapshot, pseudo, points
        self.bound: dict[Fact, Fact] = {}
        self.numbers: dict[Any, int] = {}
        self.views: list[NodeView] = []
        self.bodies: dict[int, int] = {}
        self.original = original_nodes(lowered, snapshot)
        self.outputs: dict[int, dict[int, Fact]] = {}
        for k, name in enumerate(snapshot.operator):
            if name == "output":
                bundle = int(snapshot.child[snapshot.child_ptr[k]])
                facts = self.outputs.setdefault(bundle, {})
                facts[snapshot.attributes[k][0]] = snapshot.facts[int(snapshot.node_class[k])]

    def bind(self, fact: Fact) -> Fact:
        if fact not in self.bound:
            self.bound[fact] = bind(fact, self.points)
        return self.bound[fact]

    def results(self, node: int) -> tuple[Fact, ...]:
        """The facts of what an e-node computes: of a bundle, the outputs that somebody selects."""
        owner = int(self.snapshot.node_class[node])
        if operator_named(self.snapshot.operator[node]).result == "tensor":
            return (self.snapshot.facts[owner],)
        selected = self.outputs.get(owner, {})
        return tuple(selected.get(k, UNKNOWN) for k in range(max(selected, default=-1) + 1))

    def is_constant(self, node: int, operands: tuple[Fact, ...]) -> bool:
        """Whether it depends on constants alone: if not folded here, it is still computed only once."""
        results = self.results(node)
        return all(f.const for f in results) and all(f.const or f == ABSENT for f in operands)

    def number(self, node: int, operands: tuple[Fact, ...]) -> int:
        """The view of an e-node, or `UNWRITABLE`."""
        name, attributes = self.snapshot.operator[node], self.snapshot.attributes[node]
        if name == "opaque":
            return self._kept(attributes[0], operands, self.results(node))
        source = self.original.get(node)
        if source is not None and source[1]:
            return self._verbatim(source[0], self.results(node))
        form = operator_named(name).form
        written = None if form is None else form(self.lowered.opset, attributes, operands)
        if written is None:
            return UNWRITABLE
        if written.domain == PSEUDO_DOMAIN:
            unknown = self.pseudo.isdisjoint((name, written.op_type))
            if unknown or not self._can_erase(node, operands):
                return UNWRITABLE
        inputs = form_facts(written, operands)
        return self._view(written.op_type, written.domain, written.attributes, inputs, self.results(node))

    def _verbatim(self, node: ir.Node, results: tuple[Fact, ...]) -> int:
        """An original node that is written back with all operands that it had, those in attributes too."""
        terms = [None if v is None else self.lowered.term_of[v] for v in node.inputs]
        classes = self.snapshot.term_classes
        inputs = tuple(None if t is None else self.snapshot.facts[classes[t]] for t in terms)
        return self._view(node.op_type, node.domain, attributes_of(node), inputs, results)

    def _can_erase(self, node: int, operands: tuple[Fact, ...]) -> bool:
        """Whether every step of a pseudo-operator can be written in the model's opset."""
        known: list[Fact] = []
        for part in expand_pseudo(self.snapshot, node):
            step = part.step
            given = step_operands(step, operands, known)
            known.append(infer_operator(step.operator, self.lowered.opset, step.attributes, given))
            as_it_was = part.node in self.original and self.original[part.node][1]
            if step.operator not in FREE and not as_it_was and not self._can_write(step, given):
                return False
        return True

    def _can_write(self, step: Step, operands: tuple[Fact, ...]) -> bool:
        """Whether the opset has a step's operator; a step may not stand for further ones."""
        form = operator_named(step.operator).form
        written = None if form is None else form(self.lowered.opset, step.attributes, operands)
        return written is not None and written.domain != PSEUDO_DOMAIN

    def _kept(self, key: int, operands: tuple[Fact, ...], results: tuple[Fact, ...]) -> int:
        node = self.lowered.kept[key]
        inputs = tuple(None if f == ABSENT else f for f in operands[: len(node.inputs)])
        body = key if bodies(node) else -1
        return self._view(node.op_type, node.domain, attributes_of(node), inputs, results, body=body)

    def _view(
        self,
        op_type: str,
        domain: str,
        attributes: tuple[tuple[str, Any], ...],
        inputs: tuple[Fact | None, ...],
        results: tuple[Fact, ...],
        *,
        body: int = -1,
    ) -> int:
        bound = tuple(None if f is None else self.bind(f) for f in inputs)
        outputs = tuple(self.bind(f) for f in results)
        key = (op_type, domain, attributes, bound, outputs, body)
        number = self.numbers.setdefault(key, len(self.views))
        if number == len(self.views):
            view = NodeView(op_type, domain, MappingProxyType(dict(attributes)), bound, outputs)
            self.views.append(view)
            if body >= 0:
                self.bodies[number] = body
        return number


def original_nodes(lowered: Lowered, snapshot: Snapshot) -> dict[int, tuple[ir.Node, bool]]:
    """The ONNX node that an e-node of the original was, and whether it can be written back as it was."""
    return {int(snapshot.term_node[term]): source for term, source in reversed(lowered.nodes.items())}


def pricing_view(
    lowered: Lowered,
    snapshot: Snapshot,
    pseudo_operators: frozenset[str],
    points: Mapping[str, int],
    fold_bytes: int,
) -> PricingView:
    """Find the distinct views of all e-nodes.

    Args:
        pseudo_operators: those that the cost model prices.
        points: what symbolic dims stand for.
        fold_bytes: how much bigger than its operands a folded constant may be.
    """
    compiler = _Compiler(lowered, snapshot, pseudo_operators, points)
    computed = constant_nodes(lowered, snapshot, fold_bytes)
    view = np.full(snapshot.n_nodes, FREE_OF_CHARGE, np.int32)
    once, tie = np.zeros(snapshot.n_nodes, np.bool_), np.zeros(snapshot.n_nodes)
    for k in range(snapshot.n_nodes):
        owner = int(snapshot.node_class[k])
        if computed[owner] == k:
            tie[k] = byte_size(snapshot.facts[owner]) or 0
        elif snapshot.operator[k] not in FREE:
            operands = tuple(snapshot.facts[c] for c in snapshot.children(k))
            view[k] = compiler.number(k, operands)
            tie[k] = NODE_BYTES
            once[k] = compiler.is_constant(k, operands)
    return PricingView(tuple(compiler.views), compiler.bodies, view, once, tie, computed)


def price(
    lowered: Lowered,
    snapshot: Snapshot,
    model: CostModel,
    points: Mapping[str, int],
    body_costs: Sequence[float],
    *,
    fold_bytes: int,
) -> Prices:
    """Price every e-node once: `pricing_view`, and the prices of its views.

    Raises:
        ExtractionError: a price that is negative or no number.
    """
    view = pricing_view(lowered, snapshot, model.pseudo_operators, points, fold_bytes)
    return view.prices(model, body_costs)


def constant_nodes(lowered: Lowered, snapshot: Snapshot, fold_bytes: int) -> npt.NDArray[np.int32]:
    """Per class of constant value an e-node to compute it by, from leaves in the fewest steps; else -1.

    An e-node whose result is more than `fold_bytes` bigger than its operands is not computed, unless it has
    one value in every element: that is written in a few bytes.
    """
    computed = np.full(snapshot.n_classes, -1, dtype=np.int32)
    users: list[list[int]] = [[] for _ in range(snapshot.n_classes)]
    missing = np.zeros(snapshot.n_nodes, dtype=np.int64)
    ready: list[int] = []
    for k in range(snapshot.n_nodes):
        fact = snapshot.facts[int(snapshot.node_class[k])]
        name = snapshot.operator[k]
        if not fact.const or name in ("opaque", "output", "split", "none"):
            continue
        if name not in FREE and name != "reshape":
            form = form_of(snapshot, k, lowered.opset)
            if form is None or form.domain == PSEUDO_DOMAIN:
                continue
        if name == "leaf" and not lowered.constants.has(lowered.leaves[snapshot.attributes[k][0]]):
            continue  # an empty input equals an empty constant
        operands = {c for c in snapshot.children(k) if snapshot.facts[c] != ABSENT}
        if operands and not _may_fold(fact, [snapshot.facts[c] for c in operands], fold_bytes):
            continue
        missing[k] = len(operands)
        for c in operands:
            users[c].append(k)
        if not operands:
            ready.append(k)
    position = 0
    while position < len(ready):
        node = ready[position]
        position += 1
        owner = int(snapshot.node_class[node])
        if computed[owner] >= 0:
            continue
        computed[owner] = node
        for user in users[owner]:
            missing[user] -= 1
            if missing[user] == 0:
                ready.append(user)
    return computed


def _may_fold(fact: Fact, operands: Sequence[Fact], fold_bytes: int) -> bool:
    if not fact.is_static:
        return False
    if fact.splat is not None:
        return True
    after = byte_size(fact)
    return after is not None and after - sum(byte_size(f) or 0 for f in operands) <= fold_bytes


def problem_of(lowered: Lowered, snapshot: Snapshot, prices: Prices) -> ExtractionProblem:
    """The extraction problem: one node per class that the outputs need, at least cost.

    What costs nothing whatever is chosen, inputs and constants, is no part of it (see `with_given`): shared
    by the whole graph it would only tie its parts together.  Bytes of constants count for each of the users.
    """
    roots = snapshot.term_classes[lowered.outputs]
    given = given_of(snapshot, prices)
    owner = np.repeat(np.arange(snapshot.n_nodes), np.diff(snapshot.child_ptr))
    # What is computed when the model is rebuilt needs nothing when it runs.
    folded = np.zeros(snapshot.n_nodes, dtype=bool)
    folded[prices.computed[prices.computed >= 0]] = True
    free = given[snapshot.child] >= 0
    bytes_ = np.where(free & ~folded[owner], prices.tie[given[snapshot.child]], 0.0)
    kept = ~free & ~folded[owner]
    counts = np.bincount(owner[kept], minlength=snapshot.n_nodes)
    return ExtractionProblem(
        node_class=snapshot.node_class,
        child_ptr=np.concatenate(([0], np.cumsum(counts))).astype(np.int32),
        child=snapshot.child[kept],
        cost=prices.cost,
        roots=np.unique(roots).astype(np.int32),
        tie=prices.tie + np.bincount(owner, weights=bytes_, minlength=snapshot.n_nodes),
        n_classes=snapshot.n_classes,
    )


def given_of(snapshot: Snapshot, prices: Prices) -> npt.NDArray[np.int32]:
    """Per class an e-node that provides it for nothing (a leaf, or what is computed on rebuilding), or -1."""
    given = prices.computed.copy()
    for k, name in enumerate(snapshot.operator):
        if name in ("leaf", "literal", "none") and given[snapshot.node_class[k]] < 0:
            given[snapshot.node_class[k]] = k
    return np.where((given >= 0) & (prices.cost[given] == 0), given, -1).astype(np.int32)


def with_given(
    snapshot: Snapshot,
    prices: Prices,
    choice: npt.NDArray[np.int32],
    given: npt.NDArray[np.int32] | None = None,
) -> npt.NDArray[np.int32]:
    """A solution of `problem_of` with the leaves and constants that its e-nodes use (see `given_of`)."""
    given = given_of(snapshot, prices) if given is None else given
    answer = choice.copy()
    for node in choice[choice >= 0].tolist():
        if prices.computed[snapshot.node_class[node]] != node:
            for c in snapshot.children(node):
                if answer[c] < 0:
                    answer[c] = given[c]
    return answer


def original_choice(snapshot: Snapshot, prices: Prices) -> npt.NDArray[np.int32]:
    """The original graph as a choice: per class its earliest original e-node, which cannot be cyclic.

    Constants are computed as they are in every choice.
    """
    choice = np.full(snapshot.n_classes, -1, dtype=np.int32)
    for node in snapshot.term_node[::-1]:
        choice[snapshot.node_class[node]] = node
    return np.where(prices.computed >= 0, prices.computed, choice).astype(np.int32)


def standing_in(
    lowered: Lowered, snapshot: Snapshot, prices: Prices, original: npt.NDArray[np.int32]
) -> npt.NDArray[np.bool_] | None:
    """The e-nodes of the original graph, and the pseudo-operators that stand for these alone.

    None where there are no such pseudo-operators.
    """
    own = np.zeros(snapshot.n_nodes, dtype=bool)
    own[original[original >= 0]] = True
    allowed = own.copy()
    for k in range(snapshot.n_nodes):
        if np.isfinite(prices.cost[k]) and is_pseudo(snapshot, k, lowered.opset):
            parts = expand_pseudo(snapshot, k)
            allowed[k] = bool(parts) and all(part.node >= 0 and own[part.node] for part in parts)
    return allowed if (allowed & ~own).any() else None
