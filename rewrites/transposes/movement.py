"""Transposes sink: they move from the operands of an operator to its result, where they meet others.

    f(T(x), T(y)) = T(f(x, y))                for f of two or three operands, element by element
    f(T(x), c) = T(f(x, T'(c)))               for a constant c of lower or equal rank
    Cast(T(x)) = T(Cast(x))
    Reduce_a(T(x)) = T(Reduce_p[a](x))        and likewise Softmax, Concat, Slice and Pad
    MatMul(T(x), T(y)) = T(MatMul(y, x))      for transposes of the last two axes

T' undoes T.  Only this direction runs: a transpose meets its inverse below, and growth stays bounded.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.compat import PyObject, String, holds, let, rewrite
from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import (
    binary,
    cast,
    concat,
    matmul,
    pad,
    reduce,
    reshape,
    slice_,
    softmax,
    transpose,
    where,
)
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, cons, fact, listed, nil
from egraph_opt.rewrites.conditions.comparing import equals
from egraph_opt.rewrites.transposes.composition import Permutation, invert


@hosted()
def inverse(p: Permutation) -> Permutation:
    return invert(p)


@hosted(default=False)
def same_rank(x: Fact, y: Fact) -> bool:
    return x.rank is not None and x.rank == y.rank


@hosted()
def padded_dims(c: Fact, p: Permutation) -> Shape | None:
    """The dims of a constant with leading ones up to the rank of p; None where it is no constant.

    One number is left alone: it need not be moved.
    """
    if not c.const or c.shape is None or None in c.shape or len(c.shape) > len(p) or is_single(c):
        return None
    return (1,) * (len(p) - len(c.shape)) + c.shape


@hosted(default=False)
def is_single(c: Fact) -> bool:
    """One element, of rank 0 or 1: it broadcasts against anything without adding axes."""
    return c.shape in ((), (1,))


def _binary_examples(rng: np.random.Generator) -> Iterator[Example]:
    p = (2, 0, 1)
    for op in ("Add", "Sub", "Mul", "Div"):
        g = Operands(rng)
        x, y, row = g.input(("N", 3, 4)), g.input(("N", 3, 4)), g.input((1, 3, 1))
        yield g.fires(binary(op, transpose(x, p), transpose(y, p)))
        yield g.fires(binary(op, transpose(x, p), transpose(row, p)))
        other = transpose(g.input((3, "N", 4)), (2, 1, 0))
        yield g.near_miss(binary(op, transpose(x, p), other), why="another permutation")
        lower = transpose(g.input((4, 2)), (1, 0))
        yield g.near_miss(binary(op, transpose(g.input((4, 3, 2)), (1, 2, 0)), lower), why="ranks differ")


@law("transpose", numerics="bitwise", examples=_binary_examples)
def through_binary(op: String, x: Tensor, y: Tensor, p: PyObject) -> Iterator[Any]:
    """f(Transpose_p(x), Transpose_p(y)) = Transpose_p(f(x, y))

    Source: TASO.
    """
    both = holds(same_rank, fact(x), fact(y))
    yield rewrite(binary(op, transpose(x, p), transpose(y, p)), transpose(binary(op, x, y), p), both)


def _constant_examples(rng: np.random.Generator) -> Iterator[Example]:
    p = (2, 0, 1)
    g = Operands(rng)
    x = g.input(("N", 3, 4))
    for shape in ((3,), (1, 3), (4, 1, 1), (1, 1), (4, 1, 3)):
        c = g.random(*shape)
        yield g.fires(binary("Sub", transpose(x, p), c))
        yield g.fires(binary("Sub", c, transpose(x, p)))
    yield g.near_miss(binary("Add", transpose(x, p), g.random(2, 4, 1, 3)), why="the constant has more axes")
    yield g.near_miss(binary("Add", transpose(x, p), g.input((3,))), why="the operand is no constant")
    yield g.near_miss(binary("Add", transpose(x, p), g.random()), why="one number need not be moved")


@law("transpose", numerics="bitwise", examples=_constant_examples)
def through_binary_with_constant(
    op: String, x: Tensor, c: Tensor, p: PyObject, q: PyObject, d: PyObject
) -> Iterator[Any]:
    """f(Transpose_p(x), c) = Transpose_p(f(x, Transpose_p'(c))) for a constant c, given the axes it lacks

    Source: Ascend auto-optimizer, BNFolding.
    """
    moved = transpose(reshape(c, d), q)
    conditions = (let(q, inverse, p), let(d, padded_dims, fact(c), p))
    yield rewrite(binary(op, transpose(x, p), c), transpose(binary(op, x, moved), p), *conditions)
    yield rewrite(binary(op, c, transpose(x, p)), transpose(binary(op, moved, x), p), *conditions)


def _single_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input((2, 3, 4))
    yield g.fires(binary("Mul", transpose(x, (2, 0, 1)), g.input(())))
    yield g.fires(binary("Sub", g.input((1,)), transpose(x, (2, 0, 1))))
    yield g.near_miss(binary("Mul", transpose(x, (2, 0, 1)), g.input((3,))), why="three elements")


@law("transpose", numerics="bitwise", examples=_single_examples)
def through_binary_with_scalar(op: String, x: Tensor, c: Tensor, p: PyObject) -> Iterator[Any]:
    """f(Transpose_p(x), c) = Transpose_p(f(x, c)) for a c of one element

    Source: algebra.
    """
    yield rewrite(binary(op, transpose(x, p), c), transpose(binary(op, x, c), p), holds(is_single, fact(c)))
    yield rewrite(binary(op, c, transpose(x, p)), transpose(binary(op, c, x), p), holds(is_single, fact(c)))


def _where_examples(rng: np.random.Generator) -> Iterator[Example]:
    p = (2, 0, 1)
    g = Operands(rng)
    x, y, c = g.input((2, 3, 4)), g.input((2, 3, 4)), g.input((2, 3, 4), TensorProto.BOOL)
    yield g.fires(where(transpose(c, p), transpose(x, p), transpose(y, p)))
    other = transpose(g.input((3, 2, 4)), (2, 1, 0))
    yield g.near_miss(where(transpose(c, p), transpose(x, p), other), why="another permutation")


@law("transpose", numerics="bitwise", examples=_where_examples)
def through_where(c: Tensor, x: Tensor, y: Tensor, p: PyObject) -> Iterator[Any]:
    """Where(Transpose_p(c), Transpose_p(x), Transpose_p(y)) = Transpose_p(Where(c, x, y))

    Source: algebra.
    """
    ranks = (holds(same_rank, fact(c), fact(x)), holds(same_rank, fact(x), fact(y)))
    whole = where(transpose(c, p), transpose(x, p), transpose(y, p))
    yield rewrite(whole, transpose(where(c, x, y), p), *ranks)


def _cast_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    yield g.fires(cast(transpose(g.input((2, 3, 4)), (2, 0, 1)), TensorProto.INT32))
    yield g.near_miss(cast(g.input((2, 3)), TensorProto.INT32), why="nothing is transposed")


@law("transpose", numerics="bitwise", examples=_cast_examples)
def through_cast(x: Tensor, p: PyObject, t: PyObject) -> Iterator[Any]:
    """Cast(Transpose_p(x)) = Transpose_p(Cast(x))

    Source: algebra.
    """
    yield rewrite(cast(transpose(x, p), t), transpose(cast(x, t), p))


@hosted()
def moved_axes(p: Permutation, axes: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of x that `axes` of Transpose_p(x) are."""
    return tuple(sorted(p[a] for a in axes))


@hosted()
def remaining(p: Permutation, axes: tuple[int, ...], keepdims: int) -> Permutation:
    """The transpose that is left of p after a reduction of `axes` of Transpose_p(x)."""
    if keepdims:
        return p
    kept = [p[a] for a in range(len(p)) if a not in axes]
    order = sorted(kept)
    return tuple(order.index(a) for a in kept)


def _reduce_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3, 4, 5))
    for axes, keepdims in (((1,), 0), ((0, 3), 0), ((2,), 1), ((0, 1, 2, 3), 0)):
        for kind in ("ReduceMax", "ReduceMean"):
            yield g.fires(reduce(kind, transpose(x, (2, 0, 3, 1)), axes, keepdims))
    yield g.near_miss(reduce("ReduceMax", x, (1,), 0), why="nothing is transposed")


