"""Products that share their left operand are parts of one product.

    x @ W1 = (x @ [W1, W2])[.., :n1]      x @ W2 = (x @ [W1, W2])[.., n1:]

    x @ W1 + b1 = (x @ [W1, W2] + [b1, b2])[.., :n1]           likewise

and likewise for three weights, as in the query, key and value of attention.  Only weights of the original
are joined, in their order there: joined ones would join again, without end.  And only weights that follow one
another among those of one operand, and stand near: of many products of it (a mixture of experts, heads that
are written one by one) not every three are tried.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Example,
    Operands,
    assign,
    auxiliary,
    eq,
    guard,
    hosted,
    laws_of,
    rule,
    table,
    union,
)
from egraph_opt.laws.algebra import is_constant
from egraph_opt.laws.sorts import Int, Slices, Tensor
from egraph_opt.operators import concat, slice_
from egraph_opt.operators.terms import listed, node
from egraph_opt.rewrites.conditions.channels import static_shape
from egraph_opt.rewrites.conditions.operands import beside, either_side

law = laws_of(
    "horizontal",
    numerics="reassociates",
    kind="merge",
    source="TASO; Ascend auto-optimizer, SplitQKVMatmul, the other way round",
    resumes=True,
)

NEAR = 32
"""The most terms of the lowered graph between weights that are joined."""


@table(merge="max")
def place_before(x: Tensor, place: Int) -> Int:
    """Where in the original the weight stands that x is multiplied with before the one at this place."""


@auxiliary()
def neighbours(x: Tensor, v: Tensor, w: Tensor, i: Int, j: Int):
    """Fills `place_before`."""
    both = (eq(v, node(i)), eq(w, node(j)), is_constant(v), is_constant(w))
    yield rule(x @ v, x @ w, *both, i < j, then=assign(place_before(x, j), i))


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


@hosted()
def is_row_of(b: Fact, w: Fact) -> bool:
    """A constant with an element for each column of a weight."""
    return b.const and b.rank == 1 and static_shape(b) == (static_shape(w) or ())[1:]


def _parts_of_one(
    x: Tensor,
    weights: list[Tensor],
    results: list[Tensor],
    places: list[Int],
    biases: Sequence[tuple[Tensor, Int]] = (),
) -> Any:
    """The rule that products with weights, which stand at places of the original, are parts of one; or that
    their sums with biases are, each of which stands on some side."""
    joint, own = x @ concat(listed(*weights), 1), columns(x, *weights)
    made = [x @ w for w in weights]
    if biases:
        joint = joint + concat(listed(*(b for b, _ in biases)), 0)
        made = [beside("Add", y, b, side) for y, (b, side) in zip(made, biases, strict=True)]
    found = [eq(y, z) for y, z in zip(results, made, strict=True)]
    rows = [is_row_of(b, w) for (b, _), w in zip(biases, weights, strict=False)]
    originals = [eq(w, node(i)) for w, i in zip(weights, places, strict=True)]
    in_order = [i < j for i, j in pairwise(places)]
    then = [union(y, slice_(joint, own[k])) for k, y in enumerate(results)]
    near = (places[-1] < places[0] + NEAR, *(eq(i, place_before(x, j)) for i, j in pairwise(places)))
    demand = guard(originals, in_order, near)
    return rule(found, rows, demand, then=then, because="the parts are more to compute")


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


@law(uses=(neighbours,), examples=_examples(2))
def two_products(x: Tensor, v: Tensor, w: Tensor, a: Tensor, b: Tensor, i: Int, j: Int):
    """x @ W1, x @ W2 = parts of x @ [W1, W2] for constant matrices of the original"""
    yield _parts_of_one(x, [v, w], [a, b], [i, j])


@law(uses=(neighbours,), examples=_examples(3))
def three_products(
    x: Tensor, u: Tensor, v: Tensor, w: Tensor, a: Tensor, b: Tensor, c: Tensor, i: Int, j: Int, k: Int
):
    """x @ W1, x @ W2, x @ W3 = parts of x @ [W1, W2, W3] for constant matrices of the original"""
    yield _parts_of_one(x, [u, v, w], [a, b, c], [i, j, k])


# --- with biases ----------------------------------------------------------------------------------------


def _sums(count: int) -> Any:
    """Examples of as many sums."""

    def examples(rng: np.random.Generator) -> Iterator[Example]:
        for shape in ((3, 8), ("N", 5, 8)):
            g = Operands(rng)
            x = g.input(shape)
            sums = [x @ g.random(8, 4 + k) + g.random(4 + k) for k in range(count)]
            yield g.fires(concat(listed(*sums), len(shape) - 1))
            turned = [g.random(4 + k) + x @ g.random(8, 4 + k) for k in range(count)]
            yield g.fires(concat(listed(*turned), len(shape) - 1))
        g = Operands(rng)
        x = g.input(("N", 5, 8))
        number = g.constant(0.5)
        for other, why in (
            (x @ g.random(8, 4) + number, "a number for all columns"),
            (x @ g.random(8, 4) + g.random(5, 1), "a column"),
            (x @ g.random(8, 4) + g.input((4,)), "a bias varies"),
            (g.input(("N", 5, 8)) @ g.random(8, 4) + g.random(4), "the left operands differ"),
        ):
            yield g.near_miss(
                concat(listed(*([x @ g.random(8, 4) + g.random(4)] * (count - 1)), other), 2), why
            )

    return examples


@law(uses=(neighbours, either_side), examples=_sums(2))
def two_sums(
    x: Tensor, v: Tensor, w: Tensor, a: Tensor, b: Tensor, p: Tensor, q: Tensor,
    g: Int, h: Int, i: Int, j: Int,
):  # fmt: skip
    """x @ W1 + b1, x @ W2 + b2 = parts of x @ [W1, W2] + [b1, b2] for constants of the original"""
    yield _parts_of_one(x, [v, w], [a, b], [i, j], [(p, g), (q, h)])


@law(uses=(neighbours, either_side), examples=_sums(3))
def three_sums(
    x: Tensor, u: Tensor, v: Tensor, w: Tensor, a: Tensor, b: Tensor, c: Tensor, p: Tensor, q: Tensor,
    r: Tensor, f: Int, g: Int, h: Int, i: Int, j: Int, k: Int,
):  # fmt: skip
    """x @ W1 + b1, x @ W2 + b2, x @ W3 + b3 = parts of x @ [W1, W2, W3] + [b1, b2, b3] of the original"""
    yield _parts_of_one(x, [u, v, w], [a, b, c], [i, j, k], [(p, f), (q, g), (r, h)])
