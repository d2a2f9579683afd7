"""A saturated, priced e-graph for other programs: egraph-serialize's JSON, and a neighbourhood as DOT."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from egraph_opt.cost.repricing import Compiled
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.errors import UnknownTensorError
from egraph_opt.extraction.problem import ExtractionProblem
from egraph_opt.extraction.serialized import as_json
from egraph_opt.facts.fact import Fact
from egraph_opt.operators.declaration import operator_named
from egraph_opt.pipeline.region_extraction import Extracted
from egraph_opt.pipeline.seen_values import fact_text, value_text
from egraph_opt.pipeline.tensor_alternatives import names_of_classes
from egraph_opt.rebuild.value_info import law_at

STEPS = 1
"""How far from a tensor a drawing goes: to what it is computed from, and to what is computed from it."""


@dataclass(frozen=True)
class PricedEgraph:
    """The e-graph of one graph under a cost model, with what was chosen of it."""

    compiled: Compiled
    extracted: Extracted

    @property
    def _snapshot(self) -> Snapshot:
        return self.extracted.choice.snapshot

    def to_json(self) -> str:
        """The form of egraph-serialize, without what costs nothing at run time, such as constants."""
        costs = self.extracted.prices.cost
        given = self.compiled.problem
        problem = ExtractionProblem(
            given.node_class, given.child_ptr, given.child, costs, given.roots, n_classes=given.n_classes
        )
        labels = list(map(self.label, range(self._snapshot.n_nodes)))
        return json.dumps(as_json(problem, labels, list(map(_type_text, self._snapshot.facts))), indent=1)

    def to_dot(self, name: str, steps: int = STEPS) -> str:
        """The classes around a tensor in Graphviz's language: a box each, with its e-nodes and their costs.

        The chosen e-nodes are bold; those that laws wrote name the law.

        Raises:
            UnknownTensorError: the graph has no tensor or node of this name.
        """
        lowered = self.extracted.choice.lowered
        known = names_of_classes(lowered, self._snapshot.term_classes)
        if name not in known:
            raise UnknownTensorError(name, list(known))
        near = self._around(known[name], steps)
        return "\n".join(["digraph egraph {", *self._boxes(near, known), *self._edges(near), "}"])

    def label(self, node: int) -> str:
        """An e-node's operator, as ONNX names it, with its attributes: ``Transpose(perm=[0, 2, 1])``."""
        operator = operator_named(self._snapshot.operator[node])
        names = [operator.names[k] for k in operator.attribute_positions]
        said = dict(zip(names, self._snapshot.attributes[node], strict=True))
        view = int(self.compiled.view.view[node])
        title = self.compiled.view.views[view].op_type if view >= 0 else operator.name
        if operator.op_types and names:
            title = str(said.pop(names[0]))
        shown = {key: value_text(value) for key, value in said.items() if value not in ((), "", None)}
        inside = ", ".join(f"{key}={text}" for key, text in shown.items())
        return f"{title}({inside})" if inside else title

    def _members(self, owner: int) -> list[int]:
        return np.flatnonzero(self._snapshot.node_class == owner).tolist()

    def _around(self, start: int, steps: int) -> list[int]:
        """The classes so many steps up and down from one, in order."""
        snapshot = self._snapshot
        users = np.repeat(np.arange(snapshot.n_nodes), np.diff(snapshot.child_ptr))
        found = {start}
        for _ in range(steps):
            nodes = np.flatnonzero(np.isin(snapshot.node_class, list(found)))
            below = {c for node in nodes.tolist() for c in snapshot.children(node)}
            above = snapshot.node_class[users[np.isin(snapshot.child, list(found))]].tolist()
            found |= {*below, *above}
        return sorted(found)

    def _boxes(self, near: Iterable[int], known: dict[str, int]) -> Iterator[str]:
        names: dict[int, str] = {}
        for name, owner in known.items():
            names.setdefault(owner, name)
        yield "  compound=true; rankdir=BT; node [shape=box, style=rounded];"
        for owner in near:
            title = " ".join(filter(None, (names.get(owner, ""), _type_text(self._snapshot.facts[owner]))))
            yield f"  subgraph cluster_{owner} {{"
            yield f"    style=dashed; label={json.dumps(title)};"
            for node in self._members(owner):
                yield f"    n{node} [{', '.join(self._look(owner, node))}];"
            yield "  }"

    def _look(self, owner: int, node: int) -> Iterator[str]:
        cost, law = float(self.extracted.prices.cost[node]), law_at(self._snapshot, node)
        priced = f"{cost:.4g}" if math.isfinite(cost) else "cannot be written"
        lines = [self.label(node), priced, *filter(None, [law])]
        yield f"label={json.dumps(chr(10).join(lines))}"
        if int(self.extracted.choice.node[owner]) == node:
            yield 'style="rounded,bold"'

    def _edges(self, near: Iterable[int]) -> Iterator[str]:
        inside = set(near)
        for owner in sorted(inside):
            for node in self._members(owner):
                for child in self._snapshot.children(node):
                    if child in inside:
                        yield f"  n{self._members(child)[0]} -> n{node} [ltail=cluster_{child}];"


def _type_text(known: Fact) -> str:
    return fact_text(known) if known.dtype > 0 else ""
