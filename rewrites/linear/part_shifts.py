"""A shift of a part of a product that has a bias goes into a part of the bias.

Slice(x @ W + b) + c -> Slice(x @ W + b')         b' shifted in the columns that the slice takes
Slice_t(x @ W + b) -> Slice_t(x @ W + b')         for slices t that take none of them

A forget gate that is biased by one is such a part.  `part_scales` does the same of scales.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, law, rule, table, union
from egraph_opt.laws.algebra import relu
from egraph_opt.laws.sorts import Dims, Pads, Slices, Tensor, Unit
from egraph_opt.operators import Literal, literal, pad, reshape, slice_
from egraph_opt.rewrites.arithmetic.distributivity import sum_fits
from egraph_opt.rewrites.conditions.channels import count_along, is_shift
from egraph_opt.rewrites.linear.part_scales import is_apart, is_scalable_bias, taken, taking
from egraph_opt.rewrites.linear.selection import absorbing, weight
from egraph_opt.rewrites.slicing.slice import dim_at


@table()
def shifted(y: Tensor, z: Tensor, spec: Slices) -> Unit:
    """z is y but for a shift of the part that a slice takes."""


class Place(NamedTuple):
    """A row of ones as long as a part, the dims of its shift, and how many zeros are around it."""

    ones: Literal
    dims: Dims
    pads: Pads


@hosted()
def place_of_part(spec: Slices, y: Fact, c: Fact) -> Place | None:
    """None where the slice takes no range of columns, or they are not shifted by one number each."""
    if len(spec) != 1 or not y.shape or spec[0][0] != len(y.shape) - 1:
        return None
    axis, start, end, step = spec[0]
    size = dim_at(y, axis)
    if not isinstance(size, int) or step != 1 or end is None or not 0 <= start < end <= size:
        return None
    count = count_along(c, len(y.shape), axis, end - start)
    if count is None or not is_shift(c):
        return None
    return Place(Literal(c.dtype, (end - start,), (1.0,)), (count,), (start, size - end))


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, one, b = g.input(("N", 5)), g.constant(1.0), g.random(12)
    y = x @ g.random(5, 12) + b

    def gates(of: Tensor, shift: Tensor, axis: int = 1) -> Tensor:
        forget, update = (slice_(of, ((axis, 4 * n, 4 * n + 4, 1),)) for n in (1, 0))
        return (forget + shift) * update  # type: ignore[no-any-return]

    deep = g.input(("N", "L", 5)) @ g.random(5, 12) + g.random()
    yield from g.all_fire(
        gates(y, one), gates(y, g.random(4)), gates(deep, g.random(1, 1), 2), gates(deep, g.random(4), 2)
    )
    huge, end = x @ g.constant(np.full((5, 12), -1e38)) + g.constant(np.full(12, 2e38)), g.constant(2e38)
    yield from g.near_misses(
        (gates(y, g.random(3, 4)), "rows are shifted"),
        (gates(y, g.constant(np.inf)), "of an infinity"),
        (gates(huge, end), "the shifted bias is infinite"),
        (gates(relu(y), one), "a function is between"),
        (gates(x @ g.random(5, 12) + g.input((12,)), one), "the bias varies"),
        (gates(x @ g.input((5, 12)) + b, one), "the weight is no constant"),
        (gates(g.input((12, 5)) @ g.random(5, 4) + g.random(4), one, 0), "rows are cut"),
        (slice_(y, ((1, 0, 8, 2),)) + one, "every other column"),
    )


@law(
    "selection",
    numerics="reassociates",
    kind="fuse",
    serves="launches",
    source="TensorFlow, BasicLSTMCell",
    examples=_examples,
    uses=(absorbing, taking),
)
def shift_of_part(
    x: Tensor, y: Tensor, z: Tensor, w: Tensor, b: Tensor, c: Tensor, o: Tensor, s: Slices, r: Slices
):  # fmt: skip
    """Slice(x @ W + b) + c = Slice(x @ W + b'), likewise slices of other columns"""
    forgets = "the bias does not tell which part was shifted"
    how = place_of_part(s, y, c)
    row = pad(literal(how[0]) * reshape(c, how[1]), "constant", how[2], 0.0)
    whole = x @ w + (b + row)
    found = (eq(o, slice_(y, s) + c), eq(y, x @ w + b), sum_fits(b, c))
    then = (union(o, slice_(whole, s)), shifted(y, whole, s))
    yield rule(*found, guard(weight(w), taken(y), is_scalable_bias(b, y)), then=then, because=forgets)
    other = (shifted(y, z, s), eq(o, slice_(y, r)), is_apart(s, r))
    yield rule(*other, then=union(o, slice_(z, r)), because=forgets)
