"""A mean next to a convolution is one, so that both are a single one where that is worth it (see `composed`).

Conv(AveragePool(x), W, b) -> Conv(Conv(x, 1/K), W, b)
AveragePool(Conv(x, W, b)) -> Conv(Conv(x, W, b), 1/K)        one group per channel

ResNet-D's shortcuts, discriminators and re-parametrised branches have one.  `averaging` has the way back.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, kernel, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Tensor
from egraph_opt.operators import ConvWindow, Literal, PoolWindow, conv, literal, none, pool
from egraph_opt.rewrites.conditions.channels import is_float_constant
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.convolution.whole_image import is_no_double

law = laws_of("convolution", numerics="reassociates", kind="replace", serves="launches", source="RepVGG")

MOST_ELEMENTS = 64
"""In a window: more are a large kernel."""


class Mean(NamedTuple):
    """The kernel of a mean, and the window with which it walks over each channel."""

    weight: Literal
    window: ConvWindow


@hosted()
def mean_of(x: Fact, window: PoolWindow) -> Mean | None:
    """None where the divisor differs from window to window."""
    count, axes = math.prod(window.kernel), len(window.kernel)
    channels = x.shape[1] if x.shape is not None and len(x.shape) == axes + 2 else None
    if not isinstance(channels, int) or channels < 1 or x.dtype not in FLOATS or window.ceil_mode:
        return None
    if any(d != 1 for d in window.dilations) or (any(window.pads) and not window.count_include_pad):
        return None
    weight = Literal(x.dtype, (channels, 1, *window.kernel), (1 / count,))
    return Mean(weight, ConvWindow(window.strides, window.pads, window.dilations, channels))


@hosted()
def is_small(window: PoolWindow) -> bool:
    return 1 < math.prod(window.kernel) <= MOST_ELEMENTS


@hosted()
def is_kernel(w: Fact) -> bool:
    return is_float_constant(w)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, point = g.input(("N", 4, 6, 5)), g.random(3, 4, 2, 1), g.random(3, 4, 1, 1)
    two = PoolWindow((2, 2), (2, 2), (0,) * 4, (1, 1))
    ring = PoolWindow((3, 3), (1, 1), (1,) * 4, (1, 1), 0, 1)

    def before(window: PoolWindow, weight: Any = w) -> Any:
        return conv(pool("AveragePool", x, window), weight, g.random(3), PLAIN)

    def behind(window: PoolWindow, weight: Any = point) -> Any:
        return pool("AveragePool", conv(x, weight, none(), PLAIN), window)

    for window in (two, ring):
        yield from g.all_fire(before(window), behind(window))
    yield from g.near_misses(
        (before(replace(two, ceil_mode=1)), "the last window is smaller"),
        (behind(replace(ring, count_include_pad=0)), "pads are not counted"),
        (before(two, g.input((3, 4, 2, 1))), "the weight is no constant"),
        (conv(pool("MaxPool", x, two), w, none(), PLAIN), "a maximum"),
        (pool("AveragePool", x, two), "no convolution is near"),
    )


@law(examples=_examples)
def mean_beside_convolution(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, p: PoolWindow):
    """AveragePool(x) = Conv(x, 1/K) in front of a convolution, and behind one"""
    y = conv(x, w, b, u)
    known = (guard(is_small(p), is_kernel(w), varies(x)), kernel(is_no_double(x)))
    for image, near in ((x, lambda z: conv(z, w, b, u)), (y, lambda z: z)):
        how = mean_of(image, p)
        mean = conv(image, literal(how[0]), none(), how[1])
        left = near(pool("AveragePool", image, p))
        yield rewrite(left, near(mean), *known, because="a product of kernels is no mean")
