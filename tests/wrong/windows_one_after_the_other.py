"""Windows in a row, strides taken apart, and settings that the second of two steps has not."""

import operator
from dataclasses import replace

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Tensor, hosted, rewrite
from egraph_opt.operators import PoolWindow, global_pool, pool

from . import fires_on, of_one, wrong

# --- pools -----------------------------------------------------------------------------------------------


def window(kernel, strides=None, pads=None, dilations=None, **more) -> PoolWindow:
    rank = len(kernel)
    ones = (1,) * rank
    return PoolWindow(kernel, strides or ones, pads or (0,) * 2 * rank, dilations or ones, **more)


@hosted()
def tiles_the_image(w: PoolWindow, x: Fact) -> bool:
    """Windows lie next to each other, and the first one and the last one end with the image."""
    if x.shape is None or w.ceil_mode or any(w.pads) or w.kernel != w.strides or set(w.dilations) != {1}:
        return False
    dims = x.shape[2:]
    if len(dims) != len(w.kernel) or not all(isinstance(n, int) and n > 0 for n in dims):
        return False
    return int(np.prod(dims)) % int(np.prod(w.kernel)) == 0 and x.dtype == T.FLOAT  # type: ignore[arg-type]


def mean_of_means(shape: tuple[int, ...], *kernel: int):
    return of_one(
        lambda x: global_pool("GlobalAveragePool", pool("AveragePool", x, window(kernel, kernel))), shape
    )


@wrong(
    "reassociates",
    mean_of_means((1, 2, 6, 10), 3, 4),
    examples=fires_on(
        mean_of_means((1, 2, 4, 6), 2, 3), mean_of_means((2, 3, 6), 3), mean_of_means((1, 1, 6, 4), 3, 4)
    ),
)
def mean_of_means_of_blocks(x: Tensor, w: PoolWindow):
    """GlobalAveragePool(AveragePool(x)) = GlobalAveragePool(x) for windows that tile the image

    Wrong where all of them have as many elements together and along one axis some are left over.
    """
    y = pool("AveragePool", x, w)
    yield rewrite(
        global_pool("GlobalAveragePool", y),
        global_pool("GlobalAveragePool", x),
        tiles_the_image(w, x),
        because="one pool",
    )


@hosted()
def misses_nothing(w: PoolWindow, x: Fact) -> bool:
    """No element is between windows, and there is a window for the last one."""
    if x.shape is None or any(w.pads) or set(w.dilations) != {1} or x.dtype != T.FLOAT or 0 in x.shape:
        return False
    for size, stride, n in zip(w.kernel, w.strides, x.shape[2:], strict=True):
        if not isinstance(n, int) or size > n or stride > size:
            return False
    return bool(w.ceil_mode) or (x.shape[-1] - w.kernel[-1]) % w.strides[-1] == 0  # type: ignore[operator]


def greatest_of_all(shape: tuple[int, ...], kernel, strides, **more):
    return of_one(
        lambda x: global_pool("GlobalMaxPool", pool("MaxPool", x, window(kernel, strides, **more))), shape
    )


@wrong(
    "finite",
    greatest_of_all((1, 1, 6, 5), (3, 3), (2, 2)),
    values=tuple(range(30)),
    examples=fires_on(
        greatest_of_all((1, 2, 5, 7), (3, 3), (2, 2)),
        greatest_of_all((2, 2, 6, 6), (2, 2), (2, 2)),
        greatest_of_all((1, 2, 7), (2,), (2,), ceil_mode=1),
    ),
)
def greatest_of_pooled(x: Tensor, w: PoolWindow):
    """GlobalMaxPool(MaxPool(x)) = GlobalMaxPool(x) where windows see each element

    Wrong where the last rows, not columns, are left over.
    """
    y = pool("MaxPool", x, w)
    whole = global_pool("GlobalMaxPool", x)
    yield rewrite(global_pool("GlobalMaxPool", y), whole, misses_nothing(w, x), because="one pool")


@hosted()
def counts_no_pads(w: PoolWindow, c: Fact, x: Fact) -> bool:
    """Means of elements alone."""
    moderate = c.splat is not None and c.shape == () and abs(c.splat) < 100 and x.dtype == T.FLOAT
    return moderate and not x.const and (not w.count_include_pad or not any(w.pads[: len(w.kernel)]))


def raised_means(w: PoolWindow, *shape: int):
    return lambda g: pool("AveragePool", g.input(shape) + g.constant(np.array(1.5, np.float32)), w)


@wrong(
    "reassociates",
    raised_means(window((2, 2), (2, 2), (0, 0, 1, 1), count_include_pad=1), 1, 2, 5, 5),
    examples=fires_on(
        raised_means(window((3, 3), (2, 2), (1, 1, 1, 1)), 1, 2, 6, 6),
        raised_means(window((2, 2), count_include_pad=1), 1, 2, 4, 5),
        raised_means(window((2,), (2,), (0, 1)), 1, 2, 5),
    ),
)
def mean_of_raised(x: Tensor, c: Tensor, w: PoolWindow):
    """AveragePool(x + c) = AveragePool(x) + c where no pads are counted

    Wrong where there are pads behind the image only.
    """
    known = counts_no_pads(w, c, x)
    yield rewrite(pool("AveragePool", x + c, w), pool("AveragePool", x, w) + c, known, because="less")


@hosted()
def one_window(u: PoolWindow, v: PoolWindow, x: Fact) -> PoolWindow | None:
    """The window that sees what both see."""
    if set(u.dilations) != {1} or set(v.dilations) != {1} or any(v.pads) or u.ceil_mode:
        return None
    if x.rank != len(u.kernel) + 2 or x.dtype != T.FLOAT or any(map(operator.gt, u.strides, u.kernel)):
        return None
    sizes = tuple(a + (b - 1) * s for a, b, s in zip(u.kernel, v.kernel, u.strides, strict=True))
    strides = tuple(s * t for s, t in zip(u.strides, v.strides, strict=True))
    return replace(u, kernel=sizes, strides=strides)


def two_maxima(first: PoolWindow, second: PoolWindow, *shape: int):
    return of_one(lambda x: pool("MaxPool", pool("MaxPool", x, first), second), shape)


@wrong(
    "finite",
    two_maxima(window((3,), (2,)), window((2,), (2,), ceil_mode=1), 1, 2, 11),
    examples=fires_on(
        two_maxima(window((3, 3)), window((2, 2), (2, 2)), 1, 2, 8, 8),
        two_maxima(window((3,), (2,), (1, 1)), window((3,)), 1, 2, 12),
    ),
)
def maxima_in_one_window(x: Tensor, u: PoolWindow, v: PoolWindow):
    """MaxPool(MaxPool(x; k, s); l, t) = MaxPool(x; k + (l - 1) s, s t)

    Wrong where the second one has a partial window at the end.
    """
    both = pool("MaxPool", pool("MaxPool", x, u), v)
    yield rewrite(both, pool("MaxPool", x, one_window(u, v, x)), because="which two is forgotten")
