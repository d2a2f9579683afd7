"""Equations of Einsum: points that stand for any number of axes, letters of both cases, many of them, three
operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from egraph_opt.check.choices import Choices, chance, pick
from egraph_opt.check.theme import Theme
from egraph_opt.facts.fact import Fact, Shape

POINTS = "..."

WITH_POINTS = (
    *("...ij->...i", "...ij->...j", "...ij->...ji", "i...->...", "i...j->...ij", "...i->..."),
    *("...ii->...i", "...ij,...jk->...ik", "...ij,jk->...ik", "...i,...i->...", "...ij,...kj->...ik"),
    *("ij...,jk...->ik...", "...ij,...jk,...kl->...il"),
)
OF_BOTH_CASES = (
    *("AB->BA", "aA->Aa", "aA->a", "Aa->A", "aB->Ba", "bA->Ab", "abA->bAa", "ZzY->YZz"),
    *("aA,Ab->ab", "ij,jI->iI", "Ij,jK->IK", "aA,Ab,bB->aB"),
)
OF_MANY = (
    *("abcdefg->gfedcba", "ijklmno->jiklmno", "abcdefghijk->kbcdefghija"),
    *("ij,jk,kl->il", "bi,bi,bi->b", "i,j,k->ijk", "ij,j,jk->ik", "ij,ij,jk->ik", "bij,bjk->ki"),
)
EQUATIONS = (*WITH_POINTS, *WITH_POINTS, *OF_BOTH_CASES, *OF_MANY)

SIZES = (2, 3, 4, 2, 3, 1, 2, 3)
"""Of letters, one after the other; of many only the first and the last are more than 1."""

BATCHES = (2, 3, 1, 2)
"""What points stand for, as many of them as there are."""

FEW = 5
"""Letters of which each has a size of its own."""


class Letters(Theme):
    """An equation is chosen first, and operands that suit it.

    Attributes:
        points: axes that points stand for.
    """

    operators = frozenset({"einsum"})
    most_axes, tries = 12, 480

    def __init__(self, rng: Choices) -> None:
        super().__init__(rng)
        self.points, self.alike = int(pick(rng, 4, *range(5))), chance(rng, 0.4)
        self.equation = ""

    def weights(
        self, rng: Choices, operator: str, before: Sequence[Fact], count: int | None
    ) -> tuple[Shape | None, ...]:
        if operator != "einsum":
            return super().weights(rng, operator, before, count)
        fitting = [e for e in EQUATIONS if count in (None, 1 + e.count(","))]
        if not fitting:
            return ()
        self.equation = fitting[rng.attempts % len(fitting)]  # each in turn
        operands = self.equation.partition("->")[0].split(",")
        letters = list(dict.fromkeys("".join(operands).replace(".", "").replace(",", "")))
        sizes = dict(zip(letters, self._sizes(len(letters)), strict=True))
        return tuple(self._shape(rng, operand, sizes, first=not k) for k, operand in enumerate(operands))

    def _sizes(self, count: int) -> list[int]:
        if count > FEW:
            return [2, *(1,) * (count - 3), 3, 2]
        return [3] * count if self.alike else list(SIZES[:count])

    def _shape(self, rng: Choices, operand: str, sizes: Mapping[str, int], *, first: bool) -> Shape:
        points = self.points if first else int(pick(rng, self.points, self.points, 0))
        batches = BATCHES[: self.points][self.points - points :]
        before, there, behind = operand.partition(POINTS)
        middle = batches if there else ()
        return (*(sizes[k] for k in before), *middle, *(sizes[k] for k in behind))

    def attribute(
        self, rng: Choices, operator: str, parameter: str, before: Mapping[str, Any], operands: Sequence[Fact]
    ) -> Any:
        if parameter == "equation" and self.equation:
            return self.equation
        return super().attribute(rng, operator, parameter, before, operands)
