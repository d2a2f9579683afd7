"""Convolutions whose kernel is too large for the target become sums of convolutions with parts of it.

    Conv(x, W, b) -> Conv(x, W[:m], b) + Conv(x[m*d:], W[m:])    along one spatial axis, dilation d
    Conv(x, W, b) -> Conv(Concat(x[0:], x[m*d:], ..), Concat(W[:m], W[m:2*m], ..), b)      of equal parts
    Conv(x, W, b; pads) -> Conv(Pad(x), W, b)                     along that axis

where all parts of x end so that as many windows fit as before.  The laws fire above the limit
`conv_kernel` only, one axis at a time, and again on what they made: the parts are nearly equal in the end.
Strides above the limit `conv_stride` come first (`large_stride`), which makes kernels smaller as well.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws import Example, Operands, auxiliary, eq, guard, hosted, law, rewrite, rule, table, union
from egraph_opt.laws.algebra import is_constant
from egraph_opt.laws.sorts import Pads, Slices, Tensor, Tensors
from egraph_opt.operators import ConvWindow, concat, conv, none, pad, slice_
from egraph_opt.operators.terms import cons, limit, nil

# --- how a kernel is cut ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """Parts of a kernel along one axis of the weight: from each border to the next."""

    axis: int
    borders: tuple[int, ...]


def _beyond(w: Fact, most: int) -> int | None:
    """The first spatial axis along which the kernel is beyond the limit."""
    kernel = (w.shape or ())[2:]
    return next((k for k, size in enumerate(kernel) if isinstance(size, int) and size > most), None)


def _is_padded(window: ConvWindow, along: int) -> bool:
    return bool(window.pads[along] or window.pads[along + len(window.strides)])


@hosted()
def halves(w: Fact, window: ConvWindow, most: int) -> Cut | None:
    """Where a kernel beyond the limit is cut in two: so many parts on each side that all are equal at last.

    None where the axis is padded: then the padding comes apart first.
    """
    along = _beyond(w, most)
    if along is None or w.shape is None or _is_padded(window, along):
        return None
    size: Any = w.shape[along + 2]
    parts = -(-size // most)
    return Cut(along + 2, (0, size * (parts // 2) // parts, size))


MOST_PARTS = 8
"""Into how many parts a kernel is folded."""


@hosted()
def equal_parts(w: Fact, window: ConvWindow, most: int) -> Cut | None:
    """The cut of a kernel without groups into equal parts, if they are as few as the limit allows."""
    cut = halves(w, window, most)
    if cut is None or window.group != 1:
        return None
    size = cut.borders[-1]
    parts = -(-size // most)
    if size % parts or parts > MOST_PARTS:
        return None
    return Cut(cut.axis, tuple(range(0, size + 1, size // parts)))


@hosted()
def taps(cut: Cut) -> tuple[Slices, ...]:
    """The parts of the kernel."""
    return tuple(((cut.axis, start, end, 1),) for start, end in pairwise(cut.borders))


def _part(axis: int, start: int, left: int, dim: Dim) -> Slices:
    """From `start` on, without the last `left` elements."""
    if isinstance(dim, int):
        return ((axis, start, dim - left, 1),)
    return ((axis, start, -left if left else None, 1),)


@hosted()
def pixels(x: Fact, cut: Cut, window: ConvWindow) -> tuple[Slices, ...] | None:
    """The parts of x that the parts of the kernel walk over; None where no window fits."""
    if x.shape is None:
        return None
    dim, dilation, size = x.shape[cut.axis], window.dilations[cut.axis - 2], cut.borders[-1]
    if isinstance(dim, int) and dim <= dilation * (size - 1):
        return None
    bounds = ((start * dilation, (size - end) * dilation) for start, end in pairwise(cut.borders))
    return tuple(_part(cut.axis, start, left, dim) for start, left in bounds)


@hosted()
def steps_fit(window: ConvWindow, most: int) -> bool:
    """A stride beyond the limit would stay beyond it."""
    return max(window.strides) <= most


def demand(u: Any) -> Any:
    """Only where strides are within their limit."""
    return guard(steps_fit(u, limit("conv_stride")))


# --- a sum of two -------------------------------------------------------------------------------------------


_LIMITS = {"conv_kernel": 8, "conv_stride": 4}
_SHARED: dict[str, Any] = {
    "numerics": "reassociates",
    "kind": "split",
    "serves": "target",
    "source": "Ascend auto-optimizer, SplitLargeKernelConv",
}


def _near_misses(g: Operands) -> Iterator[Example]:
    """What neither law that cuts kernels applies to."""
    plain = ConvWindow((1,), (0, 0), (1,))
    x, w = g.input((1, 2, 20)), g.random(3, 2, 10)
    within = conv(x, w, none(), plain)
    yield g.near_miss(within, why="within the limit", conv_kernel=20, conv_stride=4)
    for window, weight, why in (
        (replace(plain, pads=(2, 1)), w, "the axis is padded"),
        (replace(plain, strides=(5,)), w, "the stride is beyond its limit"),
        (plain, g.input((3, 2, 10)), "the weight is no constant"),
    ):
        yield g.near_miss(conv(x, weight, none(), window), why, **_LIMITS)


def _split_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, plain = g.input((1, 2, 20)), ConvWindow((1,), (0, 0), (2,))
    yield g.fires(conv(x, g.random(3, 2, 9), g.random(3), plain), **_LIMITS)
    yield from _near_misses(g)


@law("large_kernel", examples=_split_examples, **_SHARED)
def split_kernel(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x, W, b) = Conv(x, W[:m], b) + Conv(x[m*d:], W[m:]) for a kernel beyond the target's limit"""
    cut = halves(w, u, limit("conv_kernel"))
    near, far = (
        conv(slice_(x, pixels(x, cut, u)[k]), slice_(w, taps(cut)[k]), bias, u)
        for k, bias in enumerate((b, none()))
    )
    cuttable = (guard(is_constant(w)), demand(u))
    yield rewrite(conv(x, w, b, u), near + far, *cuttable, inverse="convolution_sums.of_shifted_images")


