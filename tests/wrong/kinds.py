"""What holds of one kind of pool, reduction or Softmax, stated of others as well."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Axis,
    Flag,
    Mode,
    Number,
    Pads,
    Settings,
    String,
    Tensor,
    hosted,
    number_like,
    relu,
    rewrite,
)
from egraph_opt.operators import PoolWindow, global_pool, pad, pool, reduce, reshape, softmax, unary
from egraph_opt.rewrites.conditions.values import is_float
from egraph_opt.rewrites.conditions.zeros import zeros_like

from . import of_one, of_two, wrong

WINDOW = PoolWindow((2, 2), (1, 1), (0, 0, 0, 0), (1, 1))


@wrong(
    "reassociates",
    of_one(lambda x: reduce("ReduceSumSquare", reduce("ReduceSumSquare", x, (1,), 1), (0,), 1)),
)
def reduction_in_two_steps(k: String, x: Tensor, a: Axes, b: Axes):
    """Reduce_b(Reduce_a(x)) = Reduce_ab(x) with kept dims

    Wrong of ReduceSumSquare and ReduceLogSum.
    """
    two = reduce(k, reduce(k, x, a, 1), b, 1)
    yield rewrite(two, reduce(k, x, both(a, b), 1), because="forgets a and b")


@hosted()
def both(a: Axes, b: Axes) -> Axes:
    return tuple(sorted({*a, *b}))


@hosted()
def is_single(x: Fact, a: Axes) -> bool:
    return x.shape is not None and all(x.shape[k] == 1 for k in a)


@hosted()
def dims_of(z: Fact):
    return z.shape


@wrong("finite", of_one(lambda x: reduce("ReduceL2", x, (1,), 0), (5, 1)))
def reduction_of_single(k: String, x: Tensor, a: Axes, d: Flag):
    """Reduce_a(x) = Reshape(x) where the axes a have one element each

    Wrong of L1, L2, SumSquare and LogSum.
    """
    z = reduce(k, x, a, d)
    yield rewrite(z, reshape(x, dims_of(z)), is_single(x, a), because="forgets the axes")


@wrong("reassociates", of_one(lambda x: reduce("ReduceMax", -x, (1,), 1)))
def reduction_of_negated(k: String, x: Tensor, a: Axes, d: Flag):
    """Reduce(-x) = -Reduce(x)

    Wrong of all but ReduceSum and ReduceMean.
    """
    yield rewrite(reduce(k, -x, a, d), -reduce(k, x, a, d), because="fewer to negate")


@wrong("reassociates", of_one(lambda x: pool("AveragePool", relu(x), WINDOW), (1, 2, 4, 5)))
def relu_past_pool(k: String, x: Tensor, w: PoolWindow):
    """Pool(Relu(x)) = Relu(Pool(x)) for MaxPool and AveragePool

    Wrong of AveragePool.
    """
    yield rewrite(pool(k, relu(x), w), relu(pool(k, x, w)), because="fewer elements")


@wrong("reassociates", of_one(lambda x: pool("MaxPool", -x, WINDOW), (1, 2, 4, 5)))
def sign_past_pool(k: String, x: Tensor, w: PoolWindow):
    """Pool(-x) = -Pool(x) for MaxPool and AveragePool

    Wrong of MaxPool.
    """
    yield rewrite(pool(k, -x, w), -pool(k, x, w), because="fewer elements")


@wrong("reassociates", of_two(lambda x, y: global_pool("GlobalMaxPool", x + y), (1, 2, 4, 5)))
def sum_past_global_pool(k: String, x: Tensor, y: Tensor):
    """GlobalPool(x + y) = GlobalPool(x) + GlobalPool(y) for images of one shape

    Wrong of GlobalMaxPool.
    """
    apart = global_pool(k, x) + global_pool(k, y)
    yield rewrite(global_pool(k, x + y), apart, are_alike(x, y), because="one pool may be there")


@hosted()
def are_alike(x: Fact, y: Fact) -> bool:
    return x.is_symbolic and x.shape == y.shape


@hosted()
def is_zero(v: Number) -> bool:
    return v == 0


@wrong("reassociates", of_one(lambda x: unary("Sigmoid", (), pad(x, "constant", (0, 1, 0, 1), 0.0))))
def function_past_pad(f: String, s: Settings, x: Tensor, m: Mode, p: Pads, v: Number):
    """f(Pad(x)) = Pad(f(x)) for pads of zeros

    Wrong of functions that are not 0 at 0: Exp, Sigmoid, Cos and others.
    """
    padded = unary(f, s, pad(x, m, p, v))
    yield rewrite(padded, pad(unary(f, s, x), m, p, v), is_zero(v), is_float(x), because="fewer elements")


@wrong("reassociates", of_one(lambda x: reduce("ReduceSum", softmax("LogSoftmax", x, 1), (1,), 1)))
def sum_of_softmax(k: String, x: Tensor, a: Axis, b: Axes):
    """ReduceSum(Softmax(x)) = 1 along its axis, likewise Hardmax and LogSoftmax

    Wrong of LogSoftmax.
    """
    whole = reduce("ReduceSum", softmax(k, x, a), b, 1)
    for zeros in zeros_like(whole):
        yield rewrite(whole, zeros + number_like(x, 1.0), is_along(b, a), because="forgets x")


@hosted()
def is_along(b: Axes, a: Axis) -> bool:
    return b == (a,)


@wrong("reassociates", of_one(lambda x: softmax("Softmax", softmax("Softmax", x, 1), 1)))
def softmax_applied_twice(k: String, x: Tensor, a: Axis):
    """Softmax(Softmax(x)) = Softmax(x), likewise LogSoftmax and Hardmax

    Wrong of Softmax.
    """
    once = softmax(k, x, a)
    yield rewrite(softmax(k, once, a), once, because="forgets one")
