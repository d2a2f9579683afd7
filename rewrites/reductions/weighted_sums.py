"""Sums with constant weights along the last axis are products with a column, and back.

ReduceSum(x * w) = x @ w        along the last axis, for a weight w for each of its elements

A product is one operator less; a column leaves most of a matrix unit idle.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, kernel, laws_of, rule, union
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axes, Dims, Flag, Tensor
from egraph_opt.operators import reduce, reshape
from egraph_opt.rewrites.conditions.channels import count_along, static_shape
from egraph_opt.rewrites.conditions.values import is_kernel_float
from egraph_opt.rewrites.conditions.view_shapes import known_dims
from egraph_opt.rewrites.slicing.slice import dim_at

law = laws_of("weighted_sums", numerics="reassociates", kind="replace", source="linear algebra")


@hosted()
def column_of(w: Fact, x: Fact, axes: Axes, keep: Flag) -> Dims | None:
    """The dims of the weights as a column, or as a vector where the axis is dropped."""
    if not x.rank or axes != (x.rank - 1,):
        return None
    dim = dim_at(x, x.rank - 1)
    if not isinstance(dim, int) or dim < 2 or count_along(w, x.rank, x.rank - 1, dim) != dim:
        return None
    return (dim, 1) if keep else (dim,)


@hosted()
def row_of(w: Fact, x: Fact) -> tuple[Dims, Axes, Flag] | None:
    """The dims of a column or vector as a row, the axis of x that it is along, and whether that is kept."""
    dims = static_shape(w)
    if not w.const or not x.rank or not dims or dims[1:] not in ((), (1,)) or dims[0] < 2:
        return None
    return dims[:1], (x.rank - 1,), len(dims) - 1


def _sums(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w = g.input(("N", 3, 4)), g.random(4)
    for keep in (0, 1):
        yield from g.all_fire(
            reduce("ReduceSum", x * w, (2,), keep),
            reduce("ReduceSum", x * g.random(1, 1, 4), (2,), keep),
            reduce("ReduceSum", g.input((4,)) * w, (0,), keep),
        )
    yield from g.all_fire(x @ w, x @ g.random(4, 1), g.input((4,)) @ w, g.input((4,)) @ g.random(4, 1))
    whole, one = g.input((3, 4), INT64), g.input(("N", 3, 1))
    yield from g.near_misses(
        (reduce("ReduceSum", x * w, (1,), 1), "along another axis"),
        (reduce("ReduceSum", x * w, (1, 2), 1), "along two"),
        (reduce("ReduceSum", x * g.random(3, 1), (2,), 1), "a weight for each row"),
        (reduce("ReduceSum", x * g.random(3, 4), (2,), 1), "weights of each row"),
        (reduce("ReduceSum", one * w, (2,), 1), "one element for all weights"),
        (reduce("ReduceSum", g.input((4,)) * g.random(2, 4), (1,), 1), "the weights make it bigger"),
        (reduce("ReduceSum", x * g.input((4,)), (2,), 1), "they vary"),
        (reduce("ReduceMax", x * w, (2,), 1), "the greatest"),
        (reduce("ReduceSum", whole * g.constant(np.arange(4)), (1,), 1), "integers"),
        (whole @ g.constant(np.full(4, 2**62 + 1)), "integers, of which sums are rounded"),
        (x @ g.random(4, 2), "two columns"),
        (x @ g.input((4, 1)), "it varies"),
    )


@law(serves="launches", examples=_sums)
def weighted_row(x: Tensor, y: Tensor, w: Tensor, a: Axes, k: Flag):
    """ReduceSum(x * w) = x @ w along the last axis, for a constant w"""
    total, floats = reduce("ReduceSum", x * w, a, k), is_kernel_float(x)
    column = reshape(w, column_of(w, x, a, k))
    same = union(w, reshape(column, known_dims(w)))  # where views are not composed there is one more else
    demand = guard(varies(x))
    yield rule(
        eq(y, total), kernel(floats), demand, then=(union(y, x @ column), same), inverse="weighted_row"
    )
    parts = row_of(w, x)
    row = reshape(w, parts[0])
    total, same = reduce("ReduceSum", x * row, parts[1], parts[2]), union(w, reshape(row, known_dims(w)))
    yield rule(eq(y, x @ w), floats, demand, then=(union(y, total), same), inverse="weighted_row")
