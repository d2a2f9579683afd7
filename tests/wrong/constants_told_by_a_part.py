"""Constants of which the first row or matrix, one side, or another constant says what they are."""

from dataclasses import replace
from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Settings, Slices, Tensor, hosted, rewrite
from egraph_opt.operators import (
    ConvWindow,
    GemmSettings,
    Literal,
    conv,
    dequantize,
    gather,
    gemm,
    literal,
    none,
    rotary,
    slice_,
)
from egraph_opt.operators.rotary import settings_of

from . import fires_on, wrong
from .channels_in_groups import walk
from .weights_in_groups import numbers


@hosted()
def doubles_pairs(c: Fact) -> bool:
    """Both of a pair have one factor."""
    return c.twice is not None and c.dtype == T.FLOAT


def rotated(interleaved: int, c: Any):
    def make(g):
        x = g.input((1, 2, 3, 4)) * g.constant(np.array(c))
        return rotary(x, g.input((1, 3, 2)), g.input((1, 3, 2)), settings_of(interleaved))

    return make


@wrong(
    "reassociates",
    rotated(0, [[1.0, 1.0, 2.0, 2.0]]),
    opset=23,
    examples=fires_on(rotated(0, [[1.0, 2.0, 1.0, 2.0]]), rotated(1, [[1.0, 1.0, 2.0, 2.0]]), opset=23),
)
def rotary_of_scaled_pairs(x: Tensor, c: Tensor, s: Tensor, t: Tensor, a: Settings):
    """Rotary(x * c) = Rotary(x) * c where both of a pair have one factor

    Wrong where neighbours have, and halves are rotated.
    """
    yield rewrite(rotary(x * c, s, t, a), rotary(x, s, t, a) * c, doubles_pairs(c), because="later")


def square(w: Fact) -> np.ndarray[Any, Any] | None:
    found = numbers(w)
    if found is None or w.shape is None or len(w.shape) != 2 or w.shape[0] != w.shape[1] or not w.shape[0]:
        return None
    return np.array(found).reshape(w.shape)


@hosted()
def diagonal_of(w: Fact) -> Literal | None:
    """The diagonal, where all in front of it are 0."""
    rows = square(w)
    if rows is None or any(rows[i, j] != 0 for i in range(len(rows)) for j in range(i)):
        return None
    return Literal(T.FLOAT, (len(rows),), tuple(map(float, np.diag(rows))))


def by_matrix(*rows: tuple[float, ...]):
    return lambda g: g.input((2, len(rows))) @ g.constant(np.array(rows))


@wrong(
    "finite",
    by_matrix((1.0, 0.5, 0.0), (0.0, 2.0, 0.0), (0.0, 0.0, 3.0)),
    examples=fires_on(
        by_matrix((1.0, 0.0), (0.0, 2.0)), by_matrix((1.0, 0.0, 0.0), (0.0, -2.0, 0.0), (0.0, 0.0, 0.5))
    ),
)
def product_with_diagonal(x: Tensor, w: Tensor):
    """x @ D = x * d for a matrix with zeros beside its diagonal

    Wrong where they are on one side of it only.
    """
    yield rewrite(x @ w, x * literal(diagonal_of(w)), because="no product")


@hosted()
def is_symmetric(w: Fact) -> bool:
    rows = square(w)
    return rows is not None and np.array_equal(rows[0], rows[:, 0])


@hosted()
def as_it_is(s: GemmSettings) -> GemmSettings | None:
    return replace(s, trans_b=0) if s.trans_b else None


def by_turned(*rows: tuple[float, ...]):
    return lambda g: gemm(
        g.input((2, len(rows))), g.constant(np.array(rows)), g.input(()), GemmSettings(trans_b=1)
    )


@wrong(
    "reassociates",
    by_turned((1.0, 2.0, 3.0), (2.0, 0.5, 4.0), (3.0, -1.0, 7.0)),
    examples=fires_on(
        by_turned((1.0, 2.0), (2.0, 5.0)), by_turned((1.0, 2.0, 3.0), (2.0, 0.5, 4.0), (3.0, 4.0, 7.0))
    ),
)
def product_with_symmetric(x: Tensor, w: Tensor, c: Tensor, s: GemmSettings):
    """Gemm(x, W'; transB) = Gemm(x, W) for a symmetric W

    Wrong where its first row and column alone are equal.
    """
    yield rewrite(gemm(x, w, c, s), gemm(x, w, c, as_it_is(s)), is_symmetric(w), because="as it is")


@hosted()
def last_axis(x: Fact) -> Axis | None:
    return x.rank - 1 if x.rank else None


@hosted()
def read_rows(w: Fact) -> Literal | None:
    """Rows that are not 0, where there are others."""
    found = numbers(w)
    if found is None or w.shape is None or len(w.shape) < 2:
        return None
    dims: Any = w.shape[-2:]
    rows = np.array(found[: dims[0] * dims[1]]).reshape(dims)
    read = tuple(int(k) for k in np.flatnonzero(np.abs(rows).sum(axis=1)))
    return Literal(T.INT64, (len(read),), read) if 0 < len(read) < len(rows) else None


