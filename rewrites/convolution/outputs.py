"""Constants behind a Conv become part of its weight and bias.

    s * Conv(x, W, b) = Conv(x, s * W, s * b)
    Conv(x, W, b) + c = Conv(x, W, b + c)

Scales and shifts have one number, or one number per channel.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import PyObject, holds, let, rewrite
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import ConvWindow, binary, conv, literal, none, reshape
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact
from egraph_opt.rewrites.conditions.channels import (
    Dims,
    absent_bias,
    at_axis,
    chains,
    count_out,
    is_present,
    is_scale,
    per_channel,
    scale_of_bias,
    shift_of_bias,
    unchained,
)

PLAIN = ConvWindow((1, 1), (0, 0, 0, 0), (1, 1))


@hosted()
def scale_of_rows(w: Fact, c: Fact, window: ConvWindow) -> Dims | None:
    """The dims in which c, of the channels that come out, scales the weight."""
    count = count_out(w, c, window, 0) if is_scale(c) else None
    return None if count is None else at_axis(count, len(w.shape or ()), 0)


def windows() -> Iterator[tuple[tuple[Any, ...], Dims, ConvWindow]]:
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
        y = make(x, w, b, PLAIN)
        for c, why in (
            (g.random(6), "it varies along the last axis"),
            (g.random(1, 6, 4, 1), "it varies along an image"),
            (g.random(2, 6, 1, 1), "it makes the batch bigger"),
            (g.random(1, 1, 1, 1, 1), "it adds an axis"),
            (g.input((6, 1, 1)), "it is no constant"),
        ):
            yield g.near_miss(binary(op, y, c), why)
        computed = make(x, w, g.input((6,)), PLAIN)
        yield g.near_miss(binary(op, computed, g.random(1)), why="the bias is no constant")
        yield g.near_miss(binary("Pow", y, g.random(1)), why="it is neither a scale nor a shift")
        neutral = g.constant(np.float32(op == "Mul"))
        yield g.near_miss(binary(op, y, neutral), why="it changes nothing")
        yield g.near_miss(binary(op, y, g.constant(np.float32(np.inf))), why="it is infinite")
        one = make(x, g.random(*((6, 1) if make is not conv else (1, 6)), 1, 1), none(), PLAIN)
        yield g.near_miss(binary(op, one, g.random(6, 1, 1)), why="one channel becomes six")

    return examples


@law("convolution", numerics="reassociates", examples=constants_behind(conv, windows, "Mul"))
def scale_after_conv(
    x: Tensor, w: Tensor, b: Tensor, window: PyObject, c: Tensor, d: PyObject, e: PyObject
) -> Iterator[Any]:
    """s * Conv(x, W, b) = Conv(x, s * W, s * b)

    Source: Ascend auto-optimizer, BNFolding; onnxruntime ConvMulFusion.
    """
    yield from chains()
    weight = binary("Mul", w, reshape(c, d))
    yield rewrite(
        binary("Mul", conv(x, w, none(), window), c),
        conv(x, weight, none(), window),
        unchained("Mul", conv(x, w, none(), window)),
        let(d, scale_of_rows, fact(w), fact(c), window),
    )
    yield rewrite(
        binary("Mul", conv(x, w, b, window), c),
        conv(x, weight, binary("Mul", b, reshape(c, e)), window),
        unchained("Mul", conv(x, w, b, window)),
        let(d, scale_of_rows, fact(w), fact(c), window),
        let(e, scale_of_bias, fact(w), fact(b), fact(c), window, PyObject(0)),
    )


@law("convolution", numerics="reassociates", examples=constants_behind(conv, windows, "Add"))
def shift_after_conv(
    x: Tensor, w: Tensor, b: Tensor, window: PyObject, c: Tensor, d: PyObject, zeros: PyObject
) -> Iterator[Any]:
    """Conv(x, W, b) + c = Conv(x, W, b + c)

    Source: onnxoptimizer fuse_add_bias_into_conv; onnxruntime ConvAddFusion.
    """
    yield from chains()
    left = binary("Add", conv(x, w, b, window), c)
    dims = (
        unchained("Add", conv(x, w, b, window)),
        *let(d, shift_of_bias, fact(w), fact(b), fact(c), window, PyObject(0)),
    )
    absent = let(zeros, absent_bias, fact(w), fact(b), window, PyObject(0))
    yield rewrite(left, conv(x, w, binary("Add", b, reshape(c, d)), window), dims, holds(is_present, fact(b)))
    yield rewrite(left, conv(x, w, binary("Add", literal(zeros), reshape(c, d)), window), dims, absent)
