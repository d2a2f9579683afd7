"""Elements that are copied, picked or put elsewhere, in an order that was looked at in a few places."""

from dataclasses import replace
from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Dims, Settings, Slices, Tensor, hosted, listed, rewrite
from egraph_opt.operators import (
    ConvWindow,
    Literal,
    blockwise,
    concat,
    conv,
    expand,
    gather,
    literal,
    none,
    reshape,
    slice_,
    tile,
    transpose,
)

from . import fires_on, wrong


def dims(x: Fact | Dims) -> Any:
    """Dims to compute with, which a condition has asked for."""
    return x.shape if isinstance(x, Fact) else x


# --- copies -------------------------------------------------------------------------------------------------


@hosted()
def first_period(c: Fact, x: Fact, r: Dims) -> Literal | None:
    """c has the elements of one copy in all, the first and the last one."""
    if c.data is None or x.rank != 1 or c.rank != 1 or not x.is_static or c.dtype != T.FLOAT:
        return None
    (d,), n = dims(x), dims(r)[0]
    if d < 1 or c.shape != (d * n,) or n < 2 or c.data[:d] != c.data[-d:]:
        return None
    return Literal(T.FLOAT, (d,), c.data[:d])


def scaled_copies(n: int, *c: float):
    return lambda g: tile(g.input((2,)), (n,)) * g.constant(np.array(c))


@wrong(
    "finite",
    scaled_copies(3, 1.0, 2.0, 3.0, 4.0, 1.0, 2.0),
    examples=fires_on(scaled_copies(2, 1.0, 2.0, 1.0, 2.0)),
)
def factor_of_each_copy(x: Tensor, r: Dims, c: Tensor):
    """Tile(x) * c = Tile(x * c[:d]) for a c that repeats

    Wrong of three copies, of which the second has another factor.
    """
    sooner = tile(x * literal(first_period(c, x, r)), r)
    yield rewrite(tile(x, r) * c, sooner, because="one way is enough")


@hosted()
def has_tiles(x: Fact, y: Fact, r: Dims) -> bool:
    """y has as many elements in all as the copies of x."""
    if not x.is_static or not y.is_static or x.rank != 1 or x.dtype != T.FLOAT:
        return False
    return y.shape == (dims(x)[0] * dims(r)[0],)


@hosted()
def as_rows(x: Fact, r: Dims) -> Dims | None:
    """Copies in rows."""
    d, n = dims(x)[0], dims(r)[0]
    return (d, n) if x.rank == 1 and d <= n else (n, d)


@hosted()
def as_lines(x: Fact, r: Dims) -> Dims | None:
    d, n = dims(x)[0], dims(r)[0]
    return (d, 1) if d < n else (1, d)


@hosted()
def dims_of(y: Fact) -> Dims | None:
    return y.shape


def copies_and(d: int, n: int):
    return lambda g: tile(g.input((d,)), (n,)) + g.input((d * n,))


@wrong("bitwise", copies_and(2, 3), examples=fires_on(copies_and(3, 2), copies_and(4, 3)))
def copies_by_broadcast(x: Tensor, y: Tensor, r: Dims):
    """Tile(x; n) + y = Reshape(Reshape(y, [n, d]) + x) of d elements

    Wrong where d is less than n: it is [d, n] there, as if x was a column.
    """
    rows = reshape(y, as_rows(x, r)) + reshape(x, as_lines(x, r))
    yield rewrite(tile(x, r) + y, reshape(rows, dims_of(y)), has_tiles(x, y, r), because="no copies")


@hosted()
def repeats_rows(x: Fact, d: Dims, r: Dims, e: Dims) -> Dims | None:
    """[n, 1, d] made [n, k, d], and rows of it."""
    if not x.is_static or x.rank != 2 or len(d) != 3 or len(r) != 3:
        return None
    (n, m), k = dims(x), dims(r)[1]
    if d != (n, 1, m) or r[0] not in (1, d[0]) or r[2] not in (1, d[2]):
        return None
    return (k, 1) if e == (n * k, m) and k > 1 and n >= 1 and k % n == 0 else None


def each_row(n: int, k: int):
    return lambda g: reshape(expand(reshape(g.input((n, 2)), (n, 1, 2)), (n, k, 2)), (n * k, 2))


@wrong("bitwise", each_row(2, 4), examples=fires_on(each_row(1, 3)))
def rows_repeated(x: Tensor, d: Dims, r: Dims, e: Dims):
    """Reshape(Expand([n, 1, d] to [n, k, d])) = Tile(x, k) for k copies of n rows

    Wrong of two rows and more, each of which comes k times before the next one does.
    """
    left = reshape(expand(reshape(x, d), r), e)
    yield rewrite(left, tile(x, repeats_rows(x, d, r, e)), because="one Tile")


# --- orders -------------------------------------------------------------------------------------------------


