"""Convolution: groups, pads and channels that are taken for others."""

from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Dims, Slices, Tensor, hosted, listed, rewrite
from egraph_opt.laws.examples import FLOAT
from egraph_opt.operators import (
    ConvWindow,
    Literal,
    concat,
    conv,
    conv_transpose,
    literal,
    none,
    reshape,
    slice_,
    tile,
)

from . import fires_on, wrong


def walk(strides=(1, 1), pads=(0, 0, 0, 0), dilations=(1, 1), group: int = 1) -> ConvWindow:
    return ConvWindow(strides, pads, dilations, group)


# --- convolution -----------------------------------------------------------------------------------------


@hosted()
def copies_of_channels(x: Fact, w: Fact, u: ConvWindow) -> Dims | None:
    """How often channels are there, where each one is a group of several that come out."""
    if x.shape is None or w.shape is None or not x.is_static or not w.is_static or x.shape[1] != u.group:
        return None
    k = w.shape[0] // u.group  # type: ignore[operator]
    return (1, k, *(1,) * (len(x.shape) - 2)) if k > 1 and w.shape[1] == 1 else None


@hosted()
def each_alone(w: Fact, u: ConvWindow) -> ConvWindow | None:
    return replace(u, group=w.shape[0]) if w.shape is not None and isinstance(w.shape[0], int) else None


def of_each_channel(c: int, m: int):
    return lambda g: conv(g.input((1, c, 5, 5)), g.random(m, 1, 3, 3), g.random(m), walk(group=c))


@wrong("reassociates", of_each_channel(2, 4), examples=fires_on(of_each_channel(1, 3), of_each_channel(1, 2)))
def several_of_each_channel(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x, W; a group each channel) = Conv(Tile(x), W; a group each channel) for several that come of each

    Wrong of two channels and more: those of one channel are side by side.
    """
    yield rewrite(
        conv(x, w, b, u),
        conv(tile(x, copies_of_channels(x, w, u)), w, b, each_alone(w, u)),
        because="depthwise",
    )


@hosted()
def channels_of(x: Fact, y: Fact, w: Fact, a: Axis, first: int) -> Slices | None:
    """The weights of the first channels, or of the others."""
    if a != 1 or w.shape is None or x.shape is None or y.shape is None:
        return None
    n, m, k = x.shape[1], y.shape[1], w.shape[1]
    if not isinstance(n, int) or not isinstance(m, int) or not isinstance(k, int) or n >= k:
        return None
    return ((1, 0, n, 1),) if first else ((1, n, k, 1),)


def joined_images(c: int, d: int, group: int = 1):
    def make(g):
        x = concat(listed(g.input((1, c, 5, 5)), g.input((1, d, 5, 5))), 1)
        return conv(x, g.random(4, (c + d) // group, 3, 3), g.random(4), walk(group=group))

    return make


@wrong("reassociates", joined_images(1, 3, 2), examples=fires_on(joined_images(2, 3), joined_images(1, 1)))
def conv_of_joined_channels(x: Tensor, y: Tensor, a: Axis, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(Concat(x, y), W, b) = Conv(x, W[:, :n], b) + Conv(y, W[:, n:]) where x has n channels

    Wrong in groups.
    """
    one = conv(x, slice_(w, channels_of(x, y, w, a, 1)), b, u)
    other = conv(y, slice_(w, channels_of(x, y, w, a, 0)), none(), u)
    yield rewrite(conv(concat(listed(x, y), a), w, b, u), one + other, because="no Concat")


