"""Parts of one tensor that a Concat puts together in any order are gathered at once.

Concat(x[a:b], x[c:d], ..) -> Gather(x, [a, .., b-1, c, .., d-1, ..])

`concat_alike` joins those that are adjacent.  What is gathered backwards, or every other one, is a Slice.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, assign, auxiliary, eq, guard, hosted, law, rewrite, rule, table
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axis, Sizes, Slices, Tensor, Tensors
from egraph_opt.operators import Literal, concat, gather, literal, slice_
from egraph_opt.operators.declaration import ints
from egraph_opt.operators.terms import cons, nil
from egraph_opt.operators.terms import listed as terms
from egraph_opt.rewrites.slicing.concat import listing, operands_of
from egraph_opt.rewrites.slicing.slice import dim_at, taken_by

MOST = 4096
"""Indices that are written out to take what several Slices take."""


@hosted()
def least(old: Sizes, new: Sizes) -> Sizes:
    """Equal elements may have several places."""
    return min(old, new)


@table(merge=least)
def places(xs: Tensors, axis: Axis, base: Tensor) -> Sizes:
    """Where in one tensor the elements of a list of its slices are, along an axis."""


@hosted()
def taken(s: Slices, axis: Axis, x: Fact) -> Sizes | None:
    """Where a slice of that axis alone takes its elements; it takes some."""
    dim = dim_at(x, axis)
    if len(s) != 1 or s[0][0] != axis or not isinstance(dim, int):
        return None
    found = taken_by(s[0], dim)
    return tuple(found) if 0 < len(found) <= MOST else None


@hosted()
def fits_behind(first: Sizes, others: Sizes) -> bool:
    return len(first) + len(others) <= MOST


@hosted()
def followed(first: Sizes, others: Sizes) -> Sizes:
    return (*first, *others)


@auxiliary(listing)
def placing(x: Tensor, xs: Tensors, rest: Tensors, a: Axis, s: Slices, m: Sizes, n: Sizes):
    """Fills `places`, from the end of a list to its front."""
    first = (operands_of(xs, a), eq(xs, cons(slice_(x, s), rest)), taken(s, a, x), eq(m, taken(s, a, x)))
    yield rule(*first, eq(rest, nil()), then=assign(places(xs, a, x), m))
    more = (eq(n, places(rest, a, x)), fits_behind(m, n))
    yield rule(*first, *more, then=assign(places(xs, a, x), followed(m, n)))


@hosted()
def chosen(n: Sizes) -> Literal | None:
    """Indices; None where the parts are adjacent and are joined as such."""
    return None if n == tuple(range(n[0], n[0] + len(n))) else ints(n)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 8, 3)), g.input(("N", 8, 3))

    def of_parts(*entries: Any, axis: int = 1, base: Any = x) -> Any:
        return concat(terms(*(slice_(base, (entry,)) for entry in entries)), axis)

    yield g.fires(of_parts((1, 5, 8, 1), (1, 0, 5, 1)))
    yield g.fires(of_parts((1, 7, None, 1), (1, 6, 7, 1), (1, 5, 6, 1)))
    yield g.fires(of_parts((1, 0, 8, 2), (1, 1, 8, 2)))
    yield g.fires(of_parts((1, -1, None, -1), (1, 2, 3, 1), (1, 2, 3, 1)))
    yield g.near_miss(of_parts((1, 0, 3, 1), (1, 3, 5, 1)), why="they are adjacent")
    yield g.near_miss(of_parts((1, 5, 8, 1), (1, 0, 3, 1), axis=2), why="another axis is joined")
    yield g.near_miss(of_parts((2, 2, 3, 1), (2, 0, 1, 1)), why="another axis is cut")
    long = of_parts((1, 2, None, 1), (1, 0, 2, 1), base=g.input(("N", "L", 3)))
    yield g.near_miss(long, why="how many are taken is not known")
    apart = concat(terms(slice_(x, ((1, 5, 8, 1),)), slice_(y, ((1, 0, 5, 1),))), 1)
    yield g.near_miss(apart, why="slices of two tensors")


@law(
    "concat",
    numerics="bitwise",
    kind="merge",
    serves="launches",
    source="channels from RGB to BGR, torch.roll",
    uses=(placing,),
    examples=_examples,
)
def gather_of_parts(x: Tensor, xs: Tensors, a: Axis, n: Sizes):
    """Concat(x[a:b], x[c:d], ..) = Gather(x, [a, .., b-1, c, .., d-1, ..])"""
    found = (eq(n, places(xs, a, x)), guard(varies(x)))
    once = gather(x, literal(chosen(n)), a)
    yield rewrite(concat(xs, a), once, *found, because="forgets where the parts began")
