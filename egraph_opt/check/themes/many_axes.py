"""Tensors of so many axes that letters or digits for them come to an end, and transposes of these."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from egraph_opt.check.choices import Choices, pick
from egraph_opt.check.theme import Theme, operators_of
from egraph_opt.facts.fact import Dim, Fact, Shape
from egraph_opt.operators.expressions import Expression

RANKS = (7, 9, 11, 13, 27)
"""More than six letters, than eight dims in a table, than ten digits, than twelve, than an alphabet."""

MOST_ELEMENTS = 200
"""Of an operand."""

OF_FEW_AXES = frozenset("conv conv_transpose pool lp_pool global_pool recurrent gemm attention".split()) | {
    "masked_attention",
    "scores",
    "blockwise",
    "resize",
    "rotary",
}
"""Operators of tensors of a few axes."""


class ManyAxes(Theme):
    """All axes but three are of one element; these are exchanged or turned round."""

    operators = frozenset({"transpose"})
    most_axes = RANKS[-1] + 1

    def __init__(self, rng: Choices) -> None:
        super().__init__(rng)
        self.rank = int(pick(rng, *RANKS))
        self.axes = pick(rng, (0, 1, self.rank - 1), (0, self.rank - 2, self.rank - 1), (2, 4, self.rank - 1))

    @classmethod
    def suits(cls, patterns: Sequence[Expression]) -> bool:
        names = {part.head.name for part in operators_of(patterns)}
        return bool(names & cls.operators) and not names & OF_FEW_AXES

    def any_shape(self, rng: Choices) -> Shape:
        dims = [1] * self.rank
        for axis, dim in zip(self.axes, (2, 3, 4), strict=True):
            dims[axis] = dim
        return tuple(dims)

    def operand(
        self, rng: Choices, operator: str, name: str, before: Sequence[Fact], wish: Sequence[Dim] | None
    ) -> Shape | None:
        """No other operand is much longer along axes that are of one element."""
        shape = super().operand(rng, operator, name, before, wish)
        if shape is None or math.prod(d for d in shape if isinstance(d, int)) <= MOST_ELEMENTS:
            return shape
        return before[0].shape if before else self.any_shape(rng)

    def attribute(
        self, rng: Choices, operator: str, parameter: str, before: Mapping[str, Any], operands: Sequence[Fact]
    ) -> Any:
        if parameter != "perm" or operands[0].rank != self.rank:
            return super().attribute(rng, operator, parameter, before, operands)
        order, (a, b, c) = list(range(self.rank)), self.axes
        moved = pick(rng, (c, b, a), (a, c, b), (b, c, a), (c, a, b), (b, a, c))
        for axis, other in zip(self.axes, moved, strict=True):
            order[axis] = other
        return tuple(order)
