"""Conditions that are negated.

Where(Not(c), x, y) -> Where(c, y, x)
Not(x < y) = x >= y, likewise the other comparisons        integers: NaN compares as false with everything
"""

from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import equal, hosted, law, rewrite
from egraph_opt.laws.sorts import Tensor
from egraph_opt.operators import binary, where
from egraph_opt.operators.elementwise import apply_unary
from egraph_opt.operators.terms import opset

NEGATED = (("Less", "GreaterOrEqual"), ("Greater", "LessOrEqual"))
"""Comparisons that are each other's negation."""


@law("conditions", numerics="bitwise", kind="eliminate", source="onnxoptimizer, rewrite_where")
def where_not(c: Tensor, x: Tensor, y: Tensor):
    """Where(Not(c), x, y) = Where(c, y, x)"""
    negated = where(apply_unary("Not", c), x, y)
    yield rewrite(negated, where(c, y, x), because="every condition would be negated, without end")


@hosted()
def is_integer(x: Fact) -> bool:
    """Of a type that onnxruntime compares."""
    return x.dtype in (TensorProto.INT32, TensorProto.INT64)


@hosted()
def has_or_equal(number: int) -> bool:
    """Whether the opset has LessOrEqual and GreaterOrEqual."""
    return number >= 12


@law("conditions", numerics="bitwise", kind="merge")
def not_comparison(x: Tensor, y: Tensor):
    """Not(x < y) = x >= y, likewise the other comparisons of integers"""
    for one, other in (*NEGATED, *((b, a) for a, b in NEGATED)):
        negated = apply_unary("Not", binary(one, x, y))
        yield equal(negated, binary(other, x, y), is_integer(x), has_or_equal(opset()))
