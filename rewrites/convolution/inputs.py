"""Constants in front of a Conv become part of its weight and bias.

    Conv(x * s, W, b) = Conv(x, W * s, b)
    Conv(x + c, W, b) = Conv(x, W, b + sum(W * c))      without padding
    Conv(x * s + c, W, b) = Conv(x + c / s, W * s, b)   with padding, where c / s is known

Scales and shifts have one number, or one number per channel.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import PyObject, holds, let, rewrite
from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import ConvWindow, binary, conv, literal, none, reduce, reshape
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact
from egraph_opt.rewrites.conditions.channels import (
    LARGEST,
    SMALLEST,
    Dims,
    absent_bias,
    at_axis,
    chains,
    count_in,
    is_float_constant,
    is_present,
    is_scale,
    is_shift,
    known_elements,
    per_channel,
    static_dims,
    static_shape,
    unchained,
)
from egraph_opt.rewrites.convolution.outputs import PLAIN, windows


def _count(x: Fact, w: Fact, c: Fact, window: ConvWindow) -> int | None:
    """How many numbers a constant in front of a Conv has: one, or one per channel that goes in."""
    shape = static_shape(w)
    if shape is None or not is_float_constant(w) or len(shape) < 3:
        return None
    return count_in(x, c, len(shape), shape[1] * window.group)


@hosted()
def of_columns(x: Fact, w: Fact, c: Fact, window: ConvWindow) -> Dims | None:
    """The dims in which c, of the channels that go in, scales the weight [M, C/g, ...] as it is."""
    count, rank = _count(x, w, c, window), len(w.shape or ())
    if count is None or (count > 1 and window.group > 1):
        return None
    return at_axis(count, rank, 1)


@hosted()
def of_grouped_columns(x: Fact, w: Fact, c: Fact, window: ConvWindow) -> Dims | None:
    """The dims in which c, one number per channel, scales the weight with its groups apart."""
    count, shape = _count(x, w, c, window), static_shape(w)
    if count is None or shape is None or count == 1 or window.group == 1:
        return None
    return (window.group, 1, shape[1], *((1,) * (len(shape) - 2)))


@hosted()
def grouped(w: Fact, window: ConvWindow) -> Dims | None:
    """The weight [M, C/g, ...] with its groups apart: [g, M/g, C/g, ...]."""
    shape = static_shape(w)
    return None if shape is None else (window.group, shape[0] // window.group, *shape[1:])


def scaled_columns(
    x: Any, w: Any, c: Any, window: Any, *, d: Any, g: Any, back: Any
) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """The weight times c by channels that go in, with the conditions under which it is: in groups or not."""
    operands = (fact(x), fact(w), fact(c), window)
    yield binary("Mul", w, reshape(c, d)), let(d, of_columns, *operands)
    apart = (*let(d, of_grouped_columns, *operands), *let(g, grouped, fact(w), window))
    product = binary("Mul", reshape(w, g), reshape(c, d))
    yield reshape(product, back), (*apart, *let(back, static_dims, fact(w)))


@hosted(default=False)
def multiplies(c: Fact) -> bool:
    return is_scale(c)


@hosted()
def axes_of_a_row(w: Fact, b: Fact, c: Fact, window: ConvWindow) -> Dims | None:
    """The weight's axes but the first, where a shift in front of the Conv is one behind it."""
    if not is_shift(c) or any(window.pads) or not (b == ABSENT or is_float_constant(b)):
        return None
    return tuple(range(1, len(w.shape or ())))


def _scale_before_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape, weight, window in windows():
        g = Operands(rng)
        x, w = g.input(shape), g.random(*weight)
        for k, c in enumerate(per_channel(g, len(weight), shape[1])):
            scaled = binary("Mul", x, c)
            yield g.fires(conv(scaled, w, none() if k == 2 else g.random(6), window))
    g = Operands(rng)
    x, w = g.input((1, 4, 3, 4)), g.random(6, 4, 1, 1)
    yield g.fires(conv(binary("Mul", x, g.random(4, 1, 1)), w, g.input((6,)), PLAIN))
    for scaled, why in (
        (binary("Mul", x, g.random(4)), "it varies along the last axis"),
        (binary("Add", x, g.random(1)), "it is a shift"),
        (binary("Mul", g.input((1, 1, 3, 3)), g.random(4, 1, 1)), "it makes x bigger"),
        (binary("Mul", g.input((4, 3, 4)), g.random(1, 4, 1, 1)), "it adds an axis"),
    ):
        yield g.near_miss(conv(scaled, w, none(), PLAIN), why)
    varying = conv(binary("Mul", x, g.random(4, 1, 1)), g.input((6, 4, 1, 1)), none(), PLAIN)
    yield g.near_miss(varying, why="the weight is no constant")


@law("convolution", numerics="reassociates", examples=_scale_before_examples)
def scale_before_conv(
    x: Tensor, c: Tensor, w: Tensor, b: Tensor, window: PyObject, g: PyObject, d: PyObject, back: PyObject
) -> Iterator[Any]:
    """Conv(x * s, W, b) = Conv(x, W * s, b), since padding stays 0 when it is scaled

    Source: Ascend auto-optimizer, BNFolding.
    """
    yield from chains()
    left = conv(binary("Mul", x, c), w, b, window)
    for weight, asked in scaled_columns(x, w, c, window, d=d, g=g, back=back):
        yield rewrite(
            left, conv(x, weight, b, window), unchained("Mul", x), holds(multiplies, fact(c)), asked
        )


