"""Elements are moved as the bytes that they are quantized to: DQ sinks past what moves them, Q rises.

m(DQ(q)) -> DQ(m(q))                            for Reshape, Slice, Gather and Expand, of one scale
Q(m(x)) -> m(Q(x))                              for Reshape and Expand, of one scale
DQ(Transpose(q)) = Transpose(DQ(q))             and Q likewise, also of a scale for each part of an axis
Concat(DQ(x), DQ(y), ..) -> DQ(Concat(x, y, ..))  of the same scale

So a Q meets the DQ of which it undoes the work (`round_trips`), and weights are moved before they are floats.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Example,
    Operands,
    assign,
    auxiliary,
    eq,
    guard,
    hosted,
    laws_of,
    rewrite,
    rule,
    table,
)
from egraph_opt.laws.sorts import Axis, DataType, Permutation, String, Tensor, Tensors
from egraph_opt.operators import (
    concat,
    dequantize,
    expand,
    gather,
    none,
    quantize,
    reshape,
    slice_,
    transpose,
)
from egraph_opt.operators.quantization import is_one_scale
from egraph_opt.operators.terms import cons, nil
from egraph_opt.operators.terms import listed as terms
from egraph_opt.rewrites.conditions.operands import moved, moves
from egraph_opt.rewrites.conditions.values import dtype_of
from egraph_opt.rewrites.quantization.round_trips import parameters
from egraph_opt.rewrites.slicing.concat import listing, operands_of, worth_a_walk
from egraph_opt.rewrites.transposes.composition import invert

law = laws_of("quantization", numerics="bitwise", kind="move", serves="traffic")

_DOWN = "bytes are moved, whatever asks for floats"


@hosted()
def takes_one_scale(m: str, scale: Fact) -> bool:
    """The elements stay what they are, wherever they are moved to, for there is one scale."""
    return m not in ("Pad", "Transpose") and bool(is_one_scale(scale))


@hosted()
def makes_none_fewer(m: str) -> bool:
    """There are no more elements in front than behind."""
    return m in ("Reshape", "ReshapeTo", "Expand")


def _moved(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    s, z = parameters(g)
    q = g.input(("N", 4, 6), TensorProto.UINT8)
    x, i = dequantize(q, s, z, 0), g.constant(np.array([2, 0]))
    wide = dequantize(g.input(("N", 1, 6), TensorProto.UINT8), s, z, 0)
    for made in (reshape(x, ("N", 24)), slice_(x, ((1, 0, 2, 1),)), gather(x, i, 1), expand(wide, (1, 5, 6))):
        yield g.fires(made)
    by_axis = dequantize(q, *parameters(g, shape=(4,)), 1)
    yield g.near_miss(reshape(by_axis, ("N", 24)), why="there is a scale for each part")


@law(uses=(moves,), examples=_moved)
def dequantized_behind(q: Tensor, s: Tensor, z: Tensor, i: Tensor, a: Axis, m: String, how: Any):
    """m(DQ(q)) = DQ(m(q)) for Reshape, Slice, Gather and Expand, of one scale"""
    made = moved(m, dequantize(q, s, z, a), i, how)
    yield rewrite(made, dequantize(moved(m, q, i, how), s, z, a), takes_one_scale(m, s), because=_DOWN)


def _risen(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    s, z = parameters(g)
    x = g.input(("N", 4, 6))
    yield g.fires(quantize(reshape(x, ("N", 24)), s, z, 0, TensorProto.UINT8))
    by_axis = (*parameters(g, shape=(4,)), 1, TensorProto.UINT8)
    other = reshape(g.input((2, 4, 3, 4)), (3, 4, 2, 4))
    yield g.near_miss(quantize(other, *by_axis), why="what is scaled alike is elsewhere")
    part = slice_(x, ((1, 0, 2, 1),))
    yield g.near_miss(quantize(part, s, z, 0, TensorProto.UINT8), why="more would be quantized")


@law(uses=(moves,), examples=_risen)
def quantized_in_front(x: Tensor, s: Tensor, z: Tensor, i: Tensor, a: Axis, t: DataType, m: String, how: Any):
    """Q(m(x)) = m(Q(x)) for Reshape and Expand, of one scale"""
    made = quantize(moved(m, x, i, how), s, z, a, t)
    risen = moved(m, quantize(x, s, z, a, t), i, how)
    yield rewrite(made, risen, takes_one_scale(m, s), guard(makes_none_fewer(m)), because=_DOWN)


# --- transposes -----------------------------------------------------------------------------------------


@hosted()
def axis_in_front(p: Permutation, axis: Axis, scale: Fact) -> Axis:
    """The axis of x of which `axis` of Transpose_p(x) is made, where there is a scale for each part of it."""
    return axis if is_one_scale(scale) else p[axis]


@law()
def past_transpose(x: Tensor, s: Tensor, z: Tensor, p: Permutation, a: Axis, t: DataType):
    """DQ(Transpose_p(q)) = Transpose_p(DQ(q)), and Q likewise, the scales' axis moved"""
    b, c = axis_in_front(p, a, s), axis_in_front(invert(p), a, s)
    name = "past_transpose"
    yield rewrite(dequantize(transpose(x, p), s, z, a), transpose(dequantize(x, s, z, b), p), inverse=name)
    yield rewrite(transpose(dequantize(x, s, z, a), p), dequantize(transpose(x, p), s, z, c), inverse=name)
    behind = quantize(transpose(x, p), s, z, a, t)
    yield rewrite(behind, transpose(quantize(x, s, z, b, t), p), inverse=name)
    front = transpose(quantize(x, s, z, a, t), p)
    yield rewrite(front, quantize(transpose(x, p), s, z, c, t), inverse=name)


