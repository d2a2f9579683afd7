"""Pads in front of convolutions and pooling become theirs.

Pad(x; no elements) = x
Conv(Pad(x), W, b) = Conv(x, W, b) with bigger pads                 zeros
AveragePool(Pad(x)) = AveragePool(x) with bigger pads, counted      zeros
MaxPool(Pad(x)) = MaxPool(x) with bigger pads                       -inf, or anything that max never takes
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.compat import PyObject, String, holds, let, rewrite
from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import ConvWindow, PoolWindow, conv, none, pad, pool, unary
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact

Pads = tuple[int, ...]


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
def padded_convolution(window: ConvWindow, mode: str, pads: Pads, value: float) -> ConvWindow | None:
    """The window that pads by itself."""
    merged = added(window.pads, pads) if mode == "constant" and value == 0 else None
    return None if merged is None else replace(window, pads=merged)


def _reaches_data(window: PoolWindow, pads: Pads) -> bool:
    """Every window holds an element of x (and the pads are smaller than the kernel, as runtimes ask)."""
    sizes = (*window.kernel, *window.kernel)
    whole = not window.ceil_mode and all(d == 1 for d in window.dilations)
    return whole and all(p < k for p, k in zip(pads, sizes, strict=True))


@hosted()
def padded_average(kind: str, window: PoolWindow, mode: str, pads: Pads, value: float) -> PoolWindow | None:
    """The window of an AveragePool that pads by itself; its own pads, if any, must count as well."""
    merged = added(window.pads, pads) if (kind, mode) == ("AveragePool", "constant") and value == 0 else None
    if merged is None or not _reaches_data(window, merged):
        return None
    counted = window.count_include_pad or not any(window.pads)
    return replace(window, pads=merged, count_include_pad=1) if counted else None


@hosted()
def padded_maximum(
    kind: str, window: PoolWindow, mode: str, pads: Pads, value: float, least: float
) -> PoolWindow | None:
    """The window of a MaxPool that pads by itself, where no element of x is less than `least`."""
    merged = added(window.pads, pads) if (kind, mode) == ("MaxPool", "constant") and value <= least else None
    return replace(window, pads=merged) if merged is not None and _reaches_data(window, merged) else None


@hosted(default=False)
def has_pixels(x: Fact) -> bool:
    """No spatial axis may be empty: windows would hold pads only, and onnxruntime pools no empty image."""
    return x.shape is not None and all((symbolic.lower_bound(d) or 0) > 0 for d in x.shape[2:])


@hosted(default=False)
def adds_nothing(pads: Pads) -> bool:
    return not any(pads)


def _empty_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    for shape in (("N", 4), (2, 3, "L", 5), ()):
        for mode in ("constant", "edge", "reflect"):
            yield g.fires(pad(g.input(shape), mode, (0, 0) * len(shape), 0.0))
    yield g.near_miss(pad(g.input((2, 3)), "constant", (0, 1, 0, -1), 0.0), why="it moves the columns")


@law("padding", numerics="bitwise", examples=_empty_examples)
def without_pads(x: Tensor, mode: PyObject, pads: PyObject, value: PyObject) -> Iterator[Any]:
    """Pad(x; no elements) = x

    Source: onnxoptimizer, eliminate_nop_pad.
    """
    yield rewrite(pad(x, mode, pads, value), x, holds(adds_nothing, pads))


def _convolution_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape, weight, window, pads in (
        (("N", 2, "L"), (3, 2, 3), ConvWindow((2,), (1, 0), (1,)), (0, 0, 1, 0, 0, 2)),
        ((1, 2, 4, 5), (2, 1, 3, 3), ConvWindow((1, 1), (0,) * 4, (2, 1), 2), (0, 0, 1, 2, 0, 0, 3, 0)),
        (
            (1, 2, 3, 3, 3),
            (1, 2, 2, 2, 2),
            ConvWindow((1,) * 3, (0,) * 6, (1,) * 3),
            (0, 0, 1, 0, 0, 0, 0, 0, 1, 1),
        ),
    ):
        g = Operands(rng)
        padded = pad(g.input(shape), "constant", pads, 0.0)
        yield g.fires(conv(padded, g.random(*weight), none(), window))
        yield g.fires(conv(padded, g.random(*weight), g.random(weight[0]), window))
    g = Operands(rng)
    x, w = g.input((1, 2, 5, 5)), g.random(3, 2, 3, 3)
    window = ConvWindow((1, 1), (0,) * 4, (1, 1))
    ring = (0, 0, 1, 1, 0, 0, 1, 1)
    yield g.near_miss(conv(pad(x, "constant", ring, 1.0), w, none(), window), why="pads are not 0")
    yield g.near_miss(conv(pad(x, "reflect", ring, 0.0), w, none(), window), why="pads are a mirror")
    channel = pad(g.input((1, 1, 5, 5)), "constant", (0, 1, 1, 1, 0, 0, 1, 1), 0.0)
    yield g.near_miss(conv(channel, w, none(), window), why="a channel is added")


@law("padding", numerics="reassociates", examples=_convolution_examples)
def pad_into_conv(
    x: Tensor, mode: PyObject, p: PyObject, value: PyObject, w: Tensor, b: Tensor, u: PyObject, v: PyObject
) -> Iterator[Any]:
    """Conv(Pad(x), W, b) = Conv(x, W, b) with bigger pads

    Source: onnxoptimizer fuse_pad_into_conv.
    """
    yield rewrite(
        conv(pad(x, mode, p, value), w, b, u), conv(x, w, b, v), let(v, padded_convolution, u, mode, p, value)
    )


def _pooled(kernel: Pads, strides: Pads, pads: Pads, **more: int) -> PoolWindow:
    return PoolWindow(kernel, strides, pads, (1,) * len(kernel), **more)


_RING = (0, 0, 1, 1, 0, 0, 1, 1)


def _average_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    for dim in (7, "L"):
        line = pad(g.input(("N", 2, dim)), "constant", (0, 0, 1, 0, 0, 1), 0.0)
        pooled = pool("AveragePool", line, _pooled((3,), (2,), (0, 0)))
        yield g.fires(pooled) if dim == 7 else g.near_miss(pooled, why="there may be no pixels")
    g = Operands(rng)
    x = g.input((1, 2, 6, 7))
    zeros = pad(x, "constant", _RING, 0.0)
    counted = _pooled((3, 4), (2, 1), (0, 1, 0, 1), count_include_pad=1)
    yield g.fires(pool("AveragePool", zeros, counted))
    yield g.fires(pool("AveragePool", zeros, _pooled((2, 3), (1, 1), (0, 0, 0, 0), count_include_pad=1)))
    for window, why in (
        (_pooled((3, 3), (1, 1), (0, 1, 0, 1)), "its own pads do not count"),
        (_pooled((3, 3), (2, 2), (0,) * 4, ceil_mode=1), "parts of windows"),
        (_pooled((3, 1), (1, 1), (0,) * 4), "windows of pads only"),
    ):
        yield g.near_miss(pool("AveragePool", zeros, window), why)
    ones = pad(x, "constant", _RING, 1.0)
    yield g.near_miss(pool("AveragePool", ones, _pooled((3, 3), (1, 1), (0,) * 4)), why="pads are not 0")


@law("padding", numerics="reassociates", examples=_average_examples)
def pad_into_average_pool(
    kind: String, x: Tensor, mode: PyObject, p: PyObject, value: PyObject, u: PyObject, v: PyObject
) -> Iterator[Any]:
    """AveragePool(Pad(x)) = AveragePool(x) with bigger pads, which count

    Source: onnxoptimizer fuse_pad_into_pool.
    """
    padded = pool(kind, pad(x, mode, p, value), u)
    yield rewrite(
        padded,
        pool(kind, x, v),
        let(v, padded_average, kind, u, mode, p, value),
        holds(has_pixels, fact(x)),
    )


def _maximum_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, line = g.input(("N", 2, 6, 7)), g.input(("N", 2, 6, "L"))
    positive = unary("Relu", (), x)
    yield g.fires(
        pool("MaxPool", pad(x, "constant", _RING, -math.inf), _pooled((3, 2), (2, 2), (0, 0, 1, 0)))
    )
    yield g.fires(pool("MaxPool", pad(positive, "constant", _RING, 0.0), _pooled((2, 3), (1, 2), (0,) * 4)))
    yield g.fires(pool("MaxPool", pad(positive, "constant", _RING, -1.0), _pooled((2, 3), (1, 2), (0,) * 4)))
    window = _pooled((3, 3), (2, 2), (0,) * 4)
    yield g.near_miss(
        pool("MaxPool", pad(x, "constant", _RING, 0.0), window), why="elements may be less than 0"
    )
    yield g.near_miss(
        pool("MaxPool", pad(positive, "constant", _RING, 0.5), window), why="0.5 can be the maximum"
    )
    yield g.near_miss(pool("MaxPool", pad(positive, "edge", _RING, 0.0), window), why="pads are elements")
    perhaps = pad(line, "constant", _RING, -math.inf)
    yield g.near_miss(pool("MaxPool", perhaps, window), why="there may be no pixels")
    thin = _pooled((1, 3), (1, 1), (0,) * 4)
    yield g.near_miss(
        pool("MaxPool", pad(positive, "constant", _RING, 0.0), thin), why="windows of pads only"
    )


@law("padding", numerics="reassociates", examples=_maximum_examples)
def pad_into_max_pool(
    kind: String, x: Tensor, mode: PyObject, p: PyObject, value: PyObject, u: PyObject, v: PyObject
) -> Iterator[Any]:
    """MaxPool(Pad(x)) = MaxPool(x) with bigger pads, for pads of -inf, or behind a Relu of 0 or less

    Source: onnxoptimizer fuse_pad_into_pool.  The order of elements decides of a NaN.
    """
    positive = unary("Relu", (), x)
    infinite, zero = PyObject(-math.inf), PyObject(0.0)
    yield rewrite(
        pool(kind, pad(x, mode, p, value), u),
        pool(kind, x, v),
        let(v, padded_maximum, kind, u, mode, p, value, infinite),
        holds(has_pixels, fact(x)),
    )
    yield rewrite(
        pool(kind, pad(positive, mode, p, value), u),
        pool(kind, positive, v),
        let(v, padded_maximum, kind, u, mode, p, value, zero),
        holds(has_pixels, fact(x)),
    )
