"""Axes that are counted from the left here and from the right there, or from what is left of them."""

import math
from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Dims, Float, String, Tensor, hosted, rewrite
from egraph_opt.operators import ConvWindow, PoolWindow, batchnorm, conv, none, pool, reduce, reshape

from . import fires_on, of_one, wrong


@hosted()
def axes_of_both(a: Axes, b: Axes) -> Axes | None:
    """The axes of x that are reduced, where the first ones are gone before the second are counted."""
    return tuple(sorted({*a, *(k + 1 if k >= a[0] else k for k in b)}))


@hosted()
def merges(op: str) -> bool:
    return op in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd")


def reduced_twice(shape: tuple[int, ...], a: tuple[int, ...], b: tuple[int, ...], op: str = "ReduceMax"):
    return of_one(lambda x: reduce(op, reduce(op, x, a, 0), b, 0), shape)


@wrong(
    "reassociates",
    reduced_twice((2, 3, 4, 5), (0, 1), (1,)),
    examples=fires_on(
        reduced_twice((2, 3, 4), (1,), (1,)),
        reduced_twice((2, 3, 4), (2,), (0,), "ReduceSum"),
        reduced_twice((2, 3, 4, 2), (0,), (0, 2)),
    ),
)
def reductions_in_a_row(x: Tensor, op: String, a: Axes, b: Axes):
    """Reduce(Reduce(x, a), b) = Reduce(x, a and b), without the axes that are reduced

    Wrong where several are reduced in front of an axis, which moves by as many.
    """
    yield rewrite(
        reduce(op, reduce(op, x, a, 0), b, 0), reduce(op, x, axes_of_both(a, b), 0), merges(op), because="one"
    )


@hosted()
def scales_groups(c: Fact, a: Axes) -> bool:
    """Numbers above 0, one for all that are compared."""
    if c.shape is None or not c.const or c.dtype != T.FLOAT:
        return False
    numbers = c.data if c.splat is None else (c.splat,)
    above = numbers is not None and all(isinstance(v, float) and v > 0 for v in numbers)
    return above and all(k >= len(c.shape) or c.shape[k] == 1 for k in a)


def greatest_of_scaled(shape: tuple[int, ...], c: Any, a: tuple[int, ...] = (1,)):
    return lambda g: reduce("ReduceMax", g.input(shape) * g.constant(np.array(c)), a, 1)


@wrong(
    "finite",
    greatest_of_scaled((2, 3, 4), [[2.0], [0.5], [1.0]]),
    examples=fires_on(
        greatest_of_scaled((2, 3, 4), [1.0, 2.0, 3.0, 4.0]),
        greatest_of_scaled((2, 3), [[2.0], [0.5]]),
        greatest_of_scaled((2, 3, 4), 3.0, (0, 2)),
    ),
)
def greatest_of_scaled_groups(x: Tensor, c: Tensor, a: Axes):
    """ReduceMax(x * c) = ReduceMax(x) * c for a c above 0 that is one number along the axes

    Wrong where c has fewer axes than x: they are counted from the right.
    """
    yield rewrite(
        reduce("ReduceMax", x * c, a, 1),
        reduce("ReduceMax", x, a, 1) * c,
        scales_groups(c, a),
        because="fewer",
    )


@hosted()
def is_one_along(c: Fact, a: Axes, x: Fact) -> bool:
    """A summand that is one number along what is compared."""
    if c.rank != x.rank or c.shape is None or x.shape is None or x.dtype != T.FLOAT or not c.const:
        return False
    return all(d in (1, e) for d, e in zip(c.shape, x.shape, strict=True)) and c.shape[a[0]] == 1


def greatest_of_shifted(shape: tuple[int, ...], c: tuple[int, ...], a: tuple[int, ...]):
    return lambda g: reduce("ReduceMax", g.input(shape) + g.random(*c), a, 1)


@wrong(
    "finite",
    greatest_of_shifted((2, 3, 4), (2, 1, 4), (1, 2)),
    examples=fires_on(
        greatest_of_shifted((2, 3, 4), (2, 3, 1), (2,)), greatest_of_shifted((2, 3, 4), (2, 1, 1), (1, 2))
    ),
)
def greatest_of_shifted_groups(x: Tensor, c: Tensor, a: Axes):
    """ReduceMax(x + c) = ReduceMax(x) + c for a c that is one number along the axes

    Wrong where c varies along the second of them.
    """
    yield rewrite(
        reduce("ReduceMax", x + c, a, 1),
        reduce("ReduceMax", x, a, 1) + c,
        is_one_along(c, a, x),
        because="fewer",
    )


@hosted()
def are_known_above_zero(c: Fact) -> bool:
    """A constant row of numbers above 0, as far as they are known."""
    if c.dtype != T.FLOAT or not c.const or c.rank != 1:
        return False
    return all(v > 0 for v in (c.data if c.splat is None else (c.splat,)) or ())  # type: ignore[operator]


