"""Bodies that run once or not at all move into the graph around them, and sequences are taken apart."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

import numpy as np
import onnx_ir as ir

from egraph_opt.facts.fact import Fact
from egraph_opt.graph.decided_bodies import Decided, decided
from egraph_opt.graph.known_sequences import unpacked
from egraph_opt.graph.names import UniqueNames
from egraph_opt.graph.walks import tensor_of


class Inliner:
    """Inlines bodies anywhere in one model; names of what moves stay where no other scope has them.

    Nodes that make a tensor named in `untouched` keep their bodies.
    """

    def __init__(self, names: UniqueNames, opset: int, untouched: Collection[str] = ()) -> None:
        self._names, self._opset, self._untouched = names, opset, untouched

    def inline(
        self,
        graph: ir.Graph,
        facts: Mapping[ir.Value, Fact],
        fits: Callable[[ir.Node, Decided], bool],
        taken: Mapping[ir.Node, bool] = MappingProxyType({}),
    ) -> bool:
        """Replace the decided nodes of a graph (not of its bodies) by their bodies: whether there were any.

        So is what reads a sequence of known tensors.

        Args:
            fits: whether the users of a node's outputs take what a body gives.  An If hides its outputs'
                types, so a model may run with a vector of one element where a scalar is asked for.
            taken: Ifs of which one branch runs, whatever is known of the condition: whether it is `then`.
        """
        open_ = [node for node in graph if tensor_of(node) not in self._untouched]
        known_of = {
            node: decided(node, self._opset, facts, taken.get(node)) or unpacked(node, self._opset, facts)
            for node in open_
        }
        found = [(node, known) for node, known in known_of.items() if known is not None and fits(node, known)]
        instead: dict[ir.Value, ir.Value] = {}
        for node, known in found:
            instead |= self._replace(graph, node, known.with_values(instead))
        return bool(found)

    def _replace(self, graph: ir.Graph, node: ir.Node, known: Decided) -> dict[ir.Value, ir.Value]:
        """Put what a node computes in front of it, and remove it: what its outputs are now."""
        moved: list[ir.Node] = []
        instead: dict[ir.Value, ir.Value] = {}
        for inner, outer, axis in known.given:
            value = self._given(outer, axis, moved)
            inner.replace_all_uses_with(value, replace_graph_outputs=True)
        inside: list[ir.Value] = []
        if known.body is not None:
            moved += [self._constant_node(value) for value in known.body.initializers.values()]
            inside = list(known.body.outputs)
            for inner_node in list(known.body):
                known.body.remove(inner_node)
                moved.append(inner_node)
        for inner_node in moved:
            self._names.rename(inner_node)
        for value, source, axis in known.results:
            made = inside[source] if isinstance(source, int) else source
            result = instead[value] = ir.Value(name=value.name, type=value.type, shape=value.shape)
            if axis is None:
                last = ir.Node("", "Identity", [made], outputs=[result], name=self._fresh())
            else:
                last = self._moving_axis("Unsqueeze", made, axis, result, moved)
            moved.append(last)
            value.replace_all_uses_with(result, replace_graph_outputs=True)
        if known.body is not None:
            known.body.outputs.clear()
        graph.insert_before(node, moved)
        graph.remove(node, safe=True)
        return instead

    def _fresh(self) -> str:
        return self._names.namer.fresh("branch")

    def _given(self, outer: ir.Value | ir.TensorProtocol, axis: int | None, moved: list[ir.Node]) -> ir.Value:
        """What an input of a body is."""
        if isinstance(outer, ir.Value) and axis is None:
            return outer
        if isinstance(outer, ir.Value):
            assert axis is not None
            last = self._moving_axis("Squeeze", outer, axis, ir.Value(name=self._fresh()), moved)
        else:
            last = self._constant(outer)
        moved.append(last)
        return last.outputs[0]

    def _constant(self, tensor: ir.TensorProtocol) -> ir.Node:
        made = ir.Value(
            name=self._fresh(), type=ir.TensorType(tensor.dtype), shape=ir.Shape(tensor.numpy().shape)
        )
        return ir.Node("", "Constant", [], [ir.AttrTensor("value", tensor)], outputs=[made])

    def _moving_axis(
        self, op_type: str, value: ir.Value, axis: int, result: ir.Value, moved: list[ir.Node]
    ) -> ir.Node:
        """A Squeeze or an Unsqueeze of one axis."""
        if self._opset < 13:
            axes = ir.AttrInt64s("axes", [axis])
            return ir.Node("", op_type, [value], [axes], outputs=[result], name=self._fresh())
        place = self._constant(ir.Tensor(np.array([axis], np.int64)))
        moved.append(place)
        inputs = [value, place.outputs[0]]
        return ir.Node("", op_type, inputs, outputs=[result], name=self._fresh())

    def _constant_node(self, value: ir.Value) -> ir.Node:
        """An initializer of a branch as a Constant node: below IR version 4 a graph could not have it."""
        tensor = value.const_value
        assert tensor is not None, f"initializer {value.name} has no data"
        made = ir.Value(name=value.name, type=value.type, shape=value.shape)
        node = ir.Node("", "Constant", [], [ir.AttrTensor("value", tensor)], outputs=[made])
        value.replace_all_uses_with(made, replace_graph_outputs=True)
        return node
