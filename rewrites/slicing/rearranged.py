"""Transposes and Slices of all that is joined.

Concat_a(Transpose_p(x), Transpose_p(y), ..) -> Transpose_p(Concat_p[a](x, y, ..))
Concat_a(Slice(x), Slice(y), ..) -> Slice(Concat_a(x, y, ..))                         of other axes than a
Transpose_p(Concat_a(x, Transpose_q(y), ..)) -> Concat(Transpose_p(x), y, ..)         where p undoes q

`rearranged(op, x, how)` is either, by name and attributes.  See `slicing.concat` on how lists are walked.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.laws import (
    Example,
    Operands,
    assign,
    auxiliary,
    eq,
    equal,
    guard,
    hosted,
    laws_of,
    rewrite,
    rule,
    shorthand,
    table,
)
from egraph_opt.laws.algebra import relu
from egraph_opt.laws.sorts import Axis, Int, Permutation, Slices, String, Tensor, Tensors, Unit
from egraph_opt.operators import concat, slice_, transpose
from egraph_opt.operators.terms import cons, listed, nil, node
from egraph_opt.rewrites.slicing.concat import listing, operands_of, worth_a_walk
from egraph_opt.rewrites.slicing.other_axes import fit_together
from egraph_opt.rewrites.transposes.composition import invert, restores
from egraph_opt.rewrites.transposes.movement import moved_axis

law = laws_of("joining", numerics="bitwise", kind="move", serves="launches", source="TASO; networks in NHWC")


# --- all of one kind ------------------------------------------------------------------------------------


@shorthand
def rearranged(op: String, x: Tensor, how: Any) -> Tensor:
    """A Slice or a Transpose."""


@auxiliary()
def rearranging(x: Tensor, s: Slices, p: Permutation):
    """Says what `rearranged` is."""
    yield equal(slice_(x, s), rearranged("Slice", x, s))
    yield equal(transpose(x, p), rearranged("Transpose", x, p))


@hosted()
def axis_before(op: str, how: Any, axis: Axis) -> Axis | None:
    """The axis of an operand that is this one of the result; None where it is cut."""
    if op == "Transpose":
        return how[axis] if axis < len(how) else None
    return None if axis in {entry[0] for entry in how} else axis


@table()
def originals(xs: Tensors, axis: Axis, op: String, how: Any) -> Tensors:
    """The operands of a list whose elements are all rearranged in one way, in which the axis stays whole."""


@auxiliary(listing, rearranging)
def arranging(x: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, a: Axis, b: Axis, op: String, how: Any):
    """Fills `originals`."""
    first = (operands_of(xs, a), eq(xs, cons(rearranged(op, x, how), rest)), eq(b, axis_before(op, how, a)))
    yield rule(*first, eq(rest, nil()), then=assign(originals(xs, a, op, how), cons(x, nil())))
    yield rule(
        *first, eq(ys, originals(rest, a, op, how)), then=assign(originals(xs, a, op, how), cons(x, ys))
    )


def _lists(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z = g.input(("N", 3, 4)), g.input(("N", 3, 4)), g.input(("N", 2, 4))
    last, swapped = (0, 2, 1), (1, 0, 2)
    spec = ((2, 1, 3, 1),)
    yield from g.all_fire(
        concat(listed(*(transpose(v, last) for v in (x, y, x))), 1),
        concat(listed(*(transpose(v, last) for v in (x, z, y))), 2),
        concat(listed(*(slice_(v, spec) for v in (x, y))), 0),
        concat(listed(*(slice_(v, spec) for v in (x, z, y))), 1),
    )
    yield from g.near_misses(
        (
            concat(listed(transpose(x, last), transpose(y, last), relu(transpose(z, last))), 2),
            "Relu is between",
        ),
        (concat(listed(transpose(x, swapped), transpose(y, swapped), x), 1), "one is not transposed"),
        (concat(listed(slice_(x, spec), slice_(y, spec)), 2), "along the axis that is cut"),
        (concat(listed(slice_(x, spec), slice_(y, ((2, 0, 2, 1),))), 1), "other parts"),
        (concat(listed(slice_(x, spec), slice_(g.input(("N", 3, 6)), spec)), 1), "of other lengths"),
    )


@law(uses=(arranging,), examples=_lists)
def of_all(xs: Tensors, ys: Tensors, a: Axis, op: String, how: Any):
    """Concat_a(Transpose_p(x), Transpose_p(y), ..) = Transpose_p(Concat_p[a](x, y, ..)), and of Slices"""
    axis = axis_before(op, how, a)
    known = (eq(ys, originals(xs, a, op, how)), guard(worth_a_walk(xs)), fit_together(ys, axis))
    yield rewrite(concat(xs, a), rearranged(op, concat(ys, axis), how), *known, because="one for several")


# --- a transpose that is undone -------------------------------------------------------------------------


@table()
def to_be_transposed(xs: Tensors, p: Permutation) -> Unit:
    """The original transposes the concatenation of this list, or of one of which this is the tail."""


@table()
def has_undone(xs: Tensors, p: Permutation) -> Unit:
    """The transpose undoes one of an element of the list."""


@table()
def worth_transposing(xs: Tensors, p: Permutation) -> Unit:
    """It does in the whole list, of which this is a tail."""


@table()
def transposed(xs: Tensors, p: Permutation) -> Tensors:
    """All elements transposed."""


@auxiliary()
def transposing(
    x: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, a: Axis, p: Permutation, q: Permutation, k: Int
):
    """Fills `transposed`."""
    whole = eq(transpose(concat(xs, a), p), node(k))
    yield rule(whole, worth_a_walk(xs), then=to_be_transposed(xs, p))
    first = (to_be_transposed(xs, p), eq(xs, cons(x, rest)))
    yield rule(*first, then=to_be_transposed(rest, p))
    undone = (to_be_transposed(xs, p), eq(xs, cons(transpose(x, q), rest)), restores(x, q, p))
    yield rule(*undone, then=has_undone(xs, p))
    yield rule(*first, has_undone(rest, p), then=has_undone(xs, p))
    yield rule(whole, has_undone(xs, p), then=worth_transposing(xs, p))
    asked = (worth_transposing(xs, p), eq(xs, cons(x, rest)))
    yield rule(*asked, then=worth_transposing(rest, p))
    yield rule(worth_transposing(nil(), p), then=assign(transposed(nil(), p), nil()))
    made = assign(transposed(xs, p), cons(transpose(x, p), ys))
    yield rule(*asked, eq(ys, transposed(rest, p)), then=made)


def _undone(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z = g.input(("N", 3, 4)), g.input(("N", 4, 3)), g.input(("N", 4, 2))
    p, q = (0, 2, 1), (1, 0, 2)
    yield g.fires(transpose(concat(listed(transpose(x, p), y, z), 2), p))
    yield g.fires(transpose(concat(listed(y, y, transpose(x, p)), 1), p))
    yield from g.near_misses(
        (transpose(concat(listed(transpose(x, p), y, z), 2), q), "another transpose"),
        (transpose(concat(listed(y, y, z), 2), p), "none is transposed before"),
        (transpose(concat(listed(relu(transpose(x, p)), y), 2), p), "Relu is between"),
    )


@law(uses=(transposing,), examples=_undone)
def undone_of_some(xs: Tensors, ys: Tensors, a: Axis, p: Permutation):
    """Transpose_p(Concat_a(x, y, ..)) = Concat(Transpose_p(x), Transpose_p(y), ..) where p undoes one's"""
    known = eq(ys, transposed(xs, p))
    yield rewrite(
        transpose(concat(xs, a), p), concat(ys, moved_axis(invert(p), a)), known, because="one for several"
    )
