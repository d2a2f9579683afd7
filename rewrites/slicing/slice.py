"""Slices: composition and normal form.

Slice_t(Slice_s(x)) = Slice_(t after s)(x)        same and different axes, any steps
Slice_s(x) -> Slice_s'(x)                         s' in normal form: without what is whole, written in one way
Slice_whole(x) -> x
Slice_s(x) -> the empty tensor                    where it takes nothing
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.sorts import Axis, Slices, Tensor
from egraph_opt.operators import Literal, literal, slice_

law = laws_of("slice", numerics="bitwise", kind="eliminate")

Entry = tuple[int, int, int | None, int]
"""One axis of a slice: axis, start, end (None: as far as it goes), step."""

Bounds = tuple[int, int | None, int]
"""Start (0 or more), end (0 or more; None: all that follows) and step (1 or more)."""

WHOLE: Bounds = (0, None, 1)
NOTHING: Bounds = (0, 0, 1)
BACKWARDS: Bounds = (-1, None, -1)
"""All of an axis of unknown length, the last element first."""


def entry_of(axis: int, taken: range) -> Entry:
    """The one way to write that a slice takes these elements."""
    if len(taken) < 2:
        start = taken[0] if taken else 0
        return axis, start, start + len(taken), 1
    if taken.step > 0:
        return axis, taken[0], taken[-1] + 1, taken.step
    return axis, taken[0], taken[-1] - 1 if taken[-1] else None, taken.step


def taken_by(entry: Entry, dim: int) -> range:
    """The elements that a slice takes of an axis."""
    _, start, end, step = entry
    return range(dim)[start:end:step]


def dim_at(x: Fact, axis: int) -> Dim:
    return x.shape[axis] if x.shape is not None and axis < len(x.shape) else None


@hosted()
def beside(spec: Slices, axis: Axis) -> Slices:
    """A slice without its cut along one axis."""
    return tuple(entry for entry in spec if entry[0] != axis)


def _compose_open(axis: int, inner: Bounds, outer: Bounds) -> Entry | None:
    """A slice of a slice of an axis whose length is not known; all that ONNX can say of it."""
    (a, b, s), (c, d, t) = inner, outer
    if inner == outer == BACKWARDS:
        return axis, *WHOLE
    if s != 1 or t != 1 or a < 0 or c < 0:
        return None
    ends = [e for e in (b, d if d is None or d < 0 else a + d) if e is not None]
    if not ends:
        return axis, a + c, None, 1
    if all(e >= 0 for e in ends):
        return axis, a + c, min(ends), 1
    if all(e < 0 for e in ends):
        return axis, a + c, sum(ends), 1
    return None


@hosted()
def first_cut(spec: Slices) -> Slices | None:
    """The cut along the first axis of several."""
    return spec[:1] if len(spec) > 1 else None


@hosted()
def other_cuts(spec: Slices) -> Slices:
    return spec[1:]


@hosted()
def slice_of_slice(inner: Slices, outer: Slices, x: Fact) -> Slices | None:
    """What a slice of a slice of x takes of x."""
    entries = {entry[0]: entry for entry in inner}
    for entry in outer:
        axis = entry[0]
        if axis not in entries:
            entries[axis] = entry
            continue
        dim = dim_at(x, axis)
        if isinstance(dim, int):
            taken = taken_by(entries[axis], dim)
            entries[axis] = entry_of(axis, taken[entry[1] : entry[2] : entry[3]])
        else:
            joined = _compose_open(axis, entries[axis][1:], entry[1:])
            if joined is None:
                return None
            entries[axis] = joined
    return tuple(sorted(entries.values()))


def _compositions(rng: np.random.Generator) -> Iterator[Example]:
    """Downwards, empty, and along axes of unknown length: none of these is drawn."""
    g = Operands(rng)
    x, long = g.input((3, 12, 4)), g.input(("N", "L", 4))
    for base, s, t in (
        (x, (1, 11, None, -2), (1, 1, 5, 2)),
        (x, (1, 2, 9, 1), (1, 5, None, -3)),
        (x, (1, 2, 2, 1), (1, 0, 0, 1)),
        (long, (1, 1, None, 1), (1, 1, None, 1)),
        (long, (1, 1, 5, 1), (1, 1, 9, 1)),
        (long, (1, 1, -1, 1), (1, 1, -1, 1)),
        (long, (1, -3, None, 1), (2, 0, 2, 1)),
        (long, (1, -1, None, -1), (1, -1, None, -1)),
    ):
        yield g.fires(slice_(slice_(base, (s,)), (t,)))
    twice = slice_(slice_(long, ((1, -3, None, 1),)), ((1, 0, 2, 1),))
    yield g.near_miss(twice, why="where it starts is not known")
    twice = slice_(slice_(long, ((1, 0, -3, 1),)), ((1, 0, 2, 1),))
    yield g.near_miss(twice, why="which end comes first is not known")


@law(
    kind="merge",
    serves="traffic",
    source="Ascend auto-optimizer, MergeConsecutiveSlice",
    examples=_compositions,
)
def compose(x: Tensor, s: Slices, t: Slices):
    """Slice_t(Slice_s(x)) = Slice_(t after s)(x); apart again where a part of the cuts is made as well"""
    yield rewrite(slice_(slice_(x, s), t), slice_(x, slice_of_slice(s, t, x)), inverse="compose")
    first = slice_(x, first_cut(s))
    yield rewrite(slice_(x, s), slice_(first, other_cuts(s)), guard(first), inverse="compose")


def normal_form(spec: Slices, x: Fact) -> Slices:
    entries: list[Entry] = []
    for entry in spec:
        axis, start, end, step = entry
        dim = dim_at(x, axis)
        if isinstance(dim, int):
            taken = taken_by(entry, dim)
            if taken != range(dim):
                entries.append(entry_of(axis, taken))
        elif start >= 0 and end is not None and 0 <= end <= start and step > 0:
            entries.append((axis, 0, 0, 1))
        elif entry != (axis, *WHOLE):
            entries.append(entry)
    return tuple(entries)


@hosted()
def is_whole(spec: Slices, x: Fact) -> bool:
    return not normal_form(spec, x)


@hosted()
def simplified(spec: Slices, x: Fact) -> Slices | None:
    """The normal form of a slice that takes a part; None where it is in normal form already."""
    found = normal_form(spec, x)
    return found if found and found != spec else None


def _odd_spellings(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 6, "L"))
    specs = (), ((1, 0, 6, 1),), ((2, 0, None, 1),), ((0, 0, None, 1), (1, 2, 4, 1))
    for spec in (*specs, ((1, 0, 6, 4),), ((1, 0, 4, 5),), ((2, 3, 2, 1),), ((1, 4, 4, 1),)):
        yield g.fires(slice_(x, spec))
    yield g.near_miss(slice_(x, ((1, 0, 5, 1),)), why="the last element is missing")
    yield g.near_miss(slice_(x, ((1, 5, None, -1),)), why="the order is another")
    yield g.near_miss(slice_(x, ((2, 0, 12, 1),)), why="the dim may be greater")


@law(serves="traffic", source="onnxoptimizer eliminate_nop_slice", examples=_odd_spellings)
def simplify(x: Tensor, s: Slices):
    """Slice_whole(x) = x, Slice_s(x) = Slice_s'(x) with s' in normal form"""
    part = slice_(x, s)
    yield rewrite(part, x, is_whole(s, x), because="every x is a Slice of itself")
    yield rewrite(part, slice_(x, simplified(s, x)), because="the right side is the normal form")


@hosted()
def empty_literal(y: Fact) -> Literal | None:
    """An empty tensor of this type."""
    if not y.is_static or 0 not in (y.shape or ()) or y.dtype <= 0 or y.dtype == TensorProto.STRING:
        return None
    return Literal(y.dtype, y.shape, (0,))  # type: ignore[arg-type]


@law(source="Ascend auto-optimizer, EmptySliceFix")
def empty(x: Tensor, s: Slices):
    """Slice_s(x) = the empty tensor where it takes nothing"""
    part = slice_(x, s)
    yield rewrite(part, literal(empty_literal(part)), because="forgets x and s")
