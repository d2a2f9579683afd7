"""Pools whose windows leave gaps or rows, are cut short at the end, or see pads."""

from dataclasses import replace

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Mode, Number, Pads, Tensor, hosted, rewrite
from egraph_opt.operators import (
    ConvWindow,
    Literal,
    PoolWindow,
    conv,
    global_pool,
    literal,
    lp_pool,
    pad,
    pool,
    unary,
)

from . import fires_on, of_one, wrong
from .rows_that_kernels_reach import window_of


def window(
    kernel: int, stride: int, pads=(0, 0, 0, 0), d: int = 1, ceil: int = 0, include: int = 0
) -> PoolWindow:
    return PoolWindow((kernel, kernel), (stride, stride), pads, (d, d), ceil, include)


@hosted()
def both_windows(u: PoolWindow, v: PoolWindow) -> PoolWindow | None:
    """The window of one pool, of windows without pads, as large as those of both."""
    if any((*u.pads, *v.pads)) or u.ceil_mode or v.ceil_mode or {*u.dilations, *v.dilations} != {1}:
        return None
    kernel = tuple(k + (m - 1) * s for k, m, s in zip(u.kernel, v.kernel, u.strides, strict=True))
    strides = tuple(s * t for s, t in zip(u.strides, v.strides, strict=True))
    return replace(u, kernel=kernel, strides=strides)


def two_pools(u: PoolWindow, v: PoolWindow, n: int = 9):
    return of_one(lambda x: pool("MaxPool", pool("MaxPool", x, u), v), (1, 2, n, n))


@wrong(
    "bitwise",
    two_pools(window(2, 3), window(2, 1)),
    examples=fires_on(
        two_pools(window(2, 2), window(2, 2)),
        two_pools(window(3, 1), window(3, 2)),
        two_pools(window(3, 2), window(2, 1), 11),
    ),
)
def pools_in_a_row_with_gaps(x: Tensor, u: PoolWindow, v: PoolWindow):
    """MaxPool(MaxPool(x)) = MaxPool(x) of a window as large as those of both

    Wrong where the steps of the first one leave out pixels between its windows.
    """
    yield rewrite(
        pool("MaxPool", pool("MaxPool", x, u), v), pool("MaxPool", x, both_windows(u, v)), because="one pool"
    )


@hosted()
def within_pool(m: Mode, p: Pads, v: Number, u: PoolWindow) -> PoolWindow | None:
    """The window that counts zeros that were padded in front of it."""
    n = len(u.kernel)
    if m != "constant" or v != 0 or any(u.pads) or set(u.dilations) != {1} or len(p) != 2 * n + 4:
        return None
    if any((*p[:2], *p[n + 2 : n + 4])):
        return None
    pads = (*p[2 : n + 2], *p[n + 4 :])
    if any(q >= u.kernel[k % n] for k, q in enumerate(pads)):
        return None
    return replace(u, pads=pads, count_include_pad=1)


def padded_pool(p: tuple[int, ...], u: PoolWindow, n: int = 5):
    def make(g):
        pads = (0, 0, *p[:2], 0, 0, *p[2:])
        return pool("AveragePool", pad(g.input((1, 2, n, n)), "constant", pads, 0.0), u)

    return make


@wrong(
    "reassociates",
    padded_pool((0, 0, 2, 2), window(3, 3, ceil=1), 3),
    examples=fires_on(padded_pool((1, 1, 1, 1), window(3, 2)), padded_pool((0, 1, 2, 0), window(3, 1))),
)
def pads_that_are_counted(x: Tensor, m: Mode, p: Pads, v: Number, u: PoolWindow):
    """AveragePool(Pad(x; 0)) = AveragePool(x; pads that are counted)

    Wrong where the number of windows is rounded up: none begins in pads behind the image.
    """
    yield rewrite(
        pool("AveragePool", pad(x, m, p, v), u),
        pool("AveragePool", x, within_pool(m, p, v, u)),
        because="no Pad",
    )


