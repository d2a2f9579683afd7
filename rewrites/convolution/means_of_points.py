"""What looks at single pixels looks at means of them instead.

AveragePool(Conv(x, W, b)) = Conv(AveragePool(x), W, b)                for a kernel of 1
GlobalAveragePool(Conv(x, W, b)) -> Conv(GlobalAveragePool(x), W, b)   likewise
Conv(AveragePool(x; k, s), W, b) -> Conv(x, W / k .. W / k, b; s)      likewise, W spread over the window

Which comes first says how many channels are averaged, and how many pixels are multiplied; spread over the
window it is one kernel, and more arithmetic.
"""

from collections.abc import Iterator
from math import prod

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, kernel, laws_of, rewrite
from egraph_opt.laws.algebra import is_constant, varies
from egraph_opt.laws.sorts import Dims, Tensor
from egraph_opt.operators import (
    ConvWindow,
    Literal,
    PoolWindow,
    conv,
    expand,
    global_pool,
    literal,
    none,
    pool,
)
from egraph_opt.rewrites.conditions.channels import is_absent, is_moderate_factor
from egraph_opt.rewrites.conditions.steps import entire, wholes
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.convolution.pools_of_functions import COUNTED, OPEN, TWO
from egraph_opt.rewrites.convolution.resized import looks_at_one

law = laws_of("pooling", numerics="reassociates", kind="move", serves="arithmetic")


@hosted()
def counts_no_pads(b: Fact, window: PoolWindow) -> bool:
    """A mean of pixels alone, or of what has no bias: a pad has none."""
    counts = window.count_include_pad and (any(window.pads) or window.ceil_mode)
    return bool(is_absent.function(b)) or not counts


@hosted()
def has_pixels(x: Fact) -> bool:
    """Onnxruntime convolves no image without."""
    return x.shape is not None and all(symbolic.is_at_least(dim, 1) for dim in x.shape[2:])


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, b = g.input(("N", 4, 6, 5)), g.random(6, 4, 1, 1), g.random(6)
    for bias, window in ((b, TWO), (b, OPEN), (none(), COUNTED)):
        yield g.fires(pool("AveragePool", conv(x, w, bias, PLAIN), window))
        yield g.fires(conv(pool("AveragePool", x, window), w, bias, PLAIN))
    halves = ConvWindow((1, 1), (0,) * 4, (1, 1), 2)
    yield g.fires(global_pool("GlobalAveragePool", conv(x, g.random(6, 2, 1, 1), b, halves)))
    ring = ConvWindow((1, 1), (1,) * 4, (1, 1))
    yield from g.near_misses(
        (pool("AveragePool", conv(x, w, b, PLAIN), COUNTED), "pads have no bias"),
        (conv(pool("AveragePool", x, COUNTED), w, b, PLAIN), "pads have a bias"),
        (pool("AveragePool", conv(x, g.random(6, 4, 3, 3), b, ring), TWO), "the kernel sees neighbours"),
        (pool("MaxPool", conv(x, w, b, PLAIN), TWO), "of maxima"),
        (global_pool("GlobalMaxPool", conv(x, w, b, PLAIN)), "of maxima"),
        (conv(pool("AveragePool", x, TWO), w, b, ring), "the convolution pads"),
    )


@law(source="DenseNet, arXiv 1608.06993: transitions", uses=(wholes,), examples=_examples)
def mean_of_points(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, v: PoolWindow):
    """AveragePool(Conv(x, W, b)) = Conv(AveragePool(x), W, b) for a kernel of 1, and where all is pooled"""
    point, pixels = looks_at_one(w, u), conv(x, w, b, u)
    behind, before = pool("AveragePool", pixels, v), pool("AveragePool", x, v)
    means, known = conv(before, w, b, u), (point, counts_no_pads(b, v), guard(varies(x)))
    some = kernel(has_pixels(behind))
    yield rewrite(behind, means, *known, some, guard(entire(behind)), inverse="mean_of_points")
    yield rewrite(means, behind, *known, guard(entire(before)), inverse="mean_of_points")
    once = conv(global_pool("GlobalAveragePool", x), w, b, u)
    why = "all pixels are more to compute"
    yield rewrite(global_pool("GlobalAveragePool", pixels), once, point, guard(varies(x)), because=why)


# --- spread over a window -------------------------------------------------------------------------------

MOST_SPREAD = 64
"""Elements of a window over which a weight is spread."""


@hosted()
def fits_into(window: PoolWindow, x: Fact) -> bool:
    """There is a window: of a smaller image runtimes pool what there is, and convolve nothing."""
    spatial = (x.shape or ())[2:]
    if len(spatial) != len(window.kernel):
        return False
    sizes = zip(spatial, window.kernel, window.dilations, strict=True)
    return all(isinstance(dim, int) and (k - 1) * d < dim for dim, k, d in sizes)


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


def _spread_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, wide, w, b = g.input(("N", 4, 6, 5)), g.input(("N", 4, 6, "L")), g.random(6, 4, 1, 1), g.random(6)
    halves = ConvWindow((1, 1), (0,) * 4, (1, 1), 2)
    bordered = PoolWindow((3, 3), (1, 1), (1,) * 4, (1, 1))
    uneven = PoolWindow((3, 1), (2, 1), (0,) * 4, (1, 1))
    yield g.fires(conv(pool("AveragePool", x, TWO), w, none(), PLAIN))
    yield g.fires(conv(pool("AveragePool", x, uneven), g.random(6, 2, 1, 1), b, halves))
    yield g.fires(conv(pool("AveragePool", x, COUNTED), w, b, PLAIN))
    yield from g.near_misses(
        (conv(pool("MaxPool", x, TWO), w, b, PLAIN), "a maximum"),
        (conv(pool("AveragePool", x, TWO), g.random(6, 4, 2, 2), b, PLAIN), "the kernel sees neighbours"),
        (conv(pool("AveragePool", x, bordered), w, b, PLAIN), "means of fewer at borders"),
        (conv(pool("AveragePool", wide, TWO), w, b, PLAIN), "there may be no window"),
        (conv(pool("AveragePool", x, TWO), g.input((6, 4, 1, 1)), b, PLAIN), "the weight varies"),
    )


@law(source="ResNet-D, arXiv 1812.01187", examples=_spread_examples)
def mean_into_kernel(x: Tensor, w: Tensor, b: Tensor, p: PoolWindow, u: ConvWindow):
    """Conv(AveragePool(x; k), W, b) = Conv(x, W / k spread over the window, b) for a kernel of 1"""
    each = expand(w * literal(share_of(p, w)), spread_over(p, w))
    at_once = conv(x, each, b, window_of_pool(p, u))
    known = (looks_at_one(w, u), counts_all(p), fits_into(p, x), guard(is_constant(w), varies(x)))
    yield rewrite(conv(pool("AveragePool", x, p), w, b, u), at_once, known, because="forgets the mean")
