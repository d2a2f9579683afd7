"""Scales of products meet across factors that are no constants, and come out in front of linear operators.

((x * c1) * y) * c2 = (x * (c1 * c2)) * y
(x * c1) * (y * c2) = (x * y) * (c1 * c2)
Conv((x * c) * y, W) = Conv((x * y) * c, W)      likewise ((x * c) * y) @ W
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import Equal, PyObject, eq, guard, holds, ne, rewrite, rule
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import binary, conv, matmul, none
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact
from egraph_opt.rewrites.arithmetic.constants import may_combine
from egraph_opt.rewrites.conditions.channels import is_float_constant, is_scale
from egraph_opt.rewrites.convolution.sums import RING

MUL = PyObject("Mul")


@hosted(default=False)
def is_no_constant(x: Fact) -> bool:
    return not x.const


def _factor_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 3, 4)), g.input((3, 4))
    scaled = binary("Mul", x, g.random(3, 1))
    yield g.fires(binary("Mul", binary("Mul", scaled, y), g.random()))
    yield g.fires(binary("Mul", binary("Mul", y, scaled), g.random(1)))
    yield g.near_miss(binary("Mul", binary("Mul", scaled, y), g.random(4)), why="the constant would grow")
    yield g.near_miss(binary("Mul", binary("Mul", scaled, y), g.constant(np.float32(1))), why="it is neutral")
    yield g.near_miss(binary("Mul", binary("Add", scaled, y), g.random()), why="a sum is between")
    yield g.near_miss(binary("Mul", binary("Mul", scaled, y), g.input(())), why="it is no constant")


@law("constants", numerics="reassociates", examples=_factor_examples)
def scale_of_factor(x: Tensor, y: Tensor, a: Tensor, c: Tensor) -> Iterator[Any]:
    """((x * c1) * y) * c2 = (x * (c1 * c2)) * y

    Source: algebra; `constants.shift_of_summand` says it of sums.
    """
    condition = (holds(may_combine, MUL, fact(a), fact(c), fact(x)), holds(is_no_constant, fact(y)))
    scaled = binary("Mul", x, a)
    combined = binary("Mul", binary("Mul", x, binary("Mul", a, c)), y)
    for product in (binary("Mul", scaled, y), binary("Mul", y, scaled)):
        yield rewrite(binary("Mul", product, c), combined, *condition, guard(ne(scaled).to(x)))


def _meeting_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 3, 4)), g.input((3, 4))
    yield g.fires(binary("Mul", binary("Mul", x, g.random(3, 1)), binary("Mul", y, g.random(1))))
    yield g.near_miss(binary("Mul", binary("Mul", x, g.random(3, 1)), y), why="one is scaled only")
    wide = binary("Mul", y, g.random(4))
    yield g.near_miss(binary("Mul", binary("Mul", x, g.random(3, 1)), wide), why="the constant would grow")
    sums = binary("Add", x, g.random(1)), binary("Add", y, g.random(1))
    yield g.near_miss(binary("Mul", *sums), why="shifts")


@law("constants", numerics="reassociates", examples=_meeting_examples)
def scales_meet(x: Tensor, y: Tensor, a: Tensor, b: Tensor) -> Iterator[Any]:
    """(x * c1) * (y * c2) = (x * y) * (c1 * c2)

    Source: algebra; `constants.shifts_meet` says it of sums.
    """
    first, second = binary("Mul", x, a), binary("Mul", y, b)
    yield rewrite(
        binary("Mul", first, second),
        binary("Mul", binary("Mul", x, y), binary("Mul", a, b)),
        holds(may_combine, MUL, fact(a), fact(b), fact(x)),
        holds(is_no_constant, fact(y)),
        guard(ne(first).to(x), ne(second).to(y)),
    )


@hosted(default=False)
def may_leave(c: Fact, x: Fact, y: Fact, w: Fact) -> bool:
    """A scale of a product of which no factor is constant, in front of a constant weight."""
    return is_scale(c) and is_float_constant(w) and not x.const and not y.const


def _leaving_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, w = g.input(("N", 3, 5, 5)), g.input(("N", 3, 1, 1)), g.random(4, 3, 3, 3)
    scaled = binary("Mul", x, g.random(3, 1, 1))
    yield g.fires(conv(binary("Mul", scaled, y), w, g.random(4), RING))
    yield g.fires(conv(binary("Mul", y, scaled), w, none(), RING))
    z, v = g.input((2, 3)), g.random(3, 4)
    yield g.fires(matmul(binary("Mul", binary("Mul", z, g.random(1)), g.input((2, 3))), v))
    yield g.near_miss(binary("Mul", scaled, y), why="nothing takes in the scale")
    free = g.input((4, 3, 3, 3))
    yield g.near_miss(conv(binary("Mul", scaled, y), free, none(), RING), why="the weight is no constant")
    yield g.near_miss(conv(binary("Add", scaled, y), w, none(), RING), why="a sum is between")


@law("constants", numerics="reassociates", examples=_leaving_examples)
def scale_leaves_factor(
    x: Tensor, y: Tensor, c: Tensor, w: Tensor, b: Tensor, u: PyObject, p: Tensor, q: Tensor
) -> Iterator[Any]:
    """(x * c) * y = (x * y) * c, in front of a Conv or MatMul with a constant weight

    Source: algebra.
    """
    scaled = binary("Mul", x, c)
    outside = Equal(p, binary("Mul", binary("Mul", x, y), c))
    wanted = (holds(may_leave, fact(c), fact(x), fact(y), fact(w)), ne(scaled).to(x))
    for product in (binary("Mul", scaled, y), binary("Mul", y, scaled)):
        for consumer in (conv(p, w, b, u), matmul(p, w)):
            yield rule(eq(q).to(consumer), eq(p).to(product), *wanted, then=outside)
