"""What laws of this project said until the gate looked at it."""

from dataclasses import replace

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.facts.numbers import as_float
from egraph_opt.laws import Axes, Axis, Dims, Flag, Float, Settings, Tensor, hosted, rewrite, sqrt
from egraph_opt.laws.algebra import is_constant, relu
from egraph_opt.operators import (
    GemmSettings,
    Literal,
    arg_reduce,
    cast,
    gemm,
    group_norm,
    instance_norm,
    literal,
    matmul,
    none,
    reduce,
    reshape,
    softmax,
    transpose,
    unary,
)
from egraph_opt.operators.composites import masked_attention
from egraph_opt.rewrites.conditions.combining import may_combine
from egraph_opt.rewrites.conditions.values import all_are

from . import fires_on, of_one, wrong

AT_LEAST_0 = (("max", None), ("min", 0))


@hosted()
def are_single(axes: Axes, x: Fact) -> bool:
    return x.is_static and all(k < len(x.shape or ()) and (x.shape or ())[k] == 1 for k in axes)


@hosted()
def dims_of(y: Fact) -> Dims | None:
    return y.shape if y.is_static else None


@wrong("bitwise", of_one(lambda x: reduce("ReduceSum", x, (1,), 0), (2, 1, 4)))
def sum_of_one_element(x: Tensor, a: Axes, k: Flag):
    """ReduceSum_a(x) = Reshape(x) where the axes a have one element each

    Wrong of -0.0: a sum begins with 0.0.
    """
    total = reduce("ReduceSum", x, a, k)
    yield rewrite(total, reshape(x, dims_of(total)), are_single(a, x), because="a reshape has no axes")


@wrong(
    "reassociates",
    of_one(lambda x: arg_reduce("ArgMin", softmax("Softmax", x, 0), 0, 1, 0), (4,)),
    values=(500.0, -1.0, -200.0, -400.0),
)
def place_of_the_least(x: Tensor, a: Axis, k: Flag, last: Flag):
    """ArgMin(Softmax(x)) = ArgMin(x)

    Wrong where several are so small that their exponentials are 0.
    """
    least = arg_reduce("ArgMin", softmax("Softmax", x, a), a, k, last)
    yield rewrite(least, arg_reduce("ArgMin", x, a, k, last), because="forgets the Softmax")


@wrong(
    "finite",
    of_one(lambda x: unary("Clip", AT_LEAST_0, reduce("ReduceSum", x * x, (0,), 1)), (2,), T.INT64),
    values=(2.0**31 + 2.0**30, 1.0),
)
def sum_of_squares_is_positive(x: Tensor, a: Axes, k: Flag):
    """Clip(ReduceSum(x * x)) = ReduceSum(x * x) from below by 0

    Wrong of integers, which overflow.
    """
    squares = reduce("ReduceSum", x * x, a, k)
    bounded = unary("Clip", AT_LEAST_0, squares)
    yield rewrite(bounded, squares, because="a bound that bounds nothing")


@wrong("bitwise", of_one(lambda x: cast(reduce("ReduceMax", x, (0,), 1), T.INT64), (0, 2), T.INT32))
def largest_of_wider(x: Tensor, a: Axes, k: Flag):
    """Cast_64(ReduceMax(x)) = ReduceMax(Cast_64(x)) for an x of int32

    Wrong of nothing, of which the largest is the least number of the type.
    """
    wide = cast(reduce("ReduceMax", x, a, k), T.INT64)
    yield rewrite(
        wide, reduce("ReduceMax", cast(x, T.INT64), a, k), is_narrow(x), because="one type throughout"
    )


@hosted()
def is_narrow(x: Fact) -> bool:
    return x.dtype == T.INT32


def _variance(x, axes):
    """As a difference, which rounding brings below 0."""
    mean = reduce("ReduceMean", x, axes, 1)
    return reduce("ReduceMean", x * x, axes, 1) - mean * mean


@wrong("reassociates", of_one(lambda x: sqrt(relu(_variance(x, (1,)))), (2, 512)), values=(0.95257413,))
def variance_without_its_bound(x: Tensor, a: Axes):
    """Sqrt(Relu(ReduceMean(x * x) - ReduceMean(x)^2)) = Sqrt(ReduceMean(x * x) - ReduceMean(x)^2)

    Wrong where x is all alike: what is left is rounding, which may be below 0.
    """
    spelled = _variance(x, a)
    yield rewrite(sqrt(relu(spelled)), sqrt(spelled), because="a variance is never below 0")


