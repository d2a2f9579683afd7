"""Why a tensor is computed as it is: what else could compute it, and what that would cost, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from egraph_opt.cost.expansion import Expanded, expand_pseudo, form_of
from egraph_opt.cost.repricing import Compiled, Key
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.errors import UnknownTensorError
from egraph_opt.extraction import alternatives
from egraph_opt.extraction.registry import solution_of
from egraph_opt.extraction.solution import Solution
from egraph_opt.graph.names import Namer, names_in
from egraph_opt.operators.declaration import PSEUDO_DOMAIN, Literal, OnnxForm, operator_named
from egraph_opt.pipeline.region import Region
from egraph_opt.pipeline.region_extraction import Extracted
from egraph_opt.rebuild.choice import Choice
from egraph_opt.rebuild.graph import rebuild_graph
from egraph_opt.rebuild.value_info import ValueInfo

Attributes = tuple[tuple[str, Any], ...]

DEPTH = 2
"""Operators within operators, where an operand has no name; more are left out."""


@dataclass(frozen=True)
class TensorAlternative:
    """A way to compute a tensor.

    Attributes:
        operator: the ONNX operator; empty where the tensor is not computed at all.
        operands: their names, or how they are computed where they have none.
        attributes: names and values.
        law: what put it into the e-graph: ``original``, or the key of a law.
        cost: of the cheapest graph that has it so.
        difference: how much that is more than the cheapest graph.
        proved: the difference is exact; else it is that of the best graphs found.
        chosen: the cheapest graph has it so.
    """

    operator: str
    operands: tuple[str, ...]
    attributes: Attributes
    law: str
    cost: float
    difference: float
    proved: bool
    chosen: bool

    def __str__(self) -> str:
        if not self.operator:
            return "not computed"
        settings = (f"{key}={value}" for key, value in self.attributes)
        return f"{self.operator}({', '.join((*self.operands, *settings))})"


def tensor_alternatives(
    region: Region, extracted: Extracted, key: Key, model: ir.Model, name: str
) -> list[TensorAlternative]:
    """The ways to compute a tensor, the chosen one first.

    Args:
        extracted: what was chosen for the region.
        key: the setting that it was chosen at.
        model: what the region is of.
        name: of a tensor or a node of the model or its bodies, or of the graph that was chosen.

    Raises:
        UnknownTensorError: there is no such name.
    """
    parts = {id(part.choice.snapshot): part for part in extracted.walk()}
    for inner in region.walk():
        classes = names_of_classes(inner.lowered, inner.snapshot.term_classes)
        part = parts[id(inner.snapshot)]
        if inner is region:
            classes = {**_written_names(part.choice, model), **classes}
        if name in classes:
            return _ways(inner.compiled(key), part, classes[name], classes)
    known = [
        n for inner in region.walk() for n in names_of_classes(inner.lowered, inner.snapshot.term_classes)
    ]
    raise UnknownTensorError(name, known)


def names_of_classes(lowered: Lowered, term_classes: np.ndarray) -> dict[str, int]:
    """The classes of a graph's values and nodes by name; where both have one, the value's."""
    found: dict[str, int] = {}
    for term, (node, _) in lowered.nodes.items():
        if node.name:
            found.setdefault(node.name, int(term_classes[term]))
    for value, term in lowered.term_of.items():
        if value.name and value.graph is lowered.graph:
            found[value.name] = int(term_classes[term])
    return found


def _written_names(choice: Choice, model: ir.Model) -> dict[str, int]:
    """The classes of what the rebuilt graph computes (not its bodies), by the names of nodes and values."""
    info = ValueInfo(dry_run=True)
    graph = rebuild_graph(choice, model.ir_version, Namer(names_in(model.graph)), info=info)
    made = {value: node for node in graph for value in node.outputs}
    values = {value: owner for value, owner in info.owners.items() if value in made}
    nodes = {made[value].name or "": owner for value, owner in values.items()}
    return {**nodes, **{value.name or "": owner for value, owner in values.items()}}


def _ways(
    compiled: Compiled, part: Extracted, class_: int, names: Mapping[str, int]
) -> list[TensorAlternative]:
    cost = part.prices.cost
    reduced, solution = compiled.reduced, part.solution
    (local,) = np.flatnonzero(reduced.class_ == class_)[:1].tolist() or [-1]
    problem, small = reduced.at(cost), reduced.down(solution.choice)
    writer = _Writer(part.choice, names)
    if local < 0 or small is None:  # nothing to choose
        return [
            writer.row(
                int(part.choice.node[class_]),
                solution,
                solution.cost,
                0.0,
                proved=solution.proved,
                chosen=True,
            )
        ]
    settled = math.fsum(cost[reduced.fixed[reduced.fixed >= 0]].tolist())
    chosen = solution_of(problem, small, solution.lower_bound - settled, solution.extractor)
    rows: list[TensorAlternative] = []
    for found in alternatives(problem, chosen, local):
        lifted = reduced.lift(found.solution, cost)
        node = int(reduced.node[found.node]) if found.node >= 0 else -1
        total = solution.cost + found.difference
        rows.append(writer.row(node, lifted, total, found.difference, proved=found.proved, chosen=not rows))
    return rows


class _Writer:
    """Puts e-nodes into words."""

    def __init__(self, choice: Choice, names: Mapping[str, int]) -> None:
        self.lowered, self.snapshot, self.choice = choice.lowered, choice.snapshot, choice
        self.names: dict[int, str] = {}
        for name, class_ in names.items():
            self.names[class_] = name  # values come after nodes, originals after new ones
        for class_, value in choice.original_names().items():
            self.names[class_] = value.name or ""

    def row(
        self, node: int, solution: Solution, cost: float, difference: float, *, proved: bool, chosen: bool
    ) -> TensorAlternative:
        if node < 0:
            return TensorAlternative("", (), (), "", cost, difference, proved, chosen)
        operator, operands, attributes = self._operator(node, solution)
        made_by = int(self.snapshot.made_by[node])
        law = self.snapshot.laws[made_by - 1] if made_by > 0 else "original"
        words = tuple(self._operand(item, solution, DEPTH) for item in operands)
        return TensorAlternative(operator, words, attributes, law, cost, difference, proved, chosen)

    def _operator(self, node: int, solution: Solution) -> tuple[str, list[int | Literal], Attributes]:
        """The operator of an e-node in words, the classes of its operands (or constants), its attributes."""
        name, attributes = self.snapshot.operator[node], self.snapshot.attributes[node]
        children: list[int | Literal] = [*self.snapshot.children(node)]
        if name == "output":
            bundle = self._node(self.snapshot.children(node)[0], solution)
            operator, operands, settings = self._operator(bundle, solution)
            return f"output {attributes[0]} of {operator}", operands, settings
        if name == "opaque":
            return self.lowered.kept[attributes[0]].op_type, children, ()
        form = form_of(self.snapshot, node, self.lowered.opset)
        if form is None:
            return name, children, ()
        if form.domain == PSEUDO_DOMAIN:
            return self._kernel(node, form), children, ()
        order = [children[k] if isinstance(k, int) else k for k in form.inputs if k is not None]
        return form.op_type, order, tuple((key, value) for key, value in form.attributes if value != ())

    def _kernel(self, node: int, form: OnnxForm) -> str:
        """A kernel of the target, by the operators that it computes: ``Conv + Relu in NC1HWC0``."""
        parts = [self._step(part) for part in expand_pseudo(self.snapshot, node, self.lowered.opset)]
        layout = dict(form.attributes).get("layout", "")
        if not parts:
            return f"Transdata {'from' if form.op_type.startswith('From') else 'to'} {layout}"
        return f"{' + '.join(parts)}{f' in {layout}' if layout else ''}"

    def _step(self, part: Expanded) -> str:
        """The ONNX operator of a step."""
        form = None if part.node < 0 else form_of(self.snapshot, part.node, self.lowered.opset)
        if form is not None and form.domain != PSEUDO_DOMAIN:
            return form.op_type
        named = [value for value in part.step.attributes if isinstance(value, str) and value]
        return named[0] if named and operator_named(part.step.operator).op_types else part.step.operator

    def _node(self, class_: int, solution: Solution) -> int:
        """The e-node that computes a class: the solution's, or else that of the graph that was chosen."""
        for chosen in (solution.choice, self.choice.computed, self.choice.node):
            if chosen[class_] >= 0:
                return int(chosen[class_])
        return int(np.flatnonzero(self.snapshot.node_class == class_)[0])

    def _operand(self, item: int | Literal, solution: Solution, depth: int) -> str:
        if isinstance(item, Literal):
            return _number(item)
        if item in self.names:
            return self.names[item]
        node = self._node(item, solution)
        name, attributes = self.snapshot.operator[node], self.snapshot.attributes[node]
        if name == "literal":
            return _number(attributes[0])
        if name == "leaf":
            return self.lowered.leaves[attributes[0]].name or "constant"
        if name == "none":
            return "none"
        if depth == 0:
            return "..."
        operator, operands, _ = self._operator(node, solution)
        return f"{operator}({', '.join(self._operand(other, solution, depth - 1) for other in operands)})"


def _number(literal: Literal) -> str:
    """A constant that a law wrote: its one value, or all of them."""
    return str(literal.values[0] if len(literal.values) == 1 else literal.values)
