"""Transposes with an axis of one element dropped between them are one.

Transpose_q(Squeeze(Transpose_p(x))) -> Transpose_r(Squeeze(x)), or Squeeze(x) where q undoes p

A part of a stack, be it a Slice, a Gather or an output of a Split, drops an axis like this: queries, keys and
values of attention are told apart behind a Transpose.  `view_order` has views that split axes.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, law, rewrite
from egraph_opt.laws.algebra import relu
from egraph_opt.laws.sorts import Dims, Permutation, Tensor
from egraph_opt.operators import reshape, slice_, transpose
from egraph_opt.rewrites.conditions.view_shapes import insertions
from egraph_opt.rewrites.transposes.composition import Turned


def without_ones(x: Fact, p: Permutation, dims: Dims, q: Permutation) -> Turned | None:
    """A view of x, and the transpose of it that is what Transpose_q does of a squeeze behind Transpose_p.

    A view does not tell which axes of 1 it drops: those after which least is left to transpose.
    """
    if not x.is_symbolic or x.shape is None or len(x.shape) != len(p) or len(q) != len(dims):
        return None
    found = []
    for dropped in insertions(dims, tuple(x.shape[axis] for axis in p)):
        kept = [axis for k, axis in enumerate(p) if k not in dropped]
        order = sorted(kept)
        turn = tuple(order.index(kept[k]) for k in q)
        found.append(Turned(tuple(x.shape[axis] for axis in order), turn).simplest())
    return min(found, key=lambda each: each.disorder, default=None)


@hosted()
def squeezed(x: Fact, p: Permutation, dims: Dims, q: Permutation) -> Turned | None:
    """What is left of p, then q, behind a view that drops axes of x; None where nothing is."""
    found = without_ones(x, p, dims, q)
    return found if found is not None and found.disorder else None


@hosted()
def undone(x: Fact, p: Permutation, dims: Dims, q: Permutation) -> Dims | None:
    """The dims of the view alone, where nothing is left of p, then q."""
    found = without_ones(x, p, dims, q)
    return found.dims if found is not None and not found.disorder else None


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input((5, 1, "N", 4)), g.input(("N", 5, 3, 4))
    first = transpose(x, (1, 2, 0, 3))
    yield g.fires(transpose(reshape(first, ("N", 5, 4)), (0, 2, 1)))
    yield g.fires(transpose(reshape(first, ("N", 5, 4)), (1, 0, 2)))
    part = slice_(transpose(y, (2, 0, 1, 3)), ((0, 1, 2, 1),))
    yield g.near_miss(transpose(reshape(part, ("N", 5, 4)), (0, 2, 1)), why="a Slice is between")
    yield g.near_miss(transpose(reshape(first, ("N", 20)), (1, 0)), why="axes are merged")
    yield g.near_miss(transpose(relu(first), (1, 2, 0, 3)), why="nothing is dropped")
    yield g.near_miss(reshape(first, ("N", 5, 4)), why="there is one transpose")


@law(
    "transpose",
    numerics="bitwise",
    kind="merge",
    serves="traffic",
    source="Ascend auto-optimizer, SplitQKVMatmul",
    examples=_examples,
)
def past_squeeze(x: Tensor, p: Permutation, d: Dims, q: Permutation):
    """Transpose_q(Squeeze(Transpose_p(x))) = Transpose_r(Squeeze(x)), or Squeeze(x) where q undoes p"""
    both, how = transpose(reshape(transpose(x, p), d), q), squeezed(x, p, d, q)
    yield rewrite(both, transpose(reshape(x, how[0]), how[1]), because="forgets p and q")
    yield rewrite(both, reshape(x, undone(x, p, d, q)), because="forgets p and q")