@hosted()
def are_matrices(x: Fact, w: Fact, a: Fact, b: Fact) -> bool:
    return (x.rank or 0) >= 2 and w.rank == a.rank == b.rank == 2


def _updated(g):
    x, large = g.input((2, 1)), g.constant(np.full((1, 1), 1e20))
    return x @ g.constant(np.ones((1, 1))) + (x @ large) @ large


@wrong("reassociates", _updated, values=(1e-10, 2e-10))
def update_of_large_factors(x: Tensor, w: Tensor, a: Tensor, b: Tensor):
    """x @ W + (x @ A) @ B = x @ (W + A @ B)

    Wrong where A @ B overflows and (x @ A) @ B does not.
    """
    total = x @ w + (x @ a) @ b
    yield rewrite(total, x @ (w + a @ b), are_matrices(x, w, a, b), because="one product")


@wrong(
    "bitwise",
    of_one(lambda x: cast(reduce("ReduceSum", x, (0,), 1), T.INT32), (2,), T.INT64),
    values=(2.0**53, 1.0),
)
def lower_bits_of_sum(x: Tensor, a: Axes, k: Flag):
    """Cast_32(ReduceSum(x)) = ReduceSum(Cast_32(x)) for an x of int64

    Wrong in onnxruntime, which adds int64 in float64.
    """
    total, low = cast(reduce("ReduceSum", x, a, k), T.INT32), reduce("ReduceSum", cast(x, T.INT32), a, k)
    yield rewrite(total, low, is_wide(x), because="the upper bits are forgotten")


@hosted()
def is_wide(x: Fact) -> bool:
    return x.dtype == T.INT64


@hosted()
def settings_of_groups(x: Fact, y: Fact, epsilon: float) -> Settings | None:
    """The channels of y are groups of those of x."""
    if x.shape is None or y.shape is None or len(x.shape) < 3 or len(y.shape) < 3 or x.shape[0] != y.shape[0]:
        return None
    channels, groups = x.shape[1], y.shape[1]
    if not isinstance(channels, int) or not isinstance(groups, int) or channels % groups:
        return None
    return ("epsilon", epsilon), ("num_groups", groups)


@hosted()
def number_of_channels(x: Fact, value: float) -> Literal | None:
    channels = (x.shape or (0, 0))[1]
    return Literal(x.dtype, (channels,), (value,)) if isinstance(channels, int) else None


def _in_groups(g):
    x, one, zero = g.input((1, 4, 64)), g.constant(np.ones(2)), g.constant(np.zeros(2))
    return reshape(instance_norm(reshape(x, (1, 2, 128)), one, zero, 1e-6), (1, 4, 64))


@wrong("reassociates", _in_groups, opset=21, values=(777.7,))
def groups_of_channels(x: Tensor, s: Tensor, b: Tensor, e: Float, d: Dims, back: Dims):
    """Reshape(InstanceNormalization(Reshape(x); 1, 0)) = GroupNormalization(x; 1, 0)

    Wrong in onnxruntime, which takes the variance as a difference: below 0 where x is one number throughout.
    """
    y = reshape(x, d)
    z = reshape(instance_norm(y, s, b, e), back)
    one, zero = (literal(number_of_channels(x, value)) for value in (1.0, 0.0))
    whole = group_norm(x, one, zero, settings_of_groups(x, y, e))
    yield rewrite(z, whole, all_are(s, 1.0), all_are(b, 0.0), same_dims_as(z, x), because="one node")


@hosted()
def same_dims_as(x: Fact, y: Fact) -> bool:
    return x.shape == y.shape


# --- constants that are combined once more -----------------------------------------------------------------


def _scaled_again(g):
    scale = g.constant([2e10, 3e10])
    return ((g.input((2,)) * scale) * g.input((3, 2))) * scale


@wrong("reassociates", _scaled_again, values=(1e-6, 3e20, -2e-6))
def scale_of_known_factor(x: Tensor, y: Tensor, a: Tensor, c: Tensor):
    """((x * c1) * y) * c2 = (x * (c1 * c2)) * y where c1 * c2 overflows nothing

    Wrong of a large x, such as a constant, which is infinite once it is scaled by both.
    """
    yield rewrite(((x * a) * y) * c, (x * (a * c)) * y, may_combine("Mul", a, c), because="one constant less")


