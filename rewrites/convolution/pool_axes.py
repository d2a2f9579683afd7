"""Pools along one axis after the other, and maxima of maxima.

Pool(x; kh x kw) = Pool(Pool(x; 1 x kw); kh x 1)                     with any strides and pads
MaxPool(x; k1 + (k2 - 1) * s1, stride s1 * s2) = MaxPool(MaxPool(x; k1, stride s1); k2, stride s2)

The windows of a maximum may overlap, those of an average may not: see `pooling.cascade_of_pools`.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Example,
    Operands,
    absent,
    eq,
    guard,
    hosted,
    kernel,
    laws_of,
    ne,
    rewrite,
    rule,
    union,
)
from egraph_opt.laws.sorts import Int, String, Tensor
from egraph_opt.operators import PoolWindow, pool
from egraph_opt.operators.terms import limit, node
from egraph_opt.rewrites.conditions.steps import entire, wholes
from egraph_opt.rewrites.convolution.pooling import covers_input, is_plain, is_within, window_fits

law = laws_of("pooling", numerics="reassociates", kind="split", serves="arithmetic")

Along = tuple[int, int, int, int, int]
"""A window along one axis: kernel, stride, pads before and behind, dilation."""

STILL: Along = (1, 1, 0, 0, 1)
"""Along an axis that is not pooled."""


def along_axes(window: PoolWindow) -> list[Along]:
    axes = len(window.kernel)
    pads = (window.pads[:axes], window.pads[axes:])
    return list(zip(window.kernel, window.strides, *pads, window.dilations, strict=True))


def of_axes(window: PoolWindow, along: list[Along]) -> PoolWindow:
    """A window of the same kind, along each axis as given."""
    sizes, strides, before, behind, dilations = zip(*along, strict=True)
    return replace(window, kernel=sizes, strides=strides, pads=(*before, *behind), dilations=dilations)


# --- one axis after the other ---------------------------------------------------------------------------


def leaves_out_pads(kind: str, window: PoolWindow) -> bool:
    """No pad is counted, so that the partial windows of `ceil_mode` are as good as others."""
    return kind == "MaxPool" or not window.count_include_pad


@hosted()
def axis_by_axis(kind: str, window: PoolWindow) -> tuple[PoolWindow, PoolWindow] | None:
    """The windows along one axis and along the others, in the order that takes less work."""
    along = along_axes(window)
    wide = [k for k, (size, *_) in enumerate(along) if size > 1]
    if len(wide) < 2 or (window.ceil_mode and not leaves_out_pads(kind, window)):
        return None
    first = min(wide, key=lambda k: (_work(along, k), -k))
    inner = [STILL if k in wide and k != first else a for k, a in enumerate(along)]
    outer = [a if k in wide and k != first else STILL for k, a in enumerate(along)]
    return of_axes(window, inner), of_axes(window, outer)


def _work(along: list[Along], first: int) -> int:
    """How many elements are looked at for one of the result if this axis is pooled first."""
    elsewhere = [a for k, a in enumerate(along) if k != first and a[0] > 1]
    inner = along[first][0] * math.prod(stride for _, stride, *_ in elsewhere)
    return inner + math.prod(size for size, *_ in elsewhere)


@hosted()
def saves_work(window: PoolWindow) -> bool:
    along = along_axes(window)
    wide = [k for k, (size, *_) in enumerate(along) if size > 1]
    return bool(wide) and min(_work(along, k) for k in wide) < math.prod(window.kernel)


@hosted()
def fits_by_axis(window: PoolWindow, side: int, area: int, stride: int) -> bool:
    """The window is within the target's limits along each axis, but not as a whole, or has a dilation."""
    along = all(window_fits((k,), (s,), side, area, stride) for k, s, *_ in along_axes(window))
    fits = window_fits(window.kernel, window.strides, side, area, stride)
    return along and (not fits or any(d > 1 for d in window.dilations))


@hosted()
def both_axes(kind: str, inner: PoolWindow, outer: PoolWindow) -> PoolWindow | None:
    """The window of two pools in a row that have no axis in common."""
    if (inner.ceil_mode, inner.count_include_pad) != (outer.ceil_mode, outer.count_include_pad):
        return None
    if inner.ceil_mode and not leaves_out_pads(kind, inner):
        return None
    pairs = list(zip(along_axes(inner), along_axes(outer), strict=True))
    if not all(STILL in pair for pair in pairs):
        return None
    return of_axes(inner, [b if a == STILL else a for a, b in pairs])


