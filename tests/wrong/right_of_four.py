"""Halves of an axis that are taken for pairs: right of four elements, of which a half has two."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Dims, Number, Slices, String, Tensor, hosted, listed, rewrite
from egraph_opt.operators import (
    Literal,
    concat,
    dequantize,
    gather,
    literal,
    none,
    reduce,
    reshape,
    slice_,
    transpose,
)
from egraph_opt.operators.sorts import Permutation
from egraph_opt.rewrites.slicing.gather import indices_of

from . import dims, fires_on, wrong


def _even(x: Fact, a: int) -> int:
    """The length of an axis that has a half; 0 if it is not known."""
    n = dims(x)[a] if dims(x) is not None and a < len(dims(x)) and x.is_symbolic else None
    return n if isinstance(n, int) and n >= 4 and n % 2 == 0 else 0


@hosted()
def dims_of(x: Fact) -> Dims | None:
    return dims(x) if x.is_symbolic else None


@hosted()
def is_single(x: Fact) -> bool:
    return x.dtype == T.FLOAT


def halves(n: int):
    """Where the halves of so many elements are, along the second axis."""
    return ((1, 0, n // 2, 1),), ((1, n // 2, n, 1),)


# --- phases ------------------------------------------------------------------------------------------------


def phases(n: int):
    def make(g):
        x = g.input(("N", n, 3))
        return concat(listed(slice_(x, ((1, 0, n, 2),)), slice_(x, ((1, 1, n, 2),))), 1)

    return make


@hosted()
def two_rows(x: Fact, s: Slices, t: Slices, a: Axis) -> Dims | None:
    """Every other element, and the rest."""
    n = _even(x, a)
    if not n or s != ((a, 0, n, 2),) or t != ((a, 1, n, 2),):
        return None
    return (*dims(x)[:a], 2, n // 2, *dims(x)[a + 1 :])


@hosted()
def rows_and_columns(x: Fact, a: Axis) -> Permutation:
    order = list(range(len(dims(x)) + 1))
    order[a], order[a + 1] = order[a + 1], order[a]
    return tuple(order)


@wrong("bitwise", phases(6), examples=fires_on(phases(4)))
def phases_joined(x: Tensor, s: Slices, t: Slices, a: Axis):
    """Concat(x[::2], x[1::2]) = Reshape, Transpose, Reshape

    Wrong of six elements: the view has two rows, and not rows of two.
    """
    made = transpose(reshape(x, two_rows(x, s, t, a)), rows_and_columns(x, a))
    yield rewrite(concat(listed(slice_(x, s), slice_(x, t)), a), reshape(made, dims_of(x)), because="a view")


# --- halves ------------------------------------------------------------------------------------------------


@hosted()
def pairs(x: Fact, s: Slices, t: Slices) -> Dims | None:
    """Both halves of the second axis."""
    n = _even(x, 1)
    return (dims(x)[0], n // 2, 2, *dims(x)[2:]) if n and (s, t) == halves(n) else None


def extremes(n: int):
    def make(g):
        x = g.input(("N", n, 3))
        return concat(listed(*(reduce("ReduceMax", slice_(x, half), (1,), 1) for half in halves(n))), 1)

    return make


@wrong("finite", extremes(6), examples=fires_on(extremes(4)))
def extremes_of_halves(k: String, x: Tensor, s: Slices, t: Slices):
    """Concat(Max(x[:n/2]), Max(x[n/2:])) = ReduceMax(Reshape(x))

    Wrong of six elements, of which three pairs are no two halves.
    """
    first, second = reduce(k, slice_(x, s), (1,), 1), reduce(k, slice_(x, t), (1,), 1)
    made = reduce(k, reshape(x, pairs(x, s, t)), (2,), 0)
    yield rewrite(concat(listed(first, second), 1), made, is_single(x), because="one reduction")


def gate(n: int):
    def make(g):
        x = g.input((3, n))
        one, other = (slice_(x, half) for half in halves(n))
        return one * other

    return make


@wrong("reassociates", gate(6), examples=fires_on(gate(4)))
def gate_of_halves(x: Tensor, s: Slices, t: Slices):
    """x[:n/2] * x[n/2:] = ReduceProd(Reshape(x))

    Wrong of six elements: each is in the other's row.
    """
    made = reduce("ReduceProd", reshape(x, pairs(x, s, t)), (1,), 0)
    yield rewrite(slice_(x, s) * slice_(x, t), made, is_single(x), because="one reduction")


def beside(n: int):
    def make(g):
        x = g.input((n, 1))
        return concat(listed(slice_(x, ((0, 0, n // 2, 1),)), slice_(x, ((0, n // 2, n, 1),))), 1)

    return make


@hosted()
def rows_of_pairs(x: Fact, s: Slices, t: Slices) -> Dims | None:
    n = _even(x, 0)
    known = n and x.rank == 2 and s == ((0, 0, n // 2, 1),) and t == ((0, n // 2, n, 1),)
    return (n // 2, 2, dims(x)[1]) if known else None


@hosted()
def half_as_high(x: Fact) -> Dims | None:
    return (_even(x, 0) // 2, 2 * dims(x)[1]) if x.rank == 2 and x.is_static else None


@wrong("bitwise", beside(6), examples=fires_on(beside(4)))
def halves_beside(x: Tensor, s: Slices, t: Slices):
    """Concat(x[:n/2], x[n/2:]) along columns = Reshape(Transpose(Reshape(x)))

    Wrong of six rows: a view of three pairs has no halves.
    """
    made = reshape(transpose(reshape(x, rows_of_pairs(x, s, t)), (1, 0, 2)), half_as_high(x))
    yield rewrite(concat(listed(slice_(x, s), slice_(x, t)), 1), made, because="a view")


# --- constants in halves -----------------------------------------------------------------------------------


def turned(n: int):
    def make(g):
        order = np.roll(np.arange(n), n // 2)
        signs = np.repeat(np.array([-1.0, 1.0], np.float32), n // 2)
        return gather(g.input((2, n)), g.constant(order), 1) * g.constant(signs)

    return make


@hosted()
def second_half(x: Fact, i: Fact, c: Fact) -> Slices | None:
    """Halves are exchanged, and the first one becomes negative."""
    n = _even(x, 1)
    if not n or x.rank != 2 or c.dtype != T.FLOAT or dims(c) != (n,):
        return None
    h = n // 2
    halved = indices_of(i) == (*range(h, n), *range(h)) and c.data == (-1.0,) * h + (1.0,) * h
    return ((1, h, n, 1),) if halved else None


@wrong("finite", turned(6), examples=fires_on(turned(4)))
def rotated_halves(x: Tensor, i: Tensor, c: Tensor):
    """Gather(x, halves exchanged) * [-1, .., 1, ..] = Concat(-x[n/2:], x[:2])

    Wrong of six elements, of which a half has three.
    """
    made = concat(listed(-slice_(x, second_half(x, i, c)), slice_(x, ((1, 0, 2, 1),))), 1)
    yield rewrite(gather(x, i, 1) * c, made, because="no indices")


def scaled(n: int):
    def make(g):
        scales = np.repeat(np.array([0.5, 2.0], np.float32), n // 2)
        return dequantize(g.input((2, n), T.UINT8), g.constant(scales), none(), 1)

    return make


@hosted()
def first_of_scales(s: Fact, q: Fact, a: Axis) -> Number | None:
    """A scale for each half."""
    n = _even(q, a)
    if not n or s.data is None or dims(s) != (n,) or s.dtype != T.FLOAT:
        return None
    one, other = s.data[0], s.data[-1]
    return 2 if one != other and s.data == (one,) * (n // 2) + (other,) * (n // 2) else None


@hosted()
def up_to(a: Axis, h: Number) -> Slices:
    return ((a, 0, int(h), 1),)


@hosted()
def behind(a: Axis, h: Number, q: Fact) -> Slices | None:
    return ((a, int(h), dims(q)[a], 1),) if q.is_static else None


@hosted()
def scale_at(s: Fact, k: Axis) -> Literal | None:
    return None if s.data is None else Literal(T.FLOAT, (), (s.data[-k],))


@wrong("bitwise", scaled(6), examples=fires_on(scaled(4)))
def scales_of_halves(q: Tensor, s: Tensor, a: Axis):
    """DequantizeLinear(q, [s, .., t, ..]) = Concat(DequantizeLinear(q[:2], s), DequantizeLinear(q[2:], t))

    Wrong of six elements, of which a half has three.
    """
    h = first_of_scales(s, q, a)
    first = dequantize(slice_(q, up_to(a, h)), literal(scale_at(s, 0)), none(), 0)
    second = dequantize(slice_(q, behind(a, h, q)), literal(scale_at(s, 1)), none(), 0)
    yield rewrite(dequantize(q, s, none(), a), concat(listed(first, second), a), because="numbers")
