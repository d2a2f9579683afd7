"""Concatenations: nested ones flatten, empty operands go, adjacent slices join, and functions come out.

    Concat_a(.., Concat_a(ys), ..) = Concat_a(.., ys, ..)
    Concat(x) = x
    Concat(.., empty, ..) = Concat(.., ..)
    Concat(.., x[a:b], x[b:c], ..) = Concat(.., x[a:c], ..)
    Concat(f(x), f(y), ..) = f(Concat(x, y, ..))

Each law rewrites a list as far as it goes at once, so that m places give one new list and not 2^m.  It walks
the list in its closure: `listed` marks the lists of concatenations and their tails, a function from lists to
lists is then filled from the end of each.  Such a function keeps the newest answer where more became known.
"""

from collections.abc import Callable, Iterator
from typing import Any

import egglog
import numpy as np
from egglog import PyObject, String, eq, i64, ne, set_
from onnx import TensorProto

from egraph_opt.host import hosted
from egraph_opt.law import Deduction, Equal, Example, closure, holds, law, let, rewrite, rule
from egraph_opt.law_testing import Operands
from egraph_opt.law_testing import listed as terms
from egraph_opt.operators import cast, concat, slice_, unary
from egraph_opt.operators.views import Slices
from egraph_opt.rewrites.slice import dim_at
from egraph_opt.terms import Tensor, Tensors, append, cons, fact, facts, nil
from egraph_opt.types import Fact

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


@egglog.function(egg_fn="concat_parts", merge=lambda old, new: new)
def parts(x: Tensor, axis: PyObject) -> Tensors:
    """The list that x is the concatenation of."""


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
    x: Tensor, y: Tensor, xs: Tensors, ys: Tensors, zs: Tensors, rest: Tensors, a: PyObject
) -> Iterator[Any]:
    """Concat_a(.., Concat_a(ys), ..) = Concat_a(.., ys, ..)

    Source: Ascend auto-optimizer, MergeConsecutiveConcat.
    """
    yield from listing()
    walkable = (holds(worth_a_walk, facts(ys)), holds(none_is_empty, facts(ys), a))
    yield closure(eq(x).to(concat(ys, a)), *walkable, then=(set_(parts(x, a)).to(ys), set_(nests(x, a)).to(1)))
    at_first = (listed(xs, a), eq(xs).to(cons(x, rest)))
    yield closure(*at_first, then=set_(nests(x, a)).to(0))
    yield closure(listed(nil(), a), then=set_(flat(nil(), a)).to(nil()))
    after = (*at_first, eq(zs).to(flat(rest, a)))
    yield closure(*after, eq(nests(x, a)).to(i64(0)), then=set_(flat(xs, a)).to(cons(x, zs)))
    yield closure(*after, eq(ys).to(parts(x, a)), then=set_(flat(xs, a)).to(append(ys, zs)))
    yield rule(eq(y).to(concat(xs, a)), eq(zs).to(flat(xs, a)), ne(zs).to(xs), then=Equal(y, concat(zs, a)))


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
def without_empty(x: Tensor, y: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, a: PyObject) -> Iterator[Any]:
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


# --- adjacent slices ------------------------------------------------------------------------------------


@egglog.function(egg_fn="concat_run", merge=lambda old, new: PyObject(longer)(old, new))
def run(xs: Tensors, axis: PyObject, base: Tensor) -> PyObject:
    """What the slices of one tensor with which a list begins are together, as many of them as are adjacent."""


@egglog.function(egg_fn="concat_after", merge=lambda old, new: new)
def after_run(xs: Tensors, axis: PyObject, base: Tensor, spec: PyObject) -> Tensors:
    """What follows the slices that are together one slice, in a list."""


@hosted()
def longer(old: Slices, new: Slices) -> Slices:
    """The run that takes more, which contains the other."""
    return max(old, new, key=lambda spec: (sum((entry[2] or 0) - entry[1] for entry in spec), spec))


@hosted(default=False)
def cuts_upwards(s: Slices, axis: int, x: Fact) -> bool:
    """The slice cuts an axis of known length with step 1."""
    return isinstance(dim_at(x, axis), int) and any(e[0] == axis and e[3] == 1 and e[2] is not None for e in s)


