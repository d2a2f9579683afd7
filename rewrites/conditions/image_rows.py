"""A row [a, b, c] as an image of height 1, [a, b, 1, c]: the views, and what becomes of axes (see `conv1d`).

No laws here.
"""

from typing import Any

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import guard, hosted
from egraph_opt.laws.sorts import Axis, Dims, Tensor
from egraph_opt.operators import reshape
from egraph_opt.operators.terms import limit
from egraph_opt.rewrites.conditions.view_shapes import known_dims, with_units

UNIT = 2
"""The axis that is inserted: height."""


@hosted()
def lifted_dims(x: Fact) -> Dims | None:
    """[a, b, 1, c] of a value [a, b, c]; operands of lower rank fit to it by broadcasting."""
    if not x.is_symbolic or x.shape is None or len(x.shape) > 3:
        return None
    return with_units(x.shape, frozenset([1]))


@hosted()
def lowered_dims(x: Fact) -> Dims | None:
    """[a, b, c] of a value [a, b, 1, c]."""
    if not x.is_symbolic or x.shape is None or len(x.shape) != 4 or x.shape[UNIT] != 1:
        return None
    return (*x.shape[:UNIT], x.shape[UNIT + 1])


@hosted()
def image_dims(x: Fact) -> Dims | None:
    """[a, b, 1, c] of a value [a, b, c] of full rank."""
    return lifted_dims(x) if x.rank == UNIT + 1 else None


def lift(x: Tensor) -> Any:
    """Unsqueeze(x) of an operand, which may be broadcast."""
    return reshape(x, lifted_dims(x))


def unsqueeze(x: Tensor) -> Any:
    """Unsqueeze(x)"""
    return reshape(x, image_dims(x))


def lower(x: Tensor) -> Any:
    """Squeeze(x)"""
    return reshape(x, lowered_dims(x))


@hosted()
def other_dims(x: Fact) -> Dims | None:
    """[a, b, c] of an image, [a, b, 1, c] of a value of full rank that is none."""
    dims: Dims | None = image_dims(x) or lowered_dims(x)
    return dims


def view(x: Tensor) -> Any:
    """Squeeze(x) of an image, Unsqueeze(x) of a row."""
    return reshape(x, other_dims(x))


def viewed_as(y: Tensor, other: Tensor) -> Any:
    """Squeeze(other) or Unsqueeze(other), where that is y."""
    return reshape(other, known_dims(y))


DEMAND = guard(limit("lift_conv1d"))
"""The target convolves images only."""

SHARED: dict[str, Any] = {
    "kind": "move",
    "serves": "target",
    "source": "Ascend auto-optimizer, Conv1d2Conv2d",
}
"""What the laws of this ruleset have in common."""


@hosted()
def lifted_axis(axis: Axis) -> Axis:
    """Where an axis of [a, b, c] is in [a, b, 1, c]."""
    return axis + (axis >= UNIT)


@hosted()
def lowered_axis(axis: Axis) -> Axis | None:
    """Where an axis of [a, b, 1, c] is in [a, b, c]; None for the unit axis."""
    return None if axis == UNIT else axis - (axis > UNIT)
