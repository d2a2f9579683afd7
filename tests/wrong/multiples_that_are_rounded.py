"""Multiples, sums and thresholds of floats: right of few digits, and away from where a result leaps."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.float_ranges import interval_of
from egraph_opt.laws import Axis, DataType, Number, Settings, Tensor, hosted, number_like, rewrite
from egraph_opt.laws.examples import FLOAT
from egraph_opt.operators import quantize, range_, unary

from . import fires_on, wrong


def _is_whole(number: Fact) -> bool:
    n = number.splat
    return (
        n is not None
        and number.shape == ()
        and number.dtype == FLOAT
        and float(n).is_integer()
        and abs(n) < 2**24
    )


@hosted()
def are_whole(a: Fact, b: Fact, d: Fact, k: Fact) -> bool:
    return all(map(_is_whole, (a, b, d, k))) and k.splat is not None and k.splat > 0


def _steps(a, b, d, k):
    return lambda g: range_(*(g.constant(np.float32(v)) for v in (a, b, d))) * g.constant(np.float32(k))


@wrong("finite", _steps(0, 8953230, 2984410, 5), examples=fires_on(_steps(0, 5, 1, 2), _steps(2, 9, 3, 4)))
def whole_floats_in_a_row(a: Tensor, b: Tensor, d: Tensor, k: Tensor):
    """Range(a, b, d) * k = Range(a * k, b * k, d * k) for whole floats, k > 0

    Wrong of products beyond 2^24, which are rounded.
    """
    yield rewrite(range_(a, b, d) * k, range_(a * k, b * k, d * k), are_whole(a, b, d, k), because="one")


@hosted()
def is_whole_and_small(y: Fact, c: Fact) -> bool:
    r = interval_of(y)
    return (
        y.dtype == FLOAT
        and r is not None
        and max(abs(r[0]), abs(r[1])) < 2**24
        and c.splat is not None
        and c.shape == ()
        and float(c.splat).is_integer()
        and 0 < c.splat < 2**24
    )


def _quotient(top, c):
    def make(g):
        y, n = (
            unary("Floor", (), unary("Clip", (("max", top), ("min", 0.0)), g.input((4,)))),
            g.constant(np.float32(c)),
        )
        return y * n / n

    return make


def _floored_quotient(top, c):
    return lambda g: unary("Floor", (), _quotient(top, c)(g))


@wrong(
    "finite",
    _floored_quotient(255.0, 15687912.0),
    values=(144.0, 5.0, 2.0, 3.0),
    examples=fires_on(_floored_quotient(100.0, 3.0), _floored_quotient(255.0, 7.0)),
)
def whole_quotients(x: Tensor, c: Tensor):
    """Floor(Floor(x) * c / c) = Floor(x) for whole numbers below 2^24

    Wrong of products beyond, whose quotient may be a little less.
    """
    y = unary("Floor", (), x)
    yield rewrite(unary("Floor", (), y * c / c), y, is_whole_and_small(x, c), because="forgets c")


@hosted()
def lower_threshold(c: Fact, s: Settings) -> Settings | None:
    return (
        (("alpha", dict(s)["alpha"] / c.splat),)
        if c.splat is not None and c.dtype == FLOAT and 0.01 < c.splat < 100 and c.shape == ()
        else None
    )


def _beyond(c, a):
    return lambda g: unary("ThresholdedRelu", (("alpha", a),), g.input((4,)) * g.constant(np.float32(c)))


@wrong(
    "finite",
    _beyond(1.1, 1.0),
    values=(0.9090909361839294, 1.0, 0.5, 0.75),
    examples=fires_on(_beyond(2.0, 1.0), _beyond(0.5, 0.25)),
)
def threshold_of_multiples(x: Tensor, c: Tensor, s: Settings):
    """ThresholdedRelu(x * c; a) = c * ThresholdedRelu(x; a / c) for c > 0

    Wrong of what comes out at the threshold itself.
    """
    yield rewrite(
        unary("ThresholdedRelu", s, x * c),
        c * unary("ThresholdedRelu", lower_threshold(c, s), x),
        because="later",
    )


@hosted()
def scale_by(s: Fact, c: Fact, x: Fact) -> Number | None:
    return (
        s.splat / c.splat
        if s.shape == () == c.shape
        and s.splat
        and c.splat is not None
        and 0.01 < c.splat < 100
        and x.dtype == FLOAT == s.dtype
        else None
    )


def _stepped(c, s):
    return lambda g: quantize(
        g.input((4,)) * g.constant(np.float32(c)),
        g.constant(np.float32(s)),
        g.constant(np.uint8(3)),
        0,
        T.UINT8,
    )


@wrong(
    "finite",
    _stepped(0.7, 0.1),
    values=(0.5, 1.5, 1.0714285, 0.78571427),
    examples=fires_on(_stepped(2.0, 0.1), _stepped(0.5, 0.25)),
)
def bytes_of_multiples(x: Tensor, c: Tensor, s: Tensor, z: Tensor, a: Axis, to: DataType):
    """Q(x * c; s) = Q(x; s / c) for c > 0

    Wrong where a quotient is half a step, or all but.
    """
    yield rewrite(
        quantize(x * c, s, z, a, to),
        quantize(x, number_like(s, scale_by(s, c, x)), z, a, to),
        because="no product",
    )
