"""What moves indices moves what they take, so that a table is taken from once.

Gather(x, Reshape(i)) -> Reshape(Gather(x, i))
Gather(x, Expand(i)) -> Expand(Gather(x, i))                  towards an operand that has the dims itself
Transpose_p(Gather(x, i)) -> Gather(x, Transpose_q(i))        where axes of the indices change places
Gather(E, Slice(I; s, e)) -> Slice(Gather(E, I); s, e)        of constants, for bounds computed at run time
Gather(E, i + c) -> Gather(E[c:], i)                          for a constant E, and i that are not negative

What is taken of a constant by constant indices is computed once: positions are a Slice of a table.  A Gather
fails at an index that is none, so what is taken more than before has to be known to be there.
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.numbers import integer_range
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import is_constant, varies
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axes, Axis, Dims, Permutation, Slices, Steps, Tensor
from egraph_opt.operators import (
    Literal,
    arg_reduce,
    cast,
    concat,
    expand,
    expand_to,
    gather,
    literal,
    reshape,
    shape_of,
    slice_,
    slice_at,
    transpose,
    unary,
)
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.conditions.channels import static_shape
from egraph_opt.rewrites.conditions.values import broadcasts_into
from egraph_opt.rewrites.conditions.view_shapes import changes_dims, known_dims
from egraph_opt.rewrites.slicing.slice import dim_at

law = laws_of(
    "gather", numerics="bitwise", kind="move", serves="launches", source="exporters' position embeddings"
)


LESS = "what is taken is less"


@hosted()
def is_inside(i: Fact, x: Fact, axis: Axis) -> bool:
    """All indices are known to be of elements that x has along an axis."""
    dim, found = dim_at(x, axis), range_of(i)
    return isinstance(dim, int) and found is not None and -dim <= found[0] and found[1] < dim


# --- views ----------------------------------------------------------------------------------------------


def _views(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, i = g.input(("N", 6, 4)), g.input((2, 3), INT64)
    yield from g.all_fire(
        gather(x, reshape(i, (6,)), 1),
        gather(g.random(6, 4), reshape(g.input(("L",), INT64), (1, "L")), 0),
        gather(x, reshape(g.input((1,), INT64), ()), 2),
    )
    yield g.near_miss(gather(x, i, 1), why="no view")


@law(examples=_views)
def taken_by_view(x: Tensor, i: Tensor, a: Axis, d: Dims):
    """Gather(x, Reshape(i)) = Reshape(Gather(x, i))"""
    view = gather(x, reshape(i, d), a)
    demand = guard(changes_dims(i, d), varies(i))
    moved = reshape(gather(x, i, a), known_dims(view))
    yield rewrite(view, moved, demand, because="views move towards the outputs")


# --- order ----------------------------------------------------------------------------------------------


@hosted()
def order_of_indices(p: Permutation, axis: Axis, i: Fact) -> Permutation | None:
    """The permutation of indices that is one of what they take; None where it moves other axes."""
    count = i.rank or 0
    own = p[axis : axis + count]
    others = (*p[:axis], *p[axis + count :])
    if count < 2 or others != (*range(axis), *range(axis + count, len(p))) or own == tuple(sorted(own)):
        return None
    return tuple(k - axis for k in own)


def _transposed(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, i = g.input((5, 6, 4)), g.input((2, "N"), INT64)
    yield from g.all_fire(
        transpose(gather(g.random(6, 4), i, 0), (1, 0, 2)),
        transpose(gather(x, i, 1), (0, 2, 1, 3)),
        transpose(gather(x, g.input((2, "N", 3), INT64), 2), (0, 1, 4, 2, 3)),
    )
    yield from g.near_misses(
        (transpose(gather(x, i, 0), (0, 2, 1, 3)), "an axis of x moves"),
        (transpose(gather(x, i, 1), (3, 2, 1, 0)), "axes of x move, too"),
        (transpose(gather(x, g.input((2,), INT64), 1), (1, 0, 2)), "the indices have one axis"),
    )


@law(serves="traffic", source="recurrent layers behind embeddings, time first", examples=_transposed)
def taken_transposed(x: Tensor, i: Tensor, a: Axis, p: Permutation):
    """Transpose_p(Gather(x, i)) = Gather(x, Transpose_q(i)) where axes of the indices change places"""
    moved = gather(x, transpose(i, order_of_indices(p, a, i)), a)
    yield rewrite(transpose(gather(x, i, a), p), moved, because="indices are less to move")


# --- repetition -----------------------------------------------------------------------------------------


@hosted()
def is_aligned(i: Fact, wide: Fact, axis: Axis) -> bool:
    """Axes that indices get are in front of all, or there are none."""
    return i.rank is not None and wide.rank is not None and (axis == 0 or i.rank == wide.rank)


@hosted()
def axes_behind(x: Fact, axis: Axis) -> Literal | None:
    """The end of a computed target: as many ones as x has axes behind one, which stay as they are."""
    count = -1 if x.rank is None else x.rank - 1 - axis
    return Literal(INT64, (count,), (1,) * max(count, 1)) if count >= 0 else None


@hosted()
def ones_behind(i: Fact, wide: Fact, x: Fact, axis: Axis) -> Literal | None:
    """`axes_behind`; None where indices that may be none might not be taken at all: a dim that is computed
    may be 0."""
    return axes_behind.function(x, axis) if _are_taken(i, wide, x, axis) else None


def _are_taken(i: Fact, wide: Fact, x: Fact, axis: int) -> bool:
    all_of_them = wide.is_static and 0 not in (wide.shape or ())
    return all_of_them or is_inside.function(i, x, axis)


@hosted()
def target_behind(dims: Dims, x: Fact, axis: Axis) -> Dims | None:
    """The target of what is taken: the axes of x behind one stay as they are."""
    return None if x.rank is None or 0 in dims else (*dims, *(1,) * (x.rank - 1 - axis))


def _repeated(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, i, like = g.input((5, 6, 4)), g.input((1, 3), INT64), g.input(("N", 3))
    wide, known = expand(i, (2, 3)), g.constant(np.array([[4, 0, 2]]))
    many = expand_to(known, shape_of(like, 0, 2))
    yield from g.all_fire(
        gather(x, wide, 1),
        gather(x, wide, 2),
        gather(x, many, 1),
        gather(g.random(6), many, 0),
        gather(x, expand(g.input((3,), INT64), (2, 3)), 0),
    )
    yield from g.near_misses(
        (gather(x, expand(g.input((3,), INT64), (2, 3)), 1), "axes are added in between"),
        (gather(x, expand_to(i, shape_of(like, 0, 2)), 1), "an index that is not taken may be none"),
        (gather(g.input(("L", 4)), many, 0), "rows that are not taken may not be there"),
        (gather(x, i, 1), "nothing is expanded"),
    )


@law(examples=_repeated)
def taken_again(x: Tensor, i: Tensor, a: Axis, t: Tensor, d: Dims):
    """Gather(x, Expand(i)) = Expand(Gather(x, i))"""
    once, wide = gather(x, i, a), expand(i, d)
    behind = expand(once, target_behind(d, x, a))
    yield rewrite(gather(x, wide, a), behind, is_aligned(i, wide, a), because=LESS)
    wide = expand_to(i, t)
    behind = expand_to(once, concat(listed(t, literal(ones_behind(i, wide, x, a))), 0))
    yield rewrite(gather(x, wide, a), behind, is_aligned(i, wide, a), because=LESS)


# --- slices ---------------------------------------------------------------------------------------------


@hosted()
def moved_axes(axes: Axes, axis: Axis) -> Axes:
    """The axes of indices, in what they take along an axis."""
    return tuple(k + axis for k in axes)


@hosted()
def are_few(e: Fact, i: Fact, axis: Axis) -> bool:
    """Constants of which what is taken by all indices is no larger than the table."""
    rows, table = static_shape(i), static_shape(e)
    if rows is None or table is None or not e.const or not i.const:
        return False
    return int(np.prod(rows, dtype=object)) <= table[axis]


def _sliced(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    e, places = g.random(6, 4), g.constant(np.array([[0, 1, 2, 3, 4]]))
    start, end = g.constant(np.array([0])), shape_of(g.input(("L",)), 0, 1)
    cut = slice_at(places, start, end, (1,), (1,))
    yield from g.all_fire(
        gather(e, cut, 0),
        gather(g.random(2, 6), cut, 1),
        gather(e, slice_at(g.constant(np.array([5, -1, 0])), end, g.input((1,), INT64), (0,), (2,)), 0),
    )
    beyond = slice_at(g.constant(np.array([0, 1, 6])), start, end, (0,), (1,))
    yield from g.near_misses(
        (gather(e, beyond, 0), "an index that is not taken may be none"),
        (gather(g.input((6, 4)), cut, 0), "more rows would be taken at run time"),
        (
            gather(g.random(3, 4), slice_at(g.constant(np.zeros(9, np.int64)), start, end, (0,), (1,)), 0),
            "more",
        ),
    )


@law(kind="move", examples=_sliced)
def taken_in_part(x: Tensor, i: Tensor, s: Tensor, e: Tensor, a: Axis, k: Axes, m: Steps):
    """Gather(E, Slice(I; s, e)) = Slice(Gather(E, I); s, e) for constants E and I"""
    part = gather(x, slice_at(i, s, e, k, m), a)
    whole = slice_at(gather(x, i, a), s, e, moved_axes(k, a), m)
    yield rewrite(
        part, whole, is_inside(i, x, a), guard(are_few(x, i, a)), because="the whole is more to take"
    )


# --- shifts ---------------------------------------------------------------------------------------------


@hosted()
def rows_from(c: Fact, i: Fact, e: Fact, axis: Axis) -> Slices | None:
    """What is left of a table for indices that are not negative and are shifted by one number.

    An index that has no row behind it has none either way.
    """
    dim, first, found = dim_at(e, axis), c.splat, range_of(i)
    if not isinstance(first, int) or not isinstance(dim, int) or not 0 < first < dim or found is None:
        return None
    if found[0] < 0 or found[1] + first > integer_range(i.dtype)[1] or not broadcasts_into(c.shape, i.shape):
        return None
    return ((axis, first, dim, 1),)


def _shifted(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    e, two = g.random(6, 4), g.constant(np.array(2))
    best = arg_reduce("ArgMax", g.input(("N", 3, 4)), 2, 0, 0)
    yield from g.all_fire(
        gather(e, best + two, 0), gather(g.random(2, 7), best + g.constant(np.array([1])), 1)
    )
    small = cast(g.input(("N",), TensorProto.UINT8), TensorProto.INT32)
    yield g.fires(gather(g.random(300, 2), small + g.constant(np.array(5, np.int32)), 0))
    below = unary("Clip", (("max", 3), ("min", -1)), g.input((3,), INT64))
    large = unary("Clip", (("max", 2**63 - 1), ("min", 0)), g.input((3,), INT64))
    yield from g.near_misses(
        (gather(e, below + two, 0), "an index may be negative"),
        (gather(e, large + two, 0), "a sum may be negative"),
        (gather(e, best + g.constant(np.array(-1)), 0), "a shift to the front"),
        (gather(e, best + g.constant(np.array([0, 1, 2])), 0), "not all are shifted by as much"),
        (gather(e, best + g.constant(np.ones((2, 1, 1), np.int64)), 0), "the shift makes more of them"),
        (gather(e, best * two, 0), "a product"),
    )


@law(kind="move", source="RoBERTa: its positions begin at 2", examples=_shifted)
def taken_behind(e: Tensor, i: Tensor, c: Tensor, a: Axis):
    """Gather(E, i + c) = Gather(E[c:], i) for a constant E, a number c > 0, and i that are not negative"""
    rest = slice_(e, rows_from(c, i, e, a))
    demand = guard(is_constant(e), varies(i))
    yield rewrite(gather(e, i + c, a), gather(rest, i, a), demand, because="forgets what is in front")
