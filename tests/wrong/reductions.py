"""Axes, kept dims, parts of different sizes and ties, in reductions and along axes."""

import math

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Axis,
    Dims,
    Flag,
    Permutation,
    Settings,
    Slices,
    String,
    Tensor,
    hosted,
    listed,
    number_like,
    rewrite,
)
from egraph_opt.operators import (
    arg_reduce,
    concat,
    cumsum,
    global_pool,
    reduce,
    reshape,
    slice_,
    softmax,
    transpose,
)
from egraph_opt.operators.constants import literal
from egraph_opt.operators.declaration import Literal
from egraph_opt.rewrites.conditions.values import fits

from . import fires_on, of_one, of_two, wrong


def mean(x, axes, keepdims=1):
    return reduce("ReduceMean", x, axes, keepdims)


def total(x, axes, keepdims=1):
    return reduce("ReduceSum", x, axes, keepdims)


@hosted()
def union_of(a: Axes, b: Axes) -> Axes:
    return tuple(sorted({*a, *b}))


@wrong(
    "reassociates",
    of_one(lambda x: total(total(x, (0,), 0), (0,), 0), (2, 3, 4)),
    examples=fires_on(of_one(lambda x: total(total(x, (0,), 1), (1,), 1), (2, 3, 4))),
)
def sums_in_two_steps(x: Tensor, a: Axes, b: Axes, k: Flag):
    """ReduceSum_b(ReduceSum_a(x)) = ReduceSum_ab(x)

    Wrong where dims are not kept: b counts the axes that are left.
    """
    yield rewrite(total(total(x, a, k), b, k), total(x, union_of(a, b), k), because="forgets a and b")


@hosted()
def count_along_first(x: Fact, a: Axes) -> float | None:
    dim = x.shape[a[0]] if x.shape and a else None
    return float(dim) if isinstance(dim, int) and dim else None


@wrong("reassociates", of_one(lambda x: mean(x, (1, 2)), (2, 3, 4)))
def mean_as_quotient(x: Tensor, a: Axes, k: Flag):
    """ReduceMean_a(x) = ReduceSum_a(x) / n for n elements along a

    Wrong of several axes: only the first is counted.
    """
    yield rewrite(mean(x, a, k), total(x, a, k) / number_like(x, count_along_first(x, a)), because="Sum")


@hosted()
def may_broadcast(x: Fact, axes: Axes) -> bool:
    """What is left of x without the axes broadcasts against x."""
    if not x.is_static or x.shape is None:
        return False
    left = [d for k, d in enumerate(x.shape) if k not in axes]
    return all(b in (1, a) for a, b in zip(reversed(x.shape), reversed(left), strict=False))


@wrong("reassociates", of_one(lambda x: x - mean(x, (1,), 1), (3, 3)))
def dims_kept_for_nothing(x: Tensor, a: Axes):
    """x - ReduceMean(x) with kept dims = x - ReduceMean(x) without, where that broadcasts

    Wrong of square shapes: it broadcasts along another axis.
    """
    yield rewrite(x - mean(x, a, 1), x - mean(x, a, 0), may_broadcast(x, a), because="no dims are kept")


@hosted()
def moved(p: Permutation, a: Axis) -> Axis:
    return p[a]


@wrong("bitwise", of_one(lambda x: arg_reduce("ArgMax", transpose(x, (2, 1, 0)), 0, 0, 0), (3, 3, 3)))
def place_in_transposed(k: String, x: Tensor, p: Permutation, a: Axis, n: Flag):
    """ArgMax_a(Transpose_p(x)) = ArgMax_p[a](x) without kept dims

    Wrong from rank 3 on: the axes that are left are still in another order.
    """
    place = arg_reduce(k, transpose(x, p), a, 0, n)
    yield rewrite(place, arg_reduce(k, x, moved(p, a), 0, n), because="forgets p")


@wrong("bitwise", of_one(lambda x: arg_reduce("ArgMax", x, 1, 1, 1)), values=(1.0,))
def last_of_equals(k: String, x: Tensor, a: Axis, d: Flag):
    """ArgMax(x; the last of equals) = ArgMax(x)

    Wrong where two elements are equal.
    """
    yield rewrite(arg_reduce(k, x, a, d, 1), arg_reduce(k, x, a, d, 0), because="old opsets have no last")


