"""Constants around a ConvTranspose become part of its weight and bias, as around a Conv.

s * ConvTranspose(x, W, b) = ConvTranspose(x, s * W, s * b)
ConvTranspose(x, W, b) + c = ConvTranspose(x, W, b + c)
ConvTranspose(x * s, W, b) = ConvTranspose(x, W * s, b)

A shift in front is none behind: how many elements of the kernel reach an element differs at the borders.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, equal, hosted, laws_of
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Dims, Tensor
from egraph_opt.operators import ConvWindow, conv_transpose, reshape
from egraph_opt.rewrites.conditions.channels import (
    at_axis,
    chains,
    count_in,
    count_out,
    is_float_constant,
    may_scale,
    static_dims,
    static_shape,
    unchained,
)
from egraph_opt.rewrites.convolution.outputs import constants_behind, scaled_biases, shifted_biases


@hosted()
def groups_apart(w: Fact, window: ConvWindow) -> Dims | None:
    """The weight [C, M/g, ...] with its groups apart: [g, C/g, M/g, ...]."""
    shape = static_shape(w)
    return None if shape is None else (window.group, shape[0] // window.group, *shape[1:])


@hosted()
def scale_of_groups(w: Fact, c: Fact, window: ConvWindow) -> Dims | None:
    """The dims in which c, of the channels that come out, scales what `groups_apart` gives."""
    count, shape = count_out(w, c, window, 1), static_shape(w)
    if count is None or shape is None or not may_scale(c, w):
        return None
    ones = (1,) * (len(shape) - 2)
    return (1, 1, 1, *ones) if count == 1 else (window.group, 1, shape[1], *ones)


@hosted()
def scale_of_columns(x: Fact, w: Fact, c: Fact) -> Dims | None:
    """The dims in which c, of the channels that go in, scales the weight [C, M/g, ...]."""
    shape = static_shape(w)
    if not may_scale(c, w) or shape is None or not is_float_constant(w) or len(shape) < 3:
        return None
    count = count_in(x, c, len(shape), shape[0])
    return None if count is None else at_axis(count, len(shape), 0)


def _windows(grouped: bool = False) -> Iterator[tuple[tuple[Any, ...], tuple[int, ...], ConvWindow]]:
    """Shapes of x and W with windows; ONNX's reference is wrong about groups where there is a bias."""
    yield ("N", 4, "L"), (4, 6, 3), ConvWindow((2,), (1, 0), (1,), 1, (1,))
    yield (1, 4, 5, 5), (4, 6, 2, 2), ConvWindow((2, 2), (0, 1, 0, 0), (1, 1))
    if grouped:
        yield (1, 6, 5, 5), (6, 1, 3, 3), ConvWindow((1, 1), (1, 1, 1, 1), (1, 1), 6)


law = laws_of("convolution", numerics="reassociates", kind="fuse")
scales = constants_behind(conv_transpose, lambda: _windows(grouped=True), "Mul")
shifts = constants_behind(conv_transpose, _windows, "Add")


@law(source="Ascend auto-optimizer, BNFolding", examples=scales)
def scale_after_conv_transpose(x: Tensor, w: Tensor, b: Tensor, window: ConvWindow, c: Tensor):
    """s * ConvTranspose(x, W, b) = ConvTranspose(x, s * W, s * b)"""
    rows = reshape(w, groups_apart(w, window)) * reshape(c, scale_of_groups(w, c, window))
    weight = reshape(rows, static_dims(w))
    for bias, scaled in scaled_biases(w, b, c, window, 1):
        yield equal(conv_transpose(x, w, bias, window) * c, conv_transpose(x, weight, scaled, window))


@law(source="onnxoptimizer fuse_add_bias_into_conv", examples=shifts)
def shift_after_conv_transpose(x: Tensor, w: Tensor, b: Tensor, window: ConvWindow, c: Tensor):
    """ConvTranspose(x, W, b) + c = ConvTranspose(x, W, b + c)"""
    for bias, shifted in shifted_biases(w, b, c, window, 1):
        yield equal(conv_transpose(x, w, bias, window) + c, conv_transpose(x, w, shifted, window))


def _overflowing(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w = (g.constant(np.full(dims, n)) for dims, n in (((1, 4, 3), 1e20), ((4, 6, 3), 1e-15)))
    s, line = g.constant(1e20), ConvWindow((1,), (0, 0), (1,))
    for term in (
        conv_transpose(x * s, w, g.input((6,)), line),
        conv_transpose(x, w * reshape(s, (1, 1, 1)), g.input((6,)), line),
    ):
        yield g.near_miss(term, why="a constant that is scaled overflows")


@law(uses=(chains,), examples=_overflowing)
def scale_before_conv_transpose(x: Tensor, c: Tensor, w: Tensor, b: Tensor, window: ConvWindow):
    """ConvTranspose(x * s, W, b) = ConvTranspose(x, W * s, b)"""
    weight = w * reshape(c, scale_of_columns(x, w, c))
    left = conv_transpose(x * c, w, b, window)
    yield equal(left, conv_transpose(x, weight, b, window), varies(x), unchained("Mul", x))
