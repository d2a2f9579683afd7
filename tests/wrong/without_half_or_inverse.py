"""Numbers so small that float32 has no half of them, or no inverse: right of ordinary ones."""

import math
from dataclasses import replace

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Number, Settings, String, Tensor, hosted, number_like, rewrite
from egraph_opt.laws.examples import FLOAT
from egraph_opt.operators import GemmSettings, binary, gemm, unary

from . import fires_on, of_one, wrong


@hosted()
def half_of(d: Fact, c: Fact) -> Number | None:
    if (
        c.splat is None
        or d.splat is None
        or d.dtype != FLOAT
        or c.shape != ()
        or d.shape != ()
        or c.splat < 1
        or math.frexp(c.splat)[0] != 0.5
    ):
        return None
    return d.splat / c.splat


def _at_least(c, d):
    return lambda g: binary(
        "GreaterOrEqual", g.input((3,)) * g.constant(np.float32(c)), g.constant(np.float32(d))
    )


@wrong(
    "bitwise",
    _at_least(2.0, 1e-45),
    values=(0.0, 1.0, -1.0),
    examples=fires_on(_at_least(4.0, 3.0), _at_least(2.0, 0.25)),
)
def at_least_a_multiple(x: Tensor, c: Tensor, d: Tensor):
    """x * c >= d is x >= d / c for powers of two from 1 on

    Wrong of the least numbers, which have no half.
    """
    yield rewrite(
        binary("GreaterOrEqual", x * c, d),
        binary("GreaterOrEqual", x, number_like(x, half_of(d, c))),
        because="compared at once",
    )


@hosted()
def narrower(op: String, s: Settings, c: Fact) -> Settings | None:
    if (
        op != "Clip"
        or any(v is None for _, v in s)
        or c.splat is None
        or c.shape != ()
        or c.dtype != FLOAT
        or c.splat < 1
        or math.frexp(c.splat)[0] != 0.5
    ):
        return None
    return tuple((k, None if v is None else v / c.splat) for k, v in s)


def _clipped_after(c, low, high):
    return lambda g: unary("Clip", (("max", high), ("min", low)), g.input((4,)) * g.constant(np.float32(c)))


@wrong(
    "bitwise",
    _clipped_after(2.0, 1e-45, 6.0),
    values=(-1.0, 1.0, 0.0, 5.0),
    examples=fires_on(_clipped_after(2.0, -1.0, 6.0), _clipped_after(4.0, 0.5, 3.0)),
)
def clip_of_doubled(op: String, s: Settings, x: Tensor, c: Tensor):
    """Clip(x * c) = Clip(x; ends / c) * c for powers of two from 1 on

    Wrong of the least end, which has no half.
    """
    yield rewrite(unary(op, s, x * c), unary(op, narrower(op, s, c), x) * c, because="later")


@hosted()
def alpha_of(s: Settings, x: Fact) -> Number | None:
    a = dict(s).get("alpha", 0.0)
    return a if a > 0 and x.dtype == FLOAT else None


@wrong(
    "reassociates",
    of_one(lambda x: unary("Celu", (("alpha", 1e-32),), x), (3,)),
    values=(1e8, 2.0, -1.0),
    examples=fires_on(of_one(lambda x: unary("Celu", (("alpha", 2.0),), x))),
)
def celu_as_elu(x: Tensor, s: Settings):
    """Celu(x; a) = a * Elu(x / a; 1) for a > 0

    Wrong of so small an a that the quotient is infinite.
    """
    n = number_like(x, alpha_of(s, x))
    yield rewrite(unary("Celu", s, x), unary("Elu", (("alpha", 1.0),), x / n) * n, because="one is there")


@hosted()
def inverse_slope(s: Settings, x: Fact) -> Settings | None:
    a = dict(s).get("alpha", 0.0)
    return (("alpha", 1 / a),) if 0 < a < 1 and x.dtype == FLOAT else None


@hosted()
def opposite(s: Settings) -> Number:
    return -dict(s)["alpha"]


@wrong(
    "reassociates",
    of_one(lambda x: unary("LeakyRelu", (("alpha", 1e-40),), x), (2,)),
    values=(1.0, -2.0),
    examples=fires_on(of_one(lambda x: unary("LeakyRelu", (("alpha", 0.25),), x))),
)
def leaky_from_below(x: Tensor, s: Settings):
    """LeakyRelu(x; a) = -a * LeakyRelu(-x; 1 / a) for a > 0

    Wrong of an a so small that there is no inverse.
    """
    yield rewrite(
        unary("LeakyRelu", s, x),
        number_like(x, opposite(s)) * unary("LeakyRelu", inverse_slope(s, x), -x),
        because="of negative numbers",
    )


@hosted()
def without_offset(s: Settings, x: Fact) -> Settings | None:
    how = dict(s)
    return (
        (("alpha", how["alpha"]), ("beta", 0.0))
        if how.get("alpha", 0) > 0 and x.dtype == FLOAT and how["beta"] != 0
        else None
    )


@hosted()
def offset(s: Settings) -> Number | None:
    how = dict(s)
    return how["beta"] / how["alpha"] if how["alpha"] else None


@wrong(
    "reassociates",
    of_one(lambda x: unary("HardSigmoid", (("alpha", 1e-40), ("beta", 0.5)), x), (2,)),
    values=(1.0, -2.0),
    examples=fires_on(of_one(lambda x: unary("HardSigmoid", (("alpha", 0.2), ("beta", 0.5)), x))),
)
def hard_sigmoid_moved(x: Tensor, s: Settings):
    """HardSigmoid(x; a, b) = HardSigmoid(x + b / a; a, 0) for a > 0

    Wrong of so small an a that the quotient is infinite.
    """
    yield rewrite(
        unary("HardSigmoid", s, x),
        unary("HardSigmoid", without_offset(s, x), x + number_like(x, offset(s))),
        because="one",
    )


@hosted()
def factor_of(s: GemmSettings) -> Number:
    return s.alpha


@hosted()
def divided(s: GemmSettings, a: Fact) -> GemmSettings | None:
    return (
        replace(s, alpha=1.0, beta=s.beta / s.alpha)
        if s.alpha not in (0.0, 1.0) and a.dtype == FLOAT
        else None
    )


def _scaled(alpha, beta):
    return lambda g: gemm(g.input((2, 3)), g.input((3, 2)), g.input((2,)), GemmSettings(alpha, beta))


@wrong("reassociates", _scaled(1e-39, 1.0), examples=fires_on(_scaled(0.5, 1.0), _scaled(2.0, 0.5)))
def gemm_scaled_later(a: Tensor, b: Tensor, c: Tensor, s: GemmSettings):
    """Gemm(a, b, c; alpha, beta) = alpha * Gemm(a, b, c; 1, beta / alpha)

    Wrong of so small an alpha that the quotient is infinite.
    """
    yield rewrite(
        gemm(a, b, c, s), number_like(a, factor_of(s)) * gemm(a, b, c, divided(s, a)), because="one"
    )
