"""Reductions of two that are stacked are what they say of two numbers.

ReduceProd_a(Concat_a(x, y)) -> x * y                    of parts with one element along a
ReduceSumSquare -> x * x + y * y        ReduceL2 -> Sqrt(x * x + y * y)        ReduceL1 -> |x| + |y|

So are areas of boxes, and magnitudes of a spectrum.
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.dtypes import KERNEL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import sqrt
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axes, Axis, Tensor
from egraph_opt.operators import concat, reduce, unary
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.normalization.layer_norm import KEPT
from egraph_opt.rewrites.reductions.stacks import is_only, is_stack
from egraph_opt.rewrites.slicing.concat import worth_a_walk

law = laws_of("stacks", numerics="finite", kind="replace", serves="traffic", source="ONNX")

KINDS = ("ReduceProd", "ReduceSumSquare", "ReduceL2", "ReduceL1")


@hosted()
def is_of_floats(kind: str, x: Fact) -> bool:
    """A half has no square of 300, of which the length of a pair is a half."""
    return x.dtype in KERNEL_FLOATS and not (kind == "ReduceL2" and x.dtype == TensorProto.FLOAT16)


def _pairs(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, wide = g.input(("N", 1, 3)), g.input(("N", 1, 3)), g.input(("N", 2, 3))
    for kind in KINDS:
        yield g.fires(reduce(kind, concat(listed(x, y), 1), (1,), KEPT))
    halves = concat(listed(*(g.input((3, 1), TensorProto.FLOAT16) for _ in "xy")), 1)
    yield from g.all_fire(*(reduce(kind, halves, (1,), KEPT) for kind in ("ReduceProd", "ReduceL1")))
    yield g.near_miss(reduce("ReduceL2", halves, (1,), KEPT), why="squares of halves overflow")
    whole = concat(listed(*(g.input((3, 1), INT64) for _ in "xy")), 1)
    for stack, axes, why in (
        (concat(listed(x, wide), 1), (1,), "a part of two"),
        (concat(listed(x, y), 1), (1, 2), "of rows as well"),
        (concat(listed(x, y), 0), (1,), "stacked along another axis"),
        (concat(listed(x, y, x), 1), (1,), "three: their product may overflow in one order only"),
        (whole, (1,), "onnxruntime computes those of integers in other types"),
    ):
        yield g.near_miss(reduce("ReduceProd", stack, axes, KEPT), why)


@law(examples=_pairs)
def reduced_pair(x: Tensor, y: Tensor, a: Axis, b: Axes):
    """ReduceProd_a(Concat_a(x, y)) = x * y of single parts, likewise sums of squares and of magnitudes"""
    xs = listed(x, y)
    squares, sizes = x * x + y * y, unary("Abs", (), x) + unary("Abs", (), y)
    for kind, made in zip(KINDS, (x * y, squares, sqrt(squares), sizes), strict=True):
        known = (is_stack(xs, a), is_only(b, a), is_of_floats(kind, x), guard(worth_a_walk(xs)))
        stack = reduce(kind, concat(xs, a), b, KEPT)
        yield rewrite(stack, made, *known, because="what is reduced is not told where it stood")
