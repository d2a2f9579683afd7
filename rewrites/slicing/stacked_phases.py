"""Phases that are stacked behind the axis they were taken from are neighbours in another order.

Concat_a(Unsqueeze_a(x[i::s]), Unsqueeze_a(x[j::s]), ..) -> Gather_a(Reshape(x), [i, j, ..])

The view tells neighbours apart.  Rotary embeddings of GPT-J exchange features like this.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, assign, auxiliary, eq, guard, hosted, law, rewrite, rule, table
from egraph_opt.laws.algebra import relu, varies
from egraph_opt.laws.sorts import Axis, Dims, Slices, Tensor, Tensors
from egraph_opt.operators import Literal, concat, gather, literal, reshape, slice_
from egraph_opt.operators.terms import cons, nil
from egraph_opt.operators.terms import listed as terms
from egraph_opt.rewrites.slicing.concat import listing, operands_of, worth_a_walk
from egraph_opt.rewrites.slicing.gather import indices_literal
from egraph_opt.rewrites.slicing.phases import Phases, first_phase, more_phases
from egraph_opt.rewrites.slicing.slice import dim_at, taken_by
from egraph_opt.rewrites.slicing.stacked_parts import inserts


@table(merge="first")
def stacked_phases(xs: Tensors, axis: Axis, x: Tensor) -> Phases:
    """Of what phases of x a list consists, each with an axis of 1 more behind the one that was cut."""


@hosted()
def is_phase(spec: Slices, x: Fact, along: Axis) -> bool:
    """Every s-th element of the axis in front of that one, from one of the first s on."""
    if len(spec) != 1 or spec[0][0] != along - 1:
        return False
    _, start, _, step = spec[0]
    size = dim_at(x, along - 1)
    if not isinstance(size, int) or not 0 <= start < step or step < 2 or size == 0 or size % step:
        return False
    return taken_by(spec[0], size) == range(start, size, step)


@auxiliary(listing)
def stacking_phases(
    x: Tensor, y: Tensor, xs: Tensors, rest: Tensors, s: Slices, more: Phases, a: Axis, d: Dims
):  # fmt: skip
    """Fills `stacked_phases`, from the end of a list to its front."""
    first = (operands_of(xs, a), eq(xs, cons(reshape(y, d), rest)), inserts(y, d, a))
    phase = (*first, eq(y, slice_(x, s)), is_phase(s, x, a))
    yield rule(*phase, eq(rest, nil()), then=assign(stacked_phases(xs, a, x), first_phase(s)))
    yield rule(
        *phase,
        eq(more, stacked_phases(rest, a, x)),
        then=assign(stacked_phases(xs, a, x), more_phases(s, more)),
    )


class Neighbours(NamedTuple):
    """The dims of a view that has neighbours on an axis of their own, and which of them are taken."""

    dims: Dims
    taken: Literal


@hosted()
def neighbours(x: Fact, specs: Phases, along: Axis) -> Neighbours | None:
    """None where the phases have several steps."""
    size, steps = dim_at(x, along - 1), {spec[0][3] for spec in specs}
    if x.shape is None or not x.is_symbolic or not isinstance(size, int) or len(steps) != 1:
        return None
    (step,) = steps
    dims = (*x.shape[: along - 1], size // step, step, *x.shape[along:])
    return Neighbours(dims, indices_literal((len(specs),), (spec[0][1] for spec in specs)))


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, row = g.input(("N", "L", 8)), g.input(("N", "L", 8)), g.input(("N", 6, 5))

    def stack(
        *starts: int, of: Tensor = x, step: int = 2, dims: Dims = ("N", "L", 4, 1), axis: int = 3
    ) -> Tensor:
        phases = (slice_(of, ((axis - 1, k, 2**31, step),)) for k in starts)
        return concat(terms(*(reshape(phase, dims) for phase in phases)), axis)  # type: ignore[no-any-return]

    yield from g.all_fire(
        stack(1, 0),
        stack(0, 1),
        stack(3, 0, 2, 1, step=4, dims=("N", "L", 2, 1)),
        stack(2, 0, step=4, dims=("N", "L", 2, 1)),
        stack(1, 0, of=row, dims=("N", 3, 1, 5), axis=2),
        stack(1, 1, of=row, step=3, dims=("N", 2, 1, 5), axis=2),
    )
    both = [reshape(slice_(v, ((2, k, 8, 2),)), ("N", "L", 4, 1)) for k, v in enumerate((x, y))]
    halves = [reshape(slice_(x, ((2, k, k + 4, 1),)), ("N", "L", 4, 1)) for k in (0, 4)]
    uneven = [reshape(slice_(g.input((5,)), ((0, k, 4, 2),)), (2, 1)) for k in (1, 0)]
    rows = [reshape(slice_(x, ((2, k, 8, 2),)), ("N", "L", 1, 4)) for k in (1, 0)]
    yield from g.near_misses(
        (concat(terms(*rows), 2), "stacked in front of the axis"),
        (concat(terms(*both), 3), "of two tensors"),
        (concat(terms(*halves), 3), "halves"),
        (concat(terms(*uneven), 1), "the last of them has no neighbour"),
        (concat(terms(*map(relu, both)), 3), "a function is between"),
    )


@law(
    "stacks",
    numerics="bitwise",
    kind="merge",
    serves="launches",
    source="GPT-J: rotate_every_two",
    examples=_examples,
    uses=(stacking_phases,),
)
def stack_of_phases(x: Tensor, xs: Tensors, a: Axis, s: Phases):
    """Concat_a(Unsqueeze_a(x[i::s]), Unsqueeze_a(x[j::s]), ..) = Gather_a(Reshape(x), [i, j, ..])"""
    found = (guard(worth_a_walk(xs), varies(x)), eq(s, stacked_phases(xs, a, x)))
    how = neighbours(x, s, a)
    made = gather(reshape(x, how[0]), literal(how[1]), a)
    yield rewrite(concat(xs, a), made, *found, because="forgets where phases were told apart")
