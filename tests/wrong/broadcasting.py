"""Operands of lower rank, dims of 1, and results that are bigger than an operand."""

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Axis,
    Dims,
    Flag,
    Permutation,
    Place,
    Sizes,
    Slices,
    String,
    Tensor,
    hosted,
    is_constant,
    listed,
    rewrite,
)
from egraph_opt.operators import (
    binary,
    concat,
    expand,
    gather,
    output,
    reduce,
    reshape,
    shape_of,
    slice_,
    softmax,
    split,
    transpose,
    variadic,
    where,
)
from egraph_opt.rewrites.conditions.values import all_are, is_float, is_true
from egraph_opt.rewrites.conditions.zeros import zeros_like

from . import of_one, of_two, wrong


@wrong("bitwise", lambda g: g.input((1, 5)) * g.constant(np.ones((3, 1))))
def factor_of_one(x: Tensor, c: Tensor):
    """x * 1 = x

    Wrong where c makes the result bigger than x.
    """
    yield rewrite(x * c, x, all_are(c, 1), because="every x would be a product")


@wrong("finite", lambda g: g.constant(np.zeros((2, 1, 1))) + g.input((2, 5)))
def zero_in_front(x: Tensor, c: Tensor):
    """0 + x = x

    Wrong where c makes the result bigger than x, or gives it more axes.
    """
    yield rewrite(c + x, x, all_are(c, 0), because="every x would be a sum")


@wrong("finite", lambda g: g.input((5,)) * g.constant(np.zeros((3, 1))))
def zero_of_any_size(x: Tensor, c: Tensor):
    """x * 0 = 0 in the shape of x

    Wrong where c makes the result bigger.
    """
    for zeros in zeros_like(x):
        yield rewrite(x * c, zeros, all_are(c, 0), is_float(x), because="forgets x")


@wrong("finite", lambda g: (lambda x: where(g.input((3, 1), 9), x, x))(g.input((5,))))
def choice_between_the_same(c: Tensor, x: Tensor):
    """Where(c, x, x) = x

    Wrong where c makes the result bigger.
    """
    yield rewrite(where(c, x, x), x, because="forgets c")


@wrong("finite", lambda g: where(g.constant(np.array(True)), g.input((1, 5)), g.input((3, 5))))
def choice_that_is_made(c: Tensor, x: Tensor, y: Tensor):
    """Where(true, x, y) = x

    Wrong where y makes the result bigger.
    """
    yield rewrite(where(c, x, y), x, is_true(c), because="forgets c and y")


@wrong("bitwise", lambda g: expand(g.input((1, 4)), (3, 4)) + g.input((4,)))
def expanded_operand(f: String, x: Tensor, y: Tensor, d: Dims):
    """Expand(x) f y = x f y

    Wrong where y has not the dims of the expansion.
    """
    yield rewrite(binary(f, expand(x, d), y), binary(f, x, y), because="operators broadcast by themselves")


@wrong("reassociates", lambda g: reduce("ReduceSum", g.input((3, 4)) + g.input((4,)), (0,), 1))
def sum_of_sum(x: Tensor, y: Tensor, a: Axes):
    """ReduceSum_a(x + y) = ReduceSum_a(x) + y for a y without the axes a

    Wrong: y is there once for every element.
    """
    left = reduce("ReduceSum", x + y, a, 1)
    yield rewrite(left, reduce("ReduceSum", x, a, 1) + y, lacks(y, x, a), because="fewer sums")


@hosted()
def lacks(y: Fact, x: Fact, a: Axes) -> bool:
    """y, broadcast against x, has one element along the axes."""
    if y.shape is None or x.shape is None or len(y.shape) > len(x.shape):
        return False
    dims = (1,) * (len(x.shape) - len(y.shape)) + y.shape
    return all(dims[k] == 1 for k in a)


@wrong("bitwise", lambda g: transpose(g.input((3, 3, 3)) * g.input((3, 3)), (2, 0, 1)))
def transpose_of_both(f: String, x: Tensor, y: Tensor, p: Permutation):
    """Transpose_p(x f y) = Transpose_p(x) f Transpose_p(y)

    Wrong where y has fewer axes.
    """
    yield rewrite(transpose(binary(f, x, y), p), binary(f, transpose(x, p), transpose(y, p)), because="down")


@wrong("bitwise", lambda g: transpose(g.input((3, 3)), (1, 0)) + g.constant(np.arange(3.0)))
def constant_past_transpose(f: String, x: Tensor, c: Tensor, p: Permutation):
    """Transpose_p(x) f c = Transpose_p(x f c) for a constant c of one axis or none

    Wrong of more than one element: it lies along the last axis.
    """
    known = (is_constant(c), is_flat(c))
    yield rewrite(binary(f, transpose(x, p), c), transpose(binary(f, x, c), p), known, because="down")


@hosted()
def is_flat(c: Fact) -> bool:
    return c.rank in (0, 1)


@wrong(
    "bitwise",
    lambda g: (lambda c: concat(listed(g.input((2, 3)) + c, g.input((2, 3)) + c), 1))(
        g.constant(np.arange(3.0))
    ),
)
def constant_past_concat(f: String, x: Tensor, y: Tensor, c: Tensor, a: Axis):
    """Concat(x f c, y f c) = Concat(x, y) f c for a constant c

    Wrong where c varies along the axis: it is too short then.
    """
    joined = binary(f, concat(listed(x, y), a), c)
    yield rewrite(concat(listed(binary(f, x, c), binary(f, y, c)), a), joined, is_constant(c), because="once")


