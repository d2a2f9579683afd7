"""Products that share their left operand are parts of one product.

    x @ W1 = (x @ [W1, W2])[.., :n1]      x @ W2 = (x @ [W1, W2])[.., n1:]

and likewise for three weights, as in the query, key and value of attention.  Only weights of the original
are joined, in their order there: joined ones would join again, without end.  And only weights that stand near
each other: of many products of one operand (a mixture of experts, say) not every three are tried.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, laws_of, rule, union
from egraph_opt.laws.sorts import Int, Slices, Tensor
from egraph_opt.operators import concat, slice_
from egraph_opt.operators.terms import listed, node
from egraph_opt.rewrites.conditions.channels import static_shape

law = laws_of(
    "horizontal",
    numerics="reassociates",
    kind="merge",
    source="TASO; Ascend auto-optimizer, SplitQKVMatmul, the other way round",
    resumes=True,
)

NEAR = 32
"""The most terms of the lowered graph between weights that are joined."""


@hosted()
def columns(x: Fact, *weights: Fact) -> tuple[Slices, ...] | None:
    """Per weight the slice of the joint product that is its own; None where they cannot be joined."""
    shapes = [static_shape(w) or () for w in weights]
    if not x.rank or any(not w.const or w.dtype != x.dtype for w in weights):
        return None
    if any(len(shape) != 2 or shape[0] != shapes[0][0] for shape in shapes):
        return None
    ends = np.cumsum([shape[1] for shape in shapes]).tolist()
    return tuple(((x.rank - 1, end - shape[1], end, 1),) for end, shape in zip(ends, shapes, strict=True))


def _parts_of_one(x: Tensor, weights: list[Tensor], products: list[Tensor], places: list[Int]) -> Any:
    """The rule that products with weights, which stand at places of the original, are parts of one."""
    joint, own = x @ concat(listed(*weights), 1), columns(x, *weights)
    found = [eq(y, x @ w) for y, w in zip(products, weights, strict=True)]
    originals = [eq(w, node(i)) for w, i in zip(weights, places, strict=True)]
    in_order = [i < j for i, j in pairwise(places)]
    then = [union(y, slice_(joint, own[k])) for k, y in enumerate(products)]
    near = places[-1] < places[0] + NEAR
    return rule(found, guard(originals, in_order, near), then=then, because="the parts are more to compute")


def _examples(count: int) -> Any:
    """Examples of as many products of one operand."""

    def examples(rng: np.random.Generator) -> Iterator[Example]:
        for shape in ((3, 8), ("N", 5, 8), (2, 3, 5, 8)):
            g = Operands(rng)
            x = g.input(shape)
            products = [x @ g.random(8, 4 + k) for k in range(count)]
            yield g.fires(concat(listed(*products), len(shape) - 1))
            yield g.near_miss(products[0] * products[0], why="there is one product")
            other = g.input((*shape[:-1], 8))
            yield g.near_miss((x @ g.random(8, 4)) + (other @ g.random(8, 4)), why="the left operands differ")
            yield g.near_miss((x @ g.input((8, 4))) + (x @ g.input((8, 4))), why="the weights vary")

    return examples


@law(examples=_examples(2))
def two_products(x: Tensor, v: Tensor, w: Tensor, a: Tensor, b: Tensor, i: Int, j: Int):
    """x @ W1, x @ W2 = parts of x @ [W1, W2] for constant matrices of the original"""
    yield _parts_of_one(x, [v, w], [a, b], [i, j])


@law(examples=_examples(3))
def three_products(
    x: Tensor, u: Tensor, v: Tensor, w: Tensor, a: Tensor, b: Tensor, c: Tensor, i: Int, j: Int, k: Int
):
    """x @ W1, x @ W2, x @ W3 = parts of x @ [W1, W2, W3] for constant matrices of the original"""
    yield _parts_of_one(x, [u, v, w], [a, b, c], [i, j, k])
