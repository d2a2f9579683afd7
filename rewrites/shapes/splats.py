"""Tensors of one number that are made at run time, beside operands that have their dims.

x op s = x op number        where every element of s is that number, and s makes x no bigger
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.compat import Equal, PyObject, String, eq, let, rule
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import INT64, Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import Literal, binary, expand_to, literal, shape_of
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact
from egraph_opt.rewrites.conditions.view_shapes import same_dims


@hosted()
def number_for(x: Fact, s: Fact, z: Fact) -> Literal | None:
    """The one number of s, which is computed, where x has the dims of the result z."""
    if s.const or s.splat is None or s.dtype in (0, TensorProto.STRING) or not same_dims(x.shape, z.shape):
        return None
    return None if s.shape == () else Literal(s.dtype, (), (s.splat,))


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", "L", 4))
    twos = expand_to(g.constant(np.array([2.0])), shape_of(x, 0, 3))
    row = expand_to(g.constant(np.array([2.0])), shape_of(x, 1, 3))
    for s in (twos, row):
        yield g.fires(binary("Sub", x, s))
        yield g.fires(binary("Div", s, x))
    yield g.near_miss(binary("Add", g.input((1, "L", 4)), twos), why="s makes x bigger")
    yield g.near_miss(binary("Add", x, g.constant(np.full((3, 4, 4), 2.0))), why="s is constant anyway")
    yield g.near_miss(binary("Add", x, g.input(("N", "L", 4))), why="the elements are not known")
    i = g.input(("N",), INT64)
    yield g.fires(binary("Mul", i, expand_to(g.constant(np.array([3])), shape_of(i, 0, 1))))


@law("shapes", numerics="bitwise", examples=_examples)
def splat_operand(x: Tensor, s: Tensor, z: Tensor, op: String, n: PyObject) -> Iterator[Any]:
    """x op s = x op number where every element of s is that number and s makes x no bigger

    Source: algebra; masks that exporters fill with ConstantOfShape.
    """
    known = let(n, number_for, fact(x), fact(s), fact(z))
    yield rule(eq(z).to(binary(op, x, s)), *known, then=Equal(z, binary(op, x, literal(n))))
    yield rule(eq(z).to(binary(op, s, x)), *known, then=Equal(z, binary(op, literal(n), x)))