@wrong("bitwise", lambda g: slice_(g.input((4, 5)) + g.input((1, 5)), ((0, 2, 4, 1),)))
def slice_of_both(f: String, x: Tensor, y: Tensor, s: Slices):
    """Slice(x f y) = Slice(x) f Slice(y) for operands of one rank

    Wrong where one of them is broadcast along the axis.
    """
    apart = binary(f, slice_(x, s), slice_(y, s))
    yield rewrite(slice_(binary(f, x, y), s), apart, same_rank(x, y), because="fewer elements")


@hosted()
def same_rank(x: Fact, y: Fact) -> bool:
    return x.rank is not None and x.rank == y.rank


@wrong("bitwise", lambda g: slice_(g.input((3, 4)) + g.input((4,)), ((0, 0, 2, 1),)))
def slice_of_lower_rank(f: String, x: Tensor, y: Tensor, s: Slices):
    """Slice(x f y) = Slice(x) f Slice(y) where both have the axes

    Wrong for a y of lower rank, of which the axes are others.
    """
    apart = binary(f, slice_(x, s), slice_(y, s))
    yield rewrite(slice_(binary(f, x, y), s), apart, has_axes(x, s), has_axes(y, s), because="fewer elements")


@hosted()
def has_axes(x: Fact, s: Slices) -> bool:
    dims = x.shape or ()
    return all(axis < len(dims) and dims[axis] != 1 for axis, *_ in s)


@wrong("bitwise", lambda g: gather(g.input((4, 5)) * g.input((1, 5)), g.constant([3, 1]), 0))
def gather_of_both(f: String, x: Tensor, y: Tensor, i: Tensor, a: Axis):
    """Gather(x f y, i) = Gather(x, i) f Gather(y, i) for operands of one rank

    Wrong where one of them is broadcast along the axis.
    """
    apart = binary(f, gather(x, i, a), gather(y, i, a))
    yield rewrite(gather(binary(f, x, y), i, a), apart, same_rank(x, y), because="fewer elements")


@wrong("bitwise", lambda g: output(split(g.input((4, 5)) * g.input((4, 5)), 1, (2, 3)), 1))
def split_of_both(f: String, x: Tensor, y: Tensor, a: Axis, n: Sizes):
    """A part of Split(x f y) = a part of Split(x) f y, likewise the other part

    Wrong where y has the axis as well.
    """
    for k in (0, 1):
        part = binary(f, output(split(x, a, n), k), y)
        yield rewrite(
            output(split(binary(f, x, y), a, n), k), part, same_rank(x, y), because="fewer elements"
        )


@wrong("bitwise", lambda g: reshape(g.input((2, 3)) + g.input((3,)), (3, 2)))
def reshape_of_both(f: String, x: Tensor, y: Tensor, d: Dims):
    """Reshape(x f y) = Reshape(x) f y

    Wrong where y is not one number.
    """
    yield rewrite(reshape(binary(f, x, y), d), binary(f, reshape(x, d), y), broadcasts(y, d), because="up")


@hosted()
def broadcasts(y: Fact, d: Dims) -> bool:
    if y.shape is None or len(y.shape) > len(d):
        return False
    return all(
        a in (1, b) or len(y.shape or ()) == 1 for a, b in zip(y.shape, d[-len(y.shape) :], strict=False)
    )


@wrong("reassociates", lambda g: softmax("Softmax", g.input((1, 4)) - g.input((3, 1)), 1))
def level_operand(k: String, x: Tensor, m: Tensor, a: Axis):
    """Softmax(x - m) = Softmax(x) for an m of one element along the axis

    Wrong where m makes the result bigger, and of Hardmax.
    """
    yield rewrite(softmax(k, x - m, a), softmax(k, x, a), has_one(m, a), same_rank(x, m), because="forgets m")


@hosted()
def has_one(m: Fact, a: Axis) -> bool:
    return m.shape is not None and a < len(m.shape) and m.shape[a] == 1


@wrong("bitwise", lambda g: shape_of(g.input(("N", 1)) + g.input(("N", "L")), 0, 2))
def dims_of_sum(f: String, x: Tensor, y: Tensor, s: Place, e: Place):
    """Shape(x f y) = Shape(x) for operands of one rank

    Wrong where a dim of x is 1 and that of y is not.
    """
    whole = shape_of(binary(f, x, y), s, e)
    yield rewrite(whole, shape_of(x, s, e), same_rank(x, y), because="the sum is not needed")


@wrong("bitwise", of_one(lambda x: expand(expand(x, (3, 4)), (1, 4)), (1, 4)))
def expanded_twice(x: Tensor, a: Dims, b: Dims):
    """Expand_b(Expand_a(x)) = Expand_b(x)

    Wrong where a makes a dim bigger that b has as 1.
    """
    yield rewrite(expand(expand(x, a), b), expand(x, b), because="forgets a")


@wrong("bitwise", of_two(lambda x, y: reduce("ReduceMax", variadic("Max", listed(x, y)), (0,), 1), (3, 4)))
def greatest_of_either(x: Tensor, y: Tensor, a: Axes, k: Flag):
    """ReduceMax(Max(x, y)) = Max(ReduceMax(x), y)

    Wrong: y is not reduced.
    """
    apart = variadic("Max", listed(reduce("ReduceMax", x, a, k), y))
    yield rewrite(reduce("ReduceMax", variadic("Max", listed(x, y)), a, k), apart, because="fewer elements")
