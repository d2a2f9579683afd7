"""Of a product of which one part of the rows is used, no others are computed.

Slice(x @ W) -> Slice(x) @ W          where the Slice, or one of a function of the product, is the only one

A classifier that reads the first token of a sequence is one of these.
"""

from collections.abc import Iterator

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
    law,
    ne,
    rewrite,
    rule,
    table,
)
from egraph_opt.laws.algebra import is_constant, tanh, varies
from egraph_opt.laws.sorts import Axis, Int, Settings, Slices, String, Tensor
from egraph_opt.operators import slice_
from egraph_opt.rewrites.conditions.operands import beside, either_side, function_of, functions
from egraph_opt.rewrites.linear.joined_products import slice_of_left
from egraph_opt.rewrites.slicing.movement import asked, asking_rules, first_axis, single_axis

SEVERAL: Slices = ()


@hosted(default=SEVERAL)
def one_or_several(old: Slices, new: Slices) -> Slices:
    """The part that is taken; () for several."""
    return old if old == new else SEVERAL


@table(merge=one_or_several)
def only_part(x: Tensor, axis: Axis) -> Slices:
    """The part that is taken along an axis of x, or of what is computed of x element by element."""


@hosted()
def is_row_axis(axis: Axis, y: Fact) -> bool:
    """No column of a product: those are parts of the weight."""
    return y.rank is not None and axis < y.rank - 1


@auxiliary(asking_rules, either_side, functions)
def parting(
    x: Tensor, y: Tensor, c: Tensor, w: Tensor, s: Slices, a: Axis, op: String, f: Settings, k: Int
):  # fmt: skip
    """Fills `only_part`, and `asked` for products of which one part of the rows is taken."""
    yield rule(slice_(x, s), varies(x), then=assign(only_part(x, single_axis(s)), s))
    below = (eq(s, only_part(y, a)), ne(s, SEVERAL))
    yield rule(*below, eq(y, function_of(op, f, x)), then=assign(only_part(x, a), s))
    same = (eq(y, beside(op, x, c, k)), is_constant(c), of_one_rank(x, y))
    yield rule(*below, *same, then=assign(only_part(x, a), s))
    yield rule(*below, eq(y, x @ w), is_row_axis(a, y), is_constant(w), then=asked(y, a))


@hosted()
def of_one_rank(x: Fact, y: Fact) -> bool:
    """The axes of x are those of y."""
    return x.rank is not None and x.shape == y.shape


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, first = g.input(("N", 6, 5)), g.random(5, 8), ((1, 0, 1, 1),)
    y = x @ w
    yield from g.all_fire(
        slice_(y, first),
        slice_(tanh(y + g.random(8)), first),
        slice_(y, ((0, 1, 2, 1),)),
        slice_(y, ((1, 0, 6, 2),)),
    )
    yield from g.near_misses(
        (slice_(y, first) + slice_(y, ((1, 2, 3, 1),)), "there are two"),
        (slice_(x @ g.input((5, 8)), first), "the right one is no constant"),
        (slice_(y, ((2, 0, 3, 1),)), "columns"),
    )


@law(
    "joining",
    numerics="reassociates",
    kind="move",
    serves="arithmetic",
    source="BERT, Devlin et al. 2018: the pooler reads the first token",
    required=("slice.through_unary", "slice.through_binary"),
    uses=(parting,),
    examples=_examples,
)
def only_rows_of_product(x: Tensor, w: Tensor, s: Slices):
    """Slice(x @ W) = Slice(x) @ W where no other part of the rows is taken, for a constant W"""
    y = x @ w
    demand = guard(eq(s, only_part(y, first_axis(s))), is_constant(w), varies(x))
    made = slice_(x, slice_of_left(s, x, w, y)) @ w
    yield rewrite(slice_(y, s), made, demand, because="the whole product is more to compute")
