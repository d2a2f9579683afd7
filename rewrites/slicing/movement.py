"""Slices move up, towards the Concat or Slice that they take apart; one way only, and only where one is.

Slice(Concat(xs)) = Concat(Slice(x) of those it touches)      and of one: Slice(Concat(xs)) = Slice(x)
Slice(f(x)) = f(Slice(x))
Slice(x op y) = Slice(x) op Slice(y)
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt import compat as egglog
from egraph_opt.compat import Equal, PyObject, String, closure, eq, holds, let, ne, rewrite, rule, set_
from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import binary, cast, concat, slice_, unary
from egraph_opt.operators.host import hosted
from egraph_opt.operators.sorts import Slices
from egraph_opt.operators.terms import Tensor, Tensors, cons, fact, facts, listed, nil
from egraph_opt.rewrites.slicing.slice import Entry, beside, dim_at, entry_of

Bounds = tuple[int, int | None, int]
"""Start (0 or more), end (0 or more; None: all that follows) and step (1 or more)."""

WHOLE: Bounds = (0, None, 1)
NOTHING: Bounds = (0, 0, 1)


# --- slices of concatenations ---------------------------------------------------------------------------


# What the host computes becomes a key of a join only by way of a table: egglog computes last.
@egglog.function(egg_fn="slice_first", merge=lambda old, new: old)
def first(xs: Tensors, axis: PyObject, spec: PyObject) -> PyObject:
    """The number of the first operand of a concatenation that a slice touches."""


@egglog.function(egg_fn="slice_bounds", merge=lambda old, new: old)
def from_first(xs: Tensors, axis: PyObject, spec: PyObject) -> PyObject:
    """The bounds of a slice of a concatenation, counted from that operand on."""


@egglog.function(egg_fn="slice_tail", merge=lambda old, new: old)
def tail(xs: Tensors, count: PyObject) -> Tensors:
    """A list without its first elements; filled for lists whose concatenation somebody slices."""


@egglog.function(egg_fn="slice_wanted")
def wanted(xs: Tensors, axis: PyObject, bounds: PyObject) -> egglog.Unit:
    """Somebody slices the concatenation of this list, or of one that ends with it."""


@egglog.function(egg_fn="slice_behind", merge=lambda old, new: old)
def behind(xs: Tensors, axis: PyObject, bounds: PyObject) -> PyObject:
    """The bounds of what is wanted of a list behind its first element."""


@egglog.function(egg_fn="slice_cut", merge=lambda old, new: old)
def cut(xs: Tensors, axis: PyObject, bounds: PyObject) -> Tensors:
    """The parts that the slice of a concatenation is the concatenation of."""


def bounds_along(spec: Slices, axis: int) -> Bounds | None:
    """What a slice takes of the axis of a concatenation, if it counts from the front, upwards."""
    for entry in spec:
        if entry[0] == axis and entry[1] >= 0 and (entry[2] is None or entry[2] > entry[1]) and entry[3] > 0:
            return entry[1:]
    return None


def cut_here(bounds: Bounds, axis: int, x: Fact) -> tuple[range, int, Bounds] | None:
    """What is taken of the first operand x, its dim, and the bounds of the rest of the list."""
    start, end, step = bounds
    dim = dim_at(x, axis)
    if not isinstance(dim, int):
        return None
    last = dim if end is None else min(end, dim)
    here = range(start, max(last, start), step)
    following = start + len(here) * step - dim
    if end is not None and following >= end - dim:
        return here, dim, NOTHING
    if step > 1 and here:
        return None
    return here, dim, (following, None if end is None else end - dim, step)


@hosted()
def first_touched(spec: Slices, axis: int, xs: tuple[Fact, ...]) -> int | None:
    """Which operand of a concatenation is the first that a slice takes something of."""
    bounds = bounds_along(spec, axis)
    for k, x in enumerate(xs):
        found = None if bounds is None else cut_here(bounds, axis, x)
        if found is None or found[0]:
            return None if found is None else k
        bounds = found[2]
    return None


@hosted()
def bounds_from(spec: Slices, axis: int, xs: tuple[Fact, ...], first: int) -> Bounds | None:
    """The bounds of a slice of a concatenation, counted from where its `first` operand begins."""
    bounds = bounds_along(spec, axis)
    skipped = sum(dim_at(x, axis) for x in xs[:first])  # type: ignore[misc]
    return None if bounds is None else (bounds[0] - skipped, bounds[1] and bounds[1] - skipped, bounds[2])


@hosted()
def next_count(count: int) -> int:
    return count + 1


@hosted()
def part_here(bounds: Bounds, axis: int, x: Fact) -> Slices | None:
    """The slice of the first operand, where that is neither nothing nor all of it."""
    found = cut_here(bounds, axis, x)
    if found is None or not found[0] or found[0] == range(found[1]):
        return None
    return (entry_of(axis, found[0]),)


@hosted(default=False)
def takes_all(bounds: Bounds, axis: int, x: Fact) -> bool:
    found = cut_here(bounds, axis, x)
    return found is not None and len(found[0]) > 0 and found[0] == range(found[1])


@hosted(default=False)
def takes_none(bounds: Bounds, axis: int, x: Fact) -> bool:
    found = cut_here(bounds, axis, x)
    return found is not None and not found[0]


@hosted()
def bounds_after(bounds: Bounds, axis: int, x: Fact) -> Bounds | None:
    found = cut_here(bounds, axis, x)
    return None if found is None or bounds in (WHOLE, NOTHING) else found[2]


def _concat_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z = g.input(("N", 3, 2)), g.input(("N", 4, 2)), g.input(("N", 5, 2))
    joined = concat(listed(x, y, z), 1)
    for spec in (
        (1, 0, 3, 1),
        (1, 3, 7, 1),
        (1, 4, 6, 1),
        (1, 2, 9, 1),
        (1, 0, 7, 1),
        (1, 7, 12, 2),
        (1, 3, 12, 9),
    ):
        yield g.fires(slice_(joined, (spec,)))
    yield g.fires(slice_(joined, ((1, 3, 6, 1), (2, 1, 2, 1))))
    yield g.fires(slice_(joined, ((1, 1, 6, 1), (2, 1, 2, 1))))
    yield g.fires(slice_(concat(listed(x, x), 1), ((1, 2, 5, 1),)))
    long = g.input(("N", "L", 2))
    yield g.fires(slice_(concat(listed(x, long), 1), ((1, 1, 3, 1),)))
    yield g.fires(slice_(concat(listed(x, long, y), 1), ((1, 2, None, 1),)))
    yield g.near_miss(
        slice_(concat(listed(long, x), 1), ((1, 1, 3, 1),)), why="how long the first one is is not known"
    )
    yield g.near_miss(slice_(joined, ((2, 0, 1, 1),)), why="another axis is sliced")
    yield g.near_miss(slice_(joined, ((1, 11, None, -1),)), why="downwards")
    yield g.near_miss(slice_(joined, ((1, 0, 12, 2),)), why="with steps over several parts it is no cheaper")


@law("slice", numerics="bitwise", examples=_concat_examples)
def of_concat(
    x: Tensor, y: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, a: PyObject, s: PyObject, b: PyObject,
    k: PyObject, n: PyObject, p: PyObject, o: PyObject, zs: Tensors,
) -> Iterator[Any]:  # fmt: skip
    """Slice(Concat(xs)) = Concat(Slice(x) of the x that it touches)

    Source: TASO.
    """
    sliced = eq(y).to(slice_(concat(zs, a), s))
    start = (set_(first(zs, a, s)).to(k), set_(tail(zs, PyObject(0))).to(zs))
    yield closure(sliced, let(k, first_touched, s, a, facts(zs)), then=start)
    later = (eq(cons(x, rest)).to(tail(zs, k)), let(n, next_count, k))
    yield closure(*later, then=set_(tail(zs, n)).to(rest))
    touched = (sliced, eq(k).to(first(zs, a, s)), eq(xs).to(tail(zs, k)))
    ask = (set_(from_first(zs, a, s)).to(b), wanted(xs, a, b))
    yield closure(*touched, let(b, bounds_from, s, a, facts(zs), k), then=ask)
    walk = (wanted(xs, a, b), eq(xs).to(cons(x, rest)), let(n, bounds_after, b, a, fact(x)))
    yield closure(*walk, then=(set_(behind(xs, a, b)).to(n), wanted(rest, a, n)))
    yield closure(wanted(xs, a, PyObject(WHOLE)), then=set_(cut(xs, a, PyObject(WHOLE))).to(xs))
    yield closure(wanted(xs, a, PyObject(NOTHING)), then=set_(cut(xs, a, PyObject(NOTHING))).to(nil()))
    after = (eq(xs).to(cons(x, rest)), eq(n).to(behind(xs, a, b)), eq(ys).to(cut(rest, a, n)))
    yield closure(
        *after, let(p, part_here, b, a, fact(x)), then=set_(cut(xs, a, b)).to(cons(slice_(x, p), ys))
    )
    yield closure(*after, holds(takes_all, b, a, fact(x)), then=set_(cut(xs, a, b)).to(cons(x, ys)))
    yield closure(*after, holds(takes_none, b, a, fact(x)), then=set_(cut(xs, a, b)).to(ys))
    found = (*touched, eq(b).to(from_first(zs, a, s)), eq(ys).to(cut(xs, a, b)), let(o, beside, s, a))
    one, several = eq(ys).to(cons(x, nil())), (eq(ys).to(cons(x, rest)), ne(rest).to(nil()))
    yield rule(*found, one, eq(o).to(PyObject(())), then=Equal(y, x))
    yield rule(*found, one, ne(o).to(PyObject(())), then=Equal(y, slice_(x, o)))
    yield rule(*found, *several, eq(o).to(PyObject(())), then=Equal(y, concat(ys, a)))
    yield rule(*found, *several, ne(o).to(PyObject(())), then=Equal(y, slice_(concat(ys, a), o)))


# --- slices of element-wise operators -------------------------------------------------------------------


@egglog.function(egg_fn="slice_asked")
def asked(x: Tensor, axis: PyObject) -> egglog.Unit:
    """A slice of x along an axis meets a Slice or a Concat above."""


@hosted()
def axis_number(k: int, y: Fact) -> int | None:
    """The k-th axis of y, where there is one: slices of slices compose along any two axes."""
    return k if y.rank is not None and k < y.rank else None


@hosted()
def single_axis(spec: Slices) -> int | None:
    return spec[0][0] if len(spec) == 1 else None


@hosted()
def axis_in_result(axis: int, x: Fact, y: Fact) -> int | None:
    """Where an axis of an operand that is as long as the result's stands in the result y of broadcasting."""
    if x.shape is None or y.shape is None:
        return None
    place = axis + len(y.shape) - len(x.shape)
    return place if symbolic.known_equal(x.shape[axis], y.shape[place]) else None