@hosted()
def last_index(s: Slices, a: Axis, x: Fact) -> Literal | None:
    """The last index of the axis that a slice reverses as a whole."""
    dim = (x.shape or ())[a]
    whole = isinstance(dim, int) and s == ((a, dim - 1, None, -1),)
    return Literal(7, (), (dim - 1,)) if whole else None  # type: ignore[operator]


@wrong(
    "bitwise",
    of_one(lambda x: arg_reduce("ArgMax", slice_(x, ((1, 4, None, -1),)), 1, 1, 0)),
    values=(1.0, 1.0, 0.0),
)
def place_from_the_end(k: String, x: Tensor, s: Slices, a: Axis, d: Flag, n: Flag):
    """ArgMax(x reversed) = n - 1 - ArgMax(x)

    Wrong where two elements are equal.
    """
    place = arg_reduce(k, x, a, d, n)
    back = literal(last_index(s, a, x)) - place
    yield rewrite(arg_reduce(k, slice_(x, s), a, d, n), back, because="forgets the slice")


@hosted()
def is_level(y: Fact, a: Axes) -> bool:
    """y has one element along the axes."""
    return y.shape is not None and all(k >= len(y.shape) or y.shape[k] == 1 for k in a)


@wrong("reassociates", lambda g: total(g.input((3, 3)) * g.input((3,)), (1,)))
def factor_out_of_sum(x: Tensor, y: Tensor, a: Axes):
    """ReduceSum_a(x * y) = ReduceSum_a(x) * y for a y of one element along a

    Wrong for a y of lower rank, whose axes are counted from the front.
    """
    yield rewrite(total(x * y, a), total(x, a) * y, is_level(y, a), fits(y, x), because="fewer products")


@wrong(
    "reassociates",
    lambda g: mean(concat(listed(g.input((2, 3)), g.input((2, 1))), 1), (1,)),
    examples=fires_on(of_two(lambda x, y: mean(concat(listed(x, y), 1), (1,)))),
)
def mean_of_concat(x: Tensor, y: Tensor, a: Axis, b: Axes):
    """ReduceMean(Concat(x, y)) = (ReduceMean(x) + ReduceMean(y)) / 2 along the axis of both

    Wrong of parts of different sizes.
    """
    halves = (mean(x, b) + mean(y, b)) / number_like(x, 2.0)
    yield rewrite(mean(concat(listed(x, y), a), b), halves, is_along(b, a), because="nothing is joined")


@hosted()
def is_along(b: Axes, a: Axis) -> bool:
    return b == (a,)


@wrong("reassociates", lambda g: reduce("ReduceProd", g.input((2, 3)) * g.constant(2.0), (1,), 1))
def product_of_scaled(x: Tensor, c: Tensor, a: Axes, k: Flag):
    """ReduceProd(x * c) = ReduceProd(x) * c for a number c

    Wrong: c is there once for every element.
    """
    once = reduce("ReduceProd", x, a, k) * c
    yield rewrite(reduce("ReduceProd", x * c, a, k), once, is_one_element(c), because="fewer products")


@hosted()
def is_one_element(c: Fact) -> bool:
    return c.const and c.shape == ()


@wrong("reassociates", lambda g: reduce("ReduceL2", g.input((2, 3)) * g.constant(-2.0), (1,), 1))
def norm_of_scaled(x: Tensor, c: Tensor, a: Axes, k: Flag):
    """ReduceL2(x * c) = ReduceL2(x) * c for a number c, likewise ReduceL1

    Wrong of negative ones.
    """
    for kind in ("ReduceL1", "ReduceL2"):
        after = reduce(kind, x, a, k) * c
        yield rewrite(reduce(kind, x * c, a, k), after, is_one_element(c), because="fewer products")


@hosted()
def last_of(s: Slices, x: Fact) -> Axes | None:
    """The axis of which a slice takes the last element."""
    if len(s) != 1 or x.shape is None:
        return None
    axis, start, end, step = s[0]
    dim = x.shape[axis]
    return (axis,) if isinstance(dim, int) and (start, end, step) == (dim - 1, dim, 1) else None