# --- concatenations -------------------------------------------------------------------------------------


@table()
def dequantized(xs: Tensors, axis: Axis, s: Tensor, z: Tensor, along: Axis, source: DataType) -> Tensors:
    """What the elements of a list are dequantized from, all with one scale and of one type."""


@auxiliary(listing)
def dequantizing(q: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, s: Tensor, z: Tensor, a: Axis, b: Axis):
    """Fills `dequantized`."""
    d, first = dtype_of(q), dequantize(q, s, z, b)
    last = (operands_of(xs, a), eq(xs, cons(first, nil())))
    yield rule(*last, then=assign(dequantized(xs, a, s, z, b, d), cons(q, nil())))
    more = (operands_of(xs, a), eq(xs, cons(first, rest)), eq(ys, dequantized(rest, a, s, z, b, d)))
    yield rule(*more, then=assign(dequantized(xs, a, s, z, b, d), cons(q, ys)))


@hosted()
def scales_stay(a: Axis, along: Axis, scale: Fact) -> bool:
    """What is joined has the scales of its parts."""
    return bool(is_one_scale(scale)) or a != along


def _joined(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    s, z = parameters(g)
    x, y, w = (g.input(("N", n, 4), TensorProto.UINT8) for n in (2, 3, 1))
    yield g.fires(concat(terms(*(dequantize(v, s, z, 0) for v in (x, y, w, x))), 1))
    yield g.fires(concat(terms(*(dequantize(v, s, none(), 0) for v in (x, y))), 1))
    by_axis = parameters(g, shape=(4,))
    yield g.fires(concat(terms(*(dequantize(v, *by_axis, 2) for v in (x, y))), 1))
    other = g.constant(np.array(0.25, np.float32))
    both = (dequantize(x, s, z, 0), dequantize(y, other, z, 0))
    yield g.near_miss(concat(terms(*both), 1), why="two scales")
    parts = parameters(g, shape=(2,))
    yield g.near_miss(concat(terms(*[dequantize(x, *parts, 1)] * 2), 1), why="joined along the scales' axis")


@law(uses=(dequantizing,), examples=_joined)
def concat_of_dequantized(xs: Tensors, ys: Tensors, s: Tensor, z: Tensor, a: Axis, b: Axis, d: DataType):
    """Concat(DQ(x), DQ(y), ..) = DQ(Concat(x, y, ..)) of the same scale"""
    known = (guard(worth_a_walk(xs)), eq(ys, dequantized(xs, a, s, z, b, d)), scales_stay(a, b, s))
    yield rewrite(concat(xs, a), dequantize(concat(ys, a), s, z, b), *known, because=_DOWN)
