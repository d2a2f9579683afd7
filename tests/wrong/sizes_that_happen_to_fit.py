"""What is right of sizes, pads and parts that stand in one relation, and looks right of some that do not."""

import math

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Axis, Dims, Flag, Float, Sizes, Tensor, hosted, rewrite
from egraph_opt.operators import (
    ConvWindow,
    PoolWindow,
    attention,
    blockwise,
    conv,
    conv_transpose,
    gather,
    global_pool,
    none,
    output,
    pool,
    reduce,
    reshape,
    split,
    transpose,
)
from egraph_opt.rewrites.conditions.view_shapes import known_dims

from . import fires_on, wrong

LOST = "forgets how it was spelled"


# --- windows -----------------------------------------------------------------------------------------------


@hosted()
def flat_dims(w: Fact) -> Dims | None:
    """The dims of a kernel in rows."""
    return (w.shape[0], math.prod(w.shape[1:])) if w.is_static and (w.rank or 0) >= 3 else None  # type: ignore[arg-type, index]


@hosted()
def sees_all(x: Fact, w: Fact, y: Fact, u: ConvWindow) -> bool:
    """The kernel is as large as the image, and one pixel comes out."""
    if not (x.is_static and w.is_static and y.is_static) or u.group != 1 or any(d != 1 for d in u.dilations):
        return False
    return x.shape[2:] == w.shape[2:] and all(d == 1 for d in y.shape[2:]) and 0 not in x.shape  # type: ignore[index, operator]


@hosted()
def rows_of(x: Fact) -> Dims | None:
    return (x.shape[0], math.prod(x.shape[1:])) if x.is_static else None  # type: ignore[arg-type, index]


def _one_pixel(stride: int, pads: int):
    def witness(g):
        window = ConvWindow((stride, stride), (pads,) * 4, (1, 1))
        return conv(g.input((2, 3, 3, 3)), g.random(4, 3, 3, 3), none(), window)

    return witness


@wrong("reassociates", _one_pixel(3, 1), examples=fires_on(_one_pixel(1, 0), _one_pixel(2, 0)))
def convolution_of_the_whole_image(x: Tensor, w: Tensor, u: ConvWindow):
    """Conv(x, W) = x @ W' in rows, where the kernel is as large as the image and one pixel comes out

    Wrong where that is because strides are larger than the pads.
    """
    y = conv(x, w, none(), u)
    whole = reshape(x, rows_of(x)) @ transpose(reshape(w, flat_dims(w)), (1, 0))
    yield rewrite(y, reshape(whole, known_dims(y)), sees_all(x, w, y, u), because=LOST)


@hosted()
def one_window(x: Fact, y: Fact, w: PoolWindow) -> bool:
    """The window is as large as the image, and one pixel comes out."""
    known = x.is_static and y.is_static and x.dtype == 1 and all(d == 1 for d in w.dilations)
    return known and x.shape[2:] == w.kernel and all(d == 1 for d in y.shape[2:]) and 0 not in x.shape  # type: ignore[index, operator]


def _one_window(kind: str, stride: int, pads: int):
    window = PoolWindow((3, 3), (stride, stride), (pads,) * 4, (1, 1))
    return lambda g: pool(kind, g.input((2, 3, 3, 3)), window)


@wrong(
    "reassociates",
    _one_window("MaxPool", 3, 1),
    examples=fires_on(_one_window("MaxPool", 1, 0), _one_window("MaxPool", 2, 0)),
)
def maximum_of_the_whole_image(x: Tensor, w: PoolWindow):
    """MaxPool(x) = GlobalMaxPool(x), where the window is as large as the image and one pixel comes out

    Wrong where that is because strides are larger than the pads.
    """
    y = pool("MaxPool", x, w)
    yield rewrite(y, global_pool("GlobalMaxPool", x), one_window(x, y, w), because=LOST)


@hosted()
def blocks(w: Fact, u: ConvWindow) -> tuple[Dims, Dims, tuple[tuple[str, object], ...]] | None:
    """W with the places in front, as a kernel of one pixel, and how blocks become an image."""
    if not w.is_static or w.rank != 4 or u.group != 1 or any(u.pads) or any(u.output_padding):
        return None
    c, m, high, wide = w.shape  # type: ignore[misc]
    if high != wide or u.strides != (high, high) or u.dilations != (1, 1) or high < 2:  # type: ignore[operator]
        return None
    return (c, m, high * wide), (m * high * wide, c, 1, 1), (("blocksize", high), ("mode", "DCR"))  # type: ignore[operator]


POINT = ConvWindow((1, 1), (0,) * 4, (1, 1))