@law("transpose", numerics="reassociates", examples=_reduce_examples)
def through_reduce(
    kind: String, x: Tensor, p: PyObject, a: PyObject, k: PyObject, b: PyObject, q: PyObject
) -> Iterator[Any]:
    """Reduce_a(Transpose_p(x)) = Transpose_q(Reduce_p[a](x)), q being p without the reduced axes

    Source: Ascend auto-optimizer, TransposeLargeInputConv.
    """
    conditions = (let(b, moved_axes, p, a), let(q, remaining, p, a, k))
    yield rewrite(reduce(kind, transpose(x, p), a, k), transpose(reduce(kind, x, b, k), q), *conditions)


@hosted()
def moved_axis(p: Permutation, axis: int) -> int:
    return p[axis]


def _softmax_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3, 4))
    yield g.fires(softmax("Softmax", transpose(x, (0, 2, 1)), 1))
    yield g.fires(softmax("LogSoftmax", transpose(x, (2, 0, 1)), 2))
    yield g.near_miss(softmax("Softmax", x, 1), why="nothing is transposed")


@law("transpose", numerics="reassociates", examples=_softmax_examples)
def through_softmax(kind: String, x: Tensor, p: PyObject, a: PyObject, b: PyObject) -> Iterator[Any]:
    """Softmax_a(Transpose_p(x)) = Transpose_p(Softmax_p[a](x))

    Source: algebra.
    """
    yield rewrite(
        softmax(kind, transpose(x, p), a), transpose(softmax(kind, x, b), p), let(b, moved_axis, p, a)
    )


