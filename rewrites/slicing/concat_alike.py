"""Concatenations of alike operands: adjacent slices of one tensor join, a function of all is taken out.

Concat(.., x[a:b], x[b:c], ..) -> Concat(.., x[a:c], ..)       and of nothing else: -> x[a:c]
Concat(f(x), f(y), ..) -> f(Concat(x, y, ..))

See `concat` on how lists are walked.
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
    law,
    ne,
    rewrite,
    rule,
    table,
)
from egraph_opt.laws.sorts import Axis, DataType, Int, Settings, Slices, String, Tensor, Tensors, Unit
from egraph_opt.operators import cast, concat, slice_, unary
from egraph_opt.operators.terms import cons, nil
from egraph_opt.operators.terms import listed as terms
from egraph_opt.rewrites.conditions.operands import function_of, functions
from egraph_opt.rewrites.conditions.values import dtype_of
from egraph_opt.rewrites.slicing.concat import listing, operands_of, worth_a_walk
from egraph_opt.rewrites.slicing.slice import dim_at

# --- adjacent slices ------------------------------------------------------------------------------------


@hosted()
def longer(old: Slices, new: Slices) -> Slices:
    """The run that takes more, which contains the other."""
    return max(old, new, key=lambda spec: (sum((entry[2] or 0) - entry[1] for entry in spec), spec))


@table(merge=longer)
def run(xs: Tensors, axis: Axis, base: Tensor) -> Slices:
    """What the adjacent slices of one tensor with which a list begins are together."""


@table(merge="last")
def after_run(xs: Tensors, axis: Axis, base: Tensor, spec: Slices) -> Tensors:
    """What follows the slices that are together one slice, in a list."""


@table(merge="max")
def linked(xs: Tensors, axis: Axis) -> Int:
    """1 where a list begins with two adjacent slices, else 0; known once all behind it is."""


@hosted()
def cuts_upwards(s: Slices, axis: Axis, x: Fact) -> bool:
    """The slice cuts an axis of known length with step 1, and ends where it begins or behind."""
    cut = [(start, end) for k, start, end, step in s if k == axis and step == 1]
    upwards = any(end is not None and 0 <= start <= end for start, end in cut)
    return upwards and isinstance(dim_at(x, axis), int)


@hosted()
def joined_slices(s: Slices, t: Slices, axis: Axis) -> Slices | None:
    """The slice that takes along an axis what s takes, then what t takes; both cut it with step 1."""
    one, other = ({entry[0]: entry for entry in spec} for spec in (s, t))
    first, second = one.pop(axis, None), other.pop(axis, None)
    if first is None or second is None or one != other or first[2] != second[1]:
        return None
    return tuple(sorted((*one.values(), (axis, first[1], second[2], 1))))


@auxiliary(listing)
def runs(x: Tensor, y: Tensor, xs: Tensors, zs: Tensors, rest: Tensors, a: Axis, s: Slices, t: Slices):
    """Fills `run`, `after_run` and `linked`, from the end of a list to its front."""
    first = (operands_of(xs, a), eq(xs, cons(y, rest)))
    sliced = (*first, eq(y, slice_(x, s)), cuts_upwards(s, a, x))
    yield rule(*sliced, then=(assign(run(xs, a, x), s), assign(after_run(xs, a, x, s), rest)))
    yield rule(operands_of(nil(), a), then=assign(linked(nil(), a), 0))
    yield rule(*first, linked(rest, a), then=assign(linked(xs, a), 0))
    more = (*sliced, linked(rest, a), eq(t, run(rest, a, x)), eq(zs, after_run(rest, a, x, t)))
    both = joined_slices(s, t, a)
    longer_run = (assign(run(xs, a, x), both), assign(after_run(xs, a, x, both), zs))
    yield rule(*more, then=(assign(linked(xs, a), 1), *longer_run))


@table()
def visited(xs: Tensors, axis: Axis) -> Unit:
    """A tail of a list that does not begin inside a run of adjacent slices."""


@table(merge="last")
def tied(xs: Tensors, axis: Axis) -> Tensors:
    """A list with its runs of adjacent slices joined."""


@auxiliary(runs)
def tying(
    x: Tensor, y: Tensor, xs: Tensors, ys: Tensors, zs: Tensors, rest: Tensors, a: Axis, r: Slices
):  # fmt: skip
    """Fills `visited` from the front of a list to its end, and `tied` on the way back.

    The first may be a slice of another tensor as well, with which none is adjacent: that is no run.
    """
    yield rule(concat(xs, a), linked(xs, a), then=visited(xs, a))
    alone = (eq(linked(xs, a), 0), eq(xs, cons(y, rest)))
    longest = (eq(r, run(xs, a, x)), eq(rest, after_run(xs, a, x, r)))
    several = (eq(linked(xs, a), 1), *longest, eq(xs, cons(y, zs)), ne(rest, zs))
    for found, first in ((alone, y), (several, slice_(x, r))):
        yield rule(visited(xs, a), *found, then=visited(rest, a))
        yield rule(visited(xs, a), *found, eq(ys, tied(rest, a)), then=assign(tied(xs, a), cons(first, ys)))
    yield rule(visited(nil(), a), then=assign(tied(nil(), a), nil()))


def _adjacent(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 8, 3)), g.input(("N", 2, 3))

    def of_parts(*bounds: Any, beside: Any = (), step: int = 1, axis: int = 1) -> Any:
        parts = (slice_(x, ((1, *b, step), *beside)) if isinstance(b, tuple) else b for b in bounds)
        return concat(terms(*parts), axis)

    for bounds in (
        ((1, 3), (3, 7)),
        ((0, 3), (3, 5), (5, 8)),
        (y, (0, 3), (3, 5), y),
        ((0, 3), (3, 5), y, (6, 7), (7, 8)),
        ((0, 3), (3, 5), (3, 5)),
    ):
        yield g.fires(of_parts(*bounds))
    yield g.fires(of_parts((2, 4), (4, 6), beside=((2, 1, 3, 1),)))
    yield g.near_miss(of_parts((3, 5), (0, 3)), why="the order is another")
    yield g.near_miss(of_parts((0, 3), (4, 5)), why="an element is missing")
    yield g.near_miss(of_parts((0, 4), (4, 8), axis=0), why="joined along another axis")
    yield g.near_miss(of_parts((0, 4), slice_(y, ((1, 0, 1, 1),))), why="slices of two tensors")
    others = (slice_(x, ((1, *bounds, 1), (2, k, k + 2, 1))) for k, bounds in enumerate(((2, 4), (4, 6))))
    yield g.near_miss(of_parts(*others), why="another cut differs")
    yield g.near_miss(of_parts((0, 4), (4, 8), step=2), why="the ends do not say what is next")
    yield g.near_miss(of_parts(y, y), why="nothing is sliced")


@law(
    "concat",
    numerics="bitwise",
    kind="merge",
    serves="traffic",
    source="TASO",
    uses=(tying,),
    examples=_adjacent,
)
def join_slices(y: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, a: Axis):
    """Concat(.., x[a:b], x[b:c], ..) = Concat(.., x[a:c], ..)"""
    found = (eq(ys, tied(xs, a)), guard(ne(ys, xs)), eq(ys, cons(y, rest)))
    yield rewrite(concat(xs, a), y, *found, eq(rest, nil()), because="forgets b")
    yield rewrite(concat(xs, a), concat(ys, a), *found, guard(ne(rest, nil())), because="forgets b")


# --- functions of all operands --------------------------------------------------------------------------


@table()
def mapped(xs: Tensors, axis: Axis, op: String, settings: Any, source: DataType) -> Tensors:
    """The arguments of a list whose elements are all one function, or "Cast", of tensors of one type."""


@auxiliary(listing, functions)
def mapping(x: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, a: Axis, op: String, s: Settings):
    """Fills `mapped`."""
    d, first = dtype_of(x), function_of(op, s, x)
    last = (operands_of(xs, a), eq(xs, cons(first, nil())))
    yield rule(*last, then=assign(mapped(xs, a, op, s, d), cons(x, nil())))
    more = (operands_of(xs, a), eq(xs, cons(first, rest)), eq(ys, mapped(rest, a, op, s, d)))
    yield rule(*more, then=assign(mapped(xs, a, op, s, d), cons(x, ys)))


def _functions(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z = g.input(("N", 1, 2)), g.input(("N", 2, 2)), g.input(("N", "L", 2))
    whole, wide = g.input(("N", 2, 2), TensorProto.INT64), g.input(("N", 2, 2), TensorProto.DOUBLE)

    def leaky(v: Any, alpha: float) -> Any:
        return unary("LeakyRelu", (("alpha", alpha),), v)

    for operands in (
        [unary("Sigmoid", (), v) for v in (x, y, x, y)],
        [leaky(v, 0.25) for v in (x, z, x)],
        [cast(v, TensorProto.DOUBLE) for v in (x, y)],
    ):
        yield g.fires(concat(terms(*operands), 1))
    for why, *operands in (
        ("one is no Relu", unary("Relu", (), x), y),
        ("two functions", unary("Relu", (), x), unary("Tanh", (), y)),
        ("two slopes", leaky(x, 0.25), leaky(y, 0.5)),
        ("casts of two types", cast(whole, TensorProto.DOUBLE), cast(x, TensorProto.DOUBLE)),
        ("arguments of two types", unary("IsNaN", (), x), unary("IsNaN", (), wide)),
    ):
        yield g.near_miss(concat(terms(*operands), 1), why=why)


@law("concat", numerics="bitwise", kind="move", source="TASO", uses=(mapping, functions), examples=_functions)
def of_functions(xs: Tensors, ys: Tensors, a: Axis, op: String, s: Settings, d: DataType):
    """Concat(f(x), f(y), ..) = f(Concat(x, y, ..))"""
    known = (guard(worth_a_walk(xs)), eq(ys, mapped(xs, a, op, s, d)))
    made = function_of(op, s, concat(ys, a))
    yield rewrite(concat(xs, a), made, *known, because="one function for several")
