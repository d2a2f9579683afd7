"""The chosen graph as ONNX: its nodes, its outputs under their own names, and what surrounds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx_ir as ir

from egraph_opt.facts.fact import CLASH, Fact, meet
from egraph_opt.graph.constants import stored_bytes
from egraph_opt.graph.names import Namer, names_in
from egraph_opt.graph.walks import captured_values, nodes_within
from egraph_opt.rebuild.choice import Choice
from egraph_opt.rebuild.constants import SPLAT_BYTES
from egraph_opt.rebuild.nodes import NodeWriter
from egraph_opt.rebuild.value_info import ValueInfo


class _Rebuilder:
    def __init__(
        self,
        choice: Choice,
        ir_version: int,
        namer: Namer,
        outer: Mapping[ir.Value, ir.Value],
        info: ValueInfo,
    ) -> None:
        def rebuild_body(body: Choice, captured: Mapping[ir.Value, ir.Value]) -> ir.Graph:
            return rebuild_graph(body, ir_version, namer, captured, info)

        self.writer = NodeWriter(choice, ir_version, namer, outer, info=info, rebuild_body=rebuild_body)
        self.inputs = [self.writer.constants.copied(value) for value in choice.lowered.graph.inputs]

    def run(self) -> ir.Graph:
        for owner in self.writer.choice.order():
            if owner not in self.writer.values:  # an expanded pseudo-operator may have needed it before
                self.writer.write(owner)
        outputs = self._outputs()
        nodes, initializers = self._needed(outputs)
        self._describe()
        graph = self.writer.lowered.graph
        return ir.Graph(
            self.inputs,
            outputs,
            nodes=nodes,
            initializers=initializers,
            doc_string=graph.doc_string,
            opset_imports=self._imports(nodes),
            name=graph.name,
            metadata_props=dict(graph.metadata_props),
        )

    def _imports(self, nodes: Sequence[ir.Node]) -> dict[str, int]:
        """The original's opsets, and version 1 of the domains of which laws wrote operators."""
        imports = dict(self.writer.lowered.graph.opset_imports)
        for node in nodes:
            for inner in (node, *nodes_within(node)):
                imports.setdefault(inner.domain, 1)
        return imports

    def _describe(self) -> None:
        """Tell the info of the values of classes and of the inputs."""
        for original, value in zip(self.writer.lowered.graph.inputs, self.inputs, strict=True):
            term = self.writer.lowered.term_of.get(original)
            if term is not None:
                self.writer.info.facts[value] = self.writer.snapshot.facts[
                    int(self.writer.snapshot.term_classes[term])
                ]
        for owner, value in self.writer.values.items():
            self.writer.info.facts[value] = self.writer.fact(owner)
            self.writer.info.owners[value] = owner
            self.writer.info.choices[value] = self.writer.choice

    def _outputs(self) -> list[ir.Value]:
        """The graph's outputs under their own names."""
        outputs: dict[ir.Value, ir.Value] = {}
        classes = self.writer.snapshot.term_classes
        taken: set[ir.Value] = set()
        for original, term in zip(
            self.writer.lowered.graph.outputs, self.writer.lowered.outputs, strict=True
        ):
            if original not in outputs:
                value = self._output(original, int(classes[term]), taken)
                value.shape, value.type = self._declared_shape(original, int(classes[term])), original.type
                outputs[original] = value
                taken.add(value)
        return [outputs[original] for original in self.writer.lowered.graph.outputs]

    def _declared_shape(self, original: ir.Value, owner: int) -> ir.Shape | None:
        """The declared shape of an output, with the sizes that are known; none where it is not true, as
        nobody sees of a body."""
        if original.shape is None:
            return None
        numbers = tuple(dim if isinstance(dim, int) and dim >= 0 else None for dim in original.shape)
        both = meet(Fact(0, numbers), Fact(0, self.writer.snapshot.facts[owner].shape))
        if both.dtype == CLASH.dtype or both.shape is None:
            return None
        found = zip(original.shape, both.shape, strict=True)
        return ir.Shape([size if isinstance(size, int) else declared for declared, size in found])

    def _output(self, original: ir.Value, owner: int, taken: set[ir.Value]) -> ir.Value:
        """A class as an output: by Identity, or a small Constant, where its value already has a name."""
        if original.is_graph_input() or original.is_initializer():
            return self.writer.constants.copied(original)
        value = self.writer.values[owner]
        if value.producer() is not None and value.name == original.name and value not in taken:
            return value
        made = ir.Value(
            name=original.name, doc_string=original.doc_string, metadata_props=dict(original.metadata_props)
        )
        tensor = value.const_value if self.writer.snapshot.facts[owner].const else None
        if tensor is not None and stored_bytes(tensor) <= SPLAT_BYTES:
            self.writer.constants.write(tensor, made, "constant")
            return made
        source = original.producer()
        kept = source.name if source is not None and source.op_type == "Identity" else None
        name = kept or self.writer.namer.fresh("identity")
        self.writer.nodes.append(ir.Node("", "Identity", [value], outputs=[made], name=name))
        self.writer.info.facts[made] = self.writer.fact(owner)
        return made

    def _needed(self, outputs: Sequence[ir.Value]) -> tuple[list[ir.Node], list[ir.Value]]:
        """Nodes and initializers without those that only an optimised body used to capture."""
        needed = {*outputs, *self.inputs}
        kept: list[ir.Node] = []
        for node in reversed(self.writer.nodes):
            if any(value in needed for value in node.outputs):
                kept.append(node)
                needed.update(v for v in node.inputs if v is not None)
                needed.update(captured_values(node))
        return kept[::-1], [value for value in self.writer.initializers.values() if value in needed]


def rebuild_graph(
    choice: Choice,
    ir_version: int,
    namer: Namer,
    outer: Mapping[ir.Value, ir.Value] | None = None,
    info: ValueInfo | None = None,
) -> ir.Graph:
    """The chosen graph as ONNX.

    Args:
        outer: for a body, the new values of the original ones that it captures.
        info: is filled with the values.
    """
    return _Rebuilder(choice, ir_version, namer, outer or {}, info or ValueInfo()).run()


def rebuild_model(choice: Choice, model: ir.Model, info: ValueInfo | None = None) -> ir.Model:
    """A new model with the chosen graph; everything around the graph is the original's.

    Args:
        info: is filled with the values.
    """
    graph = rebuild_graph(choice, model.ir_version, Namer(names_in(model.graph)), info=info)
    return ir.Model(
        graph,
        ir_version=model.ir_version,
        producer_name=model.producer_name,
        producer_version=model.producer_version,
        domain=model.domain,
        model_version=model.model_version,
        doc_string=model.doc_string,
        functions=list(model.functions.values()),
        metadata_props=dict(model.metadata_props),
    )