@hosted()
def joined(s: Slices, t: Slices, axis: int) -> Slices | None:
    """The slice that takes along an axis what s takes, then what t takes."""
    one, other = dict(zip((e[0] for e in s), s, strict=True)), dict(zip((e[0] for e in t), t, strict=True))
    first, second = one.pop(axis, None), other.pop(axis, None)
    if first is None or second is None or one != other or first[2] != second[1] or first[3] != 1 or second[3] != 1:
        return None
    return tuple(sorted((*one.values(), (axis, first[1], second[2], 1))))


@egglog.function(egg_fn="concat_linked", merge=lambda old, new: old.max(new))
def linked(xs: Tensors, axis: PyObject) -> i64:
    """1 where a list begins with two adjacent slices, else 0."""


@egglog.function(egg_fn="concat_known")
def known(xs: Tensors, axis: PyObject) -> egglog.Unit:
    """A list whose adjacent slices have been looked for, to its end."""


@egglog.function(egg_fn="concat_visited")
def visited(xs: Tensors, axis: PyObject) -> egglog.Unit:
    """A tail of a list that does not begin inside a run of adjacent slices."""


@egglog.function(egg_fn="concat_tied", merge=lambda old, new: new)
def tied(xs: Tensors, axis: PyObject) -> Tensors:
    """A list with its runs of adjacent slices joined."""


def _adjacent_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 8, 3)), g.input(("N", 2, 3))

    def part(start: int, end: int) -> Any:
        return slice_(x, ((1, start, end, 1),))

    yield g.fires(concat(terms(part(1, 3), part(3, 7)), 1))
    yield g.fires(concat(terms(part(0, 3), part(3, 5), part(5, 8)), 1))
    yield g.fires(concat(terms(y, part(0, 3), part(3, 5), y), 1))
    yield g.fires(concat(terms(part(0, 3), part(3, 5), y, part(6, 7), part(7, 8)), 1))
    yield g.fires(concat(terms(part(0, 3), part(3, 5), part(3, 5)), 1))
    both = [slice_(x, ((1, a, b, 1), (2, 1, 3, 1))) for a, b in ((2, 4), (4, 6))]
    yield g.fires(concat(terms(*both), 1))
    yield g.near_miss(concat(terms(part(3, 5), part(0, 3)), 1), why="the order is another")
    yield g.near_miss(concat(terms(part(0, 3), part(4, 5)), 1), why="an element is missing")
    yield g.near_miss(concat(terms(part(0, 4), part(4, 8)), 0), why="joined along another axis")
    yield g.near_miss(concat(terms(part(0, 4), slice_(y, ((1, 0, 1, 1),))), 1), why="slices of two tensors")
    yield g.near_miss(concat(terms(both[0], slice_(x, ((1, 4, 6, 1), (2, 0, 2, 1)))), 1), why="another cut differs")
    strided = [slice_(x, ((1, a, b, 2),)) for a, b in ((0, 4), (4, 8))]
    yield g.near_miss(concat(terms(*strided), 1), why="with steps the ends do not say what is next")


@law("concat", numerics="bitwise", examples=_adjacent_examples)
def join_slices(
    x: Tensor, y: Tensor, z: Tensor, xs: Tensors, ys: Tensors, zs: Tensors, rest: Tensors, a: PyObject,
    s: PyObject, t: PyObject, r: PyObject,
) -> Iterator[Any]:  # fmt: skip
    """Concat(.., x[a:b], x[b:c], ..) = Concat(.., x[a:c], ..)

    Source: TASO.
    """
    yield from listing()
    at_first = (listed(xs, a), eq(xs).to(cons(y, rest)))
    a_slice = (*at_first, eq(y).to(slice_(x, s)), holds(cuts_upwards, s, a, fact(x)))
    yield closure(*a_slice, then=(set_(run(xs, a, x)).to(s), set_(after_run(xs, a, x, s)).to(rest)))
    together = (*a_slice, eq(t).to(run(rest, a, x)), eq(zs).to(after_run(rest, a, x, t)), let(r, joined, s, t, a))
    yield closure(
        *together,
        then=(set_(linked(xs, a)).to(1), set_(run(xs, a, x)).to(r), set_(after_run(xs, a, x, r)).to(zs)),
    )
    # From the end to the front, so that all links of a list are known before it is visited.
    yield closure(listed(nil(), a), then=known(nil(), a))
    yield closure(*at_first, known(rest, a), then=(known(xs, a), set_(linked(xs, a)).to(0)))
    yield closure(eq(z).to(concat(xs, a)), known(xs, a), then=visited(xs, a))
    alone = (visited(xs, a), eq(xs).to(cons(y, rest)), eq(linked(xs, a)).to(i64(0)))
    yield closure(*alone, then=visited(rest, a))
    many = (visited(xs, a), eq(linked(xs, a)).to(i64(1)), eq(r).to(run(xs, a, x)), eq(zs).to(after_run(xs, a, x, r)))
    yield closure(*many, then=visited(zs, a))
    yield closure(visited(nil(), a), then=set_(tied(nil(), a)).to(nil()))
    yield closure(*alone, eq(ys).to(tied(rest, a)), then=set_(tied(xs, a)).to(cons(y, ys)))
    yield closure(*many, eq(ys).to(tied(zs, a)), then=set_(tied(xs, a)).to(cons(slice_(x, r), ys)))
    whole = (eq(z).to(concat(xs, a)), eq(ys).to(tied(xs, a)), ne(ys).to(xs))
    yield rule(*whole, eq(ys).to(cons(y, nil())), then=Equal(z, y))
    yield rule(*whole, eq(ys).to(cons(y, zs)), ne(zs).to(nil()), then=Equal(z, concat(ys, a)))


