"""The nodes of the model that ran, by name, as cost models see them: shapes and attributes for a profile.

Compilers keep names: a kernel has that of its node, and one that several nodes were fused into has their
names one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx_ir as ir

from egraph_opt.cost.model import NodeView, bind, default_points
from egraph_opt.facts.fact import UNKNOWN, Fact
from egraph_opt.graph.constants import Constants, constants_of
from egraph_opt.inference.constants import tensor_fact
from egraph_opt.inference.graph import attributes_of, infer_graph
from egraph_opt.model.reading import read_model

BETWEEN = "+_/,;:"
"""What may stand between the names of nodes that were fused."""


@dataclass(frozen=True)
class ModelNodes:
    """The nodes of a model's main graph that depend on its inputs.

    Attributes:
        label: the file.
        by_name: their views, symbols bound.
    """

    label: str
    by_name: Mapping[str, NodeView]

    def within(self, name: str) -> tuple[NodeView, ...]:
        """The nodes whose names a kernel's name begins with, one after the other."""
        found: list[NodeView] = []
        place = 0
        while place < len(name):
            start = place
            while found and start < len(name) and name[start] in BETWEEN:
                start += 1
            known = self._prefix(name, start) or self._prefix(name, place)
            if not known:
                break
            found.append(self.by_name[known])
            place = name.index(known, place) + len(known)
        return tuple(found)

    def _prefix(self, name: str, start: int) -> str:
        """The longest name of a node that stands at a place, and does not end within a number."""
        for end in range(len(name), start, -1):
            cut = end < len(name) and name[end].isdigit() and name[end - 1].isdigit()
            if name[start:end] in self.by_name and not cut:
                return name[start:end]
        return ""

    def of_operators(self, op_types: Sequence[str]) -> tuple[NodeView, ...]:
        """All nodes of some operators."""
        return tuple(view for view in self.by_name.values() if view.op_type in op_types)


def read_nodes(path: Path, sizes: Mapping[str, int] | None = None) -> ModelNodes:
    """The nodes of a model.

    Args:
        sizes: of symbolic dims; the others are as prices have them by default.

    Raises:
        ModelReadError, InvalidModelError, ExternalDataError: the model.
    """
    loaded = read_model(path)
    graph, opset = loaded.model.graph, loaded.opset_imports.get("", 1)
    constants = constants_of(graph, loaded.ir_version, Constants({}))

    def constant(value: ir.Value) -> Fact | None:
        return tensor_fact(constants.tensor(value)) if constants.has(value) else None

    facts = infer_graph(
        graph, loaded.opset_imports, {}, constant, lambda text: None, functions=loaded.model.functions
    )
    points = default_points([facts[v] for v in graph.inputs], given=sizes)

    def known(value: ir.Value | None) -> Fact | None:
        return None if value is None else bind(facts.get(value, UNKNOWN), points)

    found: dict[str, NodeView] = {}
    for number, node in enumerate(graph):
        outputs = tuple(bind(facts.get(value, UNKNOWN), points) for value in node.outputs)
        if all(fact.const for fact in outputs):
            continue
        inputs = tuple(map(known, node.inputs))
        attributes = dict(attributes_of(node))
        view = NodeView(node.op_type, node.domain, attributes, inputs, outputs, opset=opset)
        found.setdefault(node.name or f"{node.op_type}_{number}", view)
    return ModelNodes(path.name, found)