# --- one of all parts ---------------------------------------------------------------------------------------


@table(merge="new")
def slices_of(x: Tensor, specs: Any) -> Tensors:
    """The list of some slices of one value."""


@hosted()
def first_of(specs: Any) -> Slices | None:
    return specs[0] if specs else None


@hosted()
def rest_of(specs: Any) -> Any:
    return specs[1:]


@auxiliary()
def lists_of_slices(x: Tensor, ys: Tensors, specs: Any):
    """Defines `slices_of`."""
    yield rule(eq(ys, slices_of(x, ())), then=union(ys, nil()))
    longer = cons(slice_(x, first_of(specs)), slices_of(x, rest_of(specs)))
    yield rule(eq(ys, slices_of(x, specs)), first_of(specs), then=union(ys, longer))


def _fold_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    plain, dilated = ConvWindow((1,), (0, 0), (1,)), ConvWindow((2, 1), (0, 1, 0, 1), (2, 1))
    yield g.fires(conv(g.input((1, 2, 61, 7)), g.random(3, 2, 24, 3), g.random(3), dilated), **_LIMITS)
    odd = conv(g.input((1, 4, 40)), g.random(4, 4, 9), none(), plain)
    yield g.near_miss(odd, why="the parts are not equal", **_LIMITS)
    grouped = conv(g.input((1, 4, 40)), g.random(4, 2, 10), none(), replace(plain, group=2))
    yield g.near_miss(grouped, why="groups would be others", **_LIMITS)
    yield from _near_misses(g)


@law("large_kernel", uses=(lists_of_slices,), examples=_fold_examples, **{**_SHARED, "source": "algebra"})
def fold_kernel(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x, W, b) = Conv(Concat(x[0:], x[m*d:], ..), Concat(W[:m], W[m:2*m], ..), b) of equal parts

    The parts are added up within one convolution.
    """
    cut = equal_parts(w, u, limit("conv_kernel"))
    image, weight = (concat(slices_of(v, parts), 1) for v, parts in ((x, pixels(x, cut, u)), (w, taps(cut))))
    yield rewrite(
        conv(x, w, b, u),
        conv(image, weight, b, u),
        guard(is_constant(w)),
        demand(u),
        because="channels do not tell that they are parts of a kernel",
    )


# --- pads ---------------------------------------------------------------------------------------------------


@hosted()
def pads_along(w: Fact, window: ConvWindow, most: int) -> Pads | None:
    """The pads, for all axes of x, of the axis along which the kernel is beyond the limit."""
    along, axes = _beyond(w, most), len(window.strides)
    if along is None or not _is_padded(window, along):
        return None
    moved = [p if k % axes == along else 0 for k, p in enumerate(window.pads)]
    return (0, 0, *moved[:axes], 0, 0, *moved[axes:])


@hosted()
def without_pads(window: ConvWindow, pads: Pads) -> ConvWindow:
    """The window without pads that x has instead."""
    axes = len(window.strides)
    moved = (*pads[2 : axes + 2], *pads[axes + 4 :])
    return replace(window, pads=tuple(p - q for p, q in zip(window.pads, moved, strict=True)))


@law("large_kernel", **_SHARED)
def pads_apart(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x, W, b; pads) = Conv(Pad(x), W, b) along an axis whose kernel is beyond the target's limit"""
    pads = pads_along(w, u, limit("conv_kernel"))
    padded = conv(pad(x, "constant", pads, 0.0), w, b, without_pads(u, pads))
    yield rewrite(conv(x, w, b, u), padded, demand(u), inverse="padding.pad_into_conv")
