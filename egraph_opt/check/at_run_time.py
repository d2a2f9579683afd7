"""Operands that only a run knows: each constant as an input, and a zero point where there was none.

A law that asks what a constant holds may take what is not known for its default, or for anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import onnx_ir as ir

from egraph_opt.check.scope import nodes_of
from egraph_opt.check.shorthands import replaced, with_arguments
from egraph_opt.check.variants import input_like, with_leaves
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
            yield _as_input(example, value)
    for node in nodes_of(example):
        if node.head.name in QUANTIZING and node.arguments[2].head.name == "none":
            yield from _with_zero_point(example, node)


def _as_input(example: Example, old: ir.Value) -> Example:
    def changed(value: ir.Value, known: Fact) -> tuple[ir.Value, Fact]:
        assert value is not old or known.shape is not None
        return input_like(value, known.shape or (), known.dtype) if value is old else (value, known)

    return with_leaves(example, changed)


def _with_zero_point(example: Example, node: Expression) -> Iterator[Example]:
    place = QUANTIZING[node.head.name]
    quantized = node.arguments[0]
    if place > 0:
        dtype = node.arguments[place].head.value
    elif quantized.head.name == "leaf":
        dtype = example.operands.facts[quantized.arguments[0].head.value].dtype
    else:
        return
    value = ir.Value(name="zero", type=ir.TensorType(ir.DataType(dtype)), shape=ir.Shape(()))
    operands = example.operands.with_leaf(value, Fact(dtype, ()))
    known = leaf(len(operands.values) - 1)
    other = with_arguments(node, (*node.arguments[:2], known, *node.arguments[3:]))
    yield replace(example, term=replaced(example.term, {node: other}), operands=operands)
