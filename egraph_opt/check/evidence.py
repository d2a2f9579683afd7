"""How much a law was seen to do: at which sizes."""

from __future__ import annotations

from collections.abc import Iterable

from egraph_opt.facts.fact import Shape
from egraph_opt.laws.law import Example

Shapes = tuple[Shape | None, ...]
"""Of the operands of a term, one after the other."""


def shapes_of(example: Example) -> Shapes:
    return tuple(fact.shape for fact in example.operands.facts)


def only_sizes(example: Shapes, others: Iterable[Shapes]) -> str:
    """The dims of an example that no other term has otherwise, of those with operands of the same ranks.

    A law that is right at one size, of two rows of two, say, is often wrong at others.  As many numbers as
    an operand has axes, as scales are, are no size.

    >>> only_sizes(((2, 4), (4,)), [((7, 4), (4,)), ((2, 4), (4, 4))])
    'dim 1 of operand 0 is 4, dim 0 of operand 1 is 4'
    """
    ranks = _ranks(example)
    alike = [shapes for shapes in others if _ranks(shapes) == ranks]
    found = (
        f"dim {axis} of operand {k} is {size}"
        for k, shape in enumerate(example)
        for axis, size in enumerate(shape or ())
        if isinstance(size, int) and size > 1 and not (len(shape or ()) == 1 and size in ranks)
        if all(shapes[k][axis] == size for shapes in alike)  # type: ignore[index]
    )
    return ", ".join(found)


def _ranks(shapes: Shapes) -> tuple[int | None, ...]:
    return tuple(None if shape is None else len(shape) for shape in shapes)
