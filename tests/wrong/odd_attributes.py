"""Functions with odd attributes, sums of nothing; and some laws without an end."""

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Axis,
    Flag,
    Float,
    Settings,
    Slices,
    Tensor,
    Tensors,
    hosted,
    is_same,
    listed,
    number_like,
    relu,
    rewrite,
    sigmoid,
)
from egraph_opt.operators import (
    Literal,
    PoolWindow,
    layer_norm,
    literal,
    none,
    output,
    pool,
    recurrent,
    reduce,
    slice_,
    softmax,
    unary,
    variadic,
)
from egraph_opt.operators.recurrent import RecurrentLayer
from egraph_opt.rewrites.conditions.windows import always_sees_something
from egraph_opt.rewrites.recurrent.states import example_layer, fixed_steps
from egraph_opt.rewrites.recurrent.steps import turned

from . import is_single, of_one, of_two, wrong
from .resized_images import whole_backwards

SELU = (("alpha", 1.6732632), ("gamma", -1.0507009))


# --- nothing ---------------------------------------------------------------------------------------------


@hosted()
def only(a: Axis) -> Axes:
    return (a,)


@hosted()
def ones_for(z: Fact) -> Literal | None:
    return Literal(z.dtype, z.shape, (1.0,)) if z.is_static and z.dtype == TensorProto.FLOAT else None  # type: ignore[arg-type]


@wrong(
    "reassociates",
    of_one(lambda x: reduce("ReduceSum", softmax("Softmax", x, 1), (1,), 1), (2, "L")),
    sizes={"L": 0},
)
def all_of_softmax(x: Tensor, a: Axis, b: Axes):
    """ReduceSum(Softmax(x)) = 1

    Wrong of nothing, whose sum is 0.
    """
    total = reduce("ReduceSum", softmax("Softmax", x, a), b, 1)
    yield rewrite(total, literal(ones_for(total)), is_same(only(a), b), because="forgets x")


@wrong("bitwise", of_one(lambda x: reduce("ReduceMax", relu(x), (1,), 0), (2, "L")), sizes={"L": 0})
def relu_past_maximum(x: Tensor, a: Axes, k: Flag):
    """ReduceMax(Relu(x)) = Relu(ReduceMax(x))

    Wrong of nothing, whose maximum is the least number.
    """
    first = reduce("ReduceMax", relu(x), a, k)
    yield rewrite(first, relu(reduce("ReduceMax", x, a, k)), is_single(x), because="less to compute")


# --- attributes ------------------------------------------------------------------------------------------


@hosted()
def alpha_of(s: Settings) -> Float | None:
    return float(dict(s)["alpha"]) or None


@wrong("reassociates", of_one(lambda x: unary("Celu", (("alpha", -2.0),), x)))
def celu_by_elu(x: Tensor, s: Settings):
    """Celu_a(x) = Elu(x / a) * a

    Wrong of a negative a, which turns x round.
    """
    alpha = number_like(x, alpha_of(s))
    other = unary("Elu", (("alpha", 1.0),), x / alpha) * alpha
    yield rewrite(unary("Celu", s, x), other, is_single(x), because="few targets have it")


@wrong("finite", of_one(lambda x: unary("ThresholdedRelu", (("alpha", -2.0),), relu(x))))
def thresholded_relu_of_relu(x: Tensor, s: Settings):
    """ThresholdedRelu_a(Relu(x)) = ThresholdedRelu_a(x)

    Wrong of a negative a, above which x may be below 0.
    """
    first, bare = (unary("ThresholdedRelu", s, v) for v in (relu(x), x))
    yield rewrite(first, bare, is_single(x), because="forgets the Relu")


@wrong("finite", of_two(lambda x, y: variadic("Max", listed(*(unary("Selu", SELU, v) for v in (x, y))))))
def greatest_selu(x: Tensor, y: Tensor, s: Settings):
    """Max(Selu(x), Selu(y)) = Selu(Max(x, y))

    Wrong of a negative gamma.
    """
    both = variadic("Max", listed(unary("Selu", s, x), unary("Selu", s, y)))
    yield rewrite(both, unary("Selu", s, variadic("Max", listed(x, y))), is_single(x), because="one Selu")


