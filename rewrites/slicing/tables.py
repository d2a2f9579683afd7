"""Functions of rows that are taken from a constant table are rows of another table.

f(Gather(W, i)) -> Gather(f(W), i)              functions of each element, also with a constant; reductions,
                                                normalisations and Softmax of each row
Gather(W, i) @ M -> Gather(W @ M, i)            where that table is no larger than W and M, or small
Transpose(Gather(W, i)) -> Gather(Transpose(W), i)
Concat(Gather(V, i), Gather(W, i)) -> Gather(Concat(V, W), i)

The table is computed once.  Of the tables that give one result, the first that was found goes on.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.dtypes import INTEGERS
from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws import (
    Example,
    Operands,
    assign,
    auxiliary,
    eq,
    guard,
    hosted,
    laws_of,
    rewrite,
    rule,
    table,
)
from egraph_opt.laws.algebra import relu, tanh
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import (
    Axes,
    Axis,
    Dims,
    Flag,
    Float,
    Int,
    Permutation,
    Settings,
    String,
    Tensor,
    Tensors,
)
from egraph_opt.operators import binary, cast, concat, gather, reduce, reshape, softmax, transpose
from egraph_opt.operators.composites import layer_norm, rms_norm, shifted_layer_norm
from egraph_opt.operators.terms import cons, listed, nil
from egraph_opt.rewrites.conditions.channels import product_fits, static_shape
from egraph_opt.rewrites.conditions.combining import product_is_small
from egraph_opt.rewrites.conditions.float_types import is_taken_from
from egraph_opt.rewrites.conditions.operands import beside, either_side, function_of, functions
from egraph_opt.rewrites.conditions.values import broadcasts_into
from egraph_opt.rewrites.linear.joined_products import differ_along
from egraph_opt.rewrites.slicing.concat import listing, operands_of

LARGEST_TABLE = 2**22
"""Elements of a table that is written again; the other one may be there for somebody else."""

law = laws_of("tables", numerics="bitwise", kind="move", serves="launches", source="exporters' embeddings")


@table(merge="first")
def table_of(y: Tensor, i: Tensor, axis: Axis) -> Tensor:
    """The constant W of y = Gather(W, i) of which laws make others."""


@hosted()
def is_table(w: Fact, i: Fact) -> bool:
    """A constant of known dims, not too large, from which indices take that are known when the model runs."""
    dims = static_shape(w)
    return w.const and bool(dims) and 0 < math.prod(dims or ()) <= LARGEST_TABLE and not i.const


@auxiliary()
def tables(y: Tensor, w: Tensor, i: Tensor, a: Axis):
    """Fills `table_of`."""
    yield rule(eq(y, gather(w, i, a)), is_table(w, i), then=assign(table_of(y, i, a), w))


def _taken(w: Any, i: Any, a: Any) -> tuple[Any, Any]:
    """Rows of a table, and the guard that it is the one that goes on."""
    rows = gather(w, i, a)
    return rows, guard(eq(w, table_of(rows, i, a)))


def _operands(rng: np.random.Generator) -> tuple[Operands, Any, Any]:
    """Indices, as many as are known when the model runs, and a table of six rows."""
    g = Operands(rng)
    return g, g.input(("N", 3), INT64), g.random(6, 4)


# --- functions of each element ---------------------------------------------------------------------------


def _functions(rng: np.random.Generator) -> Iterator[Example]:
    g, i, w = _operands(rng)
    yield g.fires(relu(gather(w, i, 0)))
    yield g.fires(tanh(gather(w, i, 1)))
    yield g.fires(cast(gather(g.constant(np.arange(6)), i, 0), TensorProto.FLOAT))
    byte = cast(gather(w, i, 0), TensorProto.FLOAT8E4M3FN)
    late = g.near_miss(cast(byte, TensorProto.FLOAT), why="no Gather takes floats of 8 bits")
    yield replace(late, opset=19)
    yield g.near_miss(relu(gather(g.input((6, 4)), i, 0)), why="the table is no constant")
    yield g.near_miss(relu(gather(w, g.constant(np.array([1, 4, 1])), 0)), why="the indices are constant")


@law(uses=(functions, tables), examples=_functions)
def function_of_rows(op: String, s: Settings, w: Tensor, i: Tensor, a: Axis):
    """f(Gather(W, i)) = Gather(f(W), i) for functions of each element of a constant W"""
    rows, known = _taken(w, i, a)
    made = gather(function_of(op, s, w), i, a)
    known = (*known, is_taken_from(s, op))
    yield rewrite(function_of(op, s, rows), made, *known, because="what is taken is less to compute")


def along(axis: int, place: int, indices: int) -> int | None:
    """The axis of a table for one of what is taken from it, which has so many axes for that at a place."""
    if place <= axis < place + indices:
        return None
    return axis if axis < place else axis - indices + 1


@hosted()
def dims_beside_table(op: str, c: Fact, w: Fact, i: Fact, axis: Axis, side: int) -> Dims | None:
    """The dims of a constant beside a table that stands beside what is taken from it.

    Integers are not divided by a row that is never taken: it may be 0.
    """
    dims, shape = static_shape(c), static_shape(w)
    if dims is None or shape is None or i.rank is None or not c.const or (op == "PRelu" and side):
        return None
    if op in ("Div", "Mod", "Pow") and w.dtype in INTEGERS:
        return None
    inside: list[Dim] = [1] * i.rank
    rank = len(shape) + i.rank - 1
    if len(dims) > rank:
        return None
    full = (1,) * (rank - len(dims)) + dims
    if not broadcasts_into(full, (*shape[:axis], *inside, *shape[axis + 1 :])):
        return None
    return (*full[:axis], 1, *full[axis + i.rank :])


def _beside(rng: np.random.Generator) -> Iterator[Example]:
    g, i, w = _operands(rng)
    rows = gather(w, i, 0)
    yield g.fires(rows * g.constant(3.0))
    yield g.fires(g.random(4) - rows)
    yield g.fires(gather(g.random(3, 6, 2), i, 1) + g.random(3, 1, 1, 2))
    yield g.fires(binary("PRelu", rows, g.random(4)))
    whole = g.constant(np.arange(6))
    yield from g.near_misses(
        (rows * g.random(3, 1), "it differs from index to index"),
        (rows * g.random(2, 1, 1, 1), "it makes more of it"),
        (rows * g.input((4,)), "it varies"),
        (binary("Div", g.constant(np.array(6)), gather(whole, i, 0)), "a row may be 0"),
    )


@law(uses=(either_side, tables), examples=_beside)
def constant_beside_rows(op: String, w: Tensor, i: Tensor, c: Tensor, a: Axis, k: Int):
    """Gather(W, i) op c = Gather(W op c, i) for a constant c that is the same for all indices"""
    rows, known = _taken(w, i, a)
    made = gather(beside(op, w, reshape(c, dims_beside_table(op, c, w, i, a, k)), k), i, a)
    yield rewrite(beside(op, rows, c, k), made, *known, because="what is taken is less to compute")


# --- functions of rows -----------------------------------------------------------------------------------


@hosted()
def axes_of_table(axes: Axes, axis: Axis, i: Fact) -> Axes | None:
    """The axes of a table for some of what is taken from it, none of which counts what is taken."""
    found = None if i.rank is None else [along(k, axis, i.rank) for k in axes]
    return None if found is None or None in found else tuple(found)  # type: ignore[arg-type]


@hosted()
def place_without(axes: Axes, axis: Axis, keepdims: int) -> Axis:
    """Where an axis of a table is behind a reduction along other ones."""
    return axis if keepdims else axis - sum(k < axis for k in axes)


@hosted()
def are_behind(axes: Axes, axis: Axis) -> bool:
    """Axes behind one."""
    return all(k > axis for k in axes)


def _reduced(rng: np.random.Generator) -> Iterator[Example]:
    g, i, w = _operands(rng)
    for keepdims in (0, 1):
        yield g.fires(reduce("ReduceMean", gather(w, i, 0), (2,), keepdims))
        yield g.fires(reduce("ReduceMax", gather(g.random(3, 6, 2), i, 1), (0, 3), keepdims))
    yield g.near_miss(reduce("ReduceSum", gather(w, i, 0), (1,), 1), why="along the indices")
    yield g.near_miss(reduce("ReduceSum", gather(w, i, 0), (1, 2), 1), why="along the indices, too")


@law(numerics="reassociates", uses=(tables,), examples=_reduced)
def reduced_rows(kind: String, w: Tensor, i: Tensor, a: Axis, axes: Axes, keep: Flag):
    """Reduce(Gather(W, i)) = Gather(Reduce(W), i) along axes that W has"""
    rows, known = _taken(w, i, a)
    own = axes_of_table(axes, a, i)
    made = gather(reduce(kind, w, own, keep), i, place_without(own, a, keep))
    yield rewrite(reduce(kind, rows, axes, keep), made, *known, because="forgets W")


def _normalized(rng: np.random.Generator) -> Iterator[Example]:
    g, i, w = _operands(rng)
    rows, s, b = gather(w, i, 0), g.random(4), g.random(4)
    yield g.fires(rms_norm(rows, s, (2,), 1e-5))
    yield g.fires(layer_norm(rows, s, (2,), 1e-5))
    yield g.fires(shifted_layer_norm(rows, s, b, (2,), 1e-5))
    yield from g.near_misses(
        (layer_norm(rows, g.random(3, 4), (1, 2), 1e-5), "of several rows"),
        (shifted_layer_norm(rows, s, g.input((4,)), (2,), 1e-5), "the bias varies"),
    )
    column, other = g.random(4, 1), g.random(4, 1)
    of_column = gather(g.random(4, 4, 4), g.input((), INT64), 1)
    for norm in (
        rms_norm(of_column, column, (0,), 1e-5),
        layer_norm(of_column, column, (0,), 1e-5),
        shifted_layer_norm(of_column, column, other, (0,), 1e-5),
    ):
        yield g.near_miss(norm, why="the scale has fewer axes than the table")


@law(numerics="reassociates", uses=(tables,), examples=_normalized)
def normalized_rows(w: Tensor, i: Tensor, s: Tensor, b: Tensor, a: Axis, axes: Axes, e: Float):
    """Layer(Gather(W, i)) = Gather(Layer(W), i) of what is behind the indices; likewise RMS"""
    rows, known = _taken(w, i, a)
    own = axes_of_table(axes, a, i)
    norms: tuple[tuple[Callable[[Any, Any], Any], tuple[Any, ...]], ...] = (
        (lambda y, k: rms_norm(y, s, k, e), (s,)),
        (lambda y, k: layer_norm(y, s, k, e), (s,)),
        (lambda y, k: shifted_layer_norm(y, s, b, k, e), (s, b)),
    )
    for norm, operands in norms:
        fixed = guard(*map(is_fixed, operands))
        made = gather(norm(w, own), i, a)
        yield rewrite(norm(rows, axes), made, are_behind(own, a), *known, *fixed, because="forgets W")


@hosted()
def is_fixed(c: Fact) -> bool:
    return c.const and c.is_static


@hosted()
def axis_of_table(k: Axis, axis: Axis, i: Fact) -> Axis | None:
    return None if i.rank is None else along(k, axis, i.rank)


def _softmaxes(rng: np.random.Generator) -> Iterator[Example]:
    g, i, w = _operands(rng)
    yield g.fires(softmax("Softmax", gather(w, i, 0), 2))
    yield g.near_miss(softmax("Softmax", gather(w, i, 0), 1), why="along the indices")


@law(numerics="finite", uses=(tables,), examples=_softmaxes)
def softmax_of_rows(kind: String, w: Tensor, i: Tensor, a: Axis, k: Axis):
    """Softmax(Gather(W, i)) = Gather(Softmax(W), i) along an axis that W has"""
    rows, known = _taken(w, i, a)
    made = gather(softmax(kind, w, axis_of_table(k, a, i)), i, a)
    yield rewrite(softmax(kind, rows, k), made, *known, because="forgets W")


# --- products --------------------------------------------------------------------------------------------


@hosted()
def is_no_larger(w: Fact, m: Fact) -> bool:
    """W @ M, of a matrix whose rows are taken and a constant one, has no more elements than both, or few."""
    left, right = static_shape(w), static_shape(m)
    if left is None or right is None or len(left) != 2 or len(right) != 2 or not m.const:
        return False
    return product_is_small(left, right)


@hosted()
def is_first(axis: Axis) -> bool:
    return axis == 0


@hosted()
def fit_in_products(w: Fact, m: Fact) -> bool:
    """Sums of products of the two overflow nowhere, as far as they are known."""
    return bool(product_fits(w, m))


def _products(rng: np.random.Generator) -> Iterator[Example]:
    g, i, w = _operands(rng)
    yield g.fires(gather(w, i, 0) @ g.random(4, 4))
    for indices in (("N",), ()):
        yield g.fires(gather(w, g.input(indices, INT64), 0) @ g.random(4, 2))
    large = g.constant(np.full((4, 4), 1e30))
    yield from g.near_misses(
        (gather(w, i, 1) @ g.random(3, 2), "of what is taken along columns"),
        (gather(w, i, 0) @ g.input((4, 2)), "the matrix varies"),
        (gather(g.constant(np.full((6, 4), 1e30)), i, 0) @ large, "the table would be infinite"),
    )


@law(numerics="reassociates", serves="arithmetic", uses=(tables,), examples=_products)
def product_of_rows(w: Tensor, m: Tensor, i: Tensor, a: Axis):
    """Gather(W, i) @ M = Gather(W @ M, i) for constant matrices whose product is no larger, or small"""
    rows, known = _taken(w, i, a)
    sound = (is_first(a), is_no_larger(w, m), guard(fit_in_products(w, m)))
    yield rewrite(rows @ m, gather(w @ m, i, a), *sound, *known, because="forgets W and M")


# --- axes ------------------------------------------------------------------------------------------------


@hosted()
def order_of_table(p: Permutation, axis: Axis, i: Fact) -> tuple[Permutation, Axis] | None:
    """The permutation of a table, and the axis it is taken along, for that of what is taken, in which the
    axes that count what is taken stay side by side."""
    if not i.rank:
        return None
    place = p.index(axis) if axis in p else -1
    counting = tuple(range(axis, axis + i.rank))
    if place < 0 or p[place : place + i.rank] != counting:
        return None
    rest = (*p[:place], axis, *p[place + i.rank :])
    return tuple(k if k <= axis else k - i.rank + 1 for k in rest), place


def _transposed(rng: np.random.Generator) -> Iterator[Example]:
    g, i, w = _operands(rng)
    yield g.fires(transpose(gather(w, i, 0), (2, 0, 1)))
    yield g.fires(transpose(gather(g.random(3, 6, 2), i, 1), (3, 1, 2, 0)))
    yield g.near_miss(transpose(gather(w, i, 0), (0, 2, 1)), why="the axes of the indices come apart")
    yield g.near_miss(transpose(gather(w, i, 0), (1, 0, 2)), why="they change their order")


@law(serves="traffic", uses=(tables,), examples=_transposed)
def transposed_rows(w: Tensor, i: Tensor, a: Axis, p: Permutation):
    """Transpose(Gather(W, i)) = Gather(Transpose(W), i) where the axes of i stay side by side"""
    rows, known = _taken(w, i, a)
    found = order_of_table(p, a, i)
    made = gather(transpose(w, found[0]), i, found[1])
    yield rewrite(transpose(rows, p), made, *known, because="the Gather knows its axes no more")


# --- several tables --------------------------------------------------------------------------------------


@table(merge="first")
def tables_of(xs: Tensors, axis: Axis, i: Tensor, a: Axis) -> Tensors:
    """The tables of operands of a Concat that one tensor of indices takes."""


@auxiliary(listing, tables)
def listed_tables(x: Tensor, w: Tensor, i: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, k: Axis, a: Axis):
    """Fills `tables_of`."""
    entry, taken = tables_of(xs, k, i, a), eq(w, table_of(x, i, a))
    yield rule(operands_of(xs, k), eq(xs, cons(x, nil())), taken, then=assign(entry, cons(w, nil())))
    longer = (eq(xs, cons(x, rest)), eq(ys, tables_of(rest, k, i, a)))
    yield rule(operands_of(xs, k), *longer, taken, then=assign(entry, cons(w, ys)))


@hosted()
def joined_along(k: Axis, a: Axis, ws: tuple[Fact, ...], i: Fact) -> Axis | None:
    """The axis along which tables are joined for what is taken from them to be."""
    own = None if i.rank is None else along(k, a, i.rank)
    return own if own is not None and differ_along(ws, own) else None


def _joined(rng: np.random.Generator) -> Iterator[Example]:
    g, i, w = _operands(rng)
    rows = gather(w, i, 0)
    yield g.fires(concat(listed(rows, gather(g.random(6, 2), i, 0)), 2))
    yield g.fires(concat(listed(rows, gather(g.random(6, 2), i, 0), gather(g.random(6, 1), i, 0)), 2))
    yield from g.near_misses(
        (concat(listed(rows, gather(g.random(6, 4), i, 0)), 1), "along the indices"),
        (concat(listed(rows, gather(g.random(7, 2), i, 0)), 2), "tables of other lengths"),
        (concat(listed(rows, gather(g.random(6, 2), g.input(("N", 3), INT64), 0)), 2), "other indices"),
    )


@law(kind="merge", uses=(listed_tables,), examples=_joined)
def joined_tables(xs: Tensors, ws: Tensors, i: Tensor, k: Axis, a: Axis):
    """Concat(Gather(V, i), Gather(W, i), ..) = Gather(Concat(V, W, ..), i) for constants V, W, .."""
    made = gather(concat(ws, joined_along(k, a, ws, i)), i, a)
    yield rewrite(concat(xs, k), made, eq(ws, tables_of(xs, k, i, a)), because="forgets V and W")