def _window(kernel: tuple[int, ...], strides: tuple[int, ...], pads: Any = 0, **more: Any) -> PoolWindow:
    axes = len(kernel)
    around = (pads,) * (2 * axes) if isinstance(pads, int) else pads
    return PoolWindow(kernel, strides, around, (1,) * axes, **more)


def _axes_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 2, 7, 8))
    for kind in ("AveragePool", "MaxPool"):
        for window in (
            _window((3, 3), (1, 1)),
            _window((3, 4), (1, 2), (1, 2, 0, 3)),
            _window((3, 4), (2, 1), 1, count_include_pad=1),
            _window((4, 3), (2, 2), 1, ceil_mode=1),
        ):
            yield g.fires(pool(kind, x, window))
        yield g.fires(pool(kind, g.input((1, 2, 5, 4, 6)), _window((2, 3, 2), (1, 1, 1))))
        yield g.near_miss(pool(kind, x, _window((3, 3), (3, 3))), why="it looks at each element once")
        yield g.near_miss(pool(kind, x, _window((1, 5), (1, 1))), why="there is one axis only")
    partial = _window((3, 3), (2, 1), 1, ceil_mode=1, count_include_pad=1)
    yield g.near_miss(pool("AveragePool", x, partial), why="what counts of a partial window is disputed")


@law(source="separable filters: min and max filters are, as are box filters", examples=_axes_examples)
def one_axis_after_another(kind: String, x: Tensor, w: PoolWindow, u: PoolWindow, k: Int, n: Int):
    """Pool(x; kh x kw) = Pool(Pool(x; 1 x kw); kh x 1)

    Pads that do not count are left out of each mean alike.  To the right where windows overlap so that it is
    less work, or are beyond the target's limits as a whole only, but not for a window that is all of x; to
    the left where the original has both.
    """
    pair, sound = axis_by_axis(kind, w), (kernel(is_within(w, x)), guard(absent(covers_input(w, x))))
    apart = pool(kind, pool(kind, x, pair[0]), pair[1])
    beyond = fits_by_axis(w, limit("pool_kernel"), limit("pool_window"), limit("pool_stride"))
    for worth in (saves_work(w), beyond):
        yield rewrite(pool(kind, x, w), apart, *sound, guard(worth), inverse="one_axis_after_another")
    inner, joint = pool(kind, x, w), both_axes(kind, w, u)
    both = pool(kind, inner, u)
    written = guard(eq(inner, node(k)), eq(both, node(n)))
    yield rewrite(
        both, pool(kind, x, joint), kernel(is_within(joint, x)), written, inverse="one_axis_after_another"
    )


# --- maxima of maxima -----------------------------------------------------------------------------------


