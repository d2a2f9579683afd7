"""Numbers that are equal up to a rounding, of a cast or of a comparison, and count as equal."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import DataType, String, Tensor, hosted, rewrite
from egraph_opt.operators import binary, cast, unary
from egraph_opt.rewrites.conditions.values import fits

from . import fires_on, of_one, wrong


@hosted()
def is_one_up_to_rounding(c: Fact, x: Fact) -> bool:
    return c.splat is not None and x.dtype == T.FLOAT and abs(c.splat - 1) <= 5e-6


def scaled_by(c: float):
    return lambda g: g.input((2, 3)) * g.constant(np.float32(c))


@wrong("finite", scaled_by(1 + 4.5e-6), examples=fires_on(scaled_by(1.0)))
def factor_of_one_up_to_rounding(x: Tensor, c: Tensor):
    """x * c = x for a c that is 1 up to rounding

    Wrong of 1.0000045, which is forty roundings off.
    """
    yield rewrite(x * c, x, is_one_up_to_rounding(c, x), fits(c, x), because="forgets c")


@hosted()
def is_about_two(c: Fact, x: Fact) -> bool:
    if c.splat is None or c.shape != () or not c.dtype == x.dtype == T.FLOAT:
        return False
    return abs(c.splat - 2) <= 2e-5


def to_the(c: float):
    return lambda g: binary("Pow", g.input((2, 3)), g.constant(np.float32(c)))


@wrong("finite", to_the(2.00001), values=(1000.0, 2.0, 3.0, 7000.0), examples=fires_on(to_the(2.0)))
def power_of_about_two(x: Tensor, c: Tensor):
    """Pow(x, c) = x * x for a c of 2, up to rounding

    Wrong of 2.00001 and large x; and below zero, where that is NaN.
    """
    yield rewrite(binary("Pow", x, c), x * x, is_about_two(c, x), because="forgets c")


@hosted()
def are_equal_numbers(c: Fact, d: Fact) -> bool:
    if not c.const or not d.const or c.splat is None or d.splat is None:
        return False
    return float(c.splat) == float(d.splat)


@hosted()
def is_integer_kind(x: Fact) -> bool:
    return x.dtype in (T.INT32, T.INT64)


def plus_and_minus(c: int, d: int):
    return lambda g: (g.input((5,), T.INT64) + g.constant(np.int64(c))) - g.constant(np.int64(d))


@wrong("bitwise", plus_and_minus(2**55 + 3, 2**55 + 1), examples=fires_on(plus_and_minus(8, 8)))
def there_and_back(x: Tensor, c: Tensor, d: Tensor):
    """(x + c) - d = x for one number c and d, integers

    Wrong of integers beyond 2^53 that are compared as floats.
    """
    known = (are_equal_numbers(c, d), fits(c, x), fits(d, x), is_integer_kind(x))
    yield rewrite((x + c) - d, x, known, because="forgets c")


@hosted()
def widens_integers(x: Fact, t: DataType, s: DataType) -> bool:
    return x.dtype in (T.INT32, T.INT64) and t == T.DOUBLE and s == T.FLOAT


@hosted()
def is_exact_sign(f: str) -> bool:
    return f in ("Abs", "Neg")


def by_double(f: str, dtype: int):
    return of_one(lambda x: cast(unary(f, (), cast(x, T.DOUBLE)), T.FLOAT), (4,), dtype)


@wrong(
    "bitwise",
    by_double("Abs", T.INT64),
    values=(2**60 + 2**36 + 1, 5, -7, 2**60 + 2**36 + 3),
    examples=fires_on(by_double("Abs", T.INT32), by_double("Neg", T.INT32)),
)
def float_by_way_of_double(f: String, x: Tensor, t: DataType, s: DataType):
    """Cast_float(f(Cast_double(x))) = f(Cast_float(x)) for integers, Abs and Neg

    Wrong of int64 just above the middle of two floats: double makes it the middle.
    """
    left, once = cast(unary(f, (), cast(x, t)), s), unary(f, (), cast(x, s))
    yield rewrite(left, once, widens_integers(x, t, s), is_exact_sign(f), because="forgets t")
