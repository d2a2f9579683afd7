"""Three axes that turn round, which no exchange of two axes does: a turn is not its own inverse.

All that belongs to an axis differs, and comes in the order of x or in that of what a transpose makes of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from egraph_opt.check.choices import Choices, chance, pick
from egraph_opt.check.theme import Theme, shuffled, whole
from egraph_opt.facts.fact import Dim, Fact, Shape
from egraph_opt.operators.windows import PoolWindow

TURNS = ((0, 1, 3, 4, 2), (0, 1, 3, 4, 2), (0, 1, 4, 2, 3), (0, 4, 1, 2, 3), (0, 4, 2, 1, 3), (1, 0, 3, 4, 2))
"""Of axes of an image with three dimensions; some move its channels as well."""

IMAGE = (4, 5, 6, 7)
"""Channels and pixels, in any order."""

IMAGES = frozenset({"conv", "conv_transpose", "pool", "lp_pool"})

KERNELS = ((1, 2, 3), (1, 2, 3), (2, 2, 2), (2, 3, 3))
NUMBERS = (1, 2, 3)
"""Strides of three axes, and dilations of two of them."""

DIFFERING = ("kernel", "strides", "pads", "dilations", "all")
"""What differs along axes."""


def inverse(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


class Turns(Theme):
    """Transposes that turn three axes round, one way or the other, about any operator.

    Attributes:
        turn: the permutation drawn last, at first one to begin with.
    """

    operators = frozenset({"transpose"})

    def __init__(self, rng: Choices) -> None:
        super().__init__(rng)
        turn = pick(rng, *TURNS)
        self.turn, self.differing = pick(rng, turn, inverse(turn)), pick(rng, *DIFFERING)

    def any_shape(self, rng: Choices) -> Shape:
        return (pick(rng, 1, 2), *shuffled(rng, IMAGE))

    def operand(
        self, rng: Choices, operator: str, name: str, before: Sequence[Fact], wish: Sequence[Dim] | None
    ) -> Shape | None:
        if operator in IMAGES and not before:
            return self.any_shape(rng) if wish is None else tuple(wish)
        shape = super().operand(rng, operator, name, before, wish)
        if operator in ("conv", "conv_transpose") and len(before) == 1 and shape and len(shape) == 5:
            return (*shape[:2], *shuffled(rng, pick(rng, *KERNELS)))
        return shape

    def attribute(
        self, rng: Choices, operator: str, parameter: str, before: Mapping[str, Any], operands: Sequence[Fact]
    ) -> Any:
        shape = operands[0].shape if operands else None
        if parameter == "perm" and shape is not None and len(shape) == 5:
            self.turn = pick(rng, inverse(self.turn), inverse(self.turn), self.turn)
            return self.turn
        made = super().attribute(rng, operator, parameter, before, operands)
        if parameter == "window" and operator in IMAGES and whole(shape, 5) is not None:
            return self._window(
                rng, made, dilates=operator != "lp_pool" and before.get("op") != "AveragePool"
            )
        return made

    def _window(self, rng: Choices, made: Any, *, dilates: bool) -> Any:
        """A window of which one thing differs from axis to axis, or all."""
        differs = {name: self.differing in (name, "all") for name in DIFFERING}
        kernel = shuffled(rng, KERNELS[0] if differs["kernel"] else KERNELS[-1])
        if not isinstance(made, PoolWindow):
            pads = shuffled(rng, (0, 0, 1, 0, 2, 1)) if differs["pads"] else (0,) * 6
        else:
            ones = shuffled(rng, (1, 0, 0)) + shuffled(rng, (1, 1, 0))
            pads = tuple(p if differs["pads"] and k > 1 else 0 for p, k in zip(ones, kernel * 2, strict=True))
            made = replace(made, kernel=kernel, ceil_mode=int(chance(rng, 0.2)))
        return replace(
            made,
            strides=shuffled(rng, NUMBERS) if differs["strides"] else (1,) * 3,
            pads=pads,
            dilations=shuffled(rng, (1, 1, 2)) if differs["dilations"] and dilates else (1,) * 3,
        )
