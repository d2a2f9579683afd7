"""Sums of transposed convolutions of one image are one, whose weight and bias are the sums of theirs.

ConvTranspose(x, V, b) + ConvTranspose(x, W, c) -> ConvTranspose(x, V + W, b + c)      for constant V and W

`sums` has those of convolutions.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.laws import Example, Operands, guard, law, ne, rewrite
from egraph_opt.laws.sorts import Tensor
from egraph_opt.operators import ConvWindow, conv_transpose, none
from egraph_opt.rewrites.arithmetic.distributivity import are_constant, same_type
from egraph_opt.rewrites.conditions.operands import total, totals


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, v, w = g.input(("N", 4, 5, "L")), g.random(4, 6, 2, 2), g.random(4, 6, 2, 2)
    twice = ConvWindow((2, 2), (0,) * 4, (1, 1))
    odd = ConvWindow((2, 1), (1, 0, 0, 1), (1, 1), 2, (1, 0))
    for b, c in ((none(), none()), (g.random(6), none()), (none(), g.random(6)), (g.random(6), g.random(6))):
        yield g.fires(conv_transpose(x, v, b, twice) + conv_transpose(x, w, c, twice))
    halves = [conv_transpose(x, g.random(4, 3, 3, 3), none(), odd) for _ in "vw"]
    yield g.fires(halves[0] + halves[1])
    one = conv_transpose(x, v, none(), twice)
    yield from g.near_misses(
        (one + conv_transpose(g.input(("N", 4, 5, "L")), w, none(), twice), "two images"),
        (one + conv_transpose(x, g.input((4, 6, 2, 2)), none(), twice), "a weight is no constant"),
        (one + conv_transpose(x, g.random(4, 1, 2, 2), none(), twice), "a channel is broadcast"),
        (one * conv_transpose(x, w, none(), twice), "no sum"),
    )


@law(
    "convolution_sums",
    numerics="reassociates",
    kind="merge",
    serves="arithmetic",
    source="TASO, distributivity of Conv",
    uses=(totals,),
    examples=_examples,
)
def of_transposed(x: Tensor, v: Tensor, w: Tensor, b: Tensor, c: Tensor, u: ConvWindow):
    """ConvTranspose(x, V, b) + ConvTranspose(x, W, c) = ConvTranspose(x, V + W, b + c)"""
    both = conv_transpose(x, v, b, u) + conv_transpose(x, w, c, u)
    alike = same_type(v, w), guard(are_constant(v, w), ne(v, w))
    whole = conv_transpose(x, v + w, total(b, c), u)
    yield rewrite(both, whole, *alike, because="every weight would be a sum")
