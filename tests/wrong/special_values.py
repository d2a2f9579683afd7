"""NaN, infinities and zeros of both signs, under `bitwise`."""

from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Axis,
    Flag,
    Settings,
    String,
    Tensor,
    hosted,
    is_constant,
    listed,
    number_like,
    relu,
    rewrite,
    sqrt,
)
from egraph_opt.operators import arg_reduce, reduce, reshape, unary, variadic
from egraph_opt.rewrites.conditions.values import all_are, fits, is_float
from egraph_opt.rewrites.conditions.zeros import zeros_like

from . import of_one, of_two, wrong


def size(x):
    return unary("Abs", (), x)


@wrong("bitwise", lambda g: g.input((3, 5)) * g.constant(0.0))
def product_with_zero(x: Tensor, c: Tensor):
    """x * 0 = 0

    Wrong of NaN and infinities, and of negative numbers, which give -0.0.
    """
    for zeros in zeros_like(x):
        yield rewrite(x * c, zeros, all_are(c, 0), fits(c, x), because="forgets x")


@wrong("bitwise", of_one(lambda x: x - x, (3, 5)))
def difference_with_itself(x: Tensor):
    """x - x = 0

    Wrong of NaN and infinities, as long as x is no integer.
    """
    for zeros in zeros_like(x):
        yield rewrite(x - x, zeros, because="forgets x")


@wrong("bitwise", of_one(lambda x: x / x, (3, 5)))
def quotient_with_itself(x: Tensor):
    """x / x = 1

    Wrong of 0, NaN and infinities.
    """
    for zeros in zeros_like(x):
        yield rewrite(x / x, zeros + number_like(x, 1.0), is_float(x), because="forgets x")


@wrong("bitwise", lambda g: g.input((3, 5)) + g.constant(0.0))
def zero_is_neutral(x: Tensor, c: Tensor):
    """x + 0 = x

    Wrong of -0.0.
    """
    yield rewrite(x + c, x, all_are(c, 0), fits(c, x), because="every x would be a sum")


@wrong("bitwise", of_two(lambda x, y: -(x - y)), values=(1.0,))
def negated_difference(x: Tensor, y: Tensor):
    """-(x - y) = y - x

    Wrong where x = y: -0.0 is not 0.0.
    """
    yield rewrite(-(x - y), y - x, because="one node less")


@wrong("bitwise", lambda g: g.constant(0.0) - g.input((3, 5)))
def zero_less_something(x: Tensor, c: Tensor):
    """0 - x = -x

    Wrong of 0.0, which becomes -0.0 on the right.
    """
    yield rewrite(c - x, -x, all_are(c, 0), fits(c, x), because="every Neg would be a difference")


@wrong("bitwise", of_one(lambda x: unary("Clip", (("max", float("inf")), ("min", 0.0)), x)))
def clip_without_upper_bound(x: Tensor):
    """Clip(x; 0, infinity) = Clip(x; 0)

    Wrong of infinity: an absent bound is the largest number.
    """
    bounded = unary("Clip", (("max", float("inf")), ("min", 0.0)), x)
    yield rewrite(bounded, unary("Clip", (("max", None), ("min", 0.0)), x), is_float(x), because="one bound")


@wrong("bitwise", of_one(lambda x: unary("Sign", (), x) * size(x)))
def sign_times_size(x: Tensor):
    """Sign(x) * Abs(x) = x

    Wrong of -0.0.
    """
    yield rewrite(unary("Sign", (), x) * size(x), x, because="every x would be a product")


@wrong("bitwise", of_one(lambda x: reduce("ReduceSum", -x, (1,), 1), (9, 2)))
def sum_of_negated(k: String, x: Tensor, a: Axes, d: Flag):
    """ReduceSum(-x) = -ReduceSum(x), likewise ReduceMean

    Wrong where a sum is zero: -0.0 is not 0.0.
    """
    yield rewrite(reduce(k, -x, a, d), -reduce(k, x, a, d), is_linear(k), because="fewer to negate")


@hosted()
def is_linear(kind: str) -> bool:
    return kind in ("ReduceSum", "ReduceMean")


@hosted()
def dims_of(z: Fact):
    return z.shape


@hosted()
def has_one(axes: Axes, x: Fact) -> bool:
    return x.shape is not None and all(x.shape[k] == 1 for k in axes)


