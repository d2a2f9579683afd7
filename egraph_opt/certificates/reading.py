"""A model as terms: each node by the declared lowering of its operator, whatever has none as it is.

A reading of its own, shorter than the engine's: it writes terms into a closure, and knows constants by what
they contain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from egraph_opt.certificates.digests import digest_of_called, digest_of_node
from egraph_opt.certificates.knowledge import Knowledge, Known
from egraph_opt.certificates.numbers import ConstantNumbers, by_reference, in_type
from egraph_opt.facts.assumption import Assumptions
from egraph_opt.facts.fact import UNKNOWN, Fact
from egraph_opt.graph.body_equality import bodies_key, plain_attributes
from egraph_opt.graph.constants import Constants, constants_of, fold_constants
from egraph_opt.graph.content import tensor_key
from egraph_opt.graph.walks import bodies, captured_values, is_deterministic
from egraph_opt.imports import onnx_ir as ir
from egraph_opt.inference.constants import tensor_fact
from egraph_opt.inference.graph import infer_graph
from egraph_opt.model.reading import LoadedModel
from egraph_opt.operators.constants import known_literal
from egraph_opt.operators.declaration import TermSpec, lowering_of
from egraph_opt.operators.node_reader import NodeReader


@dataclass
class ReadModel:
    """The terms of a model.

    Attributes:
        terms: of its tensors, by name.
        bundles: of nodes with several outputs, by the name of the first that has one.
        inputs, outputs: names.
        running: the nodes that compute something from inputs.
        constants: names of tensors that are constant, with their terms.
    """

    terms: dict[str, int] = field(default_factory=dict)
    bundles: dict[str, int] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    running: list[ir.Node] = field(default_factory=list)
    constants: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ReadAs:
    """How a model is read.

    Attributes:
        assume: what inputs and symbolic dims are said to be.
        fold_bytes, fold_quantized: which constants are computed.
        believed: what the file says of types inside counts; of a result it does not.
        given: the terms of constants, by name, that are known otherwise.
    """

    assume: Assumptions = field(default_factory=dict)
    fold_bytes: int = 0
    fold_quantized: bool = False
    believed: bool = True
    given: Mapping[str, int] = field(default_factory=dict)


def read_terms(loaded: LoadedModel, knowledge: Knowledge, numbers: ConstantNumbers, how: ReadAs) -> ReadModel:
    """Write the terms of a model's main graph, with what is known of them."""
    reader = _TermReader(loaded, knowledge, numbers, how)
    reader.read()
    knowledge.settle()
    return reader.found


