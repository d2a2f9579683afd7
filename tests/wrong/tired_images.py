"""Pooling, resizing and padding: ends, orders and corners that are taken for others."""

from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Pads, Settings, Slices, Tensor, hosted, listed, number_like, rewrite, sqrt
from egraph_opt.laws.examples import FLOAT
from egraph_opt.operators import PoolWindow, blockwise, concat, lp_pool, none, pad, pool, resize, slice_

from . import fires_on, of_one, wrong
from .gaps_and_steps import window
from .scans import resized

# --- pooling ---------------------------------------------------------------------------------------------


@hosted()
def in_steps(y: Fact, u: PoolWindow, t: Slices) -> PoolWindow | None:
    """Strides instead of a slice that takes every so many pixels from the first one on."""
    if y.rank != 4 or y.shape is None or u.strides != (1, 1) or any(u.pads):
        return None
    if any(
        axis < 2 or start != 0 or end not in (None, y.shape[axis]) or step < 1 for axis, start, end, step in t
    ):
        return None
    steps = {axis: step for axis, _, _, step in t}
    return replace(u, strides=(steps.get(2, 1), steps.get(3, 1)))


def every_other(n: int, ceil: int):
    def make(g):
        return slice_(
            pool("MaxPool", g.input((1, 2, n, n)), window((2, 2), ceil=ceil)),
            ((2, 0, n - 1, 2), (3, 0, n - 1, 2)),
        )

    return make


@wrong(
    "finite", every_other(5, 1), examples=fires_on(every_other(5, 0), every_other(6, 0), every_other(6, 1))
)
def every_other_window(x: Tensor, u: PoolWindow, t: Slices):
    """MaxPool(x)[::s] = MaxPool(x; stride s)

    Wrong where sizes are rounded up, so that there is one more window.
    """
    y = pool("MaxPool", x, u)
    yield rewrite(slice_(y, t), pool("MaxPool", x, in_steps(y, u, t)), because="fewer windows")


@hosted()
def elements_of(u: PoolWindow) -> float:
    return float(np.prod(u.kernel))


@hosted()
def is_undilated(x: Fact, u: PoolWindow) -> bool:
    return x.dtype == FLOAT and all(d == 1 for d in u.dilations) and not u.ceil_mode


def norms(pads: tuple[int, ...] | None = None):
    return of_one(lambda x: lp_pool(2, x, window((2, 2), None, pads)), (1, 2, 5, 5))


@wrong("reassociates", norms((1, 1, 0, 0)), examples=fires_on(norms()))
def norm_by_average(x: Tensor, u: PoolWindow):
    """LpPool(x; 2) = Sqrt(n * AveragePool(x * x)) for n elements in a window

    Wrong of windows with pads, which do not count in the average.
    """
    mean = pool("AveragePool", x * x, u)
    yield rewrite(
        lp_pool(2, x, u),
        sqrt(mean * number_like(x, elements_of(u))),
        is_undilated(x, u),
        because="has a kernel",
    )


@hosted()
def corners(x: Fact, a: Axis, s: Slices, t: Slices, u: Slices, v: Slices) -> bool:
    """Every second pixel of every second row, from all four places on."""
    taken = (s, t, u, v)
    if not x.is_static or x.shape is None or x.rank != 4 or a != 1 or any(n % 2 for n in x.shape[2:]):  # type: ignore[operator]
        return False
    if any(
        len(k) != 2
        or [p[0] for p in k] != [2, 3]
        or any(p[2:] not in ((None, 2), (x.shape[p[0]], 2)) for p in k)
        for k in taken
    ):
        return False
    return {tuple(p[1] for p in k) for k in taken} == {(0, 0), (0, 1), (1, 0), (1, 1)}


def in_focus(*order: tuple[int, int]):
    def make(g):
        x = g.input((1, 3, 4, 4))
        return concat(listed(*(slice_(x, ((2, i, 4, 2), (3, j, 4, 2))) for i, j in order)), 1)

    return make


@wrong(
    "bitwise",
    in_focus((0, 0), (1, 0), (0, 1), (1, 1)),
    examples=fires_on(in_focus((0, 0), (0, 1), (1, 0), (1, 1))),
)
def focus_as_space_to_depth(x: Tensor, a: Axis, s: Slices, t: Slices, u: Slices, v: Slices):
    """Concat(x[::2, ::2], x[::2, 1::2], x[1::2, ::2], x[1::2, 1::2]) = SpaceToDepth(x; 2)

    Wrong in another order, as some networks have it.
    """
    parts = listed(slice_(x, s), slice_(x, t), slice_(x, u), slice_(x, v))
    whole = blockwise("SpaceToDepth", x, (("blocksize", 2),))
    yield rewrite(concat(parts, a), whole, corners(x, a, s, t, u, v), because="one operator")


