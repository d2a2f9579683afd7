"""Factors, summands and parts of channels that a convolution takes in groups."""

from dataclasses import replace

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Dims, Slices, Tensor, hosted, rewrite
from egraph_opt.operators import ConvWindow, conv, gather, none, reduce, reshape, slice_

from . import fires_on, wrong
from .sums_without_their_own_element import PLAIN, length_along


def walk(strides=(1, 1), pads=(0, 0, 0, 0), dilations=(1, 1), group: int = 1) -> ConvWindow:
    return ConvWindow(strides, pads, dilations, group)


def are_moderate(c: Fact) -> bool:
    """Known numbers, none of which is large or tiny."""
    numbers = c.data if c.splat is None else (c.splat,)
    return numbers is not None and all(1e-4 < abs(v) < 100 for v in numbers)  # type: ignore[arg-type]


@hosted()
def group_along(x: Fact, w: Fact, c: Fact, u: ConvWindow) -> Dims | None:
    """The factors of channels as those of weights: along their second axis, or the first one in groups."""
    if x.shape is None or w.shape is None or c.shape != (x.shape[1], 1, 1) or len(x.shape) != 4:
        return None
    if x.dtype != T.FLOAT or not all(map(are_moderate, (c, w))):
        return None
    if u.group == 1:
        return (1, x.shape[1], 1, 1)
    return (x.shape[1], 1, 1, 1) if w.shape[0] == x.shape[1] else None


