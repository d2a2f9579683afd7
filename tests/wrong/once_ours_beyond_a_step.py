"""What laws of this project said where a step on the way overflows, underflows, or is not there."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Float, Tensor, exp, hosted, log, rewrite, sqrt
from egraph_opt.laws.algebra import number_like, reciprocal
from egraph_opt.operators import batchnorm, reduce, reshape
from egraph_opt.rewrites.conditions.channels import channel_dims
from egraph_opt.rewrites.normalization.batchnorm import shift_behind

from . import fires_on, is_single, of_one, wrong

HUGE = 3e38


@wrong("reassociates", of_one(lambda x: log(exp(x)), (3,)), values=(-100.0, -101.0, -102.5))
def logarithm_of_any_exponential(x: Tensor):
    """Log(Exp(x)) = x

    Wrong below -88, where Exp has few digits, or none.
    """
    yield rewrite(log(exp(x)), x, is_single(x), because="every x would be a logarithm")


@hosted()
def are_alike(x: Fact, c: Fact) -> bool:
    return x.dtype == c.dtype == T.FLOAT and x.rank == 2 and x.shape == c.shape


def _shifted(g):
    shift, weight = np.full((2, 2), -1.0, np.float32), np.full((2, 2), HUGE, np.float32)
    return (g.input((2, 2)) + g.constant(shift)) @ g.constant(weight)


@wrong("reassociates", _shifted, values=(1.1,))
def product_of_any_sum(x: Tensor, c: Tensor, w: Tensor):
    """(x + c) @ W = x @ W + c @ W

    Wrong where the product of two constants is infinite.
    """
    yield rewrite((x + c) @ w, x @ w + c @ w, are_alike(x, c), because="apart")


@hosted()
def are_of_type(x: Fact, s: Fact, b: Fact, m: Fact, v: Fact) -> bool:
    return all(p.rank == 1 and p.const and p.dtype == x.dtype for p in (s, b, m, v))


def _of_no_variance(g):
    s, b, m, v = (g.constant(np.full(2, n, np.float16)) for n in (-32, 0, -20, 0))
    return batchnorm(g.input((1, 2, 3), T.FLOAT16), s, b, m, v, 1e-5)


@wrong("reassociates", _of_no_variance, values=(-20.5, -18.0, -21.5))
def any_batchnorm_apart(x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, e: Float):
    """BatchNormalization(x; s, b, m, v) = x * k + (b - m * k) with k = s / sqrt(v + e)

    Wrong of halves where m * k is infinite.
    """
    k, d = s / sqrt(v + number_like(v, e)), channel_dims(x, s)
    whole = x * reshape(k, d) + reshape(b - m * k, d)
    yield rewrite(batchnorm(x, s, b, m, v, e), whole, are_of_type(x, s, b, m, v), because="apart")


def _twice(g):
    x, c = g.input((3,)), g.constant(np.full(3, HUGE, np.float32))
    return x * c + x * c


@wrong("reassociates", _twice, values=(0.3,))
def sum_of_any_factors(x: Tensor, c: Tensor):
    """x * c + x * c = x * (c + c)

    Wrong of a constant of which twice as much is infinite.
    """
    yield rewrite(x * c + x * c, x * (c + c), are_factors(x, c), because="merged")


@hosted()
def are_factors(x: Fact, c: Fact) -> bool:
    return c.const and x.dtype == c.dtype == T.FLOAT and x.rank == 1 and x.shape == c.shape


def _root(x: Tensor, e: Tensor) -> Tensor:
    return reciprocal(sqrt(reduce("ReduceMean", x * x, (0,), 1) + e))


def _behind_root(least, scale):
    def witness(g):
        x = g.input((3,))
        return x * _root(x, g.constant(np.float32(least))) * g.constant(np.float32(scale))

    return witness


@wrong("reassociates", _behind_root(1e-38, 1e25), values=(1e-30,), examples=fires_on(_behind_root(1e-5, 0.5)))
def any_scale_beside_root(x: Tensor, e: Tensor, c: Tensor):
    """(x * r) * c = x * (r * c) where r = 1 / Sqrt(ReduceMean(x * x) + e)

    Wrong of a large c where x is 0, and r as large as a tiny e makes it.
    """
    root = _root(x, e)
    yield rewrite(x * root * c, x * (root * c), are_numbers(x, e, c), because="one order of many")


@hosted()
def are_numbers(x: Fact, e: Fact, c: Fact) -> bool:
    known = e.splat is not None and e.splat > 0 and c.splat is not None
    return known and x.rank == 1 and x.dtype == e.dtype == c.dtype == T.FLOAT


def _shifted_twice(g):
    s, b, m, v = (g.constant(np.full(2, n, np.float32)) for n in (-2e38, 2e38, 0, 1))
    return batchnorm(g.input((1, 2, 3)), s, b, m, v, 1e-5) + g.constant(np.full((2, 1), 2e38, np.float32))


@wrong("reassociates", _shifted_twice, values=(1.0, 1.1, 0.9))
def shift_behind_any_batchnorm(x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, e: Float, c: Tensor):
    """BatchNormalization(x; s, b, m, v) + c = BatchNormalization(x; s, b + c, m, v)

    Wrong where b + c is infinite, and s * x takes as much away.
    """
    whole = batchnorm(x, s, b + reshape(c, shift_behind(x, s, b, c)), m, v, e)
    yield rewrite(batchnorm(x, s, b, m, v, e) + c, whole, are_of_type(x, s, b, m, v), because="one constant")


@hosted()
def scales_rows(s: Fact, c: Fact) -> bool:
    """Their product overflows nowhere, as far as the elements are known."""
    known = s.data, c.data
    if None in known:
        return s.dtype == c.dtype == T.FLOAT and s.shape == c.shape
    return all(abs(a * b) < HUGE for a, b in zip(*known, strict=True))  # type: ignore[arg-type, operator]


def _scaled(number: float):
    return lambda g: (g.input((2, 3)) * g.input((3,))) * g.constant(np.full(3, number))


@wrong("reassociates", _scaled(HUGE), values=(0.01, 2.0, 10.0), examples=fires_on(_scaled(1.5)))
def scales_of_which_one_is_known(x: Tensor, s: Tensor, c: Tensor):
    """(x * s) * c = x * (s * c), where no product of known elements overflows

    Wrong where c is very large, and nobody knows s.
    """
    yield rewrite((x * s) * c, x * (s * c), scales_rows(s, c), because="either way")
