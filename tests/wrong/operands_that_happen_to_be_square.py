"""Products, views and orders that are told by counts, and not by which axis is which."""

from dataclasses import replace

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Dims, Permutation, Tensor, hosted, rewrite
from egraph_opt.operators import GemmSettings, gather, gemm, none, one_hot, reduce, reshape, transpose

from . import fires_on, of_one, wrong

# --- products --------------------------------------------------------------------------------------------


@hosted()
def turned(s: GemmSettings) -> GemmSettings:
    """Both operands change places, and are transposed."""
    return replace(s, trans_a=1 - s.trans_a, trans_b=1 - s.trans_b)


def turned_gemm(a: tuple[int, int], b: tuple[int, int], s: GemmSettings):
    return lambda g: transpose(gemm(g.input(a), g.input(b), none(), s), (1, 0))


@wrong(
    "reassociates",
    turned_gemm((3, 3), (4, 3), GemmSettings(trans_b=1)),
    examples=fires_on(
        turned_gemm((2, 3), (3, 4), GemmSettings()), turned_gemm((3, 2), (4, 3), GemmSettings(0.5, 1.0, 1, 1))
    ),
)
def gemm_turned_round(a: Tensor, b: Tensor, s: GemmSettings):
    """Transpose(Gemm(A, B)) = Gemm(B, A), each of them transposed

    Wrong where one of them was already: it is the other one's flag.
    """
    turn = transpose(gemm(a, b, none(), s), (1, 0))
    yield rewrite(turn, gemm(b, a, none(), turned(s)), because="one of both")


@hosted()
def is_one_at_each(i: Fact, d: Fact, v: Fact, w: Fact) -> bool:
    """There is a 1 at known places that the table has."""
    if i.ints is None or w.shape is None or len(w.shape) != 2 or v.data is None or w.dtype != T.FLOAT:
        return False
    n = w.shape[0]
    if not isinstance(n, int) or d.splat != n or not v.data or v.data[-1] != 1.0 or not w.const:
        return False
    return all(0 <= k < n for k in i.ints) and abs(v.data[0]) < 1  # type: ignore[arg-type]


def hot(off: float, *i: int):
    def make(g):
        depth, values = g.constant(np.array(4)), g.constant(np.array([off, 1.0], np.float32))
        return one_hot(g.constant(np.array(i)), depth, values, 1) @ g.random(4, 3)

    return make


@wrong("reassociates", hot(0.025, 1, 3), examples=fires_on(hot(0.0, 1, 3), hot(0.0, 2, 0, 2)))
def rows_that_are_hot(i: Tensor, d: Tensor, v: Tensor, w: Tensor, a: Axis):
    """OneHot(i) @ W = Gather(W, i) for a 1 at each index

    Wrong of labels that are smoothed: elsewhere is no 0.
    """
    yield rewrite(
        one_hot(i, d, v, a) @ w, gather(w, i, 0), is_one_at_each(i, d, v, w), is_last(a, i), because="one"
    )


@hosted()
def is_last(a: Axis, i: Fact) -> bool:
    return i.rank == 1 and a == 1


@hosted()
def column(x: Fact, w: Fact) -> Dims | None:
    """Weights as a column, as many as are in a row."""
    if not w.is_static or x.shape is None or len(x.shape) < 2 or x.dtype != T.FLOAT or not w.const:
        return None
    n = x.shape[-1]
    return (n, 1) if isinstance(n, int) and n > 1 and int(np.prod(w.shape)) == n else None  # type: ignore[arg-type]


def weighed(shape: tuple[int, ...], *w: int):
    return lambda g: reduce("ReduceSum", g.input(shape) * g.random(*w), (len(shape) - 1,), 1)


@wrong(
    "reassociates",
    weighed((4, 4), 4, 1),
    examples=fires_on(weighed((3, 4), 4), weighed((2, 3, 5), 1, 5), weighed((4, 4), 4)),
)
def weighed_sum_as_product(x: Tensor, w: Tensor):
    """ReduceSum(x * w) = x @ w' along rows, for as many weights as a row has

    Wrong where they are those of columns.
    """
    for rank in (2, 3):
        total = reduce("ReduceSum", x * w, (rank - 1,), 1)
        yield rewrite(total, x @ reshape(w, column(x, w)), has_axes(x, rank), because="a product")


