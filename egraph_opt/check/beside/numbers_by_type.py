"""Attributes that are no number of a narrower type: an epsilon that is 0 as a half, a slope that is infinite;
and those so small that of float32 they have no inverse.

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


WITHOUT_INVERSE = (1e-40,)
"""The same of float32, for which 1 and what is 1 divided by it is too large."""

SLOPES = frozenset({"alpha", "beta"})
"""Settings that are factors, or are divided by them: next to an epsilon, or to a bound, 0 is as good."""

LEAST, BOUNDS = (2.0**-149,), frozenset({"max", "min"})
"""Of float32, and settings that are bounds."""


def with_numbers_beyond_halves(example: Example) -> Iterator[Example]:
    """An example of halves, each attribute that is a float one of those."""
    if any(known.dtype == TensorProto.FLOAT for known in example.operands.facts):
        yield from (in_dtype(made, TensorProto.FLOAT16) for made in _changed(example, BEYOND_HALVES))


def with_least_bounds(example: Example) -> Iterator[Example]:
    """Each bound of a Clip the least number, which has no half."""
    yield from _changed(example, LEAST, BOUNDS)


def with_numbers_without_inverse(example: Example) -> Iterator[Example]:
    """Each slope, or factor, of an operator so small."""
    yield from _changed(example, WITHOUT_INVERSE, SLOPES)


def _changed(
    example: Example, numbers: tuple[float, ...], names: frozenset[str] | None = None
) -> Iterator[Example]:
    """An example in which one attribute, some entries of it or all, is each of some numbers."""
    for node in nodes_of(example):
        for position in attributes_in(node):
            old = node.arguments[position]
            for value in _others(old.head.value, numbers, names):
                made = with_argument(node, position, constant(value, old.sort))
                yield with_parts(example, {node: made})


def _others(value: Any, numbers: tuple[float, ...], names: frozenset[str] | None) -> Iterator[Any]:
    if isinstance(value, float):
        yield from numbers if names is None else ()
    elif isinstance(value, tuple):
        for k, pair in enumerate(value):
            if isinstance(pair, tuple) and len(pair) == 2 and _is_one(*pair, names):
                yield from ((*value[:k], (pair[0], other), *value[k + 1 :]) for other in numbers)
    elif is_dataclass(value) and not isinstance(value, type):
        for entry in fields(value):
            if _is_one(entry.name, getattr(value, entry.name), names):
                yield from (replace(value, **{entry.name: other}) for other in numbers)


def _is_one(name: Any, value: Any, names: frozenset[str] | None) -> bool:
    return isinstance(value, float) and (names is None or name in names)