def scaled_channels(c: int, group: int, m: int | None = None):
    def make(g):
        x = g.input((1, c, 4, 4)) * g.random(c, 1, 1)
        return conv(x, g.random(m or c, c // group, 3, 3), none(), walk(group=group))

    return make


@wrong(
    "reassociates",
    scaled_channels(4, 2),
    examples=fires_on(
        scaled_channels(3, 1), scaled_channels(3, 1, 5), scaled_channels(4, 4), scaled_channels(2, 2)
    ),
)
def factors_of_channels(x: Tensor, c: Tensor, w: Tensor, u: ConvWindow):
    """Conv(x * c, W) = Conv(x, W * c) for a factor of each channel

    Wrong in groups of several channels.
    """
    yield rewrite(
        conv(x * c, w, none(), u),
        conv(x, w * reshape(c, group_along(x, w, c, u)), none(), u),
        because="folded",
    )


def moderate(*constants: Fact, least: float = 1e-4, most: float = 100.0) -> bool:
    """Known numbers, none of which is large or tiny."""
    for c in constants:
        numbers = c.data if c.splat is None else (c.splat,)
        if c.dtype != T.FLOAT or not c.const or numbers is None:
            return False
        if not all(least < abs(v) < most for v in numbers):  # type: ignore[arg-type]
            return False
    return True


@hosted()
def along_weights(x: Fact, w: Fact, c: Fact, u: ConvWindow) -> Dims | None:
    """Factors [C, 1] of sequences as those of weights: in groups each channel has its own."""
    if x.shape is None or w.shape is None or len(w.shape) != 3 or not moderate(w, c):
        return None
    n = x.shape[1]
    if not isinstance(n, int) or c.shape != (n, 1):
        return None
    return (1, n, 1) if u.group == 1 else (n, 1, 1) if w.shape[0] == n else None


def scaled_sequence(c: int, group: int, k: int = 3):
    def make(g):
        x = g.input((2, c, 7)) * g.random(c, 1)
        return conv(x, g.random(c, c // group, k), g.random(c), ConvWindow((1,), (1, 1), (1,), group))

    return make


@wrong(
    "reassociates",
    scaled_sequence(4, 2),
    examples=fires_on(scaled_sequence(3, 1), scaled_sequence(3, 3), scaled_sequence(4, 4, 1)),
)
def factors_of_sequences(x: Tensor, c: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x * c, W, b) = Conv(x, W * c, b) of sequences, for a factor of each channel

    Wrong in groups of several channels.
    """
    yield rewrite(
        conv(x * c, w, b, u), conv(x, w * reshape(c, along_weights(x, w, c, u)), b, u), because="folded"
    )


@hosted()
def beside_weights(x: Fact, w: Fact, c: Fact, u: ConvWindow) -> Dims | None:
    """Summands of channels as those of weights: along their second axis, or the first one in groups."""
    if (
        x.shape is None
        or w.shape is None
        or len(w.shape) != 4
        or any(u.pads)
        or not moderate(c)
        or not moderate(w)
    ):
        return None
    n = length_along(x, 1)
    if c.shape != (n, 1, 1):
        return None
    if u.group == 1:
        return (1, n, 1, 1)
    return (n, 1, 1, 1) if w.shape[0] == n else None


def shifted_channels(c: int, group: int, m: int | None = None):
    def make(g):
        x = g.input((1, c, 4, 4)) + g.random(c, 1, 1)
        u = ConvWindow((1, 1), (0,) * 4, (1, 1), group)
        return conv(x, g.random(m or c, c // group, 3, 3), none(), u)

    return make


@wrong(
    "reassociates",
    shifted_channels(4, 2),
    values=PLAIN,
    examples=fires_on(shifted_channels(3, 1), shifted_channels(2, 1, 3), shifted_channels(3, 3)),
)
def summands_of_channels(x: Tensor, c: Tensor, w: Tensor, u: ConvWindow):
    """Conv(x + c, W) = Conv(x, W, sums of W * c) for a summand of each channel, without pads

    Wrong in groups of several channels.
    """
    bias = reduce("ReduceSum", w * reshape(c, beside_weights(x, w, c, u)), (1, 2, 3), 0)
    yield rewrite(conv(x + c, w, none(), u), conv(x, w, bias, u), because="a bias")


@hosted()
def channels_in(t: Slices, w: Fact, u: ConvWindow) -> Slices | None:
    """The channels that go into a group of those that come out."""
    if len(t) != 1 or t[0][0] != 1 or t[0][3] != 1 or not w.is_static or u.group < 2 or w.shape is None:
        return None
    n = w.shape[0] // u.group  # type: ignore[operator]
    _, start, end, _ = t[0]
    return ((1, start, end, 1),) if end == start + n and start % n == 0 else None


@hosted()
def weights_of(t: Slices) -> Slices:
    return ((0, *t[0][1:]),)


@hosted()
def alone(u: ConvWindow) -> ConvWindow:
    return replace(u, group=1)


def group_of(c: int, m: int, group: int, start: int):
    def make(g):
        y = conv(g.input((1, c, 4, 4)), g.random(m, c // group, 3, 3), none(), walk(group=group))
        return slice_(y, ((1, start, start + m // group, 1),))

    return make


@wrong(
    "reassociates",
    group_of(6, 4, 2, 2),
    examples=fires_on(group_of(4, 4, 2, 0), group_of(4, 4, 2, 2), group_of(3, 3, 3, 1)),
)
def one_group_alone(x: Tensor, w: Tensor, u: ConvWindow, t: Slices):
    """Conv(x, W)[a group] = Conv(x[the group], W[the group])

    Wrong where more or fewer channels go in than come out.
    """
    nothing = none()
    one = conv(slice_(x, channels_in(t, w, u)), slice_(w, weights_of(t)), nothing, alone(u))
    yield rewrite(slice_(conv(x, w, nothing, u), t), one, because="fewer channels")


@hosted()
def stays_in_group(i: Fact, w: Fact, u: ConvWindow) -> bool:
    """Channels change places within their groups."""
    if i.ints is None or w.shape is None or not isinstance(w.shape[0], int) or i.rank != 1:
        return False
    n = w.shape[0] // u.group
    return sorted(i.ints) == list(range(w.shape[0])) and sorted(i.ints[:n]) == list(range(n))


def in_order(group: int, *i: int):
    def make(g):
        m = len(i)
        u = ConvWindow((1, 1), (0,) * 4, (1, 1), group)
        y = conv(g.input((1, 2 * group, 4, 4)), g.random(m, 2, 2, 2), none(), u)
        return gather(y, g.constant(np.array(i)), 1)

    return make


@wrong(
    "reassociates",
    in_order(3, 1, 0, 4, 2, 3, 5),
    examples=fires_on(
        in_order(1, 2, 0, 1), in_order(2, 1, 0, 2, 3), in_order(2, 1, 0, 3, 2), in_order(3, 0, 1, 3, 2, 5, 4)
    ),
)
def channels_in_another_order(x: Tensor, w: Tensor, u: ConvWindow, i: Tensor):
    """Conv(x, W)[i] = Conv(x, W[i]) for channels that stay in their groups

    Wrong where those of the second group do not.
    """
    nothing = none()
    yield rewrite(
        gather(conv(x, w, nothing, u), i, 1),
        conv(x, gather(w, i, 0), nothing, u),
        stays_in_group(i, w, u),
        because="weights",
    )