@wrong("bitwise", of_one(lambda x: reduce("ReduceSum", x, (1,), 1), (3, 1, 5)))
def sum_of_single(x: Tensor, a: Axes, d: Flag):
    """ReduceSum_a(x) = Reshape(x) where the axes a have one element each

    Wrong of -0.0, which onnxruntime makes 0.0 unless the axis is the last.
    """
    z = reduce("ReduceSum", x, a, d)
    yield rewrite(z, reshape(x, dims_of(z)), has_one(a, x), because="a Reshape has no axes")


@wrong("bitwise", of_one(lambda x: variadic("Mean", listed(x, x))))
def mean_of_the_same(x: Tensor):
    """Mean(x, x) = x

    Wrong of what overflows when it is added to itself.
    """
    yield rewrite(variadic("Mean", listed(x, x)), x, because="every x would be a Mean")


@wrong("bitwise", of_one(lambda x: sqrt(x) * sqrt(x)))
def square_of_root(x: Tensor):
    """Sqrt(x) * Sqrt(x) = x

    Wrong in the last bit, and NaN below zero.
    """
    yield rewrite(sqrt(x) * sqrt(x), x, because="every x would be a square")


@wrong("bitwise", lambda g: g.input((3, 5)) / g.constant(3.0))
def division_by_constant(x: Tensor, c: Tensor):
    """x / c = x * (1 / c) for constant c

    Wrong in the last bit: it is rounded twice.
    """
    yield rewrite(x / c, x * (number_like(c, 1.0) / c), is_float_constant(c), because="Mul is cheaper")


@hosted()
def is_float_constant(c: Fact) -> bool:
    return c.const and c.dtype in (TensorProto.FLOAT, TensorProto.DOUBLE)


@wrong("bitwise", of_one(lambda x: unary("Reciprocal", (), unary("Reciprocal", (), x))))
def reciprocal_twice(x: Tensor):
    """Reciprocal(Reciprocal(x)) = x

    Wrong in the last bit.
    """
    twice = unary("Reciprocal", (), unary("Reciprocal", (), x))
    yield rewrite(twice, x, because="every x would be a reciprocal")


@wrong(
    "bitwise",
    of_one(lambda x: arg_reduce("ArgMax", -x, 1, 1, 0), (2, 2), TensorProto.INT32),
    values=(-(2**31), -5),
)
def place_of_negated(x: Tensor, a: Axis, d: Flag, n: Flag):
    """ArgMax(-x) = ArgMin(x)

    Wrong of integers: the least has no negative.
    """
    negated = arg_reduce("ArgMax", -x, a, d, n)
    yield rewrite(negated, arg_reduce("ArgMin", x, a, d, n), because="one node")


@wrong("bitwise", lambda g: variadic("Max", listed(g.input((3, 5)), g.constant(0.0))))
def maximum_with_zero(x: Tensor, c: Tensor):
    """Max(x, 0) = Relu(x)

    Wrong of -0.0, and of NaN in some kernels.
    """
    yield rewrite(variadic("Max", listed(x, c)), relu(x), all_are(c, 0), is_float(x), because="one operand")


@wrong("bitwise", lambda g: variadic("Max", listed(g.constant([0.0, 1.0]), g.input((9, 2)))))
def operands_of_maximum(x: Tensor, y: Tensor):
    """Max(x, y) = Max(y, x)

    Wrong of two zeros of different signs: the first one stays.
    """
    largest = variadic("Max", listed(x, y))
    yield rewrite(largest, variadic("Max", listed(y, x)), is_constant(x), because="constants go to the right")


@wrong("bitwise", of_one(size))
def size_as_maximum(x: Tensor):
    """Abs(x) = Max(x, -x)

    Wrong of zero: Max may take the negative one.
    """
    yield rewrite(size(x), variadic("Max", listed(x, -x)), is_float(x), because="Abs is no vector operator")


@hosted()
def bound(s: Settings, name: str):
    return dict(s)[name]


@wrong("bitwise", of_one(lambda x: unary("Clip", (("max", 6.0), ("min", 0.0)), x)))
def clip_as_minimum(x: Tensor, s: Settings):
    """Clip_ab(x) = Min(Max(x, a), b)

    Wrong of -0.0 and a bound of 0.
    """
    low, high = (number_like(x, bound(s, name)) for name in ("min", "max"))
    inner = variadic("Max", listed(x, low))
    yield rewrite(
        unary("Clip", s, x), variadic("Min", listed(inner, high)), because="Clip is no vector operator"
    )
