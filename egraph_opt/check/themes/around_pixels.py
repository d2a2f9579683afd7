"""Windows around an image of one pixel, or of few: even kernels, of which no element is in the middle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from egraph_opt.check.choices import Choices, chance, pick, picks
from egraph_opt.check.theme import Theme
from egraph_opt.facts.fact import Dim, Fact, Shape
from egraph_opt.operators.windows import PoolWindow

KERNELS, DILATIONS, PIXELS = (2, 2, 3, 4, 1), (1, 2, 2, 3), (1, 1, 1, 2)

WINDOWED = frozenset({"conv", "conv_transpose", "pool", "lp_pool"})


class AroundPixels(Theme):
    """Pads as wide as half of what a kernel reaches, of an odd reach with one more in front, or behind."""

    operators = WINDOWED

    def any_shape(self, rng: Choices) -> Shape:
        pixels = picks(rng, PIXELS, int(pick(rng, 2, 2, 2, 1, 3)))
        alone = chance(rng, 0.6)  # one pixel along all axes
        return (pick(rng, 1, 2), pick(rng, 1, 2, 4), *((1,) * len(pixels) if alone else pixels))

    def operand(
        self, rng: Choices, operator: str, name: str, before: Sequence[Fact], wish: Sequence[Dim] | None
    ) -> Shape | None:
        if operator in WINDOWED and not before:
            return self.any_shape(rng) if wish is None or len(wish) < 3 else tuple(wish)
        shape = super().operand(rng, operator, name, before, wish)
        if operator in ("conv", "conv_transpose") and len(before) == 1 and shape:
            return (*shape[:2], *picks(rng, KERNELS, len(shape) - 2))
        return shape

    def attribute(
        self, rng: Choices, operator: str, parameter: str, before: Mapping[str, Any], operands: Sequence[Fact]
    ) -> Any:
        made = super().attribute(rng, operator, parameter, before, operands)
        if parameter != "window" or operator not in WINDOWED:
            return made
        axes = len(made.strides)
        if isinstance(made, PoolWindow):
            made = replace(made, kernel=tuple(picks(rng, KERNELS, axes)))
            plain = operator == "lp_pool" or (before.get("op") == "AveragePool" and before["opset"] < 19)
            kernel: Sequence[Dim] = made.kernel
        else:
            kernel, plain = (operands[1].shape or ())[2:], False
        if len(kernel) != axes:
            return made
        dilations = tuple(1 if plain else int(d) for d in picks(rng, DILATIONS, axes))
        reach = [(k - 1) * d if isinstance(k, int) else 0 for k, d in zip(kernel, dilations, strict=True)]
        more = int(chance(rng, 0.5))
        begins, ends = [(r + more) // 2 for r in reach], [(r + 1 - more) // 2 for r in reach]
        return replace(made, strides=(1,) * axes, pads=(*begins, *ends), dilations=dilations)
