"""Facts of every value of one graph, in topological order."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import onnx_ir as ir

from egraph_opt.facts import symbolic
from egraph_opt.facts.assumption import Assumptions, part_of
from egraph_opt.facts.fact import CLASH, UNKNOWN, Dim, Fact, is_impossible, meet
from egraph_opt.graph.running import known_number

from .bodies import infer_function, infer_whole, infer_with_bodies
from .call import Attribute
from .core import infer_node
from .float_ranges import assumed_interval
from .ranges import assumed_range, bounds_from, range_of

Constants = Callable[[ir.Value], Fact | None]
Functions = Mapping[ir.OperatorIdentifier, ir.Function]
Facts = dict[ir.Value, Fact]


def infer_graph(
    graph: ir.Graph,
    opset: Mapping[str, int],
    outer: Mapping[ir.Value, Fact],
    constants: Constants,
    warn: Callable[[str], None],
    *,
    functions: Functions | None = None,
    is_body: bool | None = None,
    assume: Assumptions | None = None,
    contradicting: set[ir.Node] | None = None,
    supposing: Mapping[ir.Value, Fact] | None = None,
) -> Facts:
    """Facts of every value of a graph whose nodes are sorted; values of bodies are not among them.

    Args:
        opset: version by domain.
        outer: facts of values that a body captures; a fact given for an input of ``graph`` is taken for it.
        constants: the fact of a value that is a constant, None for any other; see ``constant_lookup``.  Asked
            of inputs, initializers, outputs of Constant nodes, and of nodes that depend on constants alone.
        warn: told of declared types that contradict inference, and of nodes that inference finds wrong.
        functions: the functions of the model.
        is_body: ``graph`` belongs to an If, Loop or Scan: the declared shapes of its inputs and outputs are
            not trusted, since loop-carried values may change theirs.  By default, whether ``outer`` has any.
        assume: what is said by name of a symbolic dim, or of an input (of the main graph); what follows
            from it is only true where it is.
        contradicting: filled with the nodes that inference finds wrong.
        supposing: facts of some values, to see what would follow from them; of an If whose condition is known
            then only one branch counts.
    """
    run = _GraphInference(
        graph, opset, outer, constants, warn=warn, functions=functions or {}, assume=assume or {}
    )
    run.is_body = bool(outer) if is_body is None else is_body
    run.supposing = supposing or {}
    facts = run.facts_of_all()
    if contradicting is not None:
        contradicting |= run.contradicting
    return facts


class _GraphInference:
    """One pass over one graph."""

    is_body = False
    supposing: Mapping[ir.Value, Fact] = MappingProxyType({})
    names_unknown = True
    """Give each unknown dim a symbol of its own; not inside a branch, whose names mean nothing outside."""

    def __init__(
        self,
        graph: ir.Graph,
        opset: Mapping[str, int],
        outer: Mapping[ir.Value, Fact],
        constants: Constants,
        *,
        warn: Callable[[str], None],
        functions: Functions,
        assume: Assumptions,
    ) -> None:
        self._graph = graph
        self._opset = {("" if domain == "ai.onnx" else domain): version for domain, version in opset.items()}
        self._outer = outer
        self._constants = constants
        self._warn = warn
        self._functions = functions
        self._assume = assume
        self._bounds = bounds_from(assume)
        self._facts: Facts = {}
        self._ways: list[list[Fact]] = []
        self.contradicting: set[ir.Node] = set()
        self._taken = {d for value in graph.inputs for d in _declared_names(value) if d}
        for fact in outer.values():
            for dim in fact.shape or ():
                self._taken |= symbolic.symbols(dim)

    def facts_of_all(self) -> Facts:
        for value in self._graph.inputs:
            self._facts[value] = self._input(value)
        for value in self._graph.initializers.values():
            if value not in self._facts or not value.is_graph_input():
                self._facts[value] = self._constants(value) or self._declared(value)
        for node in self._graph:
            self._visit(node)
        return self._facts

    def _input(self, value: ir.Value) -> Fact:
        if value in self._outer:
            return self._outer[value]
        if value.is_initializer():
            fact = self._constants(value)
            if fact is not None:
                return fact
        fact = self._declared(value)
        if self.is_body:
            return Fact(fact.dtype)
        assumed = self._assume.get(value.name or "")
        if assumed is not None:
            fact = assumed_range(fact, assumed) if range_of(fact) else assumed_interval(fact, assumed)
        if fact.shape is None:
            return fact
        dims: list[Dim] = list(fact.shape)
        declared = _declared_names(value)
        for k, name in enumerate(names_of_dims(value)):
            if dims[k] is None and name is not None:
                dims[k] = self._dim(name, declared=declared[k] is not None)
        return replace(fact, shape=tuple(dims))

    def _dim(self, name: str, *, declared: bool) -> Dim:
        """A symbol; where something is assumed of it a number, or what makes it so of another symbol."""
        assumed = self._assume.get(name)
        if assumed is not None and assumed.single is not None:
            return int(assumed.low)
        part = None if assumed is None else part_of(name, assumed)
        if assumed is not None and part is not None:
            return symbolic.add(symbolic.mul(assumed.step, symbolic.symbol(part)), assumed.least)
        return symbolic.symbol(name) if declared else self._fresh(name)

    def _declared(self, value: ir.Value) -> Fact:
        """The declared type, with numbers only: names are trusted of inputs alone."""
        if not isinstance(value.type, ir.TensorType):
            return UNKNOWN
        shape = None
        if value.shape is not None:
            shape = tuple(d if isinstance(d, int) and d >= 0 else None for d in value.shape)
            if is_impossible(Fact(0, shape)):
                shape = None
        return Fact(int(value.type.dtype), shape)

    def _fresh(self, name: str) -> str:
        while name in self._taken:
            name += "'"
        self._taken.add(name)
        return symbolic.symbol(name)

    def fact(self, value: ir.Value | None) -> Fact | None:
        """Fact of an operand; None for an absent one."""
        if value is None:
            return None
        known = self._facts.get(value)
        return known if known is not None else self._outer.get(value, UNKNOWN)

    def _visit(self, node: ir.Node) -> None:
        self._ways = []
        for k, (value, fact) in enumerate(zip(node.outputs, self._infer(node), strict=True)):
            if fact.dtype < 0:
                self._warn(f"node {node.name!r} ({node.op_type}): its operands contradict each other")
                self.contradicting.add(node)
                fact = UNKNOWN
            if value in self.supposing:
                self._facts[value] = self.supposing[value]
                continue
            # What was folded is known better than by rules.
            folded = self._constants(value) if fact.const else None
            self._facts[value] = folded or self._settled(
                value, fact, [way[k] for way in self._ways if k < len(way)]
            )

    def _infer(self, node: ir.Node) -> tuple[Fact, ...]:
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
            return (self._constants(node.outputs[0]) or UNKNOWN,)
        inputs = tuple(self.fact(value) for value in node.inputs)
        function = self._functions.get(node.op_identifier())
        if function is not None:
            return infer_function(function, node, inputs)
        kinds = {a.type for a in node.attributes.values()}
        if kinds & _GRAPHS:
            known = known_number(inputs[0]) if self.supposing and node.op_type == "If" and inputs[0] else None
            if known is not None:
                name = "then_branch" if known else "else_branch"
                return tuple(self._branch(node.attributes[name].as_graph())[: len(node.outputs)])
            return infer_with_bodies(node, inputs, self._opset, self.fact, self._way)
        if not kinds <= _PLAIN_TYPES and node.op_type != "ConstantOfShape":
            return infer_whole(node, inputs, self._opset, self.fact)
        version = self._opset.get("" if node.domain == "ai.onnx" else node.domain, 0)
        return infer_node(
            *(node.op_type, node.domain, attributes_of(node), inputs, len(node.outputs)),
            opset=version,
            bounds=self._bounds,
        )

    def _way(self, body: ir.Graph) -> list[Fact]:
        """The same, kept in mind until the node's outputs are settled."""
        found = self._branch(body)
        self._ways.append(found)
        return found

    def _branch(self, body: ir.Graph) -> list[Fact]:
        """Facts of the outputs of a body that has no inputs, inferred here and now."""
        outer = ChainMap(self._facts, dict(self._outer))
        run = _GraphInference(
            *(body, self._opset, outer, self._constants),
            warn=_ignore,
            functions=self._functions,
            assume=self._assume,
        )
        run.is_body, run.names_unknown, run.supposing = True, False, self.supposing
        facts = run.facts_of_all()
        return [facts.get(v) or self.fact(v) or UNKNOWN for v in body.outputs]

    def _settled(self, value: ir.Value, fact: Fact, ways: Sequence[Fact] = ()) -> Fact:
        """The inferred fact, filled up with what is declared and with symbols for dims that stay unknown.

        Args:
            ways: what each branch of an If gives: exporters declare what one of them does.
        """
        declared = self._declared(value)
        if any(meet(Fact(0, way.shape), Fact(0, declared.shape)).dtype == CLASH.dtype for way in ways):
            declared = Fact(declared.dtype)
        if self.is_body and value.is_graph_output():
            declared = Fact(declared.dtype)
        if declared.dtype or declared.shape is not None:
            both = meet(fact, declared)
            if both is CLASH or both.dtype < 0:
                self._warn(
                    f"value {value.name!r}: declared as {_shown(declared)}, but it is {_shown(fact)}; "
                    "the declaration is not trusted"
                )
            elif fact.shape is None:
                fact = both
            else:
                # A number declared where a symbol was inferred is stale more often than it is right.
                filled = zip(fact.shape, both.shape or fact.shape, strict=True)
                fact = replace(both, shape=tuple(b if a is None else a for a, b in filled))
        if fact.shape is None or None not in fact.shape or not self.names_unknown:
            return fact
        dims = [self._fresh(f"?{value.name}.{k}") if d is None else d for k, d in enumerate(fact.shape)]
        return replace(fact, shape=tuple(dims))


