"""Integers: division truncates, Mod has the sign of its divisor, sums and products wrap."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    DataType,
    Flag,
    Settings,
    Tensor,
    hosted,
    listed,
    number_like,
    relu,
    rewrite,
    sqrt,
)
from egraph_opt.operators import binary, cast, reduce, unary, variadic
from egraph_opt.rewrites.conditions.values import fits, is_integer

from . import of_one, of_two, wrong

LARGE = 2**63 - 1


def mod(x, y):
    return binary("Mod", x, y)


def whole(g, *shape: int, dtype: int = T.INT64):
    return g.input(shape or (2, 5), dtype)


def number(g, value: int):
    return g.constant(np.int64(value))


@hosted()
def are_numbers(a: Fact, b: Fact) -> bool:
    """Two constants, each of one number other than 0."""
    return a.splat not in (None, 0) and b.splat not in (None, 0)


@hosted()
def is_divisor(c: Fact) -> bool:
    return c.splat not in (None, 0)


@wrong("bitwise", lambda g: (lambda c: whole(g) / c * c)(number(g, 3)))
def quotient_times_divisor(x: Tensor, c: Tensor):
    """(x / c) * c = x for a number c

    Wrong of integers, of which the division truncates.
    """
    yield rewrite(x / c * c, x, is_divisor(c), fits(c, x), because="forgets c")


@wrong("bitwise", lambda g: (lambda c: whole(g) * c / c)(number(g, 3)), values=(LARGE, 5))
def product_over_factor(x: Tensor, c: Tensor):
    """(x * c) / c = x for integers and a number c

    Wrong of products that wrap.
    """
    yield rewrite(x * c / c, x, is_divisor(c), is_integer(x), fits(c, x), because="forgets c")


@wrong("reassociates", lambda g: (lambda c: (whole(g) + whole(g)) / c)(number(g, 4)))
def quotient_of_sum(x: Tensor, y: Tensor, c: Tensor):
    """(x + y) / c = x / c + y / c for a number c

    Wrong of integers: both remainders are lost.
    """
    yield rewrite((x + y) / c, x / c + y / c, is_divisor(c), because="the quotients may be there")


@wrong("reassociates", lambda g: whole(g) / number(g, 4))
def division_as_product(x: Tensor, c: Tensor):
    """x / c = x * (1 / c) for a number c

    Wrong of integers: 1 / c is 0.
    """
    yield rewrite(x / c, x * (number_like(c, 1) / c), is_divisor(c), because="Mul is cheaper")


@wrong("reassociates", lambda g: whole(g) * number(g, 3) / number(g, 2))
def factor_and_divisor(x: Tensor, a: Tensor, b: Tensor):
    """(x * a) / b = x * (a / b) for numbers a and b

    Wrong of integers: a / b is truncated first.
    """
    yield rewrite(x * a / b, x * (a / b), are_numbers(a, b), because="one constant for two")


@wrong("bitwise", lambda g: mod(whole(g), number(g, 3)))
def remainder_of_quotient(x: Tensor, c: Tensor):
    """Mod(x, c) = x - (x / c) * c for integers

    Wrong below zero: Mod has the sign of c, and the division truncates.
    """
    yield rewrite(mod(x, c), x - x / c * c, is_integer(x), is_divisor(c), because="Mod is slow")


@wrong("bitwise", lambda g: (lambda c: mod(whole(g) + whole(g), c))(number(g, 3)))
def remainder_of_sum(x: Tensor, y: Tensor, c: Tensor):
    """Mod(x + y, c) = Mod(x, c) + Mod(y, c)

    Wrong where both remainders together are c or more.
    """
    yield rewrite(mod(x + y, c), mod(x, c) + mod(y, c), is_integer(x), because="the remainders may be there")


@hosted()
def divides(a: Fact, b: Fact) -> bool:
    """One of two numbers is a multiple of the other."""
    both = (a.splat, b.splat)
    return None not in both and 0 not in both and (a.splat % b.splat == 0 or b.splat % a.splat == 0)  # type: ignore[operator]


@wrong("bitwise", lambda g: mod(mod(whole(g), number(g, 3)), number(g, 12)))
def remainder_of_remainder(x: Tensor, a: Tensor, b: Tensor):
    """Mod(Mod(x, a), b) = Mod(x, b) where one of a and b is a multiple of the other

    Wrong where b is the multiple: the inner one decides then.
    """
    yield rewrite(mod(mod(x, a), b), mod(x, b), is_integer(x), divides(a, b), because="forgets a")


@wrong("bitwise", lambda g: mod(-whole(g), number(g, 3)))
def remainder_of_negated(x: Tensor, c: Tensor):
    """Mod(-x, c) = -Mod(x, c)

    Wrong: Mod has the sign of c.
    """
    yield rewrite(mod(-x, c), -mod(x, c), is_integer(x), because="signs go down")


@wrong("bitwise", of_one(lambda x: relu(unary("Abs", (), x)), (2, 5), T.INT8), values=(-128, 3))
def relu_of_size(x: Tensor):
    """Relu(Abs(x)) = Abs(x)

    Wrong of the least integer, of which the size is negative.
    """
    size = unary("Abs", (), x)
    yield rewrite(relu(size), size, because="every Abs would be one")


@wrong(
    "bitwise",
    of_two(
        lambda x, y: cast(unary("Floor", (), cast(x, T.FLOAT) / cast(y, T.FLOAT)), T.INT64), dtype=T.INT64
    ),
    values=(7, -2),
)
def floor_division(x: Tensor, y: Tensor, f: DataType, t: DataType):
    """Cast_int(Floor(Cast_float(x) / Cast_float(y))) = x / y for integers of that type

    Wrong below zero, where the division of integers rounds up.
    """
    quotient = cast(unary("Floor", (), cast(x, f) / cast(y, f)), t)
    yield rewrite(quotient, x / y, is_of_type(x, t), is_integer(x), is_integer(y), because="three casts less")


@hosted()
def is_of_type(x: Fact, t: DataType) -> bool:
    return x.dtype == t


@wrong("reassociates", of_two(lambda x, y: reduce("ReduceMean", x + y, (1,), 1), (2, 5), T.INT64))
def mean_of_sum(x: Tensor, y: Tensor, a: Axes, d: Flag):
    """ReduceMean(x + y) = ReduceMean(x) + ReduceMean(y) for operands of one shape

    Wrong of integers, of which each mean is truncated.
    """
    means = reduce("ReduceMean", x, a, d) + reduce("ReduceMean", y, a, d)
    yield rewrite(reduce("ReduceMean", x + y, a, d), means, alike(x, y), because="a mean may be there")


@hosted()
def alike(x: Fact, y: Fact) -> bool:
    return x.is_symbolic and x.shape == y.shape


@hosted()
def shifted(s: Settings, c: Fact) -> Settings | None:
    if c.splat is None or None in dict(s).values():
        return None
    return tuple((name, v + c.splat) for name, v in s)


@wrong(
    "bitwise",
    lambda g: unary("Clip", (("max", 100), ("min", 0)), g.input((2, 5), T.INT8)) + g.constant(np.int8(20)),
    values=(120, 5),
)
def clip_then_shift(x: Tensor, c: Tensor, s: Settings):
    """Clip_ab(x) + c = Clip_(a + c, b + c)(x + c) for integers

    Wrong where x + c wraps.
    """
    inside = unary("Clip", shifted(s, c), x + c)
    yield rewrite(unary("Clip", s, x) + c, inside, is_integer(x), fits(c, x), because="shifts meet")


@wrong("bitwise", lambda g: cast(sqrt(cast((lambda x: x * x)(whole(g)), T.DOUBLE)), T.INT64))
def root_of_whole_square(x: Tensor, f: DataType, t: DataType):
    """Cast_int(Sqrt(Cast_float(x * x))) = x for integers

    Wrong below zero, and of large ones.
    """
    root = cast(sqrt(cast(x * x, f)), t)
    yield rewrite(root, x, is_of_type(x, t), is_integer(x), because="every integer would be a root")


@wrong("bitwise", lambda g: variadic("Max", listed(whole(g), number(g, 3))))
def maximum_as_relu(x: Tensor, c: Tensor):
    """Max(x, c) = Relu(x - c) + c for a number c

    Wrong of large integers, which wrap, and where onnxruntime has no Relu of integers.
    """
    yield rewrite(variadic("Max", listed(x, c)), relu(x - c) + c, is_integer(x), fits(c, x), because="Relu")
