"""Views with a Transpose between that move blocks of one axis alone, as a channel shuffle does, are a Gather.

Reshape(Transpose_p(Reshape_d(x))) = Gather(x, i)        along the axis of which d makes blocks
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.laws import Example, Operands, hosted, law, rewrite
from egraph_opt.laws.sorts import Axis, Dims, Permutation, Tensor
from egraph_opt.operators import Literal, gather, literal, reshape, transpose
from egraph_opt.rewrites.conditions.view_shapes import same_dims

LONGEST = 4096
"""Longer axes are left alone: their indices would be large."""

_INT64 = 7


class Shuffle(NamedTuple):
    """The axis along which elements are taken, and in which order."""

    axis: Axis
    order: Literal


def _blocks(source: Shape, dims: Shape) -> tuple[int, int] | None:
    """The axis of `source`, which may have ones, of which `dims` has blocks, and the first of these."""
    axes = [axis for axis, dim in enumerate(source) if dim != 1]
    more = len(dims) - len(axes)
    for k in range(len(axes) if more > 0 else 0):
        joined = (*dims[:k], symbolic.product(dims[k : k + more + 1]), *dims[k + more + 1 :])
        if same_dims(tuple(source[axis] for axis in axes), joined):
            return axes[k], k
    return None


@hosted()
def shuffled(x: Fact, dims: Dims, p: Permutation, z: Fact) -> Shuffle | None:
    """What is taken of x where blocks of one axis change places, and nothing else does."""
    if x.shape is None or x.const or not same_dims(x.shape, z.shape):
        return None
    found = _blocks(x.shape, dims)
    if found is None:
        return None
    axis, first = found
    whole, count = x.shape[axis], len(dims) - sum(dim != 1 for dim in x.shape) + 1
    inner = range(first, first + count)
    moved = [k for k, source in enumerate(p) if k != source]
    if not isinstance(whole, int) or whole > LONGEST or not moved or not set(moved) <= set(inner):
        return None
    sides = [dim for dim in dims[first : first + count] if isinstance(dim, int)]
    if len(sides) < count:
        return None
    blocks = np.arange(whole).reshape(sides)
    order = blocks.transpose([p[k] - first for k in inner]).reshape(-1)
    return Shuffle(axis, Literal(_INT64, (whole,), tuple(map(int, order))))


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 6, 4, 2))

    def made(dims: Shape, p: Permutation) -> Any:
        return reshape(transpose(reshape(x, dims), p), ("N", 6, 4, 2))

    yield from g.all_fire(
        made(("N", 2, 3, 4, 2), (0, 2, 1, 3, 4)),
        made(("N", 6, 2, 2, 2), (0, 1, 3, 2, 4)),
        made(("N", 3, 2, 1, 4, 2), (0, 2, 3, 1, 4, 5)),
    )
    apart = transpose(reshape(g.input(("N", 1, 6, 4)), ("N", 2, 3, 4)), (0, 2, 1, 3))
    yield g.fires(reshape(apart, ("N", 1, 6, 4)))
    yield g.near_miss(made(("N", 6, 2, 2, 2), (0, 2, 1, 3, 4)), why="two axes change places")
    yield g.near_miss(
        reshape(transpose(reshape(x, ("N", 2, 3, 4, 2)), (0, 2, 1, 3, 4)), ("N", 3, 2, 8)),
        why="of other dims",
    )


@law(
    "transpose",
    numerics="bitwise",
    kind="replace",
    serves="launches",
    source="ShuffleNet, arXiv 1707.01083",
    examples=_examples,
    last=True,
    resumes=True,
)
def shuffle_as_gather(x: Tensor, d: Dims, p: Permutation, e: Dims):
    """Reshape(Transpose(Reshape(x))) = Gather(x, i) where blocks of one axis change places, nothing else"""
    z = reshape(transpose(reshape(x, d), p), e)
    how = shuffled(x, d, p, z)
    yield rewrite(z, gather(x, literal(how[1]), how[0]), because="views tell the blocks, indices do not")
