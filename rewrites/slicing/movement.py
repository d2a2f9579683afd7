"""Slices move up, towards the Concat or Slice that they take apart, and only where there is one.

Slice(f(x)) -> f(Slice(x))
Slice(x op y) -> Slice(x) op Slice(y)
Slice(Where(c, x, y)) -> Where(Slice(c), Slice(x), Slice(y))
Slice(Pad(x)) -> Pad(Slice(x))                    where less is padded
"""

from collections.abc import Iterator
from itertools import product

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, auxiliary, eq, guard, hosted, laws_of, rewrite, rule, table
from egraph_opt.laws.algebra import is_same
from egraph_opt.laws.sorts import (
    Axis,
    Int,
    Mode,
    Number,
    Pads,
    Settings,
    Slices,
    String,
    Tensor,
    Tensors,
    Unit,
)
from egraph_opt.operators import binary, cast, concat, pad, slice_, unary, where
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.conditions.operands import (
    beside,
    either_side,
    function_of,
    functions,
    number,
    numbers,
)
from egraph_opt.rewrites.slicing.slice import Entry

law = laws_of(
    "slice",
    numerics="bitwise",
    kind="move",
    serves="arithmetic",
    source="Ascend auto-optimizer, SplitQKVMatmul",
)


@table()
def asked(x: Tensor, axis: Axis) -> Unit:
    """A slice of x along an axis meets one above: x is a Slice or a Concat, or made of such by elements."""


@hosted()
def axis_number(k: int, y: Fact) -> Axis | None:
    """The k-th axis of y, where there is one: slices of slices compose along any two axes."""
    return k if y.rank is not None and k < y.rank else None


@hosted()
def first_axis(spec: Slices) -> Axis | None:
    """An axis that is cut."""
    return spec[0][0] if spec else None


@hosted()
def single_axis(spec: Slices) -> Axis | None:
    return spec[0][0] if len(spec) == 1 else None


@hosted()
def axis_in_result(axis: Axis, x: Fact, y: Fact) -> Axis | None:
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


@hosted()
def stays(spec: Slices, x: Fact, y: Fact) -> bool:
    """The slice of the result y takes nothing away from the operand x, or x is constant."""
    of_operand = operand_spec(spec, x, y)
    return of_operand is not None and (x.const or not of_operand)


@hosted()
def stays_along(axis: Axis, x: Fact, y: Fact) -> bool:
    return bool(stays(((axis, 0, 0, 1),), x, y))


@auxiliary(either_side, functions, numbers)
def asking_rules(
    x: Tensor, y: Tensor, z: Tensor, xs: Tensors, op: String, f: Settings, s: Slices, a: Axis, c: Axis,
    k: Int,
):  # fmt: skip
    """Fills `asked`."""
    yield rule(eq(y, concat(xs, a)), then=asked(y, a))
    yield rule(number(k), eq(y, slice_(x, s)), then=asked(y, axis_number(k, y)))
    yield rule(eq(y, function_of(op, f, x)), asked(x, a), then=asked(y, a))
    b = axis_in_result(a, x, y)
    yield rule(eq(y, beside(op, x, z, k)), asked(x, a), stays_along(b, z, y), then=asked(y, b))
    both = (asked(x, a), asked(z, c), is_same(b, axis_in_result(c, z, y)))
    yield rule(eq(y, binary(op, x, z)), *both, then=asked(y, b))


def _functions(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 4)), g.input(("N", 3))
    both, front = concat(listed(x, y), 1), ((1, 0, 4, 1),)
    deep = unary("Tanh", (), unary("LeakyRelu", (("alpha", 0.1),), both))
    part = unary("Relu", (), slice_(x, ((1, 1, 4, 1),)))
    for made in (unary("Relu", (), both), deep, cast(both, TensorProto.DOUBLE)):
        yield g.fires(slice_(made, front))
    yield g.fires(slice_(part, ((1, 1, 3, 1),)))
    turned = ((0, -1, None, -1), (1, -1, None, -1))
    yield g.fires(slice_(unary("Relu", (), slice_(g.input((3, 4)), turned)), turned))
    yield g.near_miss(slice_(unary("Relu", (), x), ((1, 0, 2, 1),)), why="there is nothing to take apart")
    rows = unary("Relu", (), concat(listed(x, x), 0))
    yield g.near_miss(slice_(rows, front), why="joined along another axis")


