"""Gathers with known indices: as slices, and composed with each other and with slices.

    Gather(x, [a, a+d, a+2d, ..]) = Slice(x, a, .., d)       and a Reshape for indices that are no vector
    Gather(x, i) = Squeeze(Slice(x, i, i + 1))               in both directions
    Gather(Gather(x, i), j) = Gather(x, i[j])
    Gather(Slice_s(x), j) = Gather(x, s[j])
    Slice_s(Gather(x, i)) = Gather(x, i[s])

Indices from the end (below 0) are counted from the front where the dim is known.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import Equal, PyObject, eq, let, ne, rewrite, rule
from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact, Shape
from egraph_opt.laws.examples import INT64, Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import Literal, gather, literal, reshape, slice_, unary
from egraph_opt.operators.host import hosted
from egraph_opt.operators.sorts import Slices
from egraph_opt.operators.terms import Tensor, fact
from egraph_opt.operators.views import inserted_axes
from egraph_opt.rewrites.slicing.slice import Entry, beside, dim_at, entry_of, taken_by


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


@hosted()
def as_slice(axis: int, x: Fact, i: Fact) -> Slices | None:
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
def gathered_dims(axis: int, x: Fact, i: Fact) -> Shape | None:
    """The dims of a Gather, where all are known and the indices are no vector."""
    if not x.is_symbolic or not i.is_static or i.rank == 1:
        return None
    return (*x.shape[:axis], *i.shape, *x.shape[axis + 1 :])  # type: ignore[index, misc]


def _slice_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 6, 4))
    for indices in (
        [1, 2, 3],
        [0, 2, 4],
        [5, 3, 1],
        [-1, -2],
        [2],
        [-1],
        list(range(6)),
        3,
        -2,
        [[1, 2], [3, 4]],
        [[-1]],
    ):
        yield g.fires(gather(x, g.constant(np.array(indices)), 1))
    yield g.fires(gather(x, g.constant(np.array([1, 2], dtype=np.int32)), 2))
    for indices in (0, [0], [0, 1, 2], -1):
        yield g.fires(gather(g.input((2, "L", 4)), g.constant(np.array(indices)), 1))
    yield g.near_miss(gather(x, g.constant(np.array([1, 1])), 1), why="one element is taken twice")
    yield g.near_miss(gather(x, g.constant(np.array([0, 1, 3])), 1), why="one element is left out")
    yield g.near_miss(gather(x, g.constant(np.zeros((0,), dtype=np.int64)), 1), why="nothing is taken")
    yield g.near_miss(gather(x, g.input((2,), INT64), 1), why="the indices are not known")
    yield g.near_miss(
        gather(g.input((2, "L")), g.constant(np.array([-2, -1])), 1), why="where it starts is not known"
    )


@law("gather", numerics="bitwise", examples=_slice_examples)
def to_slice(x: Tensor, i: Tensor, a: PyObject, s: PyObject, d: PyObject) -> Iterator[Any]:
    """Gather(x, [a, a+d, ..]) = Slice(x, a, .., d)

    Source: Ascend auto-optimizer, GatherToSplit.
    """
    spec = let(s, as_slice, a, fact(x), fact(i))
    yield rewrite(gather(x, i, a), slice_(x, s), *spec, eq(rank_of(i)).to(PyObject(1)))
    yield rewrite(
        gather(x, i, a), reshape(slice_(x, s), d), *spec, let(d, gathered_dims, a, fact(x), fact(i))
    )


def rank_of(x: Any) -> Any:
    """The term that computes a tensor's rank."""
    return PyObject(known_rank)(fact(x))


@hosted()
def known_rank(x: Fact) -> int | None:
    return x.rank


@hosted()
def lone_index(s: Slices, dims: Shape, x: Fact, part: Fact) -> tuple[Literal, int] | None:
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
def first_of(pair: tuple[Any, Any]) -> Any:
    return pair[0]


@hosted()
def second_of(pair: tuple[Any, Any]) -> Any:
    return pair[1]


def _squeeze_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 6, 4))
    yield g.fires(reshape(slice_(x, ((1, 2, 3, 1),)), ("N", 4)))
    yield g.fires(reshape(slice_(g.input((2, 3)), ((0, 1, 2, 1),)), (3,)))
    yield g.near_miss(reshape(slice_(x, ((1, 2, 4, 1),)), ("N", 8)), why="two elements are taken")
    yield g.near_miss(
        reshape(slice_(g.input((2, 3, 1)), ((0, 1, 2, 1),)), (1, 3)), why="another axis is dropped"
    )
    yield g.near_miss(reshape(slice_(x, ((1, 2, 3, 1), (2, 1, 2, 1))), ("N",)), why="two axes are cut")
    one_row = reshape(slice_(g.input(("L", 3)), ((0, 0, 1, 1),)), (3,))
    yield g.near_miss(one_row, why="there may be nothing to take")


@law("gather", numerics="bitwise", examples=_squeeze_examples)
def from_slice(x: Tensor, s: PyObject, d: PyObject, p: PyObject, i: PyObject, a: PyObject) -> Iterator[Any]:
    """Squeeze(Slice(x, i, i + 1)) = Gather(x, i)

    Source: algebra; one node for two.
    """
    part = slice_(x, s)
    picked = (let(p, lone_index, s, d, fact(x), fact(part)), let(i, first_of, p), let(a, second_of, p))
    yield rewrite(reshape(part, d), gather(x, literal(i), a), *picked)


