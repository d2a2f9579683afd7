"""Images too wide for the target are computed on their side, for targets that hold rows at full width.

    Conv(x, W) = T(Conv(T(x), T(W))), ConvTranspose and pools likewise

T swaps height and width.  The laws fire only where the target publishes `row_width` (the widest row) and
`resident_pixels` (rows times width that its memory holds): on images wider than that and than high, and on
what comes after them up to the next view (`after_wide`), so that all of it can stay on its side.  What the
transposes meet on the way is in `wide_operands`, `transpose`, `transpose_movement` and `transpose_windows`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt import compat as egglog
from egraph_opt.compat import PyObject, String, closure, eq, guard, holds, i64, let, rewrite
from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import (
    ConvWindow,
    PoolWindow,
    batchnorm,
    binary,
    concat,
    conv,
    conv_transpose,
    instance_norm,
    none,
    pad,
    pool,
    slice_,
    transpose,
    unary,
    variadic,
)
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, Tensors, cons, fact, limit
from egraph_opt.rewrites.transposes.windows import SWAP, moved_window


def _image(x: Fact) -> tuple[int, int] | None:
    """Height and width of an image that is wider than high."""
    if x.shape is None or len(x.shape) != 4 or x.const:
        return None
    height, width = x.shape[2:]
    if not isinstance(height, int) or not isinstance(width, int) or height >= width:
        return None
    return height, width


@hosted(default=False)
def conv_is_too_wide(x: Fact, w: Fact, window: ConvWindow, widest: int, resident: int) -> bool:
    """Whether the rows under one row of the kernel are too wide for the target, or too many."""
    image = _image(x)
    if image is None or w.shape is None or not isinstance(w.shape[2], int):
        return False
    height, width = image
    rows = (w.shape[2] - 1) * window.dilations[0] + 1 + window.strides[0]
    return width > widest or min(rows, height) * width > resident


@hosted(default=False)
def transposed_is_too_wide(x: Fact, w: Fact, window: ConvWindow, widest: int, resident: int) -> bool:
    """The same of a ConvTranspose, whose rows have zeros between the pixels."""
    image = _image(x)
    if image is None or w.shape is None or not isinstance(w.shape[2], int):
        return False
    height, width = image[0] * window.strides[0], image[1] * window.strides[1]
    return height < width and (width > widest or min(w.shape[2] + 1, height) * width > resident)


@hosted(default=False)
def pool_is_too_wide(x: Fact, widest: int) -> bool:
    image = _image(x)
    return image is not None and image[1] > widest


@hosted(default=False)
def lies(x: Fact) -> bool:
    """An image wider than high."""
    return _image(x) is not None


@egglog.function(egg_fn="after_wide")
def after_wide(x: Tensor) -> egglog.Unit:
    """An image too wide for an operator, or computed from one."""


@egglog.function(egg_fn="wide_among")
def among(xs: Tensors) -> egglog.Unit:
    """Such an image is an element of the list."""


def _seeds() -> Iterator[Any]:
    """The rules that find images which are too wide."""
    x, w, b, z = (egglog.var(name, Tensor) for name in "xwbz")
    u, kind = egglog.var("u", PyObject), egglog.var("kind", String)
    n, m = egglog.var("n", i64), egglog.var("m", i64)
    most = (eq(n).to(limit("row_width")), eq(m).to(limit("resident_pixels")))
    wide = holds(conv_is_too_wide, fact(x), fact(w), u, n, m)
    yield closure(*most, eq(z).to(conv(x, w, b, u)), wide, then=after_wide(x))
    wide = holds(transposed_is_too_wide, fact(x), fact(w), u, n, m)
    yield closure(*most, eq(z).to(conv_transpose(x, w, b, u)), wide, then=after_wide(x))
    wide = holds(pool_is_too_wide, fact(x), n)
    yield closure(most[0], eq(z).to(pool(kind, x, u)), wide, then=after_wide(x))


def _spread() -> Iterator[Any]:
    """The rules that follow them through operators which keep images."""
    x, y, w, b, m, v, z = (egglog.var(name, Tensor) for name in ("x", "y", "w", "b", "m", "v", "z"))
    xs, rest = (egglog.var(name, Tensors) for name in ("xs", "rest"))
    u, s, t = (egglog.var(name, PyObject) for name in ("u", "s", "t"))
    op = egglog.var("op", String)
    for image in (
        conv(x, w, b, u),
        conv_transpose(x, w, b, u),
        pool(op, x, u),
        unary(op, s, x),
        binary(op, x, y),
        binary(op, y, x),
        batchnorm(x, w, b, m, v, s),
        instance_norm(x, w, b, s),
        pad(x, s, t, u),
        slice_(x, s),
    ):
        yield closure(after_wide(x), eq(z).to(image), then=after_wide(z))
    yield closure(after_wide(x), eq(xs).to(cons(x, rest)), then=among(xs))
    yield closure(among(rest), eq(xs).to(cons(x, rest)), then=among(xs))
    for image in (concat(xs, s), variadic(op, xs)):
        yield closure(among(xs), eq(z).to(image), then=after_wide(z))


_WINDOW = ConvWindow((2, 1), (0, 1, 1, 0), (1, 2))
LIMITS = {"row_width": 20, "resident_pixels": 100}


def _conv_examples(rng: np.random.Generator) -> Iterator[Example]:
    shape: Shape
    for shape, weight, window in (
        ((1, 2, 5, 30), (4, 2, 3, 2), _WINDOW),
        (("N", 4, 1, 21), (4, 2, 1, 3), ConvWindow((1, 3), (0, 2, 0, 1), (1, 1), 2)),
        ((1, 4, 18, 19), (4, 1, 5, 5), ConvWindow((1, 1), (2, 2, 2, 2), (1, 1), 4)),
    ):
        g = Operands(rng)
        x, w = g.input(shape), g.random(*weight)
        yield g.fires(conv(x, w, none(), window), **LIMITS)
        yield g.fires(conv(x, w, g.random(4), window), **LIMITS)
        yield g.near_miss(conv(x, w, none(), window), why="the target has no limits")
    for shape, why in (
        ((1, 2, 31, 30), "it is higher than wide"),
        ((1, 2, 5, 20), "it is not wide"),
        ((1, 2, 5, "L"), "the width is unknown"),
    ):
        g = Operands(rng)
        y = conv(g.input(shape), g.random(4, 2, 3, 2), none(), _WINDOW)
        yield g.near_miss(y, why, **LIMITS)
    g = Operands(rng)
    plain = ConvWindow((1,) * 3, (0,) * 6, (1,) * 3)
    solid = conv(g.input((1, 2, 2, 3, 40)), g.random(4, 2, 1, 1, 3), none(), plain)
    yield g.near_miss(solid, why="it is no image", **LIMITS)


@law("wide_images", numerics="reassociates", examples=_conv_examples)
def lay_conv(x: Tensor, w: Tensor, b: Tensor, u: PyObject, v: PyObject) -> Iterator[Any]:
    """Conv(x, W, b) = T(Conv(T(x), T(W), b)) for images too wide for the target, and after them

    Source: Ascend auto-optimizer, TransposeLargeInputConv.
    """
    yield from _seeds()
    yield from _spread()
    yield rewrite(
        conv(x, w, b, u),
        transpose(conv(transpose(x, SWAP), transpose(w, SWAP), b, v), SWAP),
        guard(after_wide(x), holds(lies, fact(x))),
        let(v, moved_window, PyObject(SWAP), u),
    )


FINDING = ("wide_images.lay_conv",)
"""The law whose rules say what is too wide."""


def _transposed_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w = g.input((1, 4, 5, 12)), g.random(4, 3, 3, 2)
    window = ConvWindow((1, 2), (1, 0, 0, 1), (1, 1), 1, (0, 1))
    yield g.fires(conv_transpose(x, w, none(), window), **LIMITS)
    yield g.fires(conv_transpose(x, w, g.random(3), window), **LIMITS)
    yield g.near_miss(conv_transpose(x, w, none(), window), why="the target has no limits")
    high = ConvWindow((3, 1), (1, 0, 0, 1), (1, 1))
    yield g.near_miss(conv_transpose(x, w, none(), high), why="it becomes higher than wide", **LIMITS)


@law("wide_images", numerics="reassociates", examples=_transposed_examples, required=FINDING)
def lay_conv_transpose(x: Tensor, w: Tensor, b: Tensor, u: PyObject, v: PyObject) -> Iterator[Any]:
    """ConvTranspose(x, W, b) = T(ConvTranspose(T(x), T(W), b)) for images too wide for the target

    Source: hicann/ops-nn aclnn_convolution.cpp, which does so for outW > 4096.
    """
    yield rewrite(
        conv_transpose(x, w, b, u),
        transpose(conv_transpose(transpose(x, SWAP), transpose(w, SWAP), b, v), SWAP),
        guard(after_wide(x), holds(lies, fact(x))),
        let(v, moved_window, PyObject(SWAP), u),
    )


def _pool_examples(rng: np.random.Generator) -> Iterator[Example]:
    window = PoolWindow((3, 2), (2, 1), (1, 0, 0, 1), (1, 1))
    for kind in ("MaxPool", "AveragePool"):
        g = Operands(rng)
        y = pool(kind, g.input(("N", 2, 9, 30)), window)
        yield g.fires(y, **LIMITS)
        yield g.near_miss(y, why="within the limit", row_width=30)
        yield g.near_miss(y, why="the target has no limits")
        tall = pool(kind, g.input(("N", 2, 31, 30)), window)
        yield g.near_miss(tall, why="it is higher than wide", **LIMITS)


@law("wide_images", numerics="reassociates", examples=_pool_examples, required=FINDING)
def lay_pool(kind: String, x: Tensor, u: PyObject, v: PyObject) -> Iterator[Any]:
    """Pool(x) = T(Pool(T(x))) for images too wide for the target

    Source: Ascend auto-optimizer, TransposeLargeInputConv.
    """
    yield rewrite(
        pool(kind, x, u),
        transpose(pool(kind, transpose(x, SWAP), v), SWAP),
        guard(after_wide(x), holds(lies, fact(x))),
        let(v, moved_window, PyObject(SWAP), u),
    )
