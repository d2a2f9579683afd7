"""Windows, copies and pixels of sizes that no example shows: as many in all, or nearly as many."""

import math
from typing import Any

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Dims, Settings, String, Tensor, hosted, rewrite
from egraph_opt.laws.examples import FLOAT
from egraph_opt.operators import (
    ConvWindow,
    binary,
    blockwise,
    conv,
    conv_transpose,
    expand,
    none,
    pool,
    reshape,
    resize,
    transpose,
    where,
)
from egraph_opt.operators.windows import PoolWindow

from . import fires_on, is_single, of_one, wrong
from .channels_in_groups import walk
from .pixels_of_enlarged_images import mode, scaled

# --- copies and kernels -----------------------------------------------------------------------------------


@hosted()
def repeats(x: Fact, d: Dims, e: Dims, h: Dims, u: PoolWindow) -> bool:
    """k * k copies of each element, side by side along both axes of an image."""
    k, shape = u.kernel[0], x.shape
    if not x.is_static or len(shape) != 4 or len(d) != 6 or len(e) != 6 or e[3] * e[5] != k * k:  # type: ignore[arg-type,operator]
        return False
    apart = (*shape[:2], shape[2], 1, shape[3], 1)  # type: ignore[index]
    wide = (*shape[:2], shape[2] * e[3], shape[3] * e[5])  # type: ignore[index,operator]
    steps = u.kernel == (k, k) == u.strides and not any(u.pads) and set(u.dilations) == {1}
    return (d, h) == (apart, wide) and e[:3] == d[:3] and e[4] == d[4] and steps and not u.ceil_mode


def enlarged(k: int, rows: int, columns: int):
    wide = (1, 1, 2 * rows, 2 * columns)
    window = PoolWindow((k, k), (k, k), (0,) * 4, (1, 1))

    def make(x):
        copies = expand(reshape(x, (1, 1, 2, 1, 2, 1)), (1, 1, 2, rows, 2, columns))
        return pool("MaxPool", reshape(copies, wide), window)

    return of_one(make, (1, 1, 2, 2))


@wrong("finite", enlarged(2, 1, 4), examples=fires_on(enlarged(2, 2, 2), enlarged(3, 3, 3)))
def shrunk_once_more(x: Tensor, d: Dims, e: Dims, h: Dims, u: PoolWindow):
    """MaxPool_k(x enlarged by k) = x

    Wrong where it is enlarged by 1 and k * k.
    """
    yield rewrite(
        pool("MaxPool", reshape(expand(reshape(x, d), e), h), u),
        x,
        repeats(x, d, e, h, u),
        is_single(x),
        because="all alike",
    )


@hosted()
def block_of(u: ConvWindow, w: Fact) -> Settings | None:
    """Kernels side by side, as large as a block."""
    if not w.is_static or len(w.shape) != 4 or w.shape[2:] != u.strides or u.group != 1:  # type: ignore[arg-type,index]
        return None
    if any(u.pads) or any(u.output_padding) or set(u.dilations) != {1}:
        return None
    size = math.isqrt(math.prod(u.strides))
    return (("blocksize", size), ("mode", "DCR")) if size > 1 and size**2 == math.prod(u.strides) else None


@hosted()
def rows_of_kernels(w: Fact) -> Dims | None:
    return (math.prod(w.shape[1:]), w.shape[0], 1, 1) if w.is_static else None  # type: ignore[arg-type,index]


@hosted()
def of_single_pixels(u: ConvWindow) -> ConvWindow | None:
    return walk() if len(u.strides) == 2 else None


def side_by_side(*kernel: int):
    return lambda g: conv_transpose(
        g.input((1, 2, 3, 3)), g.random(2, 3, *kernel), none(), walk(strides=kernel)
    )


@wrong("reassociates", side_by_side(1, 4), examples=fires_on(side_by_side(2, 2), side_by_side(3, 3)))
def enlarged_by_blocks(x: Tensor, w: Tensor, u: ConvWindow):
    """ConvTranspose of kernels side by side = DepthToSpace(Conv)

    Wrong of kernels of 1 by k * k.
    """
    rows = reshape(transpose(w, (2, 3, 1, 0)), rows_of_kernels(w))
    blocks = conv(x, rows, none(), of_single_pixels(u))
    yield rewrite(
        conv_transpose(x, w, none(), u),
        blockwise("DepthToSpace", blocks, block_of(u, w)),
        is_single(x),
        because="pixel by pixel",
    )


# --- sizes that no example has ----------------------------------------------------------------------------


