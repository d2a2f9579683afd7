"""A convolution with a kernel of 1 and its neighbour are one convolution, where that multiplies less.

Conv(Conv(x, W1, b1), W2, b2) -> Conv(x, W2 W1, W2 b1 + b2)

where W2 has a kernel of 1, or W1 has one and, if W2 pads, no bias b1.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, absent, guard, hosted, laws_of, rewrite
from egraph_opt.laws.sorts import Dims, Tensor
from egraph_opt.operators import ConvWindow, conv, none, reduce, reshape, transpose
from egraph_opt.rewrites.conditions.channels import (
    is_constant_bias,
    is_float_constant,
    is_no_computed_bias,
    static_shape,
)
from egraph_opt.rewrites.conditions.operands import total, totals
from egraph_opt.rewrites.convolution.outputs import PLAIN

law = laws_of(
    "convolution",
    numerics="reassociates",
    kind="merge",
    serves="arithmetic",
    source="TASO, composition of convolutions",
)

FORGETS = "forgets how the kernel of 1 was dilated"


@hosted()
def is_pointwise(w: Fact, window: ConvWindow) -> bool:
    """A kernel of 1, without groups, that visits every element."""
    shape = static_shape(w)
    whole = shape is not None and all(k == 1 for k in (*shape[2:], *window.strides))
    return whole and window.group == 1 and not any(window.pads)


@hosted()
def is_ungrouped(window: ConvWindow) -> bool:
    return window.group == 1


@hosted()
def pads_nothing(window: ConvWindow) -> bool:
    return not any(window.pads)


@hosted()
def is_smaller(w1: Fact, w2: Fact) -> bool:
    """Constants of which the product has no more elements than both."""
    first, second = static_shape(w1), static_shape(w2)
    if first is None or second is None or not is_float_constant(w1) or not is_float_constant(w2):
        return False
    kernel = math.prod(first[2:]) * math.prod(second[2:])
    return bool(second[0] * first[1] * kernel <= math.prod(first) + math.prod(second))


@hosted()
def matrix(w: Fact) -> Dims | None:
    """[M, C * K]."""
    shape = static_shape(w)
    return None if shape is None else (shape[0], math.prod(shape[1:]))


@hosted()
def flat_kernel(w: Fact) -> Dims | None:
    """[M, C, K]."""
    shape = static_shape(w)
    return None if shape is None else (*shape[:2], math.prod(shape[2:]))


@hosted()
def joined_kernels(w1: Fact, w2: Fact) -> Dims | None:
    """[M2, C1, *kernel of both]."""
    first, second = static_shape(w1), static_shape(w2)
    if first is None or second is None:
        return None
    kernel = tuple(a * b for a, b in zip(first[2:], second[2:], strict=True))
    return (second[0], first[1], *kernel)


def _biases(w1: Any, w2: Any, b1: Any, b2: Any) -> Iterator[tuple[Any, Any, Any, Any]]:
    """The biases of two convolutions in a row, present or not, that of both as one, and what has to hold."""
    moved = reduce("ReduceSum", reshape(w2, flat_kernel(w2)), (2,), 0) @ b1
    yield b1, b2, total(moved, b2), (is_constant_bias(b1, w1), guard(is_no_computed_bias(b2, w2)))
    yield none(), b2, b2, ()


_WIDE, _RING = ConvWindow((2, 1), (0, 0, 0, 0), (1, 2)), ConvWindow((1, 1), (1, 1, 1, 1), (1, 1))
_GROUPS, _STEPS = ConvWindow((1, 1), (0,) * 4, (1, 1), 2), ConvWindow((2, 2), (0,) * 4, (1, 1))
_LINE = ConvWindow((1,), (0, 0), (1,))
_POINT, _KERNEL = (1, 1), (2, 3)


def _examples(*cases: Any) -> Any:
    """Examples of two convolutions: kernels, windows, which have biases, and why it is a near-miss."""

    def examples(rng: np.random.Generator) -> Iterator[Example]:
        for kernels, windows, biased, why in cases:
            g = Operands(rng)
            (first, second), rank = (window.group for window in windows), len(kernels[0])
            middle, last = (2, 9) if "rank" in why else (6, 3 * second)
            shapes = (middle, 4 // first, *kernels[0]), (last, middle // second, *kernels[1])
            y: Any = g.input(("N", 4, 6, "L")[: rank + 2])
            for k, (shape, window) in enumerate(zip(shapes, windows, strict=True)):
                w = g.input(shape) if "weight" in why else g.random(*shape)
                y = conv(y, w, g.random(shape[0]) if k in biased else none(), window)
            yield g.near_miss(y, why) if why else g.fires(y)

    return examples


_NEAR_MISSES = (
    ((_POINT, _POINT), (PLAIN, PLAIN), (), "a low rank is cheaper"),
    *(((_POINT, _POINT), (_GROUPS, PLAIN), biased, "groups") for biased in ((0, 1), ())),
    *(((_POINT, _POINT), (PLAIN, _GROUPS), biased, "groups") for biased in ((0, 1), ())),
    ((_KERNEL, _KERNEL), (PLAIN, PLAIN), (), "no kernel is 1"),
    ((_POINT, _POINT), (PLAIN, PLAIN), (), "a weight is no constant"),
)
_AFTER = _examples(
    *(((_KERNEL, _POINT), (_WIDE, PLAIN), biased, "") for biased in ((0, 1), (0,), (1,), ())),
    ((_KERNEL, _POINT), (_RING, PLAIN), (0, 1), ""),
    (((3,), (1,)), (_LINE, _LINE), (0, 1), ""),
    ((_KERNEL, _POINT), (PLAIN, _RING), (), "the second one pads"),
    *_NEAR_MISSES,
)
_BEFORE = _examples(
    *(((_POINT, _KERNEL), (PLAIN, _WIDE), biased, "") for biased in ((0, 1), (0,), (1,), ())),
    ((_POINT, _KERNEL), (PLAIN, _RING), (1,), ""),
    (((1,), (3,)), (_LINE, _LINE), (0, 1), ""),
    ((_POINT, _KERNEL), (PLAIN, _RING), (0, 1), "the padding holds no bias"),
    ((_POINT, _KERNEL), (_STEPS, PLAIN), (), "the first one strides"),
    *_NEAR_MISSES,
)


@law(examples=_AFTER, uses=(totals,))
def pointwise_after_conv(
    x: Tensor, w1: Tensor, b1: Tensor, u1: ConvWindow, w2: Tensor, b2: Tensor, u2: ConvWindow
):
    """Conv(Conv(x, W1, b1), W2, b2) = Conv(x, W2 W1, W2 b1 + b2) where W2 has a kernel of 1"""
    weight = reshape(reshape(w2, matrix(w2)) @ reshape(w1, matrix(w1)), joined_kernels(w1, w2))
    known = (is_pointwise(w2, u2), is_ungrouped(u1), guard(is_smaller(w1, w2)))
    for first, second, bias, present in _biases(w1, w2, b1, b2):
        two = conv(conv(x, w1, first, u1), w2, second, u2)
        yield rewrite(two, conv(x, weight, bias, u1), known, present, because=FORGETS)


@law(examples=_BEFORE, uses=(totals,))
def conv_after_pointwise(
    x: Tensor, w1: Tensor, b1: Tensor, u1: ConvWindow, w2: Tensor, b2: Tensor, u2: ConvWindow
):
    """Conv(Conv(x, W1, b1), W2, b2) = Conv(x, W2 W1, W2 b1 + b2) where W1 has a kernel of 1

    Nothing is padded, or there is no b1: it is not in the padding.
    """
    by_tap = transpose(reshape(w2, flat_kernel(w2)), (0, 2, 1)) @ reshape(w1, matrix(w1))
    weight = reshape(transpose(by_tap, (0, 2, 1)), joined_kernels(w1, w2))
    other = guard(is_smaller(w1, w2), absent(is_pointwise(w2, u2)))
    for first, second, bias, present in _biases(w1, w2, b1, b2):
        two = conv(conv(x, w1, first, u1), w2, second, u2)
        known = (is_pointwise(w1, u1), is_ungrouped(u2), *(present and (*present, pads_nothing(u2))))
        yield rewrite(two, conv(x, weight, bias, u2), known, other, because=FORGETS)