def _shifted_again(g):
    shift = g.constant([1.5e38, 1e38])
    return ((g.input((2,)) + shift) + g.input((3, 2))) + shift


@wrong("reassociates", _shifted_again, values=(1.0, 1e38, -3e38))
def shift_of_known_summand(x: Tensor, y: Tensor, a: Tensor, c: Tensor):
    """((x + c1) + y) + c2 = (x + (c1 + c2)) + y where c1 + c2 overflows nothing

    Wrong of a large x, such as a constant, which is infinite once it is shifted by both.
    """
    yield rewrite(((x + a) + y) + c, (x + (a + c)) + y, may_combine("Add", a, c), because="one constant less")


# --- settings that are numbers, of which ONNX asks whether they are 0 --------------------------------------


@hosted()
def turned_over(s: GemmSettings) -> GemmSettings:
    return replace(s, trans_a=1 - s.trans_a)


def _turned_twice(g):
    return gemm(transpose(g.input((4, 5)), (1, 0)), g.input((5, 3)), none(), GemmSettings(trans_a=2))


@wrong("reassociates", _turned_twice)
def transposed_by_any_number(a: Tensor, b: Tensor, c: Tensor, s: GemmSettings):
    """Gemm(T(A), B, C) = Gemm(A, B, C) with 1 - transA

    Wrong where transA is 2, which transposes: -1 does so, too.
    """
    yield rewrite(gemm(transpose(a, (1, 0)), b, c, s), gemm(a, b, c, turned_over(s)), because="one node less")


# --- what a law leaves out, or computes in another type ----------------------------------------------------


@wrong(
    "reassociates",
    lambda g: (g.input((3, 2)) + g.constant(1.0)) @ g.constant(np.full((2, 5), 3e38)),
    values=(-0.75, -1.25, -1.0),
)
def shift_overflows_in_product(x: Tensor, w: Tensor, c: Tensor):
    """(x + c) @ W = x @ W + c @ W for constants, c of one element

    Wrong where a sum of c * W overflows, which x + c does not reach.
    """
    shift = reduce("ReduceSum", w * c, (0,), 1)
    known = (is_constant(w), is_constant(c), is_scalar(c), are_two_matrices(x, w))
    yield rewrite((x + c) @ w, x @ w + shift, *known, because="no Add")


@hosted()
def is_scalar(c: Fact) -> bool:
    return c.shape == ()


@hosted()
def are_two_matrices(x: Fact, w: Fact) -> bool:
    return x.rank == w.rank == 2 and x.dtype in FLOATS


def _doubles(g):
    q, k = (g.input((1, 1, 4, 4), T.DOUBLE) for _ in range(2))
    product = matmul(q, transpose(k, (0, 1, 3, 2)))
    masked = product * g.constant(30.0, T.DOUBLE) + product * g.constant(-29.5, T.DOUBLE)
    return matmul(softmax("Softmax", masked, 3), q)


@hosted()
def number_in(c: Fact) -> Float | None:
    return as_float(c.splat) if c.shape == () and c.splat is not None and c.splat > 0 else None


@hosted()
def are_images(q: Fact, k: Fact, v: Fact, m: Fact) -> bool:
    """Of four axes and one type, with as many batches and heads."""
    known = all(x.is_static and x.rank == 4 and x.dtype == q.dtype for x in (q, k, v, m))
    return known and q.shape[:2] == k.shape[:2] == v.shape[:2] == m.shape[:2]  # type: ignore[index]


@wrong("reassociates", _doubles, opset=23, examples=fires_on(_doubles), values=(0.5, -0.25, 1.0, 0.75, -1.5))
def attention_of_doubles(q: Tensor, k: Tensor, v: Tensor, m: Tensor, c: Tensor):
    """Softmax(q @ k' * c + m) @ v = Attention(q, k, v, m; c) in any type

    Wrong of float64: the operator takes the root of c in float32.
    """
    logits = matmul(q, transpose(k, (0, 1, 3, 2))) * c + m
    whole = masked_attention(q, k, v, m, number_in(c), 0)
    yield rewrite(matmul(softmax("Softmax", logits, 3), v), whole, are_images(q, k, v, m), because="one node")