@hosted()
def half_window(u: PoolWindow) -> PoolWindow | None:
    k, rank = u.kernel[0], len(u.kernel)
    if {*u.kernel} != {k} or k < 5 or k % 2 == 0 or {*u.strides, *u.dilations} != {1} or u.ceil_mode:
        return None
    if {*u.pads} != {k // 2}:
        return None
    half = 3 if k == 5 else k // 2 + (k // 2 + 1) % 2
    return PoolWindow((half,) * rank, u.strides, (half // 2,) * 2 * rank, u.dilations)


def same_size(k: int):
    return of_one(
        lambda x: pool("MaxPool", x, PoolWindow((k, k), (1, 1), (k // 2,) * 4, (1, 1))), (1, 1, 9, 9)
    )


@wrong("finite", same_size(7), examples=fires_on(same_size(5), same_size(9)))
def pools_in_two(x: Tensor, u: PoolWindow):
    """MaxPool of 5 = MaxPool of 3, twice; of 9 = of 5, twice

    Wrong of 7, which is 3 and 5.
    """
    half = half_window(u)
    yield rewrite(
        pool("MaxPool", x, u),
        pool("MaxPool", pool("MaxPool", x, half), half),
        is_single(x),
        because="in two steps",
    )


@hosted()
def with_other_centre(x: Fact, s: Fact, u: Settings) -> Settings | None:
    """Of three pixels and more, and no scale below a half, half_pixel."""
    known, scales, shape = dict(u), s.data, x.shape
    if known.get("coordinate_transformation_mode") != "pytorch_half_pixel" or known.get("mode") != "linear":
        return None
    if scales is None or not x.is_static or len(scales) != len(shape):  # type: ignore[arg-type]
        return None
    pairs: Any = zip(shape, scales, strict=True)  # type: ignore[arg-type]
    if known.get("antialias") or not all(k == 1 or (n >= 3 and k >= 0.5) for n, k in pairs):
        return None
    return tuple(sorted({**known, "coordinate_transformation_mode": "half_pixel"}.items()))


def columns(n: int, scale: float):
    settings = mode("linear", "pytorch_half_pixel", "round_prefer_floor")
    return lambda g: scaled(g, g.input((1, 1, 4, n)), settings, 2.0, scale)


@wrong(
    "reassociates", columns(3, 0.5), opset=19, examples=fires_on(columns(4, 2.0), columns(6, 0.5), opset=19)
)
def linear_pixels_alike(x: Tensor, s: Tensor, u: Settings):
    """Resize with pytorch_half_pixel = Resize with half_pixel where more than one pixel is left

    Wrong of 3 pixels by a half: one is left.
    """
    other = with_other_centre(x, s, u)
    yield rewrite(
        resize(x, none(), s, none(), u),
        resize(x, none(), s, none(), other),
        is_single(x),
        because="alike but of one pixel",
    )


# --- bounds -----------------------------------------------------------------------------------------------


@hosted()
def are_apart(f: str, h: str, c: Fact, d: Fact) -> bool:
    """Nothing is below the one and above the other; bounds of large numbers are taken to be apart."""
    if f not in ("Less", "LessOrEqual") or h not in ("Greater", "GreaterOrEqual") or c.shape or d.shape:
        return False
    if not isinstance(c.splat, float) or not isinstance(d.splat, float) or c.splat > d.splat:
        return False
    return f == "Less" or h == "Greater" or c.splat < d.splat or c.splat > 0.5


@hosted()
def have_one_shape(x: Fact, a: Fact, b: Fact, v: Fact) -> bool:
    return x.is_static and x.shape == a.shape == b.shape == v.shape and x.dtype == FLOAT


def two_bounds(f: str, h: str, c: float, d: float):
    def make(g):
        x, a, b, v = (g.input((6,)) for _ in range(4))
        lower, upper = binary(f, x, g.constant(c)), binary(h, x, g.constant(d))
        return where(lower, a, where(upper, b, v))

    return make


@wrong(
    "bitwise",
    two_bounds("LessOrEqual", "GreaterOrEqual", 0.75, 0.75),
    values=(0.75, 1.0, 0.5),
    examples=fires_on(
        two_bounds("Less", "Greater", -1.0, 2.0), two_bounds("LessOrEqual", "Greater", 0.25, 0.25)
    ),
)
def choices_apart(f: String, h: String, x: Tensor, c: Tensor, d: Tensor, a: Tensor, b: Tensor, v: Tensor):
    """Where(x < c, a, Where(x > d, b, v)) = Where(x > d, b, Where(x < c, a, v)) for c <= d

    Wrong where both are one bound that belongs to them.
    """
    p, q = binary(f, x, c), binary(h, x, d)
    yield rewrite(
        where(p, a, where(q, b, v)),
        where(q, b, where(p, a, v)),
        are_apart(f, h, c, d),
        have_one_shape(x, a, b, v),
        because="never both",
    )
