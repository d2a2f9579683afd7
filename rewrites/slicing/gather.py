"""Gathers with known indices: as slices, and composed with each other and with slices.

Gather(x, [a, a+d, a+2d, ..]) = Slice(x, a, .., d)       and a Reshape for indices that are no vector
Gather(x, i) = Squeeze(Slice(x, i, i + 1))
Gather(Gather(x, i), j) -> Gather(x, i[j])
Gather(Slice_s(x), j) -> Gather(x, s[j])
Slice_s(Gather(x, i)) -> Gather(x, i[s])

Indices from the end (below 0) are counted from the front where the dim is known.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, ne, rewrite
from egraph_opt.laws.algebra import is_same, varies
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axis, Dims, Slices, Tensor
from egraph_opt.operators import Literal, gather, literal, reshape, slice_
from egraph_opt.operators.views import inserted_axes
from egraph_opt.rewrites.slicing.slice import Entry, beside, dim_at, entry_of, taken_by

law = laws_of("gather", numerics="bitwise")


def indices_of(i: Fact) -> tuple[int, ...] | None:
    """The elements of an integer tensor of any rank, row by row, where all are known as numbers."""
    if i.ints is not None:
        return i.ints
    if i.data is not None and all(isinstance(k, int) for k in i.data):
        return i.data  # type: ignore[return-value]
    return None


def from_front(indices: tuple[int, ...], dim: Dim) -> tuple[int, ...] | None:
    """Indices of 0 or more; None where one is out of range or cannot be counted from the front."""
    if isinstance(dim, int):
        indices = tuple(k + dim if k < 0 else k for k in indices)
        return indices if all(0 <= k < dim for k in indices) else None
    return indices if all(k >= 0 for k in indices) else None


def progression(indices: tuple[int, ...]) -> range | None:
    """The range that the indices are; None where the differences are not one number other than 0."""
    if len(indices) == 1:
        return range(indices[0], indices[0] + 1)
    if not indices or indices[0] == indices[1]:
        return None
    step = indices[1] - indices[0]
    found = range(indices[0], indices[0] + step * len(indices), step)
    return found if tuple(found) == indices else None


def entry_at(index: int, axis: int, dim: Dim) -> Entry:
    """The slice that takes one element, which may be counted from the end of a dim that is not known."""
    if isinstance(dim, int) and index < 0:
        index += dim
    return axis, index, None if index == -1 else index + 1, 1


# --- as slices ------------------------------------------------------------------------------------------


@hosted()
def as_slice(axis: Axis, x: Fact, i: Fact) -> Slices | None:
    """The slice that takes the same elements as a Gather."""
    indices, dim = indices_of(i), dim_at(x, axis)
    if indices is None:
        return None
    if len(indices) == 1 and indices[0] < 0 and not isinstance(dim, int):
        return (entry_at(indices[0], axis, dim),) if dim is not None else None
    front = from_front(indices, dim)
    found = progression(front) if front is not None else None
    if found is None or (not isinstance(dim, int) and found.step != 1):
        return None
    return (entry_of(axis, found),)


@hosted()
def is_vector(i: Fact) -> bool:
    return i.rank == 1


@hosted()
def gathered_dims(axis: Axis, x: Fact, i: Fact) -> Dims | None:
    """The dims of a Gather, where all are known and the indices are no vector."""
    if not x.is_symbolic or not i.is_static or i.rank == 1:
        return None
    return (*x.shape[:axis], *i.shape, *x.shape[axis + 1 :])  # type: ignore[index, misc]


def constant_indices(g: Operands, indices: Any, dtype: Any = np.int64) -> Any:
    return g.constant(np.array(indices, dtype=dtype))


def _ranges(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, long = g.input(("N", 6, 4)), g.input((2, "L", 4))

    def taken(indices: Any, of: Any = x) -> Any:
        return gather(of, constant_indices(g, indices), 1)

    for indices in ([1, 2, 3], [0, 2, 4], [5, 3, 1], [-1, -2], [-1], list(range(6)), 3, -2, [[1, 2], [3, 4]]):
        yield g.fires(taken(indices))
    yield g.fires(gather(x, constant_indices(g, [1, 2], np.int32), 2))
    for indices in (0, [0], [0, 1, 2], -1):
        yield g.fires(taken(indices, long))
    yield g.near_miss(taken([1, 1]), why="one element is taken twice")
    yield g.near_miss(taken([0, 1, 3]), why="one element is left out")
    yield g.near_miss(taken([]), why="nothing is taken")
    yield g.near_miss(gather(x, g.input((2,), INT64), 1), why="the indices are not known")
    yield g.near_miss(taken([-2, -1], long), why="where it starts is not known")


@law(serves="traffic", source="Ascend auto-optimizer, GatherToSplit", examples=_ranges)
def to_slice(x: Tensor, i: Tensor, a: Axis):
    """Gather(x, [a, a+d, ..]) = Slice(x, a, .., d)"""
    part = slice_(x, as_slice(a, x, i))
    yield rewrite(gather(x, i, a), part, is_vector(i), inverse="from_slice")
    yield rewrite(gather(x, i, a), reshape(part, gathered_dims(a, x, i)), inverse="from_slice")


@hosted()
def lone_index(s: Slices, dims: Dims, x: Fact, part: Fact) -> tuple[Literal, Axis] | None:
    """The scalar index and the axis of the Gather that takes one element and drops the axis."""
    if len(s) != 1 or x.shape is None or part.shape is None or len(dims) + 1 != len(x.shape):
        return None
    axis, start, end, step = s[0]
    dim = x.shape[axis]
    if not ((end == start + 1 and start >= 0) or (start, end) == (-1, None)) or step != 1:
        return None
    if not isinstance(dim, int) and part.shape[axis] != 1:
        return None  # where the dim is too short, a slice is empty and a Gather fails
    others = (*x.shape[:axis], *x.shape[axis + 1 :])
    if not all(map(symbolic.known_equal, others, dims)) or inserted_axes(dims, part.shape) is None:
        return None
    return Literal(INT64, (), (start,)), axis


@hosted()
def taken_indices(s: Slices, x: Fact) -> tuple[Literal, Axis] | None:
    """The indices that a slice of one axis takes, and the axis."""
    dim = dim_at(x, s[0][0]) if len(s) == 1 else None
    if not isinstance(dim, int) or not (taken := tuple(taken_by(s[0], dim))):
        return None
    return Literal(INT64, (len(taken),), taken), s[0][0]


@law(kind="fuse")
def from_slice(x: Tensor, s: Slices, d: Dims):
    """Squeeze(Slice(x, i, i + 1)) = Gather(x, i), and Slice(x) = Gather(x) where that is written"""
    found = taken_indices(s, x)
    several = gather(x, literal(found[0]), found[1])
    yield rewrite(slice_(x, s), several, guard(several), inverse="to_slice")
    part = slice_(x, s)
    picked = lone_index(s, d, x, part)
    yield rewrite(reshape(part, d), gather(x, literal(picked[0]), picked[1]), inverse="to_slice")


MOST = 4096
"""Indices that are written out to take what a Slice takes."""


@hosted()
def few_indices(s: Slices, x: Fact) -> tuple[Literal, Axis] | None:
    """`taken_indices` where they are not too many to be written out."""
    found = taken_indices.function(s, x)
    return found if found is not None and len(found[0].values) <= MOST else None


def _cuts(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, long = g.input(("N", 6, 4)), g.input((2, "L", 4))
    for entry in ((1, 2, 5, 1), (1, 5, 0, -2), (2, 0, 1, 1), (1, -3, None, 1)):
        yield g.fires(slice_(x, (entry,)))
    yield g.near_miss(slice_(x, ((1, 0, 2, 1), (2, 0, 2, 1))), why="two axes")
    yield g.near_miss(slice_(long, ((1, 2, None, 1),)), why="how many are taken is not known")
    yield g.near_miss(slice_(g.input((2, MOST + 2)), ((1, 1, None, 1),)), why="too many indices")
    yield g.near_miss(slice_(g.random(3, 4), ((1, 0, 2, 1),)), why="a constant is cut once")


@law(last=True, examples=_cuts)
def slice_as_gather(x: Tensor, s: Slices):
    """Slice(x, a, .., d) = Gather(x, [a, a+d, ..])"""
    found = few_indices(s, x)
    taken = gather(x, literal(found[0]), found[1])
    yield rewrite(slice_(x, s), taken, guard(varies(x)), inverse="to_slice")


# --- composed -------------------------------------------------------------------------------------------


def indices_literal(shape: Any, indices: Any) -> Literal:
    return Literal(INT64, tuple(shape), tuple(indices) or (0,))


def cut_along(s: Slices, axis: int) -> Entry | None:
    return next((entry for entry in s if entry[0] == axis), None)


@hosted()
def indices_of_both(axis: Axis, x: Fact, i: Fact, j: Fact) -> Literal | None:
    """i[j] as a constant, for a vector i; counted from the front where the dim of x is known."""
    inner, outer = indices_of(i), indices_of(j)
    if inner is None or outer is None or i.rank != 1 or not j.is_static:
        return None
    outer = from_front(outer, len(inner))
    if outer is None:
        return None
    inner = from_front(inner, dim_at(x, axis)) or inner
    return indices_literal(j.shape, (inner[k] for k in outer))


@law(kind="merge", serves="traffic")
def compose(x: Tensor, i: Tensor, j: Tensor, a: Axis):
    """Gather(Gather(x, i), j) = Gather(x, i[j])"""
    once = gather(x, literal(indices_of_both(a, x, i, j)), a)
    yield rewrite(gather(gather(x, i, a), j, a), once, because="forgets i and j")


@hosted()
def indices_into(s: Slices, axis: Axis, x: Fact, j: Fact) -> Literal | None:
    """The indices into x of a Gather from a slice of x along the same axis."""
    entry, dim, indices = cut_along(s, axis), dim_at(x, axis), indices_of(j)
    if entry is None or not isinstance(dim, int) or indices is None or not j.is_static:
        return None
    taken = taken_by(entry, dim)
    indices = from_front(indices, len(taken))
    return None if indices is None else indices_literal(j.shape, (taken[k] for k in indices))


@law(kind="merge", serves="traffic")
def of_slice(x: Tensor, j: Tensor, s: Slices, a: Axis):
    """Gather(Slice_s(x), j) = Gather(x, s[j])"""
    both, k, others = gather(slice_(x, s), j, a), literal(indices_into(s, a, x, j)), beside(s, a)
    yield rewrite(both, gather(x, k, a), is_same(others, ()), because="forgets s and j")
    yield rewrite(both, gather(slice_(x, others), k, a), guard(ne(others, ())), because="forgets s and j")


@hosted()
def sliced_indices(s: Slices, axis: Axis, i: Fact) -> Literal | None:
    """The indices that a slice along the axis of a Gather leaves, for a vector of them."""
    entry, indices = cut_along(s, axis), indices_of(i)
    if indices is None or entry is None or i.rank != 1:
        return None
    left = tuple(indices[k] for k in taken_by(entry, len(indices)))
    return indices_literal((len(left),), left) if left else None


def _sliced(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    taken = gather(g.input(("N", 5, 4)), g.constant(np.array([4, 0, 2])), 1)
    yield g.fires(slice_(taken, ((1, 1, 3, 1),)))
    yield g.fires(slice_(taken, ((1, 1, 3, 1), (2, 0, 2, 1))))


@law(kind="merge", serves="traffic", examples=_sliced)
def sliced(x: Tensor, i: Tensor, s: Slices, a: Axis):
    """Slice_s(Gather(x, i)) = Gather(x, i[s])"""
    both, once, others = (
        slice_(gather(x, i, a), s),
        gather(x, literal(sliced_indices(s, a, i)), a),
        beside(s, a),
    )
    yield rewrite(both, once, is_same(others, ()), because="forgets s and i")
    yield rewrite(both, slice_(once, others), guard(ne(others, ())), because="forgets s and i")
