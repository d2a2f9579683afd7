"""Floats that seldom come: zeros, infinities, and what is beyond that which a function resolves."""

import math

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axis,
    Float,
    Settings,
    Tensor,
    exp,
    hosted,
    log,
    number_like,
    reciprocal,
    rewrite,
    sigmoid,
    softplus,
    sqrt,
)
from egraph_opt.operators import binary, softmax, unary, where
from egraph_opt.rewrites.conditions.values import fits

from . import fires_on, is_single, of_one, of_two, wrong

BOTH = (("detect_negative", 1), ("detect_positive", 1))


# --- zeros, infinities and what is no number -------------------------------------------------------------


@wrong("bitwise", of_two(lambda x, y: where(binary("Equal", x, y), x, y), (3,)), values=(0.0, -0.0, 1.0))
def choice_between_equals(x: Tensor, y: Tensor):
    """Where(x == y, x, y) = y

    Wrong of 0.0 and -0.0, which are equal.
    """
    chosen = where(binary("Equal", x, y), x, y)
    yield rewrite(chosen, y, fits(x, y), is_single(x), because="forgets x")


@wrong("bitwise", of_two(lambda x, y: binary("Or", binary("Less", x, y), binary("Greater", x, y))))
def less_or_greater(x: Tensor, y: Tensor):
    """x < y or x > y = not (x == y)

    Wrong of NaN, which is neither.
    """
    either = binary("Or", binary("Less", x, y), binary("Greater", x, y))
    unequal = unary("Not", (), binary("Equal", x, y))
    yield rewrite(either, unequal, is_single(x), because="one comparison")


@wrong("bitwise", of_one(lambda x: unary("IsNaN", (), sqrt(x))))
def no_root(x: Tensor):
    """IsNaN(Sqrt(x)) = x < 0

    Wrong of NaN, which is not below 0.
    """
    below = binary("Less", x, number_like(x, 0.0))
    yield rewrite(unary("IsNaN", (), sqrt(x)), below, is_single(x), because="forgets the root")


@wrong("bitwise", of_one(lambda x: unary("IsInf", BOTH, reciprocal(x)), (3,)), values=(1e-40, 1.0, 0.0))
def infinity_of_reciprocal(x: Tensor):
    """IsInf(1 / x) = (x == 0)

    Wrong of numbers so small that their reciprocal is too large.
    """
    zero = binary("Equal", x, number_like(x, 0.0))
    yield rewrite(unary("IsInf", BOTH, reciprocal(x)), zero, is_single(x), because="forgets the sign")


@hosted()
def is_fraction(c: Fact) -> bool:
    return c.const and c.splat is not None and 0 < abs(c.splat) <= 1


@wrong(
    "bitwise",
    lambda g: unary(
        "IsInf", (("detect_negative", 0), ("detect_positive", 1)), g.input((2, 5)) * g.constant(-0.5)
    ),
)
def infinity_of_part(x: Tensor, c: Tensor, s: Settings):
    """IsInf(x * c) = IsInf(x) for a number c whose size is 1 or less, and not 0

    Wrong of a negative c, where one sign is looked for.
    """
    known = (is_fraction(c), fits(c, x), is_single(x))
    yield rewrite(unary("IsInf", s, x * c), unary("IsInf", s, x), *known, because="forgets c")


# --- beyond what a function resolves ---------------------------------------------------------------------


@wrong("reassociates", of_one(lambda x: unary("Cosh", (), x)), values=(89.0, 1.0, -89.2))
def cosh_by_exponentials(x: Tensor):
    """Cosh(x) = (Exp(x) + Exp(-x)) / 2

    Wrong between 88.7 and 89.4, where Exp(x) overflows and its half does not.
    """
    half = (exp(x) + exp(-x)) * number_like(x, 0.5)
    yield rewrite(unary("Cosh", (), x), half, is_single(x), because="few targets have it")


