"""What is computed on the way to a result is infinite, though neither operands nor the result are: powers,
products, exponentials, and constants in a type that does not have them."""

import math

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    DataType,
    Flag,
    Int,
    Number,
    Tensor,
    approximate,
    exp,
    hosted,
    number_like,
    rewrite,
    tanh,
)
from egraph_opt.operators import PoolWindow, cast, lp_pool, reduce

from . import fires_on, is_single, of_one, wrong


def number(c: Fact, least: float, greatest: float) -> float | None:
    """The one number that c is, if its size is between those two."""
    if c.splat is None or c.shape != () or not least <= abs(c.splat) <= greatest:
        return None
    return float(c.splat)


# --- powers, and products of many -------------------------------------------------------------------------


@hosted()
def power_of_count(c: Fact, x: Fact, a: Axes) -> Number | None:
    """c to the power of how many elements are multiplied."""
    factor = number(c, 0.5, 2.0)
    if factor is None or factor < 0 or x.dtype != T.FLOAT or x.shape is None or not x.is_static:
        return None
    return float(factor ** math.prod(x.shape[k] for k in a))  # type: ignore[misc]


def _product(count):
    return lambda g: reduce("ReduceProd", g.input((count,)) * g.constant(2.0), (0,), 1)


@wrong("reassociates", _product(200), values=(0.5, 0.5, 0.5), examples=fires_on(_product(3)))
def product_of_multiples(x: Tensor, c: Tensor, a: Axes, k: Flag):
    """ReduceProd(c x) = c^n ReduceProd(x) of n elements

    Wrong where c^n is infinite: of 128 elements and more.
    """
    factor = number_like(x, power_of_count(c, x, a))
    yield rewrite(
        reduce("ReduceProd", x * c, a, k), reduce("ReduceProd", x, a, k) * factor, because="factors move down"
    )


@hosted()
def power_of_number(c: Fact, n: Fact, x: Fact) -> Number | None:
    """c^n for a whole n of at most 6."""
    factor, exponent = number(c, 1e-3, 1.0), number(n, 1.0, 6.0)
    if factor is None or exponent is None or x.dtype != T.FLOAT or n.dtype != T.FLOAT:
        return None
    return factor**exponent if min(factor, exponent) > 0 and exponent.is_integer() else None


def _power(factor, exponent):
    return lambda g: (g.input((3,)) * g.constant(np.float32(factor))) ** g.constant(np.float32(exponent))


@wrong("reassociates", _power(1e-3, 5.0), values=(1e8, -2e8, 1.0), examples=fires_on(_power(0.5, 3.0)))
def power_of_scaled(x: Tensor, c: Tensor, n: Tensor):
    """(c x) ^ n = c^n x^n for a whole n of at most 6, and a c from 0.001 to 1

    Wrong where x^n is infinite, as of 1e8 and 5.
    """
    scaled = x**n * number_like(x, power_of_number(c, n, x))
    yield rewrite((x * c) ** n, scaled, because="factors move down")


@hosted()
def is_small_factor(c: Fact, x: Fact) -> bool:
    factor = number(c, 1e-3, 1.0)
    return factor is not None and factor > 0 and x.dtype == T.FLOAT


def _norm(p, factor):
    window = PoolWindow((2,), (2,), (0, 0), (1,))
    return lambda g: lp_pool(p, g.input((1, 1, 4)) * g.constant(np.float32(factor)), window)


@wrong(
    "reassociates",
    _norm(6, 1e-3),
    values=(1e8, 2e7, 1e6, 1e8),
    examples=fires_on(_norm(2, 0.5), _norm(1, 0.5)),
)
def norm_of_scaled_window(p: Int, x: Tensor, c: Tensor, u: PoolWindow):
    """LpPool(c x) = c LpPool(x) for a c from 0.001 to 1

    Wrong where a power of x is infinite, of p = 6 and more.
    """
    scaled = lp_pool(p, x, u) * c
    yield rewrite(lp_pool(p, x * c, u), scaled, is_small_factor(c, x), because="factors move down")


# --- constants in a narrower type -------------------------------------------------------------------------


@hosted()
def is_factor_of_doubles(c: Fact, x: Fact, t: DataType) -> bool:
    return (x.dtype, t) == (T.DOUBLE, T.FLOAT) and number(c, 1e-30, math.inf) is not None


def _narrowed_product(factor):
    def witness(g):
        double = g.constant(np.array(factor, np.float64), T.DOUBLE)
        return cast(g.input((3,), T.DOUBLE) * double, T.FLOAT)

    return witness


@wrong(
    "reassociates",
    _narrowed_product(1e40),
    values=(1e-5, -2e-6, 3e-5),
    examples=fires_on(_narrowed_product(0.5)),
)
def product_in_float(x: Tensor, c: Tensor, t: DataType):
    """Cast_float(c x) = Cast_float(c) Cast_float(x) of a double c that is not too small

    Wrong of a c that is infinite in float32.
    """
    narrow = cast(x, t) * cast(c, t)
    yield rewrite(cast(x * c, t), narrow, is_factor_of_doubles(c, x, t), because="casts move up")


@hosted()
def is_divisor_of_floats(c: Fact, x: Fact, t: DataType) -> bool:
    return (x.dtype, t) == (T.FLOAT, T.FLOAT16) and number(c, 1e-4, math.inf) is not None


def _narrowed_quotient(divisor):
    def witness(g):
        floats = cast(g.input((3,), T.FLOAT16), T.FLOAT)
        return cast(floats / g.constant(np.float32(divisor)), T.FLOAT16)

    return witness


@wrong(
    "reassociates",
    _narrowed_quotient(1e5),
    values=(20000.0, 30000.0, 10000.0),
    examples=fires_on(_narrowed_quotient(0.5)),
)
def quotient_in_half(x: Tensor, c: Tensor, t: DataType):
    """Cast_half(x / c) = Cast_half(x) / Cast_half(c) for a number c that is not too small

    Wrong of a c that is infinite in float16.
    """
    narrow = cast(x, t) / cast(c, t)
    yield rewrite(cast(x / c, t), narrow, is_divisor_of_floats(c, x, t), because="casts move up")


# --- exponentials -----------------------------------------------------------------------------------------


@wrong(
    approximate(1e-3),
    of_one(tanh, (2, 3)),
    values=(-20.0, 45.0, 0.5, 50.0),
    examples=fires_on(of_one(tanh, (2, 3))),
)
def tanh_by_exp(x: Tensor):
    """Tanh(x) = (Exp(2x) - 1) / (Exp(2x) + 1), up to 1e-3

    Wrong where Exp(2x) is infinite: x above 44.4.
    """
    power, one = exp(x * number_like(x, 2.0)), number_like(x, 1.0)
    yield rewrite(tanh(x), (power - one) / (power + one), is_single(x), because="primitives")
