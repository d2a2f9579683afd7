"""Windows of which one setting is odd, or goes together with no other."""

import math
from dataclasses import replace

from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Float, Slices, Tensor, hosted, number_like, rewrite
from egraph_opt.operators import (
    ConvWindow,
    PoolWindow,
    conv,
    global_pool,
    instance_norm,
    lp_pool,
    none,
    pool,
    slice_,
    unary,
)
from egraph_opt.rewrites.conditions.values import fits

from . import is_single, of_one, wrong
from .resized_images import whole_backwards

FLOAT = TensorProto.FLOAT


# --- pools -----------------------------------------------------------------------------------------------


@hosted()
def that_counts(w: PoolWindow) -> PoolWindow:
    return replace(w, count_include_pad=1)


@hosted()
def size_of(w: PoolWindow) -> Float:
    return float(math.prod(w.kernel))


def average(kernel):
    return lambda x: pool("AveragePool", x, PoolWindow(kernel, kernel, (0, 0, 0, 0), (1, 1)))


@wrong("reassociates", of_one(lambda x: lp_pool(1, x, PoolWindow((3,), (2,), (0, 0), (1,), 1)), (1, 2, 6)))
def norm_pool_as_average(x: Tensor, w: PoolWindow):
    """LpPool(x; p = 1) = AveragePool(Abs(x)) * k for windows of k elements, pads counted

    Wrong where the number of windows is rounded up: the average is of what is there.
    """
    average = pool("AveragePool", unary("Abs", (), x), that_counts(w))
    yield rewrite(lp_pool(1, x, w), average * number_like(x, size_of(w)), is_single(x), because="one pool")


@hosted()
def tiles(w: PoolWindow) -> bool:
    return w.kernel == w.strides and not any(w.pads) and set(w.dilations) == {1} and not w.ceil_mode


@wrong("reassociates", of_one(lambda x: global_pool("GlobalAveragePool", average((2, 3))(x)), (1, 2, 5, 6)))
def mean_of_windows(x: Tensor, w: PoolWindow):
    """GlobalAveragePool(AveragePool(x)) = GlobalAveragePool(x) for windows side by side

    Wrong where some rows at the end make no window.
    """
    windows = global_pool("GlobalAveragePool", pool("AveragePool", x, w))
    yield rewrite(windows, global_pool("GlobalAveragePool", x), tiles(w), is_single(x), because="forgets w")


@hosted()
def overlaps(w: PoolWindow) -> bool:
    return all(s <= k for s, k in zip(w.strides, w.kernel, strict=True)) and set(w.dilations) == {1}


WIDE = PoolWindow((3, 3), (2, 2), (0, 0, 0, 0), (1, 1))


@wrong(
    "finite",
    of_one(lambda x: global_pool("GlobalMaxPool", pool("MaxPool", x, WIDE)), (1, 1, 6, 5)),
    values=tuple(map(float, range(30))),
)
def greatest_of_windows(x: Tensor, w: PoolWindow):
    """GlobalMaxPool(MaxPool(x)) = GlobalMaxPool(x) for windows that overlap or touch

    Wrong where the last row is in none of them.
    """
    windows = global_pool("GlobalMaxPool", pool("MaxPool", x, w))
    yield rewrite(windows, global_pool("GlobalMaxPool", x), overlaps(w), is_single(x), because="forgets w")


@hosted()
def is_product(w: Fact, u: ConvWindow) -> bool:
    """A kernel of one pixel, which neither jumps nor pads."""
    return w.is_static and set(w.shape[2:]) == {1} and set(u.strides) == {1} and not any(u.pads)  # type: ignore[index]


@wrong(
    "reassociates",
    lambda g: pool(
        "AveragePool",
        conv(g.input((1, 2, 4)), g.random(3, 2, 1), g.random(3), ConvWindow((1,), (0, 0), (1,))),
        PoolWindow((2,), (1,), (1, 0), (1,), 0, 1),
    ),
)
def average_before_product(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, v: PoolWindow):
    """AveragePool(Conv(x, W, b)) = Conv(AveragePool(x), W, b) for a kernel of one pixel

    Wrong where pads count, and there is a bias: the average is of a part of it.
    """
    behind = conv(pool("AveragePool", x, v), w, b, u)
    yield rewrite(pool("AveragePool", conv(x, w, b, u), v), behind, is_product(w, u), because="fewer pixels")


# --- kernels ---------------------------------------------------------------------------------------------


