"""One row by an index that the model computes: it is taken before what is computed row by row.

Gather(x @ W, i) -> Gather(x, i) @ W                              for a constant W
Gather(f(x), i) -> f(Gather(x, i))
Gather(x op c, i) -> Gather(x, i) op c                            where c is the same for all rows
Gather(x op y, i) -> Gather(x, i) op Gather(y, i)
Gather(LayerNormalization(x), i) -> LayerNormalization(Gather(x, i))

A language model reads the last token like this.  `gathered_rows` has the same of GatherND, `lone_rows` of an
index that is known.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import is_constant, tanh, varies
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axes, Axis, Float, Int, Settings, String, Tensor
from egraph_opt.operators import cast, gather
from egraph_opt.rewrites.conditions.operands import (
    beside,
    either_side,
    function_of,
    functions,
    normalised,
    norms,
)
from egraph_opt.rewrites.linear.gathered_rows import MORE, is_gathered
from egraph_opt.rewrites.linear.lone_rows import norms_of, of_one_rank
from egraph_opt.rewrites.slicing.slice import dim_at
from egraph_opt.rewrites.transposes.movement import is_single

law = laws_of("joining", numerics="bitwise", kind="move", serves="arithmetic", source="GPT-2: its last token")


@hosted()
def is_of_several(x: Fact, axis: Axis) -> bool:
    """One is taken of more elements, or of nobody knows how many, and other axes stay."""
    return x.rank is not None and x.rank >= 2 and dim_at(x, axis) != 1


@hosted()
def is_row(x: Fact, axis: Axis, w: Fact) -> bool:
    """Rows are taken of something that is multiplied by one matrix."""
    return x.rank is not None and axis < x.rank - 1 and w.rank == 2


@hosted()
def is_alike_for_all(c: Fact, x: Fact, axis: Axis) -> bool:
    """Of c each row that is taken sees the same."""
    return c.rank is not None and x.rank is not None and c.rank < x.rank - axis


@hosted()
def axes_of_taken(axes: Axes, x: Fact, i: Fact, axis: Axis) -> Axes | None:
    """Where axes of x, none of them empty and all behind the one that is taken from, are in what is taken."""
    if i.rank is None or x.shape is None or 0 in x.shape or min(axes, default=0) <= axis:
        return None
    return tuple(k - 1 + i.rank for k in axes)


def _lone(x: Any, i: Any, axis: Any) -> Any:
    """The guard that one of several is taken, by an index that is computed."""
    return guard(varies(x), varies(i), is_single(i), is_of_several(x, axis))


# --- products -------------------------------------------------------------------------------------------


def _products(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, i, one = g.input(("N", 6, 5)), g.random(5, 8), g.input((), INT64), g.input((1,), INT64)
    yield from g.all_fire(gather(x @ w, i, 1), gather(x @ w, one, 0), gather(g.input((6, 5)) @ w, i, 0))
    yield from g.near_misses(
        (gather(x @ w, i, 2), "columns"),
        (gather(x @ g.input((5, 8)), i, 1), "it is no constant"),
        (gather(x @ g.random(6, 5, 8), i, 1), "a matrix for each"),
        (gather(x @ w, g.input((2,), INT64), 1), "two rows"),
        (gather(x @ w, g.constant(np.array(3)), 1), "the index is known"),
    )


@law(numerics="reassociates", examples=_products)
def row_of_product(x: Tensor, w: Tensor, i: Tensor, a: Axis):
    """Gather(x @ W, i) = Gather(x, i) @ W for a constant W and one index"""
    y, known = x @ w, (is_row(x, a, w), *_lone(x, i, a), *guard(is_constant(w)))
    yield rewrite(gather(y, i, a), gather(x, i, a) @ w, *known, because=MORE)


# --- functions and operators ----------------------------------------------------------------------------


def _operators(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, i = g.input(("N", 6, 5)), g.input(("N", 6, 5)), g.input((), INT64)
    c, half = g.random(5), g.constant([0.5])
    yield from g.all_fire(
        gather(tanh(x), i, 1), gather(x + c, i, 1), gather(half - x, i, 1), gather(x * y, i, 1)
    )
    yield from g.near_misses(
        (gather(x + g.random(6, 5), i, 1), "rows differ in it"),
        (gather(x + g.input(("N", 1, 5)), i, 1), "one is broadcast"),
        (gather(tanh(g.input((6,))), i, 0), "a number"),
        (gather(tanh(g.input((6, 1))), i, 1), "there is one"),
    )
    bytes_ = gather(cast(cast(x, T.FLOAT8E4M3FN), T.FLOAT), i, 1)
    yield replace(g.near_miss(bytes_, why="no rows are taken of these"), opset=19)


@law(uses=(functions, either_side), examples=_operators)
def row_of_operator(op: String, t: Settings, x: Tensor, z: Tensor, i: Tensor, a: Axis, k: Int):
    """Gather(f(x), i) = f(Gather(x, i)), Gather(x op c, i) = Gather(x, i) op c for a c of rows, one index"""
    row, known = gather(x, i, a), _lone(x, i, a)
    made = function_of(op, t, row)
    yield rewrite(gather(function_of(op, t, x), i, a), made, is_gathered(x), *known, because=MORE)
    y = beside(op, x, z, k)
    alike, both = beside(op, row, z, k), beside(op, row, gather(z, i, a), k)
    yield rewrite(gather(y, i, a), alike, is_alike_for_all(z, x, a), *known, because=MORE)
    alone = (of_one_rank(x, y), of_one_rank(z, y), *known, *guard(varies(z)))
    yield rewrite(gather(y, i, a), both, *alone, because=MORE)


# --- normalization --------------------------------------------------------------------------------------


def _normalised(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, i, one = g.input(("N", 6, 5)), g.input((), INT64), g.input((1,), T.INT32)
    yield from g.all_fire(*(gather(norm, k, 1) for norm in norms_of(g, x, (2,), 5) for k in (i, one)))
    wide = norms_of(g, x, (1, 2), 6, 5)[2]
    yield g.near_miss(gather(wide, i, 1), why="along an axis that is taken from")


@law(numerics="reassociates", uses=(norms,), examples=_normalised)
def row_of_normalised(
    kind: String, x: Tensor, c: Tensor, d: Tensor, axes: Axes, eps: Float, i: Tensor, a: Axis
):  # fmt: skip
    """Gather(LayerNormalization(x), i) = LayerNormalization(Gather(x, i)) of one whole row"""
    y, row = normalised(kind, x, c, d, axes, eps), gather(x, i, a)
    made = normalised(kind, row, c, d, axes_of_taken(axes, x, i, a), eps)
    yield rewrite(gather(y, i, a), made, *_lone(x, i, a), because=MORE)
