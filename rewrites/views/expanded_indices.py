"""Elements that are taken again, for indices that are expanded, are taken once where the dims come anyway.

Gather(x, Expand(i)) op y -> Gather(x, i) op y      where y brings the dims

Exporters of transformers expand position ids to the batch before they look positions up, and add them to
embeddings, which have the batch.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, law, rewrite
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axis, Dims, Int, String, Tensor
from egraph_opt.operators import binary, expand, expand_to, gather, shape_of
from egraph_opt.rewrites.conditions.operands import beside, either_side, moved, moves
from egraph_opt.rewrites.views.expand import brings, may_widen


@hosted()
def still_brings(z: Fact, x: Fact, i: Fact, wide: Fact, axis: Axis, y: Fact) -> bool:
    """y and what indices take of x broadcast to the dims of z, as they do where the indices are expanded."""
    if x.shape is None or i.shape is None or not (len(i.shape) == wide.rank or axis == 0):
        return False  # axes in front would stand elsewhere
    narrow = replace(x, shape=(*x.shape[:axis], *i.shape, *x.shape[axis + 1 :]))
    return bool(brings.function(z, narrow, y))


def _positions(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    rows, y, like = g.random(9, 4), g.input(("N", "L", 4)), g.input(("N", "L"))
    i, target = g.input((1, "L"), INT64), shape_of(like, 0, 2)
    yield g.fires(y + gather(rows, expand_to(i, target), 0))
    yield g.fires(gather(rows, expand_to(g.input(("L",), INT64), target), 0) * y)
    one = g.input((1, 5), INT64)
    columns, few = g.input((3, 5)), g.input((1,), INT64)
    yield g.fires(gather(columns, expand(few, (4,)), 1) - g.input((3, 4)))
    yield from g.near_misses(
        (gather(rows, expand_to(i, target), 0) + g.input((4,)), "y brings no batch"),
        (gather(columns, expand(few, (3, 1)), 1) + g.input((3, 3, 1)), "an axis more, behind another one"),
        (binary("PRelu", gather(rows, expand(one, (3, 1)), 0), g.input((3, 5, 4))), "a slope may not widen"),
    )


@law(
    "expand",
    numerics="bitwise",
    kind="eliminate",
    serves="traffic",
    source="exporters' position embeddings",
    examples=_positions,
    uses=(either_side, moves),
)
def redundant_in_indices(
    x: Tensor, y: Tensor, i: Tensor, op: String, t: Tensor, dims: Dims, a: Axis, k: Int
):  # fmt: skip
    """Gather(x, Expand(i)) op y = Gather(x, i) op y where y brings the dims"""
    indices = moved("Expand", i, t, dims)
    wide = gather(x, indices, a)
    z = beside(op, wide, y, k)
    known = still_brings(z, x, i, indices, a, y), may_widen(op, k, wide, z)
    yield rewrite(z, beside(op, gather(x, i, a), y, k), *known, because="forgets the dims")
