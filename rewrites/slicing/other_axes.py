"""Operators that work along other axes than those that are sliced or joined: Softmax, reductions, pools.

Slice(Softmax(x)) -> Softmax(Slice(x))                        where slices meet; of other axes than Softmax's
Concat(Softmax(x), Softmax(y), ..) -> Softmax(Concat(x, y, ..))

`spared(op, x, how)` is any of them, by name and attributes.  See `slicing.concat` on how lists are walked.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Example,
    Operands,
    assign,
    auxiliary,
    eq,
    equal,
    guard,
    hosted,
    kernel,
    laws_of,
    rewrite,
    rule,
    shorthand,
    table,
)
from egraph_opt.laws.sorts import Axes, Axis, DataType, Slices, String, Tensor, Tensors
from egraph_opt.operators import PoolWindow, concat, pool, reduce, slice_, softmax, unary
from egraph_opt.operators.reductions import REDUCTIONS
from egraph_opt.operators.terms import cons, listed, nil
from egraph_opt.rewrites.conditions.values import dtype_of
from egraph_opt.rewrites.convolution.pool_axes import along_axes
from egraph_opt.rewrites.linear.joined_products import differ_along
from egraph_opt.rewrites.normalization.layer_norm import KEPT
from egraph_opt.rewrites.slicing.concat import listing, operands_of, worth_a_walk
from egraph_opt.rewrites.slicing.movement import asked, asking_rules, first_axis

law = laws_of("slice", numerics="reassociates", kind="move", serves="arithmetic")


SOFTMAX = ("Softmax", "LogSoftmax", "Hardmax")
POOLS = ("AveragePool", "MaxPool")


@shorthand
def spared(op: String, x: Tensor, how: Any) -> Tensor:
    """Softmax, a reduction that keeps its axes, or a pool: each part along some axes is made of that of x."""


@hosted()
def is_softmax(op: str) -> bool:
    return op in SOFTMAX


@hosted()
def is_reduction(op: str) -> bool:
    return op in REDUCTIONS


@hosted()
def is_pool(op: str) -> bool:
    return op in POOLS


@auxiliary()
def sparing(op: String, x: Tensor, a: Axis, b: Axes, w: PoolWindow):
    """Says what `spared` is."""
    yield equal(softmax(op, x, a), spared(op, x, a), is_softmax(op))
    yield equal(reduce(op, x, b, KEPT), spared(op, x, b), is_reduction(op))
    yield equal(pool(op, x, w), spared(op, x, w), is_pool(op))


def _spares(op: str, how: Any, axis: int) -> bool:
    if op in SOFTMAX:
        return bool(axis != how)
    if op in REDUCTIONS:
        return axis not in how
    return axis < 2 or along_axes(how)[axis - 2][:4] == (1, 1, 0, 0)


@hosted()
def spares(op: str, how: Any, axis: Axis) -> bool:
    """Elements at different places of that axis have nothing to do with each other."""
    return _spares(op, how, axis)


@hosted()
def spares_all(op: str, how: Any, spec: Slices) -> bool:
    """Likewise of all axes that are cut."""
    return all(_spares(op, how, entry[0]) for entry in spec)


@hosted()
def leaves_pixels(op: str, spec: Slices, part: Fact) -> bool:
    """onnxruntime pools no image without channels or pixels."""
    cut = [entry[0] for entry in spec if entry[0] > 0]
    return op not in POOLS or (
        part.shape is not None and all(symbolic.is_at_least(part.shape[axis], 1) for axis in cut)
    )


# --- slices ---------------------------------------------------------------------------------------------


@auxiliary(asking_rules, sparing)
def asking_spared(x: Tensor, y: Tensor, op: String, how: Any, a: Axis):
    """Fills `asked`: what is made of a Slice or a Concat, along axes that are spared."""
    yield rule(eq(y, spared(op, x, how)), asked(x, a), spares(op, how, a), then=asked(y, a))


def _row(size: int) -> PoolWindow:
    return PoolWindow((1, size), (1, 1), (0,) * 4, (1, 1))


def _slices(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 4, 6, 5)), g.input(("N", 3, 6, 5))
    part, both, front = slice_(x, ((1, 0, 3, 1),)), concat(listed(x, y), 1), ((1, 0, 4, 1),)
    free = slice_(g.input(("N", 4, "L", 5)), ((2, 0, 5, 1),))
    functions: tuple[Callable[[Any], Any], ...] = (
        lambda v: softmax("Softmax", v, 3),
        lambda v: softmax("LogSoftmax", v, 2),
        lambda v: reduce("ReduceMax", v, (3,), KEPT),
        lambda v: reduce("ReduceMean", v, (2, 3), KEPT),
        lambda v: pool("MaxPool", v, _row(3)),
        lambda v: pool("AveragePool", v, _row(2)),
    )
    for of in functions:
        yield from g.all_fire(slice_(of(both), front), slice_(of(part), ((1, 1, 3, 1),)))
    yield g.fires(slice_(pool("MaxPool", part, _row(3)), ((2, 2, 5, 2),)))
    yield from g.near_misses(
        (slice_(softmax("Softmax", both, 1), front), "along the axis of Softmax"),
        (slice_(reduce("ReduceSum", part, (2,), KEPT), ((2, 0, 1, 1),)), "along an axis that is reduced"),
        (slice_(pool("MaxPool", part, _row(3)), ((3, 0, 2, 1),)), "along an axis that is pooled"),
        (slice_(softmax("Softmax", x, 3), front), "there is nothing that it meets"),
        (slice_(pool("MaxPool", free, _row(3)), ((2, 2, 4, 1),)), "no pixel may be left"),
        (slice_(pool("MaxPool", part, _row(3)), ((1, 1, 1, 1),)), "no channel is left"),
    )


@law(source="Ascend auto-optimizer, MergeConsecutiveSlice", uses=(asking_spared,), examples=_slices)
def through_others(op: String, x: Tensor, s: Slices, how: Any):
    """Slice(Softmax(x)) = Softmax(Slice(x)) along other axes where slices meet; reductions, pools"""
    y, part = spared(op, x, how), slice_(x, s)
    known = (spares_all(op, how, s), kernel(leaves_pixels(op, s, slice_(y, s))))
    demand = guard(asked(x, first_axis(s)))
    yield rewrite(slice_(y, s), spared(op, part, how), *known, demand, because="only with demand")


# --- concatenations -------------------------------------------------------------------------------------


@table()
def alike(xs: Tensors, axis: Axis, op: String, how: Any, source: DataType) -> Tensors:
    """The operands of a list whose elements are all made in one way that spares the axis."""


@auxiliary(listing, sparing)
def likening(x: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, a: Axis, op: String, how: Any):
    """Fills `alike`."""
    d, first = dtype_of(x), spared(op, x, how)
    last = (operands_of(xs, a), eq(xs, cons(first, nil())), spares(op, how, a))
    yield rule(*last, then=assign(alike(xs, a, op, how, d), cons(x, nil())))
    more = (operands_of(xs, a), eq(xs, cons(first, rest)), eq(ys, alike(rest, a, op, how, d)))
    yield rule(*more, then=assign(alike(xs, a, op, how, d), cons(x, ys)))


@hosted()
def fit_together(xs: tuple[Fact, ...], axis: Axis) -> bool:
    """What is joined differs along that axis only."""
    return differ_along(xs, axis)


def _lists(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, wide = g.input(("N", 4, 6, 5)), g.input(("N", 3, 6, 5)), g.input(("N", 4, 6, 7))

    def joined(*operands: Any) -> Any:
        return concat(listed(*operands), 1)

    functions: tuple[Callable[[Any], Any], ...] = (
        lambda v: softmax("Softmax", v, 3),
        lambda v: reduce("ReduceMean", v, (2, 3), KEPT),
        lambda v: reduce("ReduceMax", v, (2,), KEPT),
        lambda v: pool("MaxPool", v, _row(3)),
    )
    for of in functions:
        yield from g.all_fire(joined(of(x), of(y)), joined(of(x), of(y), of(x)))
    yield from g.near_misses(
        (joined(softmax("Softmax", x, 1), softmax("Softmax", y, 1)), "along the axis of Softmax"),
        (joined(softmax("Softmax", x, 3), softmax("Softmax", y, 2)), "two axes"),
        (
            joined(reduce("ReduceSum", x, (3,), KEPT), reduce("ReduceSum", wide, (3,), KEPT)),
            "of other lengths",
        ),
        (joined(pool("MaxPool", x, _row(3)), pool("AveragePool", y, _row(3))), "two kinds"),
        (joined(softmax("Softmax", x, 3), unary("Relu", (), y)), "one is no Softmax"),
    )


@law(kind="merge", serves="launches", source="TASO", uses=(likening,), examples=_lists)
def joined_others(xs: Tensors, ys: Tensors, a: Axis, op: String, how: Any, d: DataType):
    """Concat(Softmax(x), Softmax(y), ..) = Softmax(Concat(x, y, ..)), likewise reductions and pools"""
    known = (eq(ys, alike(xs, a, op, how, d)), fit_together(ys, a), guard(worth_a_walk(xs)))
    yield rewrite(concat(xs, a), spared(op, concat(ys, a), how), *known, because="one for several")
