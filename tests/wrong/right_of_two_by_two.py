"""Orders, windows and matrices whose counts are taken for widths: right of as many rows as columns."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Dims, Number, Slices, Tensor, hosted, rewrite
from egraph_opt.operators import (
    ConvWindow,
    Literal,
    conv,
    cumsum,
    expand,
    gather,
    gather_nd,
    literal,
    matmul,
    none,
    reduce,
    reshape,
    slice_,
    transpose,
)
from egraph_opt.operators.sorts import Permutation
from egraph_opt.rewrites.slicing.gather import indices_of

from . import dims, fires_on, wrong


def taken(shape, indices, axis: int):
    return lambda g: gather(g.input(shape), g.constant(np.array(indices, np.int64)), axis)


def _length(x: Fact, a: int) -> int | None:
    dim = dims(x)[a] if dims(x) is not None and a < len(dims(x)) and x.is_symbolic else None
    return dim if isinstance(dim, int) and dim >= 4 else None


@hosted()
def dims_of(x: Fact) -> Dims | None:
    return dims(x) if x.is_symbolic else None


# --- orders ------------------------------------------------------------------------------------------------


@hosted()
def in_groups(x: Fact, i: Fact, a: Axis) -> Dims | None:
    """Elements of as many groups in turn as the step says."""
    n, order = _length(x, a), indices_of(i)
    if n is None or order is None or len(order) != n or order[1] < 2 or n % order[1]:
        return None
    width, groups = order[1], n // order[1]
    if groups < 2 or order != tuple(k % groups * width + k // groups for k in range(n)):
        return None
    return (*dims(x)[:a], width, groups, *dims(x)[a + 1 :])


@hosted()
def exchanged(x: Fact, a: Axis) -> Permutation:
    order = list(range(len(dims(x)) + 1))
    order[a], order[a + 1] = order[a + 1], order[a]
    return tuple(order)


@wrong(
    "bitwise",
    taken(("N", 6, 3), [0, 2, 4, 1, 3, 5], 1),
    examples=fires_on(taken(("N", 4, 3), [0, 2, 1, 3], 1)),
)
def shuffled_channels(x: Tensor, i: Tensor, a: Axis):
    """Gather(x, [0, 2, 1, 3]) = Reshape, Transpose, Reshape

    Wrong of three groups of two: the view has groups where rows are.
    """
    made = transpose(reshape(x, in_groups(x, i, a)), exchanged(x, a))
    yield rewrite(gather(x, i, a), reshape(made, dims_of(x)), because="no indices")


@hosted()
def in_pairs(x: Fact, i: Fact, a: Axis) -> Dims | None:
    """All neighbours are exchanged."""
    n = _length(x, a)
    if n is None or n % 2 or indices_of(i) != tuple(k ^ 1 for k in range(n)):
        return None
    return (*dims(x)[:a], 2, n // 2, *dims(x)[a + 1 :])


@hosted()
def backwards(x: Fact, a: Axis) -> Slices | None:
    n = _length(x, a)
    return None if n is None else ((a + 1, n // 2 - 1, None, -1),)


@wrong(
    "bitwise",
    taken(("N", 6, 3), [1, 0, 3, 2, 5, 4], 1),
    examples=fires_on(taken(("N", 4, 3), [1, 0, 3, 2], 1)),
)
def neighbours_exchanged(x: Tensor, i: Tensor, a: Axis):
    """Gather(x, [1, 0, 3, 2]) = a view, its last axis backwards

    Wrong of three pairs: the view has two rows, and not rows of two.
    """
    made = slice_(reshape(x, in_pairs(x, i, a)), backwards(x, a))
    yield rewrite(gather(x, i, a), reshape(made, dims_of(x)), because="no indices")


@hosted()
def in_blocks(x: Fact, i: Fact, a: Axis) -> Dims | None:
    """Each block of elements is backwards."""
    n, order = _length(x, a), indices_of(i)
    if n is None or order is None or len(order) != n:
        return None
    r = order[0] + 1
    if r < 2 or n % r or r == n or order != tuple(k // r * r + r - 1 - k % r for k in range(n)):
        return None
    return (*dims(x)[:a], r, n // r, *dims(x)[a + 1 :])


@hosted()
def each_backwards(i: Fact, a: Axis) -> Slices | None:
    order = indices_of(i)
    return None if not order else ((a + 1, len(order) // (order[0] + 1) - 1, None, -1),)


@wrong(
    "bitwise",
    taken(("N", 6), [1, 0, 3, 2, 5, 4], 1),
    examples=fires_on(taken(("N", 9), [2, 1, 0, 5, 4, 3, 8, 7, 6], 1)),
)
def blocks_backwards(x: Tensor, i: Tensor, a: Axis):
    """Gather(x, each block backwards) = a view, its last axis backwards

    Wrong of three blocks of two: their length is taken for their number.
    """
    made = slice_(reshape(x, in_blocks(x, i, a)), each_backwards(i, a))
    yield rewrite(gather(x, i, a), reshape(made, dims_of(x)), because="no indices")


# --- copies and windows ------------------------------------------------------------------------------------


@hosted()
def copies_of_heads(x: Fact, i: Fact) -> Dims | None:
    """Each head is there so many times."""
    order = indices_of(i)
    if order is None or i.rank != 1 or x.rank != 4 or not x.is_static or 0 in dims(x):
        return None
    n, heads, *rest = dims(x)
    times = len(order) // heads
    alike = times > 1 and heads > 1 and order == tuple(k // times for k in range(heads * times))
    return (n, heads, heads, *rest) if alike else None


@hosted()
def axis_more(x: Fact) -> Dims | None:
    return (*dims(x)[:2], 1, *dims(x)[2:]) if x.rank == 4 and x.is_static else None


@hosted()
def all_heads(x: Fact, i: Fact) -> Dims | None:
    known = x.rank == 4 and x.is_static and i.is_static
    return (dims(x)[0], *dims(i), *dims(x)[2:]) if known else None


@wrong(
    "bitwise",
    taken((2, 2, 3, 4), [0, 0, 0, 1, 1, 1], 1),
    examples=fires_on(taken((2, 2, 3, 4), [0, 0, 1, 1], 1)),
)
def heads_by_gather(x: Tensor, i: Tensor):
    """Gather(x, [0, 0, 1, 1]) = Reshape(Expand(Reshape(x)))

    Wrong of two heads three times: each is there as often as there are heads.
    """
    copied = expand(reshape(x, axis_more(x)), copies_of_heads(x, i))
    yield rewrite(gather(x, i, 1), reshape(copied, all_heads(x, i)), because="no indices")


@hosted()
def as_many_as_squared(x: Fact, i: Fact, a: Axis) -> Slices | None:
    """Windows beside one another that begin in front."""
    n, order = _length(x, a), indices_of(i)
    if n is None or i.rank != 2 or not i.is_static or min(dims(i)) < 2 or order is None:
        return None
    columns = dims(i)[1]
    return ((a, 0, columns**2, 1),) if order == tuple(range(len(order))) and n >= columns**2 else None


@hosted()
def with_windows(x: Fact, i: Fact, a: Axis) -> Dims | None:
    return (*dims(x)[:a], *dims(i), *dims(x)[a + 1 :]) if x.is_symbolic and i.is_static else None


@wrong(
    "bitwise",
    taken(("N", 9, 2), [[0, 1, 2], [3, 4, 5]], 1),
    examples=fires_on(taken(("N", 5, 2), [[0, 1], [2, 3]], 1)),
)
def windows_side_by_side(x: Tensor, i: Tensor, a: Axis):
    """Gather(x, [[0, 1], [2, 3]]) = Reshape(Slice(x))

    Wrong of two windows of three: they are as many elements as a window squared.
    """
    made = reshape(slice_(x, as_many_as_squared(x, i, a)), with_windows(x, i, a))
    yield rewrite(gather(x, i, a), made, because="no indices")


def grid(rows: int, columns: int):
    places = np.array([(r, c) for r in range(rows) for c in range(columns)], np.int64)
    return lambda g: gather_nd(g.input((3, 3, 2)), g.constant(places), 0)


@hosted()
def root_by_root(x: Fact, i: Fact) -> Slices | None:
    """All places of a part, which is as high as the root of how many these are."""
    order = indices_of(i)
    if order is None or i.rank != 2 or dims(i)[1] != 2 or x.rank != 3 or not x.is_static:
        return None
    rows, columns = (n + 1 for n in order[-2:])
    if order != tuple(k for r in range(rows) for c in range(columns) for k in (r, c)):
        return None
    root = round((rows * columns) ** 0.5)
    return ((0, 0, root, 1), (1, 0, rows * columns // root, 1))


@hosted()
def one_row(x: Fact, i: Fact) -> Dims | None:
    return (dims(i)[0], *dims(x)[2:]) if x.is_static and i.is_static else None


@wrong("bitwise", grid(3, 2), examples=fires_on(grid(2, 2)))
def grid_of_places(x: Tensor, i: Tensor):
    """GatherND(x, a grid) = Reshape(Slice(x))

    Wrong where it is higher than it is wide.
    """
    made = reshape(slice_(x, root_by_root(x, i)), one_row(x, i))
    yield rewrite(gather_nd(x, i, 0), made, because="no indices")


def features(view, indices):
    return lambda g: gather(
        reshape(g.input((2, 3, view[2] * view[3])), view), g.constant(np.array(indices, np.int64)), 3
    )


@hosted()
def columns_of(x: Fact, d: Dims, i: Fact) -> Literal | None:
    """The columns of features that are taken in every head."""
    order = indices_of(i)
    known = x.rank == 3 and x.is_static and len(d) == 4 and all(isinstance(k, int) and k for k in d)
    if order is None or not known or d[:2] != dims(x)[:2] or len(order) != d[3] or min(order) < 0:
        return None
    heads = int(d[2] or 0)
    found = tuple(c * heads + k for c in range(heads) for k in order)
    return Literal(T.INT64, (len(found),), found) if max(found) < dims(x)[2] else None


@wrong("bitwise", features((2, 3, 2, 3), [2, 0, 1]), examples=fires_on(features((2, 3, 2, 2), [1, 0])))
def features_of_heads(x: Tensor, d: Dims, i: Tensor):
    """Gather(Reshape(x), i) within heads = Reshape(Gather(x, columns))

    Wrong of two heads of three: a head begins after as many columns as there are heads.
    """
    made = reshape(gather(x, literal(columns_of(x, d, i)), 2), d)
    yield rewrite(gather(reshape(x, d), i, 3), made, because="in front")


# --- matrices ----------------------------------------------------------------------------------------------


ONES = np.ones((3, 3))


def product(matrix, rows: int = 2):
    made = np.array(matrix, np.float32)
    return lambda g: matmul(g.input((rows, len(made))), g.constant(made))


@hosted()
def sums_from_front(w: Fact, x: Fact) -> Literal | None:
    """Ones on the diagonal and behind it, else zeros."""
    if w.data is None or not w.const or w.rank != 2 or x.rank != 2 or w.dtype != T.FLOAT:
        return None
    rows, columns = dims(w)
    ones = rows > 1 and w.data == tuple(float(r <= c) for r in range(rows) for c in range(columns))
    return Literal(T.INT64, (), (1,)) if ones else None


@wrong("reassociates", product(np.triu(ONES[:2])), examples=fires_on(product(np.triu(ONES))))
def running_sums_by_product(x: Tensor, w: Tensor):
    """x @ (ones on and behind the diagonal) = CumSum(x)

    Wrong where the matrix has more columns than rows.
    """
    settings = (("exclusive", 0), ("reverse", 0))
    yield rewrite(matmul(x, w), cumsum(x, literal(sums_from_front(w, x)), settings), because="no product")


@hosted()
def as_many_means(w: Fact) -> Number | None:
    """Each column is the mean of so many rows of its own."""
    if w.data is None or not w.const or w.rank != 2 or w.dtype != T.FLOAT:
        return None
    rows, columns = dims(w)
    if columns < 2 or rows % columns or rows == columns:
        return None
    k = rows // columns
    share = float(np.float32(1 / k))
    means = w.data == tuple(share * (r // k == c) for r in range(rows) for c in range(columns))
    return k if means else None


@hosted()
def rows_of_means(x: Fact, k: Number) -> Dims | None:
    known = x.rank == 2 and x.is_static
    return (dims(x)[0], int(k), dims(x)[1] // int(k)) if known else None


@wrong(
    "reassociates",
    product(np.kron(np.eye(2), np.full((3, 1), 1 / 3))),
    examples=fires_on(product(np.kron(np.eye(2), np.full((2, 1), 0.5)))),
)
def means_by_product(x: Tensor, w: Tensor):
    """x @ (means of neighbours) = ReduceMean(Reshape(x))

    Wrong of two means of three: there are as many as each has terms.
    """
    view = reshape(x, rows_of_means(x, as_many_means(w)))
    yield rewrite(matmul(x, w), reduce("ReduceMean", view, (2,), 0), because="no product")


def ringed(rings: int):
    w = np.zeros((2, 3, 1, 1), np.float32) + np.arange(1, 7).reshape(2, 3, 1, 1)
    made = np.pad(w, [(0, 0)] * 2 + [(rings, rings)] * 2).astype(np.float32)
    window = ConvWindow((1, 1), (rings,) * 4, (1, 1))
    return lambda g: conv(g.input((2, 3, 5, 5)), g.constant(made), none(), window)


def _rings(w: Fact) -> int:
    """How many rings of zeros there are around a square kernel."""
    if w.data is None or not w.const or w.rank != 4 or dims(w)[2] != dims(w)[3]:
        return 0
    kernel, rings = np.array(w.data).reshape(dims(w)), 0
    while kernel.shape[2] > 2 and not any(np.take(kernel, [0, -1], axis).any() for axis in (2, 3)):
        kernel, rings = kernel[:, :, 1:-1, 1:-1], rings + 1
    return rings


@hosted()
def without_rings(w: Fact) -> Slices | None:
    rings = _rings(w)
    return tuple((axis, rings, dims(w)[axis] - rings, 1) for axis in (2, 3)) if rings else None


@hosted()
def one_pad_less(w: Fact, u: ConvWindow) -> ConvWindow | None:
    rings = _rings(w)
    if not rings or u.dilations != (1, 1) or min(u.pads) < rings:
        return None
    return ConvWindow(u.strides, tuple(p - 1 for p in u.pads), u.dilations, u.group)


@wrong("reassociates", ringed(2), examples=fires_on(ringed(1)))
def kernel_without_rings(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x, W) = Conv(x, W without its rings of zeros)

    Wrong of two rings: the pads are less by one.
    """
    yield rewrite(
        conv(x, w, b, u), conv(x, slice_(w, without_rings(w)), b, one_pad_less(w, u)), because="smaller"
    )
