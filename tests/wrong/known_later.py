"""Operands that are computed at run time, of which the numbers are taken for a default: what is not known is
taken for 0, for what is positive, or for what needs no asking."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws import (
    Axes,
    Axis,
    DataType,
    Flag,
    Int,
    Settings,
    String,
    Tensor,
    Tensors,
    hosted,
    listed,
    opset,
    rewrite,
)
from egraph_opt.operators import cumsum, dequantize, none, output, quantize, recurrent, reduce, unary
from egraph_opt.operators.quantization import BYTES, QUANTIZED, is_one_scale
from egraph_opt.operators.recurrent import RecurrentLayer

from . import fires_on, wrong

# --- zero points ------------------------------------------------------------------------------------------


@hosted()
def bounds_are_beyond(bounds: Settings, s: Fact, z: Fact, t: DataType) -> bool:
    """Both lie more than a step beyond all numbers that Q distinguishes."""
    ends = dict(bounds)
    known = is_one_scale(s) and s.splat is not None and s.splat > 0 and t in QUANTIZED
    if not known or set(ends) != {"min", "max"} or None in ends.values():
        return False
    (low, high), zero = QUANTIZED[t], z.splat if z.splat is not None else 0
    least, greatest = (low - zero - 1) * s.splat, (high - zero + 1) * s.splat  # type: ignore[operator]
    return bool(ends["min"] <= least and greatest <= ends["max"])


def _saturated(g):
    x = unary("Clip", (("max", 140.0), ("min", -10.0)), g.input((3,)))
    return quantize(x, g.constant(np.float32(0.5)), g.input((), T.UINT8), 0, T.UINT8)


@wrong("bitwise", _saturated, values=(-100.0, 200.0, 200.0))
def clip_before_bytes(x: Tensor, bounds: Settings, s: Tensor, z: Tensor, a: Axis, t: DataType):
    """Q(Clip(x)) = Q(x) where the bounds are beyond the type

    Wrong of a zero point that is computed, which is taken for 0.
    """
    clipped = quantize(unary("Clip", bounds, x), s, z, a, t)
    yield rewrite(
        clipped, quantize(x, s, z, a, t), bounds_are_beyond(bounds, s, z, t), because="forgets the bounds"
    )


@hosted()
def is_nowhere_below_zero(q: Fact, s: Fact, z: Fact) -> bool:
    """Unsigned, of one positive scale and no zero point, or 0."""
    known = q.dtype in (T.UINT8, T.UINT16) and is_one_scale(s) and s.splat is not None and s.splat > 0
    return known and not z.splat


def _bytes(zero):
    half = np.float32(0.5)
    return lambda g: unary("Abs", (), dequantize(g.input((3,), T.UINT8), g.constant(half), zero(g), 0))


@wrong(
    "bitwise",
    _bytes(lambda g: g.input((), T.UINT8)),
    values=(3, 90, 5),
    examples=fires_on(_bytes(lambda g: g.constant(np.uint8(0))), _bytes(lambda g: none())),
)
def size_of_bytes(q: Tensor, s: Tensor, z: Tensor, a: Axis):
    """|DQ(q)| = DQ(q) of unsigned bytes without a zero point

    Wrong of a zero point that is computed, or of several.
    """
    floats = dequantize(q, s, z, a)
    yield rewrite(unary("Abs", (), floats), floats, is_nowhere_below_zero(q, s, z), because="any q would fit")


# --- scales -----------------------------------------------------------------------------------------------


@hosted()
def is_extreme(k: String) -> bool:
    return k in ("ReduceMax", "ReduceMin")


@hosted()
def keeps_order(q: Fact, s: Fact, r: Axes, version: int) -> bool:
    """One scale, which is not negative, and axes of bytes that are not empty."""
    if version < 13 or q.dtype not in BYTES or q.shape is None or not r or not is_one_scale(s):
        return False
    dims = [q.shape[a] for a in r]
    return (s.splat is None or 1e-6 < s.splat < 1e6) and all(isinstance(d, int) and d > 0 for d in dims)


def _greatest(scale):
    return lambda g: reduce("ReduceMax", dequantize(g.input((3, 4), T.INT8), scale(g), none(), 0), (1,), 1)


@wrong(
    "finite",
    _greatest(lambda g: g.input(())),
    values=(3, -2, 5),
    examples=fires_on(_greatest(lambda g: g.constant(np.float32(0.5))), opset=18),
)
def greatest_of_bytes_since(k: String, q: Tensor, s: Tensor, z: Tensor, a: Axis, r: Axes, d: Flag):
    """ReduceMax(DQ(q)) = DQ(ReduceMax(q)) of one positive scale, likewise ReduceMin

    Wrong of a scale that is computed, and negative.
    """
    of_floats = reduce(k, dequantize(q, s, z, a), r, d)
    of_bytes = dequantize(reduce(k, q, r, d), s, z, a)
    yield rewrite(
        of_floats, of_bytes, is_extreme(k), keeps_order(q, s, r, opset()), because="bytes are fewer"
    )


# --- axes, and lengths ------------------------------------------------------------------------------------


@hosted()
def is_of_one(x: Fact, i: Fact) -> bool:
    """There is one element along the axis, the first if none is said."""
    at = (i.ints or (0,))[0]
    return bool(x.shape) and x.shape[at] == 1  # type: ignore[index]


@hosted()
def is_inclusive(s: Settings) -> bool:
    return not dict(s)["exclusive"]


def _sum(axis):
    return lambda g: cumsum(g.input((1, 3)), axis(g), (("exclusive", 0), ("reverse", 0)))


@wrong(
    "bitwise",
    _sum(lambda g: g.input((), T.INT64)),
    values=(2.0, 1.0),
    examples=fires_on(_sum(lambda g: g.constant(np.array([0])))),
)
def sum_of_one(x: Tensor, i: Tensor, s: Settings):
    """CumSum(x) = x along an axis of one element

    Wrong of an axis that is computed, which is taken for the first.
    """
    yield rewrite(cumsum(x, i, s), x, is_of_one(x, i), is_inclusive(s), because="any x would be a sum")


@hosted()
def is_there(n: Fact) -> bool:
    return n != ABSENT


@hosted()
def are_all_steps(n: Fact, x: Fact) -> bool:
    """Every sequence has all steps."""
    if x.shape is None or not isinstance(x.shape[0], int):
        return False
    return all(v == x.shape[0] for v in n.ints or ())


def _layer(lengths):
    forward = RecurrentLayer("RNN", (("direction", "forward"), ("hidden_size", 2)))

    def witness(g):
        x, weights = g.input((3, 2, 3)), listed(g.random(1, 2, 3), g.random(1, 2, 2), none(), none())
        return output(recurrent(x, weights, lengths(g), none(), none(), forward), 1)

    return witness


@wrong(
    "bitwise",
    _layer(lambda g: g.input((2,), T.INT32)),
    values=(1, 2, 2, 1, 1),
    examples=fires_on(_layer(lambda g: g.constant(np.array([3, 3], np.int32)))),
)
def lengths_of_all(x: Tensor, ws: Tensors, n: Tensor, h: Tensor, c: Tensor, u: RecurrentLayer, i: Int):
    """RNN(x, lengths) = RNN(x) where every sequence has all steps

    Wrong of lengths that are computed.
    """
    bare = recurrent(x, ws, none(), h, c, u)
    known = (are_all_steps(n, x), is_there(n))
    yield rewrite(output(recurrent(x, ws, n, h, c, u), i), output(bare, i), *known, because="forgets n")
