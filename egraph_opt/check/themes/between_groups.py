"""Groups of several channels, of which there are more than two: neither one for all nor one for each channel.

What belongs to the second group is then neither in the first half nor in the last one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from egraph_opt.check.choices import Choices, chance, pick
from egraph_opt.check.theme import Theme, whole
from egraph_opt.facts.fact import Dim, Fact, Shape

GROUPS = ((8, 4), (12, 3), (12, 4), (6, 3), (9, 3), (8, 2))
"""Channels, and groups of them."""

CHANNELS = 1
"""Their axis."""


class BetweenGroups(Theme):
    """Channels of an image in groups, parts of them, and views with an axis for the groups."""

    operators = frozenset({"conv", "conv_transpose", "group_norm"})

    def __init__(self, rng: Choices) -> None:
        super().__init__(rng)
        self.channels, self.groups = pick(rng, *GROUPS)
        self.each = self.channels // self.groups
        self.rows = int(pick(rng, self.each, self.each, 2, 1, 3))

    def any_shape(self, rng: Choices) -> Shape:
        return (pick(rng, 1, 2), self.channels, *pick(rng, (4, 3), (4, 3), (5,)))

    def operand(
        self, rng: Choices, operator: str, name: str, before: Sequence[Fact], wish: Sequence[Dim] | None
    ) -> Shape | None:
        if operator not in self.operators:
            return super().operand(rng, operator, name, before, wish)
        if not before:
            return self.any_shape(rng) if wish is None else tuple(wish)
        shape = super().operand(rng, operator, name, before, wish)
        if before[0].shape is None or before[0].shape[1:2] != (self.channels,):
            return shape
        kernel = shape[2:] if shape else ()
        if operator == "conv" and len(before) == 1:
            return (self.groups * self.rows, self.each, *kernel)
        if operator == "conv_transpose":
            outputs: Shape = (self.groups * self.rows,)
            return (self.channels, self.rows, *kernel) if len(before) == 1 else outputs
        return shape

    def attribute(
        self, rng: Choices, operator: str, parameter: str, before: Mapping[str, Any], operands: Sequence[Fact]
    ) -> Any:
        shape = operands[0].shape if operands else None
        if shape is not None and len(shape) > 1:
            if parameter == "axis" and "joined" not in before and shape[CHANNELS] != 1:
                return CHANNELS
            made = self._of_channels(rng, parameter, shape)
            if made is not None:
                return made
        made = super().attribute(rng, operator, parameter, before, operands)
        if operator == "conv_transpose" and shape is not None and shape[1:2] == (self.channels,):
            return replace(made, group=self.groups)
        if operator == "group_norm" and shape is not None and shape[1:2] == (self.channels,):
            return tuple((n, self.groups if n == "num_groups" else v) for n, v in made)
        return made

    def _of_channels(self, rng: Choices, parameter: str, shape: Shape) -> Any:
        """Parts of the channels, and an axis for groups, as views and transposes have it."""
        count = shape[CHANNELS]
        rows = 0 if not isinstance(count, int) or count % self.groups else count // self.groups
        if parameter == "spec" and rows:
            group = int(pick(rng, *range(self.groups)))
            row = group * rows + int(pick(rng, *range(rows)))
            begin, end = pick(rng, (group * rows, (group + 1) * rows), (row, row + 1))
            return ((CHANNELS, begin, end, 1),) if end - begin < count else None
        if parameter == "sizes" and rows:
            return (rows,) * self.groups if chance(rng, 0.7) else None
        if parameter == "dims" and len(shape) == 4 and rows and whole(shape, 4):
            return (shape[0], self.groups, rows, *shape[2:])
        if parameter == "dims" and len(shape) == 5 and whole(shape, 5):
            return (shape[0], shape[1] * shape[2], *shape[3:])  # type: ignore[operator]
        return (0, 2, 1, 3, 4) if parameter == "perm" and len(shape) == 5 else None
