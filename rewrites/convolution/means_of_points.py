"""What looks at single pixels looks at means of them instead.

AveragePool(Conv(x, W, b)) = Conv(AveragePool(x), W, b)                for a kernel of 1
GlobalAveragePool(Conv(x, W, b)) -> Conv(GlobalAveragePool(x), W, b)   likewise

Which comes first says how many channels are averaged, and how many pixels are multiplied.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, kernel, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Tensor
from egraph_opt.operators import ConvWindow, PoolWindow, conv, global_pool, none, pool
from egraph_opt.rewrites.conditions.channels import is_absent
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
