"""Windows with gaps: strides beside dilations, and kernels that are taken for their length."""

from dataclasses import replace
from math import gcd
from typing import Any

from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Axis, Pads, Slices, String, Tensor, hosted, listed, rewrite
from egraph_opt.operators import (
    ConvWindow,
    PoolWindow,
    concat,
    conv,
    global_pool,
    none,
    pad,
    pool,
    reduce,
    slice_,
)

from . import fires_on, wrong


def window(kernel: tuple[int, ...], strides=None, pads=None, dilations=None, ceil: int = 0, counted: int = 0):
    n = len(kernel)
    return PoolWindow(kernel, strides or (1,) * n, pads or (0,) * 2 * n, dilations or (1,) * n, ceil, counted)


def image(g, *spatial: int, channels: int = 2):
    return g.input((1, channels, *spatial))


def is_image(x: Fact) -> bool:
    return x.is_static and x.rank == 4 and x.dtype == T.FLOAT


# --- strides beside dilations ----------------------------------------------------------------------------


def shared(u: Any) -> tuple[int, ...] | None:
    """The smaller one of stride and dilation where they have a common divisor."""
    pairs = tuple(zip(u.strides, u.dilations, strict=True))
    return (
        tuple(map(min, pairs))
        if any(gcd(*p) > 1 for p in pairs) and all(gcd(*p) > 1 or 1 in p for p in pairs)
        else None
    )


@hosted()
def every_pixel_read(x: Fact, u: PoolWindow) -> Slices | None:
    steps = shared(u)
    if steps is None or not is_image(x) or any(u.pads) or u.ceil_mode:
        return None
    if any(n < (k - 1) * d + 1 for n, k, d in zip(x.shape[2:], u.kernel, u.dilations, strict=True)):  # type: ignore[index]
        return None
    return tuple((k + 2, 0, None, n) for k, n in enumerate(steps) if n > 1)