def _rest(whole: Along, inner: Along) -> Along | None:
    """What pools the result of the inner window along an axis to that of the whole one."""
    (size, stride, *pads, dilation), (first, step, *own, dilated) = whole, inner
    if inner == STILL:
        return whole
    if whole == inner:
        return STILL
    left = [p - q for p, q in zip(pads, own, strict=True)]
    if dilation != 1 or dilated != 1 or step > first or max(own) >= first:
        return None
    if size < first or (size - first) % step or stride % step or (step > 1 and any(left)):
        return None
    last = (size - first) // step + 1
    return (last, stride // step, *left, 1) if min(left) >= 0 and max(left) < last else None  # type: ignore[return-value]


@hosted()
def rest_of(whole: PoolWindow, inner: PoolWindow) -> PoolWindow | None:
    """What pools the maxima of the inner window to those of the whole one; None where nothing does."""
    if whole == inner or whole.ceil_mode or inner.ceil_mode or len(whole.kernel) != len(inner.kernel):
        return None
    rest = [_rest(a, b) for a, b in zip(along_axes(whole), along_axes(inner), strict=True)]
    found = [a for a in rest if a is not None]
    return of_axes(whole, found) if len(found) == len(rest) else None


@hosted()
def joint_maxima(inner: PoolWindow, outer: PoolWindow) -> PoolWindow | None:
    """The window of which `outer` is the rest behind `inner`."""
    whole: list[Along] = []
    for a, b in zip(along_axes(inner), along_axes(outer), strict=True):
        (first, step, *own, dilation), (last, stride, *pads, _) = a, b
        before, behind = (p + step * q for p, q in zip(own, pads, strict=True))
        both = (first + (last - 1) * step, step * stride, before, behind, 1)
        whole.append(b if a == STILL else (*both[:4], dilation) if b == STILL else both)
    joint = of_axes(inner, whole)
    return joint if rest_of.function(joint, inner) == outer else None


@hosted()
def first_step(window: PoolWindow, most: int) -> PoolWindow | None:
    """The window with which a maximum begins along the first axis beyond the limit.

    Of those that leave least work, for each result, the one that leaves the smallest kernel.  None where
    these windows touch: `cascade_of_pools` has that, in steps that the target takes.
    """
    along = along_axes(window)
    axis = next((k for k, (size, *_) in enumerate(along) if size > most), None)
    if axis is None or window.ceil_mode or along[axis][4] != 1:
        return None
    size, stride, before, behind, _ = along[axis]
    padded, found = before or behind, []
    for step in (t for t in range(1, stride + 1) if stride % t == 0 and (t == 1 or not padded)):
        for last in range(2, (size - step) // step + 2):
            first = size - (last - 1) * step
            if first >= max(step, 2):
                found.append((first * (stride // step) + last, max(first, last), first, step))
    if not found:
        return None
    _, _, first, step = min(found)
    if first == step and is_plain(window):
        return None
    own: Along = (first, step, min(before, first - 1), min(behind, first - 1), 1)
    return of_axes(window, [own if k == axis else STILL for k in range(len(along))])


@hosted()
def fits_known(window: PoolWindow, x: Fact) -> bool:
    """`is_within`, of an x of which each dim has a number or a name."""
    return x.is_symbolic and bool(is_within.function(window, x))


def _maxima_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 2, 9, 12))
    small, large = _window((3, 3), (1, 1), 1), _window((7, 5), (1, 1), (3, 2, 3, 2))
    y, z = pool("MaxPool", x, small), pool("MaxPool", x, large)
    limits = {"pool_kernel": 4, "pool_window": 4, "pool_stride": 4}
    yield g.fires(y * z)
    yield g.fires(pool("MaxPool", y, _window((3, 2), (2, 1), (1, 0, 1, 1))))
    yield g.fires(pool("MaxPool", pool("MaxPool", x, _window((3, 3), (2, 3))), _window((2, 2), (1, 1))))
    yield g.fires(pool("MaxPool", x, _window((7, 1), (1, 1), (3, 0, 4, 0))), **limits)
    yield g.fires(pool("MaxPool", x, _window((1, 7), (2, 2))), **limits)
    for first, second, why in (
        (_window((2, 2), (3, 3)), _window((2, 2), (1, 1)), "elements between the windows"),
        (_window((2, 2), (2, 2)), _window((2, 2), (1, 1), 1), "the rows at the end are in no window"),
        (_window((2, 2), (1, 1)), _window((2, 2), (2, 2), ceil_mode=1), "partial windows"),
    ):
        yield g.near_miss(pool("MaxPool", pool("MaxPool", x, first), second), why)
    unknown = pool("MaxPool", g.input((2, 3, None, None)), _window((3, 3), (2, 3)))
    yield g.near_miss(pool("MaxPool", unknown, _window((2, 2), (1, 1))), why="an axis may be any size")
    means = [pool("AveragePool", x, window) for window in (small, large)]
    yield g.near_miss(means[0] * means[1], why="a mean of overlapping windows is weighted")


@law(
    source="van Herk, Gil and Werman: maxima of maxima; YOLOv5's SPPF",
    uses=(wholes,),
    examples=_maxima_examples,
)
def maxima_of_maxima(x: Tensor, y: Tensor, z: Tensor, w: PoolWindow, u: PoolWindow, i: Int, j: Int):
    """MaxPool(x; k1 + (k2 - 1) * s1, stride s1 * s2) = MaxPool(MaxPool(x; k1, stride s1); k2, stride s2)

    Windows of the inner pool touch or overlap.  To the right where x has the inner pool, too, or the kernel
    is beyond the target's limit; to the left where the original has both.
    """
    pooled = (eq(y, pool("MaxPool", x, u)), eq(z, pool("MaxPool", x, w)), guard(ne(y, z)))
    written = guard(eq(y, node(i)), eq(z, node(j)), entire(x))
    rest = union(z, pool("MaxPool", y, rest_of(w, u)))
    yield rule(*pooled, kernel(is_within(w, x)), written, then=rest, inverse="maxima_of_maxima")
    begin = first_step(w, limit("pool_kernel"))
    steps = pool("MaxPool", pool("MaxPool", x, begin), rest_of(w, begin))
    parts = (kernel(is_within(w, x)), guard(absent(covers_input(w, x))))
    yield rewrite(pool("MaxPool", x, w), steps, *parts, inverse="maxima_of_maxima")
    joint = joint_maxima(u, w)
    behind = (eq(y, pool("MaxPool", x, u)), eq(z, pool("MaxPool", y, w)), fits_known(joint, x))
    at_once = union(z, pool("MaxPool", x, joint))
    yield rule(*behind, guard(ne(x, y)), written, then=at_once, inverse="maxima_of_maxima")
