"""Convolutions whose dilation is too large for the target see pixels that are far apart as neighbours.

    Conv(x, W, b; dilation d) -> Reshape(Conv(Reshape(x, [N, C, q, d]), W', b))         along one axis
    Conv(x, W, b; dilation d) -> batch-to-space of Conv(space-to-batch of x, W, b)      along any axes

Pixels that are d apart stand below each other in rows of d pixels, or each d-th one is an image of its own.
Where these do not come out even, or the pads are none of them, zeros fill the last one, and what is made of
them is cut off.  Above the limit `conv_dilation` only.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws import Example, Operands, guard, hosted, law, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Dims, Pads, Permutation, Slices, Tensor
from egraph_opt.operators import ConvWindow, conv, none, pad, reshape, slice_, transpose
from egraph_opt.operators.terms import limit
from egraph_opt.rewrites.conditions.channels import static_shape


class Stepped(NamedTuple):
    """An axis whose pixels are looked at in steps.

    Attributes:
        pads: the zeros around it.
        inside: those that are left to the convolution, in steps.
        steps: how many steps it has.
        made: the steps in what is made of it.
        length: how many pixels of these are no padding.
    """

    pads: tuple[int, int]
    inside: tuple[int, int]
    steps: int
    made: int
    length: int


def _axis(dim: Dim, size: int, step: int, before: int, behind: int) -> Stepped | None:
    """None where there is no pixel, or any number of them."""
    if not isinstance(dim, int) or min(before, behind) < 0:
        return None
    even = not (dim % step or before % step or behind % step)
    missing = -(dim + before + behind) % step
    pads = (0, 0) if even else (before, behind + missing)
    inside = (before // step, behind // step) if even else (0, 0)
    count, length = (dim + sum(pads)) // step, dim + before + behind - (size - 1) * step
    made = count + sum(inside) - size + 1
    return Stepped(pads, inside, count, made, length) if made > 0 and length > 0 else None


# --- a row ------------------------------------------------------------------------------------------------


class Rows(NamedTuple):
    """A row of pixels as rows of as many pixels as the dilation.

    Attributes:
        pads: the zeros around x, in x's rank.
        image, kernel: the dims of x and of the weight.
        window: of the convolution of the image.
        made: the dims of what it makes, as a row.
        kept: the part of that which is no padding.
    """

    pads: Pads
    image: Dims
    kernel: Dims
    window: ConvWindow
    made: Dims
    kept: Slices


@hosted()
def in_rows(x: Fact, w: Fact, window: ConvWindow, most: int) -> Rows | None:
    """None where the dilation is within the limit, the convolution strides, or looks along several axes.

    In front of the axis there are none but of one element; what is behind it stays together.
    """
    shape, axes = static_shape(w), len(window.strides)
    if shape is None or x.shape is None or len(x.shape) != len(shape) or any(s != 1 for s in window.strides):
        return None
    wide = [k for k in range(axes) if shape[k + 2] != 1]
    k = wide[0] if len(wide) == 1 else -1
    elsewhere = [p for n, p in enumerate(window.pads) if n % axes != k]
    if k < 0 or any(elsewhere) or any(d != 1 for d in x.shape[2 : k + 2]) or window.dilations[k] <= most:
        return None
    step, rank, behind = window.dilations[k], len(shape), x.shape[k + 3 :]
    inner = symbolic.product(behind)
    along = _axis(x.shape[k + 2], shape[k + 2], step, window.pads[k], window.pads[k + axes])
    if along is None or inner is None:
        return None
    pads = [0] * (2 * rank)
    pads[k + 2], pads[k + 2 + rank] = along.pads
    return Rows(
        pads=tuple(pads),
        image=(*x.shape[:2], along.steps, symbolic.mul(inner, step)),
        kernel=(*shape[:2], shape[k + 2], 1),
        window=ConvWindow((1, 1), (along.inside[0], 0, along.inside[1], 0), (1, 1), window.group),
        made=(x.shape[0], shape[0], *(1,) * k, along.made * step, *behind),
        kept=((k + 2, 0, along.length, 1),),
    )


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)

    def along(dim: Any, size: int, step: int, pads: tuple[int, int] = (0, 0), **other: Any) -> Any:
        x, group = g.input(("N", 4, other.get("rows", 1), dim)), other.get("group", 1)
        w, strides = g.random(6, 4 // group, 1, size), (1, other.get("stride", 1))
        return conv(x, w, g.random(6), ConvWindow(strides, (0, pads[0], 0, pads[1]), (1, step), group))

    for term in (
        along(20, 3, 5),
        along(20, 3, 5, (5, 5)),
        along(20, 3, 5, (10, 0), group=2),
        along(18, 3, 5, (5, 5)),
        along(23, 2, 6, (3, 4)),
    ):
        yield g.fires(term, conv_dilation=4)
    row = conv(g.input((2, 4, 21)), g.random(6, 4, 3), none(), ConvWindow((1,), (2, 3), (7,)))
    yield g.fires(row, conv_dilation=4)
    for image, pads in (((20, 3), (5, 0, 5, 0)), ((21, "L"), (2, 0, 0, 0))):
        window = ConvWindow((1, 1), pads, (5, 1))
        yield g.fires(conv(g.input((2, 4, *image)), g.random(6, 4, 3, 1), none(), window), conv_dilation=4)
    for term, why in (
        (along(20, 3, 4), "within the limit"),
        (along(20, 3, 5, stride=2), "every other pixel"),
        (along("L", 3, 5), "any number of pixels"),
        (along(20, 3, 5, rows=2), "two rows"),
    ):
        yield g.near_miss(term, why, conv_dilation=4)


SHARED: dict[str, Any] = {
    "numerics": "reassociates",
    "kind": "move",
    "serves": "target",
    "source": "space-to-batch, Chen et al. 2018 (DeepLab)",
}


@law("large_dilation", **SHARED, examples=_examples)
def dilated_along_rows(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x, W, b; dilation d) = Reshape(Conv(Reshape(x, [N, C, q, d]), W', b)) along a row, or a column"""
    how = in_rows(x, w, u, limit("conv_dilation"))
    image = reshape(pad(x, "constant", how[0], 0.0), how[1])
    row = reshape(conv(image, reshape(w, how[2]), b, how[3]), how[4])
    yield rewrite(conv(x, w, b, u), slice_(row, how[5]), guard(varies(x)), because="forgets the dilation")


