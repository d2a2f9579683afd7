"""Constants that are moderate for a float, and as halves have an inverse, or its square, that is none."""

import math

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Float, Tensor, hosted, number_like, rewrite
from egraph_opt.operators import binary, unary

from . import fires_on, wrong

HALF = TensorProto.FLOAT16
REAL = (TensorProto.FLOAT, TensorProto.DOUBLE, HALF)


@hosted()
def is_scalar(c: Fact) -> bool:
    return c.shape == ()


def number_of(c: Fact) -> float | None:
    return c.splat if isinstance(c.splat, float) and c.const else None


@hosted()
def inverse_of_power(x: Fact, c: Fact) -> Float | None:
    v = number_of(c)
    if v is None or x.dtype not in REAL or not 2.0**-20 <= v <= 2.0**20:
        return None
    return 1.0 / v if math.frexp(v)[0] == 0.5 else None


@wrong(
    "bitwise",
    lambda g: binary("Div", g.input((4,), HALF), g.constant(np.float16(2.0**-17))),
    values=(2.0**-20, -(2.0**-18)),
    examples=fires_on(
        lambda g: binary("Div", g.input((4,)), g.constant(8.0)),
        lambda g: binary("Div", g.input((4,)), g.constant(0.125)),
    ),
)
def divided_by_power(x: Tensor, c: Tensor):
    """x / c = x * (1 / c) for powers of 2 from 2^-20 to 2^20

    Wrong of halves below 2^-15, whose inverse is infinite.
    """
    inverse = number_like(x, inverse_of_power(x, c))
    yield rewrite(binary("Div", x, c), x * inverse, is_scalar(c), because="a product is cheaper")


@hosted()
def inverse_of_number(x: Fact, c: Fact) -> Float | None:
    v = number_of(c)
    return 1 / v if v is not None and 1e-6 < v < 1e6 and x.dtype in REAL else None


@wrong(
    "reassociates",
    lambda g: unary("Reciprocal", (), g.input((4,), HALF) * g.constant(np.float16(1e-5))),
    values=(1000.0, 2000.0, 500.0),
    examples=fires_on(lambda g: unary("Reciprocal", (), g.input((4,)) * g.constant(3.0))),
)
def reciprocal_of_scaled(x: Tensor, c: Tensor):
    """1 / (x c) = (1 / c) (1 / x) for moderate c

    Wrong of halves, where 1 / 1e-5 is infinite.
    """
    inverse = number_like(x, inverse_of_number(x, c))
    left, right = unary("Reciprocal", (), x * c), unary("Reciprocal", (), x) * inverse
    yield rewrite(left, right, is_scalar(c), because="a factor is moved on")


@hosted()
def inverse_square(x: Fact, c: Fact) -> Float | None:
    v = number_of(c)
    return v**-2 if v is not None and 2e-3 < v < 200 and x.dtype in REAL else None


def divided(dtype: int, number: float):
    def make(g):
        c = g.constant(np.asarray(number, np.float16 if dtype == HALF else np.float32))
        return binary("Div", binary("Div", g.input((4,), dtype), c), c)

    return make


@wrong(
    "reassociates",
    divided(HALF, 0.0035),
    values=(0.3, 0.1, 0.2),
    examples=fires_on(divided(TensorProto.FLOAT, 3.0)),
)
def divided_twice(x: Tensor, c: Tensor):
    """x / c / c = x * c^-2 for moderate c

    Wrong of halves, where 1 / 0.0035^2 is infinite.
    """
    factor = number_like(x, inverse_square(x, c))
    yield rewrite(binary("Div", binary("Div", x, c), c), x * factor, is_scalar(c), because="one operator")
