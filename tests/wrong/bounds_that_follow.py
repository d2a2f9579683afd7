"""Bounds, of slices too, and quotients that follow from others but for NaN, below zero, or for fractions."""

import math

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import Number, Slices, Tensor, hosted, listed, number_like, rewrite
from egraph_opt.operators import binary, slice_, unary, variadic
from egraph_opt.rewrites.conditions.values import fits

from . import fires_on, wrong
from .numbers_in_relation import clip


@hosted()
def are_plain_bounds(a: Fact, b: Fact, x: Fact) -> bool:
    return a.const and b.const and a.dtype == b.dtype == x.dtype == T.FLOAT and a.shape == b.shape


def below_one_of(*bounds: tuple[float, float, float]):
    def witness(g):
        x = g.input((2, 3))
        return binary("Or", *(binary("Less", x, g.constant(np.array(b))) for b in bounds))

    return witness


@wrong(
    "bitwise",
    below_one_of((1.0, math.nan, 2.0), (3.0, 1.0, 0.5)),
    values=(0.5, -2.0, 0.25),
    examples=fires_on(below_one_of((1.0, 0.0, 2.0), (3.0, 1.0, 0.5))),
)
def below_either(x: Tensor, a: Tensor, b: Tensor):
    """Or(x < a, x < b) = x < Max(a, b) for constants

    Wrong of a bound that is NaN: the other one counts on the left, and none on the right.
    """
    either = binary("Or", binary("Less", x, a), binary("Less", x, b))
    once = binary("Less", x, variadic("Max", listed(a, b)))
    yield rewrite(either, once, are_plain_bounds(a, b, x), because="one way is enough")


@hosted()
def only_quotient(x: Fact, c: Fact) -> Number | None:
    """What all of x is, divided by c."""
    known = range_of(x)
    if known is None or c.splat is None or c.splat <= 0 or x.dtype not in (T.INT32, T.INT64):
        return None
    low, high = known[0] // c.splat, known[1] // c.splat
    return int(low) if low == high else None


def quotient(low: int, high: int, c: int):
    return lambda g: clip(g.input((9,), T.INT32), low, high) / g.constant(np.int32(c))


@wrong("bitwise", quotient(-8, -5, 4), values=(-5.0, -8.0, -6.0), examples=fires_on(quotient(8, 11, 4)))
def the_only_quotient(x: Tensor, c: Tensor):
    """x / c = k where x // c is k, whatever x is

    Wrong below zero, where -5 / 4 is -1, and -5 // 4 is -2.
    """
    only = (x - x) + number_like(x, only_quotient(x, c))
    yield rewrite(x / c, only, fits(c, x), because="forgets c")


@hosted()
def is_of_whole_quarters(c: Fact, x: Fact) -> bool:
    if c.splat is None or c.shape != () or x.dtype != T.FLOAT:
        return False
    return c.splat > 0 and float(c.splat * 4).is_integer()


def floor(x):
    return unary("Floor", (), x)


def floors(c: float):
    return lambda g: floor(floor(g.input((2, 5))) / g.constant(np.float32(c)))


@wrong("finite", floors(1.5), values=(3.2, 2.9, 1.6, 4.7), examples=fires_on(floors(4.0)))
def floor_of_quotient_of_floor(x: Tensor, c: Tensor):
    """Floor(Floor(x) / c) = Floor(x / c) for a c above 0 of whole quarters

    Wrong of a c that is not whole: 2 / 1.5 and 2.9 / 1.5 are fine, 1 / 0.75 and 1.6 / 0.75 are not.
    """
    yield rewrite(floor(floor(x) / c), floor(x / c), is_of_whole_quarters(c, x), because="forgets a Floor")


@hosted()
def backwards_at_once(x: Fact, s: Slices, t: Slices) -> Slices | None:
    """The slice that takes what s does from the end on."""
    if x.shape is None or len(s) != 1 or len(t) != 1 or s[0][0] != t[0][0]:
        return None
    axis, start, end, step = s[0]
    d = x.shape[axis]
    if not isinstance(d, int) or not 0 <= start < d or step < 1 or t[0][3] != -1 or t[0][2] is not None:
        return None
    end = d if end is None else end
    if not start < end <= d or t[0][1] != -(-(end - start) // step) - 1:
        return None
    return ((axis, end - 1, start - 1 if start else None, -step),)


def backwards(d: int, s: tuple[int, int, int], last: int):
    return lambda g: slice_(slice_(g.input((2, d)), ((1, *s),)), ((1, last, None, -1),))


@wrong(
    "bitwise",
    backwards(6, (0, 6, 2), 2),
    examples=fires_on(backwards(7, (0, 7, 2), 3), backwards(6, (1, 5, 1), 3)),
)
def steps_backwards(x: Tensor, s: Slices, t: Slices):
    """x[a:e:k][::-1] = x[e - 1:a - 1:-k]

    Wrong where the last step does not fall on the last element, e - 1.
    """
    yield rewrite(slice_(slice_(x, s), t), slice_(x, backwards_at_once(x, s, t)), because="one slice")