def picked(*i: int, of: int):
    return lambda g: gather(g.input((2, of)), g.constant(np.array(i)), 1)


@hosted()
def repeats_each(i: Fact, x: Fact, a: Axis) -> Dims | None:
    """Dims of x with each element along the axis n times."""
    if i.ints is None or i.rank != 1 or x.shape is None or not x.is_static:
        return None
    if a >= len(x.shape) or dims(x)[a] < 1:
        return None
    d, n = dims(x)[a], len(i.ints) // dims(x)[a]
    if n < 2 or list(i.ints) != sorted(i.ints) or set(i.ints) != set(range(d)) or len(i.ints) != n * d:
        return None
    return (*x.shape[: a + 1], n, *x.shape[a + 1 :])


@hosted()
def with_one_behind(x: Fact, a: Axis) -> Dims | None:
    return None if x.shape is None else (*x.shape[: a + 1], 1, *x.shape[a + 1 :])


@hosted()
def with_repeats(i: Fact, x: Fact, a: Axis) -> Dims | None:
    return None if i.shape is None or x.shape is None else (*x.shape[:a], i.shape[0], *x.shape[a + 1 :])


@wrong("bitwise", picked(0, 0, 0, 1, 2, 2, of=3), examples=fires_on(picked(0, 0, 1, 1, 2, 2, of=3)))
def each_repeated(x: Tensor, i: Tensor, a: Axis):
    """Gather(x, [0, 0, 1, 1, ..]) = Reshape(Expand(Unsqueeze(x)))

    Wrong where all indices are there in order, so many that each may be there twice, and one is there three
    times.
    """
    many = expand(reshape(x, with_one_behind(x, a)), repeats_each(i, x, a))
    yield rewrite(gather(x, i, a), reshape(many, with_repeats(i, x, a)), because="no indices")


@hosted()
def rolled_from(i: Fact, x: Fact, a: Axis) -> Slices | None:
    """All indices, the first of which is behind the last."""
    if i.ints is None or i.rank != 1 or len(i.ints) < 2 or x.shape is None:
        return None
    if a >= len(x.shape) or not isinstance(x.shape[a], int):
        return None
    n, k = dims(x)[a], i.ints[0]
    return ((a, k, n, 1),) if sorted(i.ints) == list(range(n)) and k == i.ints[-1] + 1 else None


@hosted()
def up_to_there(i: Fact, a: Axis) -> Slices | None:
    return ((a, 0, i.ints[0], 1),)  # type: ignore[index]


@wrong("bitwise", picked(2, 0, 4, 3, 1, of=5), examples=fires_on(picked(2, 0, 1, of=3), picked(1, 0, of=2)))
def gather_that_rolls(x: Tensor, i: Tensor, a: Axis):
    """Gather(x, [k, .., n - 1, 0, .., k - 1]) = Concat(x[k:], x[:k])

    Wrong of five elements, of which those between the first and the last are in another order.
    """
    parts = listed(slice_(x, rolled_from(i, x, a)), slice_(x, up_to_there(i, a)))
    yield rewrite(gather(x, i, a), concat(parts, a), because="no indices")


@hosted()
def are_patches(x: Fact, w: Fact, u: ConvWindow) -> Settings | None:
    """Square kernels side by side."""
    if w.shape is None or len(w.shape) != 4 or x.shape is None or not x.is_static or not w.is_static:
        return None
    *_, k, other = dims(w)
    if any(u.pads) or u.dilations != (1, 1) or other != k or u.strides != (k, k) or k < 2:
        return None
    fits = dims(x)[2] % k == 0 and dims(x)[3] % k == 0 and x.dtype == T.FLOAT
    return (("blocksize", k),) if fits else None


@hosted()
def kernel_rows(w: Fact) -> Dims | None:
    return None if w.shape is None else (w.shape[0], int(np.prod(dims(w)[1:])), 1, 1)


@hosted()
def at_points(u: ConvWindow) -> ConvWindow:
    return replace(u, strides=(1, 1))


def patches(group: int, c: int):
    u = ConvWindow((2, 2), (0,) * 4, (1, 1), group)
    return lambda g: conv(g.input((1, c, 4, 4)), g.random(4, c // group, 2, 2), none(), u)


@wrong("reassociates", patches(2, 4), examples=fires_on(patches(1, 3), patches(1, 1)))
def patches_at_points(x: Tensor, w: Tensor, u: ConvWindow):
    """Conv(x, W; k, stride k) = Conv(SpaceToDepth(x; k), W'; 1)

    Wrong with groups: SpaceToDepth has the channels of all groups of a pixel side by side.
    """
    kernel = reshape(transpose(w, (0, 2, 3, 1)), kernel_rows(w))
    blocks = blockwise("SpaceToDepth", x, are_patches(x, w, u))
    yield rewrite(conv(x, w, none(), u), conv(blocks, kernel, none(), at_points(u)), because="for targets")
