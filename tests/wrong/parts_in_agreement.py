"""Right but where several parts of a term have to agree: turns and windows, ranks and letters, lists."""

# These authors take it that shapes are known.
# mypy: disable-error-code="arg-type, index, misc, operator"

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axis,
    Dims,
    Int,
    Permutation,
    Settings,
    Tensor,
    Tensors,
    hosted,
    listed,
    number_like,
    relu,
    rewrite,
)
from egraph_opt.laws.sorts import Equation
from egraph_opt.operators import (
    ConvWindow,
    Literal,
    PoolWindow,
    concat,
    conv_transpose,
    einsum,
    literal,
    none,
    output,
    pool,
    recurrent,
    resize,
    tile,
    transpose,
)
from egraph_opt.operators.recurrent import RecurrentLayer
from egraph_opt.operators.terms import cons

from . import is_single, of_one, wrong
from .layers_with_settings import last, layer
from .windows_and_layers import PLAIN, TURN, conv_in_order, kernel_order, pool_in_order, undoes

BACK = (0, 1, 4, 2, 3)


def _mean(w):
    return of_one(lambda x: pool("AveragePool", transpose(x, TURN), w), (1, 1, 4, 4, 4))


@wrong("reassociates", _mean(PoolWindow((1, 2, 3), (1,) * 3, (0,) * 6, (1,) * 3)))
def mean_before_turn(x: Tensor, p: Permutation, w: PoolWindow):
    """AveragePool(Transpose_p(x)) = Transpose_p(AveragePool(x)), its settings in the order of p

    Wrong of three axes that turn round.
    """
    left = pool("AveragePool", transpose(x, p), w)
    yield rewrite(left, transpose(pool("AveragePool", x, pool_in_order(p, w)), p), because="later")


def _upward_between(g):
    x, k = transpose(g.input((1, 1, 3, 3, 3)), TURN), g.random(1, 1, 2, 2, 2)
    return transpose(conv_transpose(x, k, none(), ConvWindow((1,) * 3, (0,) * 6, (1,) * 3)), BACK)


@wrong("reassociates", _upward_between)
def upward_between_turns(x: Tensor, k: Tensor, b: Tensor, w: ConvWindow, p: Permutation, q: Permutation):
    """Transpose_q(ConvTranspose(Transpose_p(x), W)) = ConvTranspose(x, Transpose(W))

    Wrong of three axes that turn round: W is turned by p.
    """
    left = transpose(conv_transpose(transpose(x, p), k, b, w), q)
    turned = conv_transpose(x, transpose(k, kernel_order(p)), b, conv_in_order(q, w))
    yield rewrite(left, turned, undoes(p, q), because="no transposes")


@hosted()
def scales_in_order(p: Permutation, c: Fact) -> Literal | None:
    if c.data is None or len(c.data) != len(p):
        return None
    return Literal(T.FLOAT, (len(p),), tuple(c.data[a] for a in p))


def _resized_between(g):
    scales = g.constant(np.array([1, 1, 2, 3, 1], np.float32))
    return transpose(resize(transpose(g.input((1, 1, 2, 2, 2)), TURN), none(), scales, none(), PLAIN), BACK)


@wrong("bitwise", _resized_between)
def resized_between_turns(x: Tensor, c: Tensor, s: Settings, p: Permutation, q: Permutation):
    """Transpose_q(Resize(Transpose_p(x))) = Resize(x), its scales in the order of p

    Wrong of three axes that turn round.
    """
    left = transpose(resize(transpose(x, p), none(), c, none(), s), q)
    right = resize(x, none(), literal(scales_in_order(p, c)), none(), s)
    yield rewrite(left, right, undoes(p, q), because="no transposes")


@hosted()
def sees_a_pixel(x: Fact, w: PoolWindow) -> bool:
    if x.rank != 4 or x.shape[2:] != (1, 1) or set(w.strides) != {1}:
        return False
    reach = [(k - 1) * d for k, d in zip(w.kernel, w.dilations, strict=True)]
    return all(2 * pad == reach[a % 2] for a, pad in enumerate(w.pads))