def _shift_before_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape, weight, padded in windows():
        g = Operands(rng)
        x, w = g.input(shape), g.random(*weight)
        window = ConvWindow(padded.strides, (0,) * len(padded.pads), padded.dilations, padded.group)
        for k, c in enumerate(per_channel(g, len(weight), shape[1])):
            shifted = binary("Add", x, c)
            yield g.fires(conv(shifted, w, none() if k == 2 else g.random(6), window))
    g = Operands(rng)
    x, w = g.input((1, 4, 3, 4)), g.random(6, 4, 1, 1)
    padded, shifted = ConvWindow((1, 1), (1, 0, 0, 0), (1, 1)), binary("Add", x, g.random(4, 1, 1))
    yield g.near_miss(conv(shifted, w, none(), padded), why="padding is not shifted")
    yield g.near_miss(conv(shifted, w, g.input((6,)), PLAIN), why="the bias is no constant")
    yield g.near_miss(
        conv(binary("Add", x, g.random(4)), w, none(), PLAIN), why="it varies along the last axis"
    )
    yield g.near_miss(conv(binary("Mul", x, g.random(1)), w, none(), PLAIN), why="it is a scale")


@law("convolution", numerics="reassociates", examples=_shift_before_examples)
def shift_before_conv(
    x: Tensor, c: Tensor, w: Tensor, b: Tensor, window: PyObject,
    g: PyObject, d: PyObject, back: PyObject, axes: PyObject, zeros: PyObject,
) -> Iterator[Any]:  # fmt: skip
    """Conv(x + c, W, b) = Conv(x, W, b + sum(W * c)) without padding

    Source: algebra.
    """
    yield from chains()
    left = conv(binary("Add", x, c), w, b, window)
    absent = let(zeros, absent_bias, fact(w), fact(b), window, PyObject(0))
    for weight, asked in scaled_columns(x, w, c, window, d=d, g=g, back=back):
        conditions = (
            unchained("Add", x),
            *let(axes, axes_of_a_row, fact(w), fact(b), fact(c), window),
            *asked,
        )
        moved = reduce("ReduceSum", weight, axes, 0)
        shifted, fresh = binary("Add", b, moved), binary("Add", literal(zeros), moved)
        yield rewrite(left, conv(x, w, shifted, window), conditions, holds(is_present, fact(b)))
        yield rewrite(left, conv(x, w, fresh, window), conditions, absent)


@hosted(default=False)
def is_scale_below_shift(s: Fact, c: Fact, window: ConvWindow) -> bool:
    """c / s is known not to overflow, and c is not taken in by the Conv, which pads."""
    scales, shifts = known_elements(s), known_elements(c)
    if scales is None or shifts is None or not any(window.pads) or not is_scale(s):
        return False
    safe = all(abs(v) >= SMALLEST[s.dtype] for v in scales)
    return safe and max(map(abs, shifts)) <= LARGEST[s.dtype] * min(1.0, min(map(abs, scales)))


def _affine_examples(rng: np.random.Generator) -> Iterator[Example]:
    for k, (shape, weight, window) in enumerate(windows()):
        g = Operands(rng)
        x, w = g.input(shape), g.random(*weight)
        s, c = (per_channel(g, len(weight), shape[1])[j % 3] for j in (k, k + 1))
        y = conv(binary("Add", binary("Mul", x, s), c), w, none(), window)
        yield (
            g.fires(y)
            if any(window.pads)
            else g.near_miss(y, why="without padding the Conv takes in the shift")
        )
    g = Operands(rng)
    x, w, ring = g.input((1, 4, 5, 5)), g.random(6, 4, 3, 3), ConvWindow((1, 1), (1, 1, 1, 1), (1, 1))
    for s, why in (
        (g.constant(np.array([1, 0, 1, 2], np.float32).reshape(4, 1, 1)), "a scale of 0"),
        (g.constant(np.float32(1e-40)), "c / s is no number of the type"),
        (g.random(5), "it varies along the last axis"),
    ):
        yield g.near_miss(conv(binary("Add", binary("Mul", x, s), g.random(1)), w, none(), ring), why)


@law("convolution", numerics="reassociates", examples=_affine_examples)
def scale_below_shift(
    x: Tensor, s: Tensor, c: Tensor, w: Tensor, b: Tensor, window: PyObject,
    g: PyObject, d: PyObject, back: PyObject,
) -> Iterator[Any]:  # fmt: skip
    """Conv(x * s + c, W, b) = Conv(x + c / s, W * s, b) with padding

    Source: algebra; a scale is taken in from behind a shift that is not.
    """
    yield from chains()
    left = conv(binary("Add", binary("Mul", x, s), c), w, b, window)
    below = binary("Add", x, binary("Div", c, s))
    condition = (unchained("Mul", x), holds(is_scale_below_shift, fact(s), fact(c), window))
    for weight, asked in scaled_columns(x, w, s, window, d=d, g=g, back=back):
        yield rewrite(left, conv(below, weight, b, window), condition, asked)
