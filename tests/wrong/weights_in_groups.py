"""Weights of groups, which are of other channels, or begin elsewhere."""

from functools import partial
from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Dims, Float, Sizes, Slices, Tensor, hosted, rewrite
from egraph_opt.operators import (
    ConvWindow,
    Literal,
    batchnorm,
    conv,
    conv_transpose,
    gather,
    literal,
    none,
    output,
    reshape,
    slice_,
    split,
)

from . import fires_on, wrong
from .channels_in_groups import moderate, walk

of_few_digits = partial(moderate, least=1e-3, most=10.0)
"""Constants of ordinary size."""


@hosted()
def beside_weights(w: Fact, s: Fact, v: Fact, u: ConvWindow) -> Dims | None:
    """What is of each channel as it is beside weights: along their second axis, or the first in groups."""
    if w.shape is None or s.shape is None or len(w.shape) != 4 or any(u.pads) or not of_few_digits(w, s, v):
        return None
    (n,) = s.shape
    if u.group == 1:
        return (1, n, 1, 1)
    return (n, 1, 1, 1) if w.shape[0] == n else None


@hosted()
def factors_of(s: Fact, v: Fact, e: Float) -> Literal | None:
    """Scales over deviations, of which all are above 0."""
    if not of_few_digits(s, v) or v.shape is None or s.shape != v.shape or e > 1:
        return None
    dims: Any = s.shape
    scales, squares = (np.resize(np.array(c.data if c.splat is None else c.splat), dims) for c in (s, v))
    if (squares <= 0).any():
        return None
    return Literal(T.FLOAT, s.shape, tuple(map(float, scales / np.sqrt(squares + e))))  # type: ignore[arg-type]


