"""Five and six parts, or elements of a list, of which one differs from the others: mostly the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from egraph_opt.check.choices import Choices, chance, pick
from egraph_opt.check.theme import Theme
from egraph_opt.facts.fact import Dim, Fact, Shape

PARTS = (
    *((1, 1, 1, 1, 2), (2, 2, 2, 2, 1), (1, 1, 1, 1, 1, 2), (2, 2, 2, 2, 2, 1), (2, 2, 2, 2, 2, 2, 3)),
    *((1, 1, 1, 2, 1), (1, 1, 1, 1, 2, 1), (2, 1, 1, 1, 1), (1, 1, 1, 1, 1), (2, 2, 2, 2, 2, 2)),
)
"""Of a dim."""


class ManyParts(Theme):
    """Splits, Concats and other operators of lists.

    Attributes:
        parts: of one axis of every shape.
        other: the number of the element that differs from others of its list.
        are_alike: the others are one.
    """

    operators = frozenset({"split", "concat", "variadic"})

    def __init__(self, rng: Choices) -> None:
        super().__init__(rng)
        self.parts = pick(rng, *PARTS)
        self.other, self.axis = int(pick(rng, 4, 5, 4, 3)), int(pick(rng, 0, 1, 1))
        self.are_alike = chance(rng, 0.4)

    def any_shape(self, rng: Choices) -> Shape:
        dims = [3, 2][: int(pick(rng, 1, 1, 2))]
        dims.insert(self.axis, sum(self.parts))
        return tuple(dims)

    def length(self, rng: Choices) -> int:
        return int(pick(rng, 5, 6))

    def repeats(self, number: int) -> bool:
        return self.are_alike and number != self.other

    def joined(self, rng: Choices, dim: Dim, number: int) -> Dim:
        return 1 if number == self.other else dim

    def listed(self, rng: Choices, shape: Sequence[Dim], number: int) -> Sequence[Dim]:
        return shape[1:] if number == self.other else shape

    def attribute(
        self, rng: Choices, operator: str, parameter: str, before: Mapping[str, Any], operands: Sequence[Fact]
    ) -> Any:
        shape, count = (operands[0].shape if operands else None) or (), len(self.parts)
        fitting = [axis for axis, dim in enumerate(shape) if dim == sum(self.parts)]
        if parameter == "axis" and "joined" not in before and fitting:
            return fitting[0]
        if parameter == "sizes" and before.get("axis", 0) in fitting:
            return self.parts
        if parameter == "index" and operator == "output":
            return int(pick(rng, count - 1, count - 1, count - 2, *range(count)))
        if parameter == "spec" and fitting and chance(rng, 0.8):
            k = int(pick(rng, count - 1, count - 2, 0))
            begin = sum(self.parts[:k])
            return ((fitting[0], begin, begin + self.parts[k], 1),)
        return super().attribute(rng, operator, parameter, before, operands)
