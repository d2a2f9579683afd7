"""Functions of a range of floats that are told by their values at both ends of it."""

import math

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.float_ranges import interval_of
from egraph_opt.laws import Axes, Flag, Settings, String, Tensor, hosted, listed, relu, rewrite
from egraph_opt.operators import reduce, unary, variadic

from . import fires_on, wrong


def clipped(g, low: float, high: float, shape=(3, 4), dtype: int = T.FLOAT):
    return unary("Clip", (("max", high), ("min", low)), g.input(shape, dtype))


def ends(x: Fact) -> tuple[float, float] | None:
    """Least and greatest of floats that are known to be finite."""
    known = interval_of(x)
    if known is None or x.dtype != T.FLOAT or not (math.isfinite(known[0]) and math.isfinite(known[1])):
        return None
    return known[0], known[1]


# --- bounds ----------------------------------------------------------------------------------------------


ABOVE = {"Cos": math.cos, "Sin": math.sin}


@hosted()
def is_positive(f: str, x: Fact) -> bool:
    """At both ends."""
    known = ends(x)
    return known is not None and f in ABOVE and all(ABOVE[f](v) > 0.01 for v in known)


def wave(f: str, low: float, high: float):
    return lambda g: relu(unary(f, (), clipped(g, low, high)))


@wrong(
    "finite",
    wave("Cos", -1.0, 7.0),
    values=(3.0, 2.0, 0.5),
    examples=fires_on(wave("Cos", -1.0, 1.0), wave("Sin", 0.5, 3.0)),
)
def positive_part_of_a_wave(f: String, x: Tensor):
    """Relu(Cos(x)) = Cos(x), Relu(Sin(x)) = Sin(x) where they are positive at both ends of x

    Wrong between -1 and 7, where cosines are negative in between.
    """
    y = unary(f, (), x)
    yield rewrite(relu(y), y, is_positive(f, x), because="forgets Relu")


@hosted()
def inverse_within(x: Fact, k: Settings) -> bool:
    """Both ends have inverses within the bounds."""
    known, bounds = ends(x), dict(k)
    low, high = bounds.get("min"), bounds.get("max")
    if known is None or 0 in known or low is None or high is None:
        return False
    return all(low <= 1 / v <= high for v in known)


def inverse(low: float, high: float, least: float, most: float):
    return lambda g: unary(
        "Clip", (("max", most), ("min", least)), unary("Reciprocal", (), clipped(g, low, high))
    )


@wrong(
    "finite",
    inverse(-1.0, 2.0, -2.0, 2.0),
    values=(0.25, -0.25, 1.0),
    examples=fires_on(inverse(1.0, 4.0, 0.0, 1.0)),
)
def inverse_between_bounds(x: Tensor, k: Settings):
    """Clip(1 / x) = 1 / x where the inverses of both ends are within the bounds

    Wrong where x may be 0 in between.
    """
    y = unary("Reciprocal", (), x)
    yield rewrite(unary("Clip", k, y), y, inverse_within(x, k), because="forgets bounds")


@hosted()
def square_within(x: Fact, y: Fact, k: Settings) -> bool:
    """x * (x - c), which is a parabola, is within the bounds at both ends, and in the middle of them."""
    known, bounds, c = ends(x), dict(k), y.splat
    low, high = bounds.get("min"), bounds.get("max")
    if known is None or c is None or low is None or high is None or y.dtype != T.FLOAT or y.rank != 0:
        return False
    middle = (known[0] + known[1]) / 2
    return all(low <= v * (v - c) <= high for v in (*known, middle))


def parabola(low: float, high: float, c: float, least: float, most: float):
    def make(g):
        x = clipped(g, low, high)
        return unary("Clip", (("max", most), ("min", least)), x * (x - g.constant(np.array(c, np.float32))))

    return make


@wrong(
    "finite",
    parabola(0.0, 6.0, 2.0, -0.5, 40.0),
    values=(1.0, 0.9, 5.0),
    examples=fires_on(parabola(0.0, 2.0, 2.0, -1.0, 4.0), parabola(1.0, 3.0, 1.0, 0.0, 8.0)),
)
def parabola_between_bounds(x: Tensor, c: Tensor, k: Settings):
    """Clip(x * (x - c)) = x * (x - c) where both ends of x and their middle are within the bounds

    Wrong where the least is between an end and the middle.
    """
    y = x * (x - c)
    yield rewrite(unary("Clip", k, y), y, square_within(x, c, k), because="forgets bounds")


# --- the greatest ----------------------------------------------------------------------------------------


def rising(low: float, high: float):
    def make(g):
        a, b = (unary("HardSwish", (), clipped(g, low, high, shape)) for shape in ((5, 1), (1, 5)))
        return variadic("Max", listed(a, b))

    return make


@hosted()
def swish_rises(x: Fact, y: Fact) -> bool:
    """It has its lowest place at -2 or so."""
    a, b = ends(x), ends(y)
    return a is not None and b is not None and min(a[0], b[0]) >= -2


@wrong(
    "reassociates",
    rising(-2.0, 0.0),
    values=(-1.75, -1.5, -1.25, -2.0, -1.0),
    examples=fires_on(rising(0.0, 6.0), rising(-1.0, 4.0)),
)
def greater_of_swishes(x: Tensor, y: Tensor):
    """Max(HardSwish(x), HardSwish(y)) = HardSwish(Max(x, y)) where HardSwish rises

    Wrong from -2 to -1.5, where it falls.
    """
    f = ("HardSwish", ())
    left = variadic("Max", listed(unary(*f, x), unary(*f, y)))
    yield rewrite(left, unary(*f, variadic("Max", listed(x, y))), swish_rises(x, y), because="one HardSwish")


@hosted()
def rises(x: Fact) -> bool:
    """Cosines of both ends are positive."""
    known = interval_of(x)
    if known is None or x.dtype != T.FLOAT or not (math.isfinite(known[0]) and math.isfinite(known[1])):
        return False
    if not x.is_static or x.shape is None or 0 in x.shape or not x.shape:
        return False
    return all(math.cos(v) > 0.05 for v in known[:2])


def greatest_sine(low: float, high: float):
    return lambda g: reduce(
        "ReduceMax", unary("Sin", (), unary("Clip", (("max", high), ("min", low)), g.input((2, 5)))), (1,), 1
    )


@wrong(
    "reassociates",
    greatest_sine(0.0, 7.0),
    values=(1.5, 3.0, 4.0),
    examples=fires_on(greatest_sine(-1.0, 1.0), greatest_sine(0.0, 0.5)),
)
def greatest_of_sines(x: Tensor, a: Axes, k: Flag):
    """ReduceMax(Sin(x)) = Sin(ReduceMax(x)) where sines rise at both ends of x

    Wrong between 0 and 7, where they fall in between.
    """
    left = reduce("ReduceMax", unary("Sin", (), x), a, k)
    yield rewrite(left, unary("Sin", (), reduce("ReduceMax", x, a, k)), rises(x), because="fewer sines")
