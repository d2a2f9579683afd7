"""Indices that say where in its batch each row is are batches.

GatherND_b(x, Concat(r, i, ..)) -> GatherND_b+1(x, Concat(i, ..))     where r counts along axis b
Gather(Reshape(x), r * T + i) -> GatherND_1(x, i)                     likewise, of joined batches of T

``x[arange(N), i]`` is exported as a GatherND of both indices: of a text the token that ends it.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import Example, Operands, assign, auxiliary, eq, hosted, laws_of, rewrite, rule, table
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axis, Dims, Flag, Int, String, Tensor, Tensors, Unit
from egraph_opt.operators import (
    arg_reduce,
    concat,
    expand,
    gather,
    gather_nd,
    range_,
    reshape,
    shape_of,
    unary,
)
from egraph_opt.operators.terms import cons, listed
from egraph_opt.operators.views import inserted_axes
from egraph_opt.rewrites.conditions.operands import beside, either_side, moved, moves
from egraph_opt.rewrites.conditions.values import all_are, broadcasts_into
from egraph_opt.rewrites.conditions.view_shapes import same_dims
from egraph_opt.rewrites.slicing.movement import axis_in_result
from egraph_opt.rewrites.slicing.slice import dim_at

law = laws_of(
    "gather",
    numerics="bitwise",
    kind="replace",
    serves="launches",
    source="CLIP, arXiv 2103.00020: the pooler reads the token that ends a text",
)


LARGEST_DIM = 2**31
"""Bounds beyond it say nothing of places."""


@table()
def counted(r: Tensor, axis: Axis) -> Unit:
    """Each element of r is its own place along an axis."""


@hosted()
def is_counted(r: Fact, axis: Axis) -> bool:
    """Of what is known element by element."""
    numbers = r.data if r.splat is None else r.splat
    if r.shape is None or axis >= len(r.shape) or not r.is_static or not r.has_numbers or numbers is None:
        return False
    places = np.indices(r.shape)[axis].ravel()  # type: ignore[arg-type]
    return bool(np.all(places == np.asarray(numbers)))


@hosted()
def axis_in_view(axis: Axis, w: Fact, r: Fact) -> Axis | None:
    """Where an axis is in a view that has other axes of one element, and those only."""
    if w.shape is None or r.shape is None:
        return None
    short, long = sorted((w.shape, r.shape), key=len)
    added = inserted_axes(short, long)
    if added is None:
        return None
    kept = [k for k in range(len(long)) if k not in added]
    if len(w.shape) <= len(r.shape):
        return kept[axis]
    return kept.index(axis) if axis in kept else None


@auxiliary(moves)
def counting(
    x: Tensor, r: Tensor, w: Tensor, s: Tensor, t: Tensor, d: Tensor, xs: Tensors, a: Axis, b: Axis, v: Dims,
    how: Any,
):  # fmt: skip
    """Fills `counted`: a Range from 0 on in steps of 1, views of it, and what is expanded of these."""
    first = eq(w, gather_nd(x, concat(cons(r, xs), a), b))
    yield rule(first, is_counted(r, b), then=counted(r, b))
    yield rule(eq(r, range_(s, t, d)), all_are(s, 0), all_are(d, 1), then=counted(r, 0))
    yield rule(counted(w, a), eq(r, reshape(w, v)), then=counted(r, axis_in_view(a, w, r)))
    wide = eq(r, moved("Expand", w, t, how))
    yield rule(counted(w, a), wide, then=counted(r, axis_in_result(a, w, r)))


@hosted()
def next_batch(r: Fact, rest: tuple[Fact, ...], x: Fact, axis: Axis, batches: Axis) -> Axis | None:
    """One batch more, where the first of several joined indices has the batches of x and its next axis.

    onnxruntime takes indices of fewer batches than x has, too.
    """
    if not rest or r.shape is None or x.shape is None or axis != len(r.shape) - 1 or r.shape[-1] != 1:
        return None
    batch = batches + 1
    return batch if batch <= axis and same_dims(r.shape[:batch], x.shape[:batch]) else None


def _counts(g: Operands, first: int = 0, step: int = 1) -> Any:
    """As many numbers as N is, from one on."""
    length = reshape(shape_of(g.input(("N",)), 0, 1), ())
    length = length if step == 1 else length * g.constant(np.array(step))
    start = g.constant(np.array(first))
    return range_(start, length + start if first else length, g.constant(np.array(step)))


def _pooled(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, deep, i = g.input(("N", 6, 4)), g.input((5, "N", 6)), g.input(("N", 1), INT64)
    column, known = reshape(_counts(g), ("N", 1)), g.constant(np.array([[0], [1], [2]]))
    few, both = g.input((3, 6, 4)), g.input((3, 2), INT64)
    wide = expand(reshape(_counts(g), ("N", 1, 1)), (1, 2, 1))
    pairs, second = g.input(("N", 2, 1), INT64), g.constant(np.array([[[0], [1]]]))
    for term in (
        gather_nd(x, concat(listed(column, i), 1), 0),
        gather_nd(x, concat(listed(column, i, i), 1), 0),
        gather_nd(few, concat(listed(known, both), 1), 0),
        gather_nd(x, concat(listed(wide, pairs), 2), 0),
        gather_nd(x, concat(listed(reshape(expand(column, (1, 2)), ("N", 2, 1)), pairs), 2), 0),
        gather_nd(g.input((1, 2, 6)), concat(listed(second, g.input((1, 2, 1), INT64)), 2), 1),
    ):
        yield replace(g.fires(term), opset=17)
    length = reshape(shape_of(x, 0, 1), ())
    whole = range_(g.constant(np.array(0)), length + length, g.constant(np.array(1)))
    blocks, turned = reshape(whole, (2, "N", 1)), g.constant(np.array([[0], [2], [1]]))
    second_axis = expand(column, (3, 1, 1)), g.input((3, "N", 1), INT64)
    for term, why in (
        (gather_nd(few, concat(listed(*second_axis), 2), 0), "it counts along axis 1"),
        (gather_nd(x, concat(listed(i, column), 1), 0), "the first index is another one"),
        (gather_nd(x, column, 0), "there is no other index"),
        (gather_nd(x, concat(listed(reshape(_counts(g, 1), ("N", 1)), i), 1), 0), "from 1 on"),
        (gather_nd(x, concat(listed(reshape(_counts(g, 0, 2), ("N", 1)), i), 1), 0), "every other one"),
        (gather_nd(g.input((2, 9)), concat(listed(blocks, g.input((2, "N", 1), INT64)), 2), 0), "in blocks"),
        (gather_nd(deep, concat(listed(column, i), 1), 0), "x has other rows"),
        (gather_nd(few, concat(listed(turned, both), 1), 0), "in another order"),
        (gather_nd(g.input((4, 6)), concat(listed(known, g.input((3, 1), INT64)), 1), 0), "x has a row more"),
        (
            gather_nd(g.input((2, 2, 6)), concat(listed(second, g.input((1, 2, 1), INT64)), 2), 1),
            "x has batches more",
        ),
        (gather_nd(g.input((3, 2, 6)), concat(listed(second, g.input((1, 2, 1), INT64)), 2), 0), "of axis 1"),
    ):
        yield replace(g.near_miss(term, why), opset=17)


@law(uses=(counting,), examples=_pooled)
def places_are_batches(x: Tensor, r: Tensor, rest: Tensors, a: Axis, b: Axis):
    """GatherND_b(x, Concat(r, i, ..)) = GatherND_b+1(x, Concat(i, ..)) where r counts along axis b"""
    taken, batch = gather_nd(x, concat(cons(r, rest), a), b), next_batch(r, rest, x, a, b)
    fewer = gather_nd(x, concat(rest, a), batch)
    yield rewrite(taken, fewer, counted(r, b), because="any x has batches")


# --- batches that are joined ------------------------------------------------------------------------------


@hosted(default=(None,))
def lesser(old: Dims, new: Dims) -> Dims:
    """The bound that is known not to be more, or the first; of large ones nothing is known."""
    return new if symbolic.is_at_least(old[0], new[0]) or old[0] is None else old


@table(merge=lesser)
def places_below(i: Tensor) -> Dims:
    """A bound, as one dim, that each element of i is below; none is below 0."""


@table(merge="last")
def first_rows(w: Tensor) -> Dims:
    """The length of batches, as one dim, of which each element of w is where the next begins."""


@hosted()
def length_along(x: Fact, axis: Axis) -> Dims | None:
    dim = dim_at(x, axis)
    return None if dim is None else (dim,)


@hosted()
def bound_of(i: Fact) -> Dims | None:
    found = range_of(i)
    return None if found is None or found[0] < 0 or found[1] >= LARGEST_DIM else (found[1] + 1,)


@hosted()
def only_number(t: Fact) -> Dims | None:
    """The number of a tensor of one element, which may depend on dims."""
    values = t.value if t.splat is None else (t.splat,)
    known = t.rank in (0, 1) and values is not None and len(values) == 1 and isinstance(values[0], int | str)
    return values if known else None  # type: ignore[return-value]


@hosted()
def step_of_known(w: Fact) -> Dims | None:
    """The step of what is known to count from 0 on along the first axis."""
    if not w.rank or not w.is_static or not w.has_numbers or w.data is None or len(w.data) < 2:
        return None
    first = np.indices(w.shape)[0].ravel()  # type: ignore[arg-type]
    step: int = w.data[-1] // (w.shape[0] - 1 or 1)  # type: ignore[assignment, index, operator]
    return (step,) if np.all(first * step == np.asarray(w.data)) else None


@auxiliary(counting, either_side)
def placing(
    kind: String, x: Tensor, y: Tensor, i: Tensor, j: Tensor, t: Tensor, a: Axis, k: Int, keep: Flag,
    last: Flag, d: Dims, n: Dims,
):  # fmt: skip
    """Fills `places_below` and `first_rows`."""
    summed = eq(y, gather(reshape(x, d), beside("Add", i, j, k), 0))
    yield rule(summed, then=assign(places_below(i), bound_of(i)))
    yield rule(summed, then=assign(first_rows(j), step_of_known(j)))
    found = eq(i, arg_reduce(kind, x, a, keep, last))
    yield rule(found, then=assign(places_below(i), length_along(x, a)))
    yield rule(eq(n, places_below(i)), eq(j, reshape(i, d)), then=assign(places_below(j), n))
    scaled = eq(j, beside("Mul", i, t, k))
    yield rule(counted(i, 0), scaled, then=assign(first_rows(j), only_number(t)))


@hosted()
def are_rows_of_batches(d: Dims, x: Fact) -> bool:
    """The first two axes are joined."""
    if x.shape is None or len(x.shape) < 2:
        return False
    return same_dims(d, (symbolic.product(x.shape[:2]), *x.shape[2:]))


@hosted()
def are_batches_of(m: Dims, n: Dims, x: Fact) -> bool:
    """So many rows has a batch of x, and below that are places."""
    if x.shape is None or len(x.shape) < 2 or not m or not n:
        return False
    return symbolic.known_equal(m[0], x.shape[1]) and symbolic.is_at_least(x.shape[1], n[0])


@hosted()
def own_indices(i: Fact, w: Fact, x: Fact) -> Dims | None:
    """The dims of indices of each batch as rows of one number; w is as many as there are batches."""
    if i.dtype != INT64 or i.shape is None or x.shape is None or not i.is_symbolic or i.rank != w.rank:
        return None
    sound = same_dims(i.shape[:1], x.shape[:1]) and same_dims(i.shape[:1], (w.shape or ())[:1])
    return (*i.shape, 1) if sound and broadcasts_into(w.shape, i.shape) else None


def _flat(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, ids, few = g.input(("N", 6, 4)), g.input(("N", 6)), g.input((3, 6, 4))
    rows, three = reshape(x, ("6*N", 4)), reshape(few, (18, 4))
    last, six = arg_reduce("ArgMax", ids, 1, 0, 0), g.constant(np.array(6))
    starts, known = _counts(g) * six, g.constant(np.array([0, 6, 12]))
    of_few = arg_reduce("ArgMin", g.input((3, 6)), 1, 0, 0)
    long, texts = g.input(("N", "L", 4)), g.input(("N", "L"))
    length = reshape(shape_of(long, 1, 2), ())
    joined, ends = reshape(long, ("L*N", 4)), arg_reduce("ArgMax", texts, 1, 0, 0)
    several = arg_reduce("ArgMax", g.input(("N", 2, 6)), 2, 0, 0)
    column = reshape(_counts(g), ("N", 1)) * six
    small = unary("Clip", (("max", 5), ("min", 0)), g.input((3,), INT64))
    for term in (
        gather(rows, last + starts, 0),
        gather(rows, starts + last, 0),
        gather(rows, last + six * _counts(g), 0),
        gather(three, of_few + known, 0),
        gather(three, small + known, 0),
        gather(joined, ends + _counts(g) * length, 0),
        gather(rows, several + column, 0),
    ):
        yield replace(g.fires(term), opset=17)
    square = unary("Clip", (("max", 5), ("min", 0)), g.input((2, 2), INT64))
    below = unary("Clip", (("max", 5), ("min", -1)), g.input((3,), INT64))
    above = unary("Clip", (("max", 6), ("min", 0)), g.input((3,), INT64))
    for term, why in (
        (gather(rows, g.input(("N",), INT64) + starts, 0), "it may be a row of another batch"),
        (gather(three, below + known, 0), "it may be a row of another batch"),
        (gather(three, above + known, 0), "it may be a row of another batch"),
        (gather(rows, ends + starts, 0), "places along another axis"),
        (gather(rows, last + _counts(g) * g.constant(np.array(5)), 0), "batches of five"),
        (gather(three, of_few + g.constant(np.array([0, 6, 13])), 0), "not where it begins"),
        (gather(rows, last + _counts(g, 1) * six, 0), "from 1 on"),
        (gather(reshape(x, ("3*N", 8)), last + starts, 0), "rows of two"),
        (gather(reshape(g.input(("M", 6, 4)), ("6*M", 4)), last + starts, 0), "x has other batches"),
        (gather(rows, last * starts, 0), "a product"),
        (gather(rows, reshape(last, (1, "N")) + starts, 0), "another axis of indices"),
        (gather(three, of_few + known, 1), "another axis of x"),
        (gather(reshape(g.input((2, 6, 4)), (12, 4)), square + g.constant(np.array([0, 6])), 0), "columns"),
        (gather(three, reshape(small, (3, 1)) + g.constant([[0, 0], [6, 6], [12, 12]]), 0), "two of each"),
    ):
        yield replace(g.near_miss(term, why), opset=17)


@law(uses=(placing,), examples=_flat)
def flat_places_are_batches(x: Tensor, i: Tensor, w: Tensor, d: Dims, m: Dims, n: Dims, k: Int):
    """Gather(Reshape(x), r * T + i) = GatherND_1(x, i) where r counts, and i is below T"""
    taken = gather(reshape(x, d), beside("Add", i, w, k), 0)
    made = gather_nd(x, reshape(i, own_indices(i, w, x)), 1)
    known = (eq(m, first_rows(w)), eq(n, places_below(i)), are_batches_of(m, n, x))
    yield rewrite(taken, made, are_rows_of_batches(d, x), *known, because="any x has batches")
