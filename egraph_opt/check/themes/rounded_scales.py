"""Sizes of a Resize whose rounded quotients with the dims, times these, are other sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from egraph_opt.check.choices import Choices, chance, pick
from egraph_opt.check.operands import Array
from egraph_opt.check.theme import Theme, whole
from egraph_opt.facts.fact import ABSENT, Dim, Fact, Shape

MOST = 14
"""The largest dim and size."""


def _is_rounded_down(dim: int, size: int) -> bool:
    """Whether a scale of float32, times the dim, is below the size."""
    return int(float(np.float32(size / dim)) * dim) != size


ROUNDED = tuple((d, s) for d in range(2, MOST) for s in range(2, MOST) if _is_rounded_down(d, s))
"""Dims with sizes of this kind: 11 and 13, say."""

PLAIN = (
    ("mode", "nearest"),
    ("coordinate_transformation_mode", "asymmetric"),
    ("nearest_mode", "floor"),
    ("extrapolation_value", 0.0),
)
"""Settings of a Resize that laws know most of."""


class RoundedScales(Theme):
    """Sizes, or scales, of the last two axes, each of one of the pairs."""

    operators = frozenset({"resize"})

    def __init__(self, rng: Choices) -> None:
        super().__init__(rng)
        self.pairs = tuple(pick(rng, *ROUNDED, (4, 8)) for _ in range(2))

    def any_shape(self, rng: Choices) -> Shape:
        return (pick(rng, 1, 1, 2), pick(rng, 1, 2), *(dim for dim, _ in self.pairs))

    def operand(
        self, rng: Choices, operator: str, name: str, before: Sequence[Fact], wish: Sequence[Dim] | None
    ) -> Shape | None:
        if operator == "resize" and not before and wish is None:
            return self.any_shape(rng)
        return super().operand(rng, operator, name, before, wish)

    def fixed(
        self, rng: Choices, operator: str, number: int, before: Sequence[Fact], name: str
    ) -> Array | Fact | None:
        shape = whole(before[0].shape, 4) if operator == "resize" and number else None
        if shape is None or 0 in shape:
            return super().fixed(rng, operator, number, before, name)
        wanted = dict(self.pairs)
        sizes = [wanted.get(dim, dim) if k > 1 else dim for k, dim in enumerate(shape)]
        if number == 2 and chance(rng, 0.5):
            scales = [float(np.float32(size / dim)) for size, dim in zip(sizes, shape, strict=True)]
            return np.array(scales, np.float32)
        return np.array(sizes, np.int64) if number == 3 and before[2] == ABSENT else ABSENT

    def attribute(
        self, rng: Choices, operator: str, parameter: str, before: Mapping[str, Any], operands: Sequence[Fact]
    ) -> Any:
        made = super().attribute(rng, operator, parameter, before, operands)
        if operator != "resize" or not chance(rng, 0.6):
            return made
        return tuple((name, dict(PLAIN).get(name, value)) for name, value in made)
