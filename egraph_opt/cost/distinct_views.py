"""The distinct nodes that a snapshot's e-nodes are to a cost model, each described once.

A network repeats its layers, and laws write one node in many places: a node is described by its operator and
the facts of its operands, and whoever has the same is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import onnx_ir as ir

from egraph_opt.cost.constant_nodes import FREE, nodes_by_e_node
from egraph_opt.cost.empty_dims import is_refused
from egraph_opt.cost.expansion import Expanded, stages_and_steps
from egraph_opt.cost.kernels import Kernels
from egraph_opt.cost.model import CostModel, NodeView, Parts, bind
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.facts.fact import ABSENT, UNKNOWN, Fact
from egraph_opt.graph.walks import bodies
from egraph_opt.inference.graph import attributes_of
from egraph_opt.operators.declaration import PSEUDO_DOMAIN, Earlier, OnnxForm, Scalar, Step, operator_named
from egraph_opt.operators.typing import form_facts, infer_operator, step_operands

FREE_OF_CHARGE, UNWRITABLE = -1, -2
"""In place of a view: what costs nothing whatever the model, and what cannot be written."""

_NOTHING = (None, False)


class Target(NamedTuple):
    """What does not depend on prices of a cost model: see there."""

    pseudo_operators: frozenset[str]
    applied: frozenset[tuple[str, frozenset[str]]]
    any_types: bool = False

    @staticmethod
    def of(model: CostModel) -> Target:
        return Target(model.pseudo_operators, frozenset(model.applied.items()), model.any_types)


class DistinctViews:
    """Finds the distinct views of a snapshot's e-nodes."""

    def __init__(
        self, lowered: Lowered, snapshot: Snapshot, target: Target, points: Mapping[str, int]
    ) -> None:
        self.lowered, self.snapshot, self.points = lowered, snapshot, points
        self.pseudo = target.pseudo_operators
        self.bound: dict[Fact, Fact] = {}
        self.numbers: dict[Any, int] = {}
        self.forms: dict[Any, OnnxForm | None] = {}  # by what they depend on, as `known` are numbers of views
        self.known: dict[Any, int] = {}
        alike: dict[Fact, int] = {}
        self.fact_of = [alike.setdefault(fact, len(alike)) for fact in snapshot.facts]
        self.views: list[NodeView] = []
        self.bodies: dict[int, int] = {}
        self.original = nodes_by_e_node(lowered, snapshot)
        self.own = {*self.original, *self._applied(dict(target.applied))}  # grows with what stands for these
        self.kernels = Kernels(lowered, any_types=target.any_types)
        self.outputs: dict[int, dict[int, Fact]] = {}
        for k, name in enumerate(snapshot.operator):
            if name == "output":
                bundle = int(snapshot.child[snapshot.child_ptr[k]])
                facts = self.outputs.setdefault(bundle, {})
                facts[snapshot.attributes[k][0]] = snapshot.facts[int(snapshot.node_class[k])]

    def _applied(self, laws: Mapping[str, frozenset[str]]) -> set[int]:
        """The e-nodes that a target's compiler makes instead of original nodes, and what they are made of."""
        snapshot = self.snapshot
        wanted = {k: laws[key] for k, key in enumerate(snapshot.laws, start=1) if key in laws}
        op_types: dict[int, set[str]] = {}
        for k, (node, _) in self.original.items():
            op_types.setdefault(int(snapshot.node_class[k]), set()).add(node.op_type)
        pending: list[int] = []
        made: dict[int, list[int]] = {}  # per class that the original does not have
        for k, law in enumerate(snapshot.made_by.tolist() if wanted else ()):
            if law in wanted:
                owner = int(snapshot.node_class[k])
                if owner not in op_types:
                    made.setdefault(owner, []).append(k)
                elif not wanted[law].isdisjoint(op_types[owner]):
                    pending.append(k)
        found: set[int] = set()
        while pending:
            made_node = pending.pop()
            found.add(made_node)
            pending.extend(k for c in snapshot.children(made_node) for k in made.pop(c, ()))
        return found

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
        results = self.results(node)
        below = tuple(self.fact_of[c] for c in self.snapshot.children(node))
        key = (name, attributes, below, results, source is None)
        if key not in self.forms:
            self.forms[key] = self._form(node, operands)
        written = self.forms[key]
        if written is None:
            return UNWRITABLE
        steps = self._steps(node) if written.domain == PSEUDO_DOMAIN else ()
        numbered = (key, tuple(part.node for part in steps if self.original.get(part.node, _NOTHING)[1]))
        if numbered not in self.known:
            self.known[numbered] = self._written_as(written, operands, results, steps)
        return self.known[numbered]

    def _form(self, node: int, operands: tuple[Fact, ...]) -> OnnxForm | None:
        """An e-node as it is written; None where the opset, or the target, has no such thing."""
        name, attributes = self.snapshot.operator[node], self.snapshot.attributes[node]
        if (
            name == "reshape"
            and node not in self.original
            and is_refused(self.lowered, operands[0], attributes[0])
        ):
            return None
        form = operator_named(name).form
        written = None if form is None else form(self.lowered.opset, attributes, operands)
        if written is not None and written.domain == PSEUDO_DOMAIN:
            return None if self.pseudo.isdisjoint((name, written.op_type)) else written
        return written

    def _steps(self, node: int) -> tuple[Expanded, ...]:
        """The steps of a pseudo-operator, which is the original's own where they are."""
        whole, steps = stages_and_steps(self.snapshot, node, self.lowered.opset)
        if any(all(part.node in self.own for part in parts) for parts in (whole, steps)):
            self.own.add(node)
        return steps

    def _written_as(
        self,
        written: OnnxForm,
        operands: tuple[Fact, ...],
        results: tuple[Fact, ...],
        steps: tuple[Expanded, ...],
    ) -> int:
        """The view of a form, or `UNWRITABLE`."""
        parts = None
        if written.domain == PSEUDO_DOMAIN:
            parts = self._parts(steps, operands)
            if parts is None:
                return UNWRITABLE
        inputs = form_facts(written, operands)
        if not self.kernels.compute(written, inputs, results):
            return UNWRITABLE
        return self._view(written.op_type, written.domain, written.attributes, inputs, results, parts=parts)

    def _verbatim(self, node: ir.Node, results: tuple[Fact, ...]) -> int:
        """An original node that is written back with all operands that it had, those in attributes too."""
        return self._view(node.op_type, node.domain, attributes_of(node), self._read(node), results)

    def _read(self, node: ir.Node) -> tuple[Fact | None, ...]:
        """The facts of an original node's inputs."""
        terms = [None if v is None else self.lowered.term_of[v] for v in node.inputs]
        classes = self.snapshot.term_classes
        return tuple(None if t is None else self.snapshot.facts[classes[t]] for t in terms)

    def _parts(self, steps: tuple[Expanded, ...], operands: tuple[Fact, ...]) -> Parts | None:
        """The nodes that a pseudo-operator stands for; None if a step cannot be written in the opset."""
        known: list[Fact] = []
        places: list[int | None] = []  # per step where its result is found
        nodes: list[NodeView] = []
        sources: list[tuple[int | None, ...]] = []
        for part in steps:
            step = part.step
            given = step_operands(step, operands, known)
            if any(
                isinstance(k, Scalar) and given[place] == UNKNOWN for place, k in enumerate(step.operands)
            ):
                return None  # a constant of a type that nobody knows
            known.append(infer_operator(step.operator, self.lowered.opset, step.attributes, given))
            if step.operator in FREE:
                places.append(None)
                continue
            written = self._written(step, given, known[-1:])
            original, as_it_was = self.original.get(part.node, _NOTHING)
            if written is not None:
                inputs = form_facts(written, given)
                whence = [_place(operand, places) for operand in step.operands]
                sources.append(tuple(whence[k] if isinstance(k, int) else None for k in written.inputs))
                view = self._bound(written.op_type, written.domain, written.attributes, inputs, known[-1:])
            elif original is not None and as_it_was:
                inputs = self._read(original)
                sources.append((None,) * len(inputs))
                attributes = attributes_of(original)
                view = self._bound(original.op_type, original.domain, attributes, inputs, known[-1:])
            else:
                return None
            places.append(len(operands) + len(nodes))
            nodes.append(view)
        return Parts(tuple(map(self.bind, operands)), tuple(nodes), tuple(sources))

    def _written(self, step: Step, operands: tuple[Fact, ...], results: Sequence[Fact]) -> OnnxForm | None:
        """A step as the opset has it; it may not stand for further ones."""
        form = operator_named(step.operator).form
        written = None if form is None else form(self.lowered.opset, step.attributes, operands)
        if written is None or written.domain == PSEUDO_DOMAIN:
            return None
        return written if self.kernels.compute(written, form_facts(written, operands), results) else None

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
        parts: Parts | None = None,
    ) -> int:
        view = self._bound(op_type, domain, attributes, inputs, results)
        key = (op_type, domain, attributes, view.inputs, view.outputs, body)
        number = self.numbers.setdefault(key, len(self.views))
        if number == len(self.views):
            self.views.append(replace(view, parts=parts))
            if body >= 0:
                self.bodies[number] = body
        return number

    def _bound(
        self,
        op_type: str,
        domain: str,
        attributes: tuple[tuple[str, Any], ...],
        inputs: Sequence[Fact | None],
        results: Sequence[Fact],
    ) -> NodeView:
        """A node with its symbols bound."""
        return NodeView(
            op_type,
            domain,
            MappingProxyType(dict(attributes)),
            tuple(None if fact is None else self.bind(fact) for fact in inputs),
            tuple(map(self.bind, results)),
            opset=self.lowered.opset,
        )


def _place(operand: int | Earlier | Scalar, places: Sequence[int | None]) -> int | None:
    """Where an operand of a step is found."""
    if isinstance(operand, Earlier):
        return places[operand.step]
    return operand if isinstance(operand, int) else None
