"""Neighbours in one tensor, some of which are scaled or shifted by constants, that are joined again.

Concat(x[a:b] * C, x[b:c], ..) -> Concat(x[a:b], x[b:c], ..) * Concat(C, 1, ..)       likewise + and 0

A part may be the result of several such steps, of which every other part has some, or none: each step becomes
one of the whole, until the parts are what `concat_alike.join_slices` joins.  Boxes are decoded like this, and
Neg and Sub are such steps (`arithmetic.constants`).  Where all parts have a constant `joined_constants` does
it, whatever they are.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, assign, auxiliary, eq, guard, hosted, law, rewrite, rule, table
from egraph_opt.laws.algebra import number_like
from egraph_opt.laws.sorts import Axis, Int, Number, Slices, String, Tensor, Tensors, Unit
from egraph_opt.operators import binary, concat, slice_
from egraph_opt.operators.terms import cons, nil
from egraph_opt.operators.terms import listed as terms
from egraph_opt.rewrites.conditions.chains import affine, between
from egraph_opt.rewrites.conditions.combining import NEUTRAL
from egraph_opt.rewrites.slicing.concat import listing, operands_of, worth_a_walk
from egraph_opt.rewrites.slicing.concat_alike import joined_slices
from egraph_opt.rewrites.slicing.joined_constants import (
    axis_of_constants,
    dims_of_constants,
    is_constant_within,
    spread,
    spreading,
    to_spread,
)

# --- parts ------------------------------------------------------------------------------------------------


@table()
def part_of(y: Tensor, x: Tensor, spec: Slices) -> Unit:
    """y is that part of x, or what scales and shifts made of it."""


@hosted()
def is_range(spec: Slices, x: Fact) -> bool:
    """A range of one axis, from a number to a number."""
    return not x.const and len(spec) == 1 and spec[0][3] == 1 and 0 <= spec[0][1] < (spec[0][2] or 0)


@auxiliary(affine)
def parts_of(x: Tensor, y: Tensor, z: Tensor, c: Tensor, op: String, s: Slices):
    """Fills `part_of`."""
    yield rule(eq(y, slice_(x, s)), is_range(s, x), then=part_of(y, x, s))
    step = (eq(c, between(op, z, y)), is_constant_within(c, y))
    yield rule(part_of(y, x, s), *step, then=part_of(z, x, s))


# --- steps ------------------------------------------------------------------------------------------------


@table(merge="max")
def has_step(y: Tensor, op: String) -> Int:
    """1 where a part is something op a constant, 0 where it is not, as far as is known."""


@table()
def before_step(y: Tensor, op: String, x: Tensor, spec: Slices) -> Tensor:
    """What a part is without the constant."""


@auxiliary(parts_of, listing)
def steps(x: Tensor, y: Tensor, z: Tensor, c: Tensor, rest: Tensors, op: String, s: Slices, a: Axis):
    """Fills `has_step` of what is joined, and `before_step`."""
    joined = (operands_of(cons(z, rest), a), part_of(z, x, s))
    yield rule(*joined, then=[assign(has_step(z, name), 0) for name in NEUTRAL])
    found = (*joined, eq(c, between(op, z, y)), part_of(y, x, s))
    yield rule(*found, then=(assign(has_step(z, op), 1), assign(before_step(z, op, x, s), y)))


# --- lists ------------------------------------------------------------------------------------------------


@table(merge="last")
def undone(xs: Tensors, axis: Axis, op: String, x: Tensor, spec: Slices) -> Tensors:
    """A list of neighbours in x without the constants of one step; `spec` is what they are together."""


@table()
def neighbours(xs: Tensors, axis: Axis, op: String, x: Tensor, spec: Slices, ys: Tensors) -> Tensors:
    """These constants, neutral where there was none."""


@hosted()
def neutral(op: str) -> Number | None:
    return NEUTRAL.get(op)


@hosted()
def is_along(spec: Slices, axis: Axis) -> bool:
    """The axis that a slice cuts."""
    return [entry[0] for entry in spec] == [axis]


@auxiliary(steps, spreading)
def undoing(x: Tensor, y: Tensor, z: Tensor, c: Tensor, xs: Tensors, ys: Tensors, cs: Tensors, rest: Tensors,
            op: String, s: Slices, t: Slices, a: Axis):  # fmt: skip
    """Fills `undone` and `neighbours` from the end of a list to its front, and `to_spread`."""
    first = (operands_of(xs, a), eq(xs, cons(z, rest)), part_of(z, x, s), is_along(s, a))
    step = (eq(has_step(z, op), 1), eq(y, before_step(z, op, x, s)), eq(c, between(op, z, y)))
    for known, bare, number in (((eq(has_step(z, op), 0),), z, number_like(z, neutral(op))), (step, y, c)):
        one, numbers = cons(bare, nil()), cons(number, nil())
        last = (assign(undone(xs, a, op, x, s), one), assign(neighbours(xs, a, op, x, s, one), numbers))
        yield rule(*first, *known, eq(rest, nil()), then=last)
        tail = (eq(ys, undone(rest, a, op, x, t)), eq(cs, neighbours(rest, a, op, x, t, ys)))
        both, more = joined_slices(s, t, a), cons(bare, ys)
        whole = (
            assign(undone(xs, a, op, x, both), more),
            assign(neighbours(xs, a, op, x, both, more), cons(number, cs)),
        )
        yield rule(*first, *known, *tail, then=whole)
    found = (eq(ys, undone(xs, a, op, x, s)), eq(cs, neighbours(xs, a, op, x, s, ys)))
    asked = to_spread(cs, ys, a, dims_of_constants(a, ys, cs))
    yield rule(concat(xs, a), worth_a_walk(xs), *found, are_of_some(op, cs), then=asked)


@hosted()
def are_of_some(op: str, cs: tuple[Fact, ...]) -> bool:
    """Some parts have a constant, and others have none."""
    return 0 < sum(c.splat == NEUTRAL.get(op) for c in cs) < len(cs)


def _parts(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 6, 3)), g.input(("N", 2, 3))

    def part(start: int, end: int) -> Tensor:
        return slice_(x, ((1, start, end, 1),))  # type: ignore[no-any-return]

    two, row, column = g.constant(2.0), g.random(3), g.random(2, 1)
    yield g.fires(concat(terms(part(0, 2) * two, part(2, 6)), 1))
    yield g.fires(concat(terms(part(1, 2), part(2, 4) + column, part(4, 5)), 1))
    yield g.fires(concat(terms(part(0, 2) * column, part(2, 4) * row, part(4, 6)), 1))
    yield g.fires(concat(terms(part(0, 2) * two + row, part(2, 4) * column, part(4, 6)), 1))
    yield g.fires(concat(terms(part(0, 3) + g.random(1), part(3, 6) * g.constant(-1.0)), 1))
    yield from g.near_misses(
        (concat(terms(part(3, 6) * two, part(0, 3)), 1), "another order"),
        (concat(terms(part(0, 2) * two, part(3, 5)), 1), "one is left out"),
        (concat(terms(part(0, 2) * two, y), 1), "of two tensors"),
        (concat(terms(part(0, 3) * two, part(3, 6)), 2), "along another axis"),
        (concat(terms(part(0, 2) * y, part(2, 4)), 1), "one is no constant"),
        (concat(terms(binary("Max", part(0, 2), two), part(2, 4)), 1), "no step"),
    )


@law(
    "joining",
    numerics="finite",
    kind="merge",
    serves="launches",
    source="torchvision, Inception; box decoders of YOLO and NanoDet",
    examples=_parts,
    uses=(undoing,),
    resumes=True,
)
def of_some_constants(x: Tensor, xs: Tensors, ys: Tensors, cs: Tensors, ds: Tensors, a: Axis, op: String,
                      s: Slices):  # fmt: skip
    """Concat(x[a:b] * C, x[b:c], ..) = Concat(x[a:b], x[b:c], ..) * Concat(C, 1, ..), likewise + and 0"""
    newest = guard(worth_a_walk(xs), are_of_some(op, cs), eq(ys, undone(xs, a, op, x, s)))
    dims = dims_of_constants(a, ys, cs)
    found = (*newest, eq(cs, neighbours(xs, a, op, x, s, ys)), eq(ds, spread(cs, ys, a, dims)))
    made = binary(op, concat(ys, a), concat(ds, axis_of_constants(a, ys, dims)))
    yield rewrite(concat(xs, a), made, *found, because="the parts follow from Slices of both")
