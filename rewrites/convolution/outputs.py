"""Constants behind a Conv or ConvTranspose become part of its weight and bias.

s * Conv(x, W, b) = Conv(x, s * W, s * b)
Conv(x, W, b) + c = Conv(x, W, b + c)

Scales and shifts have one number, or one number per channel.  `transposed` has ConvTranspose.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, equal, hosted, laws_of
from egraph_opt.laws.sorts import Dims, Tensor
from egraph_opt.operators import ConvWindow, binary, conv, literal, none, reshape
from egraph_opt.rewrites.conditions.channels import (
    absent_bias,
    at_axis,
    chains,
    count_out,
    may_scale,
    per_channel,
    scale_of_bias,
    shift_of_bias,
    shift_of_zeros,
    unchained,
)

law = laws_of("convolution", numerics="reassociates", kind="fuse")

PLAIN = ConvWindow((1, 1), (0, 0, 0, 0), (1, 1))


@hosted()
def scale_of_rows(w: Fact, c: Fact, window: ConvWindow) -> Dims | None:
    """The dims in which c, of the channels that come out, scales the weight."""
    count = count_out(w, c, window, 0) if may_scale(c, w) else None
    return None if count is None else at_axis(count, len(w.shape or ()), 0)


def scaled_biases(w: Any, b: Any, c: Any, window: Any, transposed: int) -> Iterator[tuple[Any, Any]]:
    """A bias, present or not, and what becomes of it behind a scale."""
    yield none(), none()
    yield b, b * reshape(c, scale_of_bias(w, b, c, window, transposed))


def shifted_biases(w: Any, b: Any, c: Any, window: Any, transposed: int) -> Iterator[tuple[Any, Any]]:
    """A bias, present or not, and what becomes of it behind a shift."""
    zeros = literal(absent_bias(w, window, transposed))
    yield none(), zeros + reshape(c, shift_of_zeros(w, c, window, transposed))
    yield b, b + reshape(c, shift_of_bias(w, b, c, window, transposed))


def windows() -> Iterator[tuple[tuple[Any, ...], tuple[int, ...], ConvWindow]]:
    """Shapes of x and W with windows: ranks 3 to 5, groups, strides, pads, dilations; 6 channels come out."""
    yield ("N", 4, "L"), (6, 4, 3), ConvWindow((2,), (1, 0), (1,))
    yield (1, 4, 7, 7), (6, 4, 3, 3), ConvWindow((1, 1), (1, 1, 1, 1), (2, 2))
    yield (2, 4, 6, 6), (6, 2, 1, 3), ConvWindow((1, 2), (0, 1, 0, 1), (1, 1), 2)
    yield (1, 6, 5, 5), (6, 1, 3, 3), ConvWindow((1, 1), (0, 0, 0, 0), (1, 1), 6)
    yield (1, 2, 4, 4, 4), (6, 2, 2, 2, 2), ConvWindow((1, 1, 1), (0,) * 6, (1, 1, 1))


def constants_behind(make: Any, windows: Any, op: str) -> Any:
    """Examples of `op(make(x, W, b), c)` for Conv or ConvTranspose."""

    def examples(rng: np.random.Generator) -> Iterator[Example]:
        for shape, weight, window in windows():
            g = Operands(rng)
            x, w = g.input(shape), g.random(*weight)
            for k, c in enumerate(per_channel(g, len(weight), 6)):
                bias = none() if k == 0 or window.group > 1 else g.random(6)
                yield g.fires(binary(op, make(x, w, bias, window), c))
        g = Operands(rng)
        x, w, b = g.input((1, 6, 4, 6)), g.random(6, 6, 1, 1), g.random(6)
        for bias, c, why in (
            (b, g.random(6), "it varies along the last axis"),
            (b, g.random(2, 6, 1, 1), "it makes the batch bigger"),
            (b, g.input((6, 1, 1)), "it is no constant"),
            (b, g.constant(np.float32(op == "Mul")), "it changes nothing"),
            (b, g.constant(np.float32(np.inf)), "it is infinite"),
            (g.input((6,)), g.random(1), "the bias is no constant"),
        ):
            yield g.near_miss(binary(op, make(x, w, bias, PLAIN), c), why)
        if op == "Add":
            far, opposite = g.constant(np.full(6, 2e38)), g.constant(np.full((6, 6, 1, 1), -3e37))
            overflowing = make(x, opposite, far, PLAIN) + g.constant(2e38)
            yield g.near_miss(overflowing, why="the sum of the biases is infinite")

    return examples


@law(
    source="Ascend auto-optimizer, BNFolding; onnxruntime ConvMulFusion",
    uses=(chains,),
    examples=constants_behind(conv, windows, "Mul"),
)
def scale_after_conv(x: Tensor, w: Tensor, b: Tensor, window: ConvWindow, c: Tensor):
    """s * Conv(x, W, b) = Conv(x, s * W, s * b)"""
    weight = w * reshape(c, scale_of_rows(w, c, window))
    for bias, scaled in scaled_biases(w, b, c, window, 0):
        y = conv(x, w, bias, window)
        yield equal(y * c, conv(x, weight, scaled, window), unchained("Mul", y))


@law(
    source="onnxoptimizer fuse_add_bias_into_conv; onnxruntime ConvAddFusion",
    uses=(chains,),
    examples=constants_behind(conv, windows, "Add"),
)
def shift_after_conv(x: Tensor, w: Tensor, b: Tensor, window: ConvWindow, c: Tensor):
    """Conv(x, W, b) + c = Conv(x, W, b + c)"""
    for bias, shifted in shifted_biases(w, b, c, window, 0):
        y = conv(x, w, bias, window)
        yield equal(y + c, conv(x, w, shifted, window), unchained("Add", y))