@law(uses=(asking_rules, functions), examples=_functions)
def through_unary(x: Tensor, op: String, t: Settings, s: Slices):
    """Slice(f(x)) = f(Slice(x)) where x is a Slice or a Concat, or made of such"""
    inside, demand = function_of(op, t, slice_(x, s)), guard(asked(x, first_axis(s)))
    yield rewrite(slice_(function_of(op, t, x), s), inside, demand, because="only with demand")


def _operators(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, short = g.input(("N", 4, 5)), g.input(("N", 3, 5)), concat(listed(g.input((2,)), g.input((3,))), 0)
    both, front, row = concat(listed(x, y), 1), ((1, 0, 4, 1),), ((0, 0, 2, 1),)
    for c in (g.constant(2.0), g.random(5), g.random(7, 1), g.random(1, 7, 5), g.input(("N", 1, 5))):
        yield g.fires(slice_(binary("Mul", both, c), front))
        yield g.fires(slice_(binary("Sub", c, both), front))
    yield g.fires(slice_(binary("Add", both, concat(listed(y, x), 1)), front))
    parts = [slice_(x, ((1, k, k + 3, 1),)) for k in (0, 1)]
    yield g.fires(slice_(binary("Add", *parts), ((1, 1, 3, 1),)))
    yield g.fires(slice_(binary("Add", g.random(4, 5), short), ((1, 0, 2, 1),)))
    one = concat(listed(g.input((1,)), g.input((0,))), 0)
    for why, left, right, spec in (
        ("the other one would be cut", both, g.input(("N", 7, 5)), front),
        ("x would be cut for nothing", x, short, ((2, 0, 2, 1),)),
        ("what is joined is broadcast", one, g.random(5), row),
    ):
        yield g.near_miss(slice_(binary("Add", left, right), spec), why=why)


@law(uses=(asking_rules, either_side), examples=_operators)
def through_binary(x: Tensor, z: Tensor, op: String, s: Slices, k: Int):
    """Slice(x op y) = Slice(x) op Slice(y) where both, or one beside a constant, are a Slice or a Concat"""
    y = beside(op, x, z, k)
    p, q = operand_spec(s, x, y), operand_spec(s, z, y)
    parts = beside(op, slice_(x, p), slice_(z, q), k)
    for second in (stays(s, z, y), asked(z, first_axis(q))):
        demand = guard(asked(x, first_axis(p)), second)
        yield rewrite(slice_(y, s), parts, *demand, because="only with demand")


def _choices(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, dims = g.input(("N", 4, 5)), g.input(("N", 3, 5)), ("N", 7, 5)
    both, front = concat(listed(x, y), 1), ((1, 0, 4, 1),)
    question, other = g.input(dims, TensorProto.BOOL), slice_(g.input(("N", 9, 5)), ((1, 0, 7, 1),))
    row = g.input((5,), TensorProto.BOOL)
    yield from g.all_fire(
        slice_(where(row, both, g.constant(2.0)), front),
        slice_(where(binary("Less", both, g.constant(2.0)), both, g.random(7, 1)), front),
        slice_(where(row, other, both), ((1, 1, 4, 1),)),
        slice_(
            where(
                unary("Not", (), slice_(question, ((1, 1, 6, 1),))),
                slice_(other, ((1, 1, 6, 1),)),
                g.constant(0.0),
            ),
            ((1, 1, 3, 1),),
        ),
    )
    yield from g.near_misses(
        (slice_(where(question, both, other), front), "the question would be cut"),
        (slice_(where(row, g.input(dims), g.constant(0.0)), front), "there is nothing to take apart"),
    )


# Whether -0.0 stays -0.0 depends, in onnxruntime, on how the operands of a Where are broadcast.
@law(numerics="finite", uses=(asking_rules,), examples=_choices)
def through_where(c: Tensor, x: Tensor, z: Tensor, s: Slices):
    """Slice(Where(c, x, y)) = Where(Slice(c), Slice(x), Slice(y)) of Slices, Concats and constants"""
    y = where(c, x, z)
    cuts = [operand_spec(s, v, y) for v in (c, x, z)]
    parts = where(*(slice_(v, cut) for v, cut in zip((c, x, z), cuts, strict=True)))
    for ready in product((True, False), repeat=3):
        operands = zip((c, x, z), cuts, ready, strict=True)
        demand = [asked(v, first_axis(cut)) if cuts_it else stays(s, v, y) for v, cut, cuts_it in operands]
        if any(ready):
            yield rewrite(slice_(y, s), parts, guard(*demand), because="only with demand")


# --- what was padded ----------------------------------------------------------------------------------------


def _cut_padded(spec: Slices, pads: Pads, x: Fact) -> tuple[Slices, Pads] | None:
    """What is taken of x, and what is padded of that; None where an axis keeps nothing of x."""
    rank, left, entries = len(pads) // 2, list(pads), []
    for axis, start, end, step in spec:
        dim = None if x.shape is None else x.shape[axis]
        first, behind = pads[axis], pads[axis + rank]
        if step != 1:
            return None
        if not isinstance(dim, int):
            if not 0 <= start <= first or not (end is None or -behind <= end < 0):
                return None
            left[axis], left[axis + rank] = first - start, behind + (end or 0)
            continue  # of x, however long it is, all is left
        taken = range(first + dim + behind)[start:end]
        low, high = max(taken.start - first, 0), min(taken.stop - first, dim)
        if low >= high or min(first, behind) < 0:
            return None
        entries.append((axis, low, high, 1))
        left[axis] = max(first - taken.start, 0)
        left[axis + rank] = max(taken.stop - first - dim, 0)
    return tuple(entries), tuple(left)


@hosted()
def cut_of_padded(spec: Slices, pads: Pads, x: Fact) -> Slices | None:
    found = _cut_padded(spec, pads, x)
    return None if found is None else found[0]


@hosted()
def pads_of_cut(spec: Slices, pads: Pads, x: Fact) -> Pads | None:
    found = _cut_padded(spec, pads, x)
    return None if found is None else found[1]


@hosted()
def looks_at_edges(mode: Mode) -> bool:
    """What is padded does not depend on what lies behind the edges."""
    return mode in ("constant", "edge")


@hosted()
def is_less(pads: Pads, others: Pads) -> bool:
    return sum(pads) < sum(others)


def _padded(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 4, 5))

    def padded(first: int, behind: int, mode: str = "constant") -> Tensor:
        return pad(x, mode, (0, first, 1, 0, behind, 0), 2.0)  # type: ignore[no-any-return]

    yield g.fires(slice_(padded(2, 3, "edge"), ((1, 1, 8, 1),)))
    for entry in ((1, 2, 6, 1), (1, 1, 4, 1), (1, 3, 100, 1), (1, -7, -1, 1), (2, 1, None, 1)):
        yield g.fires(slice_(padded(2, 3), (entry,)))
    yield g.fires(slice_(padded(2, 3), ((1, 1, 8, 1), (2, 0, 4, 1))))
    long = pad(g.input(("N", "L", 5)), "constant", (0, 2, 0, 0, 3, 0), 2.0)
    for entry in ((1, 1, -3, 1), (1, 2, None, 1), (1, 0, -2, 1)):
        yield g.fires(slice_(long, (entry,)))
    yield from g.near_misses(
        (slice_(padded(2, 3, "reflect"), ((1, 1, 3, 1),)), "what is reflected is cut off"),
        (slice_(padded(2, 3), ((1, 0, 2, 1),)), "nothing of x is taken"),
        (slice_(padded(2, 3), ((1, 1, 9, 2),)), "every other row"),
        (slice_(long, ((1, 3, -1, 1),)), "one row of nobody knows how many is cut off"),
        (slice_(long, ((1, 1, -4, 1),)), "the last row is cut off"),
        (slice_(long, ((1, 1, 4, 1),)), "it ends nobody knows where"),
        (slice_(long, ((1, 0, 0, 1),)), "nothing is taken"),
        (slice_(padded(2, 3), ((2, 0, 4, 1),)), "as much is padded"),
    )


@law(examples=_padded)
def of_padded(x: Tensor, m: Mode, p: Pads, v: Number, s: Slices):
    """Slice(Pad(x)) = Pad(Slice(x)) where less is padded"""
    pads = pads_of_cut(s, p, x)
    known = (looks_at_edges(m), guard(is_less(pads, p)))
    less = pad(slice_(x, cut_of_padded(s, p, x)), m, pads, v)
    yield rewrite(slice_(pad(x, m, p, v), s), less, *known, because="any slice is one of something padded")