@hosted()
def operand_spec(spec: Slices, x: Fact, y: Fact) -> Slices | None:
    """The slice of an operand x that gives the slice of the result y of broadcasting."""
    if x.shape is None or y.shape is None:
        return None
    entries: list[Entry] = []
    for axis, *bounds in spec:
        place = axis - (len(y.shape) - len(x.shape))
        if place < 0 or (x.shape[place] == 1 and y.shape[axis] != 1):
            continue
        if not symbolic.known_equal(x.shape[place], y.shape[axis]):
            return None
        entries.append((place, *bounds))  # type: ignore[arg-type]
    return tuple(entries)


@hosted(default=False)
def stays(spec: Slices, x: Fact, y: Fact) -> bool:
    """The slice of the result y takes nothing away from the operand x, or x is constant."""
    of_operand = operand_spec(spec, x, y)
    return of_operand is not None and (x.const or not of_operand)


@hosted(default=False)
def stays_along(axis: int, x: Fact, y: Fact) -> bool:
    return stays(((axis, 0, 0, 1),), x, y)


def asking_rules() -> Iterator[Any]:
    """Which values are, along which axis, a Slice or a Concat, or made of such element by element."""
    x, y, z = (egglog.var(name, Tensor) for name in "xyz")
    xs = egglog.var("xs", Tensors)
    a, b, s = (egglog.var(name, PyObject) for name in "abs")
    op, to = egglog.var("op", String), egglog.var("to", PyObject)
    yield closure(eq(y).to(concat(xs, a)), then=asked(y, a))
    for k in range(5):
        yield closure(eq(y).to(slice_(x, s)), let(a, axis_number, k, fact(y)), then=asked(y, a))
    yield closure(eq(y).to(unary(op, s, x)), asked(x, a), then=asked(y, a))
    yield closure(eq(y).to(cast(x, to)), asked(x, a), then=asked(y, a))
    for result, other in ((binary(op, x, z), z), (binary(op, z, x), z)):
        place = let(b, axis_in_result, a, fact(x), fact(y))
        yield closure(
            eq(y).to(result),
            asked(x, a),
            place,
            holds(stays_along, b, fact(other), fact(y)),
            then=asked(y, b),
        )
    both = (asked(x, a), let(b, axis_in_result, a, fact(x), fact(y)))
    c = egglog.var("c", PyObject)
    yield closure(
        eq(y).to(binary(op, x, z)),
        *both,
        asked(z, c),
        let(b, axis_in_result, c, fact(z), fact(y)),
        then=asked(y, b),
    )


