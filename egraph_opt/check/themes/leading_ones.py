"""Operands of more axes than the first, those in front of one element: the result has them, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from egraph_opt.check.choices import Choices, chance, pick, picks
from egraph_opt.check.theme import Theme, operators_of, shuffled
from egraph_opt.facts.fact import Dim, Fact, Shape
from egraph_opt.operators.expressions import Expression

BROADCASTING = frozenset({"binary", "where", "variadic"})
OF_ANY_SHAPE = BROADCASTING | {"unary", "cast", "leaf", "none", "literal"}
"""Operators that ask for no axes or dims; laws of these alone meet leading axes in the tables."""


class LeadingOnes(Theme):
    """Matrix products, and operators that broadcast."""

    operators = BROADCASTING | {"matmul"}

    @classmethod
    def suits(cls, patterns: Sequence[Expression]) -> bool:
        names = {part.head.name for part in operators_of(patterns)}
        return bool(names & cls.operators and names - OF_ANY_SHAPE)

    def any_shape(self, rng: Choices) -> Shape:
        return tuple(picks(rng, (2, 3, 4), int(pick(rng, 2, 3, 3, 4))))

    def operand(
        self, rng: Choices, operator: str, name: str, before: Sequence[Fact], wish: Sequence[Dim] | None
    ) -> Shape | None:
        if operator in self.operators and not before and wish is None:
            return self.any_shape(rng)
        first = before[0].shape if before else None
        is_product = operator == "matmul"
        if operator not in self.operators or not first or (is_product and len(first) < 2):
            return super().operand(rng, operator, name, before, wish)
        more = (1,) * int(pick(rng, 1, 1, 2))
        if is_product:
            batches = pick(rng, (1,) * (len(first) - 2), (1,) * (len(first) - 2), first[:-2])
            return (*more, *batches, first[-1], pick(rng, 2, 5))
        dims = pick(rng, first, (1,) * len(first), (*(1,) * (len(first) - 1), first[-1]))
        return (*more, *dims)

    def attribute(
        self, rng: Choices, operator: str, parameter: str, before: Mapping[str, Any], operands: Sequence[Fact]
    ) -> Any:
        rank = (operands[0].rank if operands else None) or 0
        if parameter == "perm" and rank > 2 and chance(rng, 0.6):  # batches change places
            return (*shuffled(rng, range(rank - 2)), rank - 2, rank - 1)
        return super().attribute(rng, operator, parameter, before, operands)
