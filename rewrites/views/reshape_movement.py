"""Views sink past broadcasting operators, so that views of one value meet and compose.

Reshape(x) op y -> Reshape(x op y)                where the view does not concern y's axes
Reshape(x) op c -> Reshape(x op Reshape'(c))      for a constant c
Reshape(x) op Reshape(y) -> Reshape(x op y)       where both views do the same to the axes
Where(.., Reshape(x), ..) -> Reshape(Where(.., x, ..)) likewise

The dims of the other operand in front of the view are computed by `view_shapes`.
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, law, rewrite
from egraph_opt.laws.sorts import Dims, Int, String, Tensor
from egraph_opt.operators import binary, reshape, where
from egraph_opt.rewrites.conditions.operands import among, any_place, beside, either_side
from egraph_opt.rewrites.conditions.view_shapes import kept_dims, known_dims, moved_dims, views_agree

_ONE_WAY = "views that sink meet; to rise as well adds a third to the e-nodes of some models"


@hosted()
def may_stand(op: str, side: int) -> bool:
    """A slope may not have more axes than what it multiplies."""
    return op != "PRelu" or side == 0


def _others(rng: np.random.Generator) -> Iterator[Example]:
    for why, shape, dims, other in (
        ("", ("N", "L", 4), ("N", 1, "L", 4), ("L", 4)),
        ("", ("N", 1, "L", 4), ("N", "L", 4), ("L", 1)),
        ("the view splits an axis of the other", (2, 3, 4), (6, 4), (6, 1)),
        ("the other has other dims at the new axis", (1, "L"), (1, "L", 1), ("L", 3)),
        ("the axis that goes is not known", (4, 1, 1), (4, 1), (4, 5)),
    ):
        g = Operands(rng)
        made = binary("Sub", g.input(other), reshape(g.input(shape), dims))
        yield g.near_miss(made, why=why) if why else g.fires(made)


@law("reshape", numerics="bitwise", kind="move", examples=_others, uses=(either_side,))
def past_partner(x: Tensor, y: Tensor, op: String, dims: Dims, i: Int):
    """Reshape(x) op y = Reshape(x op y) where the view leaves y's axes as they are

    y is a scalar, or has only axes that the view neither splits, merges nor shifts.
    """
    z = beside(op, reshape(x, dims), y, i)
    moved = reshape(beside(op, x, y, i), known_dims(z))
    yield rewrite(z, moved, kept_dims(x, dims, y), may_stand(op, i), because=_ONE_WAY)


def _constants(rng: np.random.Generator) -> Iterator[Example]:
    for shape, dims, other in (
        (("N", 3, 1, "L"), ("N", 3, "L"), (3, 1)),
        (("N", 3, "L"), ("N", 3, 1, "L"), (3, 1, 1)),
        (("N", 3, 4, 5), ("N", 3, 20), (1, 20)),
        (("N", 3, 4, 5), ("N", 3, 20), (3, 20)),
    ):
        g = Operands(rng)
        x, c = g.input(shape), g.random(*other)
        yield g.fires(binary("Sub", reshape(x, dims), c))
        yield g.fires(binary("Sub", c, reshape(x, dims)))
    g = Operands(rng)
    x, c = reshape(g.input((6, 4)), (2, 12)), g.random(2, 1)
    yield g.near_miss(binary("Add", x, c), why="an axis of the constant meets part of a merged one")
    x, y = reshape(g.input(("N", 3, 1, "L")), ("N", 3, "L")), g.input((3, 1))
    yield g.near_miss(binary("Add", x, y), why="the other is no constant")


@law(
    "reshape",
    numerics="bitwise",
    kind="move",
    source="Ascend auto-optimizer, Conv1d2Conv2d",
    examples=_constants,
    uses=(either_side,),
)
def past_constant(x: Tensor, c: Tensor, op: String, dims: Dims, i: Int):
    """Reshape(x) op c = Reshape(x op Reshape'(c)) for a constant c"""
    before = reshape(c, moved_dims(x, dims, c))
    z = beside(op, reshape(x, dims), c, i)
    moved = reshape(beside(op, x, before, i), known_dims(z))
    yield rewrite(z, moved, may_stand(op, i), because=_ONE_WAY)


def _both(rng: np.random.Generator) -> Iterator[Example]:
    for why, op, x_shape, x_dims, y_shape, y_dims in (
        ("", "Sub", ("N", 3, 1, "L"), ("N", 3, "L"), ("N", 3, 1, 1), ("N", 3, 1)),
        ("", "Sub", ("N", 3, 1, "L"), ("N", 3, "L"), (3, 1, "L"), (3, "L")),
        ("", "Sub", ("N", 3), ("N", 3, 1, 1), ("N", 1), ("N", 1, 1, 1)),
        ("the views drop different axes", "Add", (4, 1, 4), (4, 4), (1, 4, 4), (4, 4)),
        ("the dims in front of the views differ", "Add", (2, 3, 4), (6, 4), (2, 12), (6, 4)),
        ("a slope may not have more axes than x", "PRelu", (3,), (3,), (1, 1, 3), (1, 3)),
    ):
        g = Operands(rng)
        made = binary(op, reshape(g.input(x_shape), x_dims), reshape(g.input(y_shape), y_dims))
        yield g.near_miss(made, why=why) if why else g.fires(made)


@law(
    "reshape",
    numerics="bitwise",
    kind="move",
    source="Ascend auto-optimizer, Conv1d2Conv2d; TASO",
    examples=_both,
)
def past_view(x: Tensor, y: Tensor, op: String, a: Dims, b: Dims):
    """Reshape_a(x) op Reshape_b(y) = Reshape(x op y) where both views do the same to the axes"""
    z = binary(op, reshape(x, a), reshape(y, b))
    moved = reshape(binary(op, x, y), known_dims(z))
    yield rewrite(z, moved, views_agree(op, x, a, y, b), because="forgets a and b")


@hosted()
def dims_in_front(x: Fact, dims: Dims, y: Fact) -> Dims | None:
    """The dims of another operand of Where in front of the view: it stays, or is a constant."""
    kept: Dims | None = kept_dims(x, dims, y)
    moved: Dims | None = moved_dims(x, dims, y)
    return moved if kept is None else kept


def _conditionals(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    condition = reshape(g.input(("N", 1, "L"), TensorProto.BOOL), ("N", 1, 1, "L"))
    yield g.fires(where(condition, g.constant(np.float32(0)), g.constant(np.float32(-1e9))))
    g = Operands(rng)
    x, mask = reshape(g.input(("N", 3, 1, "L")), ("N", 3, "L")), np.array([[True], [False], [True]])
    yield g.fires(where(g.constant(mask), x, g.random(3, 1)))
    yield g.fires(where(g.input((), TensorProto.BOOL), g.random(1, 1), x))
    varying = where(g.input((3, 1), TensorProto.BOOL), x, g.random(3, 1))
    yield g.near_miss(varying, why="the condition would have to be reshaped")


@law("reshape", numerics="bitwise", kind="move", examples=_conditionals, uses=(any_place,))
def past_where(x: Tensor, y: Tensor, w: Tensor, dims: Dims, k: Int):
    """Where(.., Reshape(x), ..) = Reshape(Where(.., x, ..)) where the others stay or are constants"""
    y_, w_ = (reshape(other, dims_in_front(x, dims, other)) for other in (y, w))
    z, before = among(reshape(x, dims), y, w, k), among(x, y_, w_, k)
    yield rewrite(z, reshape(before, known_dims(z)), because=_ONE_WAY)
