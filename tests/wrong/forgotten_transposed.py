"""Our laws of transposed convolutions, of pads and strides, with a condition that was forgotten."""

from dataclasses import replace

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Mode, Number, Pads, Slices, Tensor, hosted, rewrite
from egraph_opt.operators import (
    ConvWindow,
    conv,
    conv_transpose,
    none,
    pad,
    reduce,
    reshape,
    slice_,
    transpose,
)
from egraph_opt.rewrites.conditions.channels import is_absent

from . import wrong
from .forgotten_convolutions import HALVES, PLAIN, columns, has_point, image, is_float_constant_4d, is_number


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
