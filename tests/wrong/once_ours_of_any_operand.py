"""What laws of this project said of any operand: of constants, of one element, of no pixels, of layers that
grow."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import hosted, rewrite
from egraph_opt.laws.algebra import is_constant
from egraph_opt.laws.sorts import Axes, Axis, String, Tensor
from egraph_opt.operators import (
    ConvWindow,
    binary,
    conv,
    gather,
    global_pool,
    none,
    output,
    pad,
    recurrent,
    reduce,
    reshape,
)
from egraph_opt.operators.recurrent import RecurrentLayer
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.conditions.channels import may_sum
from egraph_opt.rewrites.conditions.view_shapes import same_rank
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.recurrent.inputs import behind_rows, features_of
from egraph_opt.rewrites.reductions.reduction import are_spatial
from egraph_opt.rewrites.slicing.gather import constant_indices, is_vector
from egraph_opt.rewrites.slicing.restored import is_same_along

from . import fires_on, is_single, of_one, wrong


def _far_apart(g):
    image, weight = (g.constant(np.full((1, 1, n, n), number)) for n, number in ((3, 3e38), (1, 1.0)))
    return (conv(image, weight, none(), PLAIN) + g.input((1, 1, 3, 3))) + g.constant(2e38)


@wrong("reassociates", _far_apart, values=(-3e38, -2.9e38, -3.1e38))
def shift_in_front_of_any_summand(x: Tensor, y: Tensor, w: Tensor, b: Tensor, t: ConvWindow, c: Tensor):
    """(Conv(x, W) + y) + c = (Conv(x, W) + c) + y

    Wrong of constant images, of which the sum with a constant may be infinite, and y takes as much away.
    """
    product = conv(x, w, b, t)
    yield rewrite((product + y) + c, (product + c) + y, is_single(y), is_constant(c), because="a bias")


def _one_row(g):
    return binary("PRelu", g.input((2, 1, 4)), gather(g.input((2, 5, 4)), constant_indices(g, [3]), 1))


def _rows(op):
    def witness(g):
        return binary(op, g.input((2, 1, 4)), gather(g.input((2, 5, 4)), constant_indices(g, [3, 1]), 1))

    return witness


@wrong("bitwise", _one_row, values=(1.0, -1.0, 0.5), examples=fires_on(_rows("Add"), _rows("Mul")))
def rows_of_any_operation(op: String, x: Tensor, y: Tensor, i: Tensor, a: Axis):
    """y op Gather(x, i) = Gather(y op x, i) for a y of one row

    Wrong of a PRelu, of which the slope may not have more rows than y: one row of x is no more.
    """
    of_all, known = gather(binary(op, y, x), i, a), (is_same_along(a, x, y), is_vector(i), same_rank(x, y))
    yield rewrite(binary(op, y, gather(x, i, a)), of_all, *known, because="rows are taken later")


@hosted()
def is_image(x: Fact) -> bool:
    return x.dtype == T.FLOAT and x.rank == 4


@wrong(
    "reassociates",
    of_one(lambda x: reduce("ReduceMax", x, (2, 3), 1), ("M", "N", 3, 3)),
    sizes={"M": 2, "N": 0},
)
def pool_of_any_image(x: Tensor, a: Axes):
    """ReduceMax(x) = GlobalMaxPool(x) over all spatial axes

    Wrong of an image without channels, which is reduced and not pooled.
    """
    pooled = global_pool("GlobalMaxPool", x)
    yield rewrite(reduce("ReduceMax", x, a, 1), pooled, are_spatial(a, x), is_image(x), because="one layer")


GROWING = RecurrentLayer("RNN", (("activations", ("Relu",)), ("direction", "forward"), ("hidden_size", 1)))
SETTLED = RecurrentLayer("RNN", (("direction", "forward"), ("hidden_size", 1)))


def _shifted(layer, steps):
    def witness(g):
        x, nothing = g.input((steps, 1, 1)) + g.constant(3.0), none()
        weights = [g.constant(np.full((1, 1, 1), v, np.float32)) for v in (0.7, 2.0)]
        bias = g.constant(np.zeros((1, 2), np.float32))
        return output(recurrent(x, listed(*weights, bias, nothing), nothing, nothing, nothing, layer), 0)

    return witness


@wrong(
    "reassociates",
    _shifted(GROWING, 120),
    values=(-2.999999, -2.999998),
    examples=fires_on(_shifted(SETTLED, 4)),
)
def shift_into_any_bias(x: Tensor, k: Tensor, w: Tensor, r: Tensor, b: Tensor, p: Tensor, n: Tensor,
                        h: Tensor, c: Tensor, s: RecurrentLayer):  # fmt: skip
    """RNN(x + k; W, R, b) = RNN(x; W, R, b + [W @ k, 0]) for numbers k of each feature, or one

    Wrong of states that grow from step to step, and their roundings with them.
    """
    features = (2,)
    rows = reduce("ReduceSum", w * reshape(k, features_of(x, k, w)), features, 0)
    moved = b + pad(rows, "constant", behind_rows(w), 0.0)
    one = output(recurrent(x, listed(w, r, moved, p), n, h, c, s), 0)
    known = may_sum(k, w, features), is_constant(b)
    yield rewrite(
        output(recurrent(x + k, listed(w, r, b, p), n, h, c, s), 0), one, *known, because="one bias"
    )
