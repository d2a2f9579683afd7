"""What laws of this project said of numbers of every type, and some have not: as halves, or in float64."""

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Float, Tensor, hosted, number_like, rewrite
from egraph_opt.operators import GemmSettings, batchnorm, binary, cast, gemm, none, reshape, unary, where
from egraph_opt.rewrites.conditions.channels import known_elements
from egraph_opt.rewrites.conditions.values import is_kernel_float
from egraph_opt.rewrites.normalization.batchnorm import shift_behind

from . import fires_on, wrong

LARGEST_HALF = 65504.0


def _array(numbers: Any, dtype: int) -> Any:
    return np.array(numbers, onnx.helper.tensor_dtype_to_np_dtype(dtype))


def _size(x: Tensor) -> Tensor:
    return unary("Abs", (), x)


@hosted()
def slope_below(c: Fact, d: Fact) -> Float | None:
    """c + d is 1 but for roundings of float32."""
    if c.shape != () or d.shape != () or c.splat is None or d.splat is None:
        return None
    return float(c.splat - d.splat) if abs(c.splat + d.splat - 1) <= 2.0**-22 else None


def sized(c: float, d: float, dtype: int = T.FLOAT):
    def make(g):
        x = g.input((2, 3), dtype)
        return x * g.constant(_array(c, dtype), dtype) + _size(x) * g.constant(_array(d, dtype), dtype)

    return make


@wrong(
    "reassociates",
    sized(0.625 + 2.0**-23, 0.375, T.DOUBLE),
    examples=fires_on(sized(0.625, 0.375), sized(1.5, -0.5)),
)
def sizes_that_add_up_to_one(x: Tensor, c: Tensor, d: Tensor):
    """x * c + Abs(x) * d = PRelu(x, c - d) where c + d is 1

    Wrong in float64, which tells 1 + 2^-23 from it.
    """
    slope, known = number_like(x, slope_below(c, d)), is_kernel_float(x)
    yield rewrite(x * c + _size(x) * d, binary("PRelu", x, slope), known, because="one operator")


@hosted()
def factor_that_fits(s: GemmSettings, b: Fact) -> Float | None:
    """Alpha, where no element of B times it is infinite in 16 bits."""
    largest = max(map(abs, known_elements(b) or ()), default=1.0)
    return s.alpha if s.alpha != 1 and abs(s.alpha) * largest <= LARGEST_HALF else None


@hosted()
def without_alpha(s: GemmSettings) -> GemmSettings:
    return replace(s, alpha=1.0)


def scaled(alpha: float, weight: float, dtype: int = T.FLOAT):
    def make(g):
        w = g.constant(_array([[weight] * 3] * 2, dtype), dtype)
        return gemm(g.input((4, 2), dtype), w, none(), GemmSettings(alpha=alpha))

    return make


@wrong(
    "reassociates", scaled(65530.0, 0.0, T.FLOAT16), examples=fires_on(scaled(2.0, 0.5), scaled(-3.0, 0.0))
)
def alpha_beside_zeros(a: Tensor, b: Tensor, s: GemmSettings):
    """Gemm(A, B; alpha) = Gemm(A, alpha * B) where alpha * B is finite

    Wrong of a B of zeros and an alpha that is infinite as a half.
    """
    scaled_b = b * number_like(b, factor_that_fits(s, b))
    apart = gemm(a, scaled_b, none(), without_alpha(s))
    yield rewrite(gemm(a, b, none(), s), apart, is_kernel_float(b), because="forgets alpha")


@hosted()
def alpha_with(s: GemmSettings, k: Fact) -> GemmSettings | None:
    number = (known_elements(k) or (None,))[0]
    is_one = k.shape is not None and len(k.shape) <= 2 and all(d == 1 for d in k.shape)
    return replace(s, alpha=s.alpha * float(number)) if is_one and number is not None else None


def scaled_rows(k: Any, *rows: int):
    def make(g):
        return gemm(g.input(rows) * g.constant(_array(k, T.FLOAT)), g.random(3, 4), none(), GemmSettings())

    return make


@wrong(
    "reassociates",
    scaled_rows([[2.0]], 3),
    examples=fires_on(scaled_rows(2.0, 2, 3), scaled_rows([3.0], 1, 3)),
)
def factor_of_a_row(a: Tensor, k: Tensor, b: Tensor, s: GemmSettings):
    """Gemm(A * k, B) = Gemm(A, B; alpha * k) for one number k

    Wrong of an A of one axis, which only k makes a matrix.
    """
    yield rewrite(gemm(a * k, b, none(), s), gemm(a, b, none(), alpha_with(s, k)), because="folded")


def chosen_doubles(zero: float):
    def make(g):
        otherwise = g.constant(_array([zero], T.DOUBLE), T.DOUBLE)
        return cast(where(g.constant(_array([1] * 3, T.BOOL)), g.input((3,), T.DOUBLE), otherwise), T.FLOAT)

    return make


@hosted()
def are_doubles(x: Fact, y: Fact) -> bool:
    return x.dtype == y.dtype == T.DOUBLE


@wrong("bitwise", chosen_doubles(-0.0), values=(-1e-300, 1.0, -1.0), examples=fires_on(chosen_doubles(2.0)))
def cast_behind_choice(c: Tensor, x: Tensor, y: Tensor):
    """Cast_float(Where(c, x, y)) = Where(c, Cast_float(x), Cast_float(y)) of doubles

    Wrong in onnxruntime, which takes -0.0 for 0.0 there, of what is so small that float32 has -0.0 for it.
    """
    apart = where(c, cast(x, T.FLOAT), cast(y, T.FLOAT))
    yield rewrite(cast(where(c, x, y), T.FLOAT), apart, are_doubles(x, y), because="moves down")


def shifted_twice(number: float, x: Any):
    def make(g):
        one, bias, zero = (g.constant(_array([n], T.FLOAT16)) for n in (1.0, number, 0.0))
        y = batchnorm(g.constant(_array([[x]], T.FLOAT16)), one, bias, zero, g.input((1,), T.FLOAT16), 0.0)
        return y + g.constant(_array([number], T.FLOAT16))

    return make


@hosted()
def are_not_large(b: Fact, c: Fact) -> bool:
    return b.dtype == c.dtype == T.FLOAT16 and all(
        abs(v) < 1e9 for f in (b, c) for v in known_elements(f) or ()
    )


@wrong(
    "reassociates",
    shifted_twice(4e4, -6e4),
    values=(1.0, 1.5),
    examples=fires_on(shifted_twice(2.0, 1.0), shifted_twice(-3.0, 5.0)),
)
def shift_behind_halves(x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, e: Float, c: Tensor):
    """BatchNormalization(x; s, b, m, v) + c = BatchNormalization(x; s, b + c, m, v)

    Wrong of halves, of which a sum of two that are not large by the measure of float32 is infinite.
    """
    whole = batchnorm(x, s, b + reshape(c, shift_behind(x, s, b, c)), m, v, e)
    yield rewrite(batchnorm(x, s, b, m, v, e) + c, whole, are_not_large(b, c), because="one constant")
