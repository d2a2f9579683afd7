"""Scales of products meet across factors that are no constants, and come out in front of linear operators.

((x * c1) * y) * c2 -> (x * (c1 * c2)) * y
(x * c1) * (y * c2) -> (x * y) * (c1 * c2)
Conv((x * c) * y, W) -> Conv((x * y) * c, W)      likewise ((x * c) * y) @ W

Only of scales that combine with none before them: powers of x had parts of each in each of their factors.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, law, ne, rewrite
from egraph_opt.laws.sorts import Int, Tensor
from egraph_opt.operators import ConvWindow, conv
from egraph_opt.rewrites.arithmetic.distribution import FEWER
from egraph_opt.rewrites.conditions.chains import affine, moves
from egraph_opt.rewrites.conditions.channels import is_float_constant, may_scale
from egraph_opt.rewrites.conditions.combining import may_combine
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import all_vary, any_varies

RING = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1))


def _large_scales(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, large = g.input((3, 4)) * g.constant(1e-30), g.input((3, 4)), g.constant(1e30)
    for product in (((x * large) * y) * large, (x * large) * (y * large)):
        yield g.near_miss(product, why="the product of the scales would overflow")
    known, scale = g.constant([3e20, 2e20]), g.constant([2e10, 3e10])
    product = (known * scale) * g.input((3, 2))
    yield g.near_miss(product * scale, why="scaled again, a constant would overflow")
    huge, less = g.constant([3e24, 2e24]), g.constant([2e-10, 3e-10])
    wide = (g.input((3, 2)) * g.constant(1e20)) * less
    yield g.near_miss((huge * less) * wide, why="a constant times what varies would overflow")


@law("constants", numerics="reassociates", kind="merge", uses=(affine, either_side), examples=_large_scales)
def scale_of_factor(x: Tensor, y: Tensor, a: Tensor, c: Tensor, i: Int):
    """((x * c1) * y) * c2 = (x * (c1 * c2)) * y; `shift_of_summand` says it of sums"""
    product = beside("Mul", x * a, y, i)
    sound = may_combine("Mul", a, c), any_varies(x)  # a constant times another may be infinite
    # 0 is the product of anything that came to be 0, and scaled it is 0 again.
    demand = guard(all_vary(x, y, product * c), ne(x * a, x))
    first = moves("Mul", x, a), moves("Mul", product, c)
    yield rewrite(product * c, (x * (a * c)) * y, *sound, demand, first, because=FEWER)


@law("constants", numerics="reassociates", kind="merge", uses=(affine,), examples=_large_scales)
def scales_meet(x: Tensor, y: Tensor, a: Tensor, b: Tensor):
    """(x * c1) * (y * c2) = (x * y) * (c1 * c2); `shifts_meet` says it of sums"""
    both = (x * a) * (y * b)
    demand = guard(ne(x * a, x), ne(y * b, y))
    sound = may_combine("Mul", a, b), all_vary(x, y, both)  # a constant times another may be infinite
    first = moves("Mul", x, a), moves("Mul", y, b)
    yield rewrite(both, (x * y) * (a * b), *sound, demand, first, because=FEWER)


@hosted()
def may_leave(c: Fact, w: Fact) -> bool:
    """A scale of a product in front of a constant weight."""
    return may_scale(c, w) and is_float_constant(w)


@law("constants", numerics="reassociates", kind="move", uses=(either_side,))
def scale_leaves_factor(
    x: Tensor, y: Tensor, c: Tensor, w: Tensor, b: Tensor, u: ConvWindow, p: Tensor, q: Tensor, i: Int
):
    """(x * c) * y = (x * y) * c, in front of a Conv or MatMul with a constant weight"""
    scaled = x * c
    product = beside("Mul", scaled, y, i)
    for consumer in (conv(p, w, b, u), p @ w):
        demand = guard(eq(p, product), eq(q, consumer), may_leave(c, w), all_vary(x, y), ne(scaled, x))
        yield rewrite(product, (x * y) * c, any_varies(x, y), demand, because="the scale would come and go")
