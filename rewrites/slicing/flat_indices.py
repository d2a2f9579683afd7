"""Indices of several axes are indices of these axes joined.

GatherND(x, i) -> Gather(Reshape(x), i * strides)                               for constants i inside of x
GatherND(Transpose_p(x), i) -> Transpose_q(Gather(Reshape(x), i * strides))     likewise

`x[:, i, j]` is exported between two transposes, which so become one: the axes that are taken from are
neighbours in x, wherever they are.
"""

from collections.abc import Iterator
from math import prod
from operator import mul
from typing import NamedTuple

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import Example, Operands, guard, hosted, law, rewrite
from egraph_opt.laws.algebra import is_constant, varies
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axes, Axis, Dims, Permutation, Tensor
from egraph_opt.operators import Literal, gather, gather_nd, literal, reduce, reshape, transpose
from egraph_opt.rewrites.slicing.gather import from_front, indices_literal, indices_of


class Joined(NamedTuple):
    """How axes are taken from as one.

    Attributes:
        dims: those of a view of x that has them as one.
        axis: which it is.
        order: the permutation that brings what is taken to the front.
    """

    dims: Dims
    axis: Axis
    order: Permutation


def _lengths(x: Fact, p: Permutation, i: Fact) -> tuple[int, ...] | None:
    """The lengths of the axes that are taken from, of x with its axes in order p; neighbours in x."""
    if x.shape is None or not x.is_symbolic or not i.shape or not i.is_static:
        return None
    count = int(i.shape[-1] or 0)
    if not 1 <= count <= len(p) or p[:count] != tuple(range(p[0], p[0] + count)):
        return None
    lengths = x.shape[p[0] : p[0] + count]
    return tuple(map(int, lengths)) if all(isinstance(d, int) and d for d in lengths) else None  # type: ignore[arg-type]


@hosted()
def joined(x: Fact, p: Permutation, i: Fact) -> Joined | None:
    """Of x with its axes in the order p."""
    lengths = _lengths(x, p, i)
    if lengths is None or x.shape is None or i.shape is None:
        return None
    first, count, new = p[0], len(lengths), len(i.shape) - 1
    dims = (*x.shape[:first], prod(lengths), *x.shape[first + count :])
    rest = (axis if axis < first else axis - count + new for axis in p[count:])
    return Joined(dims, first, (*range(first, first + new), *rest))


@hosted()
def known_places(x: Fact, p: Permutation, i: Fact) -> Literal | None:
    """Indices of the joined axis, where those of each are known; None where one is out of range."""
    lengths, indices = _lengths(x, p, i), indices_of(i)
    if lengths is None or indices is None or i.shape is None:
        return None
    rows = [from_front(indices[k :: len(lengths)], dim) for k, dim in enumerate(lengths)]
    if any(row is None for row in rows):
        return None
    places = (sum(map(mul, place, _strides(lengths))) for place in zip(*rows, strict=True))
    return indices_literal(i.shape[:-1], places)


def _strides(lengths: tuple[int, ...]) -> tuple[int, ...]:
    """How far apart neighbours along each axis are."""
    return tuple(prod(lengths[k + 1 :]) for k in range(len(lengths)))


@hosted()
def strides(x: Fact, p: Permutation, i: Fact) -> tuple[Literal, Axes] | None:
    """What many indices are multiplied with, and the axis along which this is summed.

    None where they are known, or one may be below 0, or beyond the shortest of the axes.
    """
    lengths, found = _lengths(x, p, i), range_of(i)
    if lengths is None or found is None or indices_of(i) is not None or i.rank is None:
        return None
    if found[0] < 0 or found[1] >= min(lengths):
        return None
    return Literal(i.dtype, (len(lengths),), _strides(lengths)), (i.rank - 1,)


@hosted()
def as_it_is(x: Fact) -> Permutation | None:
    return None if x.rank is None else tuple(range(x.rank))


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, flat_ = g.input((4, 5, "N")), g.input((6, "N"))
    pairs = g.constant(np.array([[0, 1], [3, 0], [3, 3]]))
    many = g.constant(np.stack(np.tril_indices(4, 0), axis=-1).repeat(200, axis=0))
    yield from g.all_fire(
        gather_nd(x, pairs, 0),
        gather_nd(x, many, 0),
        gather_nd(x, g.constant(np.array([[0, 4], [-1, -5]])), 0),
        gather_nd(flat_, g.constant(np.array([[5], [0]])), 0),
        gather_nd(g.input((2, 3, 4)), g.constant(np.array([[[0, 1, 1]], [[1, 0, 1]]])), 0),
        gather_nd(x, g.constant(np.array([2, 3])), 0),
    )
    z = g.input(("N", 4, 5, 3))
    yield from g.all_fire(
        gather_nd(transpose(z, (1, 2, 0, 3)), pairs, 0),
        gather_nd(transpose(z, (2, 3, 1, 0)), g.constant(np.array([[[0, 1]], [[2, 2]]])), 0),
        gather_nd(transpose(z, (3, 1, 0, 2)), g.constant(np.array([[2], [0]])), 0),
        gather_nd(transpose(z, (2, 1, 0, 3)), pairs, 0),
        gather_nd(transpose(z, (1, 3, 0, 2)), g.constant(np.array([[0, 1]])), 0),
    )
    yield from g.near_misses(
        (gather_nd(x, g.constant(np.array([[4, 0]])), 0), "beyond the first axis"),
        (gather_nd(x, g.constant(np.array([[0, -6]])), 0), "in front of the first"),
        (gather_nd(x, many - g.constant(np.array([1, 0])), 0), "one may count from the end"),
        (gather_nd(x, many + g.constant(np.array([0, 2])), 0), "one may be beyond the shorter axis"),
        (gather_nd(x, g.input((3, 2), INT64), 0), "they are not known"),
        (gather_nd(g.input(("N", 5, 4)), pairs, 0), "of an axis of any length"),
        (gather_nd(g.input((3, 4, 5)), pairs, 1), "in batches"),
    )


@law(
    "gather",
    numerics="bitwise",
    kind="replace",
    serves="traffic",
    source="DLRM, arXiv 1906.00091: pairs of features",
    examples=_examples,
)
def indices_of_joined(x: Tensor, i: Tensor, p: Permutation):
    """GatherND(x, i) = Gather(Reshape(x), i * strides), and behind a Transpose of x one behind both

    For constants i that are known to be inside.
    """
    demand = guard(varies(x), is_constant(i))
    for found, order in ((gather_nd(x, i, 0), as_it_is(x)), (gather_nd(transpose(x, p), i, 0), p)):
        how, factors = joined(x, order, i), strides(x, order, i)
        view = reshape(x, how[0])
        computed = reduce("ReduceSum", i * literal(factors[0]), factors[1], 0)
        for places in (literal(known_places(x, order, i)), computed):
            made = transpose(gather(view, places, how[1]), how[2])
            yield rewrite(found, made, demand, because="forgets how many axes there were")
