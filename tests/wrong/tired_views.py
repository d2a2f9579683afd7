"""Slices, indices, copies, joins, products and dims: places that are told by half of what they need."""

from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Dims, Equation, Permutation, Slices, String, Tensor, hosted, listed, rewrite
from egraph_opt.operators import (
    GemmSettings,
    Literal,
    concat,
    einsum,
    gather,
    gemm,
    literal,
    overwrite,
    range_,
    reshape,
    slice_,
    tile,
    transpose,
)

from . import fires_on, of_one, wrong

# --- slices and indices ----------------------------------------------------------------------------------


@hosted()
def places_in_whole(i: Fact, t: Slices, a: Axis) -> Literal | None:
    """Where the indices are in what is sliced."""
    if i.ints is None or len(t) != 1 or t[0][0] != a or i.shape is None or t[0][3] < 1:
        return None
    _, start, _, step = t[0]
    return Literal(T.INT64, i.shape, tuple(start + k * step for k in i.ints)) if start >= 0 else None  # type: ignore[arg-type]


def taken(i: Any, start: int, end: int, step: int):
    def make(g):
        return gather(
            slice_(g.input((10, 3)), ((0, start, end, step),)), g.constant(np.array(i, np.int64)), 0
        )

    return make


@wrong(
    "bitwise", taken([0, -1], 2, 6, 1), examples=fires_on(taken([0, 1], 2, 6, 1), taken([1, 0, 1], 1, 10, 3))
)
def index_of_slice(x: Tensor, t: Slices, i: Tensor, a: Axis):
    """Gather(x[s:e:k], i) = Gather(x, s + i * k)

    Wrong of indices from the end.
    """
    yield rewrite(
        gather(slice_(x, t), i, a), gather(x, literal(places_in_whole(i, t, a)), a), because="one of both"
    )


@hosted()
def is_copy(x: Fact, r: Dims, t: Slices) -> bool:
    """One slice, as long as what is copied along its axis, and copies along no other one."""
    if x.shape is None or not x.is_static or len(t) != 1 or t[0][3] != 1 or t[0][2] is None:
        return False
    axis, start, end, _ = t[0]
    return end - start == x.shape[axis] and all(n == 1 for k, n in enumerate(r) if k != axis)  # type: ignore[operator]


def part_of_copies(start: int):
    return of_one(lambda x: slice_(tile(x, (1, 3)), ((1, start, start + 4, 1),)), (2, 4))


@wrong("bitwise", part_of_copies(2), examples=fires_on(part_of_copies(0), part_of_copies(4)))
def copy_of_copies(x: Tensor, r: Dims, t: Slices):
    """Tile(x)[s:e] = x for a slice as long as x

    Wrong where it begins within a copy.
    """
    yield rewrite(slice_(tile(x, r), t), x, is_copy(x, r, t), because="one of them")


@hosted()
def lays_one_by_one(x: Fact, y: Fact, d: Dims, a: Axis, e: Dims) -> Axis | None:
    """Two matrices, each with one more axis along which they are joined, and then joined dims."""
    if not x.is_static or x.rank != 2 or x.shape != y.shape or x.shape is None or len(d) != 3 or d[a] != 1:
        return None
    n, m = x.shape
    return 1 if e == (n, 2 * m) and a > 0 else None  # type: ignore[operator]


def stacked(a: int, n: int = 2, m: int = 3):
    dims = (n, 1, m) if a == 1 else (n, m, 1)

    def make(g):
        return reshape(
            concat(listed(reshape(g.input((n, m)), dims), reshape(g.input((n, m)), dims)), a), (n, 2 * m)
        )

    return make


@wrong("bitwise", stacked(2), examples=fires_on(stacked(1), stacked(2, 3, 1)))
def stack_and_flatten(x: Tensor, y: Tensor, d: Dims, a: Axis, e: Dims):
    """Reshape(Concat(Unsqueeze(x), Unsqueeze(y)), [n, 2 m]) = Concat(x, y)

    Wrong where the new axis is the last one, so that their elements take turns.
    """
    pair = concat(listed(reshape(x, d), reshape(y, d)), a)
    yield rewrite(reshape(pair, e), concat(listed(x, y), lays_one_by_one(x, y, d, a, e)), because="no views")


@hosted()
def covers(x: Fact, u: Fact, t: Slices) -> bool:
    """So many elements are written as there are."""
    return x.is_static and u.is_static and np.prod(x.shape) == np.prod(u.shape)  # type: ignore[arg-type]


def written(dims: tuple[int, ...], *slices: tuple[int, int, int, int]):
    return lambda g: overwrite(g.input((2, 3)), g.input(dims), "ScatterND", slices)


