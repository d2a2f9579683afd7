"""Operands that only a run knows: each constant as an input, and a zero point where there was none.

A law that asks what a constant holds may take what is not known for its default, or for anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import onnx_ir as ir

from egraph_opt.check.beside.variants import dims_of, with_input
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.check.shorthands import replaced, with_argument
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.law import Example
from egraph_opt.operators.constants import leaf
from egraph_opt.operators.expressions import Expression

QUANTIZING = {"quantize": 4, "dequantize": -1}
"""Operators with a zero point as their third operand: the place of its type among the arguments, or -1, where
that is the type of the first operand."""


def with_operands_at_run_time(example: Example) -> Iterator[Example]:
    """Each constant an input; each zero point that is not there an input."""
    for value in example.operands.values:
        if value.const_value is not None:
            yield with_input(example, value, dims_of(value))
    for node in nodes_of(example):
        if node.head.name in QUANTIZING and node.arguments[2].head.name == "none":
            yield from _with_zero_point(example, node)


def _with_zero_point(example: Example, node: Expression) -> Iterator[Example]:
    place, quantized = QUANTIZING[node.head.name], place_of_leaf(node.arguments[0])
    if place < 0 and quantized < 0:
        return
    dtype = node.arguments[place].head.value if place > 0 else example.operands.facts[quantized].dtype
    value = ir.Value(name="zero", type=ir.TensorType(ir.DataType(dtype)), shape=ir.Shape(()))
    operands = example.operands.with_leaf(value, Fact(dtype, ()))
    known = leaf(len(operands.values) - 1)
    other = with_argument(node, 2, known)
    yield replace(example, term=replaced(example.term, {node: other}), operands=operands)
