"""Splits in front of views: a fused projection is cut before its heads are told apart.

Slice(Reshape(x)) -> Reshape(Slice(x))       where at least two slices share the Reshape
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact, Shape
from egraph_opt.laws import Example, Operands, eq, hosted, law, rewrite
from egraph_opt.laws.sorts import Axis, Dims, Slices, Tensor
from egraph_opt.operators import binary, reshape, slice_
from egraph_opt.rewrites.slicing.split import Range, Ranges, cut_axis, cuts, cutting, parts_around


@hosted()
def slice_before(spec: Slices, axis: Axis, ranges: Ranges, x: Fact, dims: Dims) -> Slices | None:
    """The slice of x with the elements of a slice of Reshape(x) along an axis outermost in one of x's."""
    if x.shape is None or len(spec) != 1 or len(parts_around(spec, axis, ranges)) < 2:
        return None
    place = merged_axis(x.shape, dims, axis)
    if place is None:
        return None
    whole, part = x.shape[place], dims[axis]
    if not isinstance(whole, int) or not isinstance(part, int) or not part or whole % part:
        return None
    _, start, end, _ = spec[0]
    inner = whole // part
    return ((place, start * inner, end * inner, 1),)  # type: ignore[operator]


def merged_axis(before: Shape, after: Shape, axis: int) -> int | None:
    """The axis of `before` that `axis` of `after` is the outermost factor of."""
    front = symbolic.product(after[:axis])
    for place in range(len(before)):
        if symbolic.known_equal(symbolic.product(before[:place]), front) and before[place] != 1:
            outer: list[Dim] = []
            for dim in after[axis:]:
                outer.append(dim)
                if symbolic.known_equal(symbolic.product(outer), before[place]):
                    return place
    return None


@hosted()
def sliced_dims(spec: Slices, dims: Dims) -> Dims:
    """The dims of a slice with step 1 and known bounds."""
    lengths = {entry[0]: entry[2] - entry[1] for entry in spec if entry[2] is not None}
    return tuple(lengths.get(axis, dim) for axis, dim in enumerate(dims))


def _views(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)

    def two(x: Any, dims: Shape, axis: int, *ranges: Range) -> Any:
        return binary("Add", *(slice_(reshape(x, dims), ((axis, *r, 1),)) for r in ranges))

    x = g.input(("N", "L", 24))
    yield g.fires(two(x, ("N", "L", 3, 2, 4), 2, (0, 1), (2, 3)))
    yield g.fires(two(x, ("N", "L", 6, 4), 2, (0, 2), (3, 5)))
    yield g.fires(two(g.input((6, 4)), (6, 2, 2), 0, (0, 2), (2, 4)))
    yield g.near_miss(two(x, ("N", "L", 2, 3, 4), 3, (0, 1), (2, 3)), why="the axis is an inner factor")
    yield g.near_miss(two(g.input((2, 12)), (6, 4), 0, (0, 1), (2, 3)), why="the axis spans two of x")
    yield g.near_miss(slice_(reshape(x, ("N", "L", 3, 8)), ((2, 0, 1, 1),)), why="there is one slice only")


@law(
    "split",
    numerics="bitwise",
    kind="move",
    source="Ascend auto-optimizer, SplitQKVMatmul",
    uses=(cutting,),
    examples=_views,
)
def before_reshape(x: Tensor, s: Slices, c: Ranges, d: Dims):
    """Slice(Reshape(x)) = Reshape(Slice(x)), where at least two slices share the Reshape"""
    view = reshape(x, d)
    a = cut_axis(s, 0, view)
    before = slice_(x, slice_before(s, a, c, x, d))
    shared = eq(c, cuts(view, (), a))
    yield rewrite(slice_(view, s), reshape(before, sliced_dims(s, d)), shared, because="only with demand")
