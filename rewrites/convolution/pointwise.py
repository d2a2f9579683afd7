"""A convolution with a kernel of 1 and its neighbour are one convolution, where that multiplies less.

    Conv(Conv(x, W1, b1), W2, b2) = Conv(x, W2 W1, W2 b1 + b2)

where W2 has a kernel of 1, or W1 has one and, if W2 pads, no bias b1.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import PyObject, holds, let, rewrite
from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import ConvWindow, binary, conv, matmul, none, reduce, reshape, transpose
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact
from egraph_opt.rewrites.conditions.channels import (
    Dims,
    is_absent,
    is_float_constant,
    is_present,
    static_shape,
)
from egraph_opt.rewrites.convolution.outputs import PLAIN


def is_pointwise(w: Dims, window: ConvWindow) -> bool:
    """A kernel of 1 that visits every element."""
    return all(k == 1 for k in (*w[2:], *window.strides)) and not any(window.pads)


@hosted(default=False)
def is_smaller(w1: Fact, b1: Fact, u1: ConvWindow, w2: Fact, b2: Fact, u2: ConvWindow, point: int) -> bool:
    """Ungrouped convolutions of constants, `point` (1 or 2) the one with a kernel of 1, are better as one."""
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
    return bool(second[0] * first[1] * kernel <= math.prod(first) + math.prod(second))


@hosted()
def matrix(w: Fact) -> Dims | None:
    """[M, C * K]."""
    shape = static_shape(w)
    return None if shape is None else (shape[0], math.prod(shape[1:]))


@hosted()
def flat(w: Fact) -> Dims | None:
    """[M, C, K]."""
    shape = static_shape(w)
    return None if shape is None else (*shape[:2], math.prod(shape[2:]))


@hosted()
def joined(w1: Fact, w2: Fact) -> Dims | None:
    """[M2, C1, *kernel of both]."""
    first, second = static_shape(w1), static_shape(w2)
    if first is None or second is None:
        return None
    kernel = tuple(a * b for a, b in zip(first[2:], second[2:], strict=True))
    return (second[0], first[1], *kernel)


def _two(
    g: Operands,
    x: Any,
    weights: tuple[Dims, Dims],
    windows: tuple[ConvWindow, ConvWindow],
    biases: str = "both",
) -> Any:
    """Two convolutions with biases: both, the first, the second or none."""
    (w1, w2), (u1, u2) = weights, windows
    b1 = g.random(w1[0]) if biases in ("both", "first") else none()
    b2 = g.random(w2[0]) if biases in ("both", "second") else none()
    return conv(conv(x, g.random(*w1), b1, u1), g.random(*w2), b2, u2)


_WIDE, _RING = ConvWindow((2, 1), (0, 0, 0, 0), (1, 2)), ConvWindow((1, 1), (1, 1, 1, 1), (1, 1))
_GROUPS, _LINE = ConvWindow((1, 1), (0,) * 4, (1, 1), 2), ConvWindow((1,), (0, 0), (1,))


def _near_misses(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 4, 6, "L"))
    low_rank = _two(g, x, ((2, 4, 1, 1), (9, 2, 1, 1)), (PLAIN, PLAIN))
    yield g.near_miss(low_rank, why="a low rank is cheaper")
    grouped = _two(g, x, ((6, 2, 1, 1), (3, 6, 1, 1)), (_GROUPS, PLAIN))
    yield g.near_miss(grouped, why="groups")
    varying = conv(conv(x, g.input((5, 4, 1, 1)), none(), PLAIN), g.random(3, 5, 1, 1), none(), PLAIN)
    yield g.near_miss(varying, why="a weight is no constant")


def _after_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, weights = g.input(("N", 4, 6, "L")), ((5, 4, 2, 3), (3, 5, 1, 1))
    for biases in ("both", "first", "second", "none"):
        yield g.fires(_two(g, x, weights, (_WIDE, PLAIN), biases))
    yield g.fires(_two(g, x, weights, (_RING, PLAIN)))
    yield g.fires(_two(g, g.input((2, 4, 8)), ((5, 4, 3), (3, 5, 1)), (_LINE, _LINE)))
    yield g.near_miss(_two(g, x, weights, (PLAIN, _RING)), why="the second one pads")
    yield from _near_misses(rng)


def _before_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, weights = g.input(("N", 4, 6, "L")), ((5, 4, 1, 1), (3, 5, 2, 3))
    for biases in ("both", "first", "second", "none"):
        yield g.fires(_two(g, x, weights, (PLAIN, _WIDE), biases))
    yield g.fires(_two(g, x, weights, (PLAIN, _RING), "second"))
    yield g.fires(_two(g, g.input((2, 4, 8)), ((5, 4, 1), (3, 5, 3)), (_LINE, _LINE)))
    yield g.near_miss(_two(g, x, weights, (PLAIN, _RING)), why="the padding holds no bias")
    strided = ConvWindow((2, 2), (0,) * 4, (1, 1))
    yield g.near_miss(_two(g, x, weights, (strided, PLAIN)), why="the first one strides")
    yield from _near_misses(rng)


def _compositions(
    left: Any,
    rewritten: tuple[Any, Any, Any],
    biases: tuple[Any, Any],
    *,
    w2: Any,
    f2: Any,
    asked: tuple[Any, ...],
) -> Iterator[Any]:
    """One convolution with the bias W2 b1 + b2, the taps of W2 summed, by which biases there are."""
    (x, weight, window), (b1, b2) = rewritten, biases
    moved = matmul(reduce("ReduceSum", reshape(w2, f2), (2,), 0), b1)
    flattened = let(f2, flat, fact(w2))
    first, second = holds(is_present, fact(b1)), holds(is_present, fact(b2))
    bare = holds(is_absent, fact(b1))
    yield rewrite(left, conv(x, weight, binary("Add", moved, b2), window), asked, flattened, first, second)
    yield rewrite(left, conv(x, weight, moved, window), asked, flattened, first, holds(is_absent, fact(b2)))
    yield rewrite(left, conv(x, weight, b2, window), asked, flattened, bare)


@law("convolution", numerics="reassociates", examples=_after_examples)
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
    yield from _compositions(left, (x, weight, u1), (b1, b2), w2=w2, f2=f2, asked=asked)


@law("convolution", numerics="reassociates", examples=_before_examples)
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
    yield from _compositions(left, (x, weight, u2), (b1, b2), w2=w2, f2=f2, asked=asked)
