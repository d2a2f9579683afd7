"""Concatenations: nested ones flatten, and empty operands go.

    Concat_a(.., Concat_a(ys), ..) = Concat_a(.., ys, ..)
    Concat(x) = x
    Concat(.., empty, ..) = Concat(.., ..)

Each law rewrites a list as far as it goes at once, so that m places give one new list and not 2^m.  It walks
the list in its closure: `listed` marks the lists of concatenations and their tails, a function from lists to
lists is then filled from the end of each.  Such a function keeps the newest answer where more became known.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt import compat as egglog
from egraph_opt.compat import (
    Deduction,
    Equal,
    PyObject,
    closure,
    eq,
    holds,
    i64,
    let,
    ne,
    rewrite,
    rule,
    set_,
)
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import concat, unary
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, Tensors, append, cons, fact, facts, nil
from egraph_opt.operators.terms import listed as terms
from egraph_opt.rewrites.slicing.slice import dim_at

LONGEST = 512
"""Lists longer than this are left alone."""


@egglog.function(egg_fn="concat_listed")
def listed(xs: Tensors, axis: PyObject) -> egglog.Unit:
    """A concatenation of values that are not all constant has this list, or its tail is this one."""


@hosted(default=False)
def worth_a_walk(xs: tuple[Fact, ...]) -> bool:
    return 2 <= len(xs) <= LONGEST and not all(x.const for x in xs)


def listing() -> Iterator[Deduction]:
    """The rules that fill `listed`."""
    xs, rest = egglog.var("xs", Tensors), egglog.var("rest", Tensors)
    x, y, a = egglog.var("x", Tensor), egglog.var("y", Tensor), egglog.var("a", PyObject)
    yield closure(eq(y).to(concat(xs, a)), holds(worth_a_walk, facts(xs)), then=listed(xs, a))
    yield closure(listed(xs, a), eq(xs).to(cons(x, rest)), then=listed(rest, a))


# --- nested ---------------------------------------------------------------------------------------------


@egglog.function(egg_fn="concat_parts", merge=lambda old, new: old)
def parts(x: Tensor, axis: PyObject, count: PyObject) -> Tensors:
    """A list of `count` values that x is the concatenation of."""


@hosted(default=0)
def greater(old: int, new: int) -> int:
    return max(old, new)


@egglog.function(egg_fn="concat_most_parts", merge=lambda old, new: PyObject(greater)(old, new))
def most_parts(x: Tensor, axis: PyObject) -> PyObject:
    """The length of the longest list that x is the concatenation of: the one that is flattened and used."""


@hosted()
def count_of(xs: tuple[Fact, ...]) -> int:
    return len(xs)


@egglog.function(egg_fn="concat_nests", merge=lambda old, new: old.max(new))
def nests(x: Tensor, axis: PyObject) -> i64:
    """1 where an operand is a concatenation itself, else 0."""


@egglog.function(egg_fn="concat_flat", merge=lambda old, new: new)
def flat(xs: Tensors, axis: PyObject) -> Tensors:
    """A list with the parts of its concatenations in their places."""


@hosted(default=False)
def none_is_empty(xs: tuple[Fact, ...], axis: int) -> bool:
    """No part is known to be empty: `x = Concat(x, empty)` would be inserted into itself."""
    return len(xs) >= 2 and all(dim_at(x, axis) not in (0, None) for x in xs)


def _nested_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z = g.input(("N", 1, 2)), g.input(("N", 2, 2)), g.input(("N", 3, 2))
    inner = concat(terms(y, z), 1)
    yield g.fires(concat(terms(inner, x), 1))
    yield g.fires(concat(terms(x, inner, y), 1))
    yield g.fires(concat(terms(x, y, inner), 1))
    yield g.fires(concat(terms(inner, x, inner), 1))
    yield g.fires(concat(terms(concat(terms(inner, x), 1), concat(terms(x, y), 1)), 1))
    yield g.fires(concat(terms(inner, inner), 1))
    yield g.near_miss(concat(terms(inner, inner), 0), why="the axes differ")
    yield g.near_miss(concat(terms(x, unary("Relu", (), inner)), 1), why="Relu is between")
    long = g.input(("L", 2))
    yield g.fires(concat(terms(concat(terms(long, g.input((2, 2))), 0), long), 0))


@law("concat", numerics="bitwise", examples=_nested_examples)
def flatten(
    x: Tensor, y: Tensor, xs: Tensors, ys: Tensors, zs: Tensors, rest: Tensors, a: PyObject, n: PyObject
) -> Iterator[Any]:
    """Concat_a(.., Concat_a(ys), ..) = Concat_a(.., ys, ..)

    Source: Ascend auto-optimizer, MergeConsecutiveConcat.
    """
    yield from listing()
    nested = (eq(x).to(concat(ys, a)), holds(worth_a_walk, facts(ys)), holds(none_is_empty, facts(ys), a))
    found = (set_(parts(x, a, n)).to(ys), set_(most_parts(x, a)).to(n), set_(nests(x, a)).to(1))
    yield closure(*nested, let(n, count_of, facts(ys)), then=found)
    at_first = (listed(xs, a), eq(xs).to(cons(x, rest)))
    yield closure(*at_first, then=set_(nests(x, a)).to(0))
    yield closure(listed(nil(), a), then=set_(flat(nil(), a)).to(nil()))
    after = (*at_first, eq(zs).to(flat(rest, a)))
    yield closure(*after, eq(nests(x, a)).to(0), then=set_(flat(xs, a)).to(cons(x, zs)))
    its_parts = (eq(n).to(most_parts(x, a)), eq(ys).to(parts(x, a, n)))
    yield closure(*after, *its_parts, then=set_(flat(xs, a)).to(append(ys, zs)))
    whole = (eq(n).to(most_parts(y, a)), eq(xs).to(parts(y, a, n)), eq(y).to(concat(xs, a)))
    yield rule(*whole, eq(zs).to(flat(xs, a)), ne(zs).to(xs), then=Equal(y, concat(zs, a)))


# --- one, and none --------------------------------------------------------------------------------------


def _single_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3))
    yield g.fires(concat(terms(x), 1))
    yield g.near_miss(concat(terms(x, x), 1), why="there are two")


@law("concat", numerics="bitwise", examples=_single_examples)
def single(x: Tensor, a: PyObject) -> Iterator[Any]:
    """Concat(x) = x

    Source: onnxoptimizer eliminate_nop_concat.
    """
    yield rewrite(concat(cons(x, nil()), a), x)


@egglog.function(egg_fn="concat_filled", merge=lambda old, new: new)
def filled(xs: Tensors, axis: PyObject) -> Tensors:
    """A list without the operands that are empty."""


@hosted(default=False)
def is_empty(x: Fact, axis: int) -> bool:
    return dim_at(x, axis) == 0


@hosted(default=False)
def may_have_elements(x: Fact, axis: int) -> bool:
    return dim_at(x, axis) != 0


@hosted(default=False)
def all_empty(xs: tuple[Fact, ...], axis: int) -> bool:
    return all(dim_at(x, axis) == 0 for x in xs)


@hosted(default=False)
def some_empty(xs: tuple[Fact, ...], axis: int) -> bool:
    return any(dim_at(x, axis) == 0 for x in xs) and not all_empty(xs, axis)


def _empty_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, e = g.input(("N", 1, 2)), g.input(("N", 2, 2)), g.input(("N", 0, 2))
    for operands in ((e, x), (x, e), (x, e, y, e), (e, e), (e, x, x)):
        yield g.fires(concat(terms(*operands), 1))
    yield g.near_miss(concat(terms(x, y), 1), why="none is empty")
    yield g.near_miss(concat(terms(e, e), 0), why="they are empty along another axis")
    yield g.near_miss(concat(terms(g.input(("L", 2)), g.input((1, 2))), 0), why="it may not be empty")


@law("concat", numerics="bitwise", examples=_empty_examples)
def without_empty(
    x: Tensor, y: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, a: PyObject
) -> Iterator[Any]:
    """Concat(.., empty, ..) = Concat(.., ..)

    Source: Ascend auto-optimizer, EmptySliceFix.
    """
    yield from listing()
    yield closure(listed(nil(), a), then=set_(filled(nil(), a)).to(nil()))
    after = (listed(xs, a), eq(xs).to(cons(x, rest)), eq(ys).to(filled(rest, a)))
    yield closure(*after, holds(is_empty, fact(x), a), then=set_(filled(xs, a)).to(ys))
    yield closure(*after, holds(may_have_elements, fact(x), a), then=set_(filled(xs, a)).to(cons(x, ys)))
    whole = eq(y).to(concat(xs, a))
    yield rule(whole, holds(some_empty, facts(xs), a), eq(ys).to(filled(xs, a)), then=Equal(y, concat(ys, a)))
    yield rule(whole, holds(all_empty, facts(xs), a), eq(xs).to(cons(x, rest)), then=Equal(y, x))
