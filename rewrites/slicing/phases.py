"""All phases of a tensor in a Concat, its every second element from each start, are views and a transpose.

Concat_a(x[0::s, 0::s], x[1::s, 0::s], ..) -> Reshape(Transpose(Reshape(x)))

Networks fold images so, in front of their first convolution in NCHW (YOLOv5) and between their stages in NHWC
(Swin); a convolution behind it takes the fold into its kernel, see `convolution.folded_images`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from typing import Annotated, Any, NamedTuple

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws import Example, Operands, assign, auxiliary, eq, guard, hosted, law, rewrite, rule, table
from egraph_opt.laws.sorts import Axis, Dims, Permutation, Slices, Tensor, Tensors
from egraph_opt.operators import concat, slice_
from egraph_opt.operators.expressions import attribute_sort
from egraph_opt.operators.terms import cons, listed, nil
from egraph_opt.rewrites.convolution.folded_images import folded
from egraph_opt.rewrites.slicing.concat import listing, operands_of
from egraph_opt.rewrites.slicing.slice import taken_by

Phases = Annotated[tuple[Slices, ...], attribute_sort("Phases")]
"""The slices of a list, in its order."""


@table(merge="first")
def phases(xs: Tensors, axis: Axis, x: Tensor) -> Phases:
    """Of what slices of x a list consists that is joined along an axis."""


@hosted()
def is_strided(spec: Slices, along: Axis) -> bool:
    """A phase, or channels in a row."""
    channels = len(spec) == 1 and spec[0][0] == along and spec[0][3] == 1
    return channels or all(axis != along and step > 1 for axis, _, _, step in spec)


@hosted()
def first_phase(spec: Slices) -> Phases:
    return (spec,)


@hosted()
def more_phases(spec: Slices, rest: Phases) -> Phases:
    return (spec, *rest)


@auxiliary(listing)
def phase_lists(x: Tensor, xs: Tensors, rest: Tensors, s: Slices, more: Phases, a: Axis):
    """Fills `phases`."""
    first = (operands_of(xs, a), eq(xs, cons(slice_(x, s), rest)), is_strided(s, a))
    yield rule(first, eq(rest, nil()), then=assign(phases(xs, a, x), first_phase(s)))
    yield rule(first, eq(more, phases(rest, a, x)), then=assign(phases(xs, a, x), more_phases(s, more)))


class Fold(NamedTuple):
    """The views that bring the phases of a tensor into one axis."""

    apart: Dims
    order: Permutation
    dims: Dims


@hosted()
def fold_of_phases(x: Fact, specs: Phases, along: Axis) -> Fold | None:
    """The fold of which the slices are all parts, in its order; None where some are missing."""
    if x.shape is None or not x.is_symbolic or not specs or any(axis == along for axis, *_ in specs[0]):
        return None
    steps = {axis: step for axis, _, _, step in specs[0]}
    for spec in specs:
        for axis, start, end, step in spec:
            dim = x.shape[axis]
            if steps.get(axis) != step or not isinstance(dim, int) or dim == 0 or dim % step or start >= step:
                return None
            if taken_by((axis, start, end, step), dim) != range(start, dim, step):
                return None
    axes = _order_of_phases(specs, steps)
    if axes is None:
        return None
    apart: list[Dim] = []
    place: dict[int, int] = {}
    for axis, size in enumerate(x.shape):
        place[axis] = len(apart)
        stride = steps.get(axis)
        apart += [size // stride, stride] if stride and isinstance(size, int) else [size]
    order: list[int] = []
    dims: list[Dim] = []
    for axis, size in enumerate(x.shape):
        order += [place[k] + 1 for k in axes] if axis == along else []
        order.append(place[axis])
        dims.append(symbolic.product([size, len(specs)]) if axis == along else apart[place[axis]])
    return Fold(tuple(apart), tuple(order), tuple(dims))


def _order_of_phases(specs: tuple[Slices, ...], steps: dict[int, int]) -> tuple[int, ...] | None:
    """The axes from the one whose phase changes last to the one whose phase changes first."""
    starts = [{axis: start for axis, start, _, _ in spec} for spec in specs]
    for axes in permutations(sorted(steps)):
        expected = [dict(zip(axes, of, strict=True)) for of in product(*(range(steps[a]) for a in axes))]
        if starts == expected:
            return axes
    return None


@hosted()
def are_of_images(specs: Phases, along: Axis) -> bool:
    """Phases of several axes, or among the channels: those of one axis alone are views in very many ways."""
    axes = [axis for axis, *_ in specs[0]] if specs else []
    return len(axes) > 1 or (along == 1 and min(axes, default=0) > 1)


def _phase_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, corners = g.input(("N", 3, 4, 6)), ((0, 0), (1, 0), (0, 1), (1, 1))

    def phase(row: int, column: int, of: Any = x) -> Any:
        return slice_(of, ((2, row, 3 + row, 2), (3, column, 5 + column, 2)))

    yield g.fires(concat(listed(*(phase(*corner) for corner in corners)), 1))
    yield g.fires(concat(listed(*(phase(*corner[::-1]) for corner in corners)), 1))
    yield g.fires(concat(listed(*(slice_(x, ((3, k, 4 + k, 3),)) for k in range(3))), 1))
    yield g.near_miss(concat(listed(*(phase(*c) for c in corners[:2])), 1), why="half of the image")
    mixed = (corners[0], corners[3], corners[1], corners[2])
    yield g.near_miss(concat(listed(*(phase(*c) for c in mixed)), 1), why="no order of axes")
    yield g.near_miss(concat(listed(*(phase(*corner) for corner in corners)), 2), why="joined along the rows")
    rows, whole = g.input((4, 6, 3)), ((0, 0), (0, 1), (1, 0), (1, 1))
    parts = [slice_(rows, ((0, i, 3 + i, 2), (1, k, 5 + k, 2))) for i, k in whole]
    yield g.fires(concat(listed(*parts), 2))


@law(
    "joining",
    numerics="bitwise",
    kind="merge",
    serves="traffic",
    source="YOLOv5, Focus; Swin, merging of patches",
    uses=(phase_lists,),
    examples=_phase_examples,
)
def phases_are_folded(x: Tensor, xs: Tensors, s: Phases, a: Axis):
    """Concat(x[0::s, 0::s], x[1::s, 0::s], ..) = Reshape(Transpose(Reshape(x))) of all phases"""
    fold = fold_of_phases(x, s, a)
    image, found = folded(x, fold[0], fold[1], fold[2]), eq(s, phases(xs, a, x))
    why = "views forget that they were slices"
    yield rewrite(concat(xs, a), image, found, guard(are_of_images(s, a)), because=why)
