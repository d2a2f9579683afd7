"""What chooses among numbers that are dequantized (DQ) alike, or compares them, looks at their bytes.

Max(DQ(x), DQ(y)) -> DQ(Max(x, y))              likewise Min, of one positive scale
Where(c, DQ(x), DQ(y)) -> DQ(Where(c, x, y))    likewise
DQ(x) > DQ(y) -> x > y                          likewise the other comparisons
ReduceMax(DQ(x)) -> DQ(ReduceMax(x))            likewise ReduceMin
ArgMax(DQ(x)) -> ArgMax(x)                      likewise ArgMin

DQ of a positive scale of ordinary size makes greater numbers of greater bytes, and equal ones of equal ones.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.elementwise import COMPARISONS
from egraph_opt.laws import Example, Operands, hosted, laws_of, opset, rewrite
from egraph_opt.laws.sorts import Axes, Axis, Flag, String, Tensor
from egraph_opt.operators import arg_reduce, binary, dequantize, none, reduce, variadic, where
from egraph_opt.operators.quantization import BYTES, is_one_scale
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.conditions.operands import is_comparison, is_extreme_of_many
from egraph_opt.rewrites.conditions.values import of_one_type
from egraph_opt.rewrites.quantization.round_trips import parameters, positive_scale
from egraph_opt.rewrites.reductions.reduction import is_extreme

law = laws_of("quantization", numerics="bitwise", kind="move", serves="traffic")

CHEAPER = "bytes are compared at less cost"
SCALED = "the scale is forgotten"


@hosted()
def keeps_its_order(q: Fact, s: Fact) -> bool:
    """Bytes with one scale that is positive and of ordinary size: no two of them become one number."""
    return q.dtype in BYTES and bool(is_one_scale(s)) and positive_scale(s) is not None


@hosted()
def knows_bytes(q: Fact, version: int, since: int) -> bool:
    """The operator takes bytes, from that opset on."""
    return q.dtype in BYTES and version >= since


def _two(g: Operands, dtype: int = TensorProto.UINT8) -> tuple[Any, Any, Any, Any]:
    """Two dequantized tensors of one scale, one of another, and bytes."""
    q, r = g.input(("N", 4), dtype), g.input(("N", 4), dtype)
    s, z = parameters(g, dtype=np.uint8 if dtype == TensorProto.UINT8 else np.int8)
    other, _ = parameters(g, 0.25)
    return dequantize(q, s, z, 0), dequantize(r, s, z, 0), dequantize(q, other, z, 0), q


def _of_two_types(g: Operands) -> tuple[Any, Any]:
    """Signed and unsigned bytes of one scale, without zero points."""
    s, _ = parameters(g)
    types = TensorProto.UINT8, TensorProto.INT8
    first, second = (dequantize(g.input(("N", 4), dtype), s, none(), 0) for dtype in types)
    return first, second


def _extremes(rng: np.random.Generator) -> Iterator[Example]:
    for dtype in (TensorProto.UINT8, TensorProto.INT8):
        g = Operands(rng)
        x, y, other, _ = _two(g, dtype)
        for op in ("Max", "Min"):
            yield g.fires(variadic(op, listed(x, y)))
        yield g.near_miss(variadic("Max", listed(x, other)), why="two scales")
        yield g.near_miss(variadic("Mean", listed(x, y)), why="a mean is no element")
    g = Operands(rng)
    q, (s, z) = g.input(("N", 4), TensorProto.UINT8), parameters(g, -0.5)
    turned = variadic(
        "Max", listed(*(dequantize(v, s, z, 0) for v in (q, g.input(("N", 4), TensorProto.UINT8))))
    )
    yield g.near_miss(turned, why="the least byte is the greatest number")
    yield g.near_miss(variadic("Max", listed(*_of_two_types(g))), why="of two types")


@law(examples=_extremes)
def extreme_of_dequantized(op: String, x: Tensor, y: Tensor, s: Tensor, z: Tensor, a: Axis):
    """Max(DQ(x), DQ(y)) = DQ(Max(x, y)) of one positive scale, likewise Min"""
    apart = variadic(op, listed(dequantize(x, s, z, a), dequantize(y, s, z, a)))
    together = dequantize(variadic(op, listed(x, y)), s, z, a)
    known = (is_extreme_of_many(op), keeps_its_order(x, s), of_one_type(x, y), knows_bytes(x, opset(), 13))
    yield rewrite(apart, together, *known, because=CHEAPER)


def _chosen(rng: np.random.Generator) -> Iterator[Example]:
    for dtype in (TensorProto.UINT8, TensorProto.INT8):
        g = Operands(rng)
        x, y, other, _ = _two(g, dtype)
        c = g.input(("N", 1), TensorProto.BOOL)
        yield g.fires(where(c, x, y))
        yield g.near_miss(where(c, x, other), why="two scales")
    g = Operands(rng)
    (s, z), c = parameters(g, shape=(4,)), g.input((1, 4), TensorProto.BOOL)
    x, y = (dequantize(g.input((2, 4), TensorProto.UINT8), s, z, 1) for _ in "xy")
    yield g.near_miss(where(c, x, y), why="a scale for each part")
    yield g.near_miss(where(c, *_of_two_types(g)), why="of two types")
    s, z = parameters(g, -0.5)
    x, y = (dequantize(g.input((2, 4), TensorProto.UINT8), s, z, 0) for _ in "xy")
    yield g.near_miss(where(c, x, y), why="0 may be -0.0")


@law(examples=_chosen)
def choice_of_dequantized(c: Tensor, x: Tensor, y: Tensor, s: Tensor, z: Tensor, a: Axis):
    """Where(c, DQ(x), DQ(y)) = DQ(Where(c, x, y)) of one positive scale"""
    apart = where(c, dequantize(x, s, z, a), dequantize(y, s, z, a))
    known = keeps_its_order(x, s), of_one_type(x, y)
    yield rewrite(apart, dequantize(where(c, x, y), s, z, a), *known, because="bytes are moved at less cost")


def _compared(rng: np.random.Generator) -> Iterator[Example]:
    for dtype in (TensorProto.UINT8, TensorProto.INT8):
        g = Operands(rng)
        x, y, other, _ = _two(g, dtype)
        for op in sorted(COMPARISONS):
            yield g.fires(binary(op, x, y))
        yield g.near_miss(binary("Less", x, other), why="two scales")
        yield g.near_miss(binary("Sub", x, y), why="no comparison")
    yield g.near_miss(binary("Less", *_of_two_types(g)), why="of two types")


@law(kind="eliminate", examples=_compared)
def comparison_of_dequantized(op: String, x: Tensor, y: Tensor, s: Tensor, z: Tensor, a: Axis):
    """DQ(x) > DQ(y) = x > y of one positive scale, likewise the other comparisons"""
    apart = binary(op, dequantize(x, s, z, a), dequantize(y, s, z, a))
    known = is_comparison(op), keeps_its_order(x, s), of_one_type(x, y)
    yield rewrite(apart, binary(op, x, y), *known, because=SCALED)


@hosted()
def have_elements(q: Fact, axes: Axes) -> bool:
    """There are elements along all axes: of none the greatest is -infinity, and no byte."""
    sizes = None if q.shape is None else [q.shape[axis] for axis in axes]
    return sizes is not None and all(isinstance(n, int) and n > 0 for n in sizes)


def _reduced(rng: np.random.Generator) -> Iterator[Example]:
    for dtype in (TensorProto.UINT8, TensorProto.INT8):
        g = Operands(rng)
        x, _, _, _ = _two(g, dtype)
        for kind in ("ReduceMax", "ReduceMin"):
            yield g.fires(reduce(kind, x, (1,), 1))
        yield g.near_miss(reduce("ReduceMean", x, (1,), 1), why="a mean is no element")
        yield g.near_miss(reduce("ReduceMax", x, (0,), 1), why="there may be nothing")
    g = Operands(rng)
    by_axis = dequantize(g.input((2, 4), TensorProto.UINT8), *parameters(g, shape=(4,)), 1)
    yield g.near_miss(reduce("ReduceMax", by_axis, (1,), 1), why="a scale for each part")


@law(examples=_reduced)
def extreme_along_axes(kind: String, q: Tensor, s: Tensor, z: Tensor, a: Axis, b: Axes, k: Flag):
    """ReduceMax(DQ(q)) = DQ(ReduceMax(q)) of one positive scale, likewise ReduceMin"""
    inside = dequantize(reduce(kind, q, b, k), s, z, a)
    known = is_extreme(kind), keeps_its_order(q, s), have_elements(q, b), knows_bytes(q, opset(), 13)
    yield rewrite(reduce(kind, dequantize(q, s, z, a), b, k), inside, *known, because=CHEAPER)


def _placed(rng: np.random.Generator) -> Iterator[Example]:
    for dtype in (TensorProto.UINT8, TensorProto.INT8):
        g = Operands(rng)
        x, _, _, _ = _two(g, dtype)
        for kind in ("ArgMax", "ArgMin"):
            yield g.fires(arg_reduce(kind, x, 1, 1, 0))
    g = Operands(rng)
    by_axis = dequantize(g.input((2, 4), TensorProto.UINT8), *parameters(g, shape=(4,)), 1)
    yield g.near_miss(arg_reduce("ArgMax", by_axis, 1, 1, 0), why="a scale for each part")
    small = dequantize(g.input((2, 4), TensorProto.UINT8), g.constant(np.array(1e-45, np.float32)), none(), 0)
    yield g.near_miss(arg_reduce("ArgMax", small, 1, 1, 0), why="the scale is not of ordinary size")


@law(kind="eliminate", examples=_placed)
def place_of_dequantized(
    kind: String, q: Tensor, s: Tensor, z: Tensor, a: Axis, b: Axis, k: Flag, last: Flag
):
    """ArgMax(DQ(q)) = ArgMax(q) of one positive scale, likewise ArgMin"""
    known = keeps_its_order(q, s)
    found = arg_reduce(kind, q, b, k, last)
    yield rewrite(arg_reduce(kind, dequantize(q, s, z, a), b, k, last), found, known, because=SCALED)
