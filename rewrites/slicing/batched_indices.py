"""Indices that say where in its batch each row is are batches.

GatherND_b(x, Concat(r, i, ..)) -> GatherND_b+1(x, Concat(i, ..))     where r counts along axis b

``x[arange(N), i]`` is exported as a GatherND of both indices: of a text the token that ends it.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, auxiliary, eq, hosted, laws_of, rewrite, rule, table
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axis, Dims, Int, Tensor, Tensors, Unit
from egraph_opt.operators import concat, expand, gather_nd, range_, reshape, shape_of
from egraph_opt.operators.terms import cons, listed
from egraph_opt.rewrites.conditions.operands import moved, moves, number, numbers
from egraph_opt.rewrites.conditions.values import all_are
from egraph_opt.rewrites.conditions.view_shapes import same_dims
from egraph_opt.rewrites.slicing.movement import axis_in_result, axis_number

law = laws_of(
    "gather",
    numerics="bitwise",
    kind="replace",
    serves="launches",
    source="CLIP, arXiv 2103.00020: the pooler reads the token that ends a text",
)


@table()
def counted(r: Tensor, axis: Axis) -> Unit:
    """Each element of r is its own place along an axis."""


@hosted()
def is_counted(r: Fact, axis: Axis) -> bool:
    """Of what is known element by element."""
    numbers = r.data if r.splat is None else r.splat
    if r.shape is None or axis >= len(r.shape) or not r.is_static or not r.has_numbers or numbers is None:
        return False
    return bool(np.all(np.indices(r.shape)[axis].ravel() == np.asarray(numbers)))


@hosted()
def is_row_along(axis: Axis, view: Fact) -> bool:
    """All other axes have one element."""
    return view.shape is not None and all(dim == 1 for k, dim in enumerate(view.shape) if k != axis)


@auxiliary(moves, numbers)
def counting(
    x: Tensor, r: Tensor, w: Tensor, s: Tensor, t: Tensor, d: Tensor, xs: Tensors, a: Axis, b: Axis, v: Dims,
    how: Any, k: Int,
):  # fmt: skip
    """Fills `counted`: a Range from 0 on in steps of 1, views of it, and what is expanded of these."""
    first = eq(w, gather_nd(x, concat(cons(r, xs), a), b))
    yield rule(first, is_counted(r, b), then=counted(r, b))
    row, from_0 = eq(r, reshape(range_(s, t, d), v)), (all_are(s, 0), all_are(d, 1))
    place = axis_number(k, r)
    yield rule(number(k), row, *from_0, is_row_along(place, r), then=counted(r, place))
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
        gather_nd(g.input((1, 2, 6)), concat(listed(second, g.input((1, 2, 1), INT64)), 2), 1),
    ):
        yield replace(g.fires(term), opset=17)
    length = reshape(shape_of(x, 0, 1), ())
    whole = range_(g.constant(np.array(0)), length + length, g.constant(np.array(1)))
    blocks, turned = reshape(whole, (2, "N", 1)), g.constant(np.array([[0], [2], [1]]))
    for term, why in (
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
