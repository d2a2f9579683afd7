"""Transposes and views that are told by their dims, of which two are equal."""

from typing import Any

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Dims, Permutation, Tensor, hosted, rewrite
from egraph_opt.operators import reshape, transpose

from . import fires_on, of_one, wrong


@hosted()
def is_kept_axis(x: Fact, d: Dims, p: Permutation) -> Dims | None:
    """The parts of the second axis, in front of the first one, as the view of a matrix has them."""
    if x.shape is None or not x.is_static or len(x.shape) != 2 or len(p) != len(d) or x.shape[0] not in d:
        return None
    kept = d.index(x.shape[0])
    others = tuple(k for k in range(len(d)) if k != kept)
    return tuple(d[k] for k in p) if p == (*others, kept) else None


def turned_view(shape: tuple[int, int], d: tuple[int, ...], p: tuple[int, ...]):
    return of_one(lambda x: transpose(reshape(x, d), p), shape)


@wrong(
    "bitwise",
    turned_view((2, 6), (3, 2, 2), (0, 2, 1)),
    examples=fires_on(turned_view((2, 6), (2, 2, 3), (1, 2, 0)), turned_view((5, 4), (5, 2, 2), (1, 2, 0))),
)
def view_of_turned(x: Tensor, d: Dims, p: Permutation):
    """Transpose(Reshape(x, [n, a, b])) = Reshape(x', [a, b, n]) of a matrix with n rows

    Wrong where n is the length of another part.
    """
    yield rewrite(
        transpose(reshape(x, d), p), reshape(transpose(x, (1, 0)), is_kept_axis(x, d, p)), because="a matrix"
    )


@hosted()
def dims_in_order(x: Fact, p: Permutation) -> Dims | None:
    """The dims behind a transpose that moves axes of one element only."""
    if x.shape is None or None in x.shape:
        return None
    turned = tuple(x.shape[k] for k in p)
    return turned if [d for d in x.shape if d != 1] == [d for d in turned if d != 1] else None


def turned(p: tuple[int, ...], *shape: Any):
    return of_one(lambda x: transpose(x, p), shape)


@wrong(
    "bitwise",
    turned((2, 1, 0), 3, 1, 3),
    examples=fires_on(turned((1, 0, 2), 2, 1, 3), turned((0, 2, 1), 4, 1, 5), turned((2, 0, 1), 2, 3, 1)),
)
def transpose_of_equal_dims_as_view(x: Tensor, p: Permutation):
    """Transpose(x) = Reshape(x) where the axes of several elements keep their order

    Wrong where two of them are equal, and change places.
    """
    yield rewrite(transpose(x, p), reshape(x, dims_in_order(x, p)), because="no data is moved")


@hosted()
def are_turned_alike(x: Fact, y: Fact, p: Permutation, q: Permutation) -> bool:
    """Of one shape, of which the same one comes."""
    if not x.is_static or x.shape is None or x.shape != y.shape:
        return False
    return [x.shape[k] for k in p] == [x.shape[k] for k in q]


def two_turned(p: tuple[int, ...], q: tuple[int, ...], *shape: int):
    return lambda g: transpose(g.input(shape), p) * transpose(g.input(shape), q)


@wrong(
    "bitwise",
    two_turned((1, 0, 2), (0, 1, 2), 2, 2, 3),
    examples=fires_on(two_turned((1, 0), (1, 0), 2, 3), two_turned((0, 2, 1), (0, 2, 1), 2, 2, 2)),
)
def product_of_turned(x: Tensor, y: Tensor, p: Permutation, q: Permutation):
    """Transpose(x) * Transpose(y) = Transpose(x * y) of two that are turned alike

    Wrong where equal dims changed places in one of them.
    """
    yield rewrite(
        transpose(x, p) * transpose(y, q), transpose(x * y, p), are_turned_alike(x, y, p, q), because="once"
    )
