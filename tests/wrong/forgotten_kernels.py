"""Our laws of two convolutions, in a row or next to each other, with a condition that was forgotten."""

from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Dims, Slices, Tensor, hosted, listed, rewrite
from egraph_opt.operators import ConvWindow, concat, conv, none, reshape, slice_
from egraph_opt.rewrites.conditions.channels import is_present, static_shape

from . import wrong
from .forgotten_convolutions import HALVES, PLAIN, RING, STEPS, has_point, image


def joined(one: Any, other: Any, axis: int = 1) -> Any:
    return concat(listed(one, other), axis)


@wrong(
    "reassociates",
    lambda g: (lambda w: conv(image(g), w, none(), RING) + conv(image(g, 1, 4, 1, 1), w, none(), RING))(
        g.random(3, 4, 3, 3)
    ),
)
def images_added(x: Tensor, y: Tensor, w: Tensor, u: ConvWindow):
    """Conv(x, W) + Conv(y, W) = Conv(x + y, W)

    Wrong where one image is broadcast: its padding is another.
    """
    two = conv(x, w, none(), u) + conv(y, w, none(), u)
    yield rewrite(two, conv(x + y, w, none(), u), because="one convolution")


@wrong(
    "reassociates",
    lambda g: (
        lambda x: conv(x, g.random(3, 4, 1, 1), none(), PLAIN) + conv(x, g.random(3, 4, 5, 5), none(), PLAIN)
    )(image(g)),
)
def weights_added(x: Tensor, v: Tensor, w: Tensor, u: ConvWindow):
    """Conv(x, V) + Conv(x, W) = Conv(x, V + W)

    Wrong where the kernels have different sizes, and one is broadcast.
    """
    two = conv(x, v, none(), u) + conv(x, w, none(), u)
    yield rewrite(two, conv(x, v + w, none(), u), because="one convolution")


@wrong(
    "reassociates",
    lambda g: (lambda w: conv(image(g), w, g.random(3), PLAIN) + conv(image(g), w, g.random(3), PLAIN))(
        g.random(3, 4, 1, 1)
    ),
)
def biases_of_both(x: Tensor, y: Tensor, w: Tensor, b: Tensor, c: Tensor, u: ConvWindow):
    """Conv(x, W, b) + Conv(y, W, c) = Conv(x + y, W, b) for images of one shape

    Wrong: c is forgotten.
    """
    two = conv(x, w, b, u) + conv(y, w, c, u)
    yield rewrite(two, conv(x + y, w, b, u), are_alike(x, y), because="one convolution")


@hosted()
def are_alike(x: Fact, y: Fact) -> bool:
    return x.is_symbolic and x.shape == y.shape


@wrong(
    "reassociates",
    lambda g: (
        conv(image(g), g.random(6, 2, 1, 1), none(), HALVES)
        + conv(image(g), g.random(6, 2, 1, 1), none(), HALVES)
    ),
)
def channels_joined(x: Tensor, y: Tensor, v: Tensor, w: Tensor, u: ConvWindow):
    """Conv(x, V) + Conv(y, W) = Conv([x, y], [V, W])

    Wrong with groups, which are of other channels then.
    """
    two = conv(x, v, none(), u) + conv(y, w, none(), u)
    yield rewrite(
        two, conv(joined(x, y), joined(v, w), none(), u), are_alike(x, y), because="one convolution"
    )


@hosted()
def cut_of_weight(s: Slices) -> Slices | None:
    return ((0, *s[0][1:]),) if len(s) == 1 and s[0][0] == 1 else None


@wrong(
    "reassociates", lambda g: slice_(conv(image(g), g.random(8, 2, 1, 1), none(), HALVES), ((1, 0, 4, 1),))
)
def slice_of_channels(x: Tensor, w: Tensor, u: ConvWindow, s: Slices):
    """Slice(Conv(x, W)) = Conv(x, Slice(W)) along the channels

    Wrong with groups.
    """
    part = conv(x, slice_(w, cut_of_weight(s)), none(), u)
    yield rewrite(slice_(conv(x, w, none(), u), s), part, because="fewer channels")


@hosted()
def matrix(w: Fact) -> Dims | None:
    shape = static_shape(w)
    return None if shape is None else (shape[0], int(np.prod(shape[1:])))


@hosted()
def product_dims(first: Fact, second: Fact) -> Dims | None:
    a, b = static_shape(first), static_shape(second)
    return (
        None if a is None or b is None else (b[0], a[1], *(i * j for i, j in zip(a[2:], b[2:], strict=True)))
    )


def _weight(v: Any, w: Any) -> Any:
    """The weight of Conv(Conv(x, V), W) where W has a kernel of 1."""
    return reshape(reshape(w, matrix(w)) @ reshape(v, matrix(v)), product_dims(v, w))