# --- resizing and padding --------------------------------------------------------------------------------


@hosted()
def both_grow(x: Fact, y: Fact, z: Fact, s: Settings) -> bool:
    """Corners stay where they are, and sizes are multiples."""
    if not x.is_static or x.shape is None or y.ints is None or z.ints is None or x.dtype != FLOAT:
        return False
    how = dict(s)
    if (
        how["coordinate_transformation_mode"] != "align_corners"
        or how["mode"] != "linear"
        or how["antialias"]
    ):
        return False
    if x.rank != 4 or x.shape[:2] != y.ints[:2] or y.ints[:2] != z.ints[:2] or min(x.shape) < 1:  # type: ignore[operator, type-var]
        return False
    return all(m % n == 0 and k % m == 0 for n, m, k in zip(x.shape[2:], y.ints[2:], z.ints[2:], strict=True))  # type: ignore[operator]


def grown_twice(n: int, m: int, k: int):
    def make(g):
        how = resized("linear", "align_corners")
        first, then = (g.constant(np.array([1, 1, d, d], np.int64)) for d in (m, k))
        return resize(resize(g.input((1, 1, n, n)), none(), none(), first, how), none(), none(), then, how)

    return make


@wrong(
    "reassociates",
    grown_twice(3, 6, 12),
    examples=fires_on(grown_twice(2, 4, 8), grown_twice(2, 6, 6), opset=18),
)
def corners_stay_twice(x: Tensor, r: Tensor, c: Tensor, y: Tensor, z: Tensor, s: Settings):
    """Resize(Resize(x; y); z) = Resize(x; z) of aligned corners, to larger images

    Wrong where pixels of x other than the corners are none of the image in between.
    """
    yield rewrite(
        resize(resize(x, r, c, y, s), r, c, z, s),
        resize(x, r, c, z, s),
        both_grow(x, y, z, s),
        because="once",
    )


@hosted()
def channels_or_batch(x: Fact, y: Fact, a: Axis, s: Settings) -> bool:
    how = dict(s)
    return x.rank == 4 and x.dtype == FLOAT and a < 2 and x.shape == y.shape and how["mode"] == "linear"


def joined_and_resized(scales: Any):
    def make(g):
        x = concat(listed(g.input((1, 2, 3, 3)), g.input((1, 2, 3, 3))), 1)
        return resize(
            x, none(), g.constant(np.array(scales, np.float32)), none(), resized("linear", "half_pixel")
        )

    return make


@wrong(
    "reassociates",
    joined_and_resized([1, 2, 1, 1]),
    examples=fires_on(joined_and_resized([1, 1, 2, 2]), joined_and_resized([1, 1, 0.5, 2]), opset=18),
)
def resized_and_joined(x: Tensor, y: Tensor, a: Axis, c: Tensor, s: Settings):
    """Resize(Concat(x, y)) = Concat(Resize(x), Resize(y)) along batches or channels

    Wrong where channels are resized, too.
    """
    nothing = none()
    parts = listed(*(resize(k, nothing, c, nothing, s) for k in (x, y)))
    yield rewrite(
        resize(concat(listed(x, y), a), nothing, c, nothing, s),
        concat(parts, a),
        channels_or_batch(x, y, a, s),
        because="apart",
    )


@hosted()
def is_level_along(x: Fact, y: Fact, p: Pads) -> bool:
    """y has one element along what is padded, if it has the axis at all."""
    if x.shape is None or y.shape is None or len(y.shape) > len(x.shape):
        return False
    n = len(x.shape)
    padded = [k for k in range(n) if p[k] or p[k + n]]
    return all(k >= len(y.shape) or y.shape[k] == 1 for k in padded)


def padded_and_scaled(pads: tuple[int, ...], *shape: int, of=(2, 3)):
    return lambda g: pad(g.input(of), "constant", pads, 0.0) * g.input(shape)


@wrong(
    "finite",
    padded_and_scaled((0, 1, 0, 0), 4),
    examples=fires_on(padded_and_scaled((0, 1, 0, 1), 2, 1), padded_and_scaled((1, 0, 0, 0), 1, 3)),
)
def factor_below_pad(x: Tensor, p: Pads, y: Tensor):
    """Pad(x; 0) * y = Pad(x * y; 0) for a y of one element along what is padded

    Wrong of a y of fewer axes, which are the last ones.
    """
    yield rewrite(
        pad(x, "constant", p, 0.0) * y,
        pad(x * y, "constant", p, 0.0),
        is_level_along(x, y, p),
        because="less",
    )
