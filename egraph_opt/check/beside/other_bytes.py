"""Quantised numbers of other types than bytes: of four bits, and of those whose sign is the other one.

A law that tells types apart by a table may have forgotten one, or have it on the wrong side.  Of numbers of
four bits onnxruntime hands none out, and takes none in Python: they are cast where they come and go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import onnx_ir as ir
from onnx import TensorProto

from egraph_opt.check.beside.changing import with_parts, with_roots
from egraph_opt.check.beside.variants import constant_like, dims_of, input_like, with_leaves
from egraph_opt.check.scope import operators_in, roots_of
from egraph_opt.check.shorthands import transformed, with_arguments
from egraph_opt.check.terms import Builder
from egraph_opt.facts.fact import Fact
from egraph_opt.inference.kernels import FOUR_BITS
from egraph_opt.inference.numbers import integer_range
from egraph_opt.laws.law import Example
from egraph_opt.operators.constants import leaf
from egraph_opt.operators.elementwise import cast
from egraph_opt.operators.expressions import Expression, Function, constant

OPSET = 21
"""The first one with these types."""

QUANTISING = frozenset({"quantize", "dequantize"})
"""Operators of quantised numbers."""

OTHERS: tuple[Mapping[int, int], ...] = (
    {TensorProto.UINT8: TensorProto.UINT4, TensorProto.INT8: TensorProto.INT4},
    {TensorProto.UINT8: TensorProto.INT4, TensorProto.INT8: TensorProto.UINT4},
    {TensorProto.UINT8: TensorProto.INT16, TensorProto.INT8: TensorProto.UINT16},
    {TensorProto.UINT8: TensorProto.INT8, TensorProto.INT8: TensorProto.UINT8},
)
"""What stands for each of the two types of bytes."""


def with_other_bytes(example: Example) -> Iterator[Example]:
    """A term that quantises, its bytes of other types."""
    if operators_in(roots_of(example)) & QUANTISING:
        yield from (_in_place_of_bytes(example, types) for types in OTHERS)


def _in_place_of_bytes(example: Example, types: Mapping[int, int]) -> Example:
    """Constants, inputs and what is written in other types; inputs of four bits are cast to them."""

    def other(value: ir.Value, known: Fact) -> tuple[ir.Value, Fact]:
        dtype = types.get(known.dtype)
        if dtype is None:
            return value, known
        if value.const_value is not None:
            return constant_like(value, _within(value.const_value.numpy(), dtype))
        return (value, known) if dtype in FOUR_BITS else input_like(value, dims_of(value), dtype)

    made = replace(with_leaves(example, other), opset=OPSET)
    made = replace(made, term=transformed(made.term, lambda part: _written(part, types)))
    pairs = enumerate(zip(example.operands.values, example.operands.facts, strict=True))
    narrow = {k: types.get(f.dtype, 0) for k, (v, f) in pairs if v.const_value is None}
    inputs = {leaf(k): cast(leaf(k), dtype) for k, dtype in narrow.items() if dtype in FOUR_BITS}
    made = with_parts(made, inputs)
    return _handed_out(made)


def _within(array: Any, dtype: int) -> Any:
    """The nearest numbers that a type has."""
    return array.astype(np.int64).clip(*integer_range(dtype)).astype(ir.DataType(dtype).numpy())


def _written(part: Expression, types: Mapping[int, int]) -> Expression:
    """An operator that writes one type where it wrote another one."""
    names = [name for name, _ in part.head.parameters] if isinstance(part.head, Function) else []
    if "to" not in names:
        return part
    pairs = zip(names, part.arguments, strict=True)
    given = ((name, a, types.get(getattr(a.head, "value", 0))) for name, a in pairs)
    made = (constant(to, a.sort) if name == "to" and to is not None else a for name, a, to in given)
    return with_arguments(part, tuple(made))


def _handed_out(example: Example) -> Example:
    """Results of four bits cast to bytes."""
    builder = Builder(example.operands, example.opset)
    terms = []
    for root in roots_of(example):
        fact = builder.lowered.facts[builder.term(root)]
        narrow = fact is not None and fact.dtype in FOUR_BITS
        terms.append(cast(root, TensorProto.INT8) if narrow else root)
    return with_roots(example, terms)
