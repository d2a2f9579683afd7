"""Rows that are normalised one by one may move before or behind: no other row is looked at.

LayerNormalization(Transpose_p(x)) = Transpose_p(LayerNormalization(x))     where the axes of a row stay
LayerNormalization(Reshape(x)) -> Reshape(LayerNormalization(x))            where a view keeps rows
LayerNormalization(Gather_a(x, i)) -> Gather_a(LayerNormalization(x), i)    where an order is put back behind

Likewise RMSNormalization, with and without a bias.  Slices are moved in front (`linear.lone_rows`).
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, equal, guard, hosted, law, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axes, Axis, Dims, Float, Permutation, String, Tensor
from egraph_opt.operators import gather, reshape, transpose
from egraph_opt.rewrites.conditions.operands import normalised, norms
from egraph_opt.rewrites.conditions.view_shapes import changes_dims, same_dims
from egraph_opt.rewrites.linear.lone_rows import is_in_front, norms_of
from egraph_opt.rewrites.slicing.gather import constant_indices, is_vector
from egraph_opt.rewrites.slicing.restored import DEMAND, order_of, restored, restoring
from egraph_opt.rewrites.transposes.composition import is_identity

SWIN = "Swin Transformer, arXiv 2103.14030: windows of tokens, each of which is normalised"


# --- transposes -----------------------------------------------------------------------------------------


@hosted()
def keeps_rows(p: Permutation, axes: Axes) -> bool:
    """The axes from the first normalised one on stay where they are, and others do not."""
    first = min(axes, default=len(p))
    return not is_identity(p) and p[first:] == tuple(range(first, len(p)))


def _turned(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", "L", 2, 4))
    for norm in (
        *norms_of(g, transpose(x, (1, 0, 2, 3)), (3,), 4),
        *norms_of(g, transpose(x, (1, 0, 2, 3)), (2, 3), 2, 4),
    ):
        yield g.fires(norm)
    yield g.fires(transpose(norms_of(g, x, (3,), 4)[2], (0, 2, 1, 3)))
    yield from g.near_misses(
        (norms_of(g, transpose(x, (1, 0, 3, 2)), (3,), 2)[1], "columns become rows"),
        (norms_of(g, transpose(x, (0, 2, 1, 3)), (2, 3), 1, 4)[1], "an axis of rows comes from elsewhere"),
    )


@law(
    "transpose",
    numerics="reassociates",
    kind="move",
    serves="traffic",
    source=SWIN,
    examples=_turned,
    uses=(norms,),
)
def through_layer_norm(kind: String, x: Tensor, s: Tensor, b: Tensor, axes: Axes, e: Float, p: Permutation):
    """LayerNormalization(Transpose_p(x)) = Transpose_p(LayerNormalization(x)) where p keeps rows"""
    before = normalised(kind, transpose(x, p), s, b, axes, e)
    yield equal(before, transpose(normalised(kind, x, s, b, axes, e), p), keeps_rows(p, axes))


# --- views ----------------------------------------------------------------------------------------------


@hosted()
def axes_of_rows(x: Fact, y: Fact, axes: Axes) -> Axes | None:
    """The normalised axes of y as those of x, of which it is a view that keeps all from there on."""
    if x.shape is None or y.shape is None or not axes:
        return None
    length = len(y.shape) - min(axes)
    fewer = len(x.shape) - len(y.shape)
    if length > len(x.shape) or not same_dims(x.shape[len(x.shape) - length :], y.shape[min(axes) :]):
        return None
    return tuple(k + fewer for k in axes)


def _views(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 6, 2, 4))
    for norm in (
        *norms_of(g, reshape(x, ("N", 12, 4)), (2,), 4),
        *norms_of(g, reshape(x, (-1, 2, 4)), (1, 2), 2, 4),
    ):
        yield g.fires(norm)
    yield g.fires(norms_of(g, reshape(g.input((4,)), (1, 1, 4)), (2,), 4)[2])
    yield from g.near_misses(
        (norms_of(g, reshape(x, ("N", 6, 8)), (2,), 8)[1], "rows are joined"),
        (norms_of(g, reshape(x, ("N", 3, 4, 4)), (2, 3), 4, 4)[1], "several rows are one"),
    )


@law(
    "reshape",
    numerics="reassociates",
    kind="move",
    serves="traffic",
    source=SWIN,
    examples=_views,
    uses=(norms,),
)
def through_layer_norm_of_rows(
    kind: String, x: Tensor, s: Tensor, b: Tensor, axes: Axes, e: Float, dims: Dims
):
    """LayerNormalization(Reshape(x)) = Reshape(LayerNormalization(x)) of a view that keeps rows"""
    view, demand = reshape(x, dims), guard(changes_dims(x, dims))
    moved = reshape(normalised(kind, x, s, b, axes_of_rows(x, view, axes), e), dims)
    yield rewrite(
        normalised(kind, view, s, b, axes, e), moved, demand, because="views move towards the outputs"
    )


# --- orders ---------------------------------------------------------------------------------------------


def _rolled(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, order, back = (
        g.input(("N", 5, 4)),
        *(constant_indices(g, v) for v in ([2, 3, 4, 0, 1], [3, 4, 0, 1, 2])),
    )
    for norm in norms_of(g, gather(x, order, 1), (2,), 4):
        yield g.fires(gather(norm, back, 1))
    yield from g.near_misses(
        (gather(norms_of(g, gather(x, order, 1), (2,), 4)[1], order, 1), "nothing is put back"),
        (
            gather(norms_of(g, gather(x, order, 1), (1, 2), 5, 4)[1], back, 1),
            "along an axis that is normalised",
        ),
    )


@law(
    "gather",
    numerics="reassociates",
    kind="move",
    serves="traffic",
    source=SWIN,
    examples=_rolled,
    uses=(norms, restoring),
)
def normalised_in_order(
    kind: String, x: Tensor, s: Tensor, b: Tensor, i: Tensor, a: Axis, axes: Axes, e: Float
):
    """LayerNormalization(Gather(x, i)) = Gather(LayerNormalization(x), i) of rows that are put back"""
    demand = guard(restored(a, order_of(x, i, a)), varies(x))
    behind = gather(normalised(kind, x, s, b, axes, e), i, a)
    before = normalised(kind, gather(x, i, a), s, b, axes, e)
    yield rewrite(before, behind, is_in_front(a, axes), is_vector(i), demand, because=DEMAND)
