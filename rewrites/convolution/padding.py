"""Pads in front of convolutions and pooling become theirs.

Pad(x; no elements) -> x
Conv(Pad(x), W, b) -> Conv(x, W, b) with bigger pads                 zeros
AveragePool(Pad(x)) -> AveragePool(x) with bigger pads, counted      zeros
MaxPool(Pad(x)) -> MaxPool(x) with bigger pads                       -inf, or anything that max never takes

From the right to the left only targets need it: see `pooling.pads_apart`, `large_kernel.pads_apart`.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, kernel, laws_of, rewrite
from egraph_opt.laws.algebra import relu
from egraph_opt.laws.sorts import Mode, Number, Pads, Tensor
from egraph_opt.operators import ConvWindow, PoolWindow, conv, pad, pool
from egraph_opt.rewrites.convolution.pool_axes import along_axes

law = laws_of("padding", numerics="reassociates", kind="fuse", serves="traffic")

FORGETS = "forgets which pads were apart"


def spatial(pads: Pads) -> Pads | None:
    """The pads of the spatial axes; None where batch or channels are padded."""
    rank = len(pads) // 2
    if rank < 3 or any(pads[k] or pads[k + rank] for k in (0, 1)):
        return None
    return (*pads[2:rank], *pads[rank + 2 :])


def added(window: Pads, pads: Pads) -> Pads | None:
    """Pads of a window and pads in front of it, as one; None where these are not spatial ones."""
    own = spatial(pads)
    if own is None or len(own) != len(window):
        return None
    return tuple(a + b for a, b in zip(window, own, strict=True))


@hosted()
def padded_convolution(window: ConvWindow, pads: Pads) -> ConvWindow | None:
    """The window that pads by itself."""
    merged = added(window.pads, pads)
    return None if merged is None else replace(window, pads=merged)


@hosted()
def padded_pool(window: PoolWindow, pads: Pads) -> PoolWindow | None:
    """The window that pads by itself.

    Every window holds an element of x, and the pads are smaller than the kernel, as runtimes ask.
    """
    merged, sizes = added(window.pads, pads), (*window.kernel, *window.kernel)
    if merged is None or window.ceil_mode or any(d != 1 for d in window.dilations):
        return None
    within = all(p < k for p, k in zip(merged, sizes, strict=True))
    return replace(window, pads=merged) if within else None


@hosted()
def padded_average(window: PoolWindow, pads: Pads, x: Fact) -> PoolWindow | None:
    """The window that pads by itself and counts that; its own pads, if any, must count as well.

    It has to fit: onnxruntime pools what is smaller by less than a stride, too.
    """
    counts = window.count_include_pad or not any(window.pads)
    padded: PoolWindow | None = padded_pool.function(window, pads) if counts else None
    if padded is None or x.shape is None or len(x.shape) != len(window.kernel) + 2:
        return None
    for dim, (size, _, before, behind, dilation) in zip(x.shape[2:], along_axes(padded), strict=True):
        if not symbolic.is_at_least(dim, (size - 1) * dilation + 1 - before - behind):
            return None
    return replace(padded, count_include_pad=1)


@hosted()
def is_zero(value: Number) -> bool:
    return value == 0


@hosted()
def is_at_most(value: Number, least: Number) -> bool:
    return value <= least


@hosted()
def has_pixels(x: Fact) -> bool:
    """No spatial axis may be empty: windows would hold pads only, and onnxruntime pools no empty image."""
    return x.shape is not None and all((symbolic.lower_bound(d) or 0) > 0 for d in x.shape[2:])


@hosted()
def adds_nothing(pads: Pads) -> bool:
    return not any(pads)


@law(numerics="bitwise", kind="eliminate", source="onnxoptimizer eliminate_nop_pad")
def without_pads(x: Tensor, mode: Mode, pads: Pads, value: Number):
    """Pad(x; no elements) = x"""
    yield rewrite(pad(x, mode, pads, value), x, adds_nothing(pads), because="every x is its own Pad")


@law(source="onnxoptimizer fuse_pad_into_conv")
def pad_into_conv(x: Tensor, p: Pads, value: Number, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(Pad(x), W, b) = Conv(x, W, b) with bigger pads"""
    left = conv(pad(x, "constant", p, value), w, b, u)
    yield rewrite(left, conv(x, w, b, padded_convolution(u, p)), is_zero(value), because=FORGETS)


@law(source="onnxoptimizer fuse_pad_into_pool")
def pad_into_average_pool(x: Tensor, p: Pads, value: Number, u: PoolWindow):
    """AveragePool(Pad(x)) = AveragePool(x) with bigger pads, which count"""
    left = pool("AveragePool", pad(x, "constant", p, value), u)
    right = pool("AveragePool", x, padded_average(u, p, x))
    yield rewrite(left, right, is_zero(value), kernel(has_pixels(x)), because=FORGETS)


def _no_pixels(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, window = g.input((1, 2, 0, 3)), PoolWindow((3, 2), (3, 2), (0,) * 4, (1, 1))
    for value, image in ((-math.inf, x), (-1.0, relu(x))):
        padded = pad(image, "constant", (0, 0, 2, 0, 0, 0, 2, 0), value)
        yield g.near_miss(pool("MaxPool", padded, window), why="there is nothing but pads")


@law(source="onnxoptimizer fuse_pad_into_pool", examples=_no_pixels)
def pad_into_max_pool(x: Tensor, p: Pads, value: Number, u: PoolWindow):
    """MaxPool(Pad(x)) = MaxPool(x) with bigger pads, for pads of -inf, or behind a Relu of 0 or less

    The order of elements decides of a NaN.
    """
    for image, least in ((x, -math.inf), (relu(x), 0.0)):
        left = pool("MaxPool", pad(image, "constant", p, value), u)
        right = pool("MaxPool", image, padded_pool(u, p))
        yield rewrite(left, right, is_at_most(value, least), has_pixels(x), because=FORGETS)