def greatest_of_long(n: int, sign: float = 1.0):
    def make(g):
        c = np.linspace(0.5, 2.0, n)
        c[n // 2 :] *= sign
        return reduce("ReduceMax", g.input((3, n)) * g.constant(c), (0,), 1)

    return make


@wrong("finite", greatest_of_long(300, -1.0), examples=fires_on(greatest_of_long(4), greatest_of_long(17)))
def greatest_of_scaled_columns(x: Tensor, c: Tensor):
    """ReduceMax(x * c, rows) = ReduceMax(x, rows) * c for a row c above 0

    Wrong of a row that is so long that its elements are not known.
    """
    yield rewrite(
        reduce("ReduceMax", x * c, (0,), 1),
        reduce("ReduceMax", x, (0,), 1) * c,
        are_known_above_zero(c),
        because="later",
    )


@hosted()
def is_for_channels(c: Fact, x: Fact) -> bool:
    """At most one number for each channel."""
    if (
        x.rank is None
        or x.rank < 3
        or not c.const
        or c.shape is None
        or x.dtype != T.FLOAT
        or not c.is_static
        or not x.is_static
    ):
        return False
    return math.prod(c.shape) in (1, x.shape[1]) and len(c.shape) <= x.rank  # type: ignore[arg-type, index]


def shifted_pool(*c: int, n: int = 4, channels: int = 4):
    def make(g):
        x = g.input((1, channels, n, n)) + g.random(*c)
        return pool("MaxPool", x, PoolWindow((2, 2), (1, 1), (0, 1, 0, 0), (1, 1)))

    return make


@wrong(
    "finite",
    shifted_pool(4),
    examples=fires_on(shifted_pool(4, 1, 1), shifted_pool(1, 3, 1, 1, channels=3), shifted_pool(1)),
)
def shift_behind_pool(x: Tensor, c: Tensor, u: PoolWindow):
    """MaxPool(x + c) = MaxPool(x) + c for a c of each channel

    Wrong of as many numbers along a row.
    """
    yield rewrite(
        pool("MaxPool", x + c, u), pool("MaxPool", x, u) + c, is_for_channels(c, x), because="fewer"
    )


@hosted()
def is_standard(m: Fact, v: Fact, e: Float) -> bool:
    return m.splat == 0 and v.splat == 1 and e <= 1e-6


@hosted()
def per_channel(x: Fact, s: Fact) -> Dims | None:
    return (s.shape[0], 1, 1) if x.rank is not None and s.rank == 1 and s.shape is not None else None


def standard_norm(epsilon: float, shape: tuple[int, ...] = (2, 3, 4, 4)):
    def make(g):
        c = shape[1]
        mean, variance = g.constant(np.zeros(c)), g.constant(np.ones(c))
        return batchnorm(g.input(shape), g.random(c), g.random(c), mean, variance, epsilon)

    return make


@wrong(
    "reassociates",
    standard_norm(1e-12, (3, 3, 3)),
    examples=fires_on(standard_norm(0.0), standard_norm(1e-12, (1, 2, 3, 5))),
)
def norm_of_standard(x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, e: Float):
    """BatchNormalization(x) = x * s + b per channel where the mean is 0 and the variance is 1

    Wrong of sequences, which have one axis behind their channels.
    """
    scale, shift = reshape(s, per_channel(x, s)), reshape(b, per_channel(x, s))
    yield rewrite(batchnorm(x, s, b, m, v, e), x * scale + shift, is_standard(m, v, e), because="no mean")


@hosted()
def bias_of(c: Fact, w: Fact) -> Dims | None:
    """One number for each channel that comes out."""
    if c.shape is None or w.shape is None or not isinstance(w.shape[0], int) or c.dtype != T.FLOAT:
        return None
    return (w.shape[0],) if c.shape == (w.shape[0], 1, 1) else None


def with_bias(n: int, m: int, *image: int):
    def make(g):
        axes = len(image)
        u = ConvWindow((1,) * axes, (0,) * (2 * axes), (1,) * axes)
        return conv(g.input((n, 2, *image)), g.random(m, 2, *(2,) * axes), none(), u) + g.random(m, 1, 1)

    return make


@wrong("reassociates", with_bias(3, 3, 6), examples=fires_on(with_bias(1, 3, 4, 4), with_bias(2, 2, 3, 5)))
def summand_as_bias(x: Tensor, w: Tensor, c: Tensor, u: ConvWindow):
    """Conv(x, W) + c = Conv(x, W, c) for a c [M, 1, 1]

    Wrong of sequences: there it is added to batches.
    """
    yield rewrite(conv(x, w, none(), u) + c, conv(x, w, reshape(c, bias_of(c, w)), u), because="a bias")
