"""Concatenations of alike operands: adjacent slices of one tensor join, a function of all is taken out.

    Concat(.., x[a:b], x[b:c], ..) = Concat(.., x[a:c], ..)       and of nothing else: = x[a:c]
    Concat(f(x), f(y), ..) = f(Concat(x, y, ..))

See `concat` on how lists are walked.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt import compat as egglog
from egraph_opt.compat import Equal, PyObject, String, closure, eq, holds, i64, let, ne, rule, set_
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import cast, concat, slice_, unary
from egraph_opt.operators.host import hosted
from egraph_opt.operators.sorts import Slices
from egraph_opt.operators.terms import Tensor, Tensors, cons, fact, facts, nil
from egraph_opt.operators.terms import listed as terms
from egraph_opt.rewrites.slicing.concat import listed, listing, worth_a_walk
from egraph_opt.rewrites.slicing.slice import dim_at

# --- adjacent slices ------------------------------------------------------------------------------------


@hosted()
def longer(old: Slices, new: Slices) -> Slices:
    """The run that takes more, which contains the other."""
    return max(old, new, key=lambda spec: (sum((entry[2] or 0) - entry[1] for entry in spec), spec))


@egglog.function(egg_fn="concat_run", merge=lambda old, new: PyObject(longer)(old, new))
def run(xs: Tensors, axis: PyObject, base: Tensor) -> PyObject:
    """What the adjacent slices of one tensor are together with which a list begins."""


@egglog.function(egg_fn="concat_after", merge=lambda old, new: new)
def after_run(xs: Tensors, axis: PyObject, base: Tensor, spec: PyObject) -> Tensors:
    """What follows the slices that are together one slice, in a list."""


@hosted(default=False)
def cuts_upwards(s: Slices, axis: int, x: Fact) -> bool:
    """The slice cuts an axis of known length with step 1."""
    return isinstance(dim_at(x, axis), int) and any(
        e[0] == axis and e[3] == 1 and e[2] is not None for e in s
    )


@hosted()
def joined(s: Slices, t: Slices, axis: int) -> Slices | None:
    """The slice that takes along an axis what s takes, then what t takes."""
    one, other = dict(zip((e[0] for e in s), s, strict=True)), dict(zip((e[0] for e in t), t, strict=True))
    first, second = one.pop(axis, None), other.pop(axis, None)
    if (
        first is None
        or second is None
        or one != other
        or first[2] != second[1]
        or first[3] != 1
        or second[3] != 1
    ):
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
    yield g.near_miss(
        concat(terms(both[0], slice_(x, ((1, 4, 6, 1), (2, 0, 2, 1)))), 1), why="another cut differs"
    )
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
    together = (
        *a_slice,
        eq(t).to(run(rest, a, x)),
        eq(zs).to(after_run(rest, a, x, t)),
        let(r, joined, s, t, a),
    )
    yield closure(
        *together,
        then=(set_(linked(xs, a)).to(1), set_(run(xs, a, x)).to(r), set_(after_run(xs, a, x, r)).to(zs)),
    )
    # From the end to the front, so that all links of a list are known before it is visited.
    yield closure(listed(nil(), a), then=known(nil(), a))
    yield closure(*at_first, known(rest, a), then=(known(xs, a), set_(linked(xs, a)).to(0)))
    yield closure(eq(z).to(concat(xs, a)), known(xs, a), then=visited(xs, a))
    alone = (visited(xs, a), eq(xs).to(cons(y, rest)), eq(linked(xs, a)).to(0))
    yield closure(*alone, then=visited(rest, a))
    many = (
        visited(xs, a),
        eq(linked(xs, a)).to(1),
        eq(r).to(run(xs, a, x)),
        eq(zs).to(after_run(xs, a, x, r)),
    )
    yield closure(*many, then=visited(zs, a))
    yield closure(visited(nil(), a), then=set_(tied(nil(), a)).to(nil()))
    yield closure(*alone, eq(ys).to(tied(rest, a)), then=set_(tied(xs, a)).to(cons(y, ys)))
    yield closure(*many, eq(ys).to(tied(zs, a)), then=set_(tied(xs, a)).to(cons(slice_(x, r), ys)))
    whole = (eq(z).to(concat(xs, a)), eq(ys).to(tied(xs, a)), ne(ys).to(xs))
    yield rule(*whole, eq(ys).to(cons(y, nil())), then=Equal(z, y))
    yield rule(*whole, eq(ys).to(cons(y, zs)), ne(zs).to(nil()), then=Equal(z, concat(ys, a)))


# --- functions of all operands --------------------------------------------------------------------------


@egglog.function(egg_fn="concat_mapped", merge=lambda old, new: old)
def mapped(xs: Tensors, axis: PyObject, op: String, settings: PyObject, source: PyObject) -> Tensors:
    """The arguments of a list whose elements are all one function of tensors of one type."""


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
    wide = unary("IsNaN", (), g.input(("N", 2, 2), TensorProto.DOUBLE))
    yield g.near_miss(concat(terms(unary("IsNaN", (), x), wide), 1), why="arguments of two types")


@law("concat", numerics="bitwise", examples=_mapped_examples)
def of_functions(
    x: Tensor, y: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, a: PyObject, op: String, s: PyObject,
    to: PyObject, d: PyObject,
) -> Iterator[Any]:  # fmt: skip
    """Concat(f(x), f(y), ..) = f(Concat(x, y, ..))

    Source: TASO.
    """
    yield from listing()
    typed = let(d, dtype_of, fact(x))
    for first, of_all, of_rest in (
        (unary(op, s, x), mapped(xs, a, op, s, d), mapped(rest, a, op, s, d)),
        (cast(x, to), casts(xs, a, to, d), casts(rest, a, to, d)),
    ):
        yield closure(
            listed(xs, a), eq(xs).to(cons(first, nil())), *typed, then=set_(of_all).to(cons(x, nil()))
        )
        more = (listed(xs, a), eq(xs).to(cons(first, rest)), *typed, eq(ys).to(of_rest))
        yield closure(*more, then=set_(of_all).to(cons(x, ys)))
    found = (eq(y).to(concat(xs, a)), holds(worth_a_walk, facts(xs)))
    yield rule(*found, eq(ys).to(mapped(xs, a, op, s, d)), then=Equal(y, unary(op, s, concat(ys, a))))
    yield rule(*found, eq(ys).to(casts(xs, a, to, d)), then=Equal(y, cast(concat(ys, a), to)))
