"""A convolution of each channel by itself is a mean, or a scale, where its kernel is no more.

Conv(x, 1/K, b) -> AveragePool(x) + b       pads counted
Conv(x, w, b) -> x * w + b                  for a kernel of 1
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx.helper import tensor_dtype_to_np_dtype

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, law, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Dims, Tensor
from egraph_opt.operators import ConvWindow, conv, none, pool, reshape
from egraph_opt.operators.windows import PoolWindow
from egraph_opt.rewrites.conditions.channels import (
    channel_dims,
    is_constant_bias,
    is_float_constant,
    static_shape,
)


@hosted()
def averaging(w: Fact, window: ConvWindow) -> PoolWindow | None:
    """The window of a mean, where a convolution takes one; None for one that pads a whole kernel."""
    shape = static_shape(w)
    if shape is None or w.splat is None or shape[1] != 1 or shape[0] != window.group:
        return None
    kernel, count = shape[2:], math.prod(shape[2:])
    rounded = float(np.asarray(1 / count, tensor_dtype_to_np_dtype(w.dtype)))
    if count == 1 or w.splat != rounded or any(d != 1 for d in window.dilations):
        return None
    if not all(0 <= p < k for p, k in zip(window.pads, kernel * 2, strict=True)):
        return None
    return PoolWindow(kernel, window.strides, window.pads, window.dilations, 0, 1)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)

    def averaged(*kernel: int, groups: int = 4, rows: int = 4, value: float = 0.0, **how: Any) -> Any:
        axes = len(kernel)
        window = {"strides": (1,) * axes, "pads": (0,) * (2 * axes), "dilations": (1,) * axes, **how}
        w = g.constant(np.full((rows, 4 // groups, *kernel), value or 1 / math.prod(kernel), np.float32))
        x = g.input(("N", 4, 6, "L")[: axes + 2])
        bias = g.random(rows) if len(kernel) == 1 else none()
        return conv(x, w, bias, ConvWindow(**window, group=groups))

    yield from g.all_fire(
        averaged(3, 3),
        averaged(3, 3, pads=(1, 1, 1, 1)),
        averaged(2, 3, strides=(2, 1), pads=(1, 0, 0, 2)),
        averaged(4),
    )
    yield from g.near_misses(
        (averaged(3, 3, value=0.1), "a ninth is less"),
        (averaged(3, 3, groups=2), "sums of channels"),
        (averaged(3, 3, rows=8), "each channel twice"),
        (averaged(3, 3, dilations=(2, 1)), "pixels are left out"),
        (averaged(2, 2, pads=(2, 0, 0, 0)), "windows of padding alone"),
    )


@law("pooling", numerics="reassociates", kind="move", serves="arithmetic", examples=_examples)
def mean_of_each_channel(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x, W, b) = AveragePool(x) + b where W is 1/K throughout and each channel a group"""
    mean = pool("AveragePool", x, averaging(w, u))
    yield rewrite(conv(x, w, none(), u), mean, because="the weight is forgotten")
    shifted, known = mean + reshape(b, channel_dims(x, b)), guard(is_constant_bias(b, w))
    yield rewrite(conv(x, w, b, u), shifted, known, because="the weight is forgotten")


# --- a kernel of one element ----------------------------------------------------------------------------


@hosted()
def scale_of_channels(x: Fact, w: Fact, window: ConvWindow) -> Dims | None:
    """The dims in which the weight scales x; None where it sees more, or makes other channels."""
    shape = static_shape(w)
    if shape is None or x.shape is None or len(x.shape) != len(shape) or not is_float_constant(w):
        return None
    if shape[0] != window.group or any(k != 1 for k in (*shape[1:], *window.strides)) or any(window.pads):
        return None
    return (shape[0], *shape[2:])


def _scale_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, row, w = g.input(("N", 4, 3, "L")), g.input((2, 4, "L")), g.random(4, 1, 1, 1)
    each = ConvWindow((1, 1), (0,) * 4, (1, 1), 4)
    yield from g.all_fire(
        conv(x, w, none(), each),
        conv(x, w, g.random(4), each),
        conv(row, g.random(4, 1, 1), g.random(4), ConvWindow((1,), (0, 0), (2,), 4)),
    )
    yield from g.near_misses(
        (conv(x, g.random(4, 1, 2, 1), none(), each), "it sees neighbours"),
        (conv(x, g.random(8, 1, 1, 1), none(), each), "each channel twice"),
        (conv(x, w, none(), ConvWindow((2, 1), (0,) * 4, (1, 1), 4)), "it strides"),
        (conv(x, w, g.random(4), ConvWindow((1, 1), (1, 0, 0, 0), (1, 1), 4)), "it pads"),
        (conv(x, g.input((4, 1, 1, 1)), none(), each), "the weight is no constant"),
    )


@law(
    "pooling",
    numerics="reassociates",
    kind="replace",
    serves="arithmetic",
    last=True,
    resumes=True,
    examples=_scale_examples,
)
def scale_of_each_channel(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x, w, b) = x * w + b where each channel is a group and the kernel one element"""
    scaled, once = x * reshape(w, scale_of_channels(x, w, u)), guard(varies(x))
    yield rewrite(conv(x, w, none(), u), scaled, once, because="the weight is forgotten")
    shifted, known = scaled + reshape(b, channel_dims(x, b)), guard(is_constant_bias(b, w))
    yield rewrite(conv(x, w, b, u), shifted, once, known, because="the weight is forgotten")
