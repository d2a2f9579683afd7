"""Scales and shifts of sums: they go to where they are taken in, or meet each other.

(x + c1) + (y + c2) = (x + y) + (c1 + c2)
(x * c1 + c2) * c3 = (x * c1) * c3 + c2 * c3      likewise (x @ W + c2) * c3
(x @ V + y @ W) * c = (x @ V) * c + (y @ W) * c   likewise for Conv
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import PyObject, holds, rewrite
from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import ConvWindow, binary, conv, matmul, none
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact
from egraph_opt.rewrites.arithmetic.constants import fits, may_combine, overflows_nowhere
from egraph_opt.rewrites.conditions.channels import static_shape


@hosted(default=False)
def is_no_constant(x: Fact) -> bool:
    return not x.const


def _meeting_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 3, 4)), g.input((3, 4))
    yield g.fires(binary("Add", binary("Add", x, g.random(3, 1)), binary("Add", y, g.random(1))))
    yield g.near_miss(binary("Add", binary("Add", x, g.random(3, 1)), y), why="one constant only")
    wide = binary("Add", y, g.random(4))
    yield g.near_miss(binary("Add", binary("Add", x, g.random(3, 1)), wide), why="the constant would grow")
    zero = binary("Add", y, g.constant(np.float32(0)))
    yield g.near_miss(binary("Add", binary("Add", x, g.random(1)), zero), why="a neutral constant")


@law("constants", numerics="reassociates", examples=_meeting_examples)
def shifts_meet(x: Tensor, y: Tensor, a: Tensor, b: Tensor) -> Iterator[Any]:
    """(x + c1) + (y + c2) = (x + y) + (c1 + c2)

    Source: algebra.
    """
    yield rewrite(
        binary("Add", binary("Add", x, a), binary("Add", y, b)),
        binary("Add", binary("Add", x, y), binary("Add", a, b)),
        holds(may_combine, PyObject("Add"), fact(a), fact(b), fact(x)),
        holds(is_no_constant, fact(y)),
    )


@hosted(default=False)
def is_weight(w: Fact, c: Fact) -> bool:
    """A constant weight, and a constant that is not 0."""
    return w.const and c.const and c.splat != 0 and c.dtype in FLOATS


def _summand_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 3, 4)), g.input((3, 4))
    shifted, image = binary("Add", x, g.random(3, 1)), g.input((1, 3, 4, 4))
    product = conv(image, g.random(3, 3, 1, 1), g.random(3), ConvWindow((1, 1), (0,) * 4, (1, 1)))
    for first, second, c in ((shifted, y, g.random(1)), (product, image, g.random(3, 1, 1))):
        yield g.fires(binary("Add", binary("Add", first, second), c))
        yield g.fires(binary("Add", binary("Add", second, first), c))
    yield g.near_miss(binary("Add", binary("Add", x, y), g.random(1)), why="no summand takes it in")
    yield g.near_miss(binary("Add", binary("Add", shifted, y), y), why="one constant only")
    zero = g.constant(np.float32(0))
    yield g.near_miss(binary("Add", binary("Add", product, image), zero), why="a neutral constant")


@law("constants", numerics="reassociates", examples=_summand_examples)
def shift_of_summand(
    x: Tensor, y: Tensor, w: Tensor, b: Tensor, t: PyObject, a: Tensor, c: Tensor
) -> Iterator[Any]:
    """((x + c1) + y) + c2 = (x + (c1 + c2)) + y, and (Conv(x, W) + y) + c = (Conv(x, W) + c) + y

    Source: algebra.
    """
    varies = holds(is_no_constant, fact(y))
    may = (holds(may_combine, PyObject("Add"), fact(a), fact(c), fact(x)), varies)
    joined = binary("Add", binary("Add", x, binary("Add", a, c)), y)
    product = conv(x, w, b, t)
    weight = (holds(is_weight, fact(w), fact(c)), varies)
    moved = binary("Add", binary("Add", product, c), y)
    for first, second in ((binary("Add", x, a), y), (y, binary("Add", x, a))):
        yield rewrite(
            binary("Add", binary("Add", first, second), c), joined, may, holds(is_no_constant, fact(y))
        )
    for first, second in ((product, y), (y, product)):
        yield rewrite(
            binary("Add", binary("Add", first, second), c), moved, weight, holds(is_no_constant, fact(y))
        )


@hosted(default=False)
def may_distribute(k: Fact, c: Fact, s: Fact, x: Fact) -> bool:
    """Constants k, c and s of floats, c and s not neutral, c * s no bigger than one of them."""
    first, second = static_shape(c), static_shape(s)
    if first is None or second is None or s.dtype not in FLOATS or x.const:
        return False
    if not (k.const and c.const and s.const) or s.splat == 1 or c.splat == 0:
        return False
    return fits(first, second) and overflows_nowhere("Mul", c, s)


def _distribution_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, m = g.input(("N", 3, 4)), g.input(("N", "L", 3))
    yield g.fires(binary("Mul", binary("Add", binary("Mul", x, g.random(3, 1)), g.random(3, 1)), g.random(1)))
    yield g.fires(binary("Mul", binary("Add", matmul(m, g.random(3, 5)), g.random(5)), g.random(1)))
    yield g.near_miss(
        binary("Mul", binary("Add", x, g.random(3, 1)), g.random(1)), why="nothing takes in the scale"
    )
    one = g.constant(np.float32(1))
    yield g.near_miss(
        binary("Mul", binary("Add", binary("Mul", x, g.random(1)), g.random(1)), one), why="a neutral scale"
    )
    zero = g.constant(np.float32(0))
    yield g.near_miss(
        binary("Mul", binary("Add", binary("Mul", x, g.random(1)), zero), g.random(1)), why="a neutral shift"
    )
    yield g.near_miss(
        binary("Mul", binary("Add", matmul(m, g.input((3, 5))), g.random(5)), g.random(1)),
        why="W is no constant",
    )


@law("constants", numerics="reassociates", examples=_distribution_examples)
def scale_of_sum(x: Tensor, k: Tensor, c: Tensor, s: Tensor) -> Iterator[Any]:
    """(x * k + c) * s = (x * k) * s + c * s, likewise (x @ W + c) * s

    Source: algebra.
    """
    for product in (binary("Mul", x, k), matmul(x, k)):
        yield rewrite(
            binary("Mul", binary("Add", product, c), s),
            binary("Add", binary("Mul", product, s), binary("Mul", c, s)),
            holds(may_distribute, fact(k), fact(c), fact(s), fact(x)),
        )


@hosted(default=False)
def take_in(v: Fact, w: Fact, s: Fact, x: Fact, y: Fact) -> bool:
    """v and w are constant weights of products with x and y, into which a scale s, not neutral, may go."""
    constant = v.const and w.const and s.const and s.is_static
    return constant and s.splat != 1 and s.dtype in FLOATS and not x.const and not y.const


def _two_products_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, w, s = g.input(("N", 3, 5)), g.input((2, 3, 5)), g.random(5, 4), g.random(4)
    yield g.fires(binary("Mul", binary("Add", matmul(x, w), matmul(x, g.random(5, 4))), s))
    image, window = g.input((1, 2, 5, 5)), ConvWindow((1, 1), (1, 1, 1, 1), (1, 1))
    first, second = (conv(image, g.random(3, 2, 3, 3), none(), window) for _ in range(2))
    yield g.fires(binary("Mul", binary("Add", first, second), g.random(3, 1, 1)))
    yield g.near_miss(binary("Mul", binary("Add", matmul(x, w), g.input((4,))), s), why="one product only")
    product = matmul(y, g.input((5, 4)))
    yield g.near_miss(binary("Mul", binary("Add", matmul(y, w), product), s), why="a weight is no constant")


@law("constants", numerics="reassociates", examples=_two_products_examples)
def scale_of_products(
    x: Tensor, y: Tensor, v: Tensor, w: Tensor, b: Tensor, d: Tensor, t: PyObject, u: PyObject, s: Tensor
) -> Iterator[Any]:
    """(x @ V + y @ W) * s = (x @ V) * s + (y @ W) * s, likewise for Conv

    Source: algebra.
    """
    condition = holds(take_in, fact(v), fact(w), fact(s), fact(x), fact(y))
    for first, second in ((matmul(x, v), matmul(y, w)), (conv(x, v, b, t), conv(y, w, d, u))):
        scaled = binary("Add", binary("Mul", first, s), binary("Mul", second, s))
        yield rewrite(binary("Mul", binary("Add", first, second), s), scaled, condition)
