"""Our laws of convolutions with a condition that was forgotten, or an index that is another."""

from dataclasses import replace

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Dims, Permutation, Slices, Tensor, hosted, rewrite
from egraph_opt.operators import ConvWindow, conv, none, reduce, reshape, slice_, transpose
from egraph_opt.rewrites.conditions.channels import (
    at_axis,
    is_float_constant,
    is_present,
    is_scale,
    is_shift,
    static_shape,
)

from . import wrong

PLAIN = ConvWindow((1, 1), (0, 0, 0, 0), (1, 1))


RING = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1))


HALVES = ConvWindow((1, 1), (0, 0, 0, 0), (1, 1), 2)


STEPS = ConvWindow((2, 2), (0, 0, 0, 0), (1, 1))


def image(g, *shape: int):
    return g.input(shape or (1, 4, 5, 5))


@hosted()
def rows(w: Fact, c: Fact) -> Dims | None:
    """The dims in which a constant behind a convolution scales its weight."""
    shape = static_shape(c)
    if shape is None or not is_scale(c) or not is_float_constant(w):
        return None
    return at_axis(int(np.prod(shape)), w.rank or 0, 0)


@wrong("reassociates", lambda g: conv(image(g), g.random(3, 4, 1, 1), g.random(3), PLAIN) * g.random(3, 1, 1))
def conv_times_scale(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, c: Tensor):
    """Conv(x, W, b) * s = Conv(x, s * W, b)

    Wrong: the bias is scaled as well.
    """
    scaled = conv(x, w * reshape(c, rows(w, c)), b, u)
    yield rewrite(conv(x, w, b, u) * c, scaled, because="s goes into the weight")


@wrong("reassociates", lambda g: conv(image(g), g.random(5, 4, 1, 1), none(), PLAIN) * g.random(5))
def conv_times_row(x: Tensor, w: Tensor, u: ConvWindow, c: Tensor):
    """Conv(x, W) * s = Conv(x, s * W) for as many numbers as there are channels

    Wrong where s lies along the last axis of an image that is as wide.
    """
    scaled = conv(x, w * reshape(c, as_many(w, c)), none(), u)
    yield rewrite(conv(x, w, none(), u) * c, scaled, because="s goes into the weight")


@hosted()
def as_many(w: Fact, c: Fact) -> Dims | None:
    count = int(np.prod(static_shape(c) or ()))
    return at_axis(count, w.rank or 0, 0) if is_scale(c) and w.is_static and w.shape[0] == count else None  # type: ignore[index]


@hosted()
def columns(w: Fact, c: Fact) -> Dims | None:
    """The dims in which a constant in front of a convolution scales its weight."""
    shape = static_shape(c)
    if shape is None or not is_scale(c) or not is_float_constant(w) or len(shape) > 4:
        return None
    return at_axis(int(np.prod(shape)), w.rank or 0, 1)


@wrong(
    "reassociates",
    lambda g: conv(image(g) * g.random(4, 1, 1), g.random(4, 1, 3, 3), none(), replace(RING, group=4)),
)
def scale_before_depthwise(x: Tensor, c: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x * s, W, b) = Conv(x, W * s, b) for a number per channel

    Wrong with groups, of which each has its own channels.
    """
    yield rewrite(conv(x * c, w, b, u), conv(x, w * reshape(c, columns(w, c)), b, u), because="taken in")


@hosted()
def is_number(c: Fact) -> bool:
    return is_shift(c) and c.shape in ((), (1,))


@wrong("reassociates", lambda g: conv(image(g) + g.constant(2.0), g.random(3, 4, 3, 3), none(), RING))
def shift_before_padded(x: Tensor, c: Tensor, w: Tensor, u: ConvWindow):
    """Conv(x + c, W) = Conv(x, W, sum(W * c)) for a number c

    Wrong with padding, which holds no c.
    """
    bias = reduce("ReduceSum", w * c, (1, 2, 3), 0)
    known = (is_number(c), is_float_constant_4d(w))
    yield rewrite(conv(x + c, w, none(), u), conv(x, w, bias, u), known, because="c goes into the bias")


@hosted()
def is_float_constant_4d(w: Fact) -> bool:
    return is_float_constant(w) and w.rank == 4


@wrong("reassociates", lambda g: conv(-image(g), g.random(3, 4, 1, 1), g.random(3), PLAIN))
def conv_of_negated(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(-x, W, b) = -Conv(x, W, b)

    Wrong with a bias.
    """
    yield rewrite(conv(-x, w, b, u), -conv(x, w, b, u), because="signs go down")


@wrong("reassociates", lambda g: conv(image(g), g.random(5, 4, 1, 1), g.random(5), PLAIN))
def bias_apart(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x, W, b) = Conv(x, W) + b

    Wrong: b lies along the channels, and not along the last axis.
    """
    yield rewrite(conv(x, w, b, u), conv(x, w, none(), u) + b, is_present(b), because="sums meet sums")


@hosted()
def has_point(w: Fact) -> bool:
    """A kernel of 1."""
    return w.is_static and all(k == 1 for k in (w.shape or ())[2:])


@hosted()
def cuts_rows(s: Slices) -> bool:
    return len(s) == 1 and s[0][0] > 1


@wrong("reassociates", lambda g: slice_(conv(image(g), g.random(3, 4, 1, 1), none(), STEPS), ((2, 1, 3, 1),)))
def slice_of_rows(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, s: Slices):
    """Slice(Conv(x, W, b)) = Conv(Slice(x), W, b) along the rows where the kernel is 1

    Wrong with strides, and with padding.
    """
    part = conv(slice_(x, s), w, b, u)
    yield rewrite(slice_(conv(x, w, b, u), s), part, has_point(w), cuts_rows(s), because="fewer rows")


@hosted()
def turned(p: Permutation, u: ConvWindow) -> ConvWindow | None:
    """Strides and dilations change places with height and width."""
    if p != (0, 1, 3, 2):
        return None
    return replace(u, strides=u.strides[::-1], dilations=u.dilations[::-1])


@wrong(
    "reassociates",
    lambda g: conv(
        transpose(image(g), (0, 1, 3, 2)),
        g.random(3, 4, 2, 2),
        none(),
        ConvWindow((1, 1), (1, 0, 1, 0), (1, 1)),
    ),
)
def conv_of_turned(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, p: Permutation):
    """Conv(Transpose(x), W, b) = Transpose(Conv(x, Transpose(W), b)) for height and width

    Wrong where the pads of both differ: they change places as well.
    """
    behind = transpose(conv(x, transpose(w, p), b, turned(p, u)), p)
    yield rewrite(conv(transpose(x, p), w, b, u), behind, because="transposes go down")


@hosted()
def is_depthwise(w: Fact, u: ConvWindow) -> bool:
    known = w.is_static and len(w.shape or ()) == 4 and w.shape[1:] == (1, 1, 1)  # type: ignore[index]
    return known and u.group > 1 and set(u.strides) == {1} and not any(u.pads)


@hosted()
def per_channel(w: Fact) -> Dims | None:
    return (w.shape[0], 1, 1) if w.is_static and w.shape else None


@wrong("reassociates", lambda g: conv(image(g, 1, 2, 3, 3), g.random(4, 1, 1, 1), none(), HALVES))
def depthwise_as_product(x: Tensor, w: Tensor, u: ConvWindow):
    """Conv(x, W) = x * W where each channel is a group, and the kernel 1

    Wrong where a channel makes several.
    """
    yield rewrite(
        conv(x, w, none(), u), x * reshape(w, per_channel(w)), is_depthwise(w, u), because="a product"
    )