def _among(u: Any) -> Any:
    """A window of steps that have nothing in common any more."""
    steps = shared(u)
    if steps is None:
        return None
    strides, dilations = (
        tuple(k // n for k, n in zip(given, steps, strict=True)) for given in (u.strides, u.dilations)
    )
    return replace(u, strides=strides, dilations=dilations)


@hosted()
def among_those(u: PoolWindow) -> PoolWindow | None:
    return _among(u)


def spread(s: int, d: int, size: int = 14):
    return lambda g: pool("MaxPool", image(g, size, size), window((2, 2), (s, s), None, (d, d)))


@wrong("finite", spread(4, 6), examples=fires_on(spread(2, 2), spread(4, 2), spread(2, 4)))
def pool_of_pixels_read(kind: String, x: Tensor, u: PoolWindow):
    """MaxPool(x; stride s, dilation d) = MaxPool(x[::n]; s / n, d / n) for what they have in common

    Wrong of 4 and 6, of which neither divides the other.
    """
    yield rewrite(
        pool(kind, x, u), pool(kind, slice_(x, every_pixel_read(x, u)), among_those(u)), because="one way"
    )


@hosted()
def conv_pixels(x: Fact, u: ConvWindow) -> Slices | None:
    steps = shared(u)
    if steps is None or not is_image(x) or any(u.pads):
        return None
    return tuple((k + 2, 0, None, n) for k, n in enumerate(steps) if n > 1)


@hosted()
def conv_among(u: ConvWindow) -> ConvWindow | None:
    return _among(u)


def spread_conv(s: int, d: int, size: int = 14):
    def make(g):
        return conv(image(g, size, size), g.random(3, 2, 2, 2), none(), ConvWindow((s, s), (0,) * 4, (d, d)))

    return make


@wrong("reassociates", spread_conv(6, 4), examples=fires_on(spread_conv(2, 2), spread_conv(4, 2)))
def conv_of_pixels_read(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x; stride s, dilation d) = Conv(x[::n]; s / n, d / n) for what they have in common

    Wrong of 6 and 4, of which neither divides the other.
    """
    right = conv(slice_(x, conv_pixels(x, u)), w, b, conv_among(u))
    yield rewrite(conv(x, w, b, u), right, because="one way")


# --- longer than their kernels ---------------------------------------------------------------------------


@hosted()
def takes_edges(x: Fact, m: Pads, u: PoolWindow) -> PoolWindow | None:
    """Edges that are repeated are in a window that has the edge as well."""
    if not is_image(x) or any(m[k] for k in (0, 1, 4, 5)) or any(u.pads) or u.ceil_mode:
        return None
    pads = (m[2], m[3], m[6], m[7])
    reach = tuple((k - 1) * d + 1 for k, d in zip(u.kernel, u.dilations, strict=True))
    if u.strides != (1, 1) or any(p * d % 2 for p, d in zip(pads, u.dilations * 2, strict=True)):
        return None
    return replace(u, pads=pads) if all(p < k for p, k in zip(pads, reach * 2, strict=True)) else None


@hosted()
def edge_mode(x: Fact, u: PoolWindow) -> bool:
    return x.rank == 4 and all(d == 1 or d % 2 == 0 for d in u.dilations)


def padded_pool(k: int, p: int, d: int):
    return lambda g: pool(
        "MaxPool",
        pad(image(g, 6, 6), "edge", (0, 0, p, p, 0, 0, p, p), 0.0),
        window((k, k), None, None, (d, d)),
    )


@wrong("finite", padded_pool(2, 1, 2), examples=fires_on(padded_pool(3, 2, 1), padded_pool(5, 4, 1)))
def edges_into_pads(x: Tensor, m: Pads, u: PoolWindow):
    """MaxPool(Pad(x; edge)) = MaxPool(x; pads) where windows are larger than the pads

    Wrong of windows with gaps, which may have a copy of the edge and not the edge.
    """
    yield rewrite(
        pool("MaxPool", pad(x, "edge", m, 0.0), u),
        pool("MaxPool", x, takes_edges(x, m, u)),
        edge_mode(x, u),
        because="no Pad",
    )


@hosted()
def reads_all(x: Fact, u: PoolWindow, a: Axes) -> bool:
    """Windows touch each other and end where x does."""
    if not is_image(x) or a != (2, 3) or any(u.pads) or u.ceil_mode:
        return False
    for size, k, s, d in zip(x.shape[2:], u.kernel, u.strides, u.dilations, strict=True):  # type: ignore[index]
        if k < s or (size - (k - 1) * d - 1) % s or size < (k - 1) * d + 1:
            return False
    return True


def greatest(size: int, u: PoolWindow):
    return lambda g: reduce("ReduceMax", pool("MaxPool", image(g, size, size), u), (2, 3), 1)


@wrong(
    "finite",
    greatest(7, window((3, 3), (2, 2), None, (3, 3))),
    examples=fires_on(
        greatest(6, window((2, 2), (2, 2))),
        greatest(7, window((3, 3), (2, 2))),
        greatest(7, window((3, 3), None, None, (2, 2))),
    ),
)
def greatest_of_greatest(x: Tensor, u: PoolWindow, a: Axes):
    """ReduceMax(MaxPool(x)) = ReduceMax(x) where windows touch

    Wrong of windows with gaps in steps above 1.
    """
    yield rewrite(
        reduce("ReduceMax", pool("MaxPool", x, u), a, 1),
        reduce("ReduceMax", x, a, 1),
        reads_all(x, u, a),
        because="forgets u",
    )


@hosted()
def is_whole(x: Fact, y: Fact, u: PoolWindow) -> bool:
    """One window, which is not smaller than the image, and no pad counts."""
    if not is_image(x) or y.shape is None or y.shape[2:] != (1, 1) or u.ceil_mode:
        return False
    if u.count_include_pad and any(u.pads):
        return False
    sizes: Any = x.shape
    return (
        all(k - p >= n for k, p, n in zip(u.kernel, u.pads, sizes[2:], strict=False))
        and u.strides[0] == u.strides[1]
    )


def whole_image(h: int, w: int, u: PoolWindow):
    return lambda g: pool("AveragePool", image(g, h, w), u)


@wrong(
    "reassociates",
    whole_image(3, 3, window((4, 4), (3, 3), (1, 1, 3, 3), (2, 2))),
    examples=fires_on(
        whole_image(4, 3, window((4, 3))), whole_image(3, 3, window((5, 5), (2, 2), (1, 1, 1, 1)))
    ),
)
def average_of_whole_image(x: Tensor, u: PoolWindow):
    """AveragePool(x) = GlobalAveragePool(x) where one window has the whole image

    Wrong where it has gaps.
    """
    y = pool("AveragePool", x, u)
    yield rewrite(y, global_pool("GlobalAveragePool", x), is_whole(x, y, u), because="forgets u")


@hosted()
def pools_apart(x: Fact, y: Fact, u: PoolWindow, a: Axis) -> bool:
    """No window has pixels of both; the second begins where a window does."""
    if not is_image(x) or not is_image(y) or a not in (2, 3) or x.shape is None:
        return False
    n: Any = x.shape[a]
    s, k = u.strides[a - 2], u.kernel[a - 2]
    return (
        n % s == 0
        and k <= s
        and n >= s
        and y.shape[a] >= 2 * s  # type: ignore[index, operator]
        and not any(u.pads)
        and not u.ceil_mode
        and u.dilations[0] < 3 > u.dilations[1]
    )


def joined(n: int, u: PoolWindow, a: int = 2):
    return lambda g: pool("MaxPool", concat(listed(image(g, n, n), image(g, n, n)), a), u)


@wrong(
    "finite",
    joined(6, window((2, 2), (2, 2), None, (2, 2))),
    examples=fires_on(joined(4, window((2, 2), (2, 2))), joined(9, window((2, 2), (3, 3), None, (2, 2)))),
)
def pool_of_parts(x: Tensor, y: Tensor, u: PoolWindow, a: Axis):
    """MaxPool(Concat(x, y)) = Concat(MaxPool(x), MaxPool(y)) where no window has both

    Wrong of windows with gaps, which are longer than their kernel says.
    """
    right = concat(listed(pool("MaxPool", x, u), pool("MaxPool", y, u)), a)
    yield rewrite(
        pool("MaxPool", concat(listed(x, y), a), u), right, pools_apart(x, y, u, a), because="apart"
    )
