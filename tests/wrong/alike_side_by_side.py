"""Two operators side by side that are taken for alike: their pads, scales or types differ."""

from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, DataType, String, Tensor, hosted, listed, rewrite
from egraph_opt.operators import ConvWindow, PoolWindow, cast, concat, conv, dequantize, none, pool

from . import fires_on, wrong


@hosted()
def walk_alike(u: ConvWindow, v: ConvWindow, w: Fact, z: Fact, x: Fact, y: Fact) -> bool:
    """Kernels of one size in steps of one length, of which as many pixels come."""
    if u.group != 1 or v.group != 1 or (u.strides, u.dilations) != (v.strides, v.dilations):
        return False
    alike = w.is_static and z.is_static and w.shape[1:] == z.shape[1:]  # type: ignore[index]
    return alike and x.is_static and y.is_static and x.shape[2:] == y.shape[2:]  # type: ignore[index]


def convs(one: tuple[int, ...], other: tuple[int, ...], s: int = 1):
    def make(g):
        x = g.input((1, 2, 5, 5))
        made = (
            conv(x, g.random(m, 2, 3, 3), none(), ConvWindow((s, s), pads, (1, 1)))
            for m, pads in ((3, one), (2, other))
        )
        return concat(listed(*made), 1)

    return make


SAME = (1, 1, 1, 1)


@wrong(
    "reassociates",
    convs((1, 0, 0, 1), (0, 1, 1, 0)),
    examples=fires_on(
        convs(SAME, SAME), convs((0, 0, 0, 0), (0, 0, 0, 0), 2), convs((1, 0, 0, 1), (1, 0, 0, 1))
    ),
)
def convs_side_by_side(x: Tensor, w: Tensor, z: Tensor, u: ConvWindow, v: ConvWindow):
    """Concat(Conv(x, W), Conv(x, Z)) = Conv(x, Concat(W, Z)) for kernels that walk alike

    Wrong where one begins in front of the image, and the other ends behind it.
    """
    one, other = conv(x, w, none(), u), conv(x, z, none(), v)
    yield rewrite(
        concat(listed(one, other), 1),
        conv(x, concat(listed(w, z), 0), none(), u),
        walk_alike(u, v, w, z, one, other),
        because="one convolution",
    )


@hosted()
def pool_alike(u: PoolWindow, v: PoolWindow, x: Fact, y: Fact, z: Fact, t: Fact) -> bool:
    """Windows of one size in steps of one length, of images of one size."""
    if (u.kernel, u.strides, u.dilations) != (v.kernel, v.strides, v.dilations):
        return False
    static = all(each.is_static for each in (x, y, z, t))
    return static and x.shape[2:] == y.shape[2:] and z.shape[2:] == t.shape[2:]  # type: ignore[index]


def pools(one: tuple[int, ...], other: tuple[int, ...], kind: str = "MaxPool", include: int = 0):
    def make(g):
        made = (
            pool(kind, g.input((1, c, 5, 5)), PoolWindow((3, 3), (2, 2), pads, (1, 1), 0, include))
            for c, pads in ((2, one), (3, other))
        )
        return concat(listed(*made), 1)

    return make


@wrong(
    "finite",
    pools((1, 1, 0, 0), (0, 0, 1, 1)),
    examples=fires_on(pools(SAME, SAME), pools((0, 1, 0, 1), (0, 1, 0, 1), "AveragePool", 1)),
)
def pools_side_by_side(x: Tensor, y: Tensor, u: PoolWindow, v: PoolWindow, f: String):
    """Concat(MaxPool(x), MaxPool(y)) = MaxPool(Concat(x, y)) for windows that walk alike

    Wrong where their pads are on other sides, or are counted by one of them.
    """
    one, other = pool(f, x, u), pool(f, y, v)
    yield rewrite(
        concat(listed(one, other), 1),
        pool(f, concat(listed(x, y), 1), u),
        pool_alike(u, v, x, y, one, other),
        because="one pool",
    )


@hosted()
def are_of_one_scale(s: Fact, t: Fact, z: Fact, o: Fact, a: Axis, b: Axis) -> bool:
    """The same scales and zeros, not along the axis of the Concat."""
    alike = (s.shape, s.splat, z.dtype, z.splat) == (t.shape, t.splat, o.dtype, o.splat)
    return alike and s.shape is not None and (s.shape == () or a != b)


def joined(scales: Any, others: Any, zeros: Any, ones: Any, axis: int = 1):
    def make(g):
        made = (
            dequantize(
                g.input((2, 3), T.UINT8), g.constant(np.array(s)), g.constant(np.array(z, np.uint8)), axis
            )
            for s, z in ((scales, zeros), (others, ones))
        )
        return concat(listed(*made), 0)

    return make


@wrong(
    "bitwise",
    joined([0.5, 1.0, 2.0], [0.5, 1.0, 3.0], [3] * 3, [3] * 3),
    values=(1, 200, 30, 44),
    examples=fires_on(joined(0.5, 0.5, 3, 3, 0), joined([0.5] * 3, [0.5] * 3, [1] * 3, [1] * 3)),
)
def joined_bytes(q: Tensor, r: Tensor, s: Tensor, t: Tensor, z: Tensor, o: Tensor, a: Axis, b: Axis):
    """Concat(DQ(q), DQ(r)) = DQ(Concat(q, r)) of the same scales and zeros

    Wrong of scales that differ among themselves, which are not compared.
    """
    both = concat(listed(dequantize(q, s, z, a), dequantize(r, t, o, a)), b)
    yield rewrite(
        both,
        dequantize(concat(listed(q, r), b), s, z, a),
        are_of_one_scale(s, t, z, o, a, b),
        because="bytes",
    )


def joined_casts(one: int, other: int):
    return lambda g: concat(
        listed(cast(g.input((2, 3), one), T.FLOAT), cast(g.input((2, 3), other), T.FLOAT)), 1
    )


@wrong(
    "bitwise",
    joined_casts(T.INT32, T.INT64),
    examples=fires_on(joined_casts(T.INT32, T.INT32), joined_casts(T.BOOL, T.BOOL)),
)
def cast_of_joined(x: Tensor, y: Tensor, a: Axis, to: DataType):
    """Concat(Cast(x), Cast(y)) = Cast(Concat(x, y))

    Wrong of two types.
    """
    yield rewrite(
        concat(listed(cast(x, to), cast(y, to)), a), cast(concat(listed(x, y), a), to), because="one"
    )
