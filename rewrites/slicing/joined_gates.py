"""Concatenations of what is made of a value and a function of the same value.

Concat(x * f(x), y * f(y), ..) -> X * f(X)      X = Concat(x, y, ..), likewise for +, - and /

So convolutions with Swish behind them become one in groups.  See `concat` on how lists are walked.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.laws import Example, Operands, assign, auxiliary, eq, guard, hosted, law, rewrite, rule, table
from egraph_opt.laws.algebra import sigmoid, tanh
from egraph_opt.laws.sorts import Axis, DataType, Int, Settings, String, Tensor, Tensors
from egraph_opt.operators import concat, unary
from egraph_opt.operators.terms import cons, nil
from egraph_opt.operators.terms import listed as terms
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import dtype_of
from egraph_opt.rewrites.slicing.concat import listing, operands_of, worth_a_walk


@hosted()
def is_arithmetic(op: str) -> bool:
    """No Pow, which onnxruntime computes otherwise where the exponent is one number."""
    return op in ("Add", "Div", "Mul", "Sub")


@table()
def gated(xs: Tensors, axis: Axis, op: String, side: Int, f: String, settings: Any, t: DataType) -> Tensors:
    """The x of a list whose elements are all x op f(x), of one type."""


@auxiliary(listing, either_side)
def gates_in_lists(x: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, a: Axis, op: String, f: String,
                   s: Settings, i: Int):  # fmt: skip
    """Fills `gated`, from the end of a list to its front."""
    d, first = dtype_of(x), beside(op, x, unary(f, s, x), i)
    found = (operands_of(xs, a), eq(xs, cons(first, rest)), is_arithmetic(op))
    last = assign(gated(xs, a, op, i, f, s, d), cons(x, nil()))
    yield rule(*found, eq(rest, nil()), then=last)
    more = assign(gated(xs, a, op, i, f, s, d), cons(x, ys))
    yield rule(*found, eq(ys, gated(rest, a, op, i, f, s, d)), then=more)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z = g.input(("N", 1, 2)), g.input(("N", 2, 2)), g.input(("N", "L", 2))
    half = g.input(("N", 2, 2), TensorProto.DOUBLE)

    def leaky(v: Any, alpha: float) -> Any:
        return v * unary("LeakyRelu", (("alpha", alpha),), v)

    for operands in (
        [v * sigmoid(v) for v in (x, y, x, z)],
        [sigmoid(v) / v for v in (x, y)],
        [v - tanh(v) for v in (y, y)],
        [leaky(v, 0.25) for v in (x, y)],
    ):
        yield g.fires(concat(terms(*operands), 1))
    for why, *operands in (
        ("one is no product", x * sigmoid(x), y),
        ("another tensor", y * sigmoid(y), y * sigmoid(g.input(("N", 2, 2)))),
        ("two functions", x * sigmoid(x), y * tanh(y)),
        ("two slopes", leaky(x, 0.25), leaky(y, 0.5)),
        ("two operators", x * sigmoid(x), y + sigmoid(y)),
        ("on either side", x - sigmoid(x), sigmoid(y) - y),
        ("a power", x ** sigmoid(x), y ** sigmoid(y)),
        ("a function of two types", unary("IsNaN", (), y), unary("IsNaN", (), half)),
    ):
        yield g.near_miss(concat(terms(*operands), 1), why=why)


@law(
    "concat", numerics="bitwise", kind="merge", serves="launches", examples=_examples, uses=(gates_in_lists,)
)
def of_gates(xs: Tensors, ys: Tensors, a: Axis, op: String, f: String, s: Settings, d: DataType, i: Int):
    """Concat(x * f(x), y * f(y), ..) = X * f(X) for X = Concat(x, y, ..), likewise +, - and /"""
    whole = concat(ys, a)
    known = (guard(worth_a_walk(xs)), eq(ys, gated(xs, a, op, i, f, s, d)))
    made = beside(op, whole, unary(f, s, whole), i)
    yield rewrite(concat(xs, a), made, *known, because="one operator for several")
