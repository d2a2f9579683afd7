"""A convolution of one element with one output channel is a weighted sum over channels.

Conv(x, W, b) -> ReduceSum_1(x * W) + b

The sum has no format of its own, and transposes and views move past it.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, law, rewrite
from egraph_opt.laws.algebra import is_constant, varies
from egraph_opt.laws.sorts import Dims, Tensor
from egraph_opt.operators import ConvWindow, conv, none, reduce, reshape
from egraph_opt.rewrites.conditions.channels import is_present
from egraph_opt.rewrites.convolution.resized import looks_at_one


@hosted()
def dims_of_one_output(w: Fact, window: ConvWindow) -> Dims | None:
    """The dims of a weight of one element as a factor of channels, where there is one output channel."""
    if w.shape is None or window.group != 1 or w.shape[0] != 1:
        return None
    return w.shape[1:]


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, point = g.input(("N", 4, 6, "L")), g.random(1, 4, 1, 1), ConvWindow((1, 1), (0,) * 4, (1, 1))
    yield g.fires(conv(x, w, none(), point))
    yield g.fires(conv(x, w, g.random(1), point))
    yield g.fires(conv(g.input((2, 3, "L")), g.random(1, 3, 1), none(), ConvWindow((1,), (0, 0), (1,))))
    yield from g.near_misses(
        (conv(x, g.random(2, 4, 1, 1), none(), point), "two output channels"),
        (conv(x, g.random(1, 4, 1, 2), none(), point), "the kernel sees neighbours"),
        (conv(x, w, none(), ConvWindow((1, 1), (0, 1, 0, 1), (1, 1))), "it pads"),
        (conv(x, g.input((1, 4, 1, 1)), none(), point), "the weight varies"),
    )


@law(
    "convolution",
    numerics="reassociates",
    kind="split",
    serves="traffic",
    source="distribution focal loss, arXiv 2006.04388",
    examples=_examples,
)
def of_one_output(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x, W, b) = ReduceSum_1(x * W) + b for one output channel and a kernel of 1"""
    total = reduce("ReduceSum", x * reshape(w, dims_of_one_output(w, u)), (1,), 1)
    known = (looks_at_one(w, u), guard(is_constant(w), varies(x)))
    why = "a factor and a sum are a convolution of images only"
    yield rewrite(conv(x, w, none(), u), total, *known, because=why)
    yield rewrite(conv(x, w, b, u), total + b, is_present(b), *known, because=why)
