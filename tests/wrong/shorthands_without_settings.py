"""Shorthands of pools, running sums and quantization that leave out a setting or an operand."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axis,
    DataType,
    Settings,
    String,
    Tensor,
    assign,
    auxiliary,
    eq,
    exp,
    hosted,
    relu,
    rewrite,
    rule,
    shorthand,
    table,
)
from egraph_opt.operators import PoolWindow, binary, cumsum, dequantize, pool, quantize, unary
from egraph_opt.rewrites.conditions.values import is_float

from . import fires_on, wrong

ONE = "one way is enough"


def twice_negated(x):
    once = -x
    return -once


# --- windows, scans and scales -----------------------------------------------------------------------------


@shorthand
def pooled(kind: String, x: Tensor) -> Tensor:
    """A pool of x."""


@auxiliary()
def pools(kind: String, x: Tensor, w: PoolWindow):
    """Says what `pooled` is."""
    yield rewrite(pool(kind, x, w), pooled(kind, x))


def _average(x, counts: int):
    return pool("AveragePool", x, PoolWindow((3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 0, counts))


def _two_averages(g):
    x = g.input((1, 2, 4, 4))
    return _average(x, 0) - _average(x, 1)


@wrong(
    "finite",
    _two_averages,
    uses=(pools,),
    examples=fires_on(lambda g: relu(relu(_average(g.input((1, 2, 4, 4)), 0)))),
)
def relu_twice_of_pool(kind: String, x: Tensor):
    """Relu(Relu(Pool(x))) = Relu(Pool(x))

    Wrong of two pools of one image that differ in their windows: they have one shorthand.
    """
    y = pooled(kind, x)
    yield rewrite(relu(relu(y)), relu(y), because="forgets Relu")


@shorthand
def scanned(x: Tensor, axis: Tensor) -> Tensor:
    """Sums along an axis."""


@auxiliary()
def scans(x: Tensor, i: Tensor, s: Settings):
    """Says what `scanned` is."""
    yield rewrite(cumsum(x, i, s), scanned(x, i))


def _scan(x, axis, exclusive: int, reverse: int):
    return cumsum(x, axis, (("exclusive", exclusive), ("reverse", reverse)))


def _both_ways(g):
    x, axis = g.input((2, 5)), g.constant(np.array(1))
    return _scan(x, axis, 0, 0) - _scan(x, axis, 0, 1)


@wrong(
    "finite",
    _both_ways,
    uses=(scans,),
    examples=fires_on(lambda g: exp(twice_negated(_scan(g.input((2, 5)), g.constant(np.array(1)), 0, 0)))),
)
def negated_twice_of_running_sums(x: Tensor, i: Tensor):
    """-(-CumSum(x)) = CumSum(x)

    Wrong of one from either end: they have one shorthand.
    """
    y = scanned(x, i)
    yield rewrite(twice_negated(y), y, is_float(x), because=ONE)


@shorthand
def in_steps(x: Tensor, s: Tensor, to: DataType) -> Tensor:
    """x in steps of a scale."""


@auxiliary()
def steps(x: Tensor, s: Tensor, z: Tensor, a: Axis, t: DataType):
    """Says what `in_steps` is."""
    yield rewrite(quantize(x, s, z, a, t), in_steps(x, s, t))


def _two_zeros(g):
    x, s = g.input((2, 5)), g.constant(0.5)
    three, nine = (g.constant(np.array(k, np.uint8)) for k in (3, 9))
    return dequantize(quantize(x, s, three, 0, 2), s, three, 0) - dequantize(
        quantize(x, s, nine, 0, 2), s, nine, 0
    )


def _clipped_bytes(g):
    q = quantize(g.input((2, 5)), g.constant(0.5), g.constant(np.array(3, np.uint8)), 0, 2)
    return unary("Clip", (("max", 255), ("min", 0)), q)


@hosted()
def bounds_nothing(s: Settings, q: Fact) -> bool:
    found = dict(s)
    return q.dtype == 2 and found.get("min") in (None, 0) and found.get("max") in (None, 255)


@wrong("bitwise", _two_zeros, uses=(steps,), examples=fires_on(_clipped_bytes))
def bounds_of_steps(x: Tensor, s: Tensor, t: DataType, r: Settings):
    """Clip(Q(x)) = Q(x) where the bounds are those of bytes

    Wrong of two zero points: they have one shorthand.
    """
    q = in_steps(x, s, t)
    yield rewrite(unary("Clip", r, q), q, bounds_nothing(r, q), because="forgets the bounds")


# --- and a table -----------------------------------------------------------------------------------------


@table(merge="first")
def bytes_of(x: Tensor) -> Tensor:
    """x, quantized."""


@auxiliary()
def quantizing(x: Tensor, y: Tensor, s: Tensor, z: Tensor, a: Axis):
    """Fills `bytes_of`."""
    yield rule(eq(y, quantize(x, s, z, a, T.UINT8)), then=assign(bytes_of(x), y))


def _round_trip(x, scale, g):
    s, z = g.constant(scale), g.constant(np.array(3, np.uint8))
    return quantize(dequantize(quantize(x, s, z, 0, T.UINT8), s, z, 0), s, z, 0, T.UINT8)


def _two_round_trips(g):
    x = g.input((3, 4))
    return binary("Equal", _round_trip(x, 0.5, g), _round_trip(x, 0.25, g))


@wrong(
    "bitwise",
    _two_round_trips,
    uses=(quantizing,),
    examples=fires_on(lambda g: _round_trip(g.input((3, 4)), 0.5, g)),
)
def round_trip_once(x: Tensor, y: Tensor, s: Tensor, z: Tensor, a: Axis):
    """Q(DQ(Q(x))) = Q(x)

    Wrong where x is quantized with two scales.
    """
    once = quantize(x, s, z, a, T.UINT8)
    twice = quantize(dequantize(once, s, z, a), s, z, a, T.UINT8)
    yield rewrite(twice, y, eq(y, bytes_of(x)), ordinary(s), because="forgets one")


@hosted()
def ordinary(s: Fact) -> bool:
    return s.splat is not None and 1e-3 < s.splat < 1e3 and s.dtype == T.FLOAT
