"""Transposes with an axis of one element inserted between them are one.

Transpose_q(Unsqueeze(Transpose_p(x))) -> Transpose_r(Unsqueeze(x)), or Unsqueeze(x) where q undoes p

The new axis may be anywhere among those that move, which `view_order` takes for a factor of its neighbour.
`squeezed` has views that drop axes.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws import Example, Operands, hosted, law, rewrite
from egraph_opt.laws.algebra import relu
from egraph_opt.laws.sorts import Dims, Permutation, Tensor
from egraph_opt.operators import reshape, slice_, transpose
from egraph_opt.rewrites.conditions.view_shapes import insertions
from egraph_opt.rewrites.transposes.composition import Turned


def with_ones(x: Fact, p: Permutation, dims: Dims, q: Permutation) -> Turned | None:
    """A view of x, and the transpose of it that is what Transpose_q does of an unsqueeze behind Transpose_p.

    Each new axis follows in the view the axis that it follows in the result.  A view does not tell which axes
    of 1 are new: those with which least is left to transpose.
    """
    if not x.is_symbolic or x.shape is None or len(x.shape) != len(p) or len(q) != len(dims):
        return None
    found = []
    for new in insertions(tuple(x.shape[axis] for axis in p), dims):
        old = iter(p)
        source = [None if k in new else next(old) for k in range(len(dims))]
        found.append(_placed(x.shape, [source[k] for k in q]).simplest())
    return min(found, key=lambda each: each.disorder, default=None)


def _placed(shape: Dims, result: list[int | None]) -> Turned:
    """The view and the transpose for these axes, None where one is new, in the order of the result."""
    behind: list[list[int]] = [[] for _ in range(len(shape) + 1)]  # places in the result by axis, -1 in front
    axis = -1
    for place, old in enumerate(result):
        axis = axis if old is None else old
        behind[axis].append(place)
    places = [place for axis in range(-1, len(shape)) for place in behind[axis]]
    dims: list[Dim] = [1 if (old := result[place]) is None else shape[old] for place in places]
    return Turned(tuple(dims), tuple(map(places.index, range(len(places)))))


@hosted()
def unsqueezed(x: Fact, p: Permutation, dims: Dims, q: Permutation) -> Turned | None:
    """What is left of p, then q, behind a view that inserts axes into x; None where nothing is."""
    found = with_ones(x, p, dims, q)
    return found if found is not None and found.disorder else None


@hosted()
def undone(x: Fact, p: Permutation, dims: Dims, q: Permutation) -> Dims | None:
    """The dims of the view alone, where nothing is left of p, then q."""
    found = with_ones(x, p, dims, q)
    return found.dims if found is not None and not found.disorder else None


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input((5, "N", 3, 4))
    first = transpose(x, (0, 2, 1, 3))
    between = reshape(first, (5, 1, 3, "N", 4))
    yield from g.all_fire(
        transpose(between, (0, 1, 3, 2, 4)),
        transpose(between, (1, 3, 0, 4, 2)),
        transpose(reshape(first, (5, 3, 1, "N", 1, 4)), (0, 3, 2, 1, 4, 5)),
        transpose(reshape(transpose(g.input((6, 1)), (1, 0)), (1, 1, 6)), (2, 0, 1)),
    )
    yield from g.near_misses(
        (transpose(reshape(slice_(first, ((3, 1, 3, 1),)), (5, 1, 3, "N", 2)), (0, 1, 3, 2, 4)), "a Slice"),
        (transpose(reshape(first, (15, 1, "N", 4)), (0, 2, 1, 3)), "axes are merged"),
        (transpose(reshape(first, (5, 3, "N", 2, 2)), (0, 2, 1, 3, 4)), "no axis of 1"),
        (transpose(relu(between), (0, 1, 3, 2, 4)), "a function is between"),
        (between, "there is one transpose"),
    )


@law(
    "transpose",
    numerics="bitwise",
    kind="merge",
    serves="traffic",
    source="algebra; heads of attention as PyTorch exports them",
    examples=_examples,
)
def past_unsqueeze(x: Tensor, p: Permutation, d: Dims, q: Permutation):
    """Transpose_q(Unsqueeze(Transpose_p(x))) = Transpose_r(Unsqueeze(x)), or Unsqueeze(x) where q undoes p"""
    both, how = transpose(reshape(transpose(x, p), d), q), unsqueezed(x, p, d, q)
    yield rewrite(both, transpose(reshape(x, how[0]), how[1]), because="forgets p and q")
    yield rewrite(both, reshape(x, undone(x, p, d, q)), because="forgets p and q")
