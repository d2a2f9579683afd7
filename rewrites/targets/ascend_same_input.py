"""Convolutions of one image that Ascend's compiler makes one of by itself.

Conv(x, V, b), Conv(x, W, c) -> Conv(x, [V; W], [b; c])[:, :m], Conv(x, [V; W], [b; c])[:, m:]

where the filters of all together fill whole blocks (SameInputConv2dPass, hiascend atlasrr_30_0018); of two
and of three.  `convolution.horizontal` says the same of any, and saves what the compiler leaves.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of
from egraph_opt.laws.sorts import Int, Tensor
from egraph_opt.operators import ConvWindow, concat, conv, none
from egraph_opt.operators.terms import limit, listed
from egraph_opt.rewrites.convolution.horizontal import examples_of, joined_convolutions, members
from egraph_opt.rewrites.convolution.outputs import PLAIN

law = laws_of(
    "same_input",
    numerics="reassociates",
    kind="merge",
    serves="target",
    source="SameInputConv2dPass, hiascend atlasrr_30_0018",
    uses=(members,),
    resumes=True,
)


@hosted()
def pair_fills_blocks(block: int, v: Fact, w: Fact) -> bool:
    """Whether the filters of two weights are a multiple of a block."""
    return _fill(block, v, w)


@hosted()
def triple_fills_blocks(block: int, v: Fact, w: Fact, m: Fact) -> bool:
    return _fill(block, v, w, m)


def _fill(block: int, *weights: Fact) -> bool:
    filters = [weight.shape[0] if weight.shape else None for weight in weights]
    return all(isinstance(count, int) for count in filters) and sum(filters) % block == 0  # type: ignore[arg-type]


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    yield from examples_of(2, channel_block=1)(rng)
    g = Operands(rng)
    x, weights = g.input((1, 3, 5, 5)), (g.random(4, 3, 1, 1), g.random(6, 3, 1, 1))
    both = concat(listed(*(conv(x, w, none(), PLAIN) for w in weights)), 1)
    yield g.fires(both, channel_block=5)
    yield g.near_miss(both, why="ten filters fill no block of four", channel_block=4)


@law(examples=_examples)
def two_convolutions(x: Tensor, u: ConvWindow, y: Tensor, z: Tensor, v: Tensor, w: Tensor, b: Tensor,
                     c: Tensor, i: Int, j: Int):  # fmt: skip
    """Conv(x, V, b), Conv(x, W, c) = parts of Conv(x, [V; W], [b; c]) where V and W fill whole blocks"""
    whole = guard(pair_fills_blocks(limit("channel_block"), v, w))
    yield from joined_convolutions(x, u, (y, v, b, i), (z, w, c, j), known=whole)


@law(examples=examples_of(3, channel_block=1))
def three_convolutions(x: Tensor, u: ConvWindow, y: Tensor, z: Tensor, t: Tensor, v: Tensor, w: Tensor,
                       m: Tensor, b: Tensor, c: Tensor, d: Tensor, i: Int, j: Int, k: Int):  # fmt: skip
    """Conv(x, U, b), Conv(x, V, c), Conv(x, W, d) = parts of one where U, V and W fill whole blocks"""
    whole = guard(triple_fills_blocks(limit("channel_block"), v, w, m))
    yield from joined_convolutions(x, u, (y, v, b, i), (z, w, c, j), (t, m, d, k), known=whole)
