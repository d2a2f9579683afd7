"""The inputs that a part of a term is made of, where they are all of one shape: they get another one."""

from __future__ import annotations

from egraph_opt.check.beside.variants import Dims, dims_of, with_shape
from egraph_opt.check.scope import place_of_leaf
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression, parts


def shape_under(example: Example, part: Expression) -> Dims | None:
    """The one shape of all inputs in a part of a term; None where there are several, or none."""
    shapes = {dims_of(example.operands.values[place]) for place in _places(example, part)}
    return next(iter(shapes)) if len(shapes) == 1 else None


def with_shape_under(example: Example, part: Expression, shape: Dims) -> Example:
    """The same term, of inputs of another shape in one part of it."""
    for place in _places(example, part):
        example = with_shape(example, place, shape)
    return example


def _places(example: Example, part: Expression) -> list[int]:
    values = example.operands.values
    found = dict.fromkeys(place_of_leaf(each) for each in parts(part))
    return [place for place in found if place >= 0 and values[place].const_value is None]