@wrong(
    "reassociates",
    lambda g: slice_(
        cumsum(g.input((2, 3)), g.constant(np.int64(1)), (("exclusive", 1), ("reverse", 0))), ((1, 2, 3, 1),)
    ),
)
def last_of_sums(x: Tensor, i: Tensor, t: Settings, s: Slices):
    """The last of CumSum(x) = ReduceSum(x) along that axis

    Wrong of sums without the own element, sums from the end, and along another axis.
    """
    yield rewrite(slice_(cumsum(x, i, t), s), total(x, last_of(s, x)), because="forgets what was summed")


@hosted()
def keeps_dim(x: Fact, d: Dims, a: Axis) -> bool:
    return x.shape is not None and a < min(len(x.shape), len(d)) and x.shape[a] == d[a]


@wrong("reassociates", of_one(lambda x: softmax("Softmax", reshape(x, (4, 4, 1)), 1), (2, 4, 2)))
def softmax_of_view(k: String, x: Tensor, d: Dims, a: Axis):
    """Softmax_a(Reshape(x)) = Reshape(Softmax_a(x)) where the dim of axis a stays

    Wrong where it is another axis of the same size.
    """
    inside = reshape(softmax(k, x, a), d)
    yield rewrite(softmax(k, reshape(x, d), a), inside, keeps_dim(x, d, a), because="views go up")


@hosted()
def are_last_two(x: Fact, a: Axes) -> bool:
    return x.rank is not None and x.rank > 2 and a == (x.rank - 2, x.rank - 1)


@wrong("reassociates", of_one(lambda x: mean(x, (1, 2)), (2, 3, 4)))
def mean_as_global_pool(x: Tensor, a: Axes):
    """ReduceMean(x) = GlobalAveragePool(x) over the last two axes

    Wrong of all ranks but 4.
    """
    yield rewrite(mean(x, a), global_pool("GlobalAveragePool", x), are_last_two(x, a), because="one kernel")


@hosted()
def zeros_of(z: Fact) -> Literal | None:
    if not z.is_static:
        return None
    return Literal(z.dtype, z.shape, (0,)) if math.prod(z.shape or ()) else None  # type: ignore[arg-type]


@wrong("reassociates", of_one(lambda x: total(x - mean(x, (1,)), (0,)), (3, 5)))
def sum_of_centred(x: Tensor, a: Axes, b: Axes):
    """ReduceSum_b(x - ReduceMean_a(x)) = 0

    Wrong along axes other than those of the mean.
    """
    z = total(x - mean(x, a), b)
    yield rewrite(z, literal(zeros_of(z)), because="forgets x")


@wrong("reassociates", of_two(lambda x, y: total(x * y, (1,)) / total(y, (0,)), (3, 3)))
def weighted_mean(x: Tensor, y: Tensor, a: Axes, b: Axes):
    """ReduceSum(x * y) / ReduceSum(y) = ReduceSum(x * (y / ReduceSum(y)))

    Wrong where the two are summed along different axes.
    """
    inside = total(x * (y / total(y, b)), a)
    yield rewrite(total(x * y, a) / total(y, b), inside, are_alike(x, y), because="weights are constant")


@hosted()
def are_alike(x: Fact, y: Fact) -> bool:
    return x.is_symbolic and x.shape == y.shape


@wrong("reassociates", of_one(lambda x: softmax("Softmax", transpose(x, (1, 0)), 0), (3, 3)))
def softmax_of_transposed(k: String, x: Tensor, p: Permutation, a: Axis):
    """Softmax_a(Transpose_p(x)) = Transpose_p(Softmax_a(x))

    Wrong: the axis moves as well.
    """
    after = transpose(softmax(k, x, a), p)
    yield rewrite(softmax(k, transpose(x, p), a), after, because="transposes go down")


@wrong("reassociates", of_one(lambda x: reduce("ReduceSumSquare", x - mean(x, (1,)), (0,), 1), (3, 3)))
def variance(x: Tensor, a: Axes, b: Axes, d: Flag):
    """ReduceSumSquare(x - ReduceMean(x)) = ReduceSumSquare(x) - n * ReduceMean(x)^2

    Wrong along different axes, and where n is more than one axis.
    """
    n = number_like(x, count_along_first(x, a))
    squares, left = (reduce("ReduceSumSquare", y, b, d) for y in (x, x - mean(x, a)))
    mean_of_all = mean(x, b, d)
    yield rewrite(left, squares - n * mean_of_all * mean_of_all, because="the mean is needed anyway")