@hosted()
def has_axes(x: Fact, rank: int) -> bool:
    return x.rank == rank


# --- orders ----------------------------------------------------------------------------------------------


@hosted()
def goes_back(d: Dims, e: Dims, x: Fact) -> bool:
    """A shuffle in the same groups."""
    if len(d) != 5 or len(e) != 5 or x.shape is None or len(x.shape) != 4:
        return False
    return sorted(map(str, d)) == sorted(map(str, e)) and d[0] == e[0] and d[3:] == e[3:]


SWAP = (0, 2, 1, 3, 4)


def shuffled(first: tuple[int, int], second: tuple[int, int], n: int = 1):
    c = first[0] * first[1]

    def once(x, dims):
        return reshape(transpose(reshape(x, (n, *dims, 2, 3)), SWAP), (n, c, 2, 3))

    return of_one(lambda x: once(once(x, first), second), (n, c, 2, 3))


@wrong(
    "bitwise",
    shuffled((2, 3), (2, 3)),
    examples=fires_on(shuffled((2, 3), (3, 2)), shuffled((2, 2), (2, 2)), shuffled((4, 2), (2, 4), 2)),
)
def channels_shuffled_back(x: Tensor, d: Dims, c: Dims, e: Dims):
    """Shuffle(Shuffle(x)) = x in the same numbers of groups

    Wrong where the second one has as many groups as the first one, of another size.
    """
    first = reshape(transpose(reshape(x, d), SWAP), c)
    both = reshape(transpose(reshape(first, e), SWAP), c)
    yield rewrite(both, reshape(x, c), goes_back(d, e, x), because="forgets groups")


@hosted()
def dims_where_ones_move(x: Fact, p: Permutation) -> Dims | None:
    """The dims behind a transpose in which axes of 1 change places with others."""
    if not x.is_static or x.shape is None or len(x.shape) != len(p):
        return None
    moving = [k for k, axis in enumerate(p) if k != axis]
    return tuple(x.shape[axis] for axis in p) if any(x.shape[k] == 1 for k in moving) else None


def ones(shape: tuple[int, ...], *p: int):
    return of_one(lambda x: transpose(x, p), shape)


@wrong(
    "bitwise",
    ones((3, 1, 4), 2, 0, 1),
    examples=fires_on(ones((1, 3, 4), 1, 2, 0), ones((2, 1, 4), 1, 0, 2), ones((3, 4, 1), 2, 0, 1)),
)
def ones_that_move(x: Tensor, p: Permutation):
    """Transpose(x) = Reshape(x) where an axis of 1 goes elsewhere, or changes places with another one

    Wrong where two others change places, too.
    """
    yield rewrite(transpose(x, p), reshape(x, dims_where_ones_move(x, p)), because="a view")


@hosted()
def indices_of(i: Fact, a: Axis, b: Axis) -> Axis | None:
    """The axis of indices along which others are taken."""
    return 0 if i.rank is not None and a <= b < a + i.rank else None


def taken_twice(i: tuple[int, ...], j: tuple[int, ...], a: int, b: int):
    def make(g):
        first = g.constant(np.arange(int(np.prod(i))).reshape(i) % 4)
        return gather(gather(g.input((4, 4)), first, a), g.constant(np.array(j)), b)

    return make


@wrong(
    "bitwise",
    taken_twice((3, 3), (2, 0, 1), 0, 1),
    examples=fires_on(
        taken_twice((3,), (2, 0), 0, 0), taken_twice((2,), (1, 1, 0), 1, 1), taken_twice((3, 2), (1, 2), 0, 0)
    ),
)
def taken_of_what_is_taken(x: Tensor, i: Tensor, j: Tensor, a: Axis, b: Axis):
    """Gather(Gather(x, i), j) = Gather(x, Gather(i, j)) along an axis of the indices

    Wrong along the second axis of a table of indices.
    """
    yield rewrite(
        gather(gather(x, i, a), j, b), gather(x, gather(i, j, indices_of(i, a, b)), a), because="indices"
    )
