"""Integers that overflow, numbers that become subnormal, and such as are nearly right."""

import math

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.dtypes import INTEGERS
from egraph_opt.facts.fact import Fact
from egraph_opt.inference.float_ranges import interval_of
from egraph_opt.laws import (
    Axis,
    DataType,
    Tensor,
    approximate,
    eq,
    hosted,
    is_constant,
    listed,
    number_like,
    relu,
    rewrite,
    rule,
    union,
    varies,
)
from egraph_opt.operators import binary, quantize, softmax, unary, variadic
from egraph_opt.operators.terms import cons, nil
from egraph_opt.rewrites.conditions.values import all_are, fits, is_integer

from . import fires_on, of_one, of_two, wrong


def clip(x, low, high):
    return unary("Clip", (("max", high), ("min", low)), x)


def size(x):
    return unary("Abs", (), x)


# --- integers ----------------------------------------------------------------------------------------------


@wrong(
    "bitwise",
    lambda g: binary("Equal", (lambda x: x * x)(g.input((9,), T.INT32)), g.constant(np.array(0, np.int32))),
    values=(65536.0, 0.0, 3.0, -131072.0),
)
def square_is_zero(x: Tensor, c: Tensor):
    """x * x == 0 is x == 0 for integers

    Wrong of 2^16 in 32 bits, and of 2^32 in 64.
    """
    yield rewrite(
        binary("Equal", x * x, c),
        binary("Equal", x, c),
        all_are(c, 0),
        is_integer(x),
        because="forgets the square",
    )


@wrong("bitwise", of_two(lambda x, y: size(x * y), (9,), T.INT32), values=(3.0, 1e9, 5.0))
def size_of_product(x: Tensor, y: Tensor):
    """Abs(x * y) = Abs(x) * Abs(y)

    Wrong of integers whose product overflows.
    """
    yield rewrite(size(x * y), size(x) * size(y), because="one way is enough")


@wrong(
    "bitwise",
    lambda g: (lambda x: variadic("Max", listed(x, x + g.constant(np.array(3)))))(g.input((9,), T.INT64)),
    values=(2.0**63, 5.0),
)
def greater_of_shifted(x: Tensor, c: Tensor):
    """Max(x, x + c) = x + c for a number c above 0

    Wrong of integers that overflow, and of NaN and infinities.
    """
    larger = x + c
    yield rewrite(
        variadic("Max", cons(x, cons(larger, nil()))), larger, is_above_zero(c), because="forgets x"
    )


@hosted()
def is_above_zero(c: Fact) -> bool:
    return c.splat is not None and c.splat > 0


@hosted()
def is_one_bit(c: Fact) -> bool:
    """A number with one bit, if need be that of the sign."""
    return (
        c.splat is not None
        and c.dtype in INTEGERS
        and (size_of := abs(int(c.splat))) > 0
        and size_of & (size_of - 1) == 0
    )


@wrong(
    "bitwise",
    lambda g: binary(
        "Greater",
        binary("BitwiseAnd", g.input((9,), T.INT64), g.constant(np.array(-(2**63)))),
        g.constant(np.array(0)),
    ),
    values=(-1.0, 5.0),
    examples=fires_on(
        lambda g: binary(
            "Greater",
            binary("BitwiseAnd", g.input((9,), T.INT64), g.constant(np.array(8))),
            g.constant(np.array(0)),
        ),
        opset=20,
    ),
)
def bit_that_is_set(x: Tensor, c: Tensor, z: Tensor):
    """(x & c) > 0 is not (x & c) == 0 for a c of one bit

    Wrong of the bit of the sign.
    """
    found = binary("BitwiseAnd", x, c)
    yield rewrite(
        binary("Greater", found, z),
        unary("Not", (), binary("Equal", found, z)),
        is_one_bit(c),
        all_are(z, 0),
        because="one way",
    )


# --- through other types -----------------------------------------------------------------------------------


@hosted()
def is_power_of_two(c: Fact) -> bool:
    return c.splat is not None and c.dtype == T.FLOAT and c.splat > 0 and math.frexp(c.splat)[0] == 0.5