def _unary_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 4)), g.input(("N", 3))
    both = concat(listed(x, y), 1)
    front = ((1, 0, 4, 1),)
    yield g.fires(slice_(unary("Relu", (), both), front))
    yield g.fires(slice_(unary("Tanh", (), unary("LeakyRelu", (("alpha", 0.1),), both)), front))
    yield g.fires(slice_(unary("Relu", (), slice_(x, ((1, 1, 4, 1),))), ((1, 1, 3, 1),)))
    yield g.fires(slice_(cast(both, TensorProto.DOUBLE), front))
    yield g.near_miss(slice_(unary("Relu", (), x), ((1, 0, 2, 1),)), why="there is nothing to take apart")
    yield g.near_miss(
        slice_(unary("Relu", (), concat(listed(x, x), 0)), front), why="joined along another axis"
    )


@law("slice", numerics="bitwise", examples=_unary_examples)
def through_unary(
    x: Tensor, op: String, t: PyObject, s: PyObject, a: PyObject, to: PyObject
) -> Iterator[Any]:
    """Slice(f(x)) = f(Slice(x)) where x is a Slice or a Concat, or made of such

    Source: Ascend auto-optimizer, SplitQKVMatmul.
    """
    yield from asking_rules()
    yield rewrite(slice_(unary(op, t, x), s), unary(op, t, slice_(x, s)), let(a, single_axis, s), asked(x, a))
    yield rewrite(slice_(cast(x, to), s), cast(slice_(x, s), to), let(a, single_axis, s), asked(x, a))


