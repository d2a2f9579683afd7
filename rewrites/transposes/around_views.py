"""Two transposes around a view that splits axes and joins others are one, between views.

Transpose_q(Reshape(Transpose_p(x))) -> Reshape(Transpose_r(Reshape(x)))

Attention that has its tokens in front joins heads with the batch like this: [S, N, H * D] is viewed as
[S, N * H, D] between transposes.  Where a view splits axes only, or joins them only, it changes places with
one of the two (`view_order`).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact, Shape
from egraph_opt.laws import Example, Operands, hosted, law, rewrite
from egraph_opt.laws.algebra import relu
from egraph_opt.laws.sorts import Dims, Permutation, Tensor
from egraph_opt.operators import reshape, transpose
from egraph_opt.rewrites.transposes.composition import is_identity


class Part(NamedTuple):
    """A factor of axes that a view has on both sides: of which axis of its operand, and of its result."""

    dim: Dim
    source: int
    target: int


class Around(NamedTuple):
    """The factors of all axes in the order of x, their transpose, and the dims of the result."""

    apart: Dims
    order: Permutation
    dims: Dims


def common_parts(source: Shape, target: Shape) -> list[Part] | None:
    """The factors of axes on both sides of a view; None where they are not known, or axes of 1 are there.

    >>> [part.dim for part in common_parts((8, "N", 32), (8, "4*N", 8))]
    [8, 'N', 4, 8]
    """
    if 1 in source or 1 in target:
        return None
    found = list[Part]()
    left, right = list(enumerate(source))[::-1], list(enumerate(target))[::-1]
    while left and right:
        (axis, a), (place, b) = left.pop(), right.pop()
        if symbolic.known_equal(a, b):
            found.append(Part(a, axis, place))
            continue
        more, less = symbolic.exact_div(b, a), symbolic.exact_div(a, b)
        if more is not None:
            found.append(Part(a, axis, place))
            right.append((place, more))
        elif less is not None:
            found.append(Part(b, axis, place))
            left.append((axis, less))
        else:
            return None
    return None if left or right else found


def _found(x: Fact, p: Permutation, dims: Dims, q: Permutation) -> Around | None:
    if x.const or not x.is_symbolic or not x.shape or 0 in x.shape or None in dims or 0 in dims:
        return None
    parts = common_parts(tuple(x.shape[axis] for axis in p), dims)
    if parts is None or len(parts) in (len(p), len(q)):
        return None
    before = [k for axis in range(len(p)) for k, part in enumerate(parts) if p[part.source] == axis]
    behind = [k for axis in q for k, part in enumerate(parts) if part.target == axis]
    order = tuple(before.index(k) for k in behind)
    return Around(tuple(parts[k].dim for k in before), order, tuple(dims[axis] for axis in q))


@hosted()
def around(x: Fact, p: Permutation, dims: Dims, q: Permutation) -> Around | None:
    """What is left of two transposes around a view that splits axes and joins others; None where it does not,
    or nothing is left to transpose."""
    found = _found(x, p, dims, q)
    return None if found is None or is_identity(found.order) else found


@hosted()
def undone_around(x: Fact, p: Permutation, dims: Dims, q: Permutation) -> Dims | None:
    """The dims of a view that does the same, where nothing is left to transpose."""
    found = _found(x, p, dims, q)
    return found.dims if found is not None and is_identity(found.order) else None


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape, p, dims, q in (
        ((2, 8, 12), (1, 0, 2), (8, 6, 4), (1, 0, 2)),
        (("N", 5, 12), (1, 0, 2), (5, "3*N", 4), (1, 0, 2)),
        (("N", 5, 12), (1, 0, 2), (5, "3*N", 4), (1, 2, 0)),
        ((6, 4, 5), (1, 0, 2), (8, 15), (1, 0)),
    ):
        g = Operands(rng)
        yield g.fires(transpose(reshape(transpose(g.input(shape), p), dims), q))
    g = Operands(rng)
    x = transpose(g.input((2, 8, 12)), (1, 0, 2))
    yield from g.near_misses(
        (transpose(reshape(x, (8, 2, 3, 4)), (1, 2, 0, 3)), "the view splits an axis only"),
        (transpose(reshape(x, (16, 12)), (1, 0)), "the view joins axes only"),
        (transpose(reshape(relu(x), (8, 6, 4)), (1, 0, 2)), "a function is between"),
        (transpose(reshape(x, (6, 8, 4)), (1, 0, 2)), "axes are parted in two ways"),
    )


@law(
    "transpose",
    numerics="bitwise",
    kind="merge",
    serves="traffic",
    source="torch.nn.MultiheadAttention",
    examples=_examples,
)
def around_view(x: Tensor, p: Permutation, d: Dims, q: Permutation):
    """Transpose_q(Reshape(Transpose_p(x))) = Reshape(Transpose_r(Reshape(x))), or a view of x"""
    both, how = transpose(reshape(transpose(x, p), d), q), around(x, p, d, q)
    whole = reshape(transpose(reshape(x, how[0]), how[1]), how[2])
    yield rewrite(both, whole, because="one transpose forgets where the other was")
    view = reshape(x, undone_around(x, p, d, q))
    yield rewrite(both, view, because="forgets both transposes")
