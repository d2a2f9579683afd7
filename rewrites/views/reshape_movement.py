"""Views sink past broadcasting operators, so that views of one value meet and compose.

Reshape(x) op y -> Reshape(x op y)                where the view does not concern y's axes
Reshape(x) op c -> Reshape(x op Reshape'(c))      for a constant c
Reshape(x) op Reshape(y) -> Reshape(x op y)       where both views do the same to the axes
Where(.., Reshape(x), ..) -> Reshape(Where(.., x, ..)) likewise

The dims of the other operand in front of the view are computed by `view_shapes`.
"""

from collections.abc import Iterator
from typing import Any

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import hosted, law, ne, rewrite
from egraph_opt.laws.sorts import Dims, String, Tensor
from egraph_opt.operators import binary, reshape, where
from egraph_opt.rewrites.conditions.view_shapes import kept_dims, known_dims, moved_dims, views_agree

_ONE_WAY = "views that sink meet; to rise as well adds a third to the e-nodes of some models"


def _either_side(op: Any, x: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    """How x and y stand in an operator, and the condition: a slope may not have more axes than x."""
    yield (lambda u, v: binary(op, u, v)), ()
    yield (lambda u, v: binary(op, v, u)), ne(op, "PRelu")


@law("reshape", numerics="bitwise", kind="move")
def past_partner(x: Tensor, y: Tensor, op: String, dims: Dims):
    """Reshape(x) op y = Reshape(x op y) where the view leaves y's axes as they are

    y is a scalar, or has only axes that the view neither splits, merges nor shifts.
    """
    for place, may_stand in _either_side(op, x, y):
        z = place(reshape(x, dims), y)
        moved = reshape(place(x, y), known_dims(z))
        yield rewrite(z, moved, kept_dims(x, dims, y), may_stand, because=_ONE_WAY)


@law("reshape", numerics="bitwise", kind="move", source="Ascend auto-optimizer, Conv1d2Conv2d")
def past_constant(x: Tensor, c: Tensor, op: String, dims: Dims):
    """Reshape(x) op c = Reshape(x op Reshape'(c)) for a constant c"""
    before = reshape(c, moved_dims(x, dims, c))
    for place, may_stand in _either_side(op, x, c):
        z = place(reshape(x, dims), c)
        yield rewrite(z, reshape(place(x, before), known_dims(z)), may_stand, because=_ONE_WAY)


@law("reshape", numerics="bitwise", kind="move", source="Ascend auto-optimizer, Conv1d2Conv2d; TASO")
def past_view(x: Tensor, y: Tensor, op: String, a: Dims, b: Dims):
    """Reshape_a(x) op Reshape_b(y) = Reshape(x op y) where both views do the same to the axes"""
    z = binary(op, reshape(x, a), reshape(y, b))
    moved = reshape(binary(op, x, y), known_dims(z))
    yield rewrite(z, moved, views_agree(op, x, a, y, b), because="forgets a and b")


def _put(at: int, x: Any, *others: Any) -> Any:
    """Where of three operands, of which x is number `at`."""
    return where(*others[:at], x, *others[at:])


@hosted()
def dims_in_front(x: Fact, dims: Dims, y: Fact) -> Dims | None:
    """The dims of another operand of Where in front of the view: it stays, or is a constant."""
    kept: Dims | None = kept_dims(x, dims, y)
    moved: Dims | None = moved_dims(x, dims, y)
    return moved if kept is None else kept


@law("reshape", numerics="bitwise", kind="move")
def past_where(x: Tensor, y: Tensor, w: Tensor, dims: Dims):
    """Where(.., Reshape(x), ..) = Reshape(Where(.., x, ..)) where the others stay or are constants"""
    y_, w_ = (reshape(other, dims_in_front(x, dims, other)) for other in (y, w))
    for at in range(3):
        z, moved = (_put(at, u, *others) for u, *others in ((reshape(x, dims), y, w), (x, y_, w_)))
        yield rewrite(z, reshape(moved, known_dims(z)), because=_ONE_WAY)
