"""Channels in another order in front of a depthwise convolution are so behind it.

Conv(Gather(x, i), W, b) -> Gather(Conv(x, W', b'), i)          W' and b' in the order that i undoes

There the order goes into the weight that comes next (`order_past_functions`, `folded_images`), or meets one
that undoes it (`slicing.restored`).
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, law, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Tensor
from egraph_opt.operators import ConvWindow, conv, gather, literal, none
from egraph_opt.rewrites.conditions.channels import is_constant_bias, is_float_constant, is_present
from egraph_opt.rewrites.convolution.folded_images import undoing
from egraph_opt.rewrites.slicing.slice import dim_at


@hosted()
def has_kernel_for_each(w: Fact, window: ConvWindow) -> bool:
    """Every channel has one constant kernel of its own."""
    return is_float_constant(w) and dim_at(w, 0) == window.group and dim_at(w, 1) == 1


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, b = g.input(("N", 4, 5, "L")), g.random(4, 1, 3, 1), g.random(4)
    turned, row = g.constant(np.array([2, 0, -1, 1])), ConvWindow((2,), (0, 0), (1,), 3)
    each, pairs = (ConvWindow((1, 1), (1, 0, 1, 0), (1, 1), groups) for groups in (4, 2))
    image, rows = gather(x, turned, 1), gather(g.input((1, 3, "L")), g.constant(np.array([1, 2, 0])), 1)
    yield from g.all_fire(conv(image, w, none(), each), conv(image, w, b, each))
    yield g.fires(conv(rows, g.random(3, 1, 2), none(), row))
    yield from g.near_misses(
        (conv(image, g.random(4, 2, 3, 1), b, pairs), "two channels are summed"),
        (conv(image, g.random(8, 1, 3, 1), none(), each), "two kernels for each channel"),
        (conv(gather(x, g.constant(np.array([2, 0, 2, 1])), 1), w, b, each), "one channel is there twice"),
        (conv(gather(x, g.constant(np.array([4, 0, 3, 1, 2])), 2), w, b, each), "rows"),
        (conv(image, g.input((4, 1, 3, 1)), b, each), "the weight is no constant"),
        (conv(image, w, g.input((4,)), each), "the bias would be put in order at run time"),
    )


@law(
    "convolution",
    numerics="reassociates",
    kind="move",
    serves="traffic",
    source="ShuffleNet, arXiv 1707.01083",
    examples=_examples,
)
def depthwise_in_order(x: Tensor, i: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(Gather(x, i), W, b) = Gather(Conv(x, Gather(W, i^-1), Gather(b, i^-1)), i), depthwise"""
    back, known = literal(undoing(x, i, 1)), (has_kernel_for_each(w, u), guard(varies(x)))
    for bias, demand in ((none(), ()), (b, (is_present(b), guard(is_constant_bias(b, w))))):
        new = gather(b, back, 0) if demand else none()
        behind = gather(conv(x, gather(w, back, 0), new, u), i, 1)
        yield rewrite(conv(gather(x, i, 1), w, bias, u), behind, *known, *demand, because="the order goes on")
