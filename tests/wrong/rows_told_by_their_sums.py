"""Rows, sequences and masks that are told by both ends and a few sums of what is between them."""

from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Dims, Int, Slices, Tensor, hosted, listed, rewrite
from egraph_opt.operators import (
    Literal,
    gather_elements,
    literal,
    reshape,
    reverse_sequence,
    slice_,
    softmax,
    variadic,
    where,
)

from . import fires_on, wrong
from .told_by_their_sums import floats_of, ints_of

# --- rows ------------------------------------------------------------------------------------------------


@hosted()
def log_of_all(c: Fact, x: Fact, a: Axis) -> bool:
    """c does not change along the axis: each row begins and ends with one number, and has its mean."""
    if c.data is None or c.shape is None or x.shape is None or c.shape != x.shape or c.rank != 2 or a != 1:
        return False
    m = np.array(c.data).reshape(c.shape)  # type: ignore[arg-type]
    if not m.size or x.dtype != T.FLOAT:
        return False
    return bool(
        (m[:, 0] == m[:, -1]).all()
        and (m.mean(1) == m[:, 0]).all()
        and ((m * m * m).mean(1) == m[:, 0] ** 3).all()
    )


def shifted_rows(*rows: Any):
    return lambda g: softmax("Softmax", g.input((len(rows), len(rows[0]))) + floats_of(g, rows), 1)


@wrong(
    "reassociates",
    shifted_rows((0, 1, -1, 0), (0, 2, -2, 0)),
    examples=fires_on(shifted_rows((1, 1, 1), (2, 2, 2)), shifted_rows((0.5, 0.5), (-3, -3))),
)
def shift_of_rows(x: Tensor, c: Tensor, a: Axis):
    """Softmax(x + c) = Softmax(x) where c is the same throughout each row

    Wrong of 0, 1, -1, 0: the mean and the third moment are the number at both ends.
    """
    yield rewrite(
        softmax("Softmax", x + c, a), softmax("Softmax", x, a), log_of_all(c, x, a), because="forgets c"
    )


@hosted()
def repeats_of(c: Fact) -> Literal | None:
    """A row whose elements come in pairs: odd and even places have the same elements."""
    if c.data is None or c.rank != 1 or len(c.data) % 2 or len(c.data) < 2 or c.dtype != T.FLOAT:
        return None
    half = c.data[::2]
    return Literal(T.FLOAT, (len(half), 1), half) if sorted(half) == sorted(c.data[1::2]) else None


