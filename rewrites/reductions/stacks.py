"""Reductions of stacks are element-wise operators of what is stacked.

ReduceSum_a(Concat_a(x, y, ..)) -> Sum(x, y, ..)             of parts with one element along a
ReduceMean -> Mean, ReduceMax -> Max, ReduceMin -> Min       likewise
Sum(Reshape(x), Reshape(y), ..) -> Reshape(Sum(x, y, ..))    of one view of alike tensors, likewise Mean, ..
Sum(x, y, z, ..) = Sum(x + y, z, ..)
x + y + z -> Sum(x, y, z), Sum(x, y, ..) + z -> Sum(x, y, .., z)     of sums that the original has

A stack of matrices is a Concat of views with another axis, so that the sum of it is the sum of the matrices.
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.dtypes import KERNEL_FLOATS
from egraph_opt.facts.fact import Fact
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
    ne,
    opset,
    rewrite,
    rule,
    table,
)
from egraph_opt.laws.sorts import Axes, Axis, Dims, Int, String, Tensor, Tensors, Unit
from egraph_opt.operators import concat, reduce, reshape, variadic
from egraph_opt.operators.terms import append, cons, listed, nil, node
from egraph_opt.rewrites.conditions.view_shapes import same_dims
from egraph_opt.rewrites.normalization.layer_norm import KEPT
from egraph_opt.rewrites.slicing.concat import worth_a_walk
from egraph_opt.rewrites.slicing.slice import dim_at

MOST_SUMMED = 8
"""Operands of a Sum that a chain of additions becomes."""

law = laws_of("stacks", numerics="finite", kind="replace", serves="traffic")

ELEMENTWISE = (("ReduceSum", "Sum"), ("ReduceMean", "Mean"), ("ReduceMax", "Max"), ("ReduceMin", "Min"))
"""Reductions, and what each is of as many operands as it reduces elements."""


INTEGERS = (TensorProto.INT32, TensorProto.INT64)
"""Types of integers that onnxruntime has Max and Min of, from opset 12 on."""


@hosted()
def is_stack(xs: tuple[Fact, ...], axis: Axis) -> bool:
    """What has one element each along the axis."""
    return bool(xs) and all(dim_at(x, axis) == 1 for x in xs)


@hosted()
def takes(op: str, xs: tuple[Fact, ...], version: int) -> bool:
    """Floats; of Max and Min integers as well."""
    extreme = op in ("Max", "Min") and version >= 12
    return bool(xs) and xs[0].dtype in KERNEL_FLOATS.union(INTEGERS if extreme else ())


@hosted()
def has_kernel(op: str, xs: tuple[Fact, ...]) -> bool:
    """onnxruntime has a Mean of doubles only where it reduces one."""
    return op != "Mean" or xs[0].dtype != TensorProto.DOUBLE


@hosted()
def is_only(axes: Axes, axis: Axis) -> bool:
    return axes == (axis,)


@hosted()
def others(axes: Axes, axis: Axis) -> Axes | None:
    """The axes without one of them; None if there are no others, or it is not among them."""
    rest = tuple(a for a in axes if a != axis)
    return rest if rest and axis in axes else None


def _stacks(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, wide = g.input(("N", 1, 3)), g.input(("N", 1, 3)), g.input(("N", 2, 3))
    for kind, _ in ELEMENTWISE:
        yield g.fires(reduce(kind, concat(listed(x, y, x), 1), (1,), KEPT))
        yield g.fires(reduce(kind, concat(listed(x, y), 1), (1, 2), KEPT))
    whole = [g.input((2, 1), TensorProto.INT64) for _ in "xy"]
    yield g.fires(reduce("ReduceMax", concat(listed(*whole), 1), (1,), KEPT))
    yield g.near_miss(reduce("ReduceMean", concat(listed(*whole), 1), (1,), KEPT), why="nor does Mean")
    for stack, axes, why in (
        (concat(listed(x, wide), 1), (1,), "a part of two"),
        (concat(listed(x, y), 1), (2,), "along another axis"),
        (concat(listed(x, y), 0), (1,), "stacked along another axis"),
        (concat(listed(*whole), 1), (1,), "Sum takes no integers"),
    ):
        yield g.near_miss(reduce("ReduceSum", stack, axes, KEPT), why)


@law(numerics="reassociates", examples=_stacks)
def reduced_stack(xs: Tensors, a: Axis, b: Axes):
    """ReduceSum_a(Concat_a(x, y, ..)) = Sum(x, y, ..) of single parts, likewise Mean, Max and Min

    Further axes are reduced behind that.
    """
    sound, lost = (is_stack(xs, a), guard(worth_a_walk(xs))), "what is summed is not told where it stood"
    for kind, op in ELEMENTWISE:
        stack, parts = reduce(kind, concat(xs, a), b, KEPT), variadic(op, xs)
        known = (*sound, takes(op, xs, opset()), kernel(has_kernel(op, xs)))
        yield rewrite(stack, parts, is_only(b, a), *known, because=lost)
        yield rewrite(stack, reduce(kind, parts, others(b, a), KEPT), *known, because=lost)


# --- views of all operands ------------------------------------------------------------------------------


@table()
def tail_of_operands(xs: Tensors) -> Unit:
    """A variadic operator has this list, or its tail is this one."""


@table(merge="last")
def before_view(xs: Tensors, source: Dims, dims: Dims) -> Tensors:
    """The tensors of one shape that a list has one view of each of."""


@hosted()
def viewed_shape(x: Fact, dims: Dims) -> Dims | None:
    """The shape that a view changes; None where it is not known, or stays."""
    if x.shape is None or not x.is_symbolic or same_dims(x.shape, dims):
        return None
    return x.shape


@auxiliary()
def views(op: String, x: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, d: Dims):
    """Fills `tail_of_operands` and `before_view`."""
    yield rule(variadic(op, xs), worth_a_walk(xs), then=tail_of_operands(xs))
    yield rule(tail_of_operands(xs), eq(xs, cons(x, rest)), then=tail_of_operands(rest))
    source, first = viewed_shape(x, d), reshape(x, d)
    last = (tail_of_operands(xs), eq(xs, cons(first, nil())))
    yield rule(*last, then=assign(before_view(xs, source, d), cons(x, nil())))
    more = (tail_of_operands(xs), eq(xs, cons(first, rest)), eq(ys, before_view(rest, source, d)))
    yield rule(*more, then=assign(before_view(xs, source, d), cons(x, ys)))


def _views(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z = g.input(("N", 6)), g.input(("N", 6)), g.input((6, "N"))
    seen = [reshape(v, ("N", 2, 3)) for v in (x, y, z)]
    for op in ("Sum", "Mean", "Max", "Min"):
        yield g.fires(variadic(op, listed(seen[0], seen[1], seen[0])))
    yield g.near_miss(variadic("Max", listed(seen[0], seen[2])), why="views of other shapes")
    yield g.near_miss(variadic("Max", listed(seen[0], g.input(("N", 2, 3)))), why="one is no view")


@law(numerics="bitwise", kind="move", uses=(views,), examples=_views)
def view_of_operands(op: String, xs: Tensors, ys: Tensors, s: Dims, d: Dims):
    """Sum(Reshape(x), Reshape(y), ..) = Reshape(Sum(x, y, ..)), likewise Mean, Max and Min"""
    found = (guard(worth_a_walk(xs)), eq(ys, before_view(xs, s, d)))
    yield rewrite(variadic(op, xs), reshape(variadic(op, ys), d), *found, because="views sink")


# --- sums in pairs --------------------------------------------------------------------------------------


@law(numerics="reassociates", kind="split", serves="arithmetic", source="ONNX, Sum")
def sum_in_pairs(x: Tensor, y: Tensor, xs: Tensors):
    """Sum(x, y, z, ..) = Sum(x + y, z, ..)
    x + y + z -> Sum(x, y, z), Sum(x, y, ..) + z -> Sum(x, y, .., z)     of sums that the original has

        The laws of sums know pairs.
    """
    whole = variadic("Sum", cons(x, cons(y, xs)))
    yield rewrite(whole, variadic("Sum", cons(x + y, xs)), because="a sum of all is one operator")


@hosted()
def has_sums(x: Fact, version: int) -> bool:
    """Floats, since ONNX has no Sum of integers; before opset 8 there is none that broadcasts."""
    return x.dtype in KERNEL_FLOATS and version >= 8


@hosted()
def are_alike(x: Fact, y: Fact) -> bool:
    """Of one shape: what is broadcast is cheaper added in its own."""
    return same_dims(x.shape, y.shape)


@hosted()
def are_few(xs: tuple[Fact, ...]) -> bool:
    """What is added and taken away again would make a sum grow without end."""
    return len(xs) < MOST_SUMMED


def _chains(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z, u = (g.input(("N", 4)) for _ in "xyzu")
    yield from g.all_fire(x + y + z, x + y + z + u)
    yield g.near_miss(x + y, why="two are a sum already")
    row = g.input((4,))
    yield g.near_miss(row + x + y, why="one is broadcast first")
    ints = [g.input(("N", 4), TensorProto.INT32) for _ in "xyz"]
    yield g.near_miss(ints[0] + ints[1] + ints[2], why="there is no Sum of integers")


@law(numerics="reassociates", kind="merge", source="ONNX, Sum", examples=_chains)
def chain_is_a_sum(x: Tensor, y: Tensor, z: Tensor, xs: Tensors, i: Int, j: Int):
    """x + y + z = Sum(x, y, z) and Sum(x, y, ..) + z = Sum(x, y, .., z), of sums that the original has"""
    written = guard(eq(node(i), x + y), eq(node(j), x + y + z), ne(x + y, x + y + z))
    alike = guard(are_alike(x, y), are_alike(x, z))
    whole = variadic("Sum", listed(x, y, z))
    yield rewrite(x + y + z, whole, has_sums(x, opset()), written, alike, inverse="sum_in_pairs")
    found = variadic("Sum", xs)
    longer = variadic("Sum", append(xs, listed(z)))
    written = guard(eq(node(i), found), eq(node(j), found + z), ne(found, found + z))
    bounded = guard(are_few(xs), are_alike(found, z))
    yield rewrite(found + z, longer, has_sums(z, opset()), written, bounded, inverse="sum_in_pairs")
