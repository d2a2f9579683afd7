"""Concatenations: nested ones flatten, and empty operands go.

Concat_a(.., Concat_a(ys), ..) -> Concat_a(.., ys, ..)
Concat(x) -> x
Concat(.., empty, ..) -> Concat(.., ..)

Each law rewrites a list as far as it goes at once, so that m places give one new list and not 2^m.
`operands_of` marks the lists of concatenations and their tails; tables from lists to lists are then filled
from the end of each, and keep the newest answer where more became known.
"""

from collections.abc import Iterator

import numpy as np

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
    ne,
    rewrite,
    rule,
    table,
)
from egraph_opt.laws.sorts import Axis, Int, Number, Tensor, Tensors, Unit
from egraph_opt.operators import concat, unary
from egraph_opt.operators.terms import append, cons, nil
from egraph_opt.operators.terms import listed as terms
from egraph_opt.rewrites.slicing.slice import dim_at

law = laws_of("concat", numerics="bitwise", kind="eliminate", serves="traffic")

LONGEST = 512
"""Lists longer than this are left alone."""


@table()
def operands_of(xs: Tensors, axis: Axis) -> Unit:
    """A concatenation of values that are not all constant has this list, or its tail is this one."""


@hosted()
def worth_a_walk(xs: tuple[Fact, ...]) -> bool:
    return 2 <= len(xs) <= LONGEST and not all(x.const for x in xs)


@auxiliary()
def listing(xs: Tensors, x: Tensor, rest: Tensors, a: Axis):
    """Fills `operands_of`."""
    yield rule(concat(xs, a), worth_a_walk(xs), then=operands_of(xs, a))
    yield rule(operands_of(xs, a), eq(xs, cons(x, rest)), then=operands_of(rest, a))


# --- nested ---------------------------------------------------------------------------------------------


@table()
def parts(x: Tensor, axis: Axis, count: Number) -> Tensors:
    """A list of `count` values that x is the concatenation of."""


@hosted(default=0)
def greater(old: Number, new: Number) -> Number:
    return max(old, new)


@table(merge=greater)
def most_parts(x: Tensor, axis: Axis) -> Number:
    """The length of the longest list that x is the concatenation of: the one that is flattened and used."""


@hosted()
def count_of(xs: tuple[Fact, ...]) -> Number:
    return len(xs)


@table(merge="max")
def nests(x: Tensor, axis: Axis) -> Int:
    """1 where an operand is a concatenation itself, else 0."""


@table(merge="last")
def flat(xs: Tensors, axis: Axis) -> Tensors:
    """A list with the parts of its concatenations in their places."""


@hosted()
def none_is_empty(xs: tuple[Fact, ...], axis: Axis) -> bool:
    """No part is known to be empty: `x = Concat(x, empty)` would be inserted into itself."""
    return len(xs) >= 2 and all(dim_at(x, axis) not in (0, None) for x in xs)


@auxiliary(listing)
def flattening(x: Tensor, xs: Tensors, ys: Tensors, zs: Tensors, rest: Tensors, a: Axis, n: Number):
    """Fills `flat`."""
    count = count_of(ys)
    found = (assign(parts(x, a, count), ys), assign(most_parts(x, a), count), assign(nests(x, a), 1))
    yield rule(eq(x, concat(ys, a)), worth_a_walk(ys), none_is_empty(ys, a), then=found)
    first = (operands_of(xs, a), eq(xs, cons(x, rest)))
    yield rule(*first, then=assign(nests(x, a), 0))
    yield rule(operands_of(nil(), a), then=assign(flat(nil(), a), nil()))
    after = (*first, eq(zs, flat(rest, a)))
    yield rule(*after, eq(nests(x, a), 0), then=assign(flat(xs, a), cons(x, zs)))
    inner = (eq(n, most_parts(x, a)), eq(ys, parts(x, a, n)))
    yield rule(*after, *inner, then=assign(flat(xs, a), append(ys, zs)))