@hosted()
def picked_literal(i: Fact, j: Fact, dim: Dim) -> Literal | None:
    """i[j] as a constant, for a vector i; counted from the front where the dim is known."""
    inner, outer = indices_of(i), indices_of(j)
    if inner is None or outer is None or i.rank != 1 or not j.is_static:
        return None
    outer = from_front(outer, len(inner))
    if outer is None:
        return None
    inner = from_front(inner, dim) or inner
    return Literal(INT64, j.shape, tuple(inner[k] for k in outer) or (0,))  # type: ignore[arg-type]


@hosted()
def dim_along(x: Fact, axis: int) -> Dim:
    """The dim as a number or text, "" where it is not known."""
    return dim_at(x, axis) or ""


def _composition_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 6, 4))
    inner = gather(x, g.constant(np.array([5, 0, 0, -2])), 1)
    for indices in ([3, 1], 2, -1, [[0, 1], [2, 3]]):
        yield g.fires(gather(inner, g.constant(np.array(indices)), 1))
    yield g.near_miss(gather(inner, g.constant(np.array([0, 2])), 2), why="along another axis")
    yield g.near_miss(gather(inner, g.input((2,), INT64), 1), why="the indices are not known")
    table = gather(x, g.constant(np.array([[0, 1], [2, 3]])), 1)
    yield g.near_miss(gather(table, g.constant(np.array([1])), 1), why="the first indices are no vector")


@law("gather", numerics="bitwise", examples=_composition_examples)
def compose(x: Tensor, i: Tensor, j: Tensor, a: PyObject, d: PyObject, k: PyObject) -> Iterator[Any]:
    """Gather(Gather(x, i), j) = Gather(x, i[j])

    Source: algebra.
    """
    found = (let(d, dim_along, fact(x), a), let(k, picked_literal, fact(i), fact(j), d))
    yield rewrite(gather(gather(x, i, a), j, a), gather(x, literal(k), a), *found)


@hosted()
def indices_into(s: Slices, axis: int, x: Fact, j: Fact) -> Literal | None:
    """The indices into x of a Gather from a slice of x along the same axis."""
    entry = next((e for e in s if e[0] == axis), None)
    dim, indices = dim_at(x, axis), indices_of(j)
    if entry is None or not isinstance(dim, int) or indices is None or not j.is_static:
        return None
    taken = taken_by(entry, dim)
    indices = from_front(indices, len(taken))
    return None if indices is None else Literal(INT64, j.shape, tuple(taken[k] for k in indices) or (0,))  # type: ignore[arg-type]


def _of_slice_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 8, 4))
    for s in (((1, 2, 7, 1),), ((1, 7, None, -2),), ((1, 1, 8, 2), (2, 0, 2, 1))):
        yield g.fires(gather(slice_(x, s), g.constant(np.array([0, 3, -1])), 1))
        yield g.fires(gather(slice_(x, s), g.constant(np.array(-2)), 1))
    yield g.near_miss(
        gather(slice_(x, ((2, 1, 3, 1),)), g.constant(np.array([0, 3])), 1), why="another axis is sliced"
    )
    long = slice_(g.input(("L", 2)), ((0, 1, None, 1),))
    yield g.near_miss(gather(long, g.constant(np.array([0, 2])), 0), why="how long the slice is is not known")


@law("gather", numerics="bitwise", examples=_of_slice_examples)
def of_slice(x: Tensor, j: Tensor, s: PyObject, a: PyObject, k: PyObject, o: PyObject) -> Iterator[Any]:
    """Gather(Slice_s(x), j) = Gather(x, s[j])

    Source: algebra.
    """
    left = gather(slice_(x, s), j, a)
    found = (let(k, indices_into, s, a, fact(x), fact(j)), let(o, beside, s, a))
    yield rewrite(left, gather(x, literal(k), a), *found, eq(o).to(PyObject(())))
    yield rewrite(left, gather(slice_(x, o), literal(k), a), *found, ne(o).to(PyObject(())))


@hosted()
def sliced_indices(s: Slices, axis: int, i: Fact) -> Literal | None:
    """The indices that a slice along the axis of a Gather leaves, for a vector of them."""
    indices = indices_of(i)
    entry = next((e for e in s if e[0] == axis), None)
    if indices is None or entry is None or i.rank != 1:
        return None
    left = tuple(indices[k] for k in taken_by(entry, len(indices)))
    return Literal(INT64, (len(left),), left) if left else None


def _sliced_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    taken = gather(g.input(("N", 8, 4)), g.constant(np.array([7, 0, 0, -3])), 1)
    for s in (((1, 1, 3, 1),), ((1, 3, None, -2),), ((1, 0, 4, 3), (2, 0, 2, 1))):
        yield g.fires(slice_(taken, s))
    yield g.near_miss(slice_(taken, ((2, 0, 2, 1),)), why="another axis is sliced")
    yield g.near_miss(slice_(unary("Relu", (), taken), ((1, 1, 3, 1),)), why="Relu is between")


@law("gather", numerics="bitwise", examples=_sliced_examples)
def sliced(
    x: Tensor, y: Tensor, i: Tensor, s: PyObject, a: PyObject, k: PyObject, o: PyObject
) -> Iterator[Any]:
    """Slice_s(Gather(x, i)) = Gather(x, i[s])

    Source: algebra.
    """
    found = (
        eq(y).to(slice_(gather(x, i, a), s)),
        let(k, sliced_indices, s, a, fact(i)),
        let(o, beside, s, a),
    )
    yield rule(*found, eq(o).to(PyObject(())), then=Equal(y, gather(x, literal(k), a)))
    yield rule(*found, ne(o).to(PyObject(())), then=Equal(y, slice_(gather(x, literal(k), a), o)))