@hosted()
def turns(x: Fact, t: Slices, z: Fact) -> Slices | None:
    """What turns z round as t does x."""
    axes = tuple(entry[0] for entry in t)
    return whole_backwards(z, axes) if t and t == whole_backwards(x, axes) else None


@hosted()
def spatial_turns(x: Fact, t: Slices, z: Fact) -> Slices | None:
    """As `turns`, of nothing but rows and columns."""
    axes = tuple(entry[0] for entry in t)
    return whole_backwards(z, axes) if t and min(axes) > 1 and t == whole_backwards(x, axes) else None


def backwards(g, x, axes):
    """A tensor of an example, turned round."""
    return slice_(x, tuple((a, g.facts[x.arguments[0].head.value].shape[a] - 1, None, -1) for a in axes))


@hosted()
def other_ends(u: ConvWindow, t: Slices) -> ConvWindow:
    """Pads in front are behind, along the axes that are turned."""
    n, turned = len(u.strides), {entry[0] - 2 for entry in t}
    pads = tuple(u.pads[(k + n) % (2 * n) if k % n in turned else k] for k in range(2 * n))
    return replace(u, pads=pads)


@wrong(
    "reassociates",
    lambda g: conv(
        backwards(g, g.input((1, 2, 6)), (2,)), g.random(3, 2, 3), none(), ConvWindow((2,), (0, 0), (1,))
    ),
)
def reversed_image_convolved(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, t: Slices):
    """Conv(x[::-1], W) = Conv(x, W[::-1])[::-1], pads in front behind

    Wrong where strides leave something over at one end.
    """
    turned = slice_(x, t)
    before = conv(turned, w, b, u)
    after = conv(x, slice_(w, spatial_turns(x, t, w)), b, other_ends(u, t))
    yield rewrite(before, slice_(after, spatial_turns(x, t, before)), because="weights are turned at once")


@hosted()
def centre(x: Fact, w: Fact, z: Fact, u: ConvWindow) -> Slices | None:
    """The middle of a kernel where one pixel becomes one pixel."""
    if not (x.is_static and w.is_static and z.is_static) or {*x.shape[2:], *z.shape[2:]} != {1}:  # type: ignore[index]
        return None
    return tuple((k, n // 2, n // 2 + 1, 1) for k, n in enumerate(w.shape) if k > 1)  # type: ignore[operator, arg-type]


@hosted()
def of_one_pixel(u: ConvWindow) -> ConvWindow:
    axes = len(u.strides)
    return replace(u, strides=(1,) * axes, pads=(0,) * (2 * axes), dilations=(1,) * axes)


@wrong(
    "reassociates",
    lambda g: conv(g.input((2, 2, 1)), g.random(3, 2, 3), none(), ConvWindow((1,), (2, 0), (1,))),
)
def kernel_of_one_pixel(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x, W) = Conv(x, the middle of W) where one pixel becomes one

    Wrong where there is more padding at one side: the pixel meets another part of the kernel.
    """
    whole = conv(x, w, b, u)
    part = conv(x, slice_(w, centre(x, w, whole, u)), b, of_one_pixel(u))
    yield rewrite(whole, part, because="forgets what meets padding only")


def is_ordinary(c: Fact) -> bool:
    """Known numbers, none of them large."""
    known = c.data if c.splat is None else (c.splat,)
    return c.const and known is not None and all(abs(v) < 10 for v in known)  # type: ignore[arg-type]


@hosted()
def is_per_channel(c: Fact, x: Fact, s: Fact, e: float) -> bool:
    """Numbers of ordinary size, one for each channel."""
    plain = c.dtype == FLOAT and c.rank == 3 and c.shape[1:] == (1, 1)  # type: ignore[index]
    return plain and e >= 1e-6 and not x.const and is_ordinary(c) and is_ordinary(s)


@wrong(
    "reassociates",
    lambda g: instance_norm(g.input((1, 2, 3, 2, 2)) + g.random(3, 1, 1), g.random(2), g.random(2), 1e-5),
)
def shift_before_instance_norm(x: Tensor, c: Tensor, s: Tensor, b: Tensor, e: Float):
    """InstanceNormalization(x + c) = InstanceNormalization(x) for a c of [C, 1, 1]

    Wrong of volumes, along whose first axis it lies.
    """
    shifted = instance_norm(x + c, s, b, e)
    yield rewrite(
        shifted, instance_norm(x, s, b, e), is_per_channel(c, x, s, e), fits(c, x), because="forgets c"
    )
