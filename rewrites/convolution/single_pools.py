"""Pools of one element, and means between convolutions of one element.

Pool(x; kernel 1, stride 1) -> x
Pool(x; kernel 1, stride s) -> Slice(x; step s)
AveragePool(Conv(x, W, b)) -> Conv(AveragePool(x), W, b)          for a kernel of 1
Conv(AveragePool(x; k, s), W, b) -> Conv(x, W / k .. W / k, b; s)  likewise, W spread over the window

What is pooled first is less to convolve; spread over the window it is one kernel, and more arithmetic.
"""

from collections.abc import Iterator
from math import prod

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, law, rewrite
from egraph_opt.laws.algebra import is_constant, varies
from egraph_opt.laws.sorts import Dims, Slices, String, Tensor
from egraph_opt.operators import ConvWindow, Literal, PoolWindow, conv, expand, literal, none, pool, slice_
from egraph_opt.rewrites.conditions.channels import is_moderate_factor
from egraph_opt.rewrites.convolution.resized import looks_at_one

# --- one element ----------------------------------------------------------------------------------------


@hosted()
def sees_one_element(window: PoolWindow) -> bool:
    """Kernels of 1, and no pads."""
    return all(k == 1 for k in window.kernel) and not any(window.pads)


@hosted()
def visits_all(window: PoolWindow) -> bool:
    return all(s == 1 for s in window.strides)


@hosted()
def steps_of(window: PoolWindow) -> Slices | None:
    """The elements that are visited; None where these are all, or it is open how many there are."""
    if window.ceil_mode:
        return None
    return tuple((axis, 0, None, s) for axis, s in enumerate(window.strides, 2) if s != 1) or None


def _window(kernel: tuple[int, ...], strides: tuple[int, ...], pads: int = 0, **more: int) -> PoolWindow:
    ones = (1,) * len(kernel)
    return PoolWindow(kernel, strides, (pads,) * (2 * len(kernel)), ones, **more)