def _binary_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 4, 5)), g.input(("N", 3, 5))
    both = concat(listed(x, y), 1)
    front = ((1, 0, 4, 1),)
    for c in (g.constant(2.0), g.random(5), g.random(7, 1), g.random(1, 7, 5)):
        yield g.fires(slice_(binary("Mul", both, c), front))
        yield g.fires(slice_(binary("Sub", c, both), front))
    yield g.fires(slice_(binary("Add", both, g.input(("N", 1, 5))), front))
    yield g.fires(slice_(binary("Add", both, concat(listed(y, x), 1)), front))
    yield g.fires(
        slice_(binary("Add", slice_(x, ((1, 0, 3, 1),)), slice_(x, ((1, 1, 4, 1),))), ((1, 1, 3, 1),))
    )
    yield g.near_miss(
        slice_(binary("Add", both, g.input(("N", 7, 5))), front), why="the other one would be cut"
    )
    short = concat(listed(g.input((2,)), g.input((3,))), 0)
    yield g.fires(slice_(binary("Add", g.random(4, 5), short), ((1, 0, 2, 1),)))
    yield g.near_miss(slice_(binary("Add", x, short), ((2, 0, 2, 1),)), why="x would be cut for nothing")
    one = concat(listed(g.input((1,)), g.input((0,))), 0)
    yield g.near_miss(
        slice_(binary("Add", one, g.random(5)), ((0, 0, 2, 1),)), why="what is joined is broadcast"
    )


@law("slice", numerics="bitwise", examples=_binary_examples)
def through_binary(
    x: Tensor, y: Tensor, z: Tensor, op: String, s: PyObject, b: PyObject, c: PyObject,
    p: PyObject, q: PyObject,
) -> Iterator[Any]:  # fmt: skip
    """Slice(x op y) = Slice(x) op Slice(y) where both, or one beside a constant, are a Slice or a Concat

    Source: Ascend auto-optimizer, SplitQKVMatmul.
    """
    yield from asking_rules()
    specs = (let(p, operand_spec, s, fact(x), fact(y)), let(q, operand_spec, s, fact(z), fact(y)))
    sliced = binary(op, slice_(x, p), slice_(z, q))
    result = eq(y).to(binary(op, x, z))
    along = (result, *specs, let(b, single_axis, p), asked(x, b))
    yield rewrite(slice_(y, s), sliced, *along, holds(stays, s, fact(z), fact(y)))
    yield rewrite(slice_(y, s), sliced, *along, let(c, single_axis, q), asked(z, c))
    along = (result, *specs, let(c, single_axis, q), asked(z, c))
    yield rewrite(slice_(y, s), sliced, *along, holds(stays, s, fact(x), fact(y)))
