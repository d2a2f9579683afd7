"""Reductions of equal parts of one axis are one reduction of a view with an axis for the parts.

Concat_a(Reduce(x[0:n]), Reduce(x[n:2n]), ..) -> Reshape(Reduce(Reshape(x)))      along a, and other axes

Person re-identification pools horizontal stripes like this, and pyramids of pools their rows.
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact, Shape
from egraph_opt.laws import Example, Operands, assign, auxiliary, eq, guard, hosted, law, rewrite, rule, table
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axes, Axis, Dims, Number, Slices, String, Tensor, Tensors
from egraph_opt.operators import concat, reduce, reshape, slice_
from egraph_opt.operators.terms import cons, listed, nil
from egraph_opt.rewrites.conditions.view_shapes import known_dims
from egraph_opt.rewrites.normalization.layer_norm import KEPT
from egraph_opt.rewrites.reductions.reduction import is_associative
from egraph_opt.rewrites.slicing.concat import listing, operands_of, worth_a_walk
from egraph_opt.rewrites.slicing.concat_alike import joined_slices
from egraph_opt.rewrites.slicing.slice import dim_at, taken_by


@table(merge="first")
def stripes(xs: Tensors, axis: Axis, kind: String, axes: Axes, x: Tensor, width: Number) -> Slices:
    """What slices of x, all of one width and one after the other, take together, where a list is reductions
    of each."""


@hosted()
def width_of(s: Slices, axis: Axis, axes: Axes, x: Fact) -> Number | None:
    """How much a slice takes of an axis that is reduced; None where that is nothing, or not known."""
    entry, dim = next((e for e in s if e[0] == axis), None), dim_at(x, axis)
    if entry is None or axis not in axes or not isinstance(dim, int):
        return None
    _, start, end, step = entry
    return end - start if step == 1 and end is not None and 0 <= start < end <= dim else None


@auxiliary(listing)
def striping(x: Tensor, xs: Tensors, rest: Tensors, kind: String, a: Axis, axes: Axes, s: Slices, t: Slices):
    """Fills `stripes` from the end of a list to its front."""
    first, width = reduce(kind, slice_(x, s), axes, KEPT), width_of(s, a, axes, x)
    last = (operands_of(xs, a), eq(xs, cons(first, nil())), varies(x))
    yield rule(*last, then=assign(stripes(xs, a, kind, axes, x, width), s))
    more = (operands_of(xs, a), eq(xs, cons(first, rest)), eq(t, stripes(rest, a, kind, axes, x, width)))
    yield rule(*more, then=assign(stripes(xs, a, kind, axes, x, width), joined_slices(s, t, a)))


def _lengths(x: Fact, s: Slices) -> Shape | None:
    """The dims of a slice of x whose cut axes are known."""
    if x.shape is None or not x.is_symbolic or not s:
        return None
    dims: list[Dim] = list(x.shape)
    for entry in s:
        dim = dims[entry[0]]
        if not isinstance(dim, int):
            return None
        dims[entry[0]] = len(taken_by(entry, dim))
    return tuple(dims)


def _end_of_run(axis: int, axes: Axes) -> int:
    """Behind the reduced axes that follow one without a gap."""
    return next(k for k in range(axis + 1, axis + len(axes) + 1) if k not in axes)


@hosted()
def dims_of_stripes(x: Fact, s: Slices, axis: Axis, axes: Axes, width: Number) -> Dims | None:
    """The parts on an axis of their own, and behind it what is reduced of each, on one axis as far as it is
    one block."""
    dims, end = _lengths(x, s), _end_of_run(axis, axes)
    if dims is None:
        return None
    block = symbolic.product((int(width), *dims[axis + 1 : end]))
    count = dims[axis] // int(width)  # type: ignore[operator]
    return (*dims[:axis], count, block, *(1,) * (end - axis - 2), *dims[end:])


@hosted()
def axes_of_stripes(axis: Axis, axes: Axes) -> Axes:
    """What is reduced of that view."""
    end = _end_of_run(axis, axes)
    shift = 1 if end == axis + 1 else 0
    return (*(k for k in axes if k < axis), axis + 1, *(k + shift for k in axes if k >= end))


def _parts(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, whole = g.input(("N", 8, 3, 2)), g.input(("N", 8, 3, 2)), g.input((40, 32), TensorProto.INT64)

    def part(first: int, last: int, v: Tensor = x, axis: int = 1) -> Tensor:
        return slice_(v, ((axis, first, last, 1),))  # type: ignore[no-any-return]

    def joined(kind: str, *parts: Tensor, axes: Axes = (1,), axis: int = 1) -> Tensor:
        return concat(listed(*(reduce(kind, v, axes, 1) for v in parts)), axis)  # type: ignore[no-any-return]

    halves, rows = (part(0, 4), part(4, 8)), (part(0, 20, whole, 0), part(20, 40, whole, 0))
    for kind in ("ReduceMean", "ReduceMax", "ReduceSum"):
        yield g.fires(joined(kind, *halves))
    yield g.fires(joined("ReduceMean", *(part(k, k + 2) for k in (0, 2, 4, 6)), axes=(1, 2, 3)))
    yield g.fires(joined("ReduceL1", part(2, 4), part(4, 6), axes=(0, 1, 3)))
    yield g.fires(joined("ReduceMin", *rows, axes=(0,), axis=0))
    mixed = (reduce(kind, v, (1,), 1) for kind, v in zip(("ReduceMax", "ReduceMin"), halves, strict=True))
    yield from g.near_misses(
        (joined("ReduceMean", part(0, 3), part(3, 8)), "parts of two widths"),
        (joined("ReduceMean", part(4, 8), part(0, 4)), "another order"),
        (joined("ReduceMean", part(0, 4), part(3, 7)), "they overlap"),
        (joined("ReduceMean", *halves, axes=(2,)), "the parts are not reduced along the axis"),
        (joined("ReduceMean", *halves, axis=2), "joined along another axis"),
        (joined("ReduceSum", *rows, axes=(0,), axis=0), "large integers are rounded as they are added"),
        (joined("ReduceMax", part(0, 4), part(4, 8, y)), "of two tensors"),
        (concat(listed(*mixed), 1), "two reductions"),
    )


@law(
    "stacks",
    numerics="reassociates",
    kind="merge",
    serves="launches",
    source="PCB, arXiv 1711.09349; pyramid pooling, arXiv 1612.01105",
    uses=(striping,),
    examples=_parts,
)
def of_equal_parts(kind: String, x: Tensor, xs: Tensors, s: Slices, a: Axis, b: Axes, n: Number):
    """Concat_a(Reduce(x[0:n]), Reduce(x[n:2n]), ..) = Reshape(Reduce(Reshape(x))) along a, and other axes"""
    whole = concat(xs, a)
    view = reshape(slice_(x, s), dims_of_stripes(x, s, a, b, n))
    known = (guard(worth_a_walk(xs)), eq(s, stripes(xs, a, kind, b, x, n)), is_associative(kind, x))
    once = reshape(reduce(kind, view, axes_of_stripes(a, b), KEPT), known_dims(whole))
    yield rewrite(whole, once, *known, because="one reduction for several")