def _single(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, row = g.input(("N", 3, "L", 5)), g.input((2, 3, 7))
    for kind in ("AveragePool", "MaxPool"):
        yield g.fires(pool(kind, x, _window((1, 1), (1, 1))))
        yield g.fires(pool(kind, row, _window((1,), (2,))))
        yield g.fires(pool(kind, x, _window((1, 1), (1, 3), count_include_pad=1)))
    yield g.fires(pool("MaxPool", row, _window((1,), (1,), ceil_mode=1)))
    yield from g.near_misses(
        (pool("MaxPool", x, _window((1, 2), (1, 1))), "two elements"),
        (pool("AveragePool", x, _window((1, 1), (1, 1), 1)), "it pads"),
        (pool("MaxPool", row, _window((1,), (3,), ceil_mode=1)), "a last window behind the end"),
    )


@law("pooling", numerics="finite", kind="eliminate", serves="traffic", examples=_single)
def of_single_elements(kind: String, x: Tensor, w: PoolWindow):
    """Pool(x; kernel 1) = x, or Slice(x; step s) where it strides

    Not bitwise: a runtime begins a maximum at the least number of its type, which -infinity and NaN are not.
    """
    pooled, one = pool(kind, x, w), sees_one_element(w)
    yield rewrite(pooled, x, one, visits_all(w), because="every x is a pool of itself")
    yield rewrite(pooled, slice_(x, steps_of(w)), one, because="a Slice has no kernel of 1")


# --- means beside convolutions --------------------------------------------------------------------------


@hosted()
def fits_into(window: PoolWindow, x: Fact) -> bool:
    """There is a window: of a smaller image runtimes pool what there is, and convolve nothing."""
    spatial = (x.shape or ())[2:]
    if len(spatial) != len(window.kernel):
        return False
    sizes = zip(spatial, window.kernel, window.dilations, strict=True)
    return all(isinstance(dim, int) and (k - 1) * d < dim for dim, k, d in sizes)


@hosted()
def counts_no_pads(window: PoolWindow) -> bool:
    """Means are of elements of the image only: a bias is that of each."""
    return not window.count_include_pad or not (any(window.pads) or window.ceil_mode)


@hosted()
def counts_all(window: PoolWindow) -> bool:
    """Each mean is of as many elements, pads among them, which are zeros."""
    return not window.ceil_mode and (bool(window.count_include_pad) or not any(window.pads))


@hosted()
def share_of(window: PoolWindow, w: Fact) -> Literal | None:
    """What each element of a window is multiplied with."""
    if w.dtype not in (TensorProto.FLOAT, TensorProto.DOUBLE):
        return None
    return Literal(w.dtype, (), (1.0 / prod(window.kernel),))


@hosted()
def spread_over(window: PoolWindow, w: Fact) -> Dims | None:
    """The dims of W with an element for each of a window's; None where these are one or too many, or W has
    elements of which a share has few digits."""
    if not 1 < prod(window.kernel) <= MOST_SPREAD or not is_moderate_factor.function(w):
        return None
    return (1, 1, *window.kernel)


@hosted()
def window_of_pool(pooling: PoolWindow, u: ConvWindow) -> ConvWindow:
    """The window of a pool as that of a convolution in as many groups."""
    return ConvWindow(pooling.strides, pooling.pads, pooling.dilations, u.group)


MOST_SPREAD = 64
"""Elements of a window over which a weight is spread."""


def _means(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, b = g.input(("N", 4, 6, 5)), g.random(6, 4, 1, 1), g.random(6)
    wide = g.input(("N", 4, 6, "L"))
    point, halves = (ConvWindow((1, 1), (0,) * 4, (1, 1), n) for n in (1, 2))
    mean = _window((2, 2), (2, 2))
    yield g.fires(pool("AveragePool", conv(x, w, b, point), mean))
    yield g.fires(conv(pool("AveragePool", x, mean), w, none(), point))
    yield g.fires(conv(pool("AveragePool", x, _window((3, 1), (2, 1))), g.random(6, 2, 1, 1), b, halves))
    counted = _window((3, 3), (1, 1), 1, count_include_pad=1)
    yield g.fires(conv(pool("AveragePool", x, counted), w, b, point))
    yield g.fires(pool("AveragePool", conv(x, w, b, point), _window((3, 3), (1, 2), 1)))
    yield from g.near_misses(
        (conv(pool("MaxPool", x, mean), w, b, point), "a maximum"),
        (conv(pool("AveragePool", x, mean), g.random(6, 4, 2, 2), b, point), "the kernel sees neighbours"),
        (conv(pool("AveragePool", x, _window((3, 3), (1, 1), 1)), w, b, point), "means of fewer at borders"),
        (pool("AveragePool", conv(x, w, b, point), counted), "the bias is no part of pads"),
        (conv(pool("AveragePool", wide, mean), w, b, point), "there may be no window"),
        (conv(pool("AveragePool", x, mean), g.input((6, 4, 1, 1)), b, point), "the weight varies"),
    )


@law(
    "pooling",
    numerics="reassociates",
    kind="move",
    serves="arithmetic",
    source="ResNet-D, arXiv 1812.01187; DenseNet's transitions, arXiv 1608.06993",
    examples=_means,
)
def mean_beside_point(x: Tensor, w: Tensor, b: Tensor, p: PoolWindow, u: ConvWindow):
    """AveragePool(Conv(x, W, b)) = Conv(AveragePool(x), W, b) = Conv(x, W / k, b) for a kernel of 1"""
    known = (looks_at_one(w, u), guard(is_constant(w), varies(x)))
    inside = pool("AveragePool", x, p)
    behind, before = pool("AveragePool", conv(x, w, b, u), p), conv(inside, w, b, u)
    yield rewrite(behind, before, counts_no_pads(p), *known, because="the whole image is more to convolve")
    each = expand(w * literal(share_of(p, w)), spread_over(p, w))
    at_once = conv(x, each, b, window_of_pool(p, u))
    yield rewrite(before, at_once, counts_all(p), fits_into(p, x), *known, because="forgets the mean")
