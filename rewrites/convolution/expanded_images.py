"""A kernel of one element sees an image that is the same everywhere once.

Conv(Expand(x), W, b) -> Expand(Conv(x, W, b))
Conv(Expand(x), W, b) -> Conv(x, ReduceSum(W), b)                where one channel is repeated, or one frame
Conv(Concat(.., Expand(x), ..), W, b) -> Conv(Concat(..), U, b) + Conv(Expand(x), V)   for parts U, V of W

The pooled branch of ASPP and PointNet's global features are joined with images like this.  Beside an operand
that has the dims itself, the Expand goes (`views.expand`).
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import is_constant
from egraph_opt.laws.sorts import Axes, Dims, Int, Number, Slices, Tensor, Tensors
from egraph_opt.operators import (
    ConvWindow,
    concat,
    conv,
    expand,
    expand_to,
    literal,
    none,
    reduce,
    shape_of,
    slice_,
)
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.arithmetic.distributivity import joint
from egraph_opt.rewrites.conditions.channels import LARGEST, is_float_constant, known_elements, static_shape
from egraph_opt.rewrites.conditions.operands import moved, moves
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.convolution.resized import looks_at_one
from egraph_opt.rewrites.convolution.sums import RING, images
from egraph_opt.rewrites.views.expand_movement import ONE, target_of
from egraph_opt.rewrites.views.expanded_parts import (
    Apart,
    apart,
    expanded_parts,
    keeps_axis,
    left_out,
    most_behind,
)

law = laws_of("expand", numerics="reassociates", serves="arithmetic")


@hosted()
def keeps_channels(x: Fact, wide: Fact) -> bool:
    """An image that is expanded along other axes than the one of channels, and gets none."""
    return x.rank == wide.rank and (x.rank or 0) > 2 and bool(keeps_axis.function(x, wide, 1))


@hosted()
def target_of_pixels(x: Fact, z: Fact) -> Dims | None:
    """The target of an Expand to z from the same of x, which has other channels and as many pixels as x."""
    if x.shape is None or not z.shape or len(x.shape) != len(z.shape):
        return None
    return target_of((x.shape[0], z.shape[1], *x.shape[2:]), z.shape)


@hosted()
def around_channels(x: Fact, t: Fact) -> tuple[Slices, Slices] | None:
    """What stands in a target for the batch, and what for spatial axes."""
    if x.rank is None or t.shape != (x.rank,):
        return None
    return ((0, 0, 1, 1),), ((0, 2, x.rank, 1),)


def _points(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, b = g.input(("N", 4, 1, 1)), g.random(6, 4, 1, 1), g.random(6)
    wide, halves = expand(x, (1, 1, 5, 7)), ConvWindow((1, 1), (0,) * 4, (1, 1), 2)
    row = expand(g.input((1, 4, "L")), (3, 1, 1))
    target = concat(listed(shape_of(g.input(("M", 4, "L")), 0, 3), g.constant(np.array([3]))), 0)
    yield from g.all_fire(
        conv(wide, w, b, PLAIN),
        conv(wide, g.random(6, 2, 1, 1), none(), halves),
        conv(row, g.random(6, 4, 1), b, ConvWindow((1,), (0, 0), (1,))),
        conv(expand_to(g.input((1, 4, 1, 1)), target), w, b, PLAIN),
    )
    yield from g.near_misses(
        (conv(wide, g.random(6, 4, 3, 1), none(), PLAIN), "the kernel sees neighbours"),
        (conv(wide, w, none(), RING), "it pads"),
        (conv(wide, w, none(), ConvWindow((2, 2), (0,) * 4, (1, 1))), "it strides"),
        (conv(expand(g.input(("N", 1, 1, 1)), (1, 4, 5, 7)), w, b, PLAIN), "channels are expanded"),
        (conv(expand_to(g.input((1, 1, 1, 1)), target), w, b, PLAIN), "channels are expanded"),
        (conv(expand(g.input((4, 1, 1)), (2, 4, 5, 7)), w, b, PLAIN), "the batch is an axis more"),
        (conv(x, w, b, PLAIN), "nothing is expanded"),
    )


@law(kind="move", source="DeepLab, arXiv 1706.05587", examples=_points, uses=(moves,))
def past_point_kernel(x: Tensor, w: Tensor, b: Tensor, t: Tensor, dims: Dims, u: ConvWindow):
    """Conv(Expand(x), W, b) = Expand(Conv(x, W, b)) for a kernel of 1 and channels that are there"""
    wide, once, why = moved("Expand", x, t, dims), conv(x, w, b, u), "all pixels are more to compute"
    z, known = conv(wide, w, b, u), (looks_at_one(w, u), keeps_channels(x, wide))
    yield rewrite(z, expand(once, target_of_pixels(x, z)), *known, because=why)
    both = around_channels(x, t)
    target = concat(listed(slice_(t, both[0]), literal(ONE), slice_(t, both[1])), 0)
    yield rewrite(conv(expand_to(x, t), w, b, u), expand_to(once, target), *known, because=why)


# --- channels -------------------------------------------------------------------------------------------


@hosted()
def summed_axes(x: Fact, wide: Fact, w: Fact, window: ConvWindow) -> Axes | None:
    """The axes of W along which all its elements see one of x, repeated: channels, or what a kernel spans.

    None where one is repeated elsewhere as well, or the sums may overflow.
    """
    shape = static_shape(w)
    if x.shape is None or wide.shape is None or (x.rank or 0) < 3 or x.rank != wide.rank or window.group != 1:
        return None
    if shape is None or not is_float_constant(w) or len(shape) != x.rank:
        return None
    axes = len(window.strides)
    repeated = [k for k, (a, b) in enumerate(zip(x.shape, wide.shape, strict=True)) if a == 1 and b != 1]
    others = [k for k in range(x.rank) if k not in repeated]
    if 0 in repeated or not all(symbolic.known_equal(x.shape[k], wide.shape[k]) for k in others):
        return None
    for k in (k - 2 for k in repeated if k > 1):
        dim, pads = wide.shape[k + 2], (window.pads[k], window.pads[k + axes])
        spare = dim - (shape[k + 2] - 1) * window.dilations[k] - 1 if isinstance(dim, int) else -1
        if any(pads) or not 0 <= spare < window.strides[k]:
            return None
    count = math.prod(shape[k] for k in repeated)
    largest = max(map(abs, known_elements(w) or (0.0,))) * count
    return tuple(repeated) if repeated and largest <= LARGEST.get(w.dtype, 0.0) else None


@hosted()
def window_of_sums(window: ConvWindow, axes: Axes) -> ConvWindow:
    """The window of a kernel that is 1 along some axes, where it is at one place only."""

    def along(sizes: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(1 if k + 2 in axes else size for k, size in enumerate(sizes))

    return replace(window, strides=along(window.strides), dilations=along(window.dilations))


def _repeated(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, b = g.input(("N", 1, 5, "L")), g.random(4, 3, 3, 3), g.random(4)
    wide, stepped = expand(x, (1, 3, 1, 1)), ConvWindow((2, 1), (0, 1, 0, 0), (2, 1))
    line, row = expand(g.input((2, 1, 6)), (1, 2, 1)), expand(g.input(("N", 3, 1, "L")), (1, 1, 4, 1))
    yield from g.all_fire(
        conv(wide, w, b, RING),
        conv(wide, w, none(), ConvWindow((2, 1), (0,) * 4, (1, 1))),
        conv(line, g.random(4, 2, 1), none(), ConvWindow((1,), (0, 0), (1,))),
        conv(row, g.random(4, 3, 4, 2), b, ConvWindow((3, 2), (0,) * 4, (1, 1))),
        conv(row, g.random(4, 3, 2, 3), none(), stepped),
        conv(expand(g.input(("N", 1, 1, "L")), (1, 3, 3, 1)), w, b, PLAIN),
    )
    yield from g.near_misses(
        (conv(wide, g.random(6, 1, 3, 3), none(), ConvWindow((1, 1), (1,) * 4, (1, 1), 3)), "groups"),
        (conv(wide, g.input((4, 3, 3, 3)), b, RING), "the weight varies"),
        (
            conv(expand(g.input(("N", 1, 1, "L")), (1, 3, 5, 1)), w, b, RING),
            "pixels are repeated, and padded",
        ),
        (conv(row, w, b, PLAIN), "there are two windows"),
        (conv(expand(g.input((1, 3, 5, 5)), (2, 1, 1, 1)), w, b, PLAIN), "images are repeated"),
        (conv(wide, g.constant(np.full((4, 3, 3, 3), 2e38, np.float32)), b, RING), "the sum overflows"),
    )


@law(kind="fuse", source="Qwen2-VL: one image as two frames", examples=_repeated)
def of_repeated_channel(x: Tensor, w: Tensor, b: Tensor, dims: Dims, u: ConvWindow):
    """Conv(Expand(x), W, b) = Conv(x, ReduceSum(W), b) for one channel that is repeated, or one frame"""
    wide = expand(x, dims)
    axes = summed_axes(x, wide, w, u)
    once = conv(x, reduce("ReduceSum", w, axes, 1), b, window_of_sums(u, axes))
    yield rewrite(conv(wide, w, b, u), once, because="the sum forgets its parts")


# --- beside others --------------------------------------------------------------------------------------


@hosted()
def channels_apart(w: Fact, y: Fact, behind: Number, window: ConvWindow, ends: Int) -> Apart | None:
    """Parts of a weight without groups, where others than y have channels at so many ends of it."""
    if w.rank is None or w.rank < 3 or y.rank != w.rank or window.group != 1:
        return None
    parts = apart(w, 1, y, 1, behind)
    return parts if parts is not None and len(parts.others) == ends else None


def _joined(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z = (g.input(("N", k, 5, 7)) for k in (4, 3, 3))
    wide, w, b = expand(g.input(("N", 2, 1, 1)), (1, 1, 5, 7)), g.random(6, 9, 1, 1), g.random(6)
    for parts in ((x, y, wide), (wide, x, y), (x, wide, y)):
        yield g.fires(conv(concat(listed(*parts), 1), w, b, PLAIN))
    row = g.input((3, 3, 5)), expand(g.input((1, 2, 1)), (3, 1, 5))
    yield g.fires(conv(concat(listed(*row), 1), g.random(6, 5, 1), none(), ConvWindow((1,), (0, 0), (1,))))
    thirds = ConvWindow((1, 1), (0,) * 4, (1, 1), 3)
    yield from g.near_misses(
        (conv(concat(listed(x, y, wide), 1), g.random(6, 3, 1, 1), b, thirds), "groups would be others"),
        (conv(concat(listed(x, y, z), 1), g.random(6, 10, 1, 1), b, PLAIN), "nothing is expanded"),
        (conv(concat(listed(x, y, wide), 1), g.random(6, 9, 3, 3), b, RING), "the kernel sees neighbours"),
        (conv(concat(listed(x, y, wide), 1), g.input((6, 9, 1, 1)), b, PLAIN), "the weight varies"),
        (
            conv(concat(listed(wide, g.input(("N", 2, 5, 3))), 3), g.random(6, 2, 1, 1), b, PLAIN),
            "joined along another axis",
        ),
    )


@law(
    kind="split",
    source="DeepLab, arXiv 1706.05587; PointNet, arXiv 1612.00593",
    examples=_joined,
    uses=(expanded_parts, images),
)
def image_apart(y: Tensor, xs: Tensors, ys: Tensors, w: Tensor, b: Tensor, u: ConvWindow, n: Number):
    """Conv(Concat(.., Expand(x), ..), W, b) = Conv(Concat(..), U, b) + Conv(Expand(x), V), along channels"""
    image = concat(xs, 1)
    found, first = eq(ys, left_out(xs, 1, y, n)), eq(n, most_behind(xs, 1))
    demand = guard(first, looks_at_one(w, u), is_constant(w), eq(joint(image), 0))
    for ends in (1, 2):
        parts = channels_apart(w, y, n, u, ends)
        cuts = [slice_(w, parts[1][k]) for k in range(ends)]
        others = cuts[0] if ends == 1 else concat(listed(*cuts), 1)
        both = conv(concat(ys, 1), others, b, u) + conv(y, slice_(w, parts[0]), none(), u)
        yield rewrite(conv(image, w, b, u), both, found, demand, because="the others are one list")
