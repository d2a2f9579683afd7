"""Splits: what their outputs are, and slices of one tensor as parts of one Split.

    Split(x)[i] = Slice(x, start of i, end of i)          in both directions
    Slice(x, a, b) = a part of Split(x)                   where at least two slices of x do not overlap
    Slice(x, a, b; r) = Slice(Slice(x, r), a, b)          where at least three slices share r

The function `cuts` holds, by tensor and axis, every range that some slice takes of it; its merge is union.
Every range then asks for the Split whose parts are it and as many others as possible; ranges that overlap
get Splits of their own.  Splits of Splits, and concatenations of all parts, follow with the laws of slices.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from egraph_opt import compat as egglog
from egraph_opt.compat import Deduction, Equal, PyObject, closure, eq, i64, i64Like, let, ne, rule, set_
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import binary, output, slice_, split, unary
from egraph_opt.operators.host import hosted
from egraph_opt.operators.sorts import Slices
from egraph_opt.operators.terms import Bundle, Tensor, fact
from egraph_opt.rewrites.slicing.slice import beside, dim_at

MOST = 256
"""A tensor with more cuts than this gets no Split."""

Range = tuple[int, int]


# --- outputs are slices ---------------------------------------------------------------------------------


@egglog.function(egg_fn="split_piece", merge=lambda old, new: old)
def piece(axis: PyObject, sizes: PyObject, k: i64Like) -> PyObject:
    """The slice that part k of a Split is."""


@hosted()
def piece_at(axis: int, sizes: tuple[int, ...], k: int) -> Slices | None:
    if k >= len(sizes):
        return None
    start = sum(sizes[:k])
    return ((axis, start, start + sizes[k], 1),)


def pieces() -> Iterator[Deduction]:
    """The rules that fill `piece` for all Splits there are."""
    x, b, k = egglog.var("x", Tensor), egglog.var("b", Bundle), egglog.var("k", i64)
    a, n, p, q = (egglog.var(name, PyObject) for name in "anpq")
    yield closure(eq(b).to(split(x, a, n)), let(p, piece_at, a, n, 0), then=set_(piece(a, n, 0)).to(p))
    yield closure(
        eq(q).to(piece(a, n, k)), let(p, piece_at, a, n, k + 1), then=set_(piece(a, n, k + 1)).to(p)
    )


def _output_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 6, "L"))
    for k in range(3):
        yield g.fires(output(split(x, 1, (1, 3, 2)), k))
    yield g.fires(output(split(x, 1, (6,)), 0))
    yield g.fires(output(split(g.input((4, 2)), 0, (2, 2)), 1))
    yield g.fires(binary("Mul", output(split(x, 1, (3, 3)), 0), slice_(x, ((1, 3, 6, 1),))))
    yield g.near_miss(slice_(x, ((1, 0, 3, 1),)), why="nothing is split")


@law("split", numerics="bitwise", examples=_output_examples)
def outputs(x: Tensor, y: Tensor, b: Bundle, a: PyObject, n: PyObject, k: i64, p: PyObject) -> Iterator[Any]:
    """Split(x)[i] = Slice(x, start of i, end of i)

    Source: algebra.
    """
    yield from pieces()
    known = (eq(b).to(split(x, a, n)), eq(p).to(piece(a, n, k)))
    yield rule(*known, eq(y).to(output(b, k)), then=Equal(y, slice_(x, p)))
    yield rule(*known, eq(y).to(slice_(x, p)), then=Equal(y, output(b, k)))


# --- slices become one Split ----------------------------------------------------------------------------


@hosted(default=())
def united(old: tuple[Range, ...], new: tuple[Range, ...]) -> tuple[Range, ...]:
    return tuple(sorted({*old, *new}))


@egglog.function(egg_fn="split_cuts", merge=lambda old, new: PyObject(united)(old, new))
def cuts(x: Tensor, rest: PyObject, axis: PyObject) -> PyObject:
    """The ranges that slices take of an axis of x, beside what all of them take of other axes."""


@hosted()
def cut_axis(spec: Slices, k: int, x: Fact) -> int | None:
    """The axis of the k-th cut of a slice, if that takes a range of a dim that is a number."""
    if k >= len(spec) or x.const:
        return None
    axis, start, end, step = spec[k]
    dim = dim_at(x, axis)
    fits = isinstance(dim, int) and end is not None and 0 <= start < end <= dim and end - start < dim
    return axis if fits and step == 1 else None


@hosted()
def ranges_along(spec: Slices, axis: int) -> tuple[Range, ...]:
    return tuple((entry[1], entry[2]) for entry in spec if entry[0] == axis)  # type: ignore[misc]


def cutting() -> Iterator[Deduction]:
    """The rules that fill `cuts`."""
    x, y = egglog.var("x", Tensor), egglog.var("y", Tensor)
    s, r, a, c = (egglog.var(name, PyObject) for name in "srac")
    for k in range(4):
        found = (eq(y).to(slice_(x, s)), let(a, cut_axis, s, k, fact(x)))
        yield closure(
            *found, let(r, beside, s, a), let(c, ranges_along, s, a), then=set_(cuts(x, r, a)).to(c)
        )


def disjoint(ranges: Sequence[Range]) -> list[Range]:
    """As many ranges as possible that do not overlap: by the earliest end."""
    chosen: list[Range] = []
    for start, end in sorted(ranges, key=lambda r: (r[1], -r[0])):
        if not chosen or chosen[-1][1] <= start:
            chosen.append((start, end))
    return chosen


@lru_cache(maxsize=1 << 14)
def parts_with(chosen: Range, ranges: tuple[Range, ...]) -> tuple[Range, ...]:
    """A range, and as many of the others as possible that overlap neither it nor each other."""
    before = disjoint([r for r in ranges if r[1] <= chosen[0]])
    behind = disjoint([r for r in ranges if r[0] >= chosen[1]])
    return (*before, chosen, *behind)


def sizes_of(parts: Sequence[Range], dim: int) -> tuple[int, ...]:
    """The sizes of a Split that has these parts; what is left between them is one part each."""
    sizes: list[int] = []
    at = 0
    for start, end in (*parts, (dim, dim)):
        sizes.extend(size for size in (start - at, end - start) if size)
        at = end
    return tuple(sizes)


@hosted()
def sizes_around(spec: Slices, axis: int, ranges: tuple[Range, ...], x: Fact) -> tuple[int, ...] | None:
    """The sizes of the Split that a slice is a part of; None where it is alone."""
    dim = dim_at(x, axis)
    chosen = ranges_along(spec, axis)
    if len(spec) != 1 or len(chosen) != 1 or len(ranges) > MOST or not isinstance(dim, int):
        return None
    parts = parts_with(chosen[0], ranges)
    return sizes_of(parts, dim) if len(parts) >= 2 else None


def _slices_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 9, "L"))

    def both(a: Range, b: Range) -> Any:
        first, second = (unary("Relu", (), slice_(x, ((1, *r, 1),))) for r in (a, b))
        return binary("Add", first, second)

    yield g.fires(both((0, 3), (3, 6)))
    yield g.fires(both((6, 9), (1, 4)))
    yield g.fires(both((0, 1), (8, 9)))
    three = [slice_(x, ((1, a, a + 4, 1),)) for a in (0, 3, 5)]
    yield g.fires(binary("Mul", binary("Add", three[0], three[1]), three[2]))
    yield g.near_miss(both((0, 4), (3, 7)), why="the slices overlap")
    yield g.near_miss(slice_(x, ((1, 0, 4, 1),)), why="there is one slice only")
    strided = [slice_(x, ((1, a, a + 8, 2),)) for a in (0, 1)]
    yield g.near_miss(binary("Add", *strided), why="every other element is taken")
    constant = [slice_(g.random(4, 2), ((0, a, a + 2, 1),)) for a in (0, 2)]
    yield g.near_miss(binary("Add", *constant), why="constants are folded")


@law("split", numerics="bitwise", examples=_slices_examples, required=("split.outputs",))
def from_slices(x: Tensor, y: Tensor, s: PyObject, a: PyObject, c: PyObject, n: PyObject) -> Iterator[Any]:
    """Slice(x, a, b) = a part of Split(x), where at least two slices of x do not overlap

    Source: Ascend auto-optimizer, GatherToSplit.
    """
    yield from cutting()
    found = (eq(y).to(slice_(x, s)), let(a, cut_axis, s, 0, fact(x)), eq(c).to(cuts(x, PyObject(()), a)))
    bundle = split(x, a, n)
    yield rule(*found, let(n, sizes_around, s, a, c, fact(x)), then=Equal(bundle, bundle))


@hosted()
def shared_cut(spec: Slices, axis: int, ranges: tuple[Range, ...]) -> Slices | None:
    """The cut along one axis, where two others beside it do not overlap."""
    chosen = ranges_along(spec, axis)
    if len(chosen) != 1 or len(ranges) > MOST or len(parts_with(chosen[0], ranges)) < 3:
        return None
    return ((axis, *chosen[0], 1),)


def _shared_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input((2, 9, 4, "L"))

    def three(*specs: Slices) -> Any:
        first, second, third = (slice_(x, spec) for spec in specs)
        return binary("Mul", binary("Add", first, second), third)

    side = (2, 1, 3, 1)
    yield g.fires(three(*(((1, a, a + 3, 1), side) for a in (0, 3, 6))))
    yield g.near_miss(three(*(((1, a, a + 3, 1), side) for a in (0, 3, 5))), why="two of them overlap")
    others = ((2, 0, 2, 1), (2, 1, 3, 1), (2, 2, 4, 1))
    yield g.near_miss(
        three(*(((1, 3 * k, 3 * k + 3, 1), e) for k, e in enumerate(others))), why="nothing is shared"
    )


@law("split", numerics="bitwise", examples=_shared_examples)
def share(
    x: Tensor, y: Tensor, s: PyObject, r: PyObject, a: PyObject, c: PyObject, t: PyObject
) -> Iterator[Any]:
    """Slice(x, a, b; r) = Slice(Slice(x, r), a, b), where at least three slices share r

    Source: algebra; one Slice and one Split instead of many Slices.
    """
    yield from cutting()
    for k in range(4):
        at = let(a, cut_axis, s, k, fact(x))
        shared = (let(r, beside, s, a), eq(c).to(cuts(x, r, a)), ne(r).to(PyObject(())))
        found = (eq(y).to(slice_(x, s)), *at, *shared, let(t, shared_cut, s, a, c))
        yield rule(*found, then=Equal(y, slice_(slice_(x, r), t)))
