"""The sign of a constant, or of a value, that nobody thought of."""

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Axis,
    Flag,
    Float,
    Settings,
    String,
    Tensor,
    equal,
    hosted,
    listed,
    log,
    number_like,
    relu,
    rewrite,
    sqrt,
)
from egraph_opt.operators import arg_reduce, binary, reduce, unary, variadic
from egraph_opt.rewrites.conditions.values import fits, is_float

from . import fires_on, wrong


@hosted()
def is_one_number(c: Fact) -> bool:
    """A constant of one float, of any rank."""
    return c.const and c.splat is not None and c.splat != 0


@hosted()
def number_of(c: Fact) -> Float | None:
    return None if c.splat is None else float(c.splat)


def clip(low: float | None, high: float | None, x):
    return unary("Clip", (("max", high), ("min", low)), x)


@wrong("bitwise", lambda g: unary("Abs", (), g.input((2, 5))))
def size_is_what_is_positive(x: Tensor):
    """Abs(x) = Relu(x)

    Wrong below zero.
    """
    yield rewrite(unary("Abs", (), x), relu(x), is_float(x), because="Relu has a faster kernel")


@wrong("finite", lambda g: sqrt((lambda x: x * x)(g.input((2, 5)))))
def root_of_square(x: Tensor):
    """Sqrt(x * x) = x

    Wrong below zero: it is Abs(x).
    """
    yield rewrite(sqrt(x * x), x, because="every x would be a root")


@wrong("reassociates", lambda g: log((lambda x: x * x)(g.input((2, 5)))))
def logarithm_of_square(x: Tensor):
    """Log(x * x) = 2 * Log(x)

    Wrong below zero, where the right side is NaN.
    """
    yield rewrite(log(x * x), number_like(x, 2.0) * log(x), because="one product less in the logarithm")


@wrong(
    "reassociates",
    lambda g: relu(g.input((2, 5)) * g.constant(-1.5)),
    examples=fires_on(lambda g: relu(g.input((2, 5)) * g.constant(1.5))),
)
def relu_of_scaled(x: Tensor, c: Tensor):
    """Relu(x * c) = Relu(x) * c for one number c

    Wrong for a negative c.
    """
    yield rewrite(relu(x * c), relu(x) * c, is_one_number(c), fits(c, x), because="the scale moves on")


@wrong(
    "reassociates",
    lambda g: (lambda c: variadic("Max", listed(g.input((5,)) * c, g.input((5,)) * c)))(g.constant(-2.0)),
)
def greatest_of_scaled(x: Tensor, y: Tensor, c: Tensor):
    """Max(x * c, y * c) = Max(x, y) * c for one number c

    Wrong for a negative c, which makes the least the greatest.
    """
    scaled = variadic("Max", listed(x * c, y * c))
    yield rewrite(scaled, variadic("Max", listed(x, y)) * c, is_one_number(c), because="one product less")


@hosted()
def scaled_bounds(s: Settings, c: Fact) -> Settings | None:
    bounds = dict(s)
    if c.splat is None or None in bounds.values():
        return None
    return tuple((name, float(v) * float(c.splat)) for name, v in sorted(bounds.items()))


@wrong(
    "reassociates",
    lambda g: clip(-1.0, 6.0, g.input((2, 5))) * g.constant(-2.0),
    examples=fires_on(lambda g: clip(-1.0, 6.0, g.input((2, 5))) * g.constant(2.0)),
)
def clip_then_scale(x: Tensor, c: Tensor, s: Settings):
    """Clip_ab(x) * c = Clip_(ac, bc)(x * c) for one number c

    Wrong for a negative c: the bounds have to change places.
    """
    after = unary("Clip", scaled_bounds(s, c), x * c)
    yield rewrite(unary("Clip", s, x) * c, after, is_one_number(c), is_float(x), because="scales meet")


@wrong(
    "bitwise",
    lambda g: unary("Abs", (), g.input((2, 5)) * g.constant(-4.0)),
    examples=fires_on(lambda g: unary("Abs", (), g.input((2, 5)) * g.constant(4.0))),
)
def size_of_scaled(x: Tensor, c: Tensor):
    """Abs(x * c) = Abs(x) * c for one number c

    Wrong for a negative c.
    """
    size = unary("Abs", (), x * c)
    yield rewrite(size, unary("Abs", (), x) * c, is_one_number(c), because="the scale moves on")


@wrong("finite", lambda g: (lambda c: binary("Less", g.input((5,)) * c, g.input((5,)) * c))(g.constant(-2.0)))
def scaled_comparison(x: Tensor, y: Tensor, c: Tensor):
    """x * c < y * c = x < y for one number c

    Wrong for a negative c.
    """
    yield rewrite(binary("Less", x * c, y * c), binary("Less", x, y), is_one_number(c), because="forgets c")


@wrong("reassociates", lambda g: arg_reduce("ArgMax", g.input((2, 5)) * g.constant(-2.0), 1, 1, 0))
def place_of_scaled(k: String, x: Tensor, c: Tensor, a: Axis, d: Flag, n: Flag):
    """ArgMax(x * c) = ArgMax(x) for one number c, likewise ArgMin

    Wrong for a negative c.
    """
    scaled = arg_reduce(k, x * c, a, d, n)
    yield rewrite(scaled, arg_reduce(k, x, a, d, n), is_one_number(c), fits(c, x), because="forgets c")


