"""Work that bodies repeat moves to the graph around: what no iteration changes, and what both branches do.

Out of a loop it moves where the body runs at least once for certain, or where the node cannot fail: a model
whose loop does not run at all must not meet an error that it never met.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import onnx_ir as ir

from egraph_opt.graph.body_equality import plain_attributes
from egraph_opt.graph.body_signatures import drop_agreed, drop_kept, hand_on, is_if, is_loop, use_instead
from egraph_opt.graph.constants import constant_of_node
from egraph_opt.graph.content import Contents
from egraph_opt.graph.names import UniqueNames
from egraph_opt.graph.running import Facts, Scope, cannot_fail, runs_once
from egraph_opt.graph.walks import bodies, is_deterministic, tensor_of

Operands = Mapping[ir.Value, ir.TensorProtocol | None]
"""The operands of a node that may move, each with its tensor where that moves, too."""


VIEWS = frozenset(
    (
        "Cast Concat Expand Flatten Gather GatherElements Reshape Shape Slice Split Squeeze Transpose "
        "Unsqueeze"
    ).split()
)
"""What is taken in by what uses it: it stays in branches, of which only one runs, and that once."""


@dataclass(frozen=True)
class _Body:
    """A graph within a node, and the graph that the node is in.

    Attributes:
        facts: of what is around, and inside the first graph, which of a loop is the only one.
        runs: at least once for certain.
    """

    outer: ir.Graph
    node: ir.Node
    graphs: Sequence[ir.Graph]
    facts: Facts
    runs: bool


@dataclass
class CodeMotion:
    """Moves work out of the bodies of one model.

    Attributes:
        names: what moves keeps its name where no other scope has it.
        opset: of the default domain.
        untouched: what makes a tensor of these names stays where it is, and keeps its bodies.
    """

    names: UniqueNames
    opset: int
    untouched: Collection[str] = ()
    _contents: Contents = field(default_factory=Contents, repr=False)

    def hoist(self, graph: ir.Graph, facts: Scope, infer: Callable[[ir.Graph, Scope], Scope]) -> bool:
        """Move what can be moved out of the bodies within a graph, at any depth: whether there was anything.

        Args:
            facts: of the graph's values and of those around it.
            infer: the facts of a body's values, those around it included.
        """
        found: list[_Body] = []
        pending = [(graph, facts)]
        while pending:
            outer, known = pending.pop()
            for node in outer:
                graphs = bodies(node)
                if not graphs or tensor_of(node) in self.untouched:
                    continue
                inside = [infer(body, known) for body in graphs]
                if is_loop(node) or is_if(node):
                    found.append(_Body(outer, node, graphs, inside[0], runs_once(node, known)))
                pending.extend(zip(graphs, inside, strict=True))
        moved = False
        for body in reversed(found):  # what leaves an inner loop may leave the outer one, too
            moved |= self._from_loop(body) if is_loop(body.node) else self._from_branches(body)
        return moved

    def _from_loop(self, body: _Body) -> bool:
        """Move what depends on nothing that an iteration changes."""
        (graph,) = body.graphs
        changed = _skip_identities(graph)
        for node in list(graph):
            operands = self._operands(graph, node)
            if operands is None or not (body.runs or cannot_fail(node, body.facts)):
                continue
            self._move(body, node, operands)
            changed = True
        return changed | drop_kept(body.node, graph, self.names.namer, self.opset)

    def _from_branches(self, body: _Body) -> bool:
        """Move what both branches compute of equal operands."""
        yes, no = body.graphs
        changed = any([_skip_identities(yes), _skip_identities(no)])
        others = {self._key(no, node): node for node in no}
        for node in list(yes):
            key = self._key(yes, node)
            same = others.pop(key, None) if key is not None else None
            if same is None:
                continue
            operands = self._operands(yes, node)
            assert operands is not None  # or it had no key
            self._move(body, node, operands)
            for value, other in zip(node.outputs, same.outputs, strict=True):
                users = [use.node for use in other.uses()]
                hand_on(no, other, value, self.names.namer)
                others.update((self._key(no, user), user) for user in users if user.graph is no)
            no.remove(same, safe=True)
            changed = True
        return changed | drop_agreed(body.node, yes, no)

    def _key(self, graph: ir.Graph, node: ir.Node) -> Hashable | None:
        """Equal for nodes of two branches that compute the same; None for what stays where it is."""
        operands, attributes = self._operands(graph, node), plain_attributes(node)
        if operands is None or attributes is None or node.op_type in VIEWS:
            return None
        tensors = [None if value is None else operands[value] for value in node.inputs]
        keys = tuple(
            value if tensor is None else self._contents.key(tensor)
            for value, tensor in zip(node.inputs, tensors, strict=True)
        )
        used = tuple(bool(value.name) for value in node.outputs)
        return node.op_identifier(), node.version, attributes, keys, used

    def _operands(self, graph: ir.Graph, node: ir.Node) -> Operands | None:
        """The operands of a node that may leave a graph: outer values, and tensors that the graph holds.

        None where it stays: it uses what is computed inside, or tensors alone, or may answer otherwise.
        """
        operands: dict[ir.Value, ir.TensorProtocol | None] = {}
        for value in node.inputs:
            if value is None:
                continue
            operands[value] = None
            if value.graph is graph:
                operands[value] = _tensor(value)
                if operands[value] is None:
                    return None
        stays = bool(self.untouched) and tensor_of(node) in self.untouched
        return operands if None in operands.values() and movable(node) and not stays else None

    def _move(self, body: _Body, node: ir.Node, operands: Operands) -> None:
        """Put a node in front of the one whose body it is in, with the tensors that it uses."""
        graph = node.graph
        assert isinstance(graph, ir.Graph)  # it is in a body
        for value, tensor in operands.items():
            if tensor is None:
                continue
            outside = ir.Value(name=self.names.namer.fresh("constant"), type=value.type, shape=value.shape)
            held = ir.Node("", "Constant", [], [ir.AttrTensor("value", tensor)], outputs=[outside])
            body.outer.insert_before(body.node, held)
            for k, given in enumerate(node.inputs):
                if given is value:
                    node.replace_input_with(k, outside)
        for value in node.outputs:
            hand_on(graph, value, value, self.names.namer)
        graph.remove(node)
        self.names.rename(node)
        body.outer.insert_before(body.node, node)


def _tensor(value: ir.Value) -> ir.TensorProtocol | None:
    """What a graph itself holds as a value that nobody may override."""
    maker = value.producer()
    if maker is not None:
        return constant_of_node(maker)
    return value.const_value if value.is_initializer() and not value.is_graph_input() else None


def _skip_identities(graph: ir.Graph) -> bool:
    """Let the users of an Identity of an outer value take that value: whether there were any."""
    changed = False
    for node in graph:
        given = node.inputs[0] if node.op_type == "Identity" else None
        if given is not None and given.graph is not graph:
            changed |= use_instead(node.outputs[0], given)
    return changed


def movable(node: ir.Node) -> bool:
    """Whether running a node elsewhere gives the same and gains something: an Identity is no work."""
    standard = node.domain in ("", "ai.onnx") and node.op_type not in ("Constant", "Identity")
    return standard and not bodies(node) and is_deterministic(node)
