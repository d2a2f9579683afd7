"""What laws of this project said of constants near the end of their type, which overflow once combined."""

from dataclasses import replace

import numpy as np

from egraph_opt.facts.dtypes import KERNEL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Float, Tensor, guard, hosted, ne, relu, rewrite
from egraph_opt.laws.algebra import number_like
from egraph_opt.operators import ConvWindow, GemmSettings, binary, conv, gemm, none, unary
from egraph_opt.rewrites.conditions.values import any_varies, broadcasts_into

from . import fires_on, wrong

HUGE = 3e38


def absolute(x):
    return unary("Abs", (), x)


PLAIN = ConvWindow((1, 1), (0, 0, 0, 0), (1, 1))


@hosted()
def alpha_of(s: GemmSettings) -> Float | None:
    return s.alpha if s.alpha != 1 else None


@hosted()
def without_alpha(s: GemmSettings) -> GemmSettings:
    return replace(s, alpha=1.0)


@hosted()
def is_known_factor(b: Fact) -> bool:
    return b.const and b.rank == 2


@wrong(
    "reassociates",
    lambda g: gemm(g.input((3, 2)), g.constant(np.full((2, 3), HUGE)), none(), GemmSettings(alpha=2.0)),
    values=(1e-3, 2e-3, -1e-3),
)
def alpha_into_factor(a: Tensor, b: Tensor, s: GemmSettings):
    """Gemm(A, B; alpha) = Gemm(A, alpha * B) for a constant B

    Wrong where alpha * B is infinite, and A small.
    """
    scaled = gemm(a, b * number_like(b, alpha_of(s)), none(), without_alpha(s))
    yield rewrite(gemm(a, b, none(), s), scaled, is_known_factor(b), because="forgets alpha")


@hosted()
def are_images_alike(x: Fact, y: Fact) -> bool:
    return x.is_static and x.dtype == y.dtype and x.shape == y.shape


def _shifted_image(g):
    shift, weight = g.constant(np.ones((1, 2, 2, 2))), g.constant(np.full((2, 2, 1, 1), HUGE))
    return conv(g.input((1, 2, 2, 2)) + shift, weight, none(), PLAIN)


@wrong("reassociates", _shifted_image, values=(-0.75, -1.25, -1.0))
def image_and_shift(x: Tensor, y: Tensor, w: Tensor, u: ConvWindow):
    """Conv(x + y, W) = Conv(x, W) + Conv(y, W), not both constant

    Wrong of a constant y where a sum of y * W is infinite, which x + y does not reach.
    """
    known = (are_images_alike(x, y), any_varies(x, y), guard(ne(x, y)))
    apart = conv(x, w, none(), u) + conv(y, w, none(), u)
    yield rewrite(conv(x + y, w, none(), u), apart, *known, because="no Add")


@hosted()
def is_slope_for(c: Fact, x: Fact) -> bool:
    return c.const and broadcasts_into(c.shape, x.shape) and x.dtype in KERNEL_FLOATS


@wrong(
    "reassociates",
    lambda g: (lambda x: relu(x) + (x - absolute(x)) * g.constant(HUGE))(g.input((2, 3))),
    values=(-1e-3, 0.5, -2e-3),
    examples=fires_on(lambda g: (lambda x: relu(x) + (x - absolute(x)) * g.constant(0.1))(g.input((2, 3)))),
)
def twice_the_lower_half(x: Tensor, c: Tensor):
    """Relu(x) + (x - |x|) * c = PRelu(x, 2 * c)

    Wrong where 2 * c is infinite.
    """
    spelled = relu(x) + (x - absolute(x)) * c
    sloped = binary("PRelu", x, c * number_like(x, 2.0))
    yield rewrite(spelled, sloped, is_slope_for(c, x), because="one node")
