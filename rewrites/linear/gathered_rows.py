"""Of what is computed row by row, rows are taken before.

GatherND(x @ W, i) -> GatherND(x, i) @ W                                  for a constant W
GatherND(f(x), i) -> f(GatherND(x, i))
GatherND(x op c, i) -> GatherND(x, i) op c                                where c is the same for all rows
GatherND(x op y, i) -> GatherND(x, i) op GatherND(y, i)
GatherND(LayerNormalization(x), i) -> LayerNormalization(GatherND(x, i))

The projection of a text reads one token of each.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.dtypes import HOLDS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import is_constant, tanh, varies
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axes, Axis, Float, Int, Settings, String, Tensor
from egraph_opt.operators import cast, gather_nd
from egraph_opt.rewrites.conditions.operands import (
    beside,
    either_side,
    function_of,
    functions,
    normalised,
    norms,
)
from egraph_opt.rewrites.linear.lone_rows import norms_of, of_one_rank

law = laws_of(
    "joining",
    numerics="bitwise",
    kind="move",
    serves="arithmetic",
    source="CLIP, arXiv 2103.00020: the pooler reads the token that ends a text",
)

MORE = "all rows are more to compute"


def _axes_behind(x: Fact, i: Fact, batches: int) -> int | None:
    """How many axes of x are behind those that are taken from; None where that is not known."""
    if x.shape is None or not i.shape or not isinstance(i.shape[-1], int):
        return None
    behind = len(x.shape) - batches - i.shape[-1]
    return behind if behind >= 0 and i.shape[-1] > 0 else None


@hosted()
def takes_rows(x: Fact, i: Fact, batches: Axis, w: Fact) -> bool:
    """Whole rows, that are multiplied by a matrix."""
    return w.rank == 2 and (_axes_behind(x, i, batches) or 0) >= 1


@hosted()
def is_gathered(x: Fact) -> bool:
    """GatherND takes the type in each opset that has it: no floats of 8 bits, say, of which a Cast comes."""
    return x.dtype in HOLDS and x.dtype != T.BFLOAT16


@hosted()
def is_alike_for_all(c: Fact, x: Fact, i: Fact, batches: Axis) -> bool:
    """Of c each row that is taken sees the same."""
    behind = _axes_behind(x, i, batches)
    return c.rank is not None and behind is not None and c.rank <= behind


@hosted()
def axes_of_taken(axes: Axes, x: Fact, i: Fact, batches: Axis) -> Axes | None:
    """Where axes of x, which are all behind those that are taken from, are in what is taken."""
    behind = _axes_behind(x, i, batches)
    if behind is None or x.shape is None or i.shape is None or min(axes, default=0) < len(x.shape) - behind:
        return None
    return tuple(axis - (len(x.shape) - behind) + len(i.shape) - 1 for axis in axes)


def _in_opset_19(examples: Iterator[Example]) -> Iterator[Example]:
    return (replace(example, opset=19) for example in examples)


# --- products -------------------------------------------------------------------------------------------


def _products(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, i, one = g.input(("N", 6, 5)), g.random(5, 8), g.input(("N", 1), INT64), g.input((2,), INT64)
    yield from g.all_fire(gather_nd(x @ w, i, 1), gather_nd(x @ w, one, 0))
    yield from g.near_misses(
        (gather_nd(x @ w, g.input(("N", 2), INT64), 1), "single elements"),
        (gather_nd(x @ g.input((5, 8)), i, 1), "it is no constant"),
        (gather_nd(x @ g.random(2, 5, 8), g.input((2, 1), INT64), 1), "a matrix for each batch"),
        (gather_nd(x, i, 1), "there is no product"),
    )


@law(numerics="reassociates", examples=lambda rng: _in_opset_19(_products(rng)))
def taken_rows_of_product(x: Tensor, w: Tensor, i: Tensor, b: Axis):
    """GatherND(x @ W, i) = GatherND(x, i) @ W for a constant W"""
    y, known = x @ w, guard(is_constant(w), varies(x))
    yield rewrite(gather_nd(y, i, b), gather_nd(x, i, b) @ w, takes_rows(y, i, b, w), *known, because=MORE)


# --- functions and operators ----------------------------------------------------------------------------


def _operators(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, i = g.input(("N", 6, 5)), g.input(("N", 6, 5)), g.input(("N", 1), INT64)
    c, half = g.random(5), g.constant([0.5])
    yield from g.all_fire(
        gather_nd(tanh(x), i, 1), gather_nd(x + c, i, 1), gather_nd(half - x, i, 1), gather_nd(x * y, i, 1)
    )
    yield from g.near_misses(
        (gather_nd(x + g.random(6, 5), i, 1), "rows differ in it"),
        (gather_nd(cast(cast(x, T.FLOAT8E4M3FN), T.FLOAT), i, 1), "no rows are taken of these"),
        (gather_nd(x + g.input(("N", 1, 5)), i, 1), "one is broadcast"),
        (gather_nd(g.input(("N", 1, 5)) + g.input((5,)) * g.random(6, 1), i, 1), "x has other rows"),
    )


@law(uses=(functions, either_side), examples=lambda rng: _in_opset_19(_operators(rng)))
def taken_rows_of_operator(op: String, t: Settings, x: Tensor, z: Tensor, i: Tensor, b: Axis, k: Int):
    """GatherND(f(x), i) = f(GatherND(x, i)), GatherND(x op c, i) = GatherND(x, i) op c for a c of rows"""
    rows = gather_nd(x, i, b)
    known = (is_gathered(x), guard(varies(x)))
    yield rewrite(gather_nd(function_of(op, t, x), i, b), function_of(op, t, rows), *known, because=MORE)
    y = beside(op, x, z, k)
    alike, both = beside(op, rows, z, k), beside(op, rows, gather_nd(z, i, b), k)
    yield rewrite(gather_nd(y, i, b), alike, is_alike_for_all(z, x, i, b), guard(varies(x)), because=MORE)
    alone = (of_one_rank(x, y), of_one_rank(z, y), guard(varies(x), varies(z)))
    yield rewrite(gather_nd(y, i, b), both, *alone, because=MORE)


# --- normalization --------------------------------------------------------------------------------------


def _normalised(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, i = g.input(("N", 6, 5)), g.input(("N", 1), INT64)
    yield from g.all_fire(*(gather_nd(norm, i, 1) for norm in norms_of(g, x, (2,), 5)))
    wide = norms_of(g, x, (1, 2), 6, 5)[2]
    yield g.near_miss(gather_nd(wide, i, 1), why="along an axis that is taken from")


@law(numerics="reassociates", uses=(norms,), examples=lambda rng: _in_opset_19(_normalised(rng)))
def taken_rows_of_normalised(
    kind: String, x: Tensor, c: Tensor, d: Tensor, axes: Axes, eps: Float, i: Tensor, b: Axis
):  # fmt: skip
    """GatherND(LayerNormalization(x), i) = LayerNormalization(GatherND(x, i)) of whole rows"""
    y, rows = normalised(kind, x, c, d, axes, eps), gather_nd(x, i, b)
    made = normalised(kind, rows, c, d, axes_of_taken(axes, x, i, b), eps)
    yield rewrite(gather_nd(y, i, b), made, guard(varies(x)), because=MORE)
