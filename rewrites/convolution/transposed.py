"""Constants around a ConvTranspose become part of its weight and bias, as around a Conv.

    s * ConvTranspose(x, W, b) = ConvTranspose(x, s * W, s * b)
    ConvTranspose(x, W, b) + c = ConvTranspose(x, W, b + c)
    ConvTranspose(x * s, W, b) = ConvTranspose(x, W * s, b)

A shift in front is none behind: how many elements of the kernel reach an element differs at the borders.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import PyObject, holds, let, rewrite
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import ConvWindow, binary, conv_transpose, literal, none, reshape
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact
from egraph_opt.rewrites.conditions.channels import (
    Dims,
    absent_bias,
    at_axis,
    count_in,
    count_out,
    is_float_constant,
    is_present,
    is_scale,
    per_channel,
    scale_of_bias,
    shift_of_bias,
    static_dims,
    static_shape,
)
from egraph_opt.rewrites.convolution.outputs import PLAIN, constants_behind


@hosted()
def grouped(w: Fact, window: ConvWindow) -> Dims | None:
    """The weight [C, M/g, ...] with its groups apart: [g, C/g, M/g, ...]."""
    shape = static_shape(w)
    return None if shape is None else (window.group, shape[0] // window.group, *shape[1:])


@hosted()
def scale_of_rows(w: Fact, c: Fact, window: ConvWindow) -> Dims | None:
    """The dims in which c, of the channels that come out, scales what `grouped` gives."""
    count, shape = count_out(w, c, window, 1), static_shape(w)
    if count is None or shape is None or not is_scale(c):
        return None
    ones = (1,) * (len(shape) - 2)
    return (1, 1, 1, *ones) if count == 1 else (window.group, 1, shape[1], *ones)


@hosted()
def scale_of_columns(x: Fact, w: Fact, c: Fact) -> Dims | None:
    """The dims in which c, of the channels that go in, scales the weight [C, M/g, ...]."""
    shape = static_shape(w)
    if not is_scale(c) or shape is None or not is_float_constant(w) or len(shape) < 3:
        return None
    count = count_in(x, c, len(shape), shape[0])
    return None if count is None else at_axis(count, len(shape), 0)


def _windows() -> Iterator[tuple[tuple[Any, ...], Dims, ConvWindow]]:
    """Shapes of x and W with windows; without groups, for which ONNX's reference is wrong."""
    yield ("N", 4, "L"), (4, 6, 3), ConvWindow((2,), (1, 0), (1,), 1, (1,))
    yield (1, 4, 5, 5), (4, 6, 2, 2), ConvWindow((2, 2), (0, 1, 0, 0), (1, 1))


def _grouped_windows() -> Iterator[tuple[tuple[Any, ...], Dims, ConvWindow]]:
    """The same and a depthwise one, of which ONNX's reference is right where there is no bias."""
    yield from _windows()
    yield (1, 6, 5, 5), (6, 1, 3, 3), ConvWindow((1, 1), (1, 1, 1, 1), (1, 1), 6)


_SCALED = constants_behind(conv_transpose, _grouped_windows, "Mul")
_SHIFTED = constants_behind(conv_transpose, _windows, "Add")


@law("convolution", numerics="reassociates", examples=_SCALED)
def scale_after_conv_transpose(
    x: Tensor, w: Tensor, b: Tensor, window: PyObject, c: Tensor,
    g: PyObject, d: PyObject, e: PyObject, back: PyObject,
) -> Iterator[Any]:  # fmt: skip
    """s * ConvTranspose(x, W, b) = ConvTranspose(x, s * W, s * b)

    Source: Ascend auto-optimizer, BNFolding.
    """
    weight = reshape(binary("Mul", reshape(w, g), reshape(c, d)), back)
    asked = (
        *let(d, scale_of_rows, fact(w), fact(c), window),
        *let(g, grouped, fact(w), window),
        *let(back, static_dims, fact(w)),
    )
    bare = binary("Mul", conv_transpose(x, w, none(), window), c)
    yield rewrite(bare, conv_transpose(x, weight, none(), window), asked)
    yield rewrite(
        binary("Mul", conv_transpose(x, w, b, window), c),
        conv_transpose(x, weight, binary("Mul", b, reshape(c, e)), window),
        asked,
        let(e, scale_of_bias, fact(w), fact(b), fact(c), window, PyObject(1)),
    )


@law("convolution", numerics="reassociates", examples=_SHIFTED)
def shift_after_conv_transpose(
    x: Tensor, w: Tensor, b: Tensor, window: PyObject, c: Tensor, d: PyObject, zeros: PyObject
) -> Iterator[Any]:
    """ConvTranspose(x, W, b) + c = ConvTranspose(x, W, b + c)

    Source: onnxoptimizer fuse_add_bias_into_conv.
    """
    left = binary("Add", conv_transpose(x, w, b, window), c)
    dims = let(d, shift_of_bias, fact(w), fact(b), fact(c), window, PyObject(1))
    absent = let(zeros, absent_bias, fact(w), fact(b), window, PyObject(1))
    more, first = binary("Add", b, reshape(c, d)), binary("Add", literal(zeros), reshape(c, d))
    yield rewrite(left, conv_transpose(x, w, more, window), dims, holds(is_present, fact(b)))
    yield rewrite(left, conv_transpose(x, w, first, window), dims, absent)


def _scale_before_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape, weight, window in _grouped_windows():
        g = Operands(rng)
        x, w = g.input(shape), g.random(*weight)
        for c in per_channel(g, len(weight), shape[1]):
            yield g.fires(conv_transpose(binary("Mul", x, c), w, none(), window))
    g = Operands(rng)
    x, w = g.input((1, 4, 3, 4)), g.random(4, 6, 1, 1)
    for scaled, why in (
        (binary("Mul", x, g.random(4)), "it varies along the last axis"),
        (binary("Add", x, g.random(1)), "it is a shift"),
        (binary("Mul", g.input((1, 1, 3, 3)), g.random(4, 1, 1)), "it makes x bigger"),
    ):
        yield g.near_miss(conv_transpose(scaled, w, none(), PLAIN), why)


@law("convolution", numerics="reassociates", examples=_scale_before_examples)
def scale_before_conv_transpose(
    x: Tensor, c: Tensor, w: Tensor, b: Tensor, window: PyObject, d: PyObject
) -> Iterator[Any]:
    """ConvTranspose(x * s, W, b) = ConvTranspose(x, W * s, b)

    Source: algebra.
    """
    yield rewrite(
        conv_transpose(binary("Mul", x, c), w, b, window),
        conv_transpose(x, binary("Mul", w, reshape(c, d)), b, window),
        let(d, scale_of_columns, fact(x), fact(w), fact(c)),
    )
