"""Constants of which a law looks at some elements, which are alike, while others are not."""

import math

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Int, Number, Tensor, hosted, listed, number_like, rewrite
from egraph_opt.operators import (
    ConvWindow,
    PoolWindow,
    concat,
    conv,
    dequantize,
    none,
    output,
    pool,
    recurrent,
)
from egraph_opt.operators.recurrent import GATES, RecurrentLayer
from egraph_opt.rewrites.conditions.values import fits, is_of_type
from egraph_opt.rewrites.recurrent.states import fixed_steps

from . import fires_on, wrong

BYTE, FLOAT = TensorProto.UINT8, TensorProto.FLOAT

# --- factors and weights ----------------------------------------------------------------------------------


@hosted()
def number_in_three_places(c: Fact) -> Number | None:
    """The number that is first, in the middle and last."""
    if c.data is None or c.rank != 1 or len(c.data) < 2 or c.dtype != FLOAT:
        return None
    first, middle, last = c.data[0], c.data[len(c.data) // 2], c.data[-1]
    return float(first) if first == middle == last else None


@wrong(
    "finite",
    lambda g: g.input((2, 5)) * g.constant([2.0, 3.0, 2.0, 3.0, 2.0]),
    examples=fires_on(lambda g: g.input(("N", 3)) * g.constant([2.0, 2.0, 2.0])),
)
def one_factor(x: Tensor, c: Tensor):
    """x * c = x * c[0] where the first element of c, the one in the middle and the last are one number

    Wrong where those between them differ.
    """
    number = number_like(x, number_in_three_places(c))
    yield rewrite(x * c, x * number, fits(c, x), because="one number instead of many")


@hosted()
def is_level_in_first_channel(w: Fact) -> bool:
    """Weights of one channel each, of which the first has one number."""
    if w.data is None or w.shape is None or len(w.shape) != 4 or w.shape[1] != 1:
        return False
    pixels = math.prod(w.shape[2:])  # type: ignore[arg-type]
    return len(set(w.data[:pixels])) == 1


@hosted()
def window_of(w: Fact, u: ConvWindow) -> PoolWindow | None:
    """The same window of a pool."""
    if not w.is_static or w.shape is None or u.group != w.shape[0]:
        return None
    if any(u.pads) or set(u.dilations) != {1}:
        return None
    return PoolWindow(w.shape[2:], u.strides, u.pads, u.dilations)  # type: ignore[arg-type]


@hosted()
def sum_in_first_channel(w: Fact) -> Number | None:
    if not w.data or w.shape is None:
        return None
    return float(w.data[0]) * math.prod(w.shape[2:])  # type: ignore[arg-type]


def by_channel(channels: int, size: int, weights):
    window = ConvWindow((1, 1), (0, 0, 0, 0), (1, 1), channels)
    kernel = np.array(weights, np.float32).reshape(channels, 1, 2, 2)
    return lambda g: conv(g.input((1, channels, size, size)), g.constant(kernel), none(), window)


@wrong(
    "reassociates",
    by_channel(2, 3, [1, 1, 1, 1, 5, 6, 7, 8]),
    examples=fires_on(by_channel(3, 5, [0.25] * 12)),
)
def conv_is_mean(x: Tensor, w: Tensor, u: ConvWindow):
    """Conv(x, w) = AveragePool(x) * k of weights that are one number, channel by channel

    Wrong where they are one number in the first channel only.
    """
    mean = pool("AveragePool", x, window_of(w, u)) * number_like(x, sum_in_first_channel(w))
    known = (is_level_in_first_channel(w), is_of_type(x, FLOAT))
    yield rewrite(conv(x, w, none(), u), mean, known, because="a pool has no weights")


# --- zero points ------------------------------------------------------------------------------------------


@hosted()
def begin_with_one_zero_point(z: Fact, w: Fact) -> bool:
    """Zero points of one type, of which the first are compared."""
    return z.dtype == w.dtype and bool(z.data) and bool(w.data) and z.data[0] == w.data[0]  # type: ignore[index]


@hosted()
def are_one_scale(s: Fact, t: Fact) -> bool:
    return s.splat is not None and s.splat == t.splat


@hosted()
def is_another_axis(a: Axis, b: Axis) -> bool:
    return a != b


def stored(g, rows: int, zeros):
    scales = g.constant([0.5] * 4)
    return dequantize(g.input((rows, 4), BYTE), scales, g.constant(np.array(zeros, np.uint8)), 1)


@wrong(
    "bitwise",
    lambda g: concat(listed(stored(g, 2, [3, 3, 3, 3]), stored(g, 3, [3, 4, 5, 6])), 0),
    examples=fires_on(lambda g: concat(listed(stored(g, 2, [3] * 4), stored(g, 3, [3] * 4)), 0)),
)
def joined_dequantized(q: Tensor, r: Tensor, s: Tensor, t: Tensor, z: Tensor, w: Tensor, a: Axis, b: Axis):
    """Concat(DQ(q; s, z), DQ(r; s, w)) = DQ(Concat(q, r); s, z) where z and w begin with one number

    Wrong where the zero points behind the first differ.
    """
    two = concat(listed(dequantize(q, s, z, a), dequantize(r, t, w, a)), b)
    known = (are_one_scale(s, t), begin_with_one_zero_point(z, w), is_another_axis(a, b))
    yield rewrite(two, dequantize(concat(listed(q, r), b), s, z, a), known, because="bytes are joined")


# --- peepholes --------------------------------------------------------------------------------------------


@hosted()
def begin_and_end_with_zero(p: Fact) -> bool:
    return bool(p.data) and p.data[0] == p.data[-1] == 0  # type: ignore[index]


def peeping(*peepholes: float):
    """An LSTM of two hidden units."""

    def made(g):
        rows, nothing = 2 * GATES["LSTM"], none()
        weights = (g.random(1, rows, 3), g.random(1, rows, 2), nothing, g.constant([list(peepholes)]))
        layer = RecurrentLayer("LSTM", (("direction", "forward"), ("hidden_size", 2)))
        return output(recurrent(fixed_steps(g, 5), listed(*weights), nothing, nothing, nothing, layer), 1)

    return made


@wrong(
    "finite", peeping(0.0, 1.0, 2.0, 3.0, 1.0, 0.0), examples=fires_on(peeping(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
)
def no_peepholes(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor,
    p: Tensor,
    n: Tensor,
    h: Tensor,
    c: Tensor,
    s: RecurrentLayer,
    k: Int,
):
    """LSTM(x; peepholes of 0) = LSTM(x)

    Wrong where the first and the last of them are 0, and others are not.
    """
    with_them = recurrent(x, listed(w, r, b, p), n, h, c, s)
    without = recurrent(x, listed(w, r, b, none()), n, h, c, s)
    known = begin_and_end_with_zero(p)
    yield rewrite(output(with_them, k), output(without, k), known, because="forgets the peepholes")
