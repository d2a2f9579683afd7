"""Elements are moved as the bytes that they are quantized to: DQ sinks past what moves them, Q rises.

m(DQ(q)) -> DQ(m(q))                            for Reshape, Slice, Gather, Expand and Tile
Q(m(x)) -> m(Q(x))                              for Reshape, Expand and Tile
DQ(Transpose(q)) = Transpose(DQ(q))             and Q likewise
Concat(DQ(x), DQ(y), ..) -> DQ(Concat(x, y, ..))  of the same scale

Of one scale, or of one for each part of an axis that stays as it is, at whatever place.

So a Q meets the DQ of which it undoes the work (`round_trips`), and weights are moved before they are floats.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.inference.kernels import FOUR_BITS
from egraph_opt.laws import (
    Example,
    Operands,
    assign,
    auxiliary,
    eq,
    guard,
    hosted,
    kernel,
    laws_of,
    rewrite,
    rule,
    table,
)
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axis, DataType, Permutation, String, Tensor, Tensors
from egraph_opt.operators import (
    concat,
    dequantize,
    expand,
    expand_to,
    gather,
    none,
    quantize,
    reshape,
    shape_of,
    slice_,
    tile,
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

DOWN = "bytes are moved, whatever asks for floats"


@hosted()
def axis_behind(m: str, how: Any, x: Fact, made: Fact, i: Fact, axis: Axis, scale: Fact) -> Axis | None:
    """The scales' axis of what is made of x, where it has the parts of that of x, each with its elements."""
    if m in ("Pad", "Transpose"):
        return None
    if is_one_scale(scale):
        return axis
    if x.rank is None or made.rank is None or axis >= x.rank:
        return None
    if m == "Tile":
        return axis if how[axis] == 1 else None
    if m == "Slice":
        return axis if all(entry[0] != axis for entry in how) else None
    if m == "Gather":
        return None if how == axis else axis if axis < how else axis + made.rank - x.rank
    if m == "Expand":
        return axis + made.rank - x.rank
    return next((k for k in range(made.rank) if _is_same_axis(x, axis, made, k)), None)


@hosted()
def axis_in_front_of(m: str, x: Fact, made: Fact, axis: Axis, scale: Fact) -> Axis | None:
    """The scales' axis of x of which that of a view or an Expand is made."""
    if not makes_none_fewer(m):
        return None
    if is_one_scale(scale):
        return axis
    if x.rank is None or made.rank is None or axis >= made.rank:
        return None
    if m == "Tile":
        return axis if _is_same_dim(x, axis, made, axis) else None
    if m == "Expand":
        front = axis - made.rank + x.rank
        return front if front >= 0 and _is_same_dim(x, front, made, axis) else None
    return next((k for k in range(x.rank) if _is_same_axis(x, k, made, axis)), None)


def _is_same_dim(x: Fact, a: int, z: Fact, b: int) -> bool:
    """Axis b of z is as long as axis a of x."""
    known = x.shape is not None and z.shape is not None
    return known and symbolic.known_equal(x.shape[a], z.shape[b])  # type: ignore[index]


def _is_same_axis(x: Fact, a: int, z: Fact, b: int) -> bool:
    """Axis b of a view z of x has the elements of axis a, in the same parts: as many are in front of it."""
    if not _is_same_dim(x, a, z, b):
        return False
    fronts = (symbolic.product(dims) for dims in (x.shape[:a], z.shape[:b]))  # type: ignore[index]
    return symbolic.known_equal(*fronts)


def makes_none_fewer(m: str) -> bool:
    """There are no more elements in front than behind."""
    return m in ("Reshape", "ReshapeTo", "Expand", "Tile")


@hosted()
def has_whole_bytes(q: Fact) -> bool:
    """Whether there are kernels that move such numbers: of four bits there are none."""
    return q.dtype not in FOUR_BITS