ROW = PoolWindow((2,), (1,), (0, 0), (1,))


@wrong(
    "finite",
    of_one(
        lambda x: pool("MaxPool", unary("HardSigmoid", (("alpha", -0.5), ("beta", 0.5)), x), ROW), (1, 2, 5)
    ),
)
def hard_sigmoid_past_pool(x: Tensor, s: Settings, w: PoolWindow):
    """MaxPool(HardSigmoid(x)) = HardSigmoid(MaxPool(x))

    Wrong of a negative slope.
    """
    first = pool("MaxPool", unary("HardSigmoid", s, x), w)
    behind = unary("HardSigmoid", s, pool("MaxPool", x, w))
    yield rewrite(first, behind, always_sees_something(w), is_single(x), because="fewer pixels")


@hosted()
def mirrored(s: Settings) -> Settings | None:
    """The bounds of what has the other sign; those that are absent stay so."""
    low, high = dict(s)["min"], dict(s)["max"]
    if low is not None and high is not None and low > high:
        return None
    return (("max", -low if low else None), ("min", -high if high else None))


@wrong("finite", of_one(lambda x: unary("Clip", (("max", 6.0), ("min", 0.0)), -x)))
def clip_of_negated(x: Tensor, s: Settings):
    """Clip_ab(-x) = -Clip(x; -b, -a), a bound that is absent being absent

    Wrong of a bound of 0, which is taken for an absent one.
    """
    other = -unary("Clip", mirrored(s), x)
    yield rewrite(unary("Clip", s, -x), other, is_single(x), because="one way is enough")


# --- without an end --------------------------------------------------------------------------------------


@wrong("reassociates", of_one(lambda x: softmax("Softmax", x, 1)), endless=True)
def softmax_of_differences(x: Tensor, a: Axis):
    """Softmax(x) = Softmax(x - ReduceMax(x)), so that nothing overflows

    Endless: the greatest difference is subtracted from all differences.
    """
    stable = softmax("Softmax", x - reduce("ReduceMax", x, only(a), 1), a)
    yield rewrite(softmax("Softmax", x, a), stable, is_single(x), because="one way is enough")


@wrong("reassociates", of_one(sigmoid), endless=True)
def sigmoid_from_the_other_side(x: Tensor):
    """Sigmoid(x) = 1 - Sigmoid(-x)

    Endless: -x has another side as well.
    """
    yield rewrite(sigmoid(x), number_like(x, 1.0) - sigmoid(-x), is_single(x), because="one way is enough")


@hosted()
def is_ordinary(e: Float) -> bool:
    return e >= 1e-6


@wrong(
    "reassociates",
    lambda g: layer_norm(g.input((2, 5)), g.constant(np.ones(5, np.float32)), (1,), 1e-5),
    endless=True,
)
def layer_norm_of_centred(x: Tensor, s: Tensor, a: Axes, e: Float):
    """LayerNormalization(x) = LayerNormalization(x - ReduceMean(x))

    Endless: what is centred is centred again.
    """
    centred = x - reduce("ReduceMean", x, a, 1)
    first, again = (layer_norm(v, s, a, e) for v in (x, centred))
    yield rewrite(first, again, is_ordinary(e), is_single(x), because="for accuracy")


@hosted()
def steps_turned(x: Fact) -> Slices | None:
    return whole_backwards(x, (0,)) if x.rank == 3 else None


def last_state(g):
    return output(example_layer(g, "RNN", fixed_steps(g, 4)), 1)


@wrong("bitwise", last_state, endless=True)
def layer_turned(x: Tensor, w: Tensors, s: RecurrentLayer):
    """The last state of RNN(x) = the last state of RNN in reverse(x[::-1])

    Endless: that layer is one of the other direction as well, of x turned twice.
    """
    nothing = none(), none(), none()
    found = output(recurrent(x, w, *nothing, s), 1)
    other = output(recurrent(slice_(x, steps_turned(x)), w, *nothing, turned(s)), 1)
    yield rewrite(found, other, because="every layer is one of the other direction")
