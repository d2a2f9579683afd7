"""Leaves: values that no node computes, and constants that laws write."""

from __future__ import annotations

import math
from typing import Any

from onnx import TensorProto

from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import ABSENT, CLASH, SMALL, Fact
from egraph_opt.inference.numbers import integer_range
from egraph_opt.inference.ranges import narrowed
from egraph_opt.operators.declaration import Literal, operator
from egraph_opt.operators.expressions import Bundle, Int, Tensor, Tensors

_INTEGERS = frozenset(
    getattr(TensorProto, name) for name in "INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64 BOOL".split()
)


@operator()
def leaf(index: Int) -> Tensor:
    """A graph input, an initializer or a value of an outer scope: the `index`-th of the lowered graph."""


def _infer_none(opset: int, attributes: tuple[()], facts: tuple[()]) -> Fact:
    return ABSENT


@operator(infer=_infer_none)
def none() -> Tensor:
    """An optional operand that is not there."""


def _compares_well(value: Any) -> bool:
    """Neither NaN nor -0.0."""
    return bool(value == value) and not (value == 0 and math.copysign(1, value) < 0)


def literal_fact(literal: Literal) -> Fact:
    """What is known of a literal: everything."""
    count = math.prod(literal.dims)
    tracked = literal.dtype in _INTEGERS and len(literal.dims) <= 1 and count <= SMALL
    values = literal.values * count if len(literal.values) == 1 and tracked else literal.values
    listed = literal.dtype in FLOATS and 1 < count <= SMALL and all(map(_compares_well, literal.values))
    same = len({repr(v) for v in values[:count]}) == 1 and _compares_well(values[0])
    known = Fact(
        literal.dtype,
        literal.dims,
        const=True,
        value=tuple(int(v) for v in values[:count]) if tracked else None,
        splat=values[0] if same else None,
        data=values[:count] if listed and len(values) == count else None,
    )
    if literal.dtype not in _INTEGERS or known.has_numbers:
        return known
    return narrowed(known, (int(min(values)), int(max(values))))


def _infer_literal(opset: int, attributes: tuple[Literal], facts: tuple[()]) -> Fact:
    made = attributes[0]
    if made.dtype in _INTEGERS and made.values:
        low, high = integer_range(made.dtype)
        if not low <= min(made.values) <= max(made.values) <= high:
            return CLASH  # a law writes a number that its type has not
    return literal_fact(made)


@operator(infer=_infer_literal)
def literal(value: Literal) -> Tensor:
    """A `Literal`."""


@operator()
def opaque(key: Int, xs: Tensors) -> Bundle:
    """An ONNX node that no law looks into: the `key`-th kept node of the lowered graph on other operands."""


@operator()
def output(b: Bundle, index: Int) -> Tensor:
    """Output `index` of a bundle."""


def content_of(known: Fact) -> str | None:
    """A text that constants of the same type, shape and elements share; None where these are not known."""
    if not known.const or not known.is_static or known.dtype <= 0:
        return None
    if known.splat is not None:
        return repr((known.dtype, known.shape, known.splat))
    if known.data is None or any(isinstance(element, str) for element in known.data):
        return None
    return repr((known.dtype, known.shape, known.data))


def known_literal(known: Fact) -> Literal | None:
    """A value whose elements are all known, as a literal."""
    if not known.is_static or known.dtype <= 0 or known.dtype == TensorProto.STRING:
        return None
    dims: tuple[int, ...] = known.shape  # type: ignore[assignment]
    if known.ints is not None and len(dims) <= 1:
        return Literal(known.dtype, dims, known.ints or (0,))
    if known.const and known.splat is not None:
        return Literal(known.dtype, dims, (known.splat,))
    return None
