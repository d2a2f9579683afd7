"""Conditions that are negated.

Where(Not(c), x, y) -> Where(c, y, x)
Not(x < y) = x >= y, likewise the other comparisons        integers: NaN compares as false with everything
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, law, rewrite
from egraph_opt.laws.sorts import Name, String, Tensor
from egraph_opt.operators import binary, where
from egraph_opt.operators.elementwise import apply_unary
from egraph_opt.operators.terms import opset

_NEGATED = (("Less", "GreaterOrEqual"), ("Greater", "LessOrEqual"))
NEGATED = dict(_NEGATED) | {b: a for a, b in _NEGATED}
"""Comparisons and their negations."""


@law("conditions", numerics="finite", kind="eliminate", source="onnxoptimizer, rewrite_where")
def where_not(c: Tensor, x: Tensor, y: Tensor):
    """Where(Not(c), x, y) = Where(c, y, x)

    onnxruntime may make 0.0 of the -0.0 that a Where takes, by the operand that it is of and by how that is
    broadcast; so may the other laws of Where.
    """
    negated = where(apply_unary("Not", c), x, y)
    yield rewrite(negated, where(c, y, x), because="every condition would be negated, without end")


@hosted()
def are_compared(x: Fact, number: int) -> bool:
    """Integers that onnxruntime compares, in an opset that has LessOrEqual and GreaterOrEqual."""
    return x.dtype in (TensorProto.INT32, TensorProto.INT64) and number >= 12


@hosted()
def negation_of(op: str) -> Name | None:
    """The comparison that holds where op does not."""
    return NEGATED.get(op)


def _comparisons(rng: np.random.Generator) -> Iterator[Example]:
    for op in NEGATED:
        g = Operands(rng)
        x, y = (g.input((dim, 4), TensorProto.INT64) for dim in ("N", 1))
        yield g.fires(apply_unary("Not", binary(op, x, y)))
        yield g.near_miss(binary(op, g.input((4,)), g.input((4,))), why="NaN compares as false")
        yield g.near_miss(apply_unary("Not", binary("Equal", x, y)), why="there is no negated Equal")


@law("conditions", numerics="bitwise", kind="merge", examples=_comparisons)
def not_comparison(op: String, x: Tensor, y: Tensor):
    """Not(x < y) = x >= y, likewise the other comparisons of integers"""
    negated, known, other = apply_unary("Not", binary(op, x, y)), are_compared(x, opset()), negation_of(op)
    yield rewrite(negated, binary(other, x, y), known, inverse="not_comparison")
    back = apply_unary("Not", binary(other, x, y))
    yield rewrite(binary(op, x, y), back, known, inverse="not_comparison")
