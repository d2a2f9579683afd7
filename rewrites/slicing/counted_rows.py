"""Rows that are taken by numbers in order, counted at run time, are a Slice.

Gather(x, Range(s, t, d)) -> Slice(x; s, t, d)     for bounds of 0 and more, and steps upwards
Gather(E, i + c) -> Gather(E[c:], i)               of a constant, for indices of 0 and more

They are positions of as many tokens as there are.  Beyond the last row a Gather fails, where a Slice ends:
what ran before gives the same.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import is_constant
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axis, Int, Slices, Steps, Tensor
from egraph_opt.operators import gather, range_, reshape, shape_of, slice_, slice_at, variadic
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.view_shapes import have_same_dims
from egraph_opt.rewrites.reductions.greatest import alone
from egraph_opt.rewrites.slicing.slice import dim_at, entry_of

law = laws_of(
    "gather", numerics="bitwise", kind="replace", serves="launches", source="exporters' position embeddings"
)


@hosted()
def steps_upwards(d: Fact) -> Steps | None:
    """The known step of a Range, above 0."""
    return (d.splat,) if isinstance(d.splat, int) and d.splat > 0 else None


@hosted()
def is_counted_from_front(bound: Fact) -> bool:
    """A bound that is never below 0, which a Slice would count from the end."""
    found = range_of(bound)
    return found is not None and found[0] >= 0


def _counted(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, like = g.random(30, 4), g.input(("L", "N"))
    zero, one, two = (g.constant(np.array(k)) for k in (0, 1, 2))
    length, rows = (reshape(shape_of(like, k, k + 1), ()) for k in (0, 1))
    yield from g.all_fire(
        gather(x, range_(zero, length, one), 0),
        gather(g.input(("M", 30)), range_(two, length, two), 1),
        gather(g.input(("L", 3)), range_(zero, length, one), 0),
        gather(x, range_(rows, length, one), 0),
    )
    yield from g.near_misses(
        (gather(x, range_(zero, length - g.constant(np.array(20)), one), 0), "an end may be below 0"),
        (gather(x, range_(length - g.constant(np.array(20)), length, one), 0), "a start may be below 0"),
        (gather(x, range_(length, zero, g.constant(np.array(-1))), 0), "downwards"),
        (gather(x, range_(zero, length, g.input((), INT64)), 0), "steps that are not known"),
    )


@law(examples=_counted)
def taken_in_order(x: Tensor, s: Tensor, t: Tensor, d: Tensor, a: Axis):
    """Gather(x, Range(s, t, d)) = Slice(x; s, t, d)"""
    part = slice_at(x, reshape(s, (1,)), reshape(t, (1,)), alone(a), steps_upwards(d))
    sound = is_counted_from_front(s), is_counted_from_front(t)
    yield rewrite(gather(x, range_(s, t, d), a), part, *sound, because="a Gather fails beyond the rows")


@hosted()
def rows_behind(e: Fact, c: Fact, axis: Axis) -> Slices | None:
    """The rows of a table from one on, which is the one number that is added to indices."""
    dim, first = dim_at(e, axis), c.splat
    if not c.const or not isinstance(dim, int) or not isinstance(first, int) or not 0 < first < dim:
        return None
    return (entry_of(axis, range(first, dim)),)


def _shifted(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    e, like, two = g.random(30, 4), g.input(("L", "N")), g.constant(np.array(2))
    zero, one = (g.constant(np.array(k)) for k in (0, 1))
    places = range_(zero, reshape(shape_of(like, 0, 1), ()), one)
    few = variadic("Min", listed(variadic("Max", listed(g.input((2, 3), INT64), zero)), two))
    yield from g.all_fire(
        gather(e, places + two, 0),
        gather(e, g.constant(np.array([2])) + places, 0),
        gather(g.random(4, 30), few + two, 1),
    )
    yield from g.near_misses(
        (gather(e, g.input((3,), INT64) + two, 0), "an index below 0 is counted from behind"),
        (gather(e, places + g.constant(np.array([[2]])), 0), "there is an axis more"),
        (gather(e, places - two, 0), "rows in front"),
        (gather(g.input((30, 4)), places + two, 0), "the table would be cut at run time"),
    )


@law(kind="eliminate", serves="arithmetic", examples=_shifted, uses=(either_side,))
def taken_from_behind(x: Tensor, i: Tensor, c: Tensor, a: Axis, k: Int):
    """Gather(E, i + c) = Gather(E[c:], i) for a constant table E and indices i of 0 and more"""
    later = beside("Add", i, c, k)
    fewer = gather(slice_(x, rows_behind(x, c, a)), i, a)
    sound = is_counted_from_front(i), have_same_dims(i, later)
    yield rewrite(
        gather(x, later, a), fewer, *sound, guard(is_constant(x)), because="any row may be the first"
    )