def _nested(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z, long = (g.input(("N", k, 2)) for k in (1, 2, 3, "L"))
    inner = concat(terms(y, z), 1)
    deep = concat(terms(inner, x), 1), concat(terms(x, y), 1)
    for operands in ((inner, x), (x, inner, y), (x, y, inner), (inner, x, inner), deep, (inner, inner)):
        yield g.fires(concat(terms(*operands), 1))
    yield g.fires(concat(terms(concat(terms(long, y), 1), long), 1))
    yield g.near_miss(concat(terms(inner, inner), 0), why="the axes differ")
    yield g.near_miss(concat(terms(x, unary("Relu", (), inner)), 1), why="Relu is between")


@law(
    kind="merge", source="Ascend auto-optimizer, MergeConsecutiveConcat", uses=(flattening,), examples=_nested
)
def flatten(xs: Tensors, zs: Tensors, a: Axis, n: Number):
    """Concat_a(.., Concat_a(ys), ..) = Concat_a(.., ys, ..)"""
    whole = concat(xs, a)
    longest = guard(eq(n, most_parts(whole, a)), eq(xs, parts(whole, a, n)))
    found = (*longest, eq(zs, flat(xs, a)), guard(ne(zs, xs)))
    yield rewrite(whole, concat(zs, a), *found, inverse="group")


# --- one, and none --------------------------------------------------------------------------------------


@law(source="onnxoptimizer eliminate_nop_concat")
def single(x: Tensor, a: Axis):
    """Concat(x) = x"""
    yield rewrite(concat(cons(x, nil()), a), x, because="every x is the Concat of itself")


@table(merge="last")
def filled(xs: Tensors, axis: Axis) -> Tensors:
    """A list without the operands that are empty."""


@hosted()
def is_empty(x: Fact, axis: Axis) -> bool:
    return dim_at(x, axis) == 0


@hosted()
def may_have_elements(x: Fact, axis: Axis) -> bool:
    return dim_at(x, axis) != 0


@hosted()
def all_empty(xs: tuple[Fact, ...], axis: Axis) -> bool:
    return all(dim_at(x, axis) == 0 for x in xs)


@hosted()
def some_empty(xs: tuple[Fact, ...], axis: Axis) -> bool:
    return any(dim_at(x, axis) == 0 for x in xs) and not all_empty(xs, axis)


@auxiliary(listing)
def filling(x: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, a: Axis):
    """Fills `filled`."""
    yield rule(operands_of(nil(), a), then=assign(filled(nil(), a), nil()))
    after = (operands_of(xs, a), eq(xs, cons(x, rest)), eq(ys, filled(rest, a)))
    yield rule(*after, is_empty(x, a), then=assign(filled(xs, a), ys))
    yield rule(*after, may_have_elements(x, a), then=assign(filled(xs, a), cons(x, ys)))


def _empty(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, e = g.input(("N", 1, 2)), g.input(("N", 2, 2)), g.input(("N", 0, 2))
    for operands in ((e, x), (x, e), (x, e, y, e), (e, e), (e, x, x)):
        yield g.fires(concat(terms(*operands), 1))
    yield g.near_miss(concat(terms(x, y), 1), why="none is empty")
    yield g.near_miss(concat(terms(e, e), 0), why="they are empty along another axis")
    yield g.near_miss(concat(terms(g.input(("L", 2)), g.input((1, 2))), 0), why="it may not be empty")


@law(source="Ascend auto-optimizer, EmptySliceFix", uses=(filling,), examples=_empty)
def without_empty(x: Tensor, xs: Tensors, rest: Tensors, a: Axis):
    """Concat(.., empty, ..) = Concat(.., ..)"""
    some = cons(x, rest)
    known = (eq(some, filled(xs, a)), guard(some_empty(xs, a)))
    yield rewrite(concat(xs, a), concat(some, a), known, because="forgets the empty ones")
    yield rewrite(concat(some, a), x, all_empty(some, a), because="forgets the others")
