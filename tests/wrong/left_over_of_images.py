"""Pixels that windows leave over, borders that they reach, and images that are enlarged."""

from dataclasses import replace
from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Settings, Slices, String, Tensor, hosted, rewrite
from egraph_opt.operators import (
    ConvWindow,
    Literal,
    PoolWindow,
    conv,
    conv_transpose,
    literal,
    none,
    pool,
    resize,
    slice_,
)

from . import fires_on, wrong
from .gaps_and_steps import image, is_image, window
from .settings_of_later_opsets import REPEATS

# --- borders ---------------------------------------------------------------------------------------------


@hosted()
def composed(x: Fact, u: PoolWindow, v: PoolWindow) -> PoolWindow | None:
    """Windows of windows; the first are without pads and side by side."""
    if not is_image(x) or any(u.pads) or u.ceil_mode or v.ceil_mode or u.strides != u.kernel:
        return None
    if set(u.dilations) | set(v.dilations) != {1}:
        return None
    s = u.strides * 2
    kernel = tuple(a * b for a, b in zip(u.kernel, v.kernel, strict=True))
    strides = tuple(a * b for a, b in zip(u.strides, v.strides, strict=True))
    pads = tuple(a * b for a, b in zip(s, v.pads, strict=True))
    if any(p >= k for p, k in zip(pads, kernel * 2, strict=True)):
        return None
    return PoolWindow(kernel, strides, pads, (1, 1), 0, v.count_include_pad)


def pool_of_pool(kind: str, h: int, u: PoolWindow, v: PoolWindow):
    return lambda g: pool(kind, pool(kind, image(g, h, h), u), v)


@wrong(
    "reassociates",
    pool_of_pool("AveragePool", 5, window((2, 2), (2, 2)), window((2, 2), (1, 1), (0, 0, 1, 1))),
    examples=fires_on(
        pool_of_pool("MaxPool", 8, window((2, 2), (2, 2)), window((2, 2), (2, 2))),
        pool_of_pool("AveragePool", 8, window((2, 2), (2, 2)), window((3, 3), (1, 1), (1, 1, 1, 1))),
    ),
)
def pool_behind_pool(kind: String, x: Tensor, u: PoolWindow, v: PoolWindow):
    """Pool(Pool(x; k = s); v) = Pool(x) of larger windows

    Wrong where the first leaves pixels over, and the second has pads: windows reach them.
    """
    yield rewrite(pool(kind, pool(kind, x, u), v), pool(kind, x, composed(x, u, v)), because="one pool")


@hosted()
def rows_needed(x: Fact, y: Fact, s: Slices, w: Fact, u: ConvWindow) -> Slices | None:
    """What the windows of the rows that are kept read."""
    if not is_image(x) or y.shape is None or w.shape is None or len(s) != 1 or s[0][0] != 2 or s[0][3] != 1:
        return None
    _, start, end, _ = s[0]
    height: Any = y.shape[2]
    end = height if end is None else end
    if not 0 < start < end < height or len(w.shape) != 4:
        return None
    first = start * u.strides[0] - u.pads[0]
    last = (end - 1) * u.strides[0] - u.pads[0] + (w.shape[2] - 1) * u.dilations[0]  # type: ignore[operator]
    return ((2, first, last + 1, 1),)


@hosted()
def no_row_pads(u: ConvWindow) -> ConvWindow | None:
    return replace(u, pads=(0, u.pads[1], 0, u.pads[3])) if u.strides[0] >= u.pads[0] else None


def rows_of_conv(size: int, k: int, u: ConvWindow, start: int, end: int):
    return lambda g: slice_(
        conv(image(g, size, size), g.random(2, 2, k, k), none(), u), ((2, start, end, 1),)
    )