def _enlarged(channels: int):
    window = ConvWindow((2, 2), (0,) * 4, (1, 1))
    return lambda g: conv_transpose(g.input((1, 3, 4, 5)), g.random(3, channels, 2, 2), none(), window)


@wrong("reassociates", _enlarged(2), examples=fires_on(_enlarged(1)))
def transposed_as_blocks(x: Tensor, w: Tensor, u: ConvWindow):
    """ConvTranspose(x, W) = DepthToSpace(Conv(x, W')) for strides as large as the kernel

    Wrong of several channels: those of a block are in another order.
    """
    made = blocks(w, u)
    kernel = reshape(transpose(reshape(w, made[0]), (1, 2, 0)), made[1])
    image = blockwise("DepthToSpace", conv(x, kernel, none(), POINT), made[2])
    yield rewrite(conv_transpose(x, w, none(), u), image, because=LOST)


# --- parts -------------------------------------------------------------------------------------------------


@hosted()
def in_halves(x: Fact, axis: Axis, sizes: Sizes) -> Dims | None:
    """x with its halves apart, where the first part is one."""
    if not x.is_static or x.shape[axis] != 2 * sizes[0] or x.dtype != 1:  # type: ignore[index]
        return None
    return (*x.shape[:axis], 2, sizes[0], *x.shape[axis + 1 :])  # type: ignore[index]


@hosted()
def only(axis: Axis) -> tuple[int, ...]:
    return (axis,)


def _halves(*sizes: int):
    def witness(g):
        parts = split(g.input((3, sum(sizes))), 1, sizes)
        return output(parts, 0) + output(parts, 1)

    return witness


@wrong("reassociates", _halves(2, 1, 1), examples=fires_on(_halves(2, 2), _halves(1, 1)))
def sum_of_both_halves(x: Tensor, a: Axis, n: Sizes):
    """Split(x)[0] + Split(x)[1] = ReduceSum(Reshape(x)) where the first part is half of the axis

    Wrong of three parts, of which the second has one element: it broadcasts.
    """
    parts = split(x, a, n)
    halves = reshape(x, in_halves(x, a, n))
    yield rewrite(output(parts, 0) + output(parts, 1), reduce("ReduceSum", halves, only(a), 0), because=LOST)


@hosted()
def is_only(axes: Axes, axis: Axis) -> bool:
    return axes == (axis,)


@hosted()
def is_some_order(i: Fact, x: Fact, axis: Axis) -> bool:
    """As many indices as the axis has elements, which sum up to what these do."""
    if i.ints is None or i.rank != 1 or x.shape is None or not isinstance(x.shape[axis], int):
        return False
    n = x.shape[axis]
    return len(i.ints) == n and min(i.ints, default=0) >= 0 and sum(i.ints) == n * (n - 1) // 2


def _reordered(*indices: int):
    return lambda g: reduce("ReduceSum", gather(g.input((3, 4)), g.constant(np.array(indices)), 1), (1,), 1)


@wrong("reassociates", _reordered(0, 0, 3, 3), examples=fires_on(_reordered(3, 0, 2, 1)))
def sum_in_another_order(x: Tensor, i: Tensor, a: Axis, b: Axes, k: Flag):
    """ReduceSum_a(Gather_a(x, i)) = ReduceSum_a(x) where i permutes the axis

    Wrong of indices that only have the sum of a permutation.
    """
    left, known = reduce("ReduceSum", gather(x, i, a), b, k), (is_only(b, a), is_some_order(i, x, a))
    yield rewrite(left, reduce("ReduceSum", x, b, k), *known, because="forgets i")


@hosted()
def one_by_feature(c: Fact, v: Fact) -> bool:
    """As many numbers as there are features."""
    return c.is_static and v.is_static and math.prod(c.shape) == v.shape[-1] and len(c.shape) <= 2  # type: ignore[arg-type, index]


def _scaled_values(rows: bool):
    def witness(g):
        q, k, v = (g.input((1, 2, n, 3)) for n in (3, 3, 3))
        return attention(q, k, v * g.random(*((3, 1) if rows else (3,))), 0.5, 0)

    return witness


@wrong("reassociates", _scaled_values(True), opset=23, examples=fires_on(_scaled_values(False)))
def scale_of_values_behind(q: Tensor, k: Tensor, v: Tensor, c: Tensor, s: Float, w: Flag):
    """Attention(q, k, v * c) = Attention(q, k, v) * c for as many numbers as there are features

    Wrong where there are as many keys, of which each has one of them.
    """
    left = attention(q, k, v * c, s, w)
    yield rewrite(left, attention(q, k, v, s, w) * c, one_by_feature(c, v), because="one way is enough")