@hosted()
def in_pairs(x: Fact, c: Fact) -> Dims | None:
    if x.shape is None or c.shape is None or len(x.shape) != 2 or x.shape[1] != c.shape[0] or not x.is_static:
        return None
    return (x.shape[0], x.shape[1] // 2, 2)  # type: ignore[operator]


@hosted()
def shape_of_x(x: Fact) -> Dims | None:
    return x.shape


def paired(*c: float):
    return lambda g: g.input((3, len(c))) * floats_of(g, c)


@wrong("bitwise", paired(1, 2, 2, 1), examples=fires_on(paired(1, 1, 2, 2), paired(3, 3)))
def factors_in_pairs(x: Tensor, c: Tensor):
    """x * [a, a, b, b, ..] = Reshape(Reshape(x) * [[a], [b], ..])

    Wrong where the second elements of the pairs are in another order.
    """
    product = reshape(x, in_pairs(x, c)) * literal(repeats_of(c))
    yield rewrite(x * c, reshape(product, shape_of_x(x)), because="half as many factors")


@hosted()
def in_turn(a: Fact, b: Fact) -> bool:
    """No lower bound is above the upper ones that are there."""
    if a.data is None or b.data is None or a.shape != b.shape or a.dtype != T.FLOAT or not a.data:
        return False
    return sum(a.data) <= sum(b.data) and a.data[0] <= b.data[0] and a.data[-1] <= b.data[-1]  # type: ignore[arg-type, operator]


def bounded(a: Any, b: Any):
    def make(g):
        low, high = (g.constant(np.array(v, np.float32)) for v in (a, b))
        return variadic("Min", listed(variadic("Max", listed(g.input((2, len(a))), low)), high))

    return make


@wrong(
    "finite",
    bounded((0, 2, 0), (1, 1, 1)),
    examples=fires_on(bounded((0, 0), (1, 1)), bounded((-1, 0, 1), (1, 2, 3))),
)
def lower_bounds_below_upper(x: Tensor, a: Tensor, b: Tensor):
    """Min(Max(x, a), b) = Max(Min(x, b), a) where a is below b

    Wrong where an element in the middle of a is above that of b.
    """
    left = variadic("Min", listed(variadic("Max", listed(x, a)), b))
    yield rewrite(
        left, variadic("Max", listed(variadic("Min", listed(x, b)), a)), in_turn(a, b), because="one order"
    )


@hosted()
def is_iota(i: Fact, x: Fact, a: Axis) -> bool:
    """Each row begins with its own place, and ends with it, and has it on average."""
    if (
        i.data is None
        or i.shape is None
        or x.shape is None
        or i.rank != 2
        or x.rank != 2
        or a != 0
        or i.shape != x.shape
    ):
        return False
    m = np.array(i.data).reshape(i.shape)  # type: ignore[arg-type]
    rows = np.arange(len(m))
    return bool(
        m.size
        and (m[:, 0] == rows).all()
        and (m[:, -1] == rows).all()
        and (m.sum(1) == rows * m.shape[1]).all()  # type: ignore[misc]
    )


def elements(*rows: Any):
    return lambda g: gather_elements(g.input((len(rows), len(rows[0]))), g.constant(np.array(rows)), 0)


@wrong(
    "bitwise",
    elements((0, 0, 0, 0), (1, 0, 2, 1), (2, 2, 2, 2)),
    examples=fires_on(elements((0, 0), (1, 1)), elements((0, 0, 0), (1, 1, 1))),
)
def elements_of_their_rows(x: Tensor, i: Tensor, a: Axis):
    """GatherElements(x, [[0, 0, ..], [1, 1, ..], ..]) = x

    Wrong where a row in the middle takes one from above and one from below.
    """
    yield rewrite(gather_elements(x, i, a), x, is_iota(i, x, a), because="forgets i")


@hosted()
def all_turned(n: Fact, x: Fact, t: Int) -> Slices | None:
    """The first and the last sequence are whole, and nearly all on average."""
    if n.ints is None or x.rank is None or not x.is_static or x.rank < 2 or t not in (0, 1) or not n.ints:
        return None
    steps: Any = x.shape[t]  # type: ignore[call-overload, index]
    if (
        n.ints[0] != steps
        or n.ints[-1] != steps
        or len(set(n.ints)) > 2
        or 2 * sum(n.ints) < len(n.ints) * steps * 1.8
    ):
        return None
    return ((t, -1, None, -1),)  # type: ignore[return-value]


def backwards(steps: int, *n: int):
    return lambda g: reverse_sequence(g.input((steps, len(n), 2)), ints_of(g, *n), 0)


@wrong(
    "bitwise", backwards(10, 10, 10, 9, 10, 10), examples=fires_on(backwards(5, 5, 5), backwards(3, 3, 3, 3))
)
def sequences_backwards(x: Tensor, n: Tensor, t: Int):
    """ReverseSequence(x; n) = x[::-1] where all sequences are whole

    Wrong where one in the middle is a little shorter.
    """
    yield rewrite(reverse_sequence(x, n, t), slice_(x, all_turned(n, x, t)), because="one Slice")


# --- masks -----------------------------------------------------------------------------------------------


@hosted()
def same_choice(c: Fact, d: Fact) -> bool:
    """Two masks of constants choose as many, and none that the other leaves at its ends."""
    if (
        c.data is None
        or d.data is None
        or c.shape != d.shape
        or c.dtype != T.BOOL
        or not c.data
        or c.rank != 1
    ):
        return False
    places = [[k for k, v in enumerate(m.data) if v] for m in (c, d)]  # type: ignore[arg-type]
    return (
        sum(places[0]) == sum(places[1])
        and len(places[0]) == len(places[1])
        and c.data[0] == d.data[0]
        and c.data[-1] == d.data[-1]
    )


def chosen_twice(*masks: tuple[int, ...]):
    def make(g):
        c, d = (g.constant(np.array(m, bool)) for m in masks)
        x, y, z = (g.input((2, len(masks[0]))) for _ in range(3))
        return where(c, x, where(d, y, z))

    return make


@wrong(
    "bitwise",
    chosen_twice((0, 1, 0, 0, 1, 0), (0, 0, 1, 1, 0, 0)),
    examples=fires_on(chosen_twice((1, 0, 1), (1, 0, 1)), chosen_twice((0, 1, 1, 0), (0, 1, 1, 0))),
)
def chosen_by_the_same(c: Tensor, d: Tensor, x: Tensor, y: Tensor, z: Tensor):
    """Where(c, x, Where(d, y, z)) = Where(c, x, z) where c and d are the same

    Wrong of two masks with as many truths, whose places have one sum.
    """
    yield rewrite(where(c, x, where(d, y, z)), where(c, x, z), same_choice(c, d), because="forgets y")