# --- functions of all operands --------------------------------------------------------------------------


@egglog.function(egg_fn="concat_mapped", merge=lambda old, new: old)
def mapped(xs: Tensors, axis: PyObject, op: String, settings: PyObject) -> Tensors:
    """The arguments of a list whose elements are all one function of something."""


@egglog.function(egg_fn="concat_casts", merge=lambda old, new: old)
def casts(xs: Tensors, axis: PyObject, to: PyObject, source: PyObject) -> Tensors:
    """The arguments of a list whose elements are all casts from one type to another."""


@hosted()
def dtype_of(x: Fact) -> int | None:
    return x.dtype if x.dtype > 0 else None


def _mapped_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z = g.input(("N", 1, 2)), g.input(("N", 2, 2)), g.input(("N", "L", 2))

    def each(f: Callable[[Any], Any], *operands: Any) -> Any:
        return concat(terms(*(f(x) for x in operands)), 1)

    yield g.fires(each(lambda v: unary("Relu", (), v), x, y))
    yield g.fires(each(lambda v: unary("LeakyRelu", (("alpha", 0.25),), v), x, z, x))
    yield g.fires(each(lambda v: unary("Sigmoid", (), v), x, y, x, y))
    yield g.fires(each(lambda v: cast(v, TensorProto.DOUBLE), x, y))
    yield g.near_miss(concat(terms(unary("Relu", (), x), y), 1), why="one is no Relu")
    yield g.near_miss(concat(terms(unary("Relu", (), x), unary("Tanh", (), y)), 1), why="two functions")
    slopes = [unary("LeakyRelu", (("alpha", a),), v) for a, v in ((0.25, x), (0.5, y))]
    yield g.near_miss(concat(terms(*slopes), 1), why="two slopes")
    whole = g.input(("N", 2, 2), TensorProto.INT64)
    mixed = concat(terms(cast(whole, TensorProto.DOUBLE), cast(x, TensorProto.DOUBLE)), 1)
    yield g.near_miss(mixed, why="casts of two types")


@law("concat", numerics="bitwise", examples=_mapped_examples)
def of_functions(
    x: Tensor, y: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, a: PyObject, op: String, s: PyObject,
    to: PyObject, d: PyObject,
) -> Iterator[Any]:  # fmt: skip
    """Concat(f(x), f(y), ..) = f(Concat(x, y, ..))

    Source: TASO.
    """
    yield from listing()
    for first, table, inner in (
        (unary(op, s, x), lambda v: mapped(v, a, op, s), ()),
        (cast(x, to), lambda v: casts(v, a, to, d), let(d, dtype_of, fact(x))),
    ):
        end = (listed(xs, a), eq(xs).to(cons(first, nil())), *inner)
        yield closure(*end, then=set_(table(xs)).to(cons(x, nil())))
        more = (listed(xs, a), eq(xs).to(cons(first, rest)), eq(ys).to(table(rest)), *inner)
        yield closure(*more, then=set_(table(xs)).to(cons(x, ys)))
    found = (eq(y).to(concat(xs, a)), holds(worth_a_walk, facts(xs)))
    yield rule(*found, eq(ys).to(mapped(xs, a, op, s)), then=Equal(y, unary(op, s, concat(ys, a))))
    yield rule(*found, eq(ys).to(casts(xs, a, to, d)), then=Equal(y, cast(concat(ys, a), to)))
