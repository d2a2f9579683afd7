"""Tensors of one number that are made at run time, beside operands that have their dims.

x op s -> x op number        where every element of s is that number, and s makes x no bigger
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, law, rewrite
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Int, String, Tensor
from egraph_opt.operators import Literal, binary, expand_to, literal, shape_of
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.view_shapes import have_same_dims


@hosted()
def number_of(s: Fact) -> Literal | None:
    """The one number of a tensor that is computed at run time."""
    if s.const or s.splat is None or s.shape == () or s.dtype in (0, TensorProto.STRING):
        return None
    return Literal(s.dtype, (), (s.splat,))


@hosted()
def broadcasts_both(op: str) -> bool:
    """The result has the dims of both operands; that of PRelu has those of the first."""
    return op != "PRelu"


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, i = g.input(("N", "L", 4)), g.input(("N",), INT64)
    twos, row = (expand_to(g.constant(np.array([2.0])), shape_of(x, start, 3)) for start in (0, 1))
    threes = expand_to(g.constant(np.array([3])), shape_of(i, 0, 1))
    yield from g.all_fire(x - twos, twos / x, x - row, i * threes)
    yield from g.near_misses(
        (g.input((1, "L", 4)) + twos, "s makes x bigger"),
        (x + g.constant(np.full((3, 4, 4), 2.0)), "s is constant anyway"),
        (x + g.input(("N", "L", 4)), "the elements are not known"),
        (binary("PRelu", expand_to(g.constant(np.array([2.0])), shape_of(x, 0, 3)), x), "PRelu"),
    )


@law(
    "shapes",
    numerics="bitwise",
    serves="traffic",
    source="algebra; masks that exporters fill with ConstantOfShape",
    examples=_examples,
    uses=(either_side,),
)
def splat_operand(x: Tensor, s: Tensor, op: String, i: Int):
    """x op s = x op number where every element of s is that number and s makes x no bigger"""
    z, short = beside(op, x, s, i), beside(op, x, literal(number_of(s)), i)
    yield rewrite(z, short, broadcasts_both(op), have_same_dims(x, z), because="forgets the dims of s")
