"""Conditions that are negated.

Where(Not(c), x, y) = Where(c, y, x)
Not(x < y) = x >= y, likewise the other comparisons        integers: NaN compares as false with everything
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.compat import holds, rewrite
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import INT64, Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import binary, where
from egraph_opt.operators.elementwise import apply_unary
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact, opset

NEGATED = (("Less", "GreaterOrEqual"), ("Greater", "LessOrEqual"))
"""Comparisons that are each other's negation."""

_INTEGERS = frozenset((TensorProto.INT32, INT64))


def _where_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    c, x, y = g.input(("N", 4), TensorProto.BOOL), g.input(("N", 4)), g.input((4,))
    yield g.fires(where(apply_unary("Not", c), x, y))
    yield g.fires(where(apply_unary("Not", c), y, x))
    yield g.near_miss(where(c, x, y), why="the condition is not negated")


@law("conditions", numerics="bitwise", examples=_where_examples)
def where_not(c: Tensor, x: Tensor, y: Tensor) -> Iterator[Any]:
    """Where(Not(c), x, y) = Where(c, y, x)

    Source: onnxoptimizer, rewrite_where.
    """
    yield rewrite(where(apply_unary("Not", c), x, y), where(c, y, x))


@hosted(default=False)
def are_integers(x: Fact, number: int) -> bool:
    """LessOrEqual and GreaterOrEqual are there from opset 12 on."""
    return x.dtype in _INTEGERS and number >= 12


def _comparison_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    for dtype in sorted(_INTEGERS):
        x, y = g.input(("N", 4), dtype), g.input((4,), dtype)
        for op in ("Less", "Greater", "LessOrEqual", "GreaterOrEqual"):
            yield g.fires(apply_unary("Not", binary(op, x, y)))
    a = g.input((4,))
    yield g.near_miss(apply_unary("Not", binary("Less", a, g.input((4,)))), why="floats may be NaN")
    yield g.near_miss(apply_unary("Not", binary("Equal", x, y)), why="there is no operator for it")


@law("conditions", numerics="bitwise", examples=_comparison_examples)
def not_comparison(x: Tensor, y: Tensor) -> Iterator[Any]:
    """Not(x < y) = x >= y, likewise the other comparisons of integers

    Source: algebra.
    """
    integers = holds(are_integers, fact(x), opset())
    for one, other in (*NEGATED, *((b, a) for a, b in NEGATED)):
        yield rewrite(apply_unary("Not", binary(one, x, y)), binary(other, x, y), integers)
