"""Convolutions whose kernel is too large for the target become sums of convolutions with parts of it.

    Conv(x, W, b) = Conv(x, W[:m], b) + Conv(x[m*d:], W[m:])     along one spatial axis, dilation d
    Conv(x, W, b) = Conv(Concat(x[0:], x[m*d:], ..), Concat(W[:m], W[m:2*m], ..), b)       of equal parts
    Conv(x, W, b; pads) = Conv(Pad(x), W, b)                      along that axis

where all parts of x end so that as many windows fit as before.  The laws fire above the limit
`conv_kernel` only, one axis at a time, and again on what they made: the parts are nearly equal in the end.
Strides above the limit `conv_stride` come first (`large_stride`), which makes kernels smaller as well.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt import compat as egglog
from egraph_opt.compat import PyObject, eq, guard, holds, i64, let, rewrite
from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import ConvWindow, binary, concat, conv, none, pad, reshape, slice_, transpose
from egraph_opt.operators.host import hosted
from egraph_opt.operators.sorts import Slices
from egraph_opt.operators.terms import Tensor, cons, fact, limit, nil
from egraph_opt.rewrites.conditions.channels import static_dims
from egraph_opt.rewrites.transposes.windows import is_constant

Cut = tuple[int, int, int]
"""A spatial axis, its kernel, and how many elements of it the first part has."""


def _beyond(w: Fact, most: int) -> int | None:
    """The first spatial axis along which the kernel is beyond the limit."""
    kernel = (w.shape or ())[2:]
    return next((k for k, size in enumerate(kernel) if isinstance(size, int) and size > most), None)


@hosted()
def cut_of(w: Fact, window: ConvWindow, most: int) -> Cut | None:
    """Where a kernel beyond the limit is cut in two: so many parts on each side that all are equal at last.

    None where the axis is padded: then the padding comes apart first.
    """
    axis = _beyond(w, most)
    if axis is None or w.shape is None:
        return None
    size = w.shape[axis + 2]
    assert isinstance(size, int)
    if window.pads[axis] or window.pads[axis + len(window.strides)]:
        return None
    parts = -(-size // most)
    return axis, size, size * (parts // 2) // parts


def _part(axis: int, start: int, left: int, dim: Dim) -> Slices:
    """From `start` on, without the last `left` elements."""
    if isinstance(dim, int):
        return ((axis, start, dim - left, 1),)
    return ((axis, start, -left if left else None, 1),)


@hosted()
def pixels(x: Fact, cut: Cut, window: ConvWindow, second: int) -> Slices | None:
    """The part of x that one part of the kernel walks over."""
    axis, size, first = cut
    dilation = window.dilations[axis]
    if x.shape is None:
        return None
    start, left = (first * dilation, 0) if second else (0, (size - first) * dilation)
    dim = x.shape[axis + 2]
    if isinstance(dim, int) and dim <= dilation * (size - 1):
        return None  # no window fits
    return _part(axis + 2, start, left, dim)


@hosted()
def taps(cut: Cut, second: int) -> Slices:
    """One part of the kernel."""
    axis, size, first = cut
    return ((axis + 2, first, size, 1),) if second else ((axis + 2, 0, first, 1),)


_LIMITS = {"conv_kernel": 8, "conv_stride": 4}


def _convolutions() -> Iterator[tuple[tuple[Any, ...], tuple[int, ...], ConvWindow]]:
    """Shapes of x and W with windows, 1-D to 3-D, kernels beyond the limit, without pads along them."""
    yield (2, 3, 40), (4, 3, 9), ConvWindow((1,), (0, 0), (1,))
    yield (1, 4, 61), (6, 2, 17), ConvWindow((3,), (0, 0), (2,), 2)
    yield ("N", 2, "L"), (3, 2, 10), ConvWindow((2,), (0, 0), (1,))
    yield (1, 2, 7, 30), (3, 2, 3, 11), ConvWindow((1, 2), (1, 0, 1, 0), (1, 1))
    yield (1, 2, 31, 9), (3, 2, 12, 3), ConvWindow((4, 1), (0, 1, 0, 0), (1, 2))
    yield (1, 2, 14, 15), (2, 1, 10, 9), ConvWindow((1, 1), (0,) * 4, (1, 1), 2)
    yield (1, 1, 5, 12, 4), (2, 1, 2, 9, 2), ConvWindow((1, 1, 1), (1, 0, 0, 1, 0, 0), (1, 1, 1))


def _split_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape, weight, window in _convolutions():
        if "L" in shape:
            continue  # 7 of them are too few for the kernel
        g = Operands(rng)
        x, w = g.input(shape), g.random(*weight)
        yield g.fires(conv(x, w, none(), window), **_LIMITS)
        yield g.fires(conv(x, w, g.random(weight[0]), window), **_LIMITS)
        yield g.near_miss(conv(x, w, none(), window), why="the target has no limit")
        yield g.near_miss(conv(x, w, none(), window), why="within the limit", conv_kernel=20, conv_stride=4)
    g = Operands(rng)
    long = ConvWindow((2,), (0, 0), (1,))
    yield g.fires(
        conv(g.input(("N", 2, "L")), g.random(3, 2, 5), g.input((3,)), long), conv_kernel=4, conv_stride=4
    )
    padded = ConvWindow((1,), (2, 1), (1,))
    x, w = g.input((1, 2, 20)), g.random(3, 2, 9)
    yield g.near_miss(conv(x, w, none(), padded), why="the axis is padded", **_LIMITS)
    varying = conv(x, g.input((3, 2, 9)), none(), long)
    yield g.near_miss(varying, why="the weight is no constant", **_LIMITS)
    steps = conv(x, w, none(), replace(long, strides=(5,)))
    yield g.near_miss(steps, why="the stride is beyond its limit", **_LIMITS)


@hosted(default=False)
def steps_fit(window: ConvWindow, most: int) -> bool:
    """A stride beyond the limit would stay beyond it."""
    return max(window.strides) <= most


@law("large_kernel", numerics="reassociates", examples=_split_examples)
def split_kernel(
    x: Tensor, w: Tensor, b: Tensor, u: PyObject, most: i64, step: i64,
    cut: PyObject, head: PyObject, tail: PyObject, near: PyObject, far: PyObject,
) -> Iterator[Any]:  # fmt: skip
    """Conv(x, W, b) = Conv(x, W[:m], b) + Conv(x[m*d:], W[m:]) for a kernel beyond the target's limit

    Source: Ascend auto-optimizer, SplitLargeKernelConv.
    """
    first = conv(slice_(x, head), slice_(w, near), b, u)
    second = conv(slice_(x, tail), slice_(w, far), none(), u)
    yield rewrite(
        conv(x, w, b, u),
        binary("Add", first, second),
        eq(most).to(limit("conv_kernel")),
        guard(holds(is_constant, fact(w)), eq(step).to(limit("conv_stride")), holds(steps_fit, u, step)),
        let(cut, cut_of, fact(w), u, most),
        let(head, pixels, fact(x), cut, u, PyObject(0)),
        let(tail, pixels, fact(x), cut, u, PyObject(1)),
        let(near, taps, cut, PyObject(0)),
        let(far, taps, cut, PyObject(1)),
    )


MOST_PARTS = 8
"""Into how many parts a kernel is folded."""


@hosted()
def parts_of(w: Fact, window: ConvWindow, most: int, parts: int) -> Cut | None:
    """The cut of a kernel without groups into so many equal parts, if they are as few as the limit allows."""
    cut = cut_of(w, window, most)
    if cut is None or window.group != 1 or cut[1] % parts or -(-cut[1] // most) != parts:
        return None
    return cut[0], cut[1], cut[1] // parts


@hosted()
def pixels_of_part(x: Fact, cut: Cut, window: ConvWindow, index: int) -> Slices | None:
    """The part of x that one of the equal parts of the kernel walks over."""
    axis, size, length = cut
    if x.shape is None:
        return None
    dim, dilation = x.shape[axis + 2], window.dilations[axis]
    if isinstance(dim, int) and dim <= dilation * (size - 1):
        return None  # no window fits
    return _part(axis + 2, index * length * dilation, (size - (index + 1) * length) * dilation, dim)


@hosted()
def parts_apart(w: Fact, cut: Cut) -> tuple[int, ...] | None:
    """The dims of a weight [M, C, ..] with the parts of its kernel on an axis of their own."""
    axis, size, length = cut
    dims = static_dims(w)
    return None if dims is None else (*dims[: axis + 2], size // length, length, *dims[axis + 3 :])


@hosted()
def parts_first(w: Fact, cut: Cut) -> tuple[int, ...]:
    """The permutation that brings them in front of the channels."""
    axis, rank = cut[0], len(w.shape or ())
    return (0, axis + 2, *(k for k in range(1, rank + 1) if k != axis + 2))


@hosted()
def parts_as_channels(w: Fact, cut: Cut) -> tuple[int, ...] | None:
    """The dims of the weight with its parts among the channels."""
    axis, size, length = cut
    dims = static_dims(w)
    if dims is None:
        return None
    return (dims[0], dims[1] * (size // length), *dims[2 : axis + 2], length, *dims[axis + 3 :])


def _fold_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape, weight, window in (
        ((2, 3, 40), (4, 3, 10), ConvWindow((1,), (0, 0), (1,))),
        ((1, 2, 7, 61), (3, 2, 3, 24), ConvWindow((1, 2), (1, 0, 1, 0), (1, 2))),
        ((1, 2, 31, 9), (3, 2, 12, 3), ConvWindow((4, 1), (0, 1, 0, 0), (1, 2))),
    ):
        g = Operands(rng)
        x, w = g.input(shape), g.random(*weight)
        yield g.fires(conv(x, w, none(), window), **_LIMITS)
        yield g.fires(conv(x, w, g.random(weight[0]), window), **_LIMITS)
        yield g.near_miss(conv(x, w, none(), window), why="the target has no limits")
    g = Operands(rng)
    plain = ConvWindow((1,), (0, 0), (1,))
    yield g.fires(
        conv(g.input(("N", 2, "L")), g.random(3, 2, 6), none(), plain), conv_kernel=3, conv_stride=1
    )
    x = g.input((1, 4, 40))
    odd = conv(x, g.random(4, 4, 9), none(), plain)
    yield g.near_miss(odd, why="the parts are not equal", **_LIMITS)
    grouped = conv(x, g.random(4, 2, 10), none(), replace(plain, group=2))
    yield g.near_miss(grouped, why="groups would be others", **_LIMITS)


@law("large_kernel", numerics="reassociates", examples=_fold_examples)
def fold_kernel(
    x: Tensor, w: Tensor, b: Tensor, u: PyObject, most: i64, step: i64, cut: PyObject,
    d: PyObject, t: PyObject, e: PyObject,
) -> Iterator[Any]:  # fmt: skip
    """Conv(x, W, b) = Conv(Concat(x[0:], x[m*d:], ..), Concat(W[:m], W[m:2*m], ..), b) of equal parts

    Source: algebra; the parts are added up within one convolution.
    """
    weight = reshape(transpose(reshape(w, d), t), e)
    for parts in range(2, MOST_PARTS + 1):
        specs = [egglog.var(f"part{k}", PyObject) for k in range(parts)]
        pieces: Any = nil()
        for spec in reversed(specs):
            pieces = cons(slice_(x, spec), pieces)
        yield rewrite(
            conv(x, w, b, u),
            conv(concat(pieces, PyObject(1)), weight, b, u),
            eq(most).to(limit("conv_kernel")),
            guard(holds(is_constant, fact(w)), eq(step).to(limit("conv_stride")), holds(steps_fit, u, step)),
            let(cut, parts_of, fact(w), u, most, PyObject(parts)),
            let(d, parts_apart, fact(w), cut),
            let(t, parts_first, fact(w), cut),
            let(e, parts_as_channels, fact(w), cut),
            *(let(spec, pixels_of_part, fact(x), cut, u, PyObject(k)) for k, spec in enumerate(specs)),
        )


@hosted()
def pads_along(w: Fact, window: ConvWindow, most: int) -> tuple[int, ...] | None:
    """The pads, for all axes of x, of the axis along which the kernel is beyond the limit."""
    axis, axes = _beyond(w, most), len(window.strides)
    if axis is None or not (window.pads[axis] or window.pads[axis + axes]):
        return None
    pads = [0] * (2 * (axes + 2))
    pads[axis + 2], pads[axis + axes + 4] = window.pads[axis], window.pads[axis + axes]
    return tuple(pads)


@hosted()
def unpadded_along(w: Fact, window: ConvWindow, most: int) -> ConvWindow | None:
    """The window without those pads."""
    axis, axes = _beyond(w, most), len(window.strides)
    if axis is None:
        return None
    return replace(window, pads=tuple(0 if k % axes == axis else p for k, p in enumerate(window.pads)))


def _pad_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape, weight, window in _convolutions():
        g = Operands(rng)
        x, w = g.input(shape), g.random(*weight)
        pads = tuple(p + k % 3 for k, p in enumerate(window.pads, 1))
        padded = replace(window, pads=pads)
        y = conv(x, w, none(), padded)
        yield g.fires(y, **_LIMITS)
        yield g.near_miss(y, why="within the limit", conv_kernel=20, conv_stride=4)
        yield g.near_miss(y, why="the target has no limit")
    g = Operands(rng)
    bare = conv(g.input((1, 2, 20)), g.random(3, 2, 9), none(), ConvWindow((1,), (0, 0), (1,)))
    yield g.near_miss(bare, why="there are no pads", **_LIMITS)


@law("large_kernel", numerics="reassociates", examples=_pad_examples)
def pads_apart(
    x: Tensor, w: Tensor, b: Tensor, u: PyObject, v: PyObject, p: PyObject, most: i64, step: i64
) -> Iterator[Any]:
    """Conv(x, W, b; pads) = Conv(Pad(x), W, b) along an axis whose kernel is beyond the target's limit

    Source: Ascend auto-optimizer, SplitLargeKernelConv.
    """
    yield rewrite(
        conv(x, w, b, u),
        conv(pad(x, "constant", p, 0.0), w, b, v),
        eq(most).to(limit("conv_kernel")),
        guard(eq(step).to(limit("conv_stride")), holds(steps_fit, u, step)),
        let(p, pads_along, fact(w), u, most),
        let(v, unpadded_along, fact(w), u, most),
    )