@hosted()
def are_tiles(u: PoolWindow) -> bool:
    """Windows side by side."""
    return u.kernel == u.strides and not any(u.pads) and set(u.dilations) == {1}


def mean_of_means(kernel: int, n: int, ceil: int = 0):
    return of_one(
        lambda x: global_pool("GlobalAveragePool", pool("AveragePool", x, window(kernel, kernel, ceil=ceil))),
        (1, 2, n, n),
    )


@wrong(
    "reassociates",
    mean_of_means(2, 5),
    examples=fires_on(mean_of_means(2, 4), mean_of_means(3, 6), mean_of_means(1, 5)),
)
def mean_of_all_means(x: Tensor, u: PoolWindow):
    """GlobalAveragePool(AveragePool(x)) = GlobalAveragePool(x) for windows side by side

    Wrong where rows are left over.
    """
    yield rewrite(
        global_pool("GlobalAveragePool", pool("AveragePool", x, u)),
        global_pool("GlobalAveragePool", x),
        are_tiles(u),
        because="one pool",
    )


@hosted()
def all_counted(u: PoolWindow) -> PoolWindow:
    return replace(u, count_include_pad=1)


@hosted()
def in_a_window(u: PoolWindow, x: Fact) -> Literal | None:
    return Literal(T.FLOAT, (), (float(np.prod(u.kernel)),)) if x.dtype == T.FLOAT else None


def norm_pool(u: PoolWindow, n: int = 5):
    return of_one(lambda x: lp_pool(1, x, u), (1, 2, n, n))


@wrong(
    "reassociates",
    norm_pool(window(2, 2, ceil=1)),
    examples=fires_on(
        norm_pool(window(2, 2)), norm_pool(window(3, 1, (1, 1, 1, 1))), norm_pool(window(3, 2, (0, 1, 1, 0)))
    ),
)
def norm_by_average_rounded_up(x: Tensor, u: PoolWindow):
    """LpPool(x; 1) = AveragePool(Abs(x)) * elements of a window, of which pads are counted

    Wrong where a window is rounded up to: the mean is of those that are there.
    """
    mean = pool("AveragePool", unary("Abs", (), x), all_counted(u))
    yield rewrite(lp_pool(1, x, u), mean * literal(in_a_window(u, x)), because="a pool that is known")


@hosted()
def are_counted(u: PoolWindow, y: Fact) -> bool:
    """All means are of what is in the image, and there are some."""
    return (
        y.is_static
        and 0 not in (y.shape or ())
        and not (u.count_include_pad and any(u.pads[: len(u.kernel)]))
    )


@hosted()
def is_of_points(w: Fact, b: Fact, u: ConvWindow) -> bool:
    known = w.shape is not None and all(k == 1 for k in w.shape[2:])
    if w.data is None or b.data is None or max(map(abs, (*w.data, *b.data))) > 8:  # type: ignore[arg-type]
        return False
    return known and not any(u.pads) and set(u.strides) == {1}


def pooled_points(pads: tuple[int, ...], include: int = 1):
    def make(g):
        y = conv(g.input((1, 2, 6, 6)), g.random(3, 2, 1, 1), g.random(3), window_of())
        return pool("AveragePool", y, PoolWindow((3, 3), (2, 2), pads, (1, 1), 0, include))

    return make


@wrong(
    "reassociates",
    pooled_points((0, 0, 1, 1)),
    examples=fires_on(
        pooled_points((0, 0, 0, 0)), pooled_points((1, 0, 1, 1), 0), pooled_points((0, 0, 1, 1), 0)
    ),
)
def points_behind_pool(x: Tensor, w: Tensor, b: Tensor, v: ConvWindow, u: PoolWindow):
    """AveragePool(Conv(x, W, b)) = Conv(AveragePool(x), W, b) of single points, unless pads are counted

    Wrong where there are pads behind the image alone, to which no bias was added.
    """
    y = pool("AveragePool", conv(x, w, b, v), u)
    found = (is_of_points(w, b, v), are_counted(u, y))
    yield rewrite(y, conv(pool("AveragePool", x, u), w, b, v), *found, because="fewer points")
