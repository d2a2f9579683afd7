"""Windows with gaps: pools have dilations since opset 18 or 19, which the author's opset does not have."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Dims, Flag, Settings, Tensor, hosted, rewrite
from egraph_opt.operators import (
    ConvWindow,
    Literal,
    PoolWindow,
    blockwise,
    conv,
    literal,
    lp_pool,
    none,
    pool,
    reduce,
    reshape,
    resize,
)

from . import fires_on, wrong


@hosted()
def in_blocks(x: Fact, u: PoolWindow) -> Dims | None:
    """Blocks of pixels, side by side."""
    if (
        not x.is_static
        or x.rank != 4
        or x.dtype != T.FLOAT
        or any(u.pads)
        or u.strides != u.kernel
        or x.shape is None
    ):
        return None
    n, c, h, w = x.shape
    a, b = u.kernel
    if h % a or w % b or 0 in x.shape:  # type: ignore[operator]
        return None
    return (n, c, h // a, a, w // b, b)  # type: ignore[operator]


def norms(h: int, u: PoolWindow):
    return lambda g: lp_pool(2, g.input((1, 2, h, h)), u)


@wrong(
    "reassociates",
    norms(6, PoolWindow((2, 2), (2, 2), (0,) * 4, (2, 2))),
    examples=fires_on(
        norms(6, PoolWindow((2, 2), (2, 2), (0,) * 4, (1, 1))),
        norms(6, PoolWindow((3, 2), (3, 2), (0,) * 4, (1, 1))),
    ),
)
def norms_of_blocks(x: Tensor, u: PoolWindow):
    """LpPool(x; k, stride k) = ReduceL2(Reshape(x))

    Wrong of windows with gaps, which opset 18 has.
    """
    blocks = reduce("ReduceL2", reshape(x, in_blocks(x, u)), (3, 5), 0)
    yield rewrite(lp_pool(2, x, u), blocks, because="for targets")


def averages(h: int, u: PoolWindow):
    return lambda g: pool("AveragePool", g.input((1, 2, h, h)), u)


def blocks(c: int, b: int, mode: str):
    def make(g):
        small = blockwise("DepthToSpace", g.input((1, c, 2, 2)), (("blocksize", b), ("mode", mode)))
        return blockwise("SpaceToDepth", small, (("blocksize", b),))

    return make


@wrong(
    "reassociates",
    averages(6, PoolWindow((2, 2), (2, 2), (0,) * 4, (2, 2))),
    examples=fires_on(
        averages(6, PoolWindow((2, 2), (2, 2), (0,) * 4, (1, 1))),
        averages(6, PoolWindow((3, 2), (3, 2), (0,) * 4, (1, 1))),
    ),
)
def averages_of_blocks(x: Tensor, u: PoolWindow):
    """AveragePool(x; k, stride k) = ReduceMean(Reshape(x))

    Wrong of windows with gaps, which opset 19 has.
    """
    blocks = reduce("ReduceMean", reshape(x, in_blocks(x, u)), (3, 5), 0)
    yield rewrite(pool("AveragePool", x, u), blocks, because="for targets")


@hosted()
def spans(x: Fact, u: PoolWindow, a: Axes) -> bool:
    """Windows side by side, which have all pixels."""
    if (
        not x.is_static
        or x.rank != 4
        or x.dtype != T.FLOAT
        or a != (2, 3)
        or any(u.pads)
        or u.strides != u.kernel
        or x.shape is None
    ):
        return False
    return all(n > 0 and n % k == 0 for n, k in zip(x.shape[2:], u.kernel, strict=True))  # type: ignore[operator]


def mean_of_means(h: int, u: PoolWindow):
    return lambda g: reduce("ReduceMean", pool("AveragePool", g.input((1, 2, h, h)), u), (2, 3), 1)


@wrong(
    "reassociates",
    mean_of_means(6, PoolWindow((2, 2), (2, 2), (0,) * 4, (3, 3))),
    examples=fires_on(
        mean_of_means(6, PoolWindow((2, 2), (2, 2), (0,) * 4, (1, 1))),
        mean_of_means(6, PoolWindow((3, 2), (3, 2), (0,) * 4, (1, 1))),
    ),
)
def mean_of_averages(x: Tensor, u: PoolWindow, a: Axes, k: Flag):
    """ReduceMean(AveragePool(x; k, stride k)) = ReduceMean(x)

    Wrong of windows with gaps, which opset 19 has.
    """
    left = reduce("ReduceMean", pool("AveragePool", x, u), a, k)
    yield rewrite(left, reduce("ReduceMean", x, a, k), spans(x, u, a), because="forgets windows")


@hosted()
def kernel_of(x: Fact, u: PoolWindow) -> Literal | None:
    """A kernel for each channel, of one number."""
    if (
        not x.is_static
        or x.rank != 4
        or x.dtype != T.FLOAT
        or u.ceil_mode
        or x.shape is None
        or not x.shape[1]
    ):
        return None
    if any(u.pads) and not u.count_include_pad:
        return None
    if any(n < (k - 1) * d + 1 for n, k, d in zip(x.shape[2:], u.kernel, u.dilations, strict=True)):  # type: ignore[operator]
        return None
    a, b = u.kernel
    return Literal(T.FLOAT, (x.shape[1], 1, a, b), (1 / (a * b),))  # type: ignore[arg-type]


@hosted()
def depthwise(x: Fact, u: PoolWindow) -> ConvWindow | None:
    return None if x.shape is None else ConvWindow(u.strides, u.pads, (1,) * len(u.kernel), x.shape[1])  # type: ignore[arg-type]


def average(u: PoolWindow):
    return lambda g: pool("AveragePool", g.input((1, 2, 6, 6)), u)


@wrong(
    "reassociates",
    average(PoolWindow((2, 2), (1, 1), (0,) * 4, (2, 2))),
    examples=fires_on(
        average(PoolWindow((2, 2), (2, 2), (0,) * 4, (1, 1))),
        average(PoolWindow((3, 3), (1, 1), (1,) * 4, (1, 1), 0, 1)),
    ),
)
def average_as_convolution(x: Tensor, u: PoolWindow):
    """AveragePool(x) = Conv(x; 1 / n) for each channel

    Wrong of windows with gaps, which opset 19 has.
    """
    right = conv(x, literal(kernel_of(x, u)), none(), depthwise(x, u))
    yield rewrite(pool("AveragePool", x, u), right, because="for targets")


REPEATS = (("coordinate_transformation_mode", "asymmetric"), ("mode", "nearest"), ("nearest_mode", "floor"))


@hosted()
def by_kernel(x: Fact, c: Fact, u: PoolWindow, s: Settings) -> bool:
    """Each window has the copies of one pixel."""
    if c.data is None or len(c.data) != 4 or not x.is_static or x.rank != 4 or any(u.pads) or u.ceil_mode:
        return False
    if (
        any(dict(s).get(k) != v for k, v in REPEATS)
        or dict(s).get("axes")
        or dict(s).get("antialias")
        or x.dtype != T.FLOAT
    ):
        return False
    return c.data == (1, 1, *u.kernel) and u.strides == u.kernel


def there_and_smaller(r: int, u: PoolWindow):
    def make(g):
        c = g.constant(np.array((1, 1, r, r), np.float32))
        return pool("AveragePool", resize(g.input((1, 2, 3, 3)), none(), c, none(), REPEATS), u)

    return make


@wrong(
    "reassociates",
    there_and_smaller(3, PoolWindow((3, 3), (3, 3), (0,) * 4, (2, 2))),
    examples=fires_on(there_and_smaller(2, PoolWindow((2, 2), (2, 2), (0,) * 4, (1, 1)))),
)
def average_of_copies(x: Tensor, c: Tensor, u: PoolWindow, s: Settings):
    """AveragePool(Resize(x; by k); k, stride k) = x of repeated pixels

    Wrong of windows with gaps, which opset 19 has.
    """
    left = pool("AveragePool", resize(x, none(), c, none(), s), u)
    yield rewrite(left, x, by_kernel(x, c, u, s), because="forgets k")
