"""A linear layer of the patches of an image is a convolution whose stride is its kernel.

Reshape(Transpose(Reshape(x))) @ W = Reshape(Transpose(Conv(x, W')))
Conv(Reshape(Transpose(z)), W, b) -> Reshape(Transpose(Reshape(Transpose(Reshape(z))) @ W' + b))

The views cut the image into patches of p x p pixels and make a row of each, in any order of its pixels and
channels: so vision transformers are written that know no convolution.  Back, a product has no channels that a
target fills up with zeros.  Of tokens z, whose channels are last, rows are pixels with their channels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, kernel, law, rewrite, rule, union
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Dims, Int, Permutation, Tensor
from egraph_opt.operators import ConvWindow, conv, none, reshape, transpose
from egraph_opt.operators.terms import node
from egraph_opt.rewrites.conditions.channels import is_constant_bias, is_float_constant, static_shape
from egraph_opt.rewrites.convolution.folded_images import folded
from egraph_opt.rewrites.convolution.padding import has_pixels
from egraph_opt.rewrites.convolution.whole_image import is_no_double


class Patches(NamedTuple):
    """The convolution of patches: views of the matrix that make its kernel, the window, and views behind."""

    parts: Dims
    order: Permutation
    window: ConvWindow
    last: Permutation
    dims: Dims


@hosted()
def patches(x: Fact, apart: Dims, order: Permutation, dims: Dims, w: Fact) -> Patches | None:
    """None where views make no rows of whole patches, or the matrix is of another length or no constant."""
    sides = _sides(x, apart)
    if sides is None or not is_float_constant(w) or w.rank != 2:
        return None
    axes = len(sides)
    coarse, inner = (0, *range(2, 2 + 2 * axes, 2)), (1, *range(3, 3 + 2 * axes, 2))
    rows = order[axes + 1 :]
    sizes = [apart[k] for k in rows]
    if (
        order[: axes + 1] != coarse
        or sorted(rows) != list(inner)
        or not all(isinstance(d, int) for d in sizes)
    ):
        return None
    length, count = w.shape  # type: ignore[misc]
    if math.prod(sizes) != length or len(dims) < 2 or dims[-1] != length:  # type: ignore[arg-type]
        return None
    kernel_order = (len(rows), *(rows.index(k) for k in inner))
    window = ConvWindow(sides, (0,) * (2 * axes), (1,) * axes, 1)
    last = (0, *range(2, 2 + axes), 1)
    return Patches((*sizes, count), kernel_order, window, last, (*dims[:-1], count))


def _sides(x: Fact, apart: Dims) -> tuple[int, ...] | None:
    """The sides of the patches into which a view cuts spatial axes; None where it does not."""
    if x.shape is None or not x.is_symbolic or len(x.shape) < 3 or len(apart) != 2 * len(x.shape) - 2:
        return None
    if not all(symbolic.known_equal(a, b) for a, b in zip(apart[:2], x.shape[:2], strict=True)):
        return None
    sides = list[int]()
    for whole, count, side in zip(x.shape[2:], apart[2::2], apart[3::2], strict=True):
        if not isinstance(side, int) or side < 1:
            return None
        if not symbolic.known_equal(symbolic.product([count, side]), whole):
            return None
        sides.append(side)
    return tuple(sides) if max(sides) > 1 else None


def _patched(g: Operands, order: tuple[int, ...], rows: tuple[int | str, ...]) -> Any:
    x = g.input(("N", 3, 4, 6))
    return folded(x, ("N", 3, 2, 2, 2, 3), order, rows)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    w, wide = g.random(18, 5), g.input(("N", 3, 4, 3))
    yield g.fires(_patched(g, (0, 2, 4, 3, 5, 1), ("N", 4, 18)) @ w)
    yield g.fires(_patched(g, (0, 2, 4, 1, 3, 5), ("N", 2, 2, 18)) @ w)
    line = folded(g.input((2, 4, 6)), (2, 4, 2, 3), (0, 2, 1, 3), (4, 12))
    yield g.fires(line @ g.random(12, 3))
    columns = folded(wide, ("N", 3, 2, 2, 3, 1), (0, 2, 4, 5, 3, 1), ("N", 6, 6))
    yield g.fires(columns @ g.random(6, 4))
    for made, why in (
        (_patched(g, (0, 4, 2, 3, 5, 1), ("N", 4, 18)) @ w, "patches are in another order"),
        (_patched(g, (0, 2, 3, 4, 5, 1), ("N", 2, 36)) @ g.random(36, 4), "rows of several patches"),
        (_patched(g, (0, 2, 4, 3, 5, 1), ("N", 4, 18)) @ g.input((18, 5)), "the matrix is no constant"),
    ):
        yield g.near_miss(made, why)


@law(
    "convolution",
    numerics="reassociates",
    kind="fuse",
    serves="traffic",
    source="Vision Transformer, arXiv 2010.11929",
    examples=_examples,
)
def of_patches(x: Tensor, a: Dims, p: Permutation, d: Dims, w: Tensor):
    """Reshape(Transpose(Reshape(x))) @ W = Reshape(Transpose(Conv(x, W'))) for rows that are patches of x"""
    how = patches(x, a, p, d, w)
    image = conv(x, transpose(reshape(w, how[0]), how[1]), none(), how[2])
    rows = folded(x, a, p, d) @ w
    sound = kernel(is_no_double(x), has_pixels(x))
    image = reshape(transpose(image, how[3]), how[4])
    yield rewrite(rows, image, sound, guard(varies(x)), inverse="patches_of_convolution")


# --- and back -------------------------------------------------------------------------------------------


class Rows(NamedTuple):
    """The views that make a row of each patch, the view of the weight, and that of the result."""

    apart: Dims
    order: Permutation
    rows: Dims
    matrix: Dims
    image: Dims


@hosted()
def rows_of(x: Fact, w: Fact, window: ConvWindow) -> Rows | None:
    """None where patches overlap, are padded or leave pixels out, or are single pixels."""
    known = static_shape(w)
    if x.shape is None or known is None or len(x.shape) != len(known) or not is_float_constant(w):
        return None
    sides, axes = known[2:], len(known) - 2
    plain = replace(window, strides=()) == ConvWindow((), (0,) * (2 * axes), (1,) * axes)
    if not plain or window.strides != sides or all(side == 1 for side in sides):
        return None
    counts = list[int]()
    for dim, side in zip(x.shape[2:], sides, strict=True):
        if not isinstance(dim, int) or not dim or dim % side:
            return None
        counts.append(dim // side)
    apart: tuple[Dim, ...] = (*x.shape[:2], *chain(*zip(counts, sides, strict=True)))
    order = (0, *range(2, 2 + 2 * axes, 2), 1, *range(3, 3 + 2 * axes, 2))
    length = math.prod(known[1:])
    rows = (x.shape[0], math.prod(counts), length)
    return Rows(apart, order, rows, (known[0], length), (x.shape[0], known[0], *counts))


def _convolutions(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, b = g.input(("N", 3, 4, 6)), g.random(5, 3, 2, 3), g.random(5)
    window = ConvWindow((2, 3), (0,) * 4, (1, 1))
    yield g.fires(conv(x, w, none(), window))
    yield g.fires(conv(x, w, b, window))
    yield g.fires(conv(g.input((2, 4, 6)), g.random(3, 4, 2), none(), ConvWindow((2,), (0, 0), (1,))))
    yield from g.near_misses(
        (conv(x, w, b, replace(window, pads=(0, 0, 0, 3))), "padded"),
        (conv(x, w, b, replace(window, strides=(1, 3))), "patches overlap"),
        (conv(g.input((1, 3, 5, 6)), w, b, window), "a row of pixels is left out"),
        (conv(g.input((1, 6, 4, 6)), g.random(4, 3, 2, 3), none(), replace(window, group=2)), "groups"),
        (conv(x, g.random(5, 3, 1, 1), b, ConvWindow((1, 1), (0,) * 4, (1, 1))), "patches of one pixel"),
        (conv(g.input((1, 3, "L", 6)), w, b, window), "nobody knows how many patches there are"),
        (conv(x, g.input((5, 3, 2, 3)), b, window), "the weight is no constant"),
    )


@law(
    "convolution",
    numerics="reassociates",
    kind="split",
    serves="traffic",
    source="Vision Transformer, arXiv 2010.11929",
    examples=_convolutions,
)
def patches_of_convolution(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, k: Int):
    """Conv(x, W, b) = Reshape(Transpose(rows @ W' + b)), the rows being Reshape(Transpose(Reshape(x)))"""
    how = rows_of(x, w, u)
    rows = folded(x, how[0], how[1], how[2])
    made = rows @ transpose(reshape(w, how[3]), (1, 0))
    for bias, total, known in ((none(), made, ()), (b, made + b, (is_constant_bias(b, w),))):
        image = reshape(transpose(total, (0, 2, 1)), how[4])
        once = guard(varies(x), eq(w, node(k)))  # the weights of products are weights again
        yield rewrite(conv(x, w, bias, u), image, *known, once, inverse="of_patches")


# --- of tokens ------------------------------------------------------------------------------------------


@hosted()
def brings_last_second(p: Permutation) -> bool:
    """The last axis becomes that of the channels, and others keep their order."""
    return len(p) > 2 and p == (0, len(p) - 1, *range(1, len(p) - 1))


@hosted()
def rows_of_tokens(z: Fact, x: Fact, w: Fact, window: ConvWindow) -> Rows | None:
    """As `rows_of`, for tokens z, [N, L, C] or [N, H, W, C], that are the image x: [N, C, H, W]."""
    found = rows_of.function(x, w, window)
    if found is None or z.shape is None or x.shape is None or len(z.shape) not in (3, len(x.shape)):
        return None
    if not all(map(symbolic.known_equal, (z.shape[0], z.shape[-1]), x.shape[:2])):
        return None
    axes = len(x.shape) - 2
    apart = (x.shape[0], *found.apart[2:], x.shape[1])
    order = (0, *range(1, 1 + 2 * axes, 2), *range(2, 2 + 2 * axes, 2), 1 + 2 * axes)
    return Rows(apart, order, found.rows, tuple(reversed(found.matrix)), found.image)


@hosted()
def channels_after_taps(w: Fact) -> Permutation | None:
    """The kernel [M, C, ..] as [.., C, M]."""
    return (*range(2, w.rank), 1, 0) if w.rank and w.rank > 2 else None


def _tokens(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    z, pixels, first = g.input(("N", 24, 3)), g.input(("N", 4, 6, 3)), (0, 3, 1, 2)
    w, b, window = g.random(5, 3, 2, 3), g.random(5), ConvWindow((2, 3), (0,) * 4, (1, 1))
    line, three = ConvWindow((2,), (0, 0), (1,)), g.random(5, 3, 2)

    def image(tokens: Any, *dims: int | str, p: Permutation = (0, 2, 1)) -> Any:
        return reshape(transpose(tokens, p), dims)

    x = image(z, "N", 3, 4, 6)
    for bias in (none(), b):
        yield g.fires(conv(x, w, bias, window))
        yield g.fires(conv(transpose(pixels, first), w, bias, window))
        yield g.fires(conv(transpose(z, (0, 2, 1)), three, bias, line))
    for bias in (none(), b):
        turned, flat = transpose(g.input((2, 6, 4, 3)), (0, 3, 2, 1)), image(z, "N", 3, 4, 6, p=(0, 1, 2))
        yield g.near_miss(conv(turned, w, bias, window), why="rows are columns")
        yield g.near_miss(conv(flat, w, bias, window), why="tokens stay tokens")
    yield from g.near_misses(
        (conv(x, w, b, replace(window, pads=(0, 0, 0, 3))), "padded"),
        (conv(x, w, b, replace(window, strides=(1, 3))), "patches overlap"),
        (conv(image(g.input(("N", 3, 24)), "N", 3, 4, 6, p=(0, 1, 2)), w, b, window), "channels are first"),
        (conv(image(g.input((2, 24, 6)), 4, 3, 4, 6), w, b, window), "a token is of two images"),
        (conv(x, w, g.input((5,)), window), "the bias is no constant"),
        (conv(x, g.input((5, 3, 2, 3)), b, window), "the weight is no constant"),
    )


@law(
    "convolution",
    numerics="reassociates",
    kind="replace",
    serves="traffic",
    source="SegFormer, arXiv 2105.15203",
    examples=_tokens,
)
def patches_of_tokens(
    x: Tensor, z: Tensor, w: Tensor, b: Tensor, u: ConvWindow, p: Permutation, d: Dims, k: Int
):  # fmt: skip
    """Conv(Reshape(Transpose(z)), W, b) = Reshape(Transpose(rows @ W' + b)), of tokens z as they are"""
    how = rows_of_tokens(z, x, w, u)
    made = folded(z, how[0], how[1], how[2]) @ reshape(transpose(w, channels_after_taps(w)), how[3])
    for bias, total, known in ((none(), made, ()), (b, made + b, (is_constant_bias(b, w),))):
        y = conv(x, w, bias, u)
        product = reshape(transpose(total, (0, 2, 1)), how[4])
        for image in (reshape(transpose(z, p), d), transpose(z, p)):
            found = (eq(y, conv(x, w, bias, u)), eq(x, image), brings_last_second(p))
            once = guard(varies(z), eq(w, node(k)))
            yield rule(*found, *known, once, then=union(y, product), because="forgets the image")