def _two(g, first: ConvWindow, second: ConvWindow, kernel: int = 3, bias: Any = None):
    inner = conv(image(g), g.random(6, 4 // first.group, kernel, kernel), bias or none(), first)
    return conv(inner, g.random(2, 6 // second.group, 1, 1), none(), second)


@wrong("reassociates", lambda g: _two(g, PLAIN, STEPS))
def point_behind_conv(x: Tensor, v: Tensor, w: Tensor, u: ConvWindow, t: ConvWindow):
    """Conv(Conv(x, V), W) = Conv(x, W V) where W has a kernel of 1

    Wrong where the second one has strides, padding or groups.
    """
    two = conv(conv(x, v, none(), u), w, none(), t)
    yield rewrite(two, conv(x, _weight(v, w), none(), u), has_point(w), because="one convolution")


@hosted()
def has_steps_of_one(t: ConvWindow) -> bool:
    return set(t.strides) == {1} and not any(t.pads) and t.group == 1


@wrong("reassociates", lambda g: _two(g, HALVES, PLAIN))
def point_behind_groups(x: Tensor, v: Tensor, w: Tensor, u: ConvWindow, t: ConvWindow):
    """Conv(Conv(x, V), W) = Conv(x, W V) where W has a kernel of 1 and is ungrouped

    Wrong where the first one has groups.
    """
    two = conv(conv(x, v, none(), u), w, none(), t)
    whole = conv(x, _weight(v, w), none(), u)
    yield rewrite(two, whole, has_point(w), has_steps_of_one(t), because="one convolution")


@wrong(
    "reassociates",
    lambda g: conv(
        conv(image(g), g.random(6, 4, 1, 1), g.random(6), PLAIN), g.random(2, 6, 1, 1), none(), RING
    ),
)
def bias_in_front_of_padding(x: Tensor, v: Tensor, b: Tensor, w: Tensor, u: ConvWindow, t: ConvWindow):
    """Conv(Conv(x, V, b), W) = Conv(x, W V, W b) where both have kernels of 1

    Wrong where the second one pads: the padding has no bias.
    """
    two = conv(conv(x, v, b, u), w, none(), t)
    bias = reshape(w, matrix(w)) @ b
    known = (has_point(v), has_point(w), has_steps_of_one(u), is_present(b))
    yield rewrite(two, conv(x, _weight(v, w), bias, t), known, because="one convolution")


@wrong(
    "reassociates",
    lambda g: (lambda w: joined(conv(image(g), w, none(), RING), conv(image(g), w, none(), RING), 2))(
        g.random(3, 4, 3, 3)
    ),
)
def images_joined(x: Tensor, y: Tensor, w: Tensor, b: Tensor, u: ConvWindow, a: Axis):
    """Concat_a(Conv(x, W, b), Conv(y, W, b)) = Conv(Concat_a(x, y), W, b)

    Wrong along axes other than the batch.
    """
    apart = joined(conv(x, w, b, u), conv(y, w, b, u), a)
    yield rewrite(apart, conv(joined(x, y, a), w, b, u), because="one convolution")


@wrong(
    "reassociates",
    lambda g: joined(
        conv(image(g), g.random(2, 4, 1, 1), none(), PLAIN),
        conv(image(g), g.random(4, 4, 1, 1), none(), PLAIN),
    ),
)
def joined_in_groups(x: Tensor, y: Tensor, v: Tensor, w: Tensor, u: ConvWindow):
    """Concat(Conv(x, V), Conv(y, W)) = Conv(Concat(x, y), Concat(V, W)) in two groups

    Wrong where V and W make different numbers of channels.
    """
    apart = joined(conv(x, v, none(), u), conv(y, w, none(), u))
    whole = conv(joined(x, y), joined(v, w, 0), none(), in_two(u))
    yield rewrite(apart, whole, are_alike(x, y), because="one convolution")


@hosted()
def in_two(u: ConvWindow) -> ConvWindow | None:
    return replace(u, group=2) if u.group == 1 else None


@wrong(
    "reassociates",
    lambda g: slice_(
        conv(image(g), joined(g.input((3, 4, 1, 1)), g.input((3, 4, 1, 1)), 0), none(), PLAIN),
        ((1, 0, 3, 1),),
    ),
)
def first_of_joined(x: Tensor, v: Tensor, w: Tensor, u: ConvWindow, s: Slices):
    """The first channels of Conv(x, [V; W]) = Conv(x, W), as many as V makes

    Wrong: they are those of V.
    """
    part = slice_(conv(x, joined(v, w, 0), none(), u), s)
    yield rewrite(part, conv(x, w, none(), u), are_first(s, v), because="the others are not computed")


@hosted()
def are_first(s: Slices, v: Fact) -> bool:
    return v.is_static and s == ((1, 0, (v.shape or (0,))[0], 1),)
