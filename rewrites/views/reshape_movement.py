"""Views sink past broadcasting operators, so that views of one value meet and compose.

Reshape(x) op y -> Reshape(x op y)                where the view does not concern y's axes
Reshape(x) op y -> x op y                         where the view has other leading axes of 1, and y hides them
Reshape(x) op c -> Reshape(x op Reshape'(c))      for a constant c
Reshape(x) op Reshape(y) -> Reshape(x op y)       where both views do the same to the axes
Reshape(x) op y -> Reshape(x op Reshape'(y))      where Reshape'(y) is written as well, of the same dims
Reshape(x op y) -> Reshape(x) op Reshape(y)       likewise, where Reshape(x) or Reshape(y) is
Where(.., Reshape(x), ..) -> Reshape(Where(.., x, ..)) likewise

The dims of the other operand in front of the view are computed by `view_shapes`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, kernel, law, rewrite
from egraph_opt.laws.algebra import relu, varies
from egraph_opt.laws.sorts import Dims, Int, String, Tensor
from egraph_opt.operators import binary, reshape, where
from egraph_opt.operators.terms import node
from egraph_opt.rewrites.conditions.chains import standing, stands
from egraph_opt.rewrites.conditions.operands import among, any_place, beside, either_side
from egraph_opt.rewrites.conditions.view_shapes import (
    broadcast,
    choices_in_front,
    have_same_dims,
    kept_dims,
    known_dims,
    moved_dims,
    same_dims,
    stripped,
    views_agree,
)

BOOL = TensorProto.BOOL
_ONE_WAY = "views that sink meet; to rise as well adds a third to the e-nodes of some models"


@hosted()
def may_stand(op: str, side: int) -> bool:
    """A slope may not have more axes than what it multiplies."""
    return op != "PRelu" or side == 0


def _partners(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    for number in (g.input(()), g.constant(np.float32(2))):
        yield g.fires(reshape(g.input((2, 6)), (3, 4)) * number)
        yield g.near_miss(binary("PRelu", number, reshape(g.input((1,)), ())), why="a slope has more axes")
    yield g.near_miss(reshape(g.input((2, 6)), (3, 4)) + g.random(4), why="the view splits the axis of y")


@law("reshape", numerics="bitwise", kind="move", uses=(either_side,), examples=_partners)
def past_partner(x: Tensor, y: Tensor, op: String, dims: Dims, i: Int):
    """Reshape(x) op y = Reshape(x op y) where the view leaves y's axes as they are

    y is a scalar, or has only axes that the view neither splits, merges nor shifts.
    """
    z = beside(op, reshape(x, dims), y, i)
    moved = reshape(beside(op, x, y, i), known_dims(z))
    yield rewrite(z, moved, kept_dims(x, dims, y), may_stand(op, i), because=_ONE_WAY)


@hosted()
def is_hidden(op: str, side: int, x: Fact, dims: Dims, y: Fact) -> bool:
    """A view has other leading axes of 1 than x, of which x op y shows none: y has as many axes as either.

    No constant has more axes for it than what it is applied to: it would give them to the next one.
    Nor has a slope.
    """
    if x.shape is None or y.rank is None or y.const or (op == "PRelu" and side == 0):
        return False
    same = same_dims(stripped(x.shape), stripped(dims)) and not same_dims(x.shape, dims)
    return same and y.rank >= max(len(x.shape), len(dims))


def _shown_ones(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    shown = reshape(g.input((4,)), (1, 1, 4))
    yield g.near_miss(shown + g.input((4,)), why="the result has the axes of the view")
    yield g.near_miss(reshape(g.input((4,)), (2, 2)) + g.input((2, 2)), why="more than leading ones differ")


@law(
    "reshape",
    numerics="bitwise",
    kind="eliminate",
    serves="traffic",
    uses=(either_side,),
    examples=_shown_ones,
)
def hidden_ones(x: Tensor, y: Tensor, op: String, dims: Dims, i: Int):
    """Reshape(x) op y = x op y where the view has other leading axes of 1, and y as many axes"""
    z = beside(op, reshape(x, dims), y, i)
    yield rewrite(z, beside(op, x, y, i), is_hidden(op, i, x, dims, y), because="forgets the dims")


def _constants(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    yield g.fires(reshape(g.input(("N", 4, 6)), ("N", 4, 2, 3)) * g.random(4, 1, 1))
    yield g.fires(g.random(1, 8, 1) - reshape(g.input(("N", 8)), ("N", 8, 1)))
    slope, c = reshape(g.input((1,)), ()), g.constant(np.float32(-2))
    yield g.near_miss(binary("PRelu", c, slope), why="a slope has more axes")


@law(
    "reshape",
    numerics="bitwise",
    kind="move",
    source="Ascend auto-optimizer, Conv1d2Conv2d",
    uses=(either_side, standing),
    examples=_constants,
)
def past_constant(x: Tensor, c: Tensor, op: String, dims: Dims, i: Int):
    """Reshape(x) op c = Reshape(x op Reshape'(c)) for a constant c"""
    before = reshape(c, moved_dims(x, dims, c))
    z = beside(op, reshape(x, dims), c, i)
    moved = reshape(beside(op, x, before, i), known_dims(z))
    demand = guard(stands(op, reshape(x, dims), c))
    yield rewrite(z, moved, demand, kernel(may_stand(op, i)), because=_ONE_WAY)


@law("reshape", numerics="bitwise", kind="move", source="Ascend auto-optimizer, Conv1d2Conv2d; TASO")
def past_view(x: Tensor, y: Tensor, op: String, a: Dims, b: Dims):
    """Reshape_a(x) op Reshape_b(y) = Reshape(x op y) where both views do the same to the axes"""
    z = binary(op, reshape(x, a), reshape(y, b))
    moved = reshape(binary(op, x, y), known_dims(z))
    yield rewrite(z, moved, views_agree(op, x, a, y, b), because="forgets a and b")


@hosted()
def dims_before(x: Fact, dims: Dims, y: Fact) -> Dims | None:
    """The dims of x, where a view of it has those of y and changes them."""
    return x.shape if x.is_symbolic and same_dims(dims, y.shape) and not same_dims(x.shape, dims) else None


def _residuals(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, rows = g.input(("N", 4, 6)), g.input(("N", 4, 6)), ("N", 24)
    view, flat = reshape(y, rows), reshape(x, rows)
    yield g.fires(relu(reshape(relu(flat), ("N", 4, 6)) - y) * reshape(view, ("N", 4, 6)))
    yield g.near_miss(reshape(flat * flat, ("N", 4, 6)) - y, why="no view of y is there")
    wide = g.input((1, 4, 6))
    rest = reshape(flat * flat, ("N", 4, 6)) - wide
    seen = reshape(reshape(wide, (1, 24)) + flat, ("N", 4, 6))
    yield g.near_miss(rest * seen, why="what is broadcast has other dims")


def _sums(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, rows = g.input(("N", 4, 6)), g.input(("N", 4, 6)), ("N", 24)
    yield from g.all_fire(reshape(x + y, rows) * reshape(x, rows), reshape(x + y, rows) * reshape(y, rows))
    yield from g.near_misses(
        (reshape(x + y, rows), "neither is viewed"),
        (reshape(x + g.input((4, 6)), rows) * reshape(x, rows), "one is broadcast"),
        (reshape(x + y, ("N", 2, 12)) * reshape(reshape(x, rows), ("N", 2, 12)), "viewed in another way"),
    )


_RESIDUAL: dict[str, Any] = {
    "numerics": "finite",
    "kind": "move",
    "serves": "traffic",
    "source": "Swin, arXiv 2103.14030",
}


@law("reshape", **_RESIDUAL, examples=_sums)
def view_of_alike(x: Tensor, y: Tensor, op: String, d: Dims, k: Int):
    """Reshape_d(x op y) = Reshape_d(x) op Reshape_d(y) of the same dims, where one of these is written"""
    whole, apart = reshape(binary(op, x, y), d), binary(op, reshape(x, d), reshape(y, d))
    for viewed, other in ((x, y), (y, x)):
        demand = guard(eq(reshape(viewed, d), node(k)), varies(other))
        yield rewrite(whole, apart, have_same_dims(x, y), demand, inverse="past_view")


# In float16 onnxruntime does not round what is between two operators without a view between them.
@law("reshape", **{**_RESIDUAL, "numerics": "reassociates"}, uses=(either_side,), examples=_residuals)
def past_viewed(x: Tensor, y: Tensor, op: String, d: Dims, i: Int, k: Int):
    """Reshape(x) op y = Reshape(x op Reshape'(y)) of the same dims, where Reshape'(y) is written"""
    other = reshape(y, dims_before(x, d, y))
    z, demand = beside(op, reshape(x, d), y, i), guard(eq(other, node(k)), varies(y))
    yield rewrite(z, reshape(beside(op, x, other, i), d), demand, inverse="view_of_alike")


@hosted()
def dims_in_front(x: Fact, dims: Dims, y: Fact) -> Dims | None:
    """The dims of another operand of Where in front of the view: it stays, or is a constant."""
    kept: Dims | None = kept_dims(x, dims, y)
    moved: Dims | None = moved_dims(x, dims, y)
    return moved if kept is None else kept


@hosted()
def are_moved_alike(x: Fact, dims: Dims, y: Fact, w: Fact) -> bool:
    """Both others take the view for the same one: which of several axes of 1 it makes, it does not say."""
    first, second = dims_in_front(x, dims, y), dims_in_front(x, dims, w)
    if first is None or second is None or x.shape is None or y.shape is None or w.shape is None:
        return False
    choices = choices_in_front(x.shape, dims, broadcast(y.shape, w.shape))
    return any(same_dims(broadcast(first, second), choice) for choice in choices)


def _others_of_where(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    condition, y, x = g.input((5,), BOOL), g.random(2, 1), g.input((1,))
    chosen = where(condition, y, reshape(x, (1, 1)))
    yield g.near_miss(chosen, why="the view inserts an axis in front for one, and behind for the other")


@law("reshape", numerics="finite", kind="move", uses=(any_place,), examples=_others_of_where)
def past_where(x: Tensor, y: Tensor, w: Tensor, dims: Dims, k: Int):
    """Where(.., Reshape(x), ..) = Reshape(Where(.., x, ..)) where the others stay or are constants"""
    y_, w_ = (reshape(other, dims_in_front(x, dims, other)) for other in (y, w))
    z, before = among(reshape(x, dims), y, w, k), among(x, y_, w_, k)
    yield rewrite(z, reshape(before, known_dims(z)), are_moved_alike(x, dims, y, w), because=_ONE_WAY)