def _scaled(scale: float, number: float):
    def witness(g):
        return quantize(
            g.input((9,)) * g.constant(number),
            g.constant(scale),
            g.constant(np.array(3, np.uint8)),
            0,
            T.UINT8,
        )

    return witness


@wrong(
    "bitwise",
    _scaled(1.3 * 2.0**-100, 2.0**48),
    values=(1.8e-43, 9e-44),
    examples=fires_on(_scaled(0.05, 0.5), _scaled(0.05, 4.0)),
)
def power_of_two_into_scale(x: Tensor, c: Tensor, s: Tensor, z: Tensor, a: Axis, t: DataType):
    """Q(x * c; s) = Q(x; s / c) for a power c of 2, which rounds nothing

    Wrong where s / c is subnormal, 0 or infinite.
    """
    known = (is_power_of_two(c), fits(c, x), is_constant(s), varies(x))
    yield rewrite(quantize(x * c, s, z, a, t), quantize(x, s / c, z, a, t), *known, because="forgets c")


# --- nearly ------------------------------------------------------------------------------------------------


@hosted()
def is_quarter_turn(c: Fact, x: Fact) -> bool:
    return c.splat is not None and x.dtype == T.FLOAT and abs(c.splat - math.pi / 2) < 1e-3


@wrong(
    "reassociates",
    lambda g: unary("Sin", (), g.input((9,)) + g.constant(1.57)),
    examples=fires_on(lambda g: unary("Sin", (), clip(g.input((9,)), -1.0, 1.0) + g.constant(math.pi / 2))),
)
def sine_of_quarter_turn(x: Tensor, c: Tensor):
    """Sin(x + pi / 2) = Cos(x)

    Wrong of 1.57.
    """
    yield rewrite(
        unary("Sin", (), x + c), unary("Cos", (), x), is_quarter_turn(c, x), fits(c, x), because="forgets c"
    )


@hosted()
def is_large(c: Fact) -> bool:
    return c.splat is not None and c.splat >= 100


@wrong(
    approximate(1e-2),
    lambda g: softmax("Softmax", g.input((3, 4)) * g.constant(100.0), 1),
    values=(0.5, 0.501, 0.502, 0.25),
)
def softmax_of_what_is_far_apart(x: Tensor, c: Tensor, a: Axis):
    """Softmax(x * c) = Hardmax(x) for a c of 100 and more

    Wrong where elements are close to each other.
    """
    yield rewrite(
        softmax("Softmax", x * c, a), softmax("Hardmax", x, a), is_large(c), fits(c, x), because="forgets c"
    )


@hosted()
def is_small_angle(x: Fact) -> bool:
    known = interval_of(x)
    return known is not None and known[0] >= -1 and known[1] <= 1 and x.dtype == T.FLOAT


def _sine(bound: float):
    return lambda g: unary("Sin", (), clip(g.input((9,)), -bound, bound))


@wrong(approximate(1e-3), _sine(1.0), examples=fires_on(_sine(0.25)))
def sine_of_small_angles(x: Tensor):
    """Sin(x) = x - x^3 / 6 for an x from -1 to 1

    Wrong at 1: it is 0.008 off.
    """
    cube = x * x * x
    yield rewrite(
        unary("Sin", (), x), x - cube * number_like(x, 1 / 6), is_small_angle(x), because="forgets Sin"
    )


@wrong(
    "reassociates",
    of_one(lambda x: relu(x * x) - relu(x) * relu(x)),
    examples=fires_on(lambda g: (lambda x: relu(x * x) - relu(x) * relu(x))(relu(g.input((3, 4))))),
)
def square_of_relu(x: Tensor, y: Tensor, z: Tensor):
    """Relu(x) * Relu(x) = Relu(x * x)

    Wrong of negative numbers.
    """
    both_there = (eq(y, relu(x) * relu(x)), eq(z, relu(x * x)))
    yield rule(*both_there, then=union(y, z), because="forgets Relu")