def _ignore(message: str) -> None:
    """Warnings about a branch come when the branch itself is inferred."""


def _declared_names(value: ir.Value) -> list[str | None]:
    """The name of each dim, None where it has none or one that exporters give to any dim."""
    names = [d.value if isinstance(d, ir.SymbolicDim) else None for d in value.shape or ()]
    return [n if n and n.lower() not in _ANONYMOUS and any(c.isalpha() for c in n) else None for n in names]


_ANONYMOUS = frozenset({"none", "unk", "unknown", "dynamic", "any"})


def names_of_dims(value: ir.Value) -> list[str | None]:
    """The name of each symbolic dim of an input, ``<input>.<axis>`` where it has none; None of a number."""
    names = _declared_names(value)
    return [
        None if isinstance(dim, int) and dim >= 0 else names[k] or f"{value.name}.{k}"
        for k, dim in enumerate(value.shape or ())
    ]


def _shown(fact: Fact) -> str:
    dtype = ir.DataType(fact.dtype).name if fact.dtype else "?"
    dims = "..." if fact.shape is None else ",".join("?" if d is None else str(d) for d in fact.shape)
    return f"{dtype}[{dims}]"


def attributes_of(node: ir.Node) -> tuple[tuple[str, Attribute], ...]:
    """The attributes of a node as ``infer_node`` takes them."""
    pairs: list[tuple[str, Attribute]] = []
    for name, attribute in sorted(node.attributes.items()):
        if attribute.type in _PLAIN_TYPES:
            value = attribute.value
            pairs.append((name, tuple(value) if attribute.type in _LISTS else value))
        elif attribute.type == ir.AttributeType.TENSOR and node.op_type == "ConstantOfShape":
            elements = attribute.value.numpy().reshape(-1)
            if elements.size == 1:
                pairs.append((name, (int(attribute.value.dtype), elements[0].item())))
    return tuple(pairs)


_LISTS = (ir.AttributeType.INTS, ir.AttributeType.FLOATS, ir.AttributeType.STRINGS)
_PLAIN_TYPES = {ir.AttributeType.INT, ir.AttributeType.FLOAT, ir.AttributeType.STRING, *_LISTS}
_GRAPHS = {ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS}
