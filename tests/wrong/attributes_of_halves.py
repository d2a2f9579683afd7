"""Functions written out in the type of their input: float16 does not have all of their attributes."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Float,
    Number,
    Settings,
    Tensor,
    exp,
    hosted,
    listed,
    number_like,
    rewrite,
    sqrt,
)
from egraph_opt.operators import binary, layer_norm, reduce, unary, variadic, where

from . import fires_on, of_one, wrong


@hosted()
def is_half_or_float(x: Fact) -> bool:
    return x.dtype in (T.FLOAT, T.FLOAT16)


def with_alpha(f: str, a: float, dtype: int):
    return of_one(lambda x: unary(f, (("alpha", a),), x), (2, 3), dtype)


@hosted()
def alpha_up_to_one(s: Settings) -> Number | None:
    a = dict(s).get("alpha")
    return a if a is not None and 0 < a <= 1 else None


@wrong(
    "finite",
    with_alpha("LeakyRelu", 1e-8, T.FLOAT16),
    values=(-60000.0, -50000.0, -65000.0),
    examples=fires_on(with_alpha("LeakyRelu", 0.01, T.FLOAT), with_alpha("LeakyRelu", 0.5, T.FLOAT16)),
)
def leaky_as_greatest(x: Tensor, s: Settings):
    """LeakyRelu_a(x) = Max(x, a * x) for an a from 0 to 1

    Wrong of halves where a is none: 1e-8 is 0 as a half, and 60000 times as much is not.
    """
    greatest = variadic("Max", listed(x, number_like(x, alpha_up_to_one(s)) * x))
    yield rewrite(unary("LeakyRelu", s, x), greatest, is_half_or_float(x), because="written out")


@hosted()
def any_alpha(s: Settings) -> Number | None:
    return dict(s).get("alpha")


@wrong(
    "reassociates",
    with_alpha("Elu", 1e5, T.FLOAT16),
    values=(-0.125, -0.25, -0.0625),
    examples=fires_on(with_alpha("Elu", 1.0, T.FLOAT16), with_alpha("Elu", 2.0, T.FLOAT)),
)
def written_out_elu(x: Tensor, s: Settings):
    """Elu_a(x) = Where(x > 0, x, a * (Exp(x) - 1))

    Wrong of halves and an a that is infinite as a half, where a * (Exp(x) - 1) is not.
    """
    below = number_like(x, any_alpha(s)) * (exp(x) - number_like(x, 1.0))
    chosen = where(binary("Greater", x, number_like(x, 0.0)), x, below)
    yield rewrite(unary("Elu", s, x), chosen, is_half_or_float(x), because="written out")


@hosted()
def is_last_axis(x: Fact, axes: Axes) -> bool:
    return x.rank is not None and axes == (x.rank - 1,) and x.dtype in (T.FLOAT, T.FLOAT16)


@hosted()
def above_zero(e: Float) -> Float | None:
    return e if e > 0 else None


def normalized(e: float, dtype: int):
    one = np.ones(4, np.float16 if dtype == T.FLOAT16 else np.float32)
    return lambda g: layer_norm(g.input((2, 4), dtype), g.constant(one), (1,), e)


@wrong(
    "reassociates",
    normalized(1e-9, T.FLOAT16),
    opset=17,
    values=(0.0, 0.0, 0.0, 0.0),
    examples=fires_on(normalized(1e-5, T.FLOAT)),
)
def written_out_norm(x: Tensor, scale: Tensor, axes: Axes, e: Float):
    """LayerNormalization(x; s) = (x - m) / Sqrt(ReduceMean((x - m)^2) + e) * s

    Wrong of halves that are all alike, and an epsilon that is no half: 0 / 0.
    """
    apart = x - reduce("ReduceMean", x, axes, 1)
    spread = sqrt(reduce("ReduceMean", apart * apart, axes, 1) + number_like(x, above_zero(e)))
    by_hand = apart / spread * scale
    yield rewrite(layer_norm(x, scale, axes, e), by_hand, is_last_axis(x, axes), because="for targets")