AROUND = PoolWindow((2, 3), (1, 1), (1, 1, 1, 1), (2, 1))


@wrong("finite", of_one(lambda x: pool("MaxPool", x, AROUND), (1, 2, 1, 1)))
def greatest_of_pixel(x: Tensor, w: PoolWindow):
    """MaxPool(x) = x for an image of one pixel and SAME pads

    Wrong of even kernels with an even dilation: the pixel lies between two elements.
    """
    yield rewrite(pool("MaxPool", x, w), x, sees_a_pixel(x, w), is_single(x), because="one pixel")


@hosted()
def are_repeated(x: Fact, xs: tuple[Fact, ...]) -> bool:
    """Constants that are alike, of which the first ones are looked at."""
    return x.data is not None and len(xs) > 0 and {(y.data, y.shape) for y in xs[:3]} == {(x.data, x.shape)}


@hosted()
def copies(x: Fact, xs: tuple[Fact, ...], a: int) -> Dims:
    return tuple(len(xs) + 1 if k == a else 1 for k in range(x.rank))


def _joined(g):
    alike = [g.constant(np.array([[1.0, 2.0]], np.float32)) for _ in range(4)]
    return concat(listed(*alike, g.input((1, 2))), 0) + g.input((5, 2))


@wrong("bitwise", _joined)
def joined_alike(x: Tensor, xs: Tensors, y: Tensor, a: Axis):
    """Concat(x, x, ..) + y = Tile(x) + y

    Wrong where the fifth part is another: four are compared.
    """
    left = concat(cons(x, xs), a) + y
    yield rewrite(left, tile(x, copies(x, xs, a)) + y, are_repeated(x, xs), because="one constant")


@hosted()
def last_two_exchanged(e: Equation, x: Fact) -> Permutation | None:
    """Points are taken for one axis, or for two."""
    if e != "...ij->...ji" or x.rank is None:
        return None
    return {3: (0, 2, 1), 4: (0, 1, 3, 2)}.get(x.rank, tuple(range(x.rank)))


@wrong("bitwise", of_one(lambda x: einsum("...ij->...ji", listed(x)), (2, 3)))
def points_of_one_or_two(e: Equation, x: Tensor):
    """Einsum(x; ..ij->..ji) = Transpose(x)

    Wrong where points stand for no axis, or for three.
    """
    yield rewrite(einsum(e, listed(x)), transpose(x, last_two_exchanged(e, x)), because="one kernel")


NOT_BELOW = {"Relu", "Sigmoid", "HardSigmoid", "Softplus", "ThresholdedRelu", "LeakyRelu"}


@hosted()
def is_not_below_zero(s: RecurrentLayer) -> bool:
    return s.kind == "RNN" and set(dict(s.settings).get("activations") or ("Tanh",)) <= NOT_BELOW


@wrong("bitwise", lambda g: relu(last(layer(g, "RNN", activations=("LeakyRelu",)))))
def relu_of_layer(x: Tensor, w: Tensor, r: Tensor, b: Tensor, p: Tensor, s: RecurrentLayer, k: Int):
    """Relu(RNN(x)) = RNN(x) for activations that are not below 0

    Wrong of LeakyRelu.
    """
    left = output(recurrent(x, listed(w, r, b, p), none(), none(), none(), s), k)
    yield rewrite(relu(left), left, is_not_below_zero(s), because="nothing is below 0")


@hosted()
def is_whole(c: Fact) -> bool:
    return c.shape == () and c.splat is not None and c.splat == int(c.splat) and 0 < c.splat < 5


@wrong("finite", lambda g: g.input((3,)) ** g.constant(np.int64(2)) / g.input((3,)))
def less_power(x: Tensor, y: Tensor, c: Tensor):
    """x ^ c / y = x ^ (c - 1) * (x / y)

    Wrong of an integer c, from which no float is subtracted.
    """
    yield rewrite(
        x**c / y, x ** (c - number_like(y, 1.0)) * (x / y), is_single(x), is_whole(c), because="one product"
    )
