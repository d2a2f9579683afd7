"""Pools without partial windows, and as reductions where windows lie next to each other.

Pool(x; ceil_mode) -> Pool(x; pads at the end)
Pool(x; pads at the end) -> Concat(Pool(x), Pool(the end of x))   beyond a target's limits
Pool(x; stride = kernel) -> Reduce(Reshape(x))              beyond a target's limits, along one axis or
                                                            where no cascade fits
Pool(x; all of some axes) -> Reduce(x)
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, kernel, laws_of, rewrite
from egraph_opt.laws.sorts import Axes, Dims, Name, Slices, String, Tensor
from egraph_opt.operators import PoolWindow, concat, pool, reduce, reshape, slice_
from egraph_opt.operators.terms import limit, listed
from egraph_opt.rewrites.conditions.values import is_kernel_float
from egraph_opt.rewrites.conditions.view_shapes import known_dims
from egraph_opt.rewrites.convolution.pool_axes import Along, along_axes, leaves_out_pads, of_axes
from egraph_opt.rewrites.convolution.pooling import is_within, window_fits

law = laws_of("pooling", numerics="reassociates", kind="replace")

# --- partial windows ------------------------------------------------------------------------------------


@hosted()
def whole_windows(kind: str, window: PoolWindow, x: Fact, y: Fact) -> PoolWindow | None:
    """The window that is never partial: what a partial one lacks is padded."""
    if not window.ceil_mode or not x.shape or not y.shape or len(x.shape) != len(window.kernel) + 2:
        return None
    along: list[Along] = []
    for (size, stride, before, behind, dilation), dim, results in zip(
        along_axes(window), x.shape[2:], y.shape[2:], strict=True
    ):
        if not isinstance(dim, int) or not isinstance(results, int) or min(dim, results) < 1:
            return None
        reach = (results - 1) * stride + (size - 1) * dilation + 1
        missing = reach - dim - before - behind
        if missing > 0 and not leaves_out_pads(kind, window):
            return None
        behind += max(missing, 0)
        if behind and behind >= size:
            return None
        along.append((size, stride, before, behind, dilation))
    return replace(of_axes(window, along), ceil_mode=0)


@law(source="ONNX")
def partial_windows(kind: String, x: Tensor, w: PoolWindow):
    """Pool(x; ceil_mode) = Pool(x; more pads at the end), which are not counted"""
    y = pool(kind, x, w)
    padded = pool(kind, x, whole_windows(kind, w, x, y))
    yield rewrite(y, padded, kernel(is_within(w, x)), because="ceil_mode is one of many ways to pad")


class Apart(NamedTuple):
    """A last window that is partial along an axis, and the others.

    Attributes:
        axis: of x.
        whole, end: which part of x the others and the last one look at.
        window, last: with which windows.
    """

    axis: int
    whole: Slices
    end: Slices
    window: PoolWindow
    last: PoolWindow


@hosted()
def last_apart(kind: str, window: PoolWindow, x: Fact, y: Fact) -> Apart | None:
    """The last window along the first axis with pads behind it, where it is the only one that has some."""
    if not leaves_out_pads(kind, window) or window.ceil_mode or not x.shape or not y.shape:
        return None
    along = along_axes(window)
    axis = next((k for k, (_, _, _, behind, _) in enumerate(along) if behind), None)
    if axis is None or len(x.shape) != len(along) + 2:
        return None
    (size, stride, before, _, dilation), dim, count = along[axis], x.shape[axis + 2], y.shape[axis + 2]
    if not isinstance(dim, int) or not isinstance(count, int) or count < 2 or dilation != 1:
        return None
    start = (count - 1) * stride - before
    covered = start - stride + size
    if not 0 < start < dim < start + size or covered > dim:
        return None
    others, last = (
        of_axes(window, [*along[:axis], own, *along[axis + 1 :]])
        for own in ((size, stride, before, 0, 1), (dim - start, 1, 0, 0, 1))
    )
    whole, end = (((axis + 2, *ends, 1),) for ends in ((0, covered), (start, dim)))
    return Apart(axis + 2, whole, end, others, last)


@hosted()
def is_beyond(window: PoolWindow, side: int, area: int, stride: int) -> bool:
    """The target has no kernel for such a window."""
    return not window_fits(window.kernel, window.strides, side, area, stride)


def _end_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, limits = g.input(("N", 2, 4, 15)), {"pool_kernel": 4, "pool_window": 4, "pool_stride": 4}

    def padded(size: int, stride: int, before: int, behind: int, **more: int) -> PoolWindow:
        return PoolWindow((1, size), (1, stride), (0, before, 0, behind), (1, 1), **more)

    for kind in ("AveragePool", "MaxPool"):
        for window in (padded(6, 6, 0, 3), padded(6, 4, 2, 3), padded(14, 2, 1, 2)):
            yield g.fires(pool(kind, x, window), **limits)
        yield g.near_miss(pool(kind, x, padded(7, 3, 0, 5)), why="two windows are partial", **limits)
        yield g.near_miss(pool(kind, x, padded(4, 4, 0, 1)), why="within the limits", **limits)
    counted = pool("AveragePool", x, padded(6, 6, 0, 3, count_include_pad=1))
    yield g.near_miss(counted, why="pads count", **limits)


@law(
    kind="split", serves="target", source="ONNX; a cascade needs windows without pads", examples=_end_examples
)
def partial_window_apart(kind: String, x: Tensor, w: PoolWindow):
    """Pool(x; pads behind) = Concat(Pool(x), Pool(the end of x)) where the last window alone is partial"""
    y = pool(kind, x, w)
    parts = last_apart(kind, w, x, y)
    both = listed(pool(kind, slice_(x, parts[1]), parts[3]), pool(kind, slice_(x, parts[2]), parts[4]))
    beyond = guard(is_beyond(w, limit("pool_kernel"), limit("pool_window"), limit("pool_stride")))
    yield rewrite(y, concat(both, parts[0]), beyond, because="forgets that they are windows of one pool")


# --- windows next to each other -------------------------------------------------------------------------


def _prime_factors(number: int) -> list[int]:
    """In increasing order."""
    found, prime = [], 2
    while prime * prime <= number:
        if number % prime:
            prime += 1
        else:
            found.append(prime)
            number //= prime
    return [*found, number]


@hosted()
def is_rather_reduced(window: PoolWindow, y: Fact, side: int, area: int, stride: int) -> bool:
    """A window beyond the limits along one axis, or of which a factor is no window of a cascade."""
    if y.shape is None or window_fits(window.kernel, window.strides, side, area, stride):
        return False
    if sum(size > 1 for size in window.kernel) == 1:
        return True
    for size, count in zip(window.kernel, y.shape[2:], strict=True):
        *inner, last = _prime_factors(size)
        step = last if count != 1 else max(inner, default=1)
        if last > side or step > stride:
            return True
    return False


@hosted()
def in_windows(window: PoolWindow, x: Fact, y: Fact) -> tuple[Dims, Axes, Slices] | None:
    """The dims of x with the elements of windows on axes of their own, these axes, and what windows cover.

    Along each axis windows lie next to each other, or one covers it, or it is not pooled.
    """
    if x.shape is None or not x.is_symbolic or not y.shape or len(x.shape) != len(window.kernel) + 2:
        return None
    if any(window.pads) or any(d != 1 for d in window.dilations):
        return None
    dims, axes, covered = list(x.shape[:2]), [], []
    for axis, (size, stride) in enumerate(zip(window.kernel, window.strides, strict=True), 2):
        length, count = x.shape[axis], y.shape[axis]
        if size == stride == 1:
            dims.append(length)
            continue
        if not isinstance(length, int) or not isinstance(count, int):
            return None
        if count < 1 or count * size > length or (count > 1 and stride != size):
            return None
        dims += [count, size] if count > 1 else [size]
        axes.append(len(dims) - 1)
        covered.append((axis, 0, count * size, 1))
    return (tuple(dims), tuple(axes), tuple(covered)) if axes else None


@hosted()
def reduction_of(kind: str) -> Name | None:
    return {"AveragePool": "ReduceMean", "MaxPool": "ReduceMax"}.get(kind)


def _blocks_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, limits = g.input(("N", 2, 4, 15)), {"pool_kernel": 4, "pool_window": 4, "pool_stride": 4}
    for kind in ("AveragePool", "MaxPool"):
        for window in (
            PoolWindow((1, 5), (1, 5), (0,) * 4, (1, 1)),
            PoolWindow((1, 6), (1, 6), (0,) * 4, (1, 1)),
            PoolWindow((4, 7), (1, 7), (0,) * 4, (1, 1)),
            PoolWindow((2, 15), (2, 1), (0,) * 4, (1, 1)),
        ):
            yield g.fires(pool(kind, x, window), **limits)
        yield g.near_miss(
            pool(kind, x, PoolWindow((1, 5), (1, 3), (0,) * 4, (1, 1))), why="windows overlap", **limits
        )
        yield g.near_miss(
            pool(kind, x, PoolWindow((1, 4), (1, 4), (0,) * 4, (1, 1))), why="within the limits", **limits
        )
        yield g.near_miss(
            pool(kind, x, PoolWindow((4, 3), (4, 3), (0,) * 4, (1, 1))), why="there is a cascade", **limits
        )
        unknown = pool(kind, g.input((1, 2, 4, "L")), PoolWindow((1, 5), (1, 5), (0,) * 4, (1, 1)))
        yield g.near_miss(unknown, why="how many windows there are is not known", **limits)


@law(
    serves="target",
    source="Ascend auto-optimizer, AvgPoolSplit; prime kernels have no cascade",
    examples=_blocks_examples,
)
def windows_in_a_row(kind: String, x: Tensor, w: PoolWindow):
    """Pool(x; stride = kernel) = Reduce(Reshape(x)) over what is in a window, beyond the limits"""
    y = pool(kind, x, w)
    parts = in_windows(w, x, y)
    demand = is_rather_reduced(w, y, limit("pool_kernel"), limit("pool_window"), limit("pool_stride"))
    reduced = reduce(reduction_of(kind), reshape(slice_(x, parts[2]), parts[0]), parts[1], 1)
    yield rewrite(
        y, reshape(reduced, known_dims(y)), guard(demand), because="dims do not say what was a window"
    )


@hosted()
def whole_axes(window: PoolWindow, x: Fact) -> Axes | None:
    """The axes of which a window covers all, where it looks at single elements along the others."""
    if x.shape is None or len(x.shape) != len(window.kernel) + 2 or any(window.pads):
        return None
    axes = []
    for axis, (size, stride, _, _, dilation) in enumerate(along_axes(window), 2):
        if size == x.shape[axis] and size > 1 == dilation:
            axes.append(axis)
        elif (size, stride) != (1, 1):
            return None
    return tuple(axes) if 0 < len(axes) < len(window.kernel) else None


def _axes_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 2, 4, 15))
    for kind in ("AveragePool", "MaxPool"):
        for sides, strides in (((4, 1), (1, 1)), ((1, 15), (1, 4))):
            yield g.fires(pool(kind, x, PoolWindow(sides, strides, (0,) * 4, (1, 1))))
        yield from g.near_misses(
            (pool(kind, x, PoolWindow((4, 1), (1, 2), (0,) * 4, (1, 1))), "every other column"),
            (pool(kind, x, PoolWindow((3, 1), (1, 1), (0,) * 4, (1, 1))), "two windows"),
            (pool(kind, x, PoolWindow((4, 1), (1, 1), (1, 0, 0, 0), (1, 1))), "it pads"),
            (pool(kind, x, PoolWindow((1, 1), (1, 1), (0,) * 4, (1, 1))), "of single elements"),
        )
    spread = PoolWindow((2, 1), (1, 1), (0,) * 4, (3, 1))
    yield g.near_miss(pool("MaxPool", x, spread), why="what is between is left out")


@law(source="Ascend auto-optimizer, AvgPoolSplit", examples=_axes_examples)
def window_over_axes(kind: String, x: Tensor, w: PoolWindow):
    """Pool(x; all of some axes) = Reduce(x) over them; `whole_input` has all of all axes"""
    axes, why = whole_axes(w, x), "dims do not say what was a window"
    yield rewrite(
        pool(kind, x, w), reduce(reduction_of(kind), x, axes, 1), kernel(is_kernel_float(x)), because=why
    )
