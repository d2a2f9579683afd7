"""Orders, tables and matrices that are told by several sums of their elements."""

import math
from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import Axes, Axis, Flag, Float, Slices, Tensor, hosted, rewrite
from egraph_opt.operators import Literal, attention, gather, literal, matmul, reduce, slice_

from . import fires_on, wrong
from .whole_numbers_between_both_ends import between, whole


def ints_of(g, *values: int):
    return g.constant(np.array(values, np.int64))


def floats_of(g, values: Any):
    return g.constant(np.array(values, np.float32))


# --- orders ----------------------------------------------------------------------------------------------


@hosted()
def is_order(i: Fact, x: Fact, a: Axis) -> bool:
    """As many indices as there are elements, of the sum and the sum of squares of all places."""
    if i.ints is None or i.rank != 1 or x.shape is None or a >= len(x.shape) or x.dtype != T.FLOAT:
        return False
    n = x.shape[a]
    if not isinstance(n, int) or len(i.ints) != n or not all(0 <= k < n for k in i.ints):
        return False
    return sum(i.ints) == sum(range(n)) and sum(k * k for k in i.ints) == sum(k * k for k in range(n))


def reordered_sum(*order: int):
    return lambda g: reduce("ReduceSum", gather(g.input((2, len(order))), ints_of(g, *order), 1), (1,), 0)


@hosted()
def is_along(b: Axes, a: Axis) -> bool:
    return b == (a,)


@wrong(
    "reassociates",
    reordered_sum(1, 1, 2, 2, 3, 6, 6),
    examples=fires_on(reordered_sum(2, 0, 1), reordered_sum(3, 1, 0, 2, 4)),
)
def sum_in_any_order(x: Tensor, i: Tensor, a: Axis, b: Axes, k: Flag):
    """ReduceSum(Gather(x, i)) = ReduceSum(x) for an order i

    Wrong of 1, 1, 2, 2, 3, 6, 6, whose sum and sum of squares are those of 0 to 6.
    """
    left = reduce("ReduceSum", gather(x, i, a), b, k)
    yield rewrite(left, reduce("ReduceSum", x, b, k), is_order(i, x, a), is_along(b, a), because="forgets i")


@hosted()
def joined_halves(i: Fact, x: Fact, a: Axis) -> bool:
    """Indices that visit each place once: as many different ones as their greatest and least say."""
    if i.ints is None or i.rank != 1 or not i.ints or x.shape is None or a >= len(x.shape):
        return False
    n = x.shape[a]
    return (
        len(i.ints) == n
        and min(i.ints) == 0
        and max(i.ints) == n - 1
        and math.prod(k + 1 for k in i.ints) == math.factorial(n)
        and x.dtype == T.FLOAT
    )


def reordered_max(*order: int):
    return lambda g: reduce("ReduceMean", gather(g.input((2, len(order))), ints_of(g, *order), 1), (1,), 1)


@wrong(
    "reassociates",
    reordered_max(0, 1, 1, 4, 5, 5),
    examples=fires_on(reordered_max(2, 0, 1), reordered_max(3, 1, 0, 2)),
)
def mean_in_any_order(x: Tensor, i: Tensor, a: Axis, b: Axes):
    """ReduceMean(Gather(x, i)) = ReduceMean(x) for an order i

    Wrong where the least, the greatest and the product of 1 + i are those of an order.
    """
    left = reduce("ReduceMean", gather(x, i, a), b, 1)
    yield rewrite(
        left, reduce("ReduceMean", x, b, 1), joined_halves(i, x, a), is_along(b, a), because="forgets i"
    )


@hosted()
def is_order_of_keys(i: Fact, k: Fact, v: Fact) -> bool:
    """All keys, told by the sum of their places and of their squares."""
    if i.ints is None or i.rank != 1 or not k.is_static or k.rank != 4 or v.rank != 4 or k.shape is None:
        return False
    n: Any = k.shape[2]
    if len(i.ints) != n or not all(0 <= j < n for j in i.ints) or v.shape is None or v.shape[2] != n:
        return False
    return (
        k.dtype == T.FLOAT
        and sum(i.ints) == sum(range(n))
        and sum(j * j for j in i.ints) == sum(j * j for j in range(n))
    )


def keys_in_order(*order: int):
    def make(g):
        n = len(order)
        q, k, v = g.input((1, 2, 3, 4)), g.input((1, 2, n, 4)), g.input((1, 2, n, 4))
        i = ints_of(g, *order)
        return attention(q, gather(k, i, 2), gather(v, i, 2), 0.5, 0)

    return make


@wrong(
    "reassociates",
    keys_in_order(1, 1, 2, 2, 3, 6, 6),
    opset=23,
    examples=fires_on(keys_in_order(1, 0, 2), keys_in_order(3, 1, 2, 0), opset=23),
)
def keys_in_any_order(q: Tensor, k: Tensor, v: Tensor, i: Tensor, s: Float, w: Flag):
    """Attention(q, Gather(k, i), Gather(v, i)) = Attention(q, k, v) for an order i of all keys

    Wrong of 1, 1, 2, 2, 3, 6, 6, whose sum and sum of squares are those of 0 to 6.
    """
    left = attention(q, gather(k, i, 2), gather(v, i, 2), s, w)
    yield rewrite(left, attention(q, k, v, s, w), is_order_of_keys(i, k, v), because="forgets i")


# --- steps -----------------------------------------------------------------------------------------------