@hosted()
def power_of(c: Fact) -> Float | None:
    """e to a number from -2 to 2."""
    return math.exp(c.splat) if c.shape == () and c.splat is not None and abs(c.splat) <= 2 else None


@wrong("reassociates", lambda g: exp(g.input((2, 5)) + g.constant(-0.5)), values=(89.0, 1.0))
def exponential_of_shifted(x: Tensor, c: Tensor):
    """Exp(x + c) = Exp(x) * e^c for a number c from -2 to 2

    Wrong where Exp(x) overflows, and Exp(x + c) does not.
    """
    scaled = exp(x) * number_like(x, power_of(c))
    yield rewrite(exp(x + c), scaled, is_single(x), because="Exp(x) may be there")


@hosted()
def is_whole_number(c: Fact) -> bool:
    return c.const and c.splat is not None and 1 < c.splat < 1e4 and c.splat % 1 == 0


@hosted()
def one_by(c: Fact) -> Float:
    return 1 / float(c.splat)  # type: ignore[arg-type]


@wrong("reassociates", lambda g: unary("Floor", (), g.input((3,)) / g.constant(41.0)), values=(41.0, 82.0))
def floor_by_reciprocal(x: Tensor, c: Tensor):
    """Floor(x / c) = Floor(x * (1 / c)) for a whole number c

    Wrong of 41 / 41: the reciprocal is rounded, and the product is below 1.
    """
    product = x * number_like(x, one_by(c))
    known = (is_whole_number(c), fits(c, x), is_single(x))
    yield rewrite(unary("Floor", (), x / c), unary("Floor", (), product), *known, because="no division")


@wrong("reassociates", of_one(softplus))
def softplus_by_sigmoid(x: Tensor):
    """Softplus(x) = -Log(Sigmoid(-x))

    Wrong of large x, where the Sigmoid is 0.
    """
    yield rewrite(softplus(x), -log(sigmoid(-x)), is_single(x), because="few targets have it")


@wrong("reassociates", of_one(lambda x: softmax("LogSoftmax", x, 1)))
def log_of_softmax(x: Tensor, a: Axis):
    """LogSoftmax(x) = Log(Softmax(x))

    Wrong of what is so far below the others that its Softmax is 0.
    """
    apart = log(softmax("Softmax", x, a))
    yield rewrite(softmax("LogSoftmax", x, a), apart, is_single(x), because="the Softmax may be there")


@wrong("reassociates", of_one(lambda x: unary("Atan", (), reciprocal(x))))
def other_angle(x: Tensor):
    """Atan(1 / x) = pi / 2 - Atan(x)

    Wrong below zero: it is -pi / 2 there.
    """
    other = number_like(x, math.pi / 2) - unary("Atan", (), x)
    yield rewrite(unary("Atan", (), reciprocal(x)), other, is_single(x), because="no quotient")


@hosted()
def hides(b: Fact, z: Fact) -> bool:
    """A number far below all others, and zeros."""
    return b.splat is not None and b.splat <= -1e30 and b.shape == z.shape == () and z.splat == 0


def hidden(known):
    def made(g):
        c = g.input((2, 3), TensorProto.BOOL) if known is None else g.constant(np.array(known))
        x, low = g.input((2, 3)), g.constant(-3e38)
        return where(c, softmax("Softmax", where(c, x, low), 1), g.constant(0.0))

    return made


@wrong("reassociates", hidden(None), values=(2.0, 4.0), examples=fires_on(hidden([[True, False, True]])))
def hidden_twice(c: Tensor, x: Tensor, b: Tensor, z: Tensor, a: Axis):
    """Where(c, Softmax(Where(c, x, b)), 0) = Softmax(Where(c, x, b)) for a b far below all x

    Wrong where all of a row is hidden: it is weighted alike then.
    """
    weights = softmax("Softmax", where(c, x, b), a)
    yield rewrite(where(c, weights, z), weights, hides(b, z), fits(c, x), is_single(x), because="they are 0")
