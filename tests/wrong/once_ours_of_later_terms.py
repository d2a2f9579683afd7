"""What laws of this project said until more terms were tried of them: weights that overflow once they are
combined, and a kernel that one float type lacks."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Float, Int, Settings, Tensor, Tensors, hosted, kernel, listed, relu, rewrite
from egraph_opt.laws.algebra import number_like
from egraph_opt.operators import ConvWindow, conv, none, output, recurrent, transpose, unary
from egraph_opt.operators.recurrent import RecurrentLayer
from egraph_opt.operators.terms import cons
from egraph_opt.rewrites.conditions.values import is_kernel_float

from . import fires_on, wrong

HUGE = 3e38
NUMPY = {T.FLOAT: np.float32, T.DOUBLE: np.float64}
PADDED = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1))
FORWARD = RecurrentLayer("RNN", (("direction", "forward"), ("hidden_size", 2)))


@hosted()
def quotient_of(c: Fact, s: Fact) -> Float | None:
    """c / s of two numbers, which is no larger than c."""
    if c.splat is None or s.splat is None or c.shape != () or s.shape != () or not s.splat >= 1:
        return None
    return float(c.splat) / float(s.splat)


@hosted()
def is_constant_float(w: Fact) -> bool:
    return w.const and w.dtype == T.FLOAT


def _below_shift(scale):
    def witness(g):
        weight = g.constant(np.full((2, 1, 3, 3), 2.0))
        x = g.input((1, 1, 4, 4)) * g.constant(scale) + g.constant(0.5)
        return conv(x, weight, none(), PADDED)

    return witness


@wrong("reassociates", _below_shift(HUGE), values=(1e-3, -2e-3, 1e-4), examples=fires_on(_below_shift(1.5)))
def scale_below_shift_into_weight(x: Tensor, s: Tensor, c: Tensor, w: Tensor, u: ConvWindow):
    """Conv(x * s + c, W) = Conv(x + c / s, W * s) for a number s of 1 or more

    Wrong where W * s is infinite.
    """
    shifted = conv(x + number_like(x, quotient_of(c, s)), w * s, none(), u)
    yield rewrite(conv(x * s + c, w, none(), u), shifted, is_constant_float(w), because="c")


@hosted()
def are_matrices(v: Fact, w: Fact) -> bool:
    return v.const and w.const and v.rank == 2 and w.rank == 3 and v.dtype == T.FLOAT


def _projected(number):
    def witness(g):
        y = g.input((2, 1, 6)) @ g.constant(np.ones((6, 3)))
        weights = (g.constant(np.full((1, 2, 3), number)), g.constant(np.ones((1, 2, 2))))
        return output(recurrent(y, listed(*weights, none(), none()), none(), none(), none(), FORWARD), 0)

    return witness


@wrong("reassociates", _projected(HUGE), values=(1e-3, -1e-3, 2e-3), examples=fires_on(_projected(0.5)))
def projection_into_layer(
    x: Tensor, v: Tensor, w: Tensor, rest: Tensors, n: Tensor, h: Tensor, c: Tensor, s: RecurrentLayer, i: Int
):
    """RNN(x @ V; W) = RNN(x; W @ V') for constants V and W

    Wrong where a sum of their products is infinite.
    """
    inside = cons(w @ transpose(v, (1, 0)), rest)
    layers = (recurrent(x @ v, cons(w, rest), n, h, c, s), recurrent(x, inside, n, h, c, s))
    before, behind = (output(layer, i) for layer in layers)
    yield rewrite(before, behind, are_matrices(v, w), because="forgets both")


@hosted()
def slope_of(a: Fact) -> Settings | None:
    """LeakyRelu's, of a number."""
    return None if a.splat is None or a.shape != () or not 0 < a.splat < 1 else (("alpha", float(a.splat)),)


def _halves(dtype):
    def witness(g):
        x = g.input((3,), dtype)
        return relu(x) - relu(-x) * g.constant(np.array(0.125, NUMPY[dtype]), dtype)

    return witness


@wrong("reassociates", _halves(T.DOUBLE), values=(0.5, -1.0, 3.0), examples=fires_on(_halves(T.FLOAT)))
def leaky_relu_of_any_float(x: Tensor, a: Tensor):
    """Relu(x) - a * Relu(-x) = LeakyRelu_a(x)

    Wrong of kernels: onnxruntime has no LeakyRelu of float64.
    """
    one = unary("LeakyRelu", slope_of(a), x)
    yield rewrite(relu(x) - relu(-x) * a, one, kernel(is_kernel_float(x)), because="one way")
