"""A convolution with a kernel of 1 and its neighbour are one convolution, where that multiplies less.

    Conv(Conv(x, W1, b1), W2, b2) = Conv(x, W2 W1, W2 b1 + b2)      W2 has a kernel of 1
    Conv(Conv(x, W1, b1), W2, b2) = Conv(x, W2 W1, W2 b1 + b2)      W1 has one; no bias b1 where W2 pads
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from egglog import PyObject

from egraph_opt.host import hosted
from egraph_opt.law import Example, holds, law, let, rewrite
from egraph_opt.law_testing import Operands
from egraph_opt.operators import ConvWindow, binary, conv, matmul, none, reduce, reshape, transpose
from egraph_opt.rewrites.channels import Dims, is_float_constant, is_present, static_shape
from egraph_opt.rewrites.convolution import PLAIN
from egraph_opt.terms import Tensor, fact
from egraph_opt.types import ABSENT, Fact


def is_pointwise(w: Dims, window: ConvWindow) -> bool:
    """A kernel of 1 that visits every element."""
    return all(k == 1 for k in (*w[2:], *window.strides)) and not any(window.pads)


@hosted(default=False)
def is_smaller(w1: Fact, b1: Fact, u1: ConvWindow, w2: Fact, b2: Fact, u2: ConvWindow, point: int) -> bool:
    """Whether both are ungrouped convolutions of constants, `point` the one with a kernel of 1, better as one."""
    first, second = static_shape(w1), static_shape(w2)
    if first is None or second is None or not is_float_constant(w1) or not is_float_constant(w2):
        return False
    if u1.group != 1 or u2.group != 1 or not all(b == ABSENT or is_float_constant(b) for b in (b1, b2)):
        return False
    if point == 2 and not is_pointwise(second, u2):
        return False
    if point == 1 and (not is_pointwise(first, u1) or is_pointwise(second, u2)):
        return False
    if point == 1 and any(u2.pads) and b1 != ABSENT:
        return False  # the first one's bias would be in its padding
    kernel = math.prod(first[2:]) * math.prod(second[2:])
    return second[0] * first[1] * kernel <= math.prod(first) + math.prod(second)


@hosted()
def matrix(w: Fact) -> Dims:
    """[M, C * K]."""
    shape = static_shape(w) or ()
    return (shape[0], math.prod(shape[1:]))


@hosted()
def flat(w: Fact) -> Dims:
    """[M, C, K]."""
    shape = static_shape(w) or ()
    return (*shape[:2], math.prod(shape[2:]))


@hosted()
def joined(w1: Fact, w2: Fact) -> Dims:
    """[M2, C1, *kernel of both]."""
    first, second = static_shape(w1) or (), static_shape(w2) or ()
    kernel = tuple(a * b for a, b in zip(first[2:], second[2:], strict=True))
    return (second[0], first[1], *kernel)


def _examples(point: int) -> Any:
    def examples(rng: np.random.Generator) -> Iterator[Example]:
        def pair(g: Operands, x: Any, first: Dims, second: Dims, u1: ConvWindow, u2: ConvWindow, b: bool) -> Any:
            bias = g.random(first[0]) if b else none()
            return conv(conv(x, g.random(*first), bias, u1), g.random(*second), g.random(second[0]), u2)

        g = Operands(rng)
        x = g.input(("N", 4, 6, "L"))
        wide, ring = ConvWindow((2, 1), (0, 0, 0, 0), (1, 2)), ConvWindow((1, 1), (1, 1, 1, 1), (1, 1))
        order = slice(None, None, 1 if point == 2 else -1)
        for b in (True, False):
            shapes = [(5, 4, 2, 3), (3, 5, 1, 1)] if point == 2 else [(5, 4, 1, 1), (3, 5, 2, 3)]
            yield g.fires(pair(g, x, *shapes, *[wide, PLAIN][order], b))
        yield g.fires(pair(g, x, *shapes, *[ring, PLAIN][order], point == 2))
        line = ConvWindow((1,), (0, 0), (1,))
        y = g.input((2, 4, 8))
        triple = [(5, 4, 3), (3, 5, 1)] if point == 2 else [(5, 4, 1), (3, 5, 3)]
        yield g.fires(pair(g, y, *triple, line, line, True))
        strided = ConvWindow((2, 2), (0,) * 4, (1, 1))
        if point == 2:
            yield g.near_miss(pair(g, x, (2, 4, 1, 1), (9, 2, 1, 1), PLAIN, PLAIN, True), why="a low rank is cheaper")
            yield g.near_miss(pair(g, x, *shapes, ring, ring, True), why="the second one pads")
        else:
            yield g.near_miss(pair(g, x, *shapes, PLAIN, ring, True), why="the padding holds no bias")
            yield g.near_miss(pair(g, x, *shapes, strided, PLAIN, False), why="the first one strides")
        groups = ConvWindow((1, 1), (0,) * 4, (1, 1), 2)
        grouped = pair(g, x, (6, 2, 1, 1), (3, 6, 2, 2), groups, PLAIN, False)
        yield g.near_miss(grouped, why="groups")
        varying = conv(conv(x, g.input((5, 4, 1, 1)), none(), PLAIN), g.random(3, 5, 1, 1), none(), PLAIN)
        yield g.near_miss(varying, why="a weight is no constant")

    return examples


def _biased(w2: Any, b1: Any, b2: Any, flattened: PyObject) -> Any:
    """W2 b1 + b2, the taps of W2 summed."""
    taps = reduce("ReduceSum", reshape(w2, flattened), (2,), 0)
    return binary("Add", matmul(taps, b1), b2)


@law("convolution", numerics="reassociates", examples=_examples(2))
def pointwise_after_conv(
    x: Tensor, w1: Tensor, b1: Tensor, u1: PyObject, w2: Tensor, b2: Tensor, u2: PyObject,
    m1: PyObject, m2: PyObject, f2: PyObject, d: PyObject,
) -> Iterator[Any]:  # fmt: skip
    """Conv(Conv(x, W1, b1), W2, b2) = Conv(x, W2 W1, W2 b1 + b2) where W2 has a kernel of 1

    Source: enlargement and composition of convolutions in TASO.
    """
    left = conv(conv(x, w1, b1, u1), w2, b2, u2)
    weight = reshape(matmul(reshape(w2, m2), reshape(w1, m1)), d)
    asked = (
        holds(is_smaller, fact(w1), fact(b1), u1, fact(w2), fact(b2), u2, PyObject(2)),
        *let(m1, matrix, fact(w1)),
        *let(m2, matrix, fact(w2)),
        *let(d, joined, fact(w1), fact(w2)),
    )
    yield from _with_biases(left, x, weight, w2, b1, b2, u1, f2, asked)


@law("convolution", numerics="reassociates", examples=_examples(1))
def conv_after_pointwise(
    x: Tensor, w1: Tensor, b1: Tensor, u1: PyObject, w2: Tensor, b2: Tensor, u2: PyObject,
    m1: PyObject, f2: PyObject, d: PyObject,
) -> Iterator[Any]:  # fmt: skip
    """Conv(Conv(x, W1, b1), W2, b2) = Conv(x, W2 W1, W2 b1 + b2) where W1 has a kernel of 1

    Source: enlargement and composition of convolutions in TASO.
    """
    left = conv(conv(x, w1, b1, u1), w2, b2, u2)
    by_tap = transpose(reshape(w2, f2), (0, 2, 1))
    weight = reshape(transpose(matmul(by_tap, reshape(w1, m1)), (0, 2, 1)), d)
    asked = (
        holds(is_smaller, fact(w1), fact(b1), u1, fact(w2), fact(b2), u2, PyObject(1)),
        *let(m1, matrix, fact(w1)),
        *let(d, joined, fact(w1), fact(w2)),
    )
    asked_flat = (*asked, *let(f2, flat, fact(w2)))
    yield from _with_biases(left, x, weight, w2, b1, b2, u2, f2, asked_flat)


def _with_biases(
    left: Any, x: Any, weight: Any, w2: Any, b1: Any, b2: Any, window: Any, f2: Any, asked: tuple[Any, ...]
) -> Iterator[Any]:
    """The composition by which biases there are."""
    flattened = let(f2, flat, fact(w2))
    first, second = holds(is_present, fact(b1)), holds(is_present, fact(b2))
    yield rewrite(left, conv(x, weight, _biased(w2, b1, b2, f2), window), asked, flattened, first, second)
    yield rewrite(left, conv(x, weight, b2, window), asked, flattened, holds(is_absent, fact(b1)))
    taps = reduce("ReduceSum", reshape(w2, f2), (2,), 0)
    only_first = (first, holds(is_absent, fact(b2)))
    yield rewrite(left, conv(x, weight, matmul(taps, b1), window), asked, flattened, only_first)


@hosted(default=False)
def is_absent(b: Fact) -> bool:
    return b == ABSENT