def _moved(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    s, z = parameters(g)
    q = g.input(("N", 4, 6), TensorProto.UINT8)
    x, i = dequantize(q, s, z, 0), g.constant(np.array([2, 0]))
    wide = dequantize(g.input(("N", 1, 6), TensorProto.UINT8), s, z, 0)
    for made in (reshape(x, ("N", 24)), slice_(x, ((1, 0, 2, 1),)), gather(x, i, 1), expand(wide, (1, 5, 6))):
        yield g.fires(made)
    by_axis, square = dequantize(q, *parameters(g, shape=(4,)), 1), g.constant(np.array([[2, 0], [1, 1]]))
    yield from g.all_fire(
        reshape(by_axis, ("N", 4, 3, 2)),
        reshape(by_axis, (1, "N", 4, 6)),
        slice_(by_axis, ((2, 0, 2, 1),)),
        gather(by_axis, i, 2),
        gather(dequantize(g.input((3, 5, 4), TensorProto.UINT8), *parameters(g, shape=(4,)), 2), square, 1),
        expand(dequantize(g.input((4, 1), TensorProto.UINT8), *parameters(g, shape=(4,)), 0), (3, 4, 5)),
    )
    yield from g.all_fire(tile(x, (1, 2, 3)), tile(by_axis, (2, 1, 3)))
    yield g.near_miss(tile(by_axis, (1, 2, 1)), why="the scales would be there twice")
    yield g.near_miss(reshape(by_axis, ("N", 24)), why="there is a scale for each part")
    yield g.near_miss(slice_(by_axis, ((1, 0, 2, 1),)), why="two of the scales")
    yield g.near_miss(gather(by_axis, g.constant(np.array([3, 1, 0, 2])), 1), why="scales in another order")
    parts = dequantize(g.input((2, 4, 3, 4), TensorProto.UINT8), *parameters(g, shape=(4,)), 3)
    yield g.near_miss(reshape(parts, (2, 4, 12)), why="two axes are joined")
    yield g.fires(reshape(parts, (3, 2, 4, 4)))


@law(uses=(moves,), examples=_moved)
def dequantized_behind(q: Tensor, s: Tensor, z: Tensor, i: Tensor, a: Axis, m: String, how: Any):
    """m(DQ(q)) = DQ(m(q)) for Reshape, Slice, Gather, Expand and Tile, of scales that stay alike"""
    made = moved(m, dequantize(q, s, z, a), i, how)
    behind = dequantize(moved(m, q, i, how), s, z, axis_behind(m, how, q, made, i, a, s))
    yield rewrite(made, behind, kernel(has_whole_bytes(q)), because=DOWN)


def _risen(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    s, z = parameters(g)
    x = g.input(("N", 4, 6))
    yield g.fires(quantize(reshape(x, ("N", 24)), s, z, 0, TensorProto.UINT8))
    by_axis = (*parameters(g, shape=(4,)), 1, TensorProto.UINT8)
    yield g.fires(quantize(reshape(x, ("N", 4, 3, 2)), *by_axis))
    yield g.fires(quantize(expand(g.input((4, 1)), (3, 4, 5)), *by_axis))
    yield g.fires(quantize(tile(x, (1, 2, 1)), s, z, 0, TensorProto.UINT8))
    yield g.near_miss(quantize(tile(g.input((3, 2, 5)), (1, 2, 1)), *by_axis), why="parts have two scales")
    other = reshape(g.input((2, 4, 3, 4)), (3, 4, 2, 4))
    yield g.near_miss(quantize(other, *by_axis), why="what is scaled alike is elsewhere")
    yield g.near_miss(quantize(expand(g.input((1, 5)), (3, 4, 5)), *by_axis), why="one part is scaled by all")
    part = slice_(x, ((1, 0, 2, 1),))
    yield g.near_miss(quantize(part, s, z, 0, TensorProto.UINT8), why="more would be quantized")
    known = g.constant(np.array([[np.inf, 1.0]], np.float32))
    several = expand_to(known, shape_of(g.input((3, 2)), 0, 2))
    yield g.near_miss(quantize(several, *parameters(g, 3.7, 255), 0, TensorProto.UINT8), why="a constant")


@law(uses=(moves,), examples=_risen)
def quantized_in_front(x: Tensor, s: Tensor, z: Tensor, i: Tensor, a: Axis, t: DataType, m: String, how: Any):
    """Q(m(x)) = m(Q(x)) for Reshape, Expand and Tile, but of constants, of scales that stay alike"""
    made = moved(m, x, i, how)
    front = quantize(x, s, z, axis_in_front_of(m, x, made, a, s), t)
    yield rewrite(quantize(made, s, z, a, t), moved(m, front, i, how), varies(x), because=DOWN)


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
    yield rewrite(concat(xs, a), dequantize(concat(ys, a), s, z, b), *known, because=DOWN)