@wrong("bitwise", written((6,), (0, 0, 2, 1), (1, 0, 3, 1)), examples=fires_on(written((2, 3), (0, 0, 2, 1))))
def all_is_written(x: Tensor, u: Tensor, f: String, t: Slices):
    """Overwrite(x, u) = u where u has as many elements

    Wrong where it has other dims.
    """
    yield rewrite(overwrite(x, u, f, t), u, covers(x, u, t), because="nothing of x is left")


@hosted()
def are_apart(t: Slices, v: Slices) -> bool:
    """One block ends before the other begins."""
    if len(t) != 1 or len(v) != 1:
        return False
    return (t[0][2] or 0) <= v[0][1] or t[0][1] > v[0][1]


def two_blocks(first: tuple[int, int], second: tuple[int, int], step: int = 1):
    def make(g):
        x = g.input((8, 2))
        for a, b in (first, second):
            x = overwrite(x, g.input((len(range(a, b, step)), 2)), "ScatterND", ((0, a, b, step),))
        return x

    return make


@wrong(
    "bitwise",
    two_blocks((3, 5), (2, 5)),
    examples=fires_on(two_blocks((0, 2), (4, 7)), two_blocks((5, 8), (1, 3))),
)
def blocks_in_either_order(x: Tensor, u: Tensor, v: Tensor, f: String, t: Slices, s: Slices):
    """Overwrite(Overwrite(x, u; t), v; s) = Overwrite(Overwrite(x, v; s), u; t) of blocks that are apart

    Wrong where the second one begins in front of the first one and ends in it.
    """
    yield rewrite(
        overwrite(overwrite(x, u, f, t), v, f, s),
        overwrite(overwrite(x, v, f, s), u, f, t),
        are_apart(t, s),
        because="in order",
    )


# --- products --------------------------------------------------------------------------------------------


@hosted()
def swaps_last(p: Permutation, q: Permutation) -> bool:
    """Both exchange the last two axes, which is what the product asks for."""
    n = len(p)
    return n >= 2 and p[-2:] == (n - 1, n - 2) == q[-2:] and q[:-2] == tuple(range(n - 2))


def gram(*shape: int, p: tuple[int, ...]):
    n = len(shape)
    swap = (*range(n - 2), n - 1, n - 2)
    return of_one(lambda x: transpose(x @ transpose(x, swap), p), shape)


@wrong(
    "reassociates",
    gram(2, 2, 3, 4, p=(1, 0, 3, 2)),
    examples=fires_on(gram(3, 4, p=(1, 0)), gram(2, 3, 4, p=(0, 2, 1))),
)
def gram_matrix_turned(x: Tensor, p: Permutation, q: Permutation):
    """Transpose(x @ x') = x @ x', which is symmetric

    Wrong where batches are turned, too.
    """
    y = x @ transpose(x, q)
    yield rewrite(transpose(y, p), y, swaps_last(p, q), because="symmetric")


@hosted()
def is_eye(w: Fact) -> bool:
    """Each row has its 1 in its own place."""
    return w.units is not None and w.units == tuple(range(len(w.units)))


def by_eye(n: int, m: int):
    return lambda g: g.input((2, n)) @ g.constant(np.eye(n, m))


@wrong("finite", by_eye(2, 3), examples=fires_on(by_eye(3, 3), by_eye(2, 2)))
def product_with_eye(x: Tensor, w: Tensor):
    """x @ I = x

    Wrong of an identity with columns of zeros behind it.
    """
    yield rewrite(x @ w, x, is_eye(w), because="any I")


@hosted()
def are_matrices(v: Fact, w: Fact, x: Fact) -> bool:
    return v.rank == 2 and w.rank == 2 and x.rank is not None and x.rank >= 2


def side_by_side(*shape: int):
    def make(g):
        return g.input(shape) @ concat(listed(g.input((shape[-1], 2)), g.input((shape[-1], 2))), 1)

    return make


@wrong("reassociates", side_by_side(2, 3, 4), examples=fires_on(side_by_side(3, 4), side_by_side(1, 5)))
def columns_side_by_side(x: Tensor, v: Tensor, w: Tensor):
    """x @ Concat(V, W) = Concat(x @ V, x @ W) for columns of matrices

    Wrong of batches, whose columns are along their last axis.
    """
    yield rewrite(
        x @ concat(listed(v, w), 1), concat(listed(x @ v, x @ w), 1), are_matrices(v, w, x), because="apart"
    )


@hosted()
def has_dims_of(d: Fact, c: Fact) -> bool:
    return d.is_static and d.shape == c.shape and d.dtype == c.dtype


def with_sum(beta: float):
    def make(g):
        made = gemm(g.input((2, 3)), g.input((3, 4)), g.input((2, 4)), GemmSettings(beta=beta))
        return made + g.input((2, 4))

    return make


