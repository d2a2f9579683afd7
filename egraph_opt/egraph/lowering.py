"""A graph of ONNX nodes as terms, hash-consed: the host's side of the e-graph.

Every output of a node becomes one term; what the terms stand for (their original nodes and names, facts,
leaves) is kept beside them for the way back.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import onnx_ir as ir

from egraph_opt.facts.fact import ABSENT, CLASH, UNKNOWN, Fact, meet
from egraph_opt.graph.body_equality import bodies_key, plain_attributes
from egraph_opt.graph.constants import Constants
from egraph_opt.graph.walks import bodies, captured_values, is_deterministic, tensor_of
from egraph_opt.operators.constants import known_literal
from egraph_opt.operators.declaration import TermSpec, lowering_of, operator_named
from egraph_opt.operators.node_reader import NodeReader
from egraph_opt.operators.typing import infer_operator


@dataclass(frozen=True)
class Term:
    """One e-node of the original graph; operands are indices of earlier terms, of a list a tuple of them."""

    operator: str
    attributes: tuple[Any, ...]
    operands: tuple[Any, ...]


@dataclass
class Lowered:
    """A graph as terms.

    Attributes:
        graph: the ONNX graph.
        opset: of the default domain.
        terms: in topological order.
        facts: per term what is known of it; None for bundles.
        names: per term the original values that it is, in order.
        nodes: the original node that a term (for several outputs: the bundle) was, and whether it can be
            written back as it was.
        leaves: what `leaf(k)` stands for.
        kept: what `opaque(k, ...)` stands for.
        captures: per kept node the outer values that its bodies use, in order; they follow its inputs.
        outputs: the terms of the graph's outputs.
        term_of: the term of every value that was lowered.
        constants: the data of the constants.
        own_types: constants that laws write are computed as onnxruntime would: node by node in their types.
        fold_quantized: quantised constants that laws make wider are computed as others are.
        refused: what is not 0 where the graph runs, of symbols and dims: views beside others that may be are
            not written with a dim to infer; None to write them all.
    """

    graph: ir.Graph
    opset: int
    terms: list[Term] = field(default_factory=list)
    facts: list[Fact | None] = field(default_factory=list)
    names: list[list[ir.Value]] = field(default_factory=list)
    nodes: dict[int, tuple[ir.Node, bool]] = field(default_factory=dict)
    leaves: list[ir.Value] = field(default_factory=list)
    kept: list[ir.Node] = field(default_factory=list)
    captures: list[list[ir.Value]] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    term_of: dict[ir.Value, int] = field(default_factory=dict)
    constants: Constants = field(default_factory=Constants)
    own_types: bool = False
    fold_quantized: bool = False
    refused: frozenset[str] | None = None


class _Lowering:
    def __init__(
        self,
        graph: ir.Graph,
        opset: int,
        facts: Mapping[ir.Value, Fact],
        constants: Constants,
        *,
        contradicting: Collection[ir.Node],
        untouched: Collection[str],
        functions: Mapping[ir.OperatorIdentifier, ir.Function],
    ) -> None:
        self.facts, self.contradicting, self.functions = facts, contradicting, functions
        self.untouched = untouched
        self.result = Lowered(graph, opset, constants=constants)
        self.index: dict[Any, int] = {}
        self.of_value = self.result.term_of
        self.keys: dict[Any, int] = {}
        self.leaf_keys: dict[Any, int] = {}

    def add(self, term: Term, fact: Fact | None) -> int:
        """The index of a term; one that is written alike is shared (0.0 and -0.0 are equal, not alike)."""
        key = (term.operator, repr(term.attributes), term.operands)
        found = self.index.get(key)
        if found is None:
            found = self.index[key] = len(self.result.terms)
            self.result.terms.append(term)
            self.result.facts.append(fact)
            self.result.names.append([])
        return found

    def name(self, value: ir.Value, index: int) -> None:
        self.of_value[value] = index
        self.result.names[index].append(value)

    def leaf(self, value: ir.Value) -> int:
        """The leaf of a value that no node of this graph computes; equal constants are one leaf."""
        content = self.result.constants.content_key(value)
        key = content if content is not None else id(value)
        if key not in self.leaf_keys:
            self.leaf_keys[key] = len(self.result.leaves)
            self.result.leaves.append(value)
        index = self.add(Term("leaf", (self.leaf_keys[key],), ()), self.facts.get(value, UNKNOWN))
        self.name(value, index)
        return index

    def operand(self, value: ir.Value | None) -> int:
        if value is None:
            return self.add(Term("none", (), ()), ABSENT)
        return self.of_value[value] if value in self.of_value else self.leaf(value)

    def node(self, node: ir.Node) -> None:
        if self.untouched and tensor_of(node) in self.untouched:
            self._opaque(node)
            return
        if all(self.result.constants.has(v) for v in node.outputs if v.name):
            for value in node.outputs:
                self.leaf(value)
            return
        if len(node.outputs) == 1:
            literal = known_literal(self.facts.get(node.outputs[0], UNKNOWN))
            if literal is not None:
                fact = self.facts[node.outputs[0]]
                self.name(node.outputs[0], self.add(Term("literal", (literal,), ()), fact))
                return
        spec = self._structured(node)
        if spec is None:
            self._opaque(node)
        else:
            self._place(node, spec)

    def _structured(self, node: ir.Node) -> TermSpec | None:
        if node.domain not in ("", "ai.onnx") or any(
            isinstance(a, ir.Attr) and a.is_ref() for a in node.attributes.values()
        ):
            return None
        lower = lowering_of(node.op_type)
        if lower is None or node in self.contradicting:
            return None
        spec = lower(NodeReader(node, self.result.opset, self.facts))
        return None if spec is None or self._term_contradicts(node, spec) else spec

    def _term_contradicts(self, node: ir.Node, spec: TermSpec) -> bool:
        """Whether the analysis of the e-graph, which sees the term alone, would find a contradiction."""
        if spec.operator == "identity":
            return False
        found = self._inferred(node, spec)
        known = tuple(self.facts.get(v, UNKNOWN) for v in node.outputs)
        pairs = zip(found if isinstance(found, tuple) else (found,), known, strict=False)
        return any(meet(fact, fact_known).dtype == CLASH.dtype for fact, fact_known in pairs)

    def _inferred(self, node: ir.Node, spec: TermSpec) -> Fact | tuple[Fact, ...]:
        """What the analysis of the e-graph finds of a term."""

        def fact_at(position: int | TermSpec | None) -> Fact:
            if isinstance(position, TermSpec):
                fact = self._inferred(node, position)
                assert isinstance(fact, Fact)
                return fact
            value = None if position is None else node.inputs[position]
            return ABSENT if value is None else self.facts.get(value, UNKNOWN)

        positions = [p for item in spec.operands for p in (item if isinstance(item, tuple) else (item,))]
        operands = tuple(map(fact_at, positions))
        found: Fact | tuple[Fact, ...] = infer_operator(
            spec.operator, self.result.opset, spec.attributes, operands
        )
        return found

    def _place(self, node: ir.Node, spec: TermSpec) -> None:
        def input_at(position: int | TermSpec | None) -> int:
            if isinstance(position, TermSpec):
                fact = self._inferred(node, position)
                assert isinstance(fact, Fact)
                inner = tuple(map(input_at, position.operands))
                return self.add(Term(position.operator, position.attributes, inner), fact)
            return self.operand(None if position is None else node.inputs[position])

        if spec.operator == "identity":
            self.name(node.outputs[0], input_at(spec.operands[0]))
            return
        operands = tuple(
            tuple(input_at(p) for p in item) if isinstance(item, tuple) else input_at(item)
            for item in spec.operands
        )
        for position in spec.read:
            input_at(position)
        verbatim = all(self._is_constant(node.inputs[p]) for p in spec.read)
        several = operator_named(spec.operator).result == "bundle"
        fact = None if several else self.facts.get(node.outputs[0], UNKNOWN)
        index = self.add(Term(spec.operator, spec.attributes, operands), fact)
        self.result.nodes.setdefault(index, (node, verbatim))
        if several:
            self._outputs(node, index)
        else:
            self.name(node.outputs[0], index)

    def _is_constant(self, value: ir.Value | None) -> bool:
        if value is None:
            return True
        return self.result.constants.has(value) or known_literal(self.facts.get(value, UNKNOWN)) is not None

    def _outputs(self, node: ir.Node, bundle: int) -> None:
        for k, value in enumerate(node.outputs):
            if value.name:
                self.name(value, self.add(Term("output", (k,), (bundle,)), self.facts.get(value, UNKNOWN)))

    def _opaque(self, node: ir.Node) -> None:
        captures = captured_values(node)
        operands = tuple(self.operand(v) for v in (*node.inputs, *captures))
        key = self._key(node, captures)
        if key not in self.keys:
            self.keys[key] = len(self.result.kept)
            self.result.kept.append(node)
            self.result.captures.append(captures)
        bundle = self.add(Term("opaque", (self.keys[key],), (operands,)), None)
        self.result.nodes.setdefault(bundle, (node, True))
        self._outputs(node, bundle)

    def _key(self, node: ir.Node, captures: Sequence[ir.Value]) -> Any:
        """Equal for nodes that compute equal outputs from equal operands; unique where that is not known."""
        if not is_deterministic(node, self.functions):
            return id(node)
        attributes = plain_attributes(node)
        if attributes is None:
            return id(node)
        inside = self._bodies_key(node, captures)
        if inside is None:
            return id(node)
        used = tuple(bool(v.name) for v in node.outputs)
        return (node.domain, node.op_type, node.overload, attributes, inside, len(node.inputs), used)

    def _bodies_key(self, node: ir.Node, captures: Sequence[ir.Value]) -> Hashable | None:
        """Equal for bodies that may stand for each other: they were optimised knowing the same."""
        graphs = bodies(node)
        if not graphs:
            return ()
        constants, known = self.result.constants, dict[ir.Value, Hashable]()
        for k, value in enumerate(captures):
            known[value] = (k, constants.content_key(value), self.facts.get(value, UNKNOWN))
        key = bodies_key(graphs, known)
        inputs = tuple(ABSENT if v is None else self.facts.get(v, UNKNOWN) for v in node.inputs)
        return None if key is None else (key, inputs)


def lower(
    graph: ir.Graph,
    opset: int,
    facts: Mapping[ir.Value, Fact],
    constants: Constants,
    *,
    contradicting: Collection[ir.Node] = (),
    untouched: Collection[str] = (),
    functions: Mapping[ir.OperatorIdentifier, ir.Function] = MappingProxyType({}),
) -> Lowered:
    """Lower one graph (not its bodies); `facts` are those of its values, `constants` knows their data.

    Nodes that inference finds wrong are `contradicting`: they are kept, whatever onnxruntime makes of them,
    and so are those that make a tensor named in `untouched`.
    Calls of the model's `functions` that draw nothing are one where their operands are equal.
    """
    lowering = _Lowering(
        *(graph, opset, facts, constants),
        contradicting=contradicting,
        untouched=untouched,
        functions=functions,
    )
    for value in _entrances(graph):
        lowering.leaf(value)
    for node in graph:
        lowering.node(node)
    lowering.result.outputs = [lowering.operand(value) for value in graph.outputs]
    return lowering.result


def _entrances(graph: ir.Graph) -> Iterator[ir.Value]:
    seen: set[ir.Value] = set()
    for values in (graph.inputs, graph.initializers.values()):
        yield from _unseen(values, seen)


def _unseen(values: Iterable[ir.Value], seen: set[ir.Value]) -> Iterator[ir.Value]:
    for value in values:
        if value not in seen:
            seen.add(value)
            yield value