def normed_before(c: int, group: int):
    def make(g):
        params = (np.linspace(0.5, 2.0, c), np.zeros(c), np.zeros(c), np.linspace(1.0, 3.0, c))
        x = batchnorm(g.input((1, c, 4, 4)), *map(g.constant, params), 1e-3)
        return conv(x, g.random(c, c // group, 2, 2), none(), ConvWindow((1, 1), (0,) * 4, (1, 1), group))

    return make


@hosted()
def are_zeros(b: Fact, m: Fact) -> bool:
    return b.splat == 0 and m.splat == 0


@wrong(
    "reassociates",
    normed_before(4, 2),
    values=(0.5, -0.5, 1.0, -1.0, 2.0),
    examples=fires_on(normed_before(3, 1), normed_before(3, 3), normed_before(2, 1)),
)
def norm_into_next_weights(
    x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, e: Float, w: Tensor, u: ConvWindow
):
    """Conv(BatchNormalization(x), W) = Conv(x, W * scales) where no channel is shifted

    Wrong in groups of several channels.
    """
    scaled = w * reshape(literal(factors_of(s, v, e)), beside_weights(w, s, v, u))
    yield rewrite(
        conv(batchnorm(x, s, b, m, v, e), w, none(), u),
        conv(x, scaled, none(), u),
        are_zeros(b, m),
        because="folded",
    )


@hosted()
def first_half(n: Sizes, w: Fact, k: int) -> Slices | None:
    if len(n) != 2 or n[0] != n[1] or w.shape is None or w.shape[0] != 2 * n[0] or not n[0]:
        return None
    return ((0, k * n[0], (k + 1) * n[0], 1),)


def sum_of_halves(group: int, m: int = 4):
    def make(g):
        w = g.random(m, 4 // group, 2, 2)
        y = conv(g.input((1, 4, 4, 4)), w, none(), ConvWindow((1, 1), (0,) * 4, (1, 1), group))
        b = split(y, 1, (m // 2, m // 2))
        return output(b, 0) + output(b, 1)

    return make


@wrong("reassociates", sum_of_halves(2), examples=fires_on(sum_of_halves(1), sum_of_halves(1, 2)))
def halves_of_conv_are_added(x: Tensor, w: Tensor, u: ConvWindow, n: Sizes):
    """Split(Conv(x, W))[0] + Split(Conv(x, W))[1] = Conv(x, W[:m] + W[m:])

    Wrong in groups, which are of other channels.
    """
    b = split(conv(x, w, none(), u), 1, n)
    both = slice_(w, first_half(n, w, 0)) + slice_(w, first_half(n, w, 1))
    yield rewrite(output(b, 0) + output(b, 1), conv(x, both, none(), u), because="one half")


def numbers(c: Fact) -> tuple[float, ...] | None:
    """The elements of a small float32 constant, none of which is large."""
    if c.dtype != T.FLOAT or not c.is_static or not c.const:
        return None
    found = c.data if c.splat is None else (c.splat,) * int(np.prod(c.shape))  # type: ignore[arg-type]
    return None if found is None or any(abs(v) > 100 for v in found) else found  # type: ignore[arg-type, return-value]


@hosted()
def read_channels(w: Fact) -> Literal | None:
    """Channels of which a weight is not 0, where there are others."""
    found = numbers(w)
    if found is None or w.shape is None or len(w.shape) < 3:
        return None
    rows = np.abs(np.array(found).reshape(w.shape)).sum(axis=(0, *range(2, len(w.shape))))  # type: ignore[arg-type]
    read = tuple(int(k) for k in np.flatnonzero(rows))
    return Literal(T.INT64, (len(read),), read) if 0 < len(read) < len(rows) else None


def unread(*read: int, c: int = 3, group: int = 1):
    def make(g):
        w = np.zeros((2, c, 2, 2))
        for k in read:
            w[:, k] = k + 1.0
        w[1] *= 0.5
        return conv(g.input((1, c * group, 4, 4)), g.constant(w), none(), walk(group=group))

    return make


@hosted()
def channels_of_x(w: Fact, u: ConvWindow) -> Literal | None:
    """Where those are in x: group by group."""
    read, groups = read_channels.function(w), range(u.group)
    if read is None or w.shape is None:
        return None
    places = tuple(k + j * len(read.values) for j in groups for k in read.values)
    return Literal(T.INT64, (len(places),), places)


@wrong(
    "reassociates", unread(0, c=3, group=2), examples=fires_on(unread(0, 2), unread(1), unread(0, 1, c=2 + 1))
)
def channels_that_are_read(x: Tensor, w: Tensor, u: ConvWindow):
    """Conv(x, W) = Conv(x[read], W[read]) without channels that have weights of 0

    Wrong in groups, which begin where those begin that x has.
    """
    fewer = conv(
        gather(x, literal(channels_of_x(w, u)), 1), gather(w, literal(read_channels(w)), 1), none(), u
    )
    yield rewrite(conv(x, w, none(), u), fewer, because="fewer channels")


@hosted()
def scale_of_weights(w: Fact, c: Fact, u: ConvWindow) -> Dims | None:
    """The factors of channels that come out: along the second axis, or the first one of kernels in groups."""
    if numbers(w) is None or numbers(c) is None or w.shape is None or len(w.shape) != 4 or c.shape is None:
        return None
    m = c.shape[0]
    if len(c.shape) != 3 or c.shape != (m, 1, 1):
        return None
    if w.shape[1] == m:
        return (1, m, 1, 1)
    return (m, 1, 1, 1) if w.shape[0] == m and u.group > 1 else None


def scaled_upward(c: int, m: int, group: int = 1):
    def make(g):
        w = np.arange(1.0, 1 + c * m // group * 4).reshape(c, m // group, 2, 2) / 8
        y = conv_transpose(g.input((1, c, 3, 3)), g.constant(w), none(), walk((2, 2), group=group))
        return y * g.constant(np.arange(1.0, 1 + m).reshape(m, 1, 1))

    return make


@wrong(
    "reassociates",
    scaled_upward(4, 4, 2),
    examples=fires_on(scaled_upward(2, 3), scaled_upward(3, 3), scaled_upward(3, 3, 3)),
)
def factors_behind_transposed(x: Tensor, w: Tensor, c: Tensor, u: ConvWindow):
    """ConvTranspose(x, W) * c = ConvTranspose(x, W * c) for a factor of each channel

    Wrong in groups of several channels.
    """
    nothing = none()
    scaled = w * reshape(c, scale_of_weights(w, c, u))
    yield rewrite(
        conv_transpose(x, w, nothing, u) * c,
        conv_transpose(x, scaled, nothing, u),
        because="weights are folded",
    )
