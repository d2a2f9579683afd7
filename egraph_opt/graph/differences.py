"""Where two graphs differ: regions of nodes between seams, which are tensors that both graphs have.

A tensor of one graph is taken for one of the other where both have its name, or where the same operator
computes it from the same operands.  Constants go by what is in them.  So a region of the one graph and that
of the other that lies between the same seams compute the same, if the models do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from types import MappingProxyType

import onnx_ir as ir

from egraph_opt.graph.constants import constant_of_node
from egraph_opt.graph.content import Contents
from egraph_opt.graph.default_attributes import telling_attributes
from egraph_opt.graph.walks import as_written, bodies, captured_values, is_deterministic

Key = Hashable
"""What a tensor is known by: equal in both graphs for a seam."""

Functions = Mapping[ir.OperatorIdentifier, ir.Function]


@dataclass(frozen=True)
class GraphDifference:
    """Nodes that are in one graph only; those before compute the same as those after.

    Attributes:
        within: the names of the nodes in whose bodies it is, outermost first.
        before, after: in the order of their graphs; either may be empty.
        gives: the names of the tensors that both graphs have and that it computes.
    """

    within: tuple[str, ...]
    before: tuple[ir.Node, ...]
    after: tuple[ir.Node, ...]
    gives: tuple[str, ...]

    @property
    def outputs(self) -> tuple[str, ...]:
        """The outputs of one graph only that it computes."""
        made = (value for node in (*self.before, *self.after) for value in node.outputs)
        found = dict.fromkeys(value.name for value in made if value.name and value.is_graph_output())
        return tuple(name for name in found if name not in self.gives)


@dataclass(frozen=True)
class GraphPair:
    """Two graphs that were compared: of the models, of a node that both have, or of a function of both.

    Attributes:
        within: the names of the nodes in whose bodies they are, outermost first; or that of the function.
        moved: the outputs of both where they are different tensors, by position.
    """

    within: tuple[str, ...]
    before: ir.Graph
    after: ir.Graph
    moved: tuple[tuple[ir.Value | None, ir.Value | None], ...] = ()


@dataclass(frozen=True)
class Differences:
    """What is different between two graphs, and what is not.

    Attributes:
        found: in the order of the graph before, those of bodies behind those of their nodes' graph.
        kept: pairs of nodes that are in both.
        graphs: all that were compared.
    """

    found: tuple[GraphDifference, ...]
    kept: tuple[tuple[ir.Node, ir.Node], ...]
    graphs: tuple[GraphPair, ...] = ()


def differences(
    before: ir.Model, after: ir.Model, same: Mapping[str, str] = MappingProxyType({})
) -> Differences:
    """Compare two models, with their bodies and the functions that both have.

    Args:
        same: by name of a tensor before, the name of the tensor after that is equal to it.
    """
    contents, functions = Contents(), {**before.functions, **after.functions}
    found: list[GraphDifference] = []
    kept: list[tuple[ir.Node, ir.Node]] = []
    pending: list[tuple[tuple[str, ...], ir.Graph, ir.Graph]] = [((), before.graph, after.graph)]
    for identifier, function in before.functions.items():
        if (other := after.functions.get(identifier)) is not None:
            pending.append(((f"function {function_name(function)}",), function.graph, other.graph))
    graphs: list[GraphPair] = []
    for within, a, b in pending:
        pair = _Pair(a, b, same, contents, functions=functions)
        found += pair.regions(within)
        kept += pair.kept.items()
        graphs.append(GraphPair(within, a, b, tuple(pair.moved())))
        for one, new in pair.kept.items():
            name = one.name or f"{one.op_type} of {one.outputs[0].name}" if one.outputs else one.op_type
            inner = zip(bodies(one), bodies(new), strict=True)
            pending += [((*within, name), body, other) for body, other in inner]
    return Differences(tuple(found), tuple(kept), tuple(graphs))


def function_name(function: ir.Function) -> str:
    """`domain.name`, with the overload where there is one."""
    return ".".join(filter(None, function.identifier()))


@dataclass
class _Tensors:
    """What the tensors of a graph are known by.

    Attributes:
        keys: by value.
        signatures: of the nodes that are looked up by what they compute.
    """

    contents: Contents
    functions: Functions
    opset: int
    keys: dict[ir.Value, Key] = field(default_factory=dict)
    signatures: dict[ir.Node, Key] = field(default_factory=dict)

    def of(self, value: ir.Value | None) -> Key:
        """The key of an operand; of one from outside the graph, its name."""
        if value is None:
            return None
        if value not in self.keys:
            tensor = constant_tensor(value)
            known = None if tensor is None else ("constant", self.contents.key(tensor))
            self.keys[value] = known or ("tensor", value.name)
        return self.keys[value]

    def sign(self, node: ir.Node) -> Key:
        """What a node computes, its bodies apart."""
        domain = "" if node.domain == "ai.onnx" else node.domain
        inputs = tuple(self.of(value) for value in (*node.inputs, *captured_values(node)))
        used = tuple(bool(value.name) for value in node.outputs)
        said = as_written(telling_attributes(node, self.opset))
        key = (domain, node.op_type, node.overload, said, inputs, used)
        self.signatures[node] = key
        return key

    def is_known_by_signature(self, node: ir.Node) -> bool:
        """Whether equal operands give equal results."""
        return not bodies(node) and is_deterministic(node, self.functions)


def constant_tensor(value: ir.Value) -> ir.TensorProtocol | None:
    """The elements of an initializer that is no input, or of a Constant."""
    if value.is_graph_input():
        return None
    if value.is_initializer():
        return value.const_value
    node = value.producer()
    return None if node is None else constant_of_node(node)


class _Pair:
    """Two graphs whose tensors have the same keys where they are the same.

    Attributes:
        kept: by node before the one after that is the same.
    """

    def __init__(
        self,
        before: ir.Graph,
        after: ir.Graph,
        same: Mapping[str, str],
        contents: Contents,
        *,
        functions: Functions,
    ) -> None:
        self.before, self.after = before, after
        self._a, self._b = (
            _Tensors(contents, functions, graph.opset_imports.get("", 1)) for graph in (before, after)
        )
        made = {value.name for node in after for value in node.outputs if value.name}
        first: dict[Key, ir.Node] = {}
        names: set[str] = set()
        for node in before:
            if _is_constant(node):
                continue
            signature = self._a.sign(node)
            equal = first.get(signature) if self._a.is_known_by_signature(node) else None
            for k, value in enumerate(node.outputs):
                name = value.name or ""
                if equal is not None and name not in made and same.get(name, name) not in made:
                    self._a.keys[value] = self._a.keys[equal.outputs[k]]
                else:
                    self._a.keys[value] = ("tensor", name if name in made else same.get(name, name))
            first.setdefault(signature, node)
            names.update(value.name for value in node.outputs if value.name)
        self._name_after(first, names | {same[name] for name in names if name in same})
        self.kept = dict(self._same_nodes())

    def _name_after(self, first: Mapping[Key, ir.Node], names: set[str]) -> None:
        """Give the tensors of the graph after their keys."""
        for value in self.after.initializers.values():  # what was computed before is a constant now
            if value.name in names:
                self._b.keys[value] = ("tensor", value.name)
        for node in self.after:
            if _is_constant(node):
                if node.outputs[0].name in names:
                    self._b.keys[node.outputs[0]] = ("tensor", node.outputs[0].name)
                continue
            signature = self._b.sign(node)
            equal = first.get(signature) if self._b.is_known_by_signature(node) else None
            for k, value in enumerate(node.outputs):
                if value.name in names:
                    self._b.keys[value] = ("tensor", value.name)
                elif equal is not None:
                    self._b.keys[value] = self._a.keys[equal.outputs[k]]
                else:
                    self._b.keys[value] = ("new", value.name)

    def _same_nodes(self) -> Iterator[tuple[ir.Node, ir.Node]]:
        there: defaultdict[Key, list[ir.Node]] = defaultdict(list)
        for node in self.after:
            if not _is_constant(node):
                there[self._b.signatures[node], self._outputs(self._b, node)].append(node)
        for node in self.before:
            if not _is_constant(node):
                equal = there[self._a.signatures[node], self._outputs(self._a, node)]
                if equal and len(bodies(node)) == len(bodies(equal[0])):
                    yield node, equal.pop(0)

    @staticmethod
    def _outputs(tensors: _Tensors, node: ir.Node) -> Key:
        """What is used of a node: names of outputs that nobody uses do not count."""
        return tuple(
            tensors.of(value) if value.uses() or value.is_graph_output() else None for value in node.outputs
        )

    def moved(self) -> Iterator[tuple[ir.Value | None, ir.Value | None]]:
        """The outputs that are different tensors: by name, constants by elements."""
        for one, other in zip_longest(self.before.outputs, self.after.outputs):
            if one is None or other is None or self._a.of(one) != self._b.of(other):
                yield one, other

    def regions(self, within: tuple[str, ...]) -> list[GraphDifference]:
        """The nodes that are in one graph only, in connected parts."""
        kept_after = set(self.kept.values())
        old = [node for node in self.before if node not in self.kept and not _is_constant(node)]
        new = [node for node in self.after if node not in kept_after and not _is_constant(node)]
        shared = self._known(self._a, self.before) & self._known(self._b, self.after)
        leaders: dict[ir.Node, ir.Node] = {node: node for node in (*old, *new)}

        def leader(node: ir.Node) -> ir.Node:
            while leaders[node] is not node:
                leaders[node] = leaders[leaders[node]]
                node = leaders[node]
            return node

        def join(nodes: Iterable[ir.Node]) -> None:
            first = None
            for node in nodes:
                first = first or leader(node)
                leaders[leader(node)] = first

        gives: dict[Key, list[ir.Node]] = {}
        for tensors, nodes in ((self._a, old), (self._b, new)):
            inner: defaultdict[Key, list[ir.Node]] = defaultdict(list)
            for node in nodes:
                for key in {tensors.of(value) for value in node.outputs if value.name}:
                    (gives.setdefault(key, []) if key in shared else inner[key]).append(node)
                for value in (*node.inputs, *captured_values(node)):
                    key = tensors.of(value)
                    if value is not None and key not in shared:
                        inner[key].append(node)
            for key, users in inner.items():
                if isinstance(key, tuple) and key[0] != "constant":
                    join(users)
        for nodes in gives.values():
            join(nodes)
        parts: dict[ir.Node, tuple[list[ir.Node], list[ir.Node]]] = {}
        for side, nodes in enumerate((old, new)):
            for node in nodes:
                parts.setdefault(leader(node), ([], []))[side].append(node)
        return [
            GraphDifference(within, tuple(a), tuple(b), tuple(self._seams(a, b, shared)))
            for a, b in parts.values()
        ]

    @staticmethod
    def _known(tensors: _Tensors, graph: ir.Graph) -> set[Key]:
        """The tensors that a graph has, but for constants."""
        found = {tensors.of(value) for value in graph.inputs}
        found |= {tensors.of(value) for value in graph.initializers.values()}
        found |= {tensors.of(value) for node in graph for value in node.outputs if value.name}
        return found

    def _seams(self, old: list[ir.Node], new: list[ir.Node], shared: set[Key]) -> Iterator[str]:
        """The names of what a region computes for the rest, as the graph before has them, where it can."""
        seen: set[Key] = set()
        for tensors, nodes in ((self._a, old), (self._b, new)):
            for node in nodes:
                for value in node.outputs:
                    key = tensors.of(value)
                    if value.name and key in shared and key not in seen:
                        seen.add(key)
                        yield value.name


def _is_constant(node: ir.Node) -> bool:
    return constant_of_node(node) is not None
