"""Convolutions with strides too large for the target take in neighbours as channels.

    Conv(x, W; stride s) = Conv(F(x), F(W); stride s/f)        along one spatial axis, f dividing s

F folds f neighbours along the axis, [.., C, .., f*m, ..] -> [.., C*f, .., m, ..], once x is padded and cut to
what the windows cover, and W is padded with zeros to a multiple of f.  The kernel becomes smaller as well.
The law fires above the limit `conv_stride` only.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.compat import Equal, PyObject, eq, guard, holds, i64, let, rule
from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import ConvWindow, conv, none, pad, reshape, slice_, transpose
from egraph_opt.operators.host import hosted
from egraph_opt.operators.sorts import Slices
from egraph_opt.operators.terms import Tensor, fact, limit
from egraph_opt.rewrites.transposes.windows import is_constant

Folding = tuple[int, int, int, int]
"""A spatial axis, how many neighbours fold, the extents of x and of the kernel after padding."""


@hosted()
def folding(x: Fact, w: Fact, z: Fact, window: ConvWindow, most: int) -> Folding | None:
    """The fold along the first axis whose stride is beyond the limit: least padding, then most neighbours.

    None where the axis is dilated, or its extents are not known as numbers.
    """
    axis = next((k for k, stride in enumerate(window.strides) if stride > most), None)
    if axis is None or x.shape is None or w.shape is None or z.shape is None or window.dilations[axis] != 1:
        return None
    extent, kernel, windows = x.shape[axis + 2], w.shape[axis + 2], z.shape[axis + 2]
    channels = (x.shape[1], w.shape[1])
    if not all(isinstance(n, int) and n > 0 for n in (extent, kernel, windows, *channels)):
        return None
    assert isinstance(kernel, int) and isinstance(windows, int)
    stride = window.strides[axis]
    factors = [f for f in range(2, stride + 1) if stride % f == 0 and stride // f <= most]
    factor = min(factors, key=lambda f: (-(-kernel // f) * f, -f))
    padded = -(-kernel // factor) * factor
    return axis, factor, (windows - 1) * stride + padded, padded


def _along(axis: int, rank: int, begin: int, end: int) -> tuple[int, ...] | None:
    """Pads of one axis, for all axes; None where there are none."""
    pads = [0] * (2 * rank)
    pads[axis], pads[axis + rank] = begin, end
    return tuple(pads) if begin or end else None


@hosted()
def pads_of_x(x: Fact, fold: Folding, window: ConvWindow) -> tuple[int, ...] | None:
    """What x lacks in front, and behind of what the windows cover."""
    axis, _, covered, _ = fold
    assert x.shape is not None
    extent, begin = x.shape[axis + 2], window.pads[axis]
    assert isinstance(extent, int)
    return _along(axis + 2, len(x.shape), begin, max(covered - extent - begin, 0))


@hosted()
def pads_of_w(w: Fact, fold: Folding) -> tuple[int, ...] | None:
    axis, _, _, padded = fold
    assert w.shape is not None
    kernel = w.shape[axis + 2]
    assert isinstance(kernel, int)
    return _along(axis + 2, len(w.shape), 0, padded - kernel)


@hosted()
def cut_of_x(x: Fact, fold: Folding, window: ConvWindow) -> Slices | None:
    """What the windows cover of x, padded in front; None where that is all of it."""
    axis, _, covered, _ = fold
    assert x.shape is not None
    extent = x.shape[axis + 2]
    assert isinstance(extent, int)
    return ((axis + 2, 0, covered, 1),) if covered < extent + window.pads[axis] else None


@hosted()
def apart(x: Fact, fold: Folding, of_kernel: int) -> Shape | None:
    """The dims with the neighbours on an axis of their own."""
    axis, factor, covered, padded = fold
    if not x.is_symbolic or x.shape is None:
        return None
    length = padded if of_kernel else covered
    return (*x.shape[: axis + 2], length // factor, factor, *x.shape[axis + 3 :])


@hosted()
def folded(x: Fact, fold: Folding, of_kernel: int) -> Shape | None:
    """The dims with the neighbours among the channels."""
    axis, factor, covered, padded = fold
    if x.shape is None or not isinstance(x.shape[1], int):
        return None
    length = padded if of_kernel else covered
    channels = x.shape[1] * factor
    return (x.shape[0], channels, *x.shape[2 : axis + 2], length // factor, *x.shape[axis + 3 :])


@hosted()
def behind_channels(x: Fact, fold: Folding) -> tuple[int, ...]:
    """The permutation that brings the neighbours behind the channels."""
    axis, rank = fold[0], len(x.shape or ())
    return (0, 1, axis + 3, *(k for k in range(2, rank + 1) if k != axis + 3))


@hosted()
def shorter_steps(fold: Folding, window: ConvWindow) -> ConvWindow:
    axis, factor, _, _ = fold
    axes = len(window.strides)
    strides = tuple(s // factor if k == axis else s for k, s in enumerate(window.strides))
    return replace(
        window, strides=strides, pads=tuple(0 if k % axes == axis else p for k, p in enumerate(window.pads))
    )


_LIMITS = {"conv_stride": 5}


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape, weight, window in (
        (("N", 1, 100), (4, 1, 16), ConvWindow((8,), (0, 0), (1,))),
        ((2, 4, 97), (6, 2, 21), ConvWindow((12,), (5, 9), (1,), 2)),
        ((1, 2, 3), (4, 2, 3), ConvWindow((7,), (0, 0), (1,))),
        ((1, 3, "L", 44), (4, 3, 2, 11), ConvWindow((1, 10), (1, 0, 1, 2), (1, 1))),
        ((1, 3, 31, 9), (4, 3, 6, 2), ConvWindow((6, 2), (0, 1, 0, 1), (1, 2))),
    ):
        g = Operands(rng)
        x, w = g.input(shape), g.random(*weight)
        yield g.fires(conv(x, w, none(), window), **_LIMITS)
        yield g.fires(conv(x, w, g.random(weight[0]), window), **_LIMITS)
        yield g.near_miss(conv(x, w, none(), window), why="the target has no limit")
        yield g.near_miss(conv(x, w, none(), window), why="within the limit", conv_stride=12)
    g = Operands(rng)
    w, window = g.random(4, 2, 3), ConvWindow((8,), (0, 0), (1,))
    x = g.input((1, 2, 40))
    yield g.near_miss(conv(g.input((1, 2, "L")), w, none(), window), why="the length is unknown", **_LIMITS)
    dilated = conv(x, w, none(), replace(window, dilations=(2,)))
    yield g.near_miss(dilated, why="the kernel is dilated", **_LIMITS)
    varying = conv(x, g.input((4, 2, 3)), none(), window)
    yield g.near_miss(varying, why="the weight is no constant", **_LIMITS)


@law("large_stride", numerics="reassociates", examples=_examples)
def fold_neighbours(
    x: Tensor, w: Tensor, b: Tensor, z: Tensor, u: PyObject, v: PyObject, most: i64, fold: PyObject,
    p: PyObject, r: PyObject, c: PyObject, d: PyObject, e: PyObject, k: PyObject, h: PyObject, t: PyObject,
) -> Iterator[Any]:  # fmt: skip
    """Conv(x, W; stride s) = Conv(F(x), F(W); stride s/f), F folding f neighbours into channels

    Source: hicann/ops-nn aclnn_convolution.cpp, which does so for one channel where the kernel is the stride.
    """
    asked = (
        eq(z).to(conv(x, w, b, u)),
        eq(most).to(limit("conv_stride")),
        *guard(holds(is_constant, fact(w))),
        *let(fold, folding, fact(x), fact(w), fact(z), u, most),
        *let(d, apart, fact(x), fold, PyObject(0)),
        *let(e, folded, fact(x), fold, PyObject(0)),
        *let(k, apart, fact(w), fold, PyObject(1)),
        *let(h, folded, fact(w), fold, PyObject(1)),
        *let(t, behind_channels, fact(x), fold),
        *let(v, shorter_steps, fold, u),
    )
    padded_x = let(p, pads_of_x, fact(x), fold, u), pad(x, "constant", p, 0.0)
    padded_w = let(r, pads_of_w, fact(w), fold), pad(w, "constant", r, 0.0)
    for x_asked, wide in (padded_x, (lacks(pads_of_x, fact(x), fold, u), x)):
        cut = let(c, cut_of_x, fact(x), fold, u), slice_(wide, c)
        for c_asked, covered in (cut, (lacks(cut_of_x, fact(x), fold, u), wide)):
            for w_asked, kernel in (padded_w, (lacks(pads_of_w, fact(w), fold), w)):
                image = reshape(transpose(reshape(covered, d), t), e)
                weight = reshape(transpose(reshape(kernel, k), t), h)
                yield rule(*asked, x_asked, c_asked, w_asked, then=Equal(z, conv(image, weight, b, v)))


def lacks(function: Any, *arguments: Any) -> Any:
    """The condition that a host function answers None."""
    return eq(PyObject(function)(*arguments)).to(PyObject(None))