@hosted()
def moved_slices(p: Permutation, spec: tuple[tuple[Any, ...], ...]) -> tuple[tuple[Any, ...], ...]:
    return tuple(sorted((p[axis], *rest) for axis, *rest in spec))


def _slice_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 6, 8))
    yield g.fires(slice_(transpose(x, (2, 0, 1)), ((0, 1, 7, 2), (2, 0, 3, 1))))
    yield g.near_miss(slice_(x, ((1, 0, 3, 1),)), why="nothing is transposed")


@law("transpose", numerics="bitwise", examples=_slice_examples)
def through_slice(x: Tensor, p: PyObject, s: PyObject, r: PyObject) -> Iterator[Any]:
    """Slice_s(Transpose_p(x)) = Transpose_p(Slice_p[s](x))

    Source: algebra.
    """
    yield rewrite(slice_(transpose(x, p), s), transpose(slice_(x, r), p), let(r, moved_slices, p, s))


@hosted()
def moved_pads(p: Permutation, pads: tuple[int, ...]) -> tuple[int, ...]:
    rank = len(p)
    moved = [0] * (2 * rank)
    for axis in range(rank):
        moved[p[axis]] = pads[axis]
        moved[p[axis] + rank] = pads[axis + rank]
    return tuple(moved)


def _pad_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input((2, 3, 4))
    yield g.fires(pad(transpose(x, (2, 0, 1)), "constant", (0, 1, 2, 3, 0, 1), 0.5))
    yield g.near_miss(pad(x, "constant", (0, 1, 2, 3, 0, 1), 0.5), why="nothing is transposed")


@law("transpose", numerics="bitwise", examples=_pad_examples)
def through_pad(
    x: Tensor, p: PyObject, m: PyObject, pads: PyObject, v: PyObject, r: PyObject
) -> Iterator[Any]:
    """Pad(Transpose_p(x)) = Transpose_p(Pad(x)) with the pads moved

    Source: algebra.
    """
    yield rewrite(
        pad(transpose(x, p), m, pads, v), transpose(pad(x, m, r, v), p), let(r, moved_pads, p, pads)
    )


def _concat_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z = g.input(("N", 3, 4)), g.input(("N", 2, 4)), g.input(("N", 1, 4))
    p = (2, 0, 1)
    yield g.fires(concat(listed(transpose(x, p), transpose(y, p)), 2))
    yield g.near_miss(concat(listed(x, y, z), 1), why="nothing is transposed")


@law("transpose", numerics="bitwise", examples=_concat_examples)
def through_concat_of_two(
    x: Tensor, y: Tensor, p: PyObject, q: PyObject, a: PyObject, b: PyObject
) -> Iterator[Any]:
    """Concat_a(Transpose_p(x), Transpose_p(y)) = Transpose_p(Concat_p[a](x, y))

    Source: TASO.
    """
    pair = cons(transpose(x, p), cons(transpose(y, q), nil()))
    moved = concat(cons(x, cons(y, nil())), b)
    yield rewrite(concat(pair, a), transpose(moved, p), holds(equals, p, q), let(b, moved_axis, p, a))


@hosted()
def swap_of_last_two(x: Fact) -> Permutation | None:
    """The permutation that swaps the last two axes of x."""
    if x.rank is None or x.rank < 2:
        return None
    return (*range(x.rank - 2), x.rank - 1, x.rank - 2)


def _matmul_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    yield g.fires(matmul(transpose(g.input((4, "N")), (1, 0)), transpose(g.input((3, 4)), (1, 0))))
    x, y = g.input((2, 4, 5)), g.input((2, 3, 4))
    yield g.fires(matmul(transpose(x, (0, 2, 1)), transpose(y, (0, 2, 1))))
    yield g.near_miss(matmul(transpose(x, (0, 2, 1)), g.input((2, 4, 3))), why="one side is not transposed")


@law("transpose", numerics="reassociates", examples=_matmul_examples)
def of_product(x: Tensor, y: Tensor, p: PyObject, q: PyObject) -> Iterator[Any]:
    """MatMul(x^T, y^T) = MatMul(y, x)^T

    Source: TASO.
    """
    swaps = (holds(equals, p, q), let(p, swap_of_last_two, fact(x)), holds(same_rank, fact(x), fact(y)))
    yield rewrite(matmul(transpose(x, p), transpose(y, q)), transpose(matmul(y, x), p), *swaps)
