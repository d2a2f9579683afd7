"""Constants in front of a Conv become part of its weight and bias.

Conv(x * s, W, b) = Conv(x, W * s, b)
Conv(x + c, W, b) = Conv(x, W, b + sum(W * c))      without padding
Conv(x * s + c, W, b) = Conv(x + c / s, W * s, b)   with padding, where c / s is known

Scales and shifts have one number, or one number per channel.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, equal, guard, hosted, laws_of
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.law import Examples
from egraph_opt.laws.sorts import Dims, Tensor
from egraph_opt.operators import ConvWindow, conv, none, reduce, reshape
from egraph_opt.rewrites.conditions.channels import (
    LARGEST,
    SMALLEST,
    at_axis,
    axes_of_a_row,
    chains,
    count_in,
    has_number_for_each,
    is_float_constant,
    is_no_computed_bias,
    is_scale,
    is_shift,
    known_elements,
    may_scale,
    may_sum_beside,
    per_channel,
    static_dims,
    static_shape,
    unchained,
)
from egraph_opt.rewrites.conditions.operands import total, totals
from egraph_opt.rewrites.convolution.outputs import PLAIN, windows

law = laws_of("convolution", numerics="reassociates", kind="fuse")


def _count(x: Fact, w: Fact, c: Fact, window: ConvWindow) -> int | None:
    """How many numbers a constant in front of a Conv has: one, or one per channel that goes in."""
    shape = static_shape(w)
    if shape is None or not is_float_constant(w) or len(shape) < 3:
        return None
    return count_in(x, c, len(shape), shape[1] * window.group)


@hosted()
def of_columns(x: Fact, w: Fact, c: Fact, window: ConvWindow) -> Dims | None:
    """The dims in which c, of the channels that go in, scales the weight [M, C/g, ...] as it is."""
    count = _count(x, w, c, window)
    if count is None or (count > 1 and window.group > 1):
        return None
    return at_axis(count, len(w.shape or ()), 1)


@hosted()
def of_grouped_columns(x: Fact, w: Fact, c: Fact, window: ConvWindow) -> Dims | None:
    """The dims in which c, one number per channel, scales the weight with its groups apart."""
    count, shape = _count(x, w, c, window), static_shape(w)
    if count is None or shape is None or count == 1 or window.group == 1:
        return None
    return (window.group, 1, shape[1], *((1,) * (len(shape) - 2)))


@hosted()
def inputs_apart(w: Fact, window: ConvWindow) -> Dims | None:
    """The weight [M, C/g, ...] with its groups apart: [g, M/g, C/g, ...]."""
    shape = static_shape(w)
    return None if shape is None else (window.group, shape[0] // window.group, *shape[1:])


def scaled_columns(x: Any, w: Any, c: Any, window: Any) -> Iterator[Any]:
    """The weight times c by channels that go in: as it is, or with its groups apart."""
    yield w * reshape(c, of_columns(x, w, c, window))
    product = reshape(w, inputs_apart(w, window)) * reshape(c, of_grouped_columns(x, w, c, window))
    yield reshape(product, static_dims(w))


@hosted()
def shifts(c: Fact, window: ConvWindow) -> bool:
    """A shift in front of a Conv is one behind it: no padding is shifted."""
    return is_shift(c) and not any(window.pads)


@hosted()
def is_scale_below_shift(s: Fact, c: Fact, window: ConvWindow) -> bool:
    """c / s is known not to overflow, and c is not taken in by the Conv, which pads."""
    scales, shifts = known_elements(s), known_elements(c)
    if not scales or not shifts or not any(window.pads) or not is_scale(s):
        return False
    safe = all(abs(v) >= SMALLEST[s.dtype] for v in scales)
    return safe and max(map(abs, shifts)) <= LARGEST[s.dtype] * min(1.0, min(map(abs, scales)))


Case = tuple[Any, Any, str]


def _examples(build: Any, pads: int | None, cases: Callable[[Operands, Any], Iterator[Case]]) -> Any:
    """Examples of Conv(build(x, constants, k), W, b) in every window, and near-misses of an x and a constant.

    Args:
        pads: in the place of the windows' own.
    """

    def padded(window: ConvWindow) -> ConvWindow:
        return window if pads is None else replace(window, pads=(pads,) * len(window.pads))

    def examples(rng: np.random.Generator) -> Iterator[Example]:
        for k, (shape, weight, window) in enumerate(windows()):
            g = Operands(rng)
            x, constants = g.input(shape), per_channel(g, len(weight), shape[1])
            for bias in (none(), g.random(6)):
                yield g.fires(conv(build(x, constants, k), g.random(*weight), bias, padded(window)))
        g = Operands(rng)
        for x, c, why in cases(g, g.input((1, 4, 3, 4))):
            bias = g.input((6,)) if "bias" in why else none()
            yield g.near_miss(conv(build(x, [c, c], 0), g.random(6, 4, 1, 1), bias, padded(PLAIN)), why)

    return examples


def _all_of(*several: Examples) -> Examples:
    """The examples of several generators."""

    def examples(rng: np.random.Generator) -> Iterator[Example]:
        return itertools.chain.from_iterable(each(rng) for each in several)

    return examples


def _in_rings(build: Callable[[Any, Any], Any], number: float, why: str) -> Examples:
    """Near-misses: a constant that is a number here and there, in front of a Conv that pads."""

    def examples(rng: np.random.Generator) -> Iterator[Example]:
        g = Operands(rng)
        c = g.constant(np.reshape([number, 1.0, number, 3.0], (4, 1, 1)))
        for groups in (1, 2):
            ring = replace(PLAIN, pads=(1, 1, 1, 1), group=groups)
            weight = g.random(6, 4 // groups, 1, 1)
            yield g.near_miss(conv(build(g.input((1, 4, 3, 4)), c), weight, none(), ring), why)

    return examples


def _foreign(g: Operands, x: Any) -> Iterator[Case]:
    yield x, g.random(4), "it varies along the last axis"
    yield g.input((1, 1, 3, 3)), g.random(4, 1, 1), "it makes x bigger"
    yield g.input((4, 3, 4)), g.random(1, 4, 1, 1), "it adds an axis"


def _foreign_shift(g: Operands, x: Any) -> Iterator[Case]:
    yield from _foreign(g, x)
    yield x, g.random(4, 1, 1), "the bias is no constant"


def _foreign_scale(g: Operands, x: Any) -> Iterator[Case]:
    yield x, g.constant(np.array([1, 0, 1, 2], np.float32).reshape(4, 1, 1)), "a scale of 0"
    yield x, g.constant(np.float32(1e-40)), "c / s is no number of the type"
    yield x, g.random(5, 1, 1, 1), "it makes x bigger"


def _overflowing_scale(rng: np.random.Generator) -> Iterator[Example]:
    g, ring = Operands(rng), replace(PLAIN, pads=(1, 1, 1, 1))
    scaled = g.input((1, 4, 3, 4)) * g.constant(np.full((4, 1, 1), 1e20)) + g.constant(1e10)
    for groups in (1, 2):
        w = g.constant(np.full((6, 4 // groups, 1, 1), 1e20))
        term = conv(scaled, w, none(), replace(ring, group=groups))
        yield g.near_miss(term, why="the scaled weight overflows")


def _foreign_biases(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    for groups in (1, 2):
        x, c = g.input((1, groups, 3, 4)), g.constant(np.full((groups, 1, 1), 2.0))
        w, window = g.constant(np.full((2, 1, 1, 1), 3e38)), replace(PLAIN, group=groups)
        yield g.near_miss(conv(x + c, w, none(), window), why="what is added to the bias overflows")
        kernel = g.random(2, 1, 1, 1)
        if groups == 1:
            scaled = kernel * reshape(c, (1, 1, 1, 1))
        else:
            scaled = reshape(reshape(kernel, (2, 1, 1, 1, 1)) * reshape(c, (2, 1, 1, 1, 1)), (2, 1, 1, 1))
        bias = g.random(1) + reduce("ReduceSum", scaled, (1, 2, 3), 0)
        yield g.near_miss(conv(x, kernel, bias, window), why="one number is added to all sums")
        far, half = g.constant(np.full(2, 2e38)), g.constant(np.full((2, 1, 1, 1), 1e38))
        yield g.near_miss(conv(x + c, half, far, window), why="the sum of the biases is infinite")


@law(
    source="Ascend auto-optimizer, BNFolding",
    uses=(chains,),
    examples=_all_of(
        _examples(lambda x, c, k: x * c[k % 3], None, _foreign),
        _in_rings(lambda x, c: x * c, np.inf, "pads are no infinity times 0"),
    ),
)
def scale_before_conv(x: Tensor, c: Tensor, w: Tensor, b: Tensor, window: ConvWindow):
    """Conv(x * s, W, b) = Conv(x, W * s, b), since padding stays 0 when it is scaled"""
    left = conv(x * c, w, b, window)
    once = guard(varies(x)), unchained("Mul", x)  # of zeros x * c is x, and may be scaled again
    for weight in scaled_columns(x, w, c, window):
        yield equal(left, conv(x, weight, b, window), may_scale(c, w), *once)


@law(
    uses=(chains, totals),
    examples=_all_of(
        _examples(lambda x, c, k: x + c[k % 3], 0, _foreign_shift),
        _in_rings(lambda x, c: x + c, 2.0, "pads are not shifted"),
        _foreign_biases,
    ),
)
def shift_before_conv(x: Tensor, c: Tensor, w: Tensor, b: Tensor, window: ConvWindow):
    """Conv(x + c, W, b) = Conv(x, W, b + sum(W * c)) without padding"""
    row = axes_of_a_row(w)
    fits = (shifts(c, window), may_sum_beside(c, w, row, b), has_number_for_each(b, w))
    known = (*fits, guard(is_no_computed_bias(b, w)), unchained("Add", x))
    for weight in scaled_columns(x, w, c, window):
        bias = total(b, reduce("ReduceSum", weight, row, 0))
        yield equal(conv(x + c, w, b, window), conv(x, w, bias, window), *known)


@law(
    kind="move",
    uses=(chains,),
    examples=_all_of(
        _examples(lambda x, c, k: x * c[k % 3] + c[(k + 1) % 3], 1, _foreign_scale),
        _in_rings(lambda x, c: x * c + c, 0.0, "a scale of 0"),
        _overflowing_scale,
    ),
)
def scale_below_shift(x: Tensor, s: Tensor, c: Tensor, w: Tensor, b: Tensor, window: ConvWindow):
    """Conv(x * s + c, W, b) = Conv(x + c / s, W * s, b) with padding

    A scale is taken in from behind a shift that is not.
    """
    known = (is_scale_below_shift(s, c, window), may_scale(s, w), unchained("Mul", x))
    for weight in scaled_columns(x, w, s, window):
        yield equal(conv(x * s + c, w, b, window), conv(x + c / s, weight, b, window), known)
