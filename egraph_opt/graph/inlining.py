"""Ifs whose condition is known or does not matter: the branch taken moves into the graph around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import onnx_ir as ir

from egraph_opt.facts.fact import UNKNOWN, Fact
from egraph_opt.graph.body_equality import bodies_key
from egraph_opt.graph.names import UniqueNames
from egraph_opt.graph.running import known_number
from egraph_opt.graph.walks import captured_values, is_deterministic


def decided_branch(node: ir.Node, facts: Mapping[ir.Value, Fact]) -> ir.Graph | None:
    """The branch that an If takes, where what is known of its condition decides that, or both are equal."""
    if (
        node.op_type != "If"
        or node.domain not in ("", "ai.onnx")
        or not node.inputs
        or node.inputs[0] is None
    ):
        return None
    known = known_number(facts.get(node.inputs[0], UNKNOWN))
    branch, other = node.attributes["then_branch"], node.attributes["else_branch"]
    if branch.is_ref() or other.is_ref():
        return None
    if known is None:
        taken = branch.as_graph() if _equal(node, branch.as_graph(), other.as_graph()) else None
    else:
        taken = (branch if known else other).as_graph()
    # Of branches that make more than the If hands out onnxruntime runs some; they stay branches.
    return taken if taken is not None and len(taken.outputs) == len(node.outputs) else None


def _equal(node: ir.Node, a: ir.Graph, b: ir.Graph) -> bool:
    """Whether two branches compute the same."""
    if len(a) != len(b) or not is_deterministic(node):
        return False
    captured = {value: (k,) for k, value in enumerate(captured_values(node))}
    key = bodies_key([a], captured)
    return key is not None and key == bodies_key([b], captured)


class Inliner:
    """Inlines branches anywhere in one model; names of what moves stay where no other scope has them."""

    def __init__(self, names: UniqueNames) -> None:
        self._names = names

    def inline(
        self, graph: ir.Graph, facts: Mapping[ir.Value, Fact], fits: Callable[[ir.Node, ir.Graph], bool]
    ) -> bool:
        """Replace the decided Ifs of a graph (not of its bodies) by their branches: whether there were any.

        Args:
            fits: whether the users of an If's outputs take what a branch gives.  An If hides its outputs'
                types, so a model may run with a vector of one element where a scalar is asked for.
        """
        decided = [(node, branch) for node in graph if (branch := decided_branch(node, facts)) is not None]
        decided = [(node, branch) for node, branch in decided if fits(node, branch)]
        for node, branch in decided:
            self._replace(graph, node, branch)
        return bool(decided)

    def _replace(self, graph: ir.Graph, node: ir.Node, branch: ir.Graph) -> None:
        moved = [self._constant_node(value) for value in branch.initializers.values()]
        for inner in list(branch):
            branch.remove(inner)
            moved.append(inner)
        for inner in moved:
            self._names.rename(inner)
        for value, inside in zip(node.outputs, list(branch.outputs), strict=True):
            result = ir.Value(name=value.name, type=value.type, shape=value.shape)
            moved.append(
                ir.Node("", "Identity", [inside], outputs=[result], name=self._names.namer.fresh("branch"))
            )
            value.replace_all_uses_with(result, replace_graph_outputs=True)
        branch.outputs.clear()
        graph.insert_before(node, moved)
        graph.remove(node, safe=True)

    def _constant_node(self, value: ir.Value) -> ir.Node:
        """An initializer of a branch as a Constant node: below IR version 4 a graph could not have it."""
        tensor = value.const_value
        assert tensor is not None, f"initializer {value.name} has no data"
        made = ir.Value(name=value.name, type=value.type, shape=value.shape)
        node = ir.Node("", "Constant", [], [ir.AttrTensor("value", tensor)], outputs=[made])
        value.replace_all_uses_with(made, replace_graph_outputs=True)
        return node