class _TermReader:
    def __init__(
        self, loaded: LoadedModel, knowledge: Knowledge, numbers: ConstantNumbers, how: ReadAs
    ) -> None:
        self.loaded, self.knowledge, self.numbers, self.how = loaded, knowledge, numbers, how
        self.graph = loaded.model.graph
        self.opset = loaded.opset_imports.get("", 1)
        self.found = ReadModel()
        self._of_value: dict[ir.Value, int] = {}
        self._contradicting: set[ir.Node] = set()
        self._stored: frozenset[ir.Value] = frozenset()

    def read(self) -> None:
        if not self.how.believed:
            _forget_types(self.graph)
        constants = constants_of(self.graph, self.loaded.ir_version, Constants())
        self.facts, self._stored = self._infer(constants), frozenset(constants.tensors)
        self.constants = fold_constants(
            *(self.graph, self.facts, constants, self.loaded.opset_imports, self.loaded.ir_version),
            fold_bytes=self.how.fold_bytes,
            fold_quantized=self.how.fold_quantized,
            run=by_reference,
        )
        if self.constants.tensors.keys() != constants.tensors.keys():
            self.facts = self._infer(self.constants)
        for value in (*self.graph.inputs, *self.graph.initializers.values()):
            self._operand(value)
        for node in self.graph:
            self._node(node)
        found = self.found
        for value in self.graph.outputs:
            self._operand(value)
        found.inputs = tuple(value.name or "" for value in self.graph.inputs)
        found.outputs = tuple(value.name or "" for value in self.graph.outputs)

    def _infer(self, constants: Constants) -> dict[ir.Value, Fact]:
        tensors = {value: tensor_fact(tensor) for value, tensor in constants.tensors.items()}
        facts = infer_graph(
            self.graph,
            self.loaded.opset_imports,
            {},
            tensors.get,
            lambda message: None,
            functions=self.loaded.model.functions,
            is_body=False,
            assume=self.how.assume,
            contradicting=self._contradicting,
        )
        facts |= {value: fact for value, fact in tensors.items() if value in facts}
        return facts

    # --- terms ----------------------------------------------------------------------------------------------

    def _name(self, value: ir.Value, term: int, *, given: bool = False) -> int:
        """Call a term by a value's name; `given`: what inference found of the value is true of it."""
        self._of_value[value] = term
        if value.name:
            self.found.terms[value.name] = term
        if given or self.how.believed:
            self.knowledge.learn(term, Known(self.facts.get(value, UNKNOWN), term))
        return term

    def _operand(self, value: ir.Value | None) -> int:
        if value is None:
            return self.knowledge.add("none", ())
        if value in self._of_value:
            return self._of_value[value]
        if self.constants.has(value):
            return self._constant(value)
        return self._name(value, self.knowledge.add("leaf", (("input", value.name),)), given=True)

    def _constant(self, value: ir.Value) -> int:
        term = self.how.given.get(value.name or "")
        if term is None:
            tensor = self.constants.tensor(value)
            stored = value in self._stored
            term = constant_leaf(self.knowledge, self.numbers, tensor, given=self.how.believed, stored=stored)
        self.found.constants[value.name or ""] = term
        self._of_value[value] = term
        if value.name:
            self.found.terms[value.name] = term
        return term

    def _node(self, node: ir.Node) -> None:
        if all(self.constants.has(v) for v in node.outputs if v.name):
            for value in node.outputs:
                self._constant(value)
            return
        if not all(self.facts.get(v, UNKNOWN).const for v in node.outputs if v.name):
            self.found.running.append(node)
        if len(node.outputs) == 1:
            literal = known_literal(self.facts.get(node.outputs[0], UNKNOWN))
            if literal is not None:
                self._name(node.outputs[0], self.knowledge.add("literal", (literal,)))
                return
        spec = self._lowered(node)
        if spec is None:
            self._kept(node)
        elif spec.operator == "identity":
            self._name(node.outputs[0], self._placed(node, spec.operands[0]))
        else:
            term = self._placed(node, spec)
            for position in spec.read:
                self._operand(node.inputs[position])
            self._outputs(node, term)

    def _lowered(self, node: ir.Node) -> TermSpec | None:
        lower = lowering_of(node.op_type) if node.domain in ("", "ai.onnx") else None
        references = any(isinstance(a, ir.Attr) and a.is_ref() for a in node.attributes.values())
        if lower is None or references or node in self._contradicting:
            return None
        return lower(NodeReader(node, self.opset, self.facts))  # type: ignore[no-any-return]

    def _placed(self, node: ir.Node, place: int | TermSpec | None) -> int:
        """The term of an operand, by its position, or of a value between."""
        if not isinstance(place, TermSpec):
            return self._operand(None if place is None else node.inputs[place])
        items = [
            self.knowledge.listed([self._placed(node, k) for k in item])
            if isinstance(item, tuple)
            else self._placed(node, item)
            for item in place.operands
        ]
        return add_operator(self.knowledge, place.operator, place.attributes, items)

    def _outputs(self, node: ir.Node, term: int) -> None:
        if self.knowledge.is_bundle(term):
            for k, value in enumerate(node.outputs):
                if value.name:
                    self.found.bundles.setdefault(value.name, term)
                    self._name(value, self.knowledge.add("output", (term, k)))
        else:
            self._name(node.outputs[0], term)

    # --- what no law looks into -----------------------------------------------------------------------------

    def _kept(self, node: ir.Node) -> None:
        captures = captured_values(node)
        operands = self.knowledge.listed([self._operand(v) for v in (*node.inputs, *captures)])
        self._outputs(node, self.knowledge.add("opaque", (self._key(node, captures), operands)))

    def _key(self, node: ir.Node, captures: list[ir.Value]) -> Any:
        """Equal for nodes that compute equal outputs from equal operands, in the model and in the result.

        A node of which that is not known is equal to the one of its outputs' names, with the same content.
        """
        names = tuple(value.name for value in node.outputs)
        functions = self.loaded.model.functions
        used, called = tuple(map(bool, names)), digest_of_called(node, functions)
        attributes = plain_attributes(node)
        graphs = bodies(node)
        inside = bodies_key(graphs, {v: (k, "captured") for k, v in enumerate(captures)}) if graphs else ()
        known = attributes is not None and inside is not None
        content = (attributes, inside) if known else digest_of_node(node)
        name = None if known and is_deterministic(node, functions) else names
        return (node.domain, node.op_type, node.overload, content, called, len(node.inputs), used, name)


def add_operator(knowledge: Knowledge, name: str, attributes: tuple[Any, ...], operands: list[int]) -> int:
    """The term of an operator, from its attributes and operands in order."""
    left, right = iter(attributes), iter(operands)
    return knowledge.add(name, tuple(next(right if k else left) for k in knowledge.places(name)))


def constant_leaf(
    knowledge: Knowledge,
    numbers: ConstantNumbers,
    tensor: ir.TensorProtocol,
    *,
    given: bool = False,
    stored: bool = False,
) -> int:
    """The leaf of a constant, by what it contains; for `given` and `stored` see `ConstantNumbers.leaf`."""
    dtype, dims, digest = tensor_key(tensor)
    term = knowledge.add("leaf", (("constant", dtype, dims, digest.hex()),))
    if numbers.leaf(term, tensor, given=given, stored=stored):
        knowledge.learn(term, Known(tensor_fact(tensor), term))
    return term


def folded_leaf(knowledge: Knowledge, numbers: ConstantNumbers, term: int) -> int:
    """The leaf of what a constant term gives, in its element type; it stands for the term from here on.

    Raises:
        CertificateError: the term is no constant, or cannot be computed.
    """
    computed, dtype = numbers.of(term), knowledge.fact(term).dtype
    leaf = constant_leaf(knowledge, numbers, ir.tensor(in_type(computed, dtype), dtype=ir.DataType(dtype)))
    numbers.folded(leaf, term)
    return leaf


def _forget_types(graph: ir.Graph) -> None:
    """Leave out what a file says of values inside."""
    for node in graph:
        for value in node.outputs:
            value.type, value.shape = None, None
