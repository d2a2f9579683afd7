"""Bounds in the wrong order or not there, NaN, zeros with a sign, and halves that go to the even number."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Int, Mode, Number, Pads, Settings, Slices, Tensor, hosted, listed, rewrite
from egraph_opt.operators import arg_reduce, binary, output, pad, slice_, top, unary, variadic, where

from . import fires_on, of_one, of_two, wrong
from .activations_with_odd_settings import function


@hosted()
def bounds(a: Fact, b: Fact) -> Settings | None:
    """Those of a Clip."""
    if a.shape != () or b.shape != () or a.splat is None or b.splat is None or a.dtype != T.FLOAT:
        return None
    return (("max", float(b.splat)), ("min", float(a.splat)))


def between(a: float, b: float):
    def make(g):
        low = variadic("Min", listed(g.input((2, 5)), g.constant(np.array(b))))
        return variadic("Max", listed(low, g.constant(np.array(a))))

    return make


@wrong("finite", between(3.0, 1.0), examples=fires_on(between(0.0, 6.0), between(-1.0, 1.0)))
def clip_by_extremes(x: Tensor, a: Tensor, b: Tensor):
    """Max(Min(x, b), a) = Clip(x; a, b)

    Wrong where a is above b: then it is b that Clip answers.
    """
    least = variadic("Min", listed(x, b))
    yield rewrite(
        variadic("Max", listed(least, a)), unary("Clip", bounds(a, b), x), because="there are numbers"
    )


@hosted()
def opposite_bounds(s: Settings) -> Settings | None:
    """The upper one is the lower one of the opposite; one that is not there is 0."""
    low, high = dict(s)["min"], dict(s)["max"]
    if None not in (low, high) and low > high:
        return None
    return (("max", -(low or 0.0)), ("min", -(high or 0.0)))


def clipped_opposite(low: float | None, high: float | None):
    return of_one(lambda x: -function("Clip", min=low, max=high)(x))


@wrong(
    "finite",
    clipped_opposite(-1.0, None),
    examples=fires_on(clipped_opposite(-1.0, 2.0), clipped_opposite(0.0, 6.0)),
)
def opposite_of_clipped(x: Tensor, s: Settings):
    """-Clip(x; a, b) = Clip(-x; -b, -a)

    Wrong where one of them is not there.
    """
    yield rewrite(-unary("Clip", s, x), unary("Clip", opposite_bounds(s), -x), because="later")


def no_number(op: str):
    return of_two(lambda x, y: unary("IsNaN", (), binary(op, x, y)))


@wrong("bitwise", no_number("Add"), values=(np.inf, -np.inf, 1.0, np.nan))
def no_number_of_sum(x: Tensor, y: Tensor):
    """IsNaN(x + y) = Or(IsNaN(x), IsNaN(y))

    Wrong of an infinity and its opposite.
    """
    either = binary("Or", unary("IsNaN", (), x), unary("IsNaN", (), y))
    yield rewrite(unary("IsNaN", (), x + y), either, because="x + y is used elsewhere")


def greater_one(c: float):
    def make(g):
        x, bound = g.input((2, 5)), g.constant(np.array(c))
        return where(binary("Greater", x, bound), x, bound)

    return make


@hosted()
def is_number(c: Fact) -> bool:
    return c.dtype == T.FLOAT and c.shape == () and c.splat is not None


@wrong(
    "bitwise",
    greater_one(0.5),
    values=(np.nan, 1.0, -3.0),
    examples=fires_on(greater_one(1.0), greater_one(-2.0)),
)
def choice_of_greater(x: Tensor, c: Tensor):
    """Where(x > c, x, c) = Max(x, c)

    Wrong of NaN, which is not greater.
    """
    yield rewrite(
        where(binary("Greater", x, c), x, c),
        variadic("Max", listed(x, c)),
        is_number(c),
        because="Max has no condition",
    )


def place_of_one(largest: int):
    return of_one(lambda x: output(top(x, 1, 1, (("largest", largest), ("sorted", 1))), 1))


@wrong("bitwise", place_of_one(1), values=(np.nan, 1.0, 2.0, np.nan, 0.0, 7.0, -1.0))
def place_of_greatest(x: Tensor, a: Axis):
    """TopK(x, 1)[1] = ArgMax(x), or ArgMin of the least

    Wrong where there are NaN, which they compare otherwise.
    """
    for kind, largest in (("ArgMax", 1), ("ArgMin", 0)):
        settings = (("largest", largest), ("sorted", 1))
        yield rewrite(output(top(x, 1, a, settings), 1), arg_reduce(kind, x, a, 1, 0), because="one operator")


@hosted()
def are_first_and_second(t: Slices, u: Slices, n: int, a: Axis) -> bool:
    """One element each, in order, along the axis."""
    return n >= 2 and t == ((a, 0, 1, 1),) and u == ((a, 1, 2, 1),)


def margin(largest: int, n: int = 2):
    def make(g):
        y = output(top(g.input((3, 6)), n, 1, (("largest", largest), ("sorted", 1))), 0)
        return unary("Abs", (), slice_(y, ((1, 0, 1, 1),)) - slice_(y, ((1, 1, 2, 1),)))

    return make


@wrong("finite", margin(0), examples=fires_on(margin(1), margin(1, 4)))
def margin_of_greatest(x: Tensor, n: Int, a: Axis, s: Settings, t: Slices, u: Slices):
    """Abs(first - second) = first - second of the greatest elements in order

    Wrong of the least ones.
    """
    y = output(top(x, n, a, s), 0)
    between = slice_(y, t) - slice_(y, u)
    yield rewrite(unary("Abs", (), between), between, are_first_and_second(t, u, n, a), because="not below 0")


def padded(value: float, mode: str = "constant"):
    return of_one(lambda x: -pad(x, mode, (0, 1, 0, 2), value))


@hosted()
def pads_with_zeros(m: Mode, v: Number) -> bool:
    return m != "constant" or v == 0


@wrong("bitwise", padded(0.0), examples=fires_on(padded(0.0, "edge"), padded(0.0, "reflect")))
def opposite_of_padded(x: Tensor, m: Mode, p: Pads, v: Number):
    """-Pad(x; 0) = Pad(-x; 0), likewise where edges are repeated

    Wrong of the sign of zeros that are padded.
    """
    yield rewrite(-pad(x, m, p, v), pad(-x, m, p, v), pads_with_zeros(m, v), because="later")


@hosted()
def is_one_factor(c: Fact) -> bool:
    return c.dtype == T.FLOAT and c.shape == () and c.splat is not None and 0.1 <= abs(c.splat) <= 10


def raised(c: float, p: float):
    return lambda g: (g.input((2, 5)) * g.constant(np.array(c))) ** g.constant(np.array(p))


@wrong(
    "reassociates",
    raised(-2.0, 1.5),
    examples=fires_on(raised(2.0, 0.5), raised(3.0, 2.0), raised(-2.0, 2.0)),
)
def power_of_scaled_below_zero(x: Tensor, c: Tensor, p: Tensor):
    """(x * c) ** p = x ** p * c ** p

    Wrong for a c below 0 and a p that is no whole number.
    """
    yield rewrite(
        (x * c) ** p, x**p * c**p, is_one_factor(c), is_one_factor(p), because="constants are folded"
    )


@hosted()
def is_even_shift(c: Fact) -> bool:
    """A whole number."""
    return c.dtype == T.FLOAT and c.shape == () and c.splat is not None and float(c.splat).is_integer()


def rounded(c: float):
    return lambda g: unary("Round", (), g.input((2, 5)) + g.constant(np.array(c)))


@wrong(
    "finite", rounded(3.0), values=(0.5, 2.5, -1.5, 7.0, 0.25), examples=fires_on(rounded(2.0), rounded(4.0))
)
def rounded_and_shifted(x: Tensor, c: Tensor):
    """Round(x + c) = Round(x) + c for a whole c

    Wrong for an odd one: halves are rounded to the even number.
    """
    yield rewrite(unary("Round", (), x + c), unary("Round", (), x) + c, is_even_shift(c), because="later")