@wrong("reassociates", with_sum(0.5), examples=fires_on(with_sum(1.0)))
def summand_into_gemm(a: Tensor, b: Tensor, c: Tensor, s: GemmSettings, d: Tensor):
    """Gemm(A, B, C) + D = Gemm(A, B, C + D) for a D with the dims of C

    Wrong where C is scaled.
    """
    yield rewrite(gemm(a, b, c, s) + d, gemm(a, b, c + d, s), has_dims_of(d, c), because="C is small")


@hosted()
def column_of(e: Equation, x: Fact) -> Dims | None:
    """Two letters that both come out."""
    one, _, out = e.partition("->")
    parts = one.split(",")
    if len(parts) != 2 or any(len(k) != 1 for k in parts) or set(out) != set("".join(parts)) or len(out) != 2:
        return None
    return None if x.shape is None or None in x.shape or x.dtype != T.FLOAT else (*x.shape, 1)


def outer(equation: str, n: int = 3, m: int = 3):
    return lambda g: einsum(equation, listed(g.input((n,)), g.input((m,))))


@wrong("finite", outer("a,b->ba"), examples=fires_on(outer("i,j->ij"), outer("a,b->ab", 2, 4)))
def outer_product_by_letters(e: Equation, x: Tensor, y: Tensor):
    """Einsum(x, y; a,b->ab) = Unsqueeze(x) * y

    Wrong where they come out in the other order.
    """
    yield rewrite(einsum(e, listed(x, y)), reshape(x, column_of(e, x)) * y, because="a product")


# --- dims and ranges -------------------------------------------------------------------------------------


@hosted()
def is_one_number(c: Fact) -> bool:
    return c.shape == () and c.splat is not None


def numbers(limit: Any, c: Any, dtype: Any = np.int64, by: str = "*", step: Any = 1):
    def make(g):
        first = g.input((), T.INT64 if dtype == np.int64 else T.FLOAT)
        last, k, other = (g.constant(np.array(v, dtype)) for v in (limit, step, c))
        made = range_(first, last, k)
        return made * other if by == "*" else made + other

    return make


@wrong(
    "finite", numbers(4, 0), examples=fires_on(numbers(4, 2), numbers(5, -3), numbers(2.0, 0.5, np.float32))
)
def range_of_multiples(a: Tensor, e: Tensor, s: Tensor, c: Tensor):
    """Range(a, e; s) * c = Range(a * c, e * c; s * c)

    Wrong for a c of 0, in steps of which nothing is counted.
    """
    yield rewrite(range_(a, e, s) * c, range_(a * c, e * c, s * c), is_one_number(c), because="one operator")


@wrong(
    "reassociates",
    numbers(0.3, 1.0, np.float32, "+", 0.1),
    values=(0.0,),
    examples=fires_on(
        numbers(4, 2, np.int64, "+"), numbers(5, -3, np.int64, "+"), numbers(2.0, 0.5, np.float32, "+")
    ),
)
def range_that_begins_later(a: Tensor, e: Tensor, s: Tensor, c: Tensor):
    """Range(a, e; s) + c = Range(a + c, e + c; s)

    Wrong of floats, of which there is one more or less by rounding.
    """
    yield rewrite(range_(a, e, s) + c, range_(a + c, e + c, s), is_one_number(c), because="one operator")


@hosted()
def further_on(t: Slices, u: Slices, x: Fact) -> Slices | None:
    """Both downwards or upwards, to the end."""
    if x.rank is None or len(t) != 1 or len(u) != 1 or t[0][0] != u[0][0] or u[0][3] < 1 or t[0][3] < 1:
        return None
    axis, start, end, step = t[0]
    _, more, last, k = u[0]
    if end is None or last is None or min(start, more) < 0 or end < 0:
        return None
    return ((axis, start + more * step, min(end, start + last * step), step * k),)


def twice_sliced(first: tuple[int, int, int], then: tuple[int, int, int]):
    return of_one(lambda x: slice_(slice_(x, ((0, *first),)), ((0, *then),)), (12, 2))


@wrong(
    "bitwise",
    lambda g: slice_(slice_(g.input(("N", 2)), ((0, 1, 9, 2),)), ((0, 0, -1, 1),)),
    sizes={"N": 12},
    examples=fires_on(twice_sliced((0, 12, 2), (1, 4, 1)), twice_sliced((1, 9, 2), (0, 4, 2))),
)
def slices_with_steps(x: Tensor, t: Slices, u: Slices):
    """x[s:e:k][a:b:l] = x[s + a k:min(e, s + b k):k l]

    Wrong of bounds from the end, which a dim without a number has.
    """
    yield rewrite(slice_(slice_(x, t), u), slice_(x, further_on(t, u, x)), because="one slice")
