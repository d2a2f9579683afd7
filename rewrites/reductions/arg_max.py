"""The place of the largest element does not move where elements keep their order.

ArgMax(Softmax(x)) -> ArgMax(x) along the same axis, ArgMin(LogSoftmax(x)) likewise
ArgMax(x) -> Cast(x[1] > x[0]) of two elements, ArgMin likewise
Squeeze(ArgMax(x)) = ArgMax(x) without the axis
GatherElements(x, ArgMax(x)) -> ReduceMax(x)      also where the axis was dropped and is there again
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, kernel, law, rewrite
from egraph_opt.laws.sorts import Axis, Dims, Flag, Name, Slices, String, Tensor
from egraph_opt.operators import arg_reduce, binary, cast, gather_elements, reduce, reshape, slice_, softmax
from egraph_opt.rewrites.conditions.view_shapes import known_dims
from egraph_opt.rewrites.reductions.greatest import alone
from egraph_opt.rewrites.reductions.reduction import drops, without_axes


@hosted()
def keeps_order(kind: str, arg: str) -> bool:
    """Exp, Sigmoid and the like do too, and then answer alike for all that are large.

    So does Softmax for all that are small: they are 0.
    """
    return kind == "LogSoftmax" or (kind == "Softmax" and arg == "ArgMax")


@law(
    "arg_max",
    numerics="reassociates",
    kind="eliminate",
    serves="arithmetic",
    source="onnxoptimizer, eliminate_nop_monotone_argmax",
)
def of_softmax(x: Tensor, arg: String, kind: String, axis: Axis, keepdims: Flag, last: Flag):
    """ArgMax(Softmax(x)) = ArgMax(x) along the same axis, likewise with LogSoftmax, and ArgMin with that
    one"""
    place = arg_reduce(arg, softmax(kind, x, axis), axis, keepdims, last)
    plain = arg_reduce(arg, x, axis, keepdims, last)
    yield rewrite(place, plain, keeps_order(kind, arg), because="the Softmax is work for nothing")


# --- the axis -------------------------------------------------------------------------------------------


@law("arg_max", numerics="bitwise", kind="split", source="ONNX")
def drop_axis_later(kind: String, x: Tensor, a: Axis, last: Flag):
    """ArgMax_a(x) without the kept axis = Reshape(ArgMax_a(x) with it)"""
    kept = reshape(arg_reduce(kind, x, a, 1, last), without_axes(x, alone(a)))
    yield rewrite(arg_reduce(kind, x, a, 0, last), kept, inverse="drop_axis_at_once")


@law("arg_max", numerics="bitwise", kind="fuse", source="ONNX")
def drop_axis_at_once(kind: String, x: Tensor, a: Axis, last: Flag, d: Dims):
    """Squeeze_a(ArgMax_a(x) with the kept axis) = ArgMax_a(x) without"""
    kept = reshape(arg_reduce(kind, x, a, 1, last), d)
    without = drops(d, x, alone(a))
    yield rewrite(kept, arg_reduce(kind, x, a, 0, last), without, inverse="drop_axis_later")


# --- two elements ---------------------------------------------------------------------------------------


@hosted()
def is_pair(x: Fact, axis: Axis) -> bool:
    """There are two elements along the axis."""
    return x.shape is not None and axis < len(x.shape) and x.shape[axis] == 2


@hosted()
def second_wins(arg: str, last: Flag) -> Name:
    """How the second of two elements compares with the first where it is taken."""
    return ("Greater" if arg == "ArgMax" else "Less") + ("OrEqual" if last else "")


@hosted()
def are_compared(x: Fact) -> bool:
    """Of a type that onnxruntime compares."""
    return x.dtype in (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64)


@hosted()
def half(axis: Axis, k: int) -> Slices:
    return ((axis, k, k + 1, 1),)


def _pairs(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 2, "L"))
    for arg in ("ArgMax", "ArgMin"):
        for last in (0, 1):
            yield g.fires(arg_reduce(arg, x, 1, last, last))
            yield g.fires(arg_reduce(arg, x, 1, 1 - last, last))
    yield g.near_miss(arg_reduce("ArgMax", g.input(("N", 3)), 1, 1, 0), why="there are three")
    yield g.near_miss(arg_reduce("ArgMax", x, 0, 1, 0), why="there may be any number")


@law(
    "arg_max",
    numerics="finite",
    kind="replace",
    serves="target",
    source="Ascend 310P3, which has ArgMax on its AI CPU",
    examples=_pairs,
)
def of_two(x: Tensor, arg: String, axis: Axis, keepdims: Flag, last: Flag):
    """ArgMax(x) = Cast(x[1] > x[0]) of two elements, likewise ArgMin; NaN is not compared"""
    place = arg_reduce(arg, x, axis, keepdims, last)
    first, second = (slice_(x, half(axis, k)) for k in (0, 1))
    known = (is_pair(x, axis), kernel(are_compared(x)))
    wins = cast(binary(second_wins(arg, last), second, first), TensorProto.INT64)
    yield rewrite(place, reshape(wins, known_dims(place)), *known, because="comparing forgets the axis")


# --- what is chosen -------------------------------------------------------------------------------------


@hosted()
def extreme_of(arg: str) -> Name:
    """The reduction that takes the element which is chosen."""
    return "ReduceMax" if arg == "ArgMax" else "ReduceMin"


@hosted()
def restores(dims: Dims, x: Fact, axis: Axis) -> bool:
    """The dims are those of x, with one element along the axis."""
    if x.shape is None or not x.is_symbolic:
        return False
    return bool(dims == (*x.shape[:axis], 1, *x.shape[axis + 1 :]))


def _chosen(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, small = g.input(("N", 5, 3)), g.input(("N", 5, 3)), g.input((4, 3), TensorProto.INT16)
    for arg in ("ArgMax", "ArgMin"):
        yield g.fires(gather_elements(x, arg_reduce(arg, x, 1, 1, 0), 1))
        yield g.fires(gather_elements(x, arg_reduce(arg, x, 2, 1, 1), 2))
        yield g.fires(gather_elements(x, reshape(arg_reduce(arg, x, 1, 0, 0), ("N", 1, 3)), 1))
    square = g.input((3, 3))
    turned = reshape(arg_reduce("ArgMax", square, 1, 0, 0), (1, 3))
    yield from g.near_misses(
        (gather_elements(y, arg_reduce("ArgMax", x, 1, 1, 0), 1), "of another tensor"),
        (gather_elements(x, arg_reduce("ArgMax", x, 1, 1, 0), 2), "along another axis"),
        (gather_elements(small, arg_reduce("ArgMin", small, 0, 1, 0), 0), "no type of ReduceMin"),
        (gather_elements(square, turned, 1), "the axis is another"),
    )


@law("arg_max", numerics="finite", kind="merge", serves="traffic", examples=_chosen)
def chosen_elements(x: Tensor, arg: String, axis: Axis, last: Flag, d: Dims):
    """GatherElements(x, ArgMax(x)) = ReduceMax(x) along the same axis, also where it is a view of places"""
    made, why = reduce(extreme_of(arg), x, alone(axis), 1), "forgets where it was"
    kept, dropped = (arg_reduce(arg, x, axis, k, last) for k in (1, 0))
    yield rewrite(gather_elements(x, kept, axis), made, are_compared(x), because=why)
    again, known = reshape(dropped, d), (are_compared(x), restores(d, x, axis))
    yield rewrite(gather_elements(x, again, axis), made, *known, because=why)
