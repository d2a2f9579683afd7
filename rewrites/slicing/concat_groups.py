"""Operands of a concatenation that are joined elsewhere as well stand as one.

Concat(.., x, y, ..) -> Concat(.., Concat(x, y), ..)       the way back of `concat.flatten`
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.laws import Example, Operands, auxiliary, eq, guard, law, rewrite, rule, table
from egraph_opt.laws.sorts import Axis, Number, Tensor, Tensors, Unit
from egraph_opt.operators import concat
from egraph_opt.operators.terms import cons
from egraph_opt.operators.terms import listed as terms
from egraph_opt.rewrites.slicing.concat import flattening, listing, most_parts, operands_of, parts
from egraph_opt.rewrites.slicing.joined_pairs import join, joined, pairs


@table()
def grouped(xs: Tensors, axis: Axis, ys: Tensors) -> Unit:
    """ys is xs with two neighbours joined."""


@auxiliary(listing, flattening, pairs)
def grouping(x: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, a: Axis):
    """Fills `grouped`, from the place of the two to the front of a list."""
    yield rule(
        operands_of(xs, a), eq(xs, cons(x, rest)), grouped(rest, a, ys), then=grouped(xs, a, cons(x, ys))
    )


def _groups(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z, u = (g.input(("N", k, 2)) for k in (1, 2, 3, "L"))

    def beside(*operands: object, axis: int = 1) -> tuple[object, object]:
        return concat(terms(*operands), 1), concat(terms(x, y), axis)

    for operands in ((x, y, z), (z, x, y), (u, x, y, z), (x, y, x, y)):
        yield g.fires(beside(*operands))
    wide = g.input((2, 4, 3))
    yield g.near_miss(concat(terms(wide, wide, wide), 0), why="no two of them are joined elsewhere")
    yield g.near_miss(beside(y, x, z), why="two are joined elsewhere in another order")
    yield g.near_miss(beside(x, z, y), why="one is between them")
    yield g.near_miss(concat(terms(x, y), 1), why="there is no third")


@law("concat", numerics="bitwise", kind="split", serves="traffic", uses=(grouping,), examples=_groups)
def group(x: Tensor, y: Tensor, z: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, a: Axis, n: Number):
    """Concat(.., x, y, ..) = Concat(.., Concat(x, y), ..), where Concat(x, y) is written as well"""
    found, demand, one = operands_of(xs, a), guard(joined(x, y, a)), join(x, y, a)
    before = (found, eq(xs, cons(x, cons(y, cons(z, rest)))), *demand)
    yield rule(*before, then=grouped(xs, a, cons(one, cons(z, rest))), inverse="flatten")
    last = (found, eq(xs, terms(z, x, y)), *demand)
    yield rule(*last, then=grouped(xs, a, terms(z, one)), inverse="flatten")
    # Of the lists that a value is the concatenation of the longest: else groups would be grouped, and a
    # chain of concatenations would grow with the square of its length.
    whole = concat(xs, a)
    longest = guard(eq(n, most_parts(whole, a)), eq(xs, parts(whole, a, n)))
    yield rewrite(whole, concat(ys, a), grouped(xs, a, ys), *longest, inverse="flatten")
