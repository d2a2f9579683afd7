"""Splits: what their outputs are, and slices of one tensor as parts of one Split.

Split(x)[i] = Slice(x, start of i, end of i)
Slice(x, a, b) -> a part of Split(x)                  where at least two slices of x do not overlap
Slice(x, a, b; r) -> Slice(Slice(x, r), a, b)         where at least three slices share r

The table `cuts` holds, by tensor and axis, every range that some slice takes of it; its merge is union.
Every range then demands the Split whose parts are it and as many others as possible; ranges that overlap
get Splits of their own.  Splits of Splits, and concatenations of all parts, follow with the laws of slices.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Annotated, Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Example,
    Operands,
    assign,
    auxiliary,
    eq,
    equal,
    guard,
    hosted,
    laws_of,
    ne,
    rewrite,
    rule,
    table,
    union,
)
from egraph_opt.laws.sorts import Axis, Bundle, Int, Sizes, Slices, Tensor
from egraph_opt.operators import binary, output, slice_, split
from egraph_opt.operators.expressions import attribute_sort
from egraph_opt.rewrites.conditions.operands import number, numbers
from egraph_opt.rewrites.slicing.slice import beside, dim_at

law = laws_of("split", numerics="bitwise")

MOST = 256
"""A tensor with more cuts than this gets no Split."""

Range = tuple[int, int]
Ranges = Annotated[tuple[Range, ...], attribute_sort("Ranges")]
"""Where parts of an axis start and end, sorted."""


# --- outputs are slices ---------------------------------------------------------------------------------


@table()
def piece(axis: Axis, sizes: Sizes, k: Int) -> Slices:
    """The slice that part k of a Split is."""


@hosted()
def piece_at(axis: Axis, sizes: Sizes, k: int) -> Slices | None:
    if k >= len(sizes):
        return None
    start = sum(sizes[:k])
    return ((axis, start, start + sizes[k], 1),)


@auxiliary()
def pieces(x: Tensor, a: Axis, n: Sizes, k: Int):
    """Fills `piece` for all Splits there are."""
    yield rule(split(x, a, n), then=assign(piece(a, n, 0), piece_at(a, n, 0)))
    yield rule(piece(a, n, k), then=assign(piece(a, n, k + 1), piece_at(a, n, k + 1)))


def _outputs(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 6, "L"))
    for k in range(3):
        yield g.fires(output(split(x, 1, (1, 3, 2)), k))
    yield g.fires(output(split(x, 1, (6,)), 0))
    yield g.fires(binary("Mul", output(split(x, 1, (3, 3)), 0), slice_(x, ((1, 3, 6, 1),))))
    yield g.near_miss(slice_(x, ((1, 0, 3, 1),)), why="nothing is split")


@law(uses=(pieces,), examples=_outputs)
def outputs(x: Tensor, b: Bundle, a: Axis, n: Sizes, k: Int, p: Slices):
    """Split(x)[i] = Slice(x, start of i, end of i)"""
    yield equal(output(b, k), slice_(x, p), eq(b, split(x, a, n)), eq(p, piece(a, n, k)))


# --- slices become one Split ----------------------------------------------------------------------------


@hosted(default=())
def united(old: Ranges, new: Ranges) -> Ranges:
    return tuple(sorted({*old, *new}))


@table(merge=united)
def cuts(x: Tensor, rest: Slices, axis: Axis) -> Ranges:
    """The ranges that slices take of an axis of x, beside what all of them take of other axes."""


@hosted()
def cut_axis(spec: Slices, k: int, x: Fact) -> Axis | None:
    """The axis of the k-th cut of a slice, if that takes a range of a dim that is a number."""
    if k >= len(spec) or x.const:
        return None
    axis, start, end, step = spec[k]
    dim = dim_at(x, axis)
    fits = isinstance(dim, int) and end is not None and 0 <= start < end <= dim and end - start < dim
    return axis if fits and step == 1 else None


@hosted()
def ranges_along(spec: Slices, axis: Axis) -> Ranges:
    return tuple((entry[1], entry[2]) for entry in spec if entry[0] == axis)  # type: ignore[misc]


@auxiliary(numbers)
def cutting(x: Tensor, s: Slices, k: Int):
    """Fills `cuts`."""
    a = cut_axis(s, k, x)
    yield rule(number(k), slice_(x, s), then=assign(cuts(x, beside(s, a), a), ranges_along(s, a)))


def disjoint(ranges: Sequence[Range]) -> list[Range]:
    """As many ranges as possible that do not overlap: by the earliest end."""
    chosen: list[Range] = []
    for start, end in sorted(ranges, key=lambda r: (r[1], -r[0])):
        if not chosen or chosen[-1][1] <= start:
            chosen.append((start, end))
    return chosen


@lru_cache(maxsize=1 << 14)
def parts_with(chosen: Range, ranges: Ranges) -> Ranges:
    """A range, and as many of the others as possible that overlap neither it nor each other."""
    before = disjoint([r for r in ranges if r[1] <= chosen[0]])
    behind = disjoint([r for r in ranges if r[0] >= chosen[1]])
    return (*before, chosen, *behind)


def parts_around(spec: Slices, axis: int, ranges: Ranges) -> Ranges:
    """The cut of a slice along an axis and others beside it; () where there is none, or too many are."""
    chosen = ranges_along(spec, axis)
    return parts_with(chosen[0], ranges) if len(chosen) == 1 and len(ranges) <= MOST else ()


def sizes_of(parts: Sequence[Range], dim: int) -> Sizes:
    """The sizes of a Split that has these parts; what is left between them is one part each."""
    sizes: list[int] = []
    at = 0
    for start, end in (*parts, (dim, dim)):
        sizes.extend(size for size in (start - at, end - start) if size)
        at = end
    return tuple(sizes)


@hosted()
def sizes_around(spec: Slices, axis: Axis, ranges: Ranges, x: Fact) -> Sizes | None:
    """The sizes of the Split that a slice is a part of; None where it is alone."""
    dim, parts = dim_at(x, axis), parts_around(spec, axis, ranges)
    return sizes_of(parts, dim) if len(spec) == 1 and len(parts) >= 2 and isinstance(dim, int) else None


@law(
    kind="merge", source="Ascend auto-optimizer, GatherToSplit", uses=(cutting,), required=("split.outputs",)
)
def from_slices(x: Tensor, s: Slices, c: Ranges):
    """Slice(x, a, b) = a part of Split(x), where at least two slices of x do not overlap"""
    a = cut_axis(s, 0, x)
    demanded = split(x, a, sizes_around(s, a, c, x))
    found = (slice_(x, s), eq(c, cuts(x, (), a)))
    yield rule(*found, then=union(demanded, demanded), because="split.outputs says which part it is")


@hosted()
def shared_cut(spec: Slices, axis: Axis, ranges: Ranges) -> Slices | None:
    """The cut along one axis, where two others beside it do not overlap."""
    (cut,) = (entry for entry in spec if entry[0] == axis)
    return (cut,) if len(parts_around(spec, axis, ranges)) >= 3 else None


def _shared(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input((2, 9, 4, "L"))

    def three(starts: tuple[int, ...], sides: tuple[int, ...]) -> Any:
        specs = (((1, a, a + 3, 1), (2, b, b + 2, 1)) for a, b in zip(starts, sides, strict=True))
        first, second, third = (slice_(x, spec) for spec in specs)
        return binary("Mul", binary("Add", first, second), third)

    yield g.fires(three((0, 3, 6), (1, 1, 1)))
    yield g.near_miss(three((0, 3, 5), (1, 1, 1)), why="two of them overlap")
    yield g.near_miss(three((0, 3, 6), (0, 1, 2)), why="nothing is shared")


@law(kind="split", uses=(cutting, numbers), examples=_shared)
def share(x: Tensor, s: Slices, c: Ranges, k: Int):
    """Slice(x, a, b; r) = Slice(Slice(x, r), a, b), where at least three slices share r"""
    a = cut_axis(s, k, x)
    shared = beside(s, a)
    twice = slice_(slice_(x, shared), shared_cut(s, a, c))
    found = (number(k), eq(c, cuts(x, shared, a)), guard(ne(shared, ())))
    yield rewrite(slice_(x, s), twice, *found, inverse="slice.compose")
