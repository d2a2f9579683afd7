"""Max and Min of what is the greatest or least already.

Max(x, x) -> x                                 Max(Max(x, y), x) -> Max(x, y)
Max(Max(x, ..), y, ..) -> Max(x, .., y, ..)    likewise Min
Max(Expand(x), y) -> Max(x, y)                 where y brings the dims
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, laws_of, ne, rewrite
from egraph_opt.laws.sorts import Dims, Int, String, Tensor, Tensors
from egraph_opt.operators import expand, expand_to, shape_of, variadic
from egraph_opt.operators.terms import append, cons, listed, node
from egraph_opt.rewrites.conditions.operands import is_extreme_of_many, moved, moves
from egraph_opt.rewrites.views.expand import brings

law = laws_of("bounds", numerics="finite", serves="launches", source="ONNX, Max and Min of many operands")

MOST = 8
"""Operands of what is joined."""


def _again(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z = (g.input(("N", 3)) for _ in "xyz")
    for op, other in (("Max", "Min"), ("Min", "Max")):
        both = variadic(op, listed(x, y))
        yield g.fires(variadic(op, listed(x, x)))
        for operand in (x, y):
            yield from g.all_fire(variadic(op, listed(both, operand)), variadic(op, listed(operand, both)))
        yield g.near_miss(variadic(other, listed(both, x)), why="Max of Min")
        yield g.near_miss(variadic(op, listed(both, z)), why="another operand")
    for op in ("Sum", "Mean"):
        yield g.near_miss(variadic(op, listed(variadic(op, listed(x, y)), x)), why="x counts twice")


@law(kind="eliminate", examples=_again)
def same_again(op: String, x: Tensor, y: Tensor):
    """Max(x, x) = x, Max(Max(x, y), x) = Max(x, y), likewise Min"""
    known, lost = is_extreme_of_many(op), "forgets how often x was there"
    for each in ("Max", "Min"):  # egglog fails where the host is asked of an operator with one operand twice
        yield rewrite(variadic(each, listed(x, x)), x, because=lost)
    for xs in (listed(x, y), listed(y, x)):
        both = variadic(op, xs)
        for again in (listed(both, x), listed(x, both)):
            yield rewrite(variadic(op, again), both, known, because=lost)


@hosted()
def are_few(xs: tuple[Fact, ...], ys: tuple[Fact, ...]) -> bool:
    return len(xs) + len(ys) <= MOST


def _nested(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z, u = (g.input(("N", 3)) for _ in "xyzu")
    for op, other in (("Max", "Min"), ("Min", "Max")):
        both = variadic(op, listed(x, y))
        yield from g.all_fire(
            variadic(op, listed(both, z)),
            variadic(op, listed(z, both)),
            variadic(op, listed(both, z, u)),
            variadic(op, listed(both, variadic(op, listed(z, u)))),
        )
        yield g.near_miss(variadic(other, listed(both, z)), why="Max of Min")
    whole = [g.input((3,), TensorProto.INT64) for _ in "xyz"]
    yield g.fires(variadic("Max", listed(variadic("Max", listed(*whole[:2])), whole[2])))
    yield g.near_miss(
        variadic("Mean", listed(variadic("Mean", listed(x, y)), z)), why="z counts as much as both"
    )


@law(kind="merge", examples=_nested)
def nested_extremes(op: String, x: Tensor, xs: Tensors, rest: Tensors, i: Int, j: Int):
    """Max(Max(x, ..), y, ..) = Max(x, .., y, ..), likewise Min, of those that the original has"""
    inner = variadic(op, xs)
    for before, after in (
        (cons(inner, rest), append(xs, rest)),
        (cons(x, cons(inner, rest)), cons(x, append(xs, rest))),
    ):
        outer = variadic(op, before)
        written = guard(eq(node(i), inner), eq(node(j), outer), ne(inner, outer), are_few(xs, rest))
        whole = variadic(op, after)
        yield rewrite(outer, whole, is_extreme_of_many(op), *written, because="forgets what was the greatest")


def _expanded(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, like = g.input(("N", 1)), g.input(("N", "L"))
    wide = expand_to(x, shape_of(like, 0, 2))
    for op in ("Max", "Min", "Mean"):
        yield g.fires(variadic(op, listed(wide, like)))
        yield g.fires(variadic(op, listed(like, wide)))
    rows = expand(g.input((1, 4)), (3, 4))
    for pair in ((rows, g.input((4,))), (g.input((4,)), rows)):
        yield g.near_miss(variadic("Max", listed(*pair)), why="y does not bring the rows")


@law(kind="eliminate", serves="traffic", examples=_expanded, uses=(moves,))
def of_expanded(x: Tensor, y: Tensor, op: String, t: Tensor, dims: Dims):
    """Max(Expand(x), y) = Max(x, y) where y brings the dims, likewise Min and Mean"""
    wide = moved("Expand", x, t, dims)
    for both, alone in ((listed(wide, y), listed(x, y)), (listed(y, wide), listed(y, x))):
        z = variadic(op, both)
        yield rewrite(z, variadic(op, alone), brings(z, x, y), because="forgets the dims")
