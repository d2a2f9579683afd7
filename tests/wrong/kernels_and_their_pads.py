"""Kernels whose pads are uneven, more than they need, or make up for steps."""

from dataclasses import replace

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Dims, Permutation, Slices, Tensor, hosted, rewrite
from egraph_opt.operators import ConvWindow, conv, conv_transpose, none, reshape, slice_, transpose

from . import fires_on, wrong
from .channels_in_groups import walk
from .reduced_and_kept_axes import dims_of
from .weights_in_groups import numbers


@hosted()
def turned_walk(w: Fact, u: ConvWindow) -> ConvWindow | None:
    """How the turned kernel walks: of what a kernel reaches, pads are left, turned as it is."""
    if w.shape is None or not w.is_static or u.group != 1 or any(u.output_padding) or set(u.strides) != {1}:
        return None
    reach = [(k - 1) * d for k, d in zip(w.shape[2:], u.dilations, strict=True)]  # type: ignore[operator]
    n = len(reach)
    pads = tuple(reach[k % n] - u.pads[(k + n) % (2 * n)] for k in range(2 * n))
    return replace(u, pads=pads, output_padding=()) if min(pads) >= 0 else None


@hosted()
def backwards(w: Fact) -> Slices | None:
    if w.shape is None or not w.is_static or len(w.shape) < 3 or 0 in w.shape:
        return None
    return tuple((k, w.shape[k] - 1, None, -1) for k in range(2, len(w.shape)))  # type: ignore[operator]


@hosted()
def swapped(w: Fact) -> Permutation | None:
    return None if w.rank is None or w.rank < 3 else (1, 0, *range(2, w.rank))


def upward(pads: tuple[int, ...], d: int = 1, k: int = 3):
    u = walk(pads=pads, dilations=(d, d))
    return lambda g: conv_transpose(g.input((1, 3, 5, 5)), g.random(3, 2, k, k), none(), u)


@wrong(
    "reassociates",
    upward((1, 0, 0, 1)),
    examples=fires_on(upward((0, 0, 0, 0)), upward((1, 1, 1, 1)), upward((1, 0, 1, 0), 2)),
)
def transposed_as_conv_with_uneven_pads(x: Tensor, w: Tensor, u: ConvWindow):
    """ConvTranspose(x, W) = Conv(x, W turned) in steps of 1

    Wrong where there are more pads on one side, which are not turned.
    """
    turned = transpose(slice_(w, backwards(w)), swapped(w))
    yield rewrite(
        conv_transpose(x, w, none(), u), conv(x, turned, none(), turned_walk(w, u)), because="a Conv"
    )


@hosted()
def one_row(x: Fact, w: Fact, y: Fact, u: ConvWindow) -> Dims | None:
    """An image as a row, where the kernel is as large as it is, and one pixel comes out."""
    if x.shape is None or w.shape is None or y.shape is None or not x.is_static or u.group != 1:
        return None
    if w.shape[2:] != x.shape[2:] or any(d != 1 for d in y.shape[2:]) or 0 in x.shape:
        return None
    return (x.shape[0], int(np.prod(x.shape[1:])))  # type: ignore[arg-type]


@hosted()
def kernel_rows(w: Fact) -> Dims | None:
    return (w.shape[0], int(np.prod(w.shape[1:]))) if w.is_static and w.shape else None  # type: ignore[arg-type]


def whole_image(k: int, u: ConvWindow, n: int | None = None):
    return lambda g: conv(g.input((2, 3, n or k, n or k)), g.random(4, 3, k, k), none(), u)


@wrong(
    "reassociates",
    whole_image(3, walk((3, 3), (1, 1, 0, 0))),
    examples=fires_on(whole_image(3, walk()), whole_image(4, walk((2, 2))), whole_image(1, walk())),
)
def whole_image_as_row(x: Tensor, w: Tensor, u: ConvWindow):
    """Conv(x, W) = Reshape(x) @ Reshape(W)' for a kernel as large as the image, of which one pixel comes

    Wrong where it has pads and large steps: the kernel lies beside the image.
    """
    y = conv(x, w, none(), u)
    rows = reshape(x, one_row(x, w, y, u)) @ transpose(reshape(w, kernel_rows(w)), (1, 0))
    yield rewrite(y, reshape(rows, dims_of(y)), because="a product")


@hosted()
def keeps_channels(w: Fact, x: Fact, y: Fact, u: ConvWindow) -> bool:
    """Each channel comes out as it is, in the dims that it has."""
    if w.units is None or w.shape is None or w.shape[2:] != (1,) * len(w.shape[2:]) or u.group != 1:
        return False
    return w.units == tuple(range(len(w.units))) and x.is_static and x.shape == y.shape


def kept_channels(n: int, s: int, pads=(0, 0, 0, 0), c: int = 3):
    return lambda g: conv(
        g.input((1, c, n, n)), g.constant(np.eye(c).reshape(c, c, 1, 1)), none(), walk((s, s), pads)
    )


@wrong(
    "finite",
    kept_channels(2, 2, (0, 0, 1, 1)),
    examples=fires_on(kept_channels(4, 1), kept_channels(1, 2), kept_channels(5, 1, c=2)),
)
def channels_as_they_are(x: Tensor, w: Tensor, u: ConvWindow):
    """Conv(x, I) = x where the result has the dims of x

    Wrong where steps are longer, and pads make up for that.
    """
    y = conv(x, w, none(), u)
    yield rewrite(y, x, keeps_channels(w, x, y, u), because="no kernel")


@hosted()
def inner(w: Fact, u: ConvWindow) -> Slices | None:
    """The middle of a kernel of 3 x 3 whose other weights are 0, and which has pads for them."""
    found = numbers(w)
    if found is None or w.shape is None or w.shape[2:] != (3, 3) or min(u.pads) < 1:
        return None
    rows = np.abs(np.array(found).reshape(w.shape))  # type: ignore[arg-type]
    middle = rows[:, :, 1, 1].sum()
    return ((2, 1, 2, 1), (3, 1, 2, 1)) if middle > 0 and rows.sum() == middle else None


@hosted()
def fewer_pads(u: ConvWindow) -> ConvWindow:
    return replace(u, pads=tuple(p - 1 for p in u.pads), dilations=(1, 1))


def with_middle(pads: int, d: int = 1, group: int = 1):
    def make(g):
        w = np.zeros((4, 2 // group, 3, 3))
        w[:, :, 1, 1] = np.arange(1, 1 + 8 // group).reshape(4, -1)
        return conv(
            g.input((1, 2, 5, 5)),
            g.constant(w),
            none(),
            walk(pads=(pads,) * 4, dilations=(d, d), group=group),
        )

    return make


@wrong(
    "reassociates",
    with_middle(2, 2),
    examples=fires_on(with_middle(1), with_middle(2), with_middle(1, group=2)),
)
def middle_of_dilated_kernel(x: Tensor, w: Tensor, u: ConvWindow):
    """Conv(x, W) = Conv(x, W[1, 1]) with a pad less, for a kernel of zeros but for its middle

    Wrong of a dilated one, which has more pads for them.
    """
    yield rewrite(
        conv(x, w, none(), u),
        conv(x, slice_(w, inner(w, u)), none(), fewer_pads(u)),
        because="a kernel of points",
    )
