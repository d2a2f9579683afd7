"""Attributes that are no number of a narrower type: an epsilon that is 0 as a half, a slope that is infinite.

ONNX keeps them in float32, and a law that writes one into a constant of the operand's type rounds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from onnx import TensorProto

from egraph_opt.check.beside.changing import with_parts
from egraph_opt.check.beside.variants import in_dtype
from egraph_opt.check.scope import attributes_in, nodes_of
from egraph_opt.check.shorthands import with_argument
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import constant

BEYOND_HALVES = (1e-8, 1e5)
"""What is 0 as a half, and infinite."""


def with_numbers_beyond_halves(example: Example) -> Iterator[Example]:
    """An example of halves, each attribute that is a float one of those."""
    if not any(known.dtype == TensorProto.FLOAT for known in example.operands.facts):
        return
    for node in nodes_of(example):
        for position in attributes_in(node):
            old = node.arguments[position]
            for value in _others(old.head.value):
                made = with_argument(node, position, constant(value, old.sort))
                yield in_dtype(with_parts(example, {node: made}), TensorProto.FLOAT16)


def _others(value: Any) -> Iterator[Any]:
    if isinstance(value, float):
        yield from BEYOND_HALVES
    elif isinstance(value, tuple):
        for k, pair in enumerate(value):
            if isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], float):
                yield from ((*value[:k], (pair[0], other), *value[k + 1 :]) for other in BEYOND_HALVES)
    elif is_dataclass(value) and not isinstance(value, type):
        for entry in fields(value):
            yield from (replace(value, **{entry.name: o}) for o in _others(getattr(value, entry.name)))
