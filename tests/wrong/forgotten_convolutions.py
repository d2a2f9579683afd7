"""Our laws of convolutions with a condition that was forgotten, or an index that is another."""

from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axis,
    Dims,
    Mode,
    Number,
    Pads,
    Permutation,
    Slices,
    Tensor,
    hosted,
    listed,
    rewrite,
)
from egraph_opt.operators import (
    ConvWindow,
    concat,
    conv,
    conv_transpose,
    none,
    pad,
    reduce,
    reshape,
    slice_,
    transpose,
)
from egraph_opt.rewrites.conditions.channels import (
    at_axis,
    is_absent,
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


def joined(one: Any, other: Any, axis: int = 1) -> Any:
    return concat(listed(one, other), axis)


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
    return at_axis(count, w.rank or 0, 0) if is_scale(c) and w.is_static and w.shape[0] == count else None


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


@hosted()
def with_pads(u: ConvWindow, p: Pads) -> ConvWindow | None:
    rank = len(p) // 2
    inner = (*p[2:rank], *p[rank + 2 :])
    return replace(u, pads=tuple(a + b for a, b in zip(u.pads, inner, strict=True))) if rank > 2 else None


@wrong(
    "reassociates",
    lambda g: conv(
        pad(image(g), "constant", (0, 0, 1, 1, 0, 0, 1, 1), 1.0), g.random(3, 4, 3, 3), none(), PLAIN
    ),
)
def pad_of_any_value(x: Tensor, m: Mode, p: Pads, v: Number, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(Pad(x), W, b) = Conv(x, W, b) with bigger pads

    Wrong of pads other than zeros, and of padded channels.
    """
    yield rewrite(conv(pad(x, m, p, v), w, b, u), conv(x, w, b, with_pads(u, p)), because="one node")


@hosted()
def is_zero(v: Number) -> bool:
    return v == 0


@hosted()
def with_mixed_pads(u: ConvWindow, p: Pads) -> ConvWindow | None:
    """Begin and end of each axis, as other frameworks have it."""
    rank = len(p) // 2
    if rank != 4 or any(p[k] or p[k + rank] for k in (0, 1)) or any(u.pads):
        return None
    return replace(u, pads=tuple(p[k + j * rank] for k in (2, 3) for j in (0, 1)))


@wrong(
    "reassociates",
    lambda g: conv(
        pad(image(g), "constant", (0, 0, 1, 1, 0, 0, 0, 0), 0.0), g.random(3, 4, 2, 2), none(), PLAIN
    ),
)
def pads_in_other_order(x: Tensor, p: Pads, v: Number, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(Pad(x), W, b) = Conv(x, W, b) with these pads

    Wrong of asymmetric ones: all begins come before all ends.
    """
    left = conv(pad(x, "constant", p, v), w, b, u)
    yield rewrite(left, conv(x, w, b, with_mixed_pads(u, p)), is_zero(v), because="one node")


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
    known = w.is_static and len(w.shape or ()) == 4 and w.shape[1:] == (1, 1, 1)
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


@hosted()
def every_second(u: ConvWindow) -> Slices | None:
    return tuple((k + 2, 0, None, s) for k, s in enumerate(u.strides) if s > 1) or None


@hosted()
def without_strides(u: ConvWindow) -> ConvWindow:
    return replace(u, strides=(1,) * len(u.strides))


@wrong(
    "reassociates",
    lambda g: conv(image(g), g.random(3, 4, 1, 1), none(), ConvWindow((2, 2), (1, 1, 1, 1), (1, 1))),
)
def strides_in_front(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x, W, b) = Conv(x[::s], W, b) without strides where the kernel is 1

    Wrong with padding: the first window is in it.
    """
    part = slice_(x, every_second(u))
    yield rewrite(
        conv(x, w, b, u), conv(part, w, b, without_strides(u)), has_point(w), because="fewer pixels"
    )


@hosted()
def as_forward(w: Fact, u: ConvWindow) -> ConvWindow | None:
    """The window of the Conv that a ConvTranspose without strides is."""
    if not w.is_static or set(u.strides) != {1} or set(u.dilations) != {1} or u.group != 1:
        return None
    kernel = (*w.shape[2:], *w.shape[2:])  # type: ignore[index]
    return replace(u, pads=tuple(k - 1 - p for k, p in zip(kernel, u.pads, strict=True)), output_padding=())


@wrong("reassociates", lambda g: conv_transpose(image(g), g.random(4, 3, 3, 3), none(), PLAIN))
def transposed_as_conv(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """ConvTranspose(x, W, b) = Conv(x, W', b) without strides

    Wrong: the kernel is turned as well.
    """
    whole = conv(x, transpose(w, (1, 0, 2, 3)), b, as_forward(w, u))
    yield rewrite(conv_transpose(x, w, b, u), whole, because="Conv has more kernels")


@hosted()
def extra(u: ConvWindow) -> Pads | None:
    return (
        (0,) * 6 + tuple(u.output_padding) if any(u.output_padding) and len(u.output_padding) == 2 else None
    )


@hosted()
def without_extra(u: ConvWindow) -> ConvWindow:
    return replace(u, output_padding=())


@wrong(
    "reassociates",
    lambda g: conv_transpose(
        image(g), g.random(4, 3, 3, 3), none(), ConvWindow((2, 2), (1, 1, 1, 1), (1, 1), 1, (1, 1))
    ),
)
def output_padding_behind(x: Tensor, w: Tensor, u: ConvWindow):
    """ConvTranspose(x, W) with output padding = Pad(ConvTranspose(x, W))

    Wrong where pads cut off what is there.
    """
    behind = pad(conv_transpose(x, w, none(), without_extra(u)), "constant", extra(u), 0.0)
    yield rewrite(conv_transpose(x, w, none(), u), behind, because="no kernel of output padding")


@wrong(
    "reassociates",
    lambda g: conv_transpose(image(g), g.random(4, 2, 3, 3), none(), HALVES) * g.random(4, 1, 1),
)
def transposed_times_scale(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, c: Tensor):
    """ConvTranspose(x, W) * s = ConvTranspose(x, W * s)

    Wrong with groups: W has the channels of one group.
    """
    scaled = conv_transpose(x, w * reshape(c, columns(w, c)), b, u)
    yield rewrite(conv_transpose(x, w, b, u) * c, scaled, is_absent(b), because="s goes into the weight")


@wrong(
    "reassociates", lambda g: conv_transpose(image(g) + g.constant(2.0), g.random(4, 3, 3, 3), none(), PLAIN)
)
def shift_before_transposed(x: Tensor, c: Tensor, w: Tensor, u: ConvWindow):
    """ConvTranspose(x + c, W) = ConvTranspose(x, W, sum(W * c)) for a number c

    Wrong at the borders, where fewer elements of the kernel meet.
    """
    bias = reduce("ReduceSum", w * c, (0, 2, 3), 0)
    known = (is_number(c), is_float_constant_4d(w))
    shifted = conv_transpose(x, w, bias, u)
    yield rewrite(conv_transpose(x + c, w, none(), u), shifted, known, because="c goes into the bias")


@hosted()
def smaller(u: ConvWindow, n: Pads) -> ConvWindow | None:
    """The window of a kernel without zeros around it."""
    inner = (*n[2:4], *n[6:])
    pads = tuple(p - k for p, k in zip(u.pads, inner, strict=True)) if len(n) == 8 else (-1,)
    return None if min(pads) < 0 or any(n[k] for k in (0, 1, 4, 5)) else replace(u, pads=pads)


@wrong(
    "reassociates",
    lambda g: conv(
        image(g),
        pad(g.input((3, 4, 1, 1)), "constant", (0, 0, 1, 1, 0, 0, 1, 1), 0.0),
        none(),
        ConvWindow((1, 1), (2, 2, 2, 2), (2, 2)),
    ),
)
def zeros_around_kernel(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, n: Pads):
    """Conv(x, Pad(W), b) = Conv(x, W, b) with smaller pads

    Wrong with dilations: each zero stands for several pixels.
    """
    large = pad(w, "constant", n, 0.0)
    yield rewrite(conv(x, large, b, u), conv(x, w, b, smaller(u, n)), because="zeros are not computed")


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
