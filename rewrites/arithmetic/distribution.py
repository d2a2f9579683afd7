"""Scales and shifts of sums: they go to where they are taken in, or meet each other.

(x + c1) + (y + c2) -> (x + y) + (c1 + c2)          likewise differences
((x + c1) + y) + c2 -> (x + (c1 + c2)) + y         likewise (Conv(x, W) + y) + c
(x * c1 + c2) * c3 -> (x * c1) * c3 + c2 * c3      likewise (x @ W + c2) * c3
(x @ V + y @ W) * c -> (x @ V) * c + (y @ W) * c   likewise for Conv
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, law, rewrite
from egraph_opt.laws.algebra import is_constant, varies
from egraph_opt.laws.sorts import Int, Tensor
from egraph_opt.operators import ConvWindow, conv, none, reshape
from egraph_opt.rewrites.conditions.chains import affine, moves
from egraph_opt.rewrites.conditions.channels import may_scale, overflows_nowhere, static_shape
from egraph_opt.rewrites.conditions.combining import may_combine, no_larger
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import any_varies
from egraph_opt.rewrites.convolution.outputs import PLAIN

FEWER = "what is constant is folded, and fewer constants are better"


def _large_shifts(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, large = g.input((3, 4)), g.input((3, 4)) + g.constant(-3e38), g.constant(2e38)
    for shifted in ((x + large) + (y + large), ((y + large) + x) + large):
        yield g.near_miss(shifted, why="the sum of the shifts would overflow")
    known, shift = g.constant([1e38, 2e38]), g.constant([1.5e38, 1e38])
    shifted = (known + shift) + (g.input((3, 2)) + g.constant(-3e38))
    yield g.near_miss(shifted + shift, why="shifted again, a constant would overflow")
    image, kernel = (g.constant(np.full((1, 1, n, n), number)) for n, number in ((3, 3e38), (1, 1.0)))
    varying = g.input((1, 1, 3, 3)) + g.constant(-3e38)
    for known in (conv(image, kernel, none(), PLAIN) + varying, varying + conv(image, kernel, none(), PLAIN)):
        yield g.near_miss(known + g.constant(2e38), why="a shifted Conv of constants would overflow")
    below = conv(g.input((1, 1, 3, 3)), g.random(2, 1, 1, 1), g.constant(np.full(2, -2e38)), PLAIN)
    for known in (below + g.constant(2e38), g.constant(2e38) + below):
        yield g.near_miss(known + g.constant(1.0), why="beside its bias a shift of a Conv is lost")
    far, back, one = (g.constant(number) for number in (1e30, -1e30, 1.0))
    for shifted in ((x + one) + (far + back), (far + back) + (x + one)):
        yield g.near_miss(shifted, why="added to a large constant, nothing would be left of x")


@law("constants", numerics="reassociates", kind="merge", uses=(affine,), examples=_large_shifts)
def shifts_meet(x: Tensor, y: Tensor, a: Tensor, b: Tensor):
    """(x + c1) + (y + c2) = (x + y) + (c1 + c2)

    Two constants of which one takes the other away are left together.
    """
    demand = varies(x), varies(y), moves("Add", x, a), moves("Add", y, b)
    yield rewrite((x + a) + (y + b), (x + y) + (a + b), may_combine("Add", a, b), demand, because=FEWER)


@hosted()
def may_subtract(a: Fact, b: Fact) -> bool:
    """Constants of floats of which the difference is no bigger, and overflows nowhere."""
    first, second = static_shape(a), static_shape(b)
    if not (a.const and b.const) or first is None or second is None or a.dtype not in FLOATS:
        return False
    return no_larger(first, second) and overflows_nowhere("Sub", a, b)


def _differences(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, a, b = g.input((3, 4)), g.input((3, 4)), g.random(4), g.random(3, 1)
    yield from g.all_fire((x + a) - (y + a), (x + a) - (y + g.random(4)), (x + a) - (y + g.constant(2.0)))
    large, below, far = g.constant(2e38), g.constant(-2e38), g.input((3, 4)) + g.constant(-3e38)
    yield from g.near_misses(
        ((x + a) - (y + b), "the constant would grow"),
        ((x + a) - (y + g.input((4,))), "one varies"),
        ((far + large) - (y + below), "the difference of the shifts would overflow"),
    )


@law("constants", numerics="reassociates", kind="merge", uses=(affine,), examples=_differences)
def shifts_apart(x: Tensor, y: Tensor, a: Tensor, b: Tensor):
    """(x + c1) - (y + c2) = (x - y) + (c1 - c2)"""
    demand = guard(varies(x), varies(y)), moves("Add", x, a), moves("Add", y, b)
    yield rewrite((x + a) - (y + b), (x - y) + (a - b), may_subtract(a, b), demand, because=FEWER)


@hosted()
def is_nonzero(c: Fact) -> bool:
    """A constant that is not 0."""
    return c.const and c.splat != 0


@law("constants", numerics="reassociates", kind="move", uses=(affine, either_side), examples=_large_shifts)
def shift_of_summand(x: Tensor, y: Tensor, w: Tensor, b: Tensor, t: ConvWindow, a: Tensor, c: Tensor, i: Int):
    """((x + c1) + y) + c2 = (x + (c1 + c2)) + y, and (Conv(x, W) + y) + c = (Conv(x, W) + c) + y"""
    apart = beside("Add", x + a, y, i)
    sound = may_combine("Add", a, c), any_varies(x)  # a constant and another may be infinite
    once = guard(varies(x), varies(y)), moves("Add", x, a), moves("Add", apart, c)
    yield rewrite(apart + c, (x + (a + c)) + y, *sound, once, because=FEWER)
    product, demand = conv(x, w, b, t), guard(is_constant(w), is_nonzero(c))
    apart, why = beside("Add", product, y, i), "a Conv takes in the shift"
    yield rewrite(apart + c, (product + c) + y, any_varies(x), varies(y), demand, because=why)


@hosted()
def may_distribute(c: Fact, s: Fact) -> bool:
    """Constants c and s of floats, not neutral, c * s no bigger than one of them."""
    first, second = static_shape(c), static_shape(s)
    if first is None or second is None or s.dtype not in FLOATS or not (c.const and s.const):
        return False
    return s.splat != 1 and c.splat != 0 and no_larger(first, second) and overflows_nowhere("Mul", c, s)


def _scaled_shifts(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, large, minus = g.input((3, 1)) + g.constant(1e30), g.constant(1e30), g.constant([[-1.0]])
    for product in (x * minus, x @ minus):
        yield g.near_miss((product + large) * large, why="the scaled shift would overflow")


@law("constants", numerics="reassociates", kind="move", uses=(affine,), examples=_scaled_shifts)
def scale_of_sum(x: Tensor, k: Tensor, c: Tensor, s: Tensor):
    """(x * k + c) * s = (x * k) * s + c * s, likewise (x @ W + c) * s"""
    for product in (x * k, x @ k):
        once = moves("Add", product, c), moves("Mul", product + c, s)
        known = (may_distribute(c, s), guard(is_constant(k), varies(x)), once)
        yield rewrite((product + c) * s, product * s + c * s, known, because=FEWER)


@hosted()
def takes_in(w: Fact, s: Fact, x: Fact) -> bool:
    """w is the constant weight of a product with x, into which a constant s, not neutral, may go."""
    return w.const and s.const and s.is_static and s.splat != 1 and s.dtype in FLOATS and not x.const


def _overflowing(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    s, less = g.constant(1e20), g.constant(0.02)

    def products(kernel: tuple[int, ...]) -> Iterator[Any]:
        """One with a weight that is too large for the scale, another with one that is not."""
        for x, number in ((g.input((8, 4, 3, 3)) * less, 1e20), (g.input((8, 4, 3, 3)), 1e18)):
            w = g.constant(np.full(kernel, number))
            yield conv(x, w, none(), PLAIN) if len(kernel) == 4 else reshape(x, (72, 4)) @ w

    for kernel in ((4, 2), (2, 4, 1, 1)):
        large, small = products(kernel)
        for whole in (large + small, small + large):
            yield g.near_miss(whole * s, why="the products overflow and their sum need not")


@hosted()
def may_scale_weight(s: Fact, w: Fact, x: Fact) -> bool:
    """The weight of a product with x, which is no constant: what is one may be infinite, scaled."""
    return not x.const and may_scale.function(s, w)


@law("constants", numerics="reassociates", kind="move", examples=_overflowing)
def scale_of_products(
    x: Tensor, y: Tensor, v: Tensor, w: Tensor, b: Tensor, d: Tensor, t: ConvWindow, u: ConvWindow, s: Tensor
):
    """(x @ V + y @ W) * s = (x @ V) * s + (y @ W) * s, likewise for Conv"""
    demand = guard(takes_in(v, s, x), takes_in(w, s, y))
    for first, second in ((x @ v, y @ w), (conv(x, v, b, t), conv(y, w, d, u))):
        each = first * s + second * s
        sound = may_scale_weight(s, v, x), may_scale_weight(s, w, y)
        yield rewrite((first + second) * s, each, *sound, demand, because=FEWER)
