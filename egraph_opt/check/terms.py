"""Terms of examples as the engine takes them, and their values as outputs of a model."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
from onnx import TensorProto

from egraph_opt.egraph.lowering import Lowered, Term
from egraph_opt.facts.dtypes import ALL_FLOATS, KERNEL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.graph.constants import Constants
from egraph_opt.inference.kernels import FOUR_BITS
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example
from egraph_opt.operators.declaration import operator_named
from egraph_opt.operators.expressions import Expression
from egraph_opt.operators.terms import unlisted
from egraph_opt.operators.typing import infer_operator

UNSHOWN = FOUR_BITS | (ALL_FLOATS - KERNEL_FLOATS) | {TensorProto.FLOAT8E8M0}
"""Types of which onnxruntime hands out no values in Python."""


def _copy(value: ir.Value) -> ir.Value:
    """The same leaf for another graph: a value belongs to one."""
    return ir.Value(name=value.name, type=value.type, shape=value.shape, const_value=value.const_value)


class Builder:
    """A term of an example, lowered.

    Attributes:
        index: by term, its number.
        bundles: by number of a term with several outputs, what is known of those.
        known: by expression, the number of its term.
    """

    def __init__(self, operands: Operands, opset: int) -> None:
        values = [_copy(v) for v in operands.values]
        inputs = [v for v in values if v.const_value is None]
        constants = [v for v in values if v.const_value is not None]
        graph = ir.Graph(
            inputs, [], nodes=[], initializers=constants, opset_imports={"": opset}, name="example"
        )
        tensors = {v: v.const_value for v in constants if v.const_value is not None}
        self.lowered = Lowered(graph, opset, leaves=values, constants=Constants(tensors))
        self.operands = operands
        self.index: dict[Term, int] = {}
        self.bundles: dict[int, tuple[Fact, ...]] = {}
        self.known: dict[Expression, int] = {}

    def add(self, term: Term, fact: Fact | None) -> int:
        if term not in self.index:
            self.index[term] = len(self.lowered.terms)
            self.lowered.terms.append(term)
            self.lowered.facts.append(fact)
            self.lowered.names.append([])
        return self.index[term]

    def list_of(self, expression: Any) -> tuple[int, ...]:
        return tuple(map(self.term, unlisted(expression)[0]))

    def term(self, expression: Any) -> int:
        """The index of an expression (examples are small, so this descends into them)."""
        if expression not in self.known:
            self.known[expression] = self._term(expression)
        return self.known[expression]

    def _term(self, expression: Any) -> int:
        operator = operator_named(expression.head.name)
        attributes: list[Any] = []
        operands: list[Any] = []
        facts: list[Fact] = []
        for kind, argument in zip(operator.kinds, expression.arguments, strict=True):
            if kind == "tensors":
                operands.append(self.list_of(argument))
                facts.extend(self.lowered.facts[k] for k in operands[-1])
            elif kind in ("tensor", "bundle"):
                operands.append(self.term(argument))
                if kind == "tensor":
                    facts.append(self.lowered.facts[operands[-1]])
            else:
                attributes.append(argument.head.value)
        term = Term(operator.name, tuple(attributes), tuple(operands))
        if operator.name == "leaf":
            return self.add(term, self.operands.facts[attributes[0]])
        if operator.name == "output":
            return self.add(term, self.bundles[operands[0]][attributes[0]])
        inferred = infer_operator(operator.name, self.lowered.opset, tuple(attributes), tuple(facts))
        if operator.result == "bundle":
            index = self.add(term, None)
            self.bundles[index] = inferred
            return index
        return self.add(term, inferred)


def lower_example(example: Example, opset: int = 17) -> Lowered:
    """The term of an example, or its terms, as the engine takes it."""
    builder = Builder(example.operands, opset)
    terms = example.term if isinstance(example.term, tuple) else (example.term,)
    lowered = builder.lowered
    lowered.outputs = list(dict.fromkeys(builder.term(term) for term in terms))
    for k, root in enumerate(lowered.outputs):
        fact = lowered.facts[root]
        assert fact is not None and fact.dtype > 0, f"the example is ill-typed: {example.term}"
        lowered.graph.outputs.append(output_value(f"y_{k}", fact))
    return lowered


def show_all(lowered: Lowered) -> None:
    """Make every inner value an output as well: what is wrong there may not show at the root."""
    for index, (term, fact) in enumerate(zip(lowered.terms, lowered.facts, strict=True)):
        hidden = index not in lowered.outputs and term.operator not in ("leaf", "none", "literal")
        if hidden and fact is not None and fact.dtype > 0 and fact.dtype not in UNSHOWN:
            lowered.graph.outputs.append(output_value(f"y{index}", fact))
            lowered.outputs.append(index)


def shown(lowered: Lowered) -> str:
    """The terms of an example as one reads them: Relu(Neg(x0))."""
    below = {k for term in lowered.terms for k in _operands(term)}
    return ", ".join(_shown(lowered, k) for k in lowered.outputs if k not in below)


def _shown(lowered: Lowered, index: int) -> str:
    term = lowered.terms[index]
    if term.operator == "leaf":
        return str(lowered.leaves[term.attributes[0]].name)
    attributes = list(term.attributes)
    name = attributes.pop(0) if operator_named(term.operator).op_types else term.operator
    inside = [_shown(lowered, k) for k in _operands(term)] + [repr(a) for a in attributes if a != ()]
    return f"{name}({', '.join(inside)})"


def _operands(term: Term) -> list[int]:
    return [k for item in term.operands for k in (item if isinstance(item, tuple) else (item,))]


def output_value(name: str, fact: Fact) -> ir.Value:
    shape = None if fact.shape is None else ir.Shape([d if isinstance(d, int) else None for d in fact.shape])
    return ir.Value(name=name, type=ir.TensorType(ir.DataType(fact.dtype)), shape=shape)