@wrong(
    "reassociates",
    rows_of_conv(3, 5, ConvWindow((1, 1), (1, 2, 3, 2), (1, 1)), 1, 2),
    examples=fires_on(
        rows_of_conv(9, 3, ConvWindow((1, 1), (1, 1, 1, 1), (1, 1)), 1, 3),
        rows_of_conv(9, 3, ConvWindow((2, 2), (1, 1, 1, 1), (1, 1)), 1, 3),
    ),
)
def rows_before_convolution(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, s: Slices):
    """Conv(x)[a:b] = Conv(x[a']) for rows within the borders

    Wrong of a kernel that is larger than the image: a row in the middle reads pads as well.
    """
    y = conv(x, w, b, u)
    yield rewrite(
        slice_(y, s), conv(slice_(x, rows_needed(x, y, s, w, u)), w, b, no_row_pads(u)), because="fewer rows"
    )


# --- enlarged and reduced --------------------------------------------------------------------------------


@hosted()
def same_pixels(x: Fact, c: Fact, s: Settings) -> Settings | None:
    """Of whole numbers it does not matter where the middle of a pixel is."""
    given = dict(s)
    if not is_image(x) or c.data is None or len(c.data) != 4 or given.get("mode") != "nearest":
        return None
    if (
        given.get("coordinate_transformation_mode") != "half_pixel"
        or given.get("nearest_mode") != "round_prefer_floor"
    ):
        return None
    if (
        given.get("antialias")
        or "axes" in given
        or any(
            v <= 0 or (v >= 1 and v != int(v)) or (v < 1 and 1 / v != int(1 / v)) for v in map(float, c.data)
        )
    ):
        return None
    new = {**given, "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return tuple(sorted(new.items()))


def nearest(r: float, size: int = 6):
    settings = (
        ("coordinate_transformation_mode", "half_pixel"),
        ("mode", "nearest"),
        ("nearest_mode", "round_prefer_floor"),
    )

    def make(g):
        c = g.constant(np.array((1, 1, 1, r), np.float32))
        return resize(image(g, size, size), none(), c, none(), settings)

    return make


@wrong("bitwise", nearest(0.25, 8), examples=fires_on(nearest(2), nearest(3), nearest(0.5)))
def wherever_its_middle_is(x: Tensor, c: Tensor, s: Settings):
    """Resize(x; half_pixel, round) = Resize(x; asymmetric, floor) by whole numbers and their inverses

    Wrong by a third or a quarter: the pixel in the middle is not the first one.
    """
    yield rewrite(
        resize(x, none(), c, none(), s),
        resize(x, none(), c, none(), same_pixels(x, c, s)),
        because="one spelling",
    )


@hosted()
def repeated_by(w: Fact, u: ConvWindow, x: Fact) -> Literal | None:
    """A kernel of ones as large as the step, one for each channel."""
    if not is_image(x) or w.shape is None or w.splat != 1 or w.dtype != T.FLOAT or w.shape[1] != 1:
        return None
    if (
        u.group != w.shape[0]
        or any(u.pads)
        or set(u.dilations) != {1}
        or w.shape[2] * w.shape[3] != u.strides[0] * u.strides[1]  # type: ignore[operator]
    ):
        return None
    if any(u.output_padding):
        return None
    return Literal(T.FLOAT, (4,), (1.0, 1.0, float(u.strides[0]), float(u.strides[1])))


def ones_transposed(k: tuple[int, int], s: tuple[int, int]):
    u = ConvWindow(s, (0,) * 4, (1, 1), 2, (0, 0))
    return lambda g: conv_transpose(image(g, 1, 1), g.constant(np.ones((2, 1, *k), np.float32)), none(), u)


@wrong(
    "finite",
    ones_transposed((2, 3), (3, 2)),
    examples=fires_on(ones_transposed((2, 2), (2, 2)), ones_transposed((2, 3), (2, 3))),
)
def ones_that_enlarge(x: Tensor, w: Tensor, u: ConvWindow):
    """ConvTranspose(x; ones) = Resize(x) where kernels cover a step

    Wrong where the kernel has as many elements as a step and is not of its shape.
    """
    right = resize(x, none(), literal(repeated_by(w, u, x)), none(), REPEATS)
    yield rewrite(conv_transpose(x, w, none(), u), right, because="no products")