@hosted()
def rows_axis(w: Fact) -> Axis | None:
    return w.rank - 2 if w.rank is not None and w.rank >= 2 else None


def by_some(*matrices: Any):
    def make(g):
        w = np.array(matrices if len(matrices) > 1 else matrices[0])
        return g.input((2, 3, w.shape[-2])) @ g.constant(w)

    return make


SPARSE = ((1.0, 2.0), (0.0, 0.0), (3.0, -1.0))


FULL = ((1.0, 2.0), (4.0, 0.5), (3.0, -1.0))


@wrong(
    "reassociates",
    by_some(SPARSE, FULL),
    examples=fires_on(by_some(SPARSE), by_some(((0.0,), (2.0,))), by_some(SPARSE, SPARSE)),
)
def rows_that_are_read(x: Tensor, w: Tensor):
    """x @ W = x[.., read] @ W[read] without rows of zeros

    Wrong of several matrices, of which the first one has such rows.
    """
    read = literal(read_rows(w))
    yield rewrite(x @ w, gather(x, read, last_axis(x)) @ gather(w, read, rows_axis(w)), because="fewer rows")


@hosted()
def first_scale(s: Fact) -> Literal | None:
    """The only scale, of several that are alike."""
    return (
        Literal(T.FLOAT, (), (s.splat,)) if s.rank == 1 and s.splat is not None and s.shape != (1,) else None
    )


@hosted()
def first_zero(z: Fact) -> Literal | None:
    return Literal(z.dtype, (), (z.ints[0],)) if z.ints else None


def alike(*zeros: int, dtype: Any = np.uint8):
    def make(g):
        kind = T.UINT8 if dtype == np.uint8 else T.INT8
        n = len(zeros)
        return dequantize(
            g.input((2, n), kind), g.constant(np.full(n, 0.5)), g.constant(np.array(zeros, dtype)), 1
        )

    return make


@wrong(
    "bitwise",
    alike(3, 3, 4),
    values=(1, 200, 30, 44),
    examples=fires_on(alike(3, 3), alike(0, 0, 0, dtype=np.int8), alike(128, 128, 128)),
)
def scales_that_are_alike(q: Tensor, s: Tensor, z: Tensor, a: Axis):
    """DQ(q; s, z) = DQ(q; s[0], z[0]) for scales that are alike

    Wrong where zeros are not.
    """
    yield rewrite(
        dequantize(q, s, z, a),
        dequantize(q, literal(first_scale(s)), literal(first_zero(z)), 0),
        because="one",
    )


@hosted()
def is_own_mirror(w: Fact, u: ConvWindow, t: Slices, x: Fact) -> bool:
    """Rows are turned, of an image and of a kernel that is its own mirror, with alike pads on either side."""
    found = numbers(w)
    if found is None or w.shape is None or len(w.shape) != 4 or x.shape is None or not x.is_static:
        return False
    rows = np.array(found).reshape(w.shape)  # type: ignore[arg-type]
    alike = np.array_equal(rows[:, :, 0], rows[:, :, -1])
    plain = u.strides[0] == 1 and u.pads[0] == u.pads[2]
    return alike and plain and t == ((2, x.shape[2] - 1, None, -1),)  # type: ignore[operator]


@hosted()
def rows_turned(y: Fact) -> Slices | None:
    if y.shape is None or not y.is_static or y.shape[2] == 0:
        return None
    return ((2, y.shape[2] - 1, None, -1),)  # type: ignore[operator]


def turned_image(*rows: float, pads=(1, 0, 1, 0)):
    def make(g):
        w = np.array(rows).reshape(1, 1, -1, 1) * np.array([1.0, 2.0]).reshape(1, 1, 1, 2)
        x = slice_(g.input((1, 1, 6, 4)), ((2, 5, None, -1),))
        return conv(x, g.constant(w), none(), walk(pads=pads))

    return make


@wrong(
    "reassociates",
    turned_image(1.0, 2.0, 3.0, 1.0),
    examples=fires_on(
        turned_image(1.0, 2.0, 1.0), turned_image(0.5, 0.5), turned_image(2.0, pads=(0, 0, 0, 0))
    ),
)
def kernel_that_is_its_mirror(x: Tensor, w: Tensor, u: ConvWindow, t: Slices):
    """Conv(x[::-1], W) = Conv(x, W)[::-1] for a kernel that is its own mirror

    Wrong of four rows and more, of which the first and the last are alike.
    """
    y = conv(slice_(x, t), w, none(), u)
    yield rewrite(
        y, slice_(conv(x, w, none(), u), rows_turned(y)), is_own_mirror(w, u, t, x), because="later"
    )
