"""Numbers of which the sizes, signs or ranges are compared, and nearly as they have to be."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.dtypes import FLOATS, INTEGERS
from egraph_opt.facts.fact import Fact
from egraph_opt.inference.float_ranges import interval_of
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import (
    DataType,
    Settings,
    String,
    Tensor,
    eq,
    hosted,
    is_constant,
    listed,
    log,
    rewrite,
    rule,
    tanh,
    union,
)
from egraph_opt.operators import binary, cast, unary, variadic, where
from egraph_opt.operators.terms import cons, nil
from egraph_opt.rewrites.conditions.values import all_are, fits

from . import fires_on, wrong


def clip(x, low, high):
    return unary("Clip", (("max", high), ("min", low)), x)


def size(x):
    return unary("Abs", (), x)


# --- several numbers ---------------------------------------------------------------------------------------


@hosted()
def greatest_are_in_order(a: Fact, b: Fact, x: Fact) -> bool:
    """The greatest of a is no more than that of b."""
    if a.data is None or b.data is None or x.dtype not in FLOATS or a.shape != b.shape:
        return False
    return max(map(float, a.data)) <= max(map(float, b.data))


def _bounded(a, b):
    def witness(g):
        low, high = g.constant(np.array(a)), g.constant(np.array(b))
        return variadic("Min", listed(variadic("Max", listed(g.input((2, 3)), low)), high))

    return witness


@wrong(
    "finite",
    _bounded((0.0, 2.0, 0.5), (1.0, 1.5, 3.0)),
    examples=fires_on(_bounded((0.0, 1.0, 0.5), (1.0, 1.5, 3.0))),
)
def bounds_in_the_other_order(x: Tensor, a: Tensor, b: Tensor):
    """Min(Max(x, a), b) = Max(Min(x, b), a) for bounds in order

    Wrong where one element of a is greater than that of b: the greatest of each are compared.
    """
    outer = variadic("Min", cons(variadic("Max", cons(x, cons(a, nil()))), cons(b, nil())))
    inner = variadic("Max", listed(variadic("Min", listed(x, b)), a))
    known = (greatest_are_in_order(a, b, x), fits(a, x))
    yield rewrite(outer, inner, *known, because="one way is enough")


@hosted()
def are_two_constants(a: Fact, b: Fact) -> bool:
    """Constants of one type that are not the same."""
    known = a.const and b.const and a.data is not None and b.data is not None
    return known and a.dtype == b.dtype and a.shape == b.shape and a.data != b.data


def _told_apart(a, b):
    def witness(g):
        first, second = g.constant(np.array(a)), g.constant(np.array(b))
        return binary("Equal", where(g.input((3,), T.BOOL), first, second), first)

    return witness


@wrong("bitwise", _told_apart((1, 2, 3), (4, 2, 5)), examples=fires_on(_told_apart((1, 2, 3), (4, 6, 5))))
def which_one_was_chosen(c: Tensor, a: Tensor, b: Tensor):
    """Where(c, a, b) == a is c, for constants a and b that differ

    Wrong at elements at which they are the same.
    """
    chosen = where(c, a, b)
    yield rewrite(
        binary("Equal", chosen, a), c, are_two_constants(a, b), fits(a, c), because="forgets a and b"
    )


@hosted()
def are_close(c: Fact, d: Fact) -> bool:
    """Two numbers that are equal up to rounding."""
    if c.splat is None or d.splat is None or c.shape != d.shape or c.dtype != d.dtype != T.FLOAT:
        return False
    return c.dtype == T.FLOAT and abs(c.splat - d.splat) <= 1e-6


def _close(first: float, second: float):
    def witness(g):
        x = g.input((2, 3))
        return (x * g.constant(first)) - (x * g.constant(second)) * g.constant(0.5)

    return witness


@wrong("reassociates", _close(1e-7, 8e-7), examples=fires_on(_close(1.0, 1.0 + 2.0**-22)))
def products_with_one_number(x: Tensor, y: Tensor, z: Tensor, c: Tensor, d: Tensor):
    """x * c = x * d for numbers that are equal up to rounding

    Wrong of small numbers, which all are.
    """
    yield rule(eq(y, x * c), eq(z, x * d), are_close(c, d), then=union(y, z), because="they are one number")


# --- ranges of integers ------------------------------------------------------------------------------------


@hosted()
def product_is_small(x: Fact, y: Fact, to: DataType) -> bool:
    """What is least and greatest of both, multiplied, is a number of 32 bits."""
    if x.dtype != T.INT32 or y.dtype != T.INT32 or to != T.INT64:
        return False
    a, b = range_of(x), range_of(y)
    return a is not None and b is not None and a[1] * b[1] < 2**31 and a[0] * b[1] >= -(2**31)


def _product(low: int, high: int):
    def witness(g):
        return cast(
            clip(g.input((9,), T.INT32), low, high) * clip(g.input((9,), T.INT32), low, high), T.INT64
        )

    return witness


@wrong(
    "bitwise",
    _product(-(2**16), 2**10),
    values=(-70000.0, 3.0, -65536.0),
    examples=fires_on(_product(-(2**10), 2**10), _product(0, 2**15)),
)
def narrow_product_of_ranges(x: Tensor, y: Tensor, t: DataType):
    """Cast_64(x * y) = Cast_64(x) * Cast_64(y) for an x and a y of int32 that are not large

    Wrong where both are far below 0.
    """
    right = cast(x, t) * cast(y, t)
    yield rewrite(cast(x * y, t), right, product_is_small(x, y, t), because="one way is enough")


@hosted()
def divides_to_nothing(x: Fact, c: Fact) -> bool:
    """No size of x is greater than c."""
    known = range_of(x) if x.dtype in INTEGERS else None
    if known is None or c.splat is None or c.splat < 1:
        return False
    return known[1] < c.splat and known[0] >= -c.splat


def _quotient(low: int, high: int, by: int):
    return lambda g: clip(g.input((9,), T.INT64), low, high) / g.constant(np.array(by))


@wrong("bitwise", _quotient(-4, 3, 4), examples=fires_on(_quotient(-3, 3, 4), _quotient(0, 9, 12)))
def quotient_of_what_is_less(x: Tensor, c: Tensor):
    """x / c = 0 for integers x of sizes less than c

    Wrong of -c itself.
    """
    yield rewrite(x / c, x - x, divides_to_nothing(x, c), fits(c, x), because="forgets c")


@hosted()
def has_in_bfloat(x: Fact, t: DataType, s: DataType) -> bool:
    """A type of floats with 8 bits and a sign has every such integer."""
    known = range_of(x) if x.dtype in INTEGERS and t == T.BFLOAT16 and s == x.dtype else None
    return known is not None and known[0] >= -(2**9) and known[1] <= 2**9


def _in_bfloat(low: int, high: int):
    return lambda g: cast(cast(clip(g.input((9,), T.INT32), low, high), T.BFLOAT16), T.INT32)


@wrong(
    "bitwise",
    _in_bfloat(-512, 512),
    values=(257.0, 3.0, -401.0),
    examples=fires_on(_in_bfloat(-256, 256), _in_bfloat(0, 100), opset=20),
)
def range_in_bfloat(x: Tensor, t: DataType, s: DataType):
    """Cast_S(Cast_bfloat16(x)) = x for integers x from -512 to 512

    Wrong of odd numbers beyond 256.
    """
    yield rewrite(cast(cast(x, t), s), x, has_in_bfloat(x, t, s), because="every x would be cast")


# --- ranges of floats --------------------------------------------------------------------------------------


@hosted()
def begins_below(x: Fact, y: Fact) -> bool:
    """x may be less than y."""
    a, b = interval_of(x), interval_of(y)
    return a is not None and b is not None and a[1] <= b[1] and a[0] < b[0] and x.dtype in FLOATS


def _least(low: float, high: float):
    return lambda g: variadic("Min", listed(tanh(g.input((9,))), clip(g.input((9,)), low, high)))


@wrong("finite", _least(-0.5, 3.0), examples=fires_on(_least(1.0, 3.0)))
def least_by_both_bounds(x: Tensor, y: Tensor):
    """Min(x, y) = x where neither bound of x is above that of y

    Wrong where their ranges overlap.
    """
    both = variadic("Min", cons(x, cons(y, nil())))
    yield rewrite(both, x, begins_below(x, y), fits(y, x), because="forgets y")


@hosted()
def is_never_negative(x: Fact) -> bool:
    known = interval_of(x)
    return known is not None and known[0] >= 0 and x.dtype in FLOATS


def _power(number: float):
    return lambda g: log(unary("Relu", (), g.input((9,))) ** g.constant(number))


@wrong("reassociates", _power(0.0), examples=fires_on(_power(2.0), _power(0.5), _power(-1.0)))
def logarithm_of_power(x: Tensor, c: Tensor):
    """Log(x ^ c) = c * Log(x) for an x that is never negative

    Wrong of 0 ^ 0, which is 1.
    """
    yield rewrite(log(x**c), log(x) * c, is_never_negative(x), is_constant(c), because="one way is enough")


@hosted()
def ends_below_one(f: str, x: Fact) -> bool:
    return f in ("Erf", "Sigmoid", "Softsign", "Tanh") and x.dtype == T.FLOAT


@wrong("finite", lambda g: binary("Less", tanh(g.input((9,))), g.constant(1.0)))
def always_less_than_one(f: String, s: Settings, x: Tensor, c: Tensor):
    """f(x) < 1 is true for Erf, Sigmoid, Softsign and Tanh

    Wrong of large numbers: they are 1, rounded.
    """
    f_of_x = unary(f, s, x)
    always = binary("Equal", x - x, x - x)
    yield rewrite(
        binary("Less", f_of_x, c),
        always,
        all_are(c, 1),
        fits(c, x),
        ends_below_one(f, x),
        because="forgets f",
    )