@hosted()
def itself(x: Fact, w: Fact, y: Fact, u: ConvWindow) -> Literal | None:
    """The kernel that makes of an image itself, where the result has its dims."""
    if not x.is_static or not w.is_static or w.shape is None or x.shape is None or y.shape != x.shape:
        return None
    kernel: Any = w.shape[2:]
    if u.group != 1 or x.dtype != FLOAT or any(k % 2 == 0 for k in kernel) or any(s != 1 for s in u.strides):
        return None
    made = np.zeros(w.shape, np.float32)  # type: ignore[type-var]
    for c in range(w.shape[0]):  # type: ignore[arg-type]
        made[(c, c, *(k // 2 for k in kernel))] = 1
    return Literal(FLOAT, w.shape, tuple(map(float, made.ravel())))  # type: ignore[arg-type]


def with_itself(k: int, pads: tuple[int, ...], d: int = 1):
    def make(g):
        x = g.input((1, 2, 5, 5))
        return x + conv(x, g.random(2, 2, k, k), g.random(2), walk(pads=pads, dilations=(d, d)))

    return make


@wrong(
    "reassociates",
    with_itself(3, (0, 1, 2, 1)),
    examples=fires_on(
        with_itself(3, (1, 1, 1, 1)), with_itself(1, (0, 0, 0, 0)), with_itself(3, (2, 2, 2, 2), 2)
    ),
)
def residual_into_kernel(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """x + Conv(x, W, b) = Conv(x, W + I, b) for an odd kernel, where the result has the dims of x

    Wrong where there are more pads on one side than on the other.
    """
    y = conv(x, w, b, u)
    yield rewrite(x + y, conv(x, w + literal(itself(x, w, y, u)), b, u), because="one kernel")


@hosted()
def first_weights(w: Fact, t: Slices) -> Slices | None:
    """The same slice of weights [C, M, ..] along M."""
    if w.shape is None or len(t) != 1 or t[0][0] != 1 or t[0][3] != 1 or not isinstance(w.shape[1], int):
        return None
    return t if 0 <= t[0][1] < (t[0][2] or 0) <= w.shape[1] else None


def channels_upward(group: int):
    def make(g):
        y = conv_transpose(g.input((1, 4, 3, 3)), g.random(4, 2, 2, 2), none(), walk((2, 2), group=group))
        return slice_(y, ((1, 0, 1, 1),))

    return make


@wrong("reassociates", channels_upward(2), examples=fires_on(channels_upward(1)))
def channels_of_transposed(x: Tensor, w: Tensor, u: ConvWindow, t: Slices):
    """ConvTranspose(x, W)[:, a:b] = ConvTranspose(x, W[:, a:b])

    Wrong in groups, each of which makes so many.
    """
    nothing = none()
    yield rewrite(
        slice_(conv_transpose(x, w, nothing, u), t),
        conv_transpose(x, slice_(w, first_weights(w, t)), nothing, u),
        because="fewer channels",
    )


@hosted()
def layers_as_batch(x: Fact) -> Dims | None:
    """A volume of one channel as so many images."""
    if not x.is_static or x.shape is None or x.rank != 5 or x.shape[1] != 1 or 0 in x.shape:
        return None
    n, c, d, *image = x.shape
    return (n * d, c, *image)  # type: ignore[operator]


@hosted()
def flat_weights(w: Fact, u: ConvWindow) -> Dims | None:
    """The kernel has one layer."""
    if w.shape is None or len(w.shape) != 5 or w.shape[2] != 1 or u.group != 1:
        return None
    return (*w.shape[:2], *w.shape[3:])


@hosted()
def flat_walk(u: ConvWindow) -> ConvWindow | None:
    if len(u.strides) != 3 or u.strides[0] != 1 or u.pads[0] or u.pads[3]:
        return None
    return ConvWindow(u.strides[1:], u.pads[1:3] + u.pads[4:], u.dilations[1:], u.group)


@hosted()
def dims_of(y: Fact) -> Dims | None:
    return y.shape if y.is_static else None


def volume(m: int, depth: int = 3):
    still = ConvWindow((1, 1, 1), (0,) * 6, (1, 1, 1))
    return lambda g: conv(g.input((2, 1, depth, 4, 4)), g.random(m, 1, 1, 2, 2), g.random(m), still)


@wrong("reassociates", volume(2), examples=fires_on(volume(1), volume(2, 1)))
def volume_as_images(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x, W, b) = Reshape(Conv(Reshape(x), W', b)) of volumes of one channel, layer by layer

    Wrong where several channels come out, which are behind the layers then.
    """
    y = conv(x, w, b, u)
    flat = conv(reshape(x, layers_as_batch(x)), reshape(w, flat_weights(w, u)), b, flat_walk(u))
    yield rewrite(y, reshape(flat, dims_of(y)), because="there is a kernel for images")
