"""Of a product of which one part of the rows is used, no others are computed.

Slice(x @ W) -> Slice(x) @ W          where the Slice, or one of a function of the product, is the only one
Slice(x op y) -> Slice(x) op Slice(y)                             likewise, where x or y is such a product
Slice(LayerNormalization(x)) -> LayerNormalization(Slice(x))      likewise, of rows that are normalised

A classifier that reads the first token of a sequence is one of these.
"""

from collections.abc import Iterator
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
    law,
    ne,
    rewrite,
    rule,
    table,
)
from egraph_opt.laws.algebra import is_constant, tanh, varies
from egraph_opt.laws.sorts import Axes, Axis, Float, Int, Settings, Slices, String, Tensor
from egraph_opt.operators import slice_
from egraph_opt.operators.composites import layer_norm, rms_norm, shifted_layer_norm
from egraph_opt.rewrites.conditions.operands import (
    beside,
    either_side,
    function_of,
    functions,
    normalised,
    norms,
)
from egraph_opt.rewrites.conditions.view_shapes import same_dims
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
    yield rule(*below, eq(y, x @ w), is_row_axis(a, y), is_constant(w), then=assign(only_part(x, a), s))
    both = (eq(y, beside(op, x, w, k)), of_one_rank(x, w), varies(x), varies(w))
    yield rule(*below, *both, then=assign(only_part(x, a), s))
    yield rule(*below, *both, asked(x, a), then=asked(y, a))


@auxiliary(parting, norms)
def parting_of_normalised(
    kind: String, x: Tensor, y: Tensor, c: Tensor, d: Tensor, s: Slices, a: Axis, axes: Axes, eps: Float
):  # fmt: skip
    """Fills `only_part` and `asked` for what is normalised."""
    found = eq(y, normalised(kind, x, c, d, axes, eps))
    known = (eq(s, only_part(y, a)), ne(s, SEVERAL), found, is_in_front(a, axes), varies(x))
    yield rule(*known, then=assign(only_part(x, a), s))
    yield rule(*known, then=asked(y, a))


@hosted()
def is_in_front(axis: Axis, axes: Axes) -> bool:
    """An axis before those that are normalised."""
    return axis < min(axes, default=0)


@hosted()
def are_in_front(spec: Slices, axes: Axes) -> bool:
    """What is cut are axes before those that are normalised."""
    return all(entry[0] < min(axes, default=0) for entry in spec)


@hosted()
def of_one_rank(x: Fact, y: Fact) -> bool:
    """The axes of x are those of y, which are known to be as long."""
    return same_dims(x.shape, y.shape)


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


def _sums(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, first = g.input(("N", 6, 5)), g.random(5, 5), ((1, 0, 1, 1),)
    yield g.fires(slice_(x + tanh(x @ w), first))
    yield from g.near_misses(
        (slice_(x + tanh(x), first), "there is no product"),
        (slice_(x + x @ w, first) + slice_(x + x @ w, ((1, 2, 3, 1),)), "there are two"),
        (slice_(g.input((5,)) + x @ w, first), "one is broadcast"),
    )


@law(
    "joining",
    numerics="finite",
    kind="move",
    serves="arithmetic",
    source="Vision Transformer, arXiv 2010.11929: the head reads one token",
    required=("slice.through_unary", "slice.through_binary"),
    uses=(parting, parting_of_normalised),
    examples=_sums,
)
def only_part_of_operands(op: String, x: Tensor, z: Tensor, s: Slices, k: Int):
    """Slice(x op y) = Slice(x) op Slice(y) where no other part is taken, and x or y is a product of rows"""
    y = beside(op, x, z, k)
    demand = guard(eq(s, only_part(y, first_axis(s))), asked(x, first_axis(s)), varies(x), varies(z))
    parts = beside(op, slice_(x, s), slice_(z, s), k)
    yield rewrite(slice_(y, s), parts, of_one_rank(x, z), demand, because="the whole is more to compute")


def norms_of(g: Operands, x: Any, axes: Axes, *dims: int) -> tuple[Any, Any, Any]:
    """x normalised in each way, of some dims, which are those of the axes."""
    c, d = g.random(*dims), g.random(*dims)
    return rms_norm(x, c, axes, 1e-5), layer_norm(x, c, axes, 1e-5), shifted_layer_norm(x, c, d, axes, 1e-5)


def _normalised(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, first = g.input(("N", 6, 5)), ((1, 0, 1, 1),)
    rows = norms_of(g, x, (2,), 5)
    yield from g.all_fire(*(slice_(norm, first) for norm in rows))
    wide = norms_of(g, x, (1, 2), 6, 5)[2]
    yield from g.near_misses(
        (slice_(wide, first), "along an axis that is normalised"),
        (slice_(rows[2], first) + slice_(rows[2], ((1, 2, 3, 1),)), "there are two"),
    )


@law(
    "joining",
    numerics="reassociates",
    kind="move",
    serves="arithmetic",
    source="Vision Transformer, arXiv 2010.11929: the head reads one token",
    required=("slice.through_unary", "slice.through_binary"),
    uses=(parting, parting_of_normalised),
    examples=_normalised,
)
def only_rows_of_normalised(
    kind: String, x: Tensor, c: Tensor, d: Tensor, axes: Axes, eps: Float, s: Slices
):  # fmt: skip
    """Slice(LayerNormalization(x)) = LayerNormalization(Slice(x)) of rows of which no other part is taken"""
    y, made = (normalised(kind, z, c, d, axes, eps) for z in (x, slice_(x, s)))
    demand = guard(eq(s, only_part(y, first_axis(s))), varies(x))
    yield rewrite(slice_(y, s), made, are_in_front(s, axes), demand, because="all rows are more to compute")
