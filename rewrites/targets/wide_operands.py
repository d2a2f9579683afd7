"""Operators of several images stay on their side after an image too wide for the target (see `wide_images`).

    x op y -> T(T(x) op T(y))
    Concat(x, y, ..) -> T(Concat(T(x), T(y), ..)), Sum, Max, Min and Mean likewise

T swaps height and width.  What meets there as ``T(T(y))`` is y.
"""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import auxiliary, eq, guard, hosted, law, rewrite, rule, table, union
from egraph_opt.laws.sorts import Axis, Int, String, Tensor, Tensors
from egraph_opt.operators import concat, variadic
from egraph_opt.operators.terms import cons, nil
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.targets.wide_images import SHARED, after_wide, turn, wide, wide_among
from egraph_opt.rewrites.transposes.windows import SWAP


@hosted()
def varies(y: Fact) -> bool:
    """An image that is no constant (those turn anyway, see `transpose_movement`)."""
    return y.rank == 4 and not y.const


@hosted()
def are_images(xs: tuple[Fact, ...]) -> bool:
    return all(x.rank == 4 for x in xs)


@hosted()
def turned_axis(axis: Axis) -> Axis:
    return SWAP[axis]


@table(merge="new")
def turned(xs: Tensors) -> Tensors:
    """The list with every image on its side."""


@auxiliary()
def turned_lists(x: Tensor, xs: Tensors, ys: Tensors):
    """Defines `turned`."""
    yield rule(eq(ys, turned(nil())), then=union(ys, nil()))
    yield rule(eq(ys, turned(cons(x, xs))), then=union(ys, cons(turn(x), turned(xs))))


@law("wide_images", numerics="bitwise", uses=(wide, either_side), **SHARED)
def lay_binary(op: String, x: Tensor, y: Tensor, i: Int):
    """x op y = T(T(x) op T(y)) after an image too wide for the target"""
    laid, images = turn(beside(op, turn(x), turn(y), i)), (varies(x), varies(y))
    back = "transpose.through_binary"
    yield rewrite(beside(op, x, y, i), laid, guard(after_wide(x)), *images, inverse=back)


@law("wide_images", numerics="bitwise", uses=(wide, turned_lists), **SHARED)
def lay_concat(xs: Tensors, a: Axis):
    """Concat(x, y, ..) = T(Concat(T(x), T(y), ..)) after an image too wide for the target"""
    laid = turn(concat(turned(xs), turned_axis(a)))
    demand = guard(wide_among(xs))
    yield rewrite(concat(xs, a), laid, demand, are_images(xs), inverse="transpose.through_concat_of_two")


@law("wide_images", numerics="finite", uses=(wide, turned_lists), **SHARED)
def lay_variadic(op: String, xs: Tensors):
    """Sum(x, y, ..) = T(Sum(T(x), T(y), ..)), Max, Min and Mean likewise, after an image too wide

    Of two zeros onnxruntime's Max takes either, by how its operands broadcast.
    """
    laid = turn(variadic(op, turned(xs)))
    because = "a list does not tell that all of it is turned"
    yield rewrite(variadic(op, xs), laid, guard(wide_among(xs)), are_images(xs), because=because)