@hosted()
def has_no_axes(c: Fact) -> bool:
    return c.shape == ()


@hosted()
def is_homogeneous(kind: str) -> bool:
    return kind in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin")


@wrong("reassociates", lambda g: reduce("ReduceMax", g.input((2, 5)) * g.constant(-2.0), (1,), 1))
def reduction_of_scaled(k: String, x: Tensor, c: Tensor, a: Axes, d: Flag):
    """Reduce(x * c) = Reduce(x) * c for Sum, Mean, Max and Min and one number c

    Wrong for Max and Min and a negative c.
    """
    known = (is_homogeneous(k), is_one_number(c), has_no_axes(c))
    yield rewrite(reduce(k, x * c, a, d), reduce(k, x, a, d) * c, known, because="fewer products")


@wrong("finite", lambda g: binary("Less", g.input((2, 5)), -g.input((2, 5))))
def comparison_with_negated(x: Tensor, y: Tensor):
    """x < -y = -x < y

    Wrong: it is y < -x.
    """
    yield rewrite(binary("Less", x, -y), binary("Less", -x, y), because="the sign goes where it is free")


@wrong("reassociates", lambda g: g.input((2, 5)) - (g.input((2, 5)) - g.input((2, 5))))
def difference_of_difference(x: Tensor, y: Tensor, z: Tensor):
    """x - (y - z) = (x - y) - z

    Wrong in the sign of z.
    """
    yield rewrite(x - (y - z), (x - y) - z, because="chains lean to the left")


@hosted()
def is_whole(c: Fact) -> bool:
    return c.splat is not None and float(c.splat).is_integer()


@wrong(
    "finite",
    lambda g: (-g.input((2, 5))) ** g.constant(3.0),
    examples=fires_on(lambda g: (-g.input((2, 5))) ** g.constant(2.0)),
)
def power_of_negated(x: Tensor, c: Tensor):
    """(-x) ^ c = x ^ c for a whole number c

    Wrong for an odd one.
    """
    yield rewrite((-x) ** c, x**c, is_whole(c), fits(c, x), because="every base would be negated")


@wrong("reassociates", lambda g: (g.input((2, 5)) ** g.constant(2.0)) ** g.constant(0.5))
def power_of_power(x: Tensor, a: Tensor, b: Tensor):
    """(x ^ a) ^ b = x ^ (a * b) for constants

    Wrong below zero: (x ^ 2) ^ 0.5 is Abs(x).
    """
    known = (is_one_number(a), is_one_number(b), fits(a, x), fits(b, x))
    yield rewrite((x**a) ** b, x ** (a * b), known, because="forgets a and b")


@wrong("reassociates", lambda g: sqrt((lambda x: x * x)(g.input((2, 5)))))
def root_of_product(x: Tensor, y: Tensor):
    """Sqrt(x * y) = Sqrt(x) * Sqrt(y)

    Wrong where both are negative.
    """
    yield rewrite(sqrt(x * y), sqrt(x) * sqrt(y), is_float(x), because="roots may be there already")


@wrong("bitwise", lambda g: unary("Sign", (), g.input((11,))))
def sign_as_quotient(x: Tensor):
    """Sign(x) = x / Abs(x)

    Wrong at zero, where the right side is NaN.
    """
    yield rewrite(unary("Sign", (), x), x / unary("Abs", (), x), is_float(x), because="Div is everywhere")


@wrong("reassociates", lambda g: (lambda x: relu(x) - relu(x - g.constant(-2.0)))(g.input((2, 5))))
def difference_of_relus(x: Tensor, c: Tensor):
    """Relu(x) - Relu(x - c) = Clip_0c(x) for one number c

    Wrong for a negative c.
    """
    bounds = unary("Clip", between_zero_and(c), x)
    yield rewrite(relu(x) - relu(x - c), bounds, is_float(x), fits(c, x), because="a Clip is one node")


@hosted()
def between_zero_and(c: Fact) -> Settings | None:
    return None if c.splat is None else (("max", float(c.splat)), ("min", 0.0))


@wrong("reassociates", lambda g: unary("LeakyRelu", (("alpha", 0.25),), -g.input((2, 5))))
def leaky_relu_of_negated(x: Tensor, s: Settings):
    """LeakyRelu(-x) = -LeakyRelu(x)

    Wrong: which half is scaled changes.
    """
    yield equal(unary("LeakyRelu", s, -x), -unary("LeakyRelu", s, x))


@wrong("finite", lambda g: variadic("Min", listed(-g.input((5,)), -g.input((5,)))))
def least_of_negated(x: Tensor, y: Tensor):
    """Min(-x, -y) = -Min(x, y)

    Wrong: it is -Max(x, y).
    """
    yield rewrite(variadic("Min", listed(-x, -y)), -variadic("Min", listed(x, y)), because="one Neg less")


@wrong("bitwise", lambda g: g.constant(np.float32(3.0)) - g.input((2, 5)))
def number_less_something(x: Tensor, c: Tensor):
    """c - x = x + (-c) for a constant c

    Wrong in the sign of the whole.
    """
    yield rewrite(c - x, x + (-c), is_one_number(c), because="sums have their constants on the right")
