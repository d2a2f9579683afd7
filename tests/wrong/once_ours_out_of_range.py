"""What laws of this project said of constants near the end of their type, which overflow once combined, and
of zeros below 0."""

from dataclasses import replace

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.dtypes import KERNEL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Dims, Float, Slices, Tensor, guard, hosted, ne, relu, rewrite
from egraph_opt.laws.algebra import number_like
from egraph_opt.operators import (
    ConvWindow,
    GemmSettings,
    binary,
    conv,
    gemm,
    none,
    reshape,
    slice_,
    softmax,
    unary,
    where,
)
from egraph_opt.rewrites.conditions.values import any_varies, broadcasts_into

from . import fires_on, wrong

HUGE = 3e38
PLAIN = ConvWindow((1, 1), (0, 0, 0, 0), (1, 1))


def absolute(x):
    return unary("Abs", (), x)


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


def shifted_image(number: float):
    def make(g):
        shift, weight = g.constant(np.ones((1, 2, 2, 2))), g.constant(np.full((2, 2, 1, 1), number))
        return conv(g.input((1, 2, 2, 2)) + shift, weight, none(), PLAIN)

    return make


@wrong(
    "reassociates", shifted_image(HUGE), values=(-0.75, -1.25, -1.0), examples=fires_on(shifted_image(0.5))
)
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


@hosted()
def are_known_points(v: Fact, w: Fact) -> bool:
    """Constant kernels of one pixel, of which no element of one is infinite times one of the other."""
    shapes = (v.shape, w.shape)
    known = v.const and w.const and all(s is not None and s[2:] == (1, 1) for s in shapes)
    return known and v.splat is not None and w.splat is not None and abs(v.splat * w.splat) <= 3.4e38


@hosted()
def rows(w: Fact) -> Dims | None:
    return None if w.shape is None else w.shape[:2]


@hosted()
def of_points(v: Fact, w: Fact) -> Dims | None:
    return None if v.shape is None or w.shape is None else (w.shape[0], v.shape[1], 1, 1)


def _points(large: float):
    def witness(g):
        first, second = g.constant(np.full((3, 2, 1, 1), large)), g.constant(np.ones((4, 3, 1, 1)))
        return conv(conv(g.input((1, 2, 2, 2)), first, none(), PLAIN), second, none(), PLAIN)

    return witness


@wrong("reassociates", _points(HUGE), values=(1e-3, 2e-3, -1e-3), examples=fires_on(_points(0.5)))
def point_of_point(x: Tensor, v: Tensor, w: Tensor):
    """Conv(Conv(x, V), W) = Conv(x, W @ V) for kernels of one pixel

    Wrong where a sum of products is infinite, none of which is.
    """
    kernel = reshape(reshape(w, rows(w)) @ reshape(v, rows(v)), of_points(v, w))
    two = conv(conv(x, v, none(), PLAIN), w, none(), PLAIN)
    yield rewrite(two, conv(x, kernel, none(), PLAIN), are_known_points(v, w), because="forgets V and W")


@hosted()
def is_one_number(m: Fact) -> bool:
    return m.const and m.shape == ()


@wrong(
    "reassociates",
    lambda g: softmax("Softmax", g.input((2, 3)) - g.constant(HUGE), 1),
    values=(0.5, 1.0, 3.0),
)
def shift_that_is_a_mask(x: Tensor, m: Tensor, k: Axis):
    """Softmax(x - m) = Softmax(x) for a number m

    Wrong where m is so large that nothing is left of x.
    """
    yield rewrite(
        softmax("Softmax", x - m, k), softmax("Softmax", x, k), is_one_number(m), because="forgets m"
    )


@hosted()
def are_cut_in_question_only(s: Slices, c: Fact, x: Fact, y: Fact) -> bool:
    cut = {entry[0] for entry in s}
    return c.rank == x.rank == 3 and cut == {2} and x.shape is not None and x.shape[2] == 1 and y.shape == ()


def _chosen(dims: tuple[int, ...], of: float):
    return lambda g: slice_(where(g.input(dims, T.BOOL), g.input((1, 2, 1)), g.constant(of)), ((2, 0, 1, 1),))


@wrong(
    "bitwise", _chosen((4, 1, 5), 0.0), values=(1.0, -0.0, -0.0), examples=fires_on(_chosen((3, 1, 4), 1.0))
)
def cut_of_choice(c: Tensor, x: Tensor, y: Tensor, s: Slices):
    """Slice(Where(c, x, y)) = Where(Slice(c), x, y)

    Wrong of bits: whether -0.0 stays -0.0 depends, in onnxruntime, on how the operands are broadcast.
    """
    known = are_cut_in_question_only(s, c, x, y)
    yield rewrite(slice_(where(c, x, y), s), where(slice_(c, s), x, y), known, because="sinks")
