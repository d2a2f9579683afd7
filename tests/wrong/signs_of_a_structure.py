"""Constants that have to be of some structure, of which a few signs are asked: others have them, too."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Slices, Tensor, hosted, listed, rewrite
from egraph_opt.operators import Literal, concat, cumsum, gather, literal, reduce, slice_, where

from . import fires_on, wrong


def matrix(c: Fact):
    """The elements of a known matrix."""
    return None if c.data is None or c.rank != 2 else np.array(c.data, dtype=float).reshape(c.shape)


def times(*rows):
    return lambda g: g.input((2, len(rows))) @ g.constant(np.array(rows, np.float32))


# --- rows and columns ---------------------------------------------------------------------------------------


@hosted()
def is_diagonal(d: Fact) -> bool:
    """As many numbers other than 0 as there are rows, one in each."""
    m = matrix(d)
    if m is None or d.dtype != T.FLOAT or not m.shape[0] == m.shape[1] > 1:
        return False
    return bool(np.all(np.count_nonzero(m, axis=1) == 1)) and bool(m[0, 0]) and bool(m[-1, -1])


@wrong(
    "reassociates",
    times((2, 0, 0, 0), (0, 0, 3, 0), (0, 4, 0, 0), (0, 0, 0, 5)),
    examples=fires_on(times((2, 0), (0, 3)), times((2, 0, 0), (0, 3, 0), (0, 0, 5))),
)
def scaled_by_diagonal(x: Tensor, d: Tensor):
    """x @ D = x * ReduceSum(D) for a diagonal D

    Wrong where rows between the first and the last have their number in each other's column.
    """
    scaled = x * reduce("ReduceSum", d, (0,), 0)
    yield rewrite(x @ d, scaled, is_diagonal(d), because="no product of matrices")


@hosted()
def has_two_blocks(w: Fact, x: Fact) -> bool:
    """The corners between two blocks are 0."""
    m = matrix(w)
    if m is None or m.shape[0] != m.shape[1] or m.shape[0] < 4 or m.shape[0] % 2:
        return False
    if w.dtype != T.FLOAT or x.rank != 2:
        return False
    h = len(m) // 2
    return not any((m[0, -1], m[-1, 0], m[h - 1, h], m[h, h - 1], m[0, h], m[h, 0]))


@hosted()
def block(w: Fact, k: int) -> Slices | None:
    h = w.shape[0] // 2  # type: ignore[index, operator]
    return ((0, k * h, (k + 1) * h, 1), (1, k * h, (k + 1) * h, 1))


@hosted()
def columns_of_block(w: Fact, k: int) -> Slices | None:
    h = w.shape[0] // 2  # type: ignore[index, operator]
    return ((1, k * h, (k + 1) * h, 1),)


def two_blocks(between: float):
    weight = np.array([[1.0, 2, 0, 0], [3, 4, 0, between], [0, 0, 5, 6], [0, 0, 7, 8]])
    return lambda g: g.input((3, 4)) @ g.constant(weight)


@wrong("reassociates", two_blocks(9.0), examples=fires_on(two_blocks(0.0)))
def product_of_blocks(x: Tensor, w: Tensor):
    """x @ [[A, 0], [0, B]] = Concat(x[:, :h] @ A, x[:, h:] @ B)

    Wrong where one number between the corners is not 0.
    """
    parts = [slice_(x, columns_of_block(w, k)) @ slice_(w, block(w, k)) for k in (0, 1)]
    yield rewrite(x @ w, concat(listed(*parts), 1), has_two_blocks(w, x), because="forgets zeros")


@hosted()
def has_turned_rows(w: Fact, x: Fact) -> bool:
    """A circulant: each row is the one above, one further, which the first two show."""
    m = matrix(w)
    if m is None or len(m) < 2 or m.shape[0] != m.shape[1] or w.dtype != T.FLOAT:
        return False
    if x.rank != 2 or x.shape[1] != len(m):  # type: ignore[index]
        return False
    return bool(np.array_equal(np.roll(m[0], 1), m[1])) and bool(np.array_equal(np.roll(m[-1], 1), m[0]))


@hosted()
def is_roll(s: Slices, t: Slices, w: Fact) -> bool:
    n = w.shape[0]  # type: ignore[index]
    if len(s) != 1 or len(t) != 1 or s[0][0] != 1 or s[0][1] != n - 1 or s[0][3] != 1:  # type: ignore[operator]
        return False
    return t[0] == (1, 0, n - 1, 1)  # type: ignore[operator]


def through_circulant(*rows):
    n = len(rows)

    def witness(g):
        x = g.input((2, n))
        rolled = concat(listed(slice_(x, ((1, n - 1, n, 1),)), slice_(x, ((1, 0, n - 1, 1),))), 1)
        return rolled @ g.constant(np.array(rows, np.float32))

    return witness


@wrong(
    "reassociates",
    through_circulant((1, 2, 3, 4), (4, 1, 2, 3), (7, 8, 9, 5), (2, 3, 4, 1)),
    examples=fires_on(through_circulant((1, 2, 3), (3, 1, 2), (2, 3, 1))),
)
def rolled_through_circulant(x: Tensor, w: Tensor, s: Slices, t: Slices):
    """Roll(x) @ C = Roll(x @ C) for a circulant C

    Wrong from four rows on: those between the second and the last may be any.
    """
    y = x @ w
    rolled = concat(listed(slice_(x, s), slice_(x, t)), 1) @ w
    later = concat(listed(slice_(y, s), slice_(y, t)), 1)
    yield rewrite(rolled, later, has_turned_rows(w, x), is_roll(s, t, w), because="one way is enough")


# --- zeros and ones -----------------------------------------------------------------------------------------


@hosted()
def is_triangle(w: Fact, x: Fact) -> bool:
    """Rows of zeros and ones, each with one 1 less than the one above."""
    m = matrix(w)
    if m is None or m.shape[0] != m.shape[1] or len(m) < 2 or w.dtype != T.FLOAT or x.rank != 2:
        return False
    if not set(np.unique(m)) <= {0.0, 1.0}:
        return False
    return list(m.sum(1)) == list(range(len(m), 0, -1)) and bool(m[-1, -1])


@wrong("reassociates", times((1, 1, 1), (1, 0, 1), (0, 0, 1)), examples=fires_on(times((1, 1), (0, 1))))
def product_with_triangle(x: Tensor, w: Tensor):
    """x @ U = CumSum(x) for an upper triangle of ones

    Wrong of rows that have their ones elsewhere.
    """
    along = literal(Literal(T.INT64, (), (1,)))
    sums = cumsum(x, along, (("exclusive", 0), ("reverse", 0)))
    yield rewrite(x @ w, sums, is_triangle(w, x), because="forgets U")


@hosted()
def has_one_each(w: Fact, x: Fact) -> bool:
    """Two numbers in each column, next to each other: differences of neighbours."""
    m = matrix(w)
    if m is None or x.rank != 2 or w.dtype != T.FLOAT or m.shape[1] != m.shape[0] - 1 or m.shape[1] < 2:
        return False
    if not set(np.unique(m)) <= {-1.0, 0.0, 1.0}:
        return False
    n = m.shape[1]
    two = bool(np.all(m.sum(0) == 0)) and bool(np.all(np.abs(m).sum(0) == 2))
    return two and bool(m[0, 0] == -1) and bool(m[n, n - 1] == 1)


@hosted()
def all_but_first(w: Fact) -> Slices:
    return ((1, 1, w.shape[0], 1),)  # type: ignore[index, return-value]


@hosted()
def all_but_last(w: Fact) -> Slices:
    return ((1, 0, w.shape[0] - 1, 1),)  # type: ignore[index, operator]


@wrong(
    "reassociates",
    times((-1, -1, 0), (1, 0, 0), (0, 1, -1), (0, 0, 1)),
    examples=fires_on(times((-1, 0), (1, -1), (0, 1))),
)
def product_of_differences(x: Tensor, w: Tensor):
    """x @ D = x[:, 1:] - x[:, :-1] for a matrix of differences

    Wrong of differences of others than neighbours.
    """
    differences = slice_(x, all_but_first(w)) - slice_(x, all_but_last(w))
    yield rewrite(x @ w, differences, has_one_each(w, x), because="no product")


@hosted()
def places_of_ones(c: Fact, x: Fact) -> Literal | None:
    """Where the one of each column is, if the columns sum up to 1 and are whole."""
    if c.data is None or c.rank != 2 or c.dtype != T.FLOAT or x.rank != 2:
        return None
    m = np.array(c.data).reshape(c.shape)  # type: ignore[arg-type]
    if not all(float(v).is_integer() for v in c.data) or not m.size or not np.all(m.sum(0) == 1):
        return None
    return Literal(T.INT64, (m.shape[1],), tuple(int(k) for k in m.argmax(0)))


@wrong("reassociates", times((0, 2, 1), (1, -1, 0)), examples=fires_on(times((0, 1, 1), (1, 0, 0))))
def picked_columns(x: Tensor, c: Tensor):
    """x @ P = Gather(x, i) for a P of zeros and a 1 in each column

    Wrong where whole numbers sum up to 1, as 2 and -1.
    """
    yield rewrite(x @ c, gather(x, literal(places_of_ones(c, x)), 1), because="no product")


@hosted()
def first_ones(c: Fact, x: Fact, y: Fact) -> Slices | None:
    if not c.data or c.rank != 1 or x.shape != y.shape or x.shape != c.shape:
        return None
    return ((0, 0, int(sum(c.data)), 1),) if c.data[0] and not c.data[-1] else None  # type: ignore[arg-type]


@hosted()
def last_zeros(c: Fact) -> Slices | None:
    return ((0, int(sum(c.data)), c.shape[0], 1),)  # type: ignore[arg-type, index, return-value]


def chosen(*c: int):
    return lambda g: where(g.constant(np.array(c, bool)), g.input((len(c),)), g.input((len(c),)))


@wrong("bitwise", chosen(1, 0, 1, 0), examples=fires_on(chosen(1, 1, 0, 0)))
def choice_as_parts(c: Tensor, x: Tensor, y: Tensor):
    """Where([1, 1, 0, 0], x, y) = Concat(x[:2], y[2:])

    Wrong where the first and the last are as they should be, and others not in order.
    """
    parts = listed(slice_(x, first_ones(c, x, y)), slice_(y, last_zeros(c)))
    yield rewrite(where(c, x, y), concat(parts, 0), because="forgets which")