# --- batches ----------------------------------------------------------------------------------------------


class Batches(NamedTuple):
    """Images of each d-th pixel.

    Attributes:
        pads: the zeros around x.
        parts: the dims of x, axes in steps parted.
        gathered: its axes, those within a step in front.
        images: the dims of all images.
        window: of the convolution of these.
        made, put_back: the dims of what it makes, parted, and its axes where they were.
        whole: the dims of that.
        kept: the part of it which is no padding.
    """

    pads: Pads
    parts: Dims
    gathered: Permutation
    images: Dims
    window: ConvWindow
    made: Dims
    put_back: Permutation
    whole: Dims
    kept: Slices


@hosted()
def in_batches(x: Fact, w: Fact, y: Fact, window: ConvWindow, most: int) -> Batches | None:
    """None where all dilations are within the limit, or one strides along an axis that is beyond."""
    shape, axes = static_shape(w), len(window.strides)
    if shape is None or not x.is_symbolic or not y.is_symbolic or x.rank != len(shape) or axes < 2:
        return None
    dims, results = list(x.shape or ())[2:], list(y.shape or ())[2:]
    far = [k for k in range(axes) if window.dilations[k] > most and shape[k + 2] > 1]
    ends, found = list(zip(window.pads[:axes], window.pads[axes:], strict=True)), dict[int, Stepped]()
    for k in far:
        along = _axis(dims[k], shape[k + 2], window.dilations[k], *ends[k])
        if along is None or window.strides[k] != 1:
            return None
        found[k], dims[k], results[k], ends[k] = along, along.steps, along.made, along.inside
    if not far:
        return None
    steps, (count, channels) = [window.dilations[k] for k in far], (x.shape or ())[:2]
    places, parts = [0, 1], [count, channels]
    for k, dim in enumerate(dims):
        places.append(len(parts))
        parts += [dim, window.dilations[k]] if k in found else [dim]
    gathered = (*(places[k + 2] + 1 for k in far), *places)
    batch = symbolic.mul(count, math.prod(steps))
    around = [found[k].pads if k in found else (0, 0) for k in range(axes)]
    return Batches(
        pads=(0, 0, *(a for a, _ in around), 0, 0, *(b for _, b in around)),
        parts=tuple(parts),
        gathered=gathered,
        images=(batch, channels, *dims),
        window=replace(
            window,
            pads=(*(a for a, _ in ends), *(b for _, b in ends)),
            dilations=tuple(1 if k in found else d for k, d in enumerate(window.dilations)),
        ),
        made=(*steps, count, shape[0], *results),
        put_back=tuple(np.argsort(gathered).tolist()),
        whole=(
            count,
            shape[0],
            *(found[k].made * window.dilations[k] if k in found else r for k, r in enumerate(results)),
        ),
        kept=tuple((k + 2, 0, found[k].length, 1) for k in far),
    )


def _batch_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)

    def dilated(image: tuple[Any, Any], kernel: tuple[int, int], steps: tuple[int, int], **other: Any) -> Any:
        group = other.pop("group", 1)
        w = g.random(6, 4 // group, *kernel)
        window = ConvWindow(other.pop("strides", (1, 1)), other.pop("pads", (0,) * 4), steps, group)
        return conv(g.input(("N", 4, *image)), w, g.random(6), window)

    for term in (
        dilated((10, 10), (2, 2), (5, 5)),
        dilated((3, 20), (2, 3), (1, 5), pads=(1, 5, 0, 5)),
        dilated((15, 4), (3, 1), (5, 7), group=2),
        dilated((13, 17), (2, 3), (6, 5), pads=(1, 2, 3, 4)),
        dilated((3, 18), (1, 3), (1, 5), pads=(0, 5, 0, 5)),
    ):
        yield g.fires(term, conv_dilation=4)
    for term, why in (
        (dilated((20, 20), (3, 3), (4, 4)), "within the limit"),
        (dilated((20, 20), (2, 2), (5, 5), strides=(2, 1)), "every other pixel"),
        (dilated((20, "L"), (2, 2), (2, 5)), "any number of pixels"),
        (dilated((20, 20), (2, 1), (4, 5)), "one element is next to none"),
    ):
        yield g.near_miss(term, why, conv_dilation=4)


@law("large_dilation", **SHARED, examples=_batch_examples)
def dilated_in_batches(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x, W, b; dilation d) = Conv of the images of each d-th pixel, put together again"""
    z = conv(x, w, b, u)
    how = in_batches(x, w, z, u, limit("conv_dilation"))
    images = reshape(transpose(reshape(pad(x, "constant", how[0], 0.0), how[1]), how[2]), how[3])
    made = transpose(reshape(conv(images, w, b, how[4]), how[5]), how[6])
    yield rewrite(z, slice_(reshape(made, how[7]), how[8]), guard(varies(x)), because="forgets the dilation")