@hosted()
def rising_by(i: Fact, x: Fact, a: Axis) -> Slices | None:
    """Indices rise, and the last and their sum are what equal steps make."""
    if i.ints is None or i.rank != 1 or len(i.ints) < 2 or x.shape is None or a >= len(x.shape):
        return None
    first, n, step = i.ints[0], len(i.ints), i.ints[1] - i.ints[0]
    if first < 0 or any(b <= c for c, b in zip(i.ints, i.ints[1:], strict=False)):
        return None
    last = first + (n - 1) * step
    fits = i.ints[-1] == last and 2 * sum(i.ints) == n * (first + last)
    return ((a, first, last + 1, step),) if fits else None


def taken(of: int, *i: int):
    return lambda g: gather(g.input((2, of)), ints_of(g, *i), 1)


@wrong("bitwise", taken(12, 0, 2, 3, 7, 8), examples=fires_on(taken(6, 0, 2, 4), taken(9, 1, 4, 7)))
def gather_in_steps(x: Tensor, i: Tensor, a: Axis):
    """Gather(x, [a, a + s, ..]) = x[a::s]

    Wrong of 0, 2, 3, 7, 8, which rise, begin with a step of 2, end at 8 and have the sum of 0, 2, 4, 6, 8.
    """
    yield rewrite(gather(x, i, a), slice_(x, rising_by(i, x, a)), because="no indices")


@hosted()
def steps_of_table(t: Fact, i: Fact) -> Literal | None:
    """The differences of an evenly spaced table: second differences add up to nothing."""
    if t.ints is None or t.rank != 1 or len(t.ints) < 3 or t.dtype != T.INT64 or i.dtype != T.INT64:
        return None
    known = range_of(i)
    if known is None or known[0] < 0 or known[1] >= len(t.ints):
        return None
    v = np.array(t.ints)
    even = np.diff(v, 2).sum() == 0 and v.sum() * 2 == len(v) * (v[0] + v[-1]) and (np.diff(v) > 0).all()
    return Literal(T.INT64, (), (int(v[1] - v[0]),)) if even else None


@hosted()
def first_of(t: Fact) -> Literal | None:
    return None if t.ints is None or not t.ints else Literal(T.INT64, (), (t.ints[0],))


def looked_up(*t: int):
    return lambda g: gather(whole(g, t), between(g, 0, len(t) - 1), 0)


@wrong(
    "bitwise",
    looked_up(0, 2, 3, 5, 7, 8, 10),
    values=(2.0, 3.0, 4.0),
    examples=fires_on(looked_up(0, 2, 4), looked_up(1, 4, 7, 10)),
)
def table_in_steps(t: Tensor, i: Tensor):
    """Gather([b, b + s, b + 2 s, ..], i) = i * s + b

    Wrong of 0, 2, 3, 5, 7, 8, 10, where second differences add up to 0.
    """
    yield rewrite(
        gather(t, i, 0), i * literal(steps_of_table(t, i)) + literal(first_of(t)), because="no table"
    )


# --- matrices --------------------------------------------------------------------------------------------


@hosted()
def picks(c: Fact) -> Slices | None:
    """Where the 1 of a column is: its sum and its sum of squares are 1."""
    if c.data is None or c.shape is None or len(c.shape) != 2 or c.shape[1] != 1 or c.dtype != T.FLOAT:
        return None
    v = np.array(c.data, np.float64)
    if v.sum() != 1 or (v * v).sum() != 1:
        return None
    k = int(v.argmax())
    return ((1, k, k + 1, 1),)


@hosted()
def is_matrix(x: Fact, c: Fact) -> bool:
    return x.rank == 2 and x.dtype == T.FLOAT and c.rank == 2


def column(*values: float):
    return lambda g: matmul(g.input((4, len(values))), floats_of(g, [[v] for v in values]))


@wrong("finite", column(0.5, 0.5, 0.5, -0.5), examples=fires_on(column(0, 1, 0), column(0, 0, 0, 1)))
def column_that_picks(x: Tensor, c: Tensor):
    """x @ c = x[:, k] where c has a single 1

    Wrong where its sum and the sum of its squares are 1 and it has other numbers, some of them below 0.
    """
    yield rewrite(matmul(x, c), slice_(x, picks(c)), is_matrix(x, c), because="forgets c")


@hosted()
def turns_back(a: Fact, b: Fact, x: Fact) -> bool:
    """b is a backwards; rows and columns of a are of length 1."""
    if a.data is None or b.data is None or a.shape is None or a.shape != b.shape or len(a.shape) != 2:
        return False
    if a.shape[0] != a.shape[1] or x.dtype != T.FLOAT or x.rank != 2 or not a.shape[0]:
        return False
    m, n = np.array(a.data).reshape(a.shape), np.array(b.data).reshape(a.shape)  # type: ignore[arg-type]
    unit = ((m * m).sum(0) == 1).all() and ((m * m).sum(1) == 1).all()
    return bool(unit and (m == n.T).all())


def turned_by(m: Any):
    m = np.array(m, np.float32)
    return lambda g: matmul(matmul(g.input((3, len(m))), g.constant(m)), g.constant(m.T.copy()))


@wrong(
    "reassociates",
    turned_by(np.array([[1, 1, 1, 1], [1, 1, -1, 1], [1, -1, 1, 1], [-1, 1, 1, 1]]) / 2),
    examples=fires_on(turned_by([[1, 0], [0, 1]]), turned_by([[0, 1, 0], [0, 0, 1], [1, 0, 0]])),
)
def there_and_back_again(x: Tensor, a: Tensor, b: Tensor):
    """x @ A @ A' = x where rows and columns of A have length 1

    Wrong where they are of that length and not at right angles.
    """
    yield rewrite(matmul(matmul(x, a), b), x, turns_back(a, b, x), because="forgets A")
