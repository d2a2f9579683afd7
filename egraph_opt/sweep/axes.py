"""What a sweep varies: values of parameters, listed or drawn, and how many points they make."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

Point = Mapping[str, Any]
"""Values of parameters by name."""


@dataclass(frozen=True)
class Grid:
    """A parameter, or an entry of a table, that takes one listed value after the other."""

    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Range:
    """A parameter that is drawn between two bounds, both included; `log`: uniformly in its logarithm."""

    name: str
    least: float
    most: float
    log: bool = False
    whole: bool = False

    def draw(self, chance: random.Random) -> float:
        """A value."""
        share = chance.random()
        if self.log:
            low, high = math.log(self.least), math.log(self.most)
            value = math.exp(low + share * (high - low))
        else:
            value = self.least + share * (self.most - self.least)
        value = min(max(value, self.least), self.most)  # rounding may have left the range
        return round(value) if self.whole else value


@dataclass(frozen=True)
class Axes:
    """All that varies of one cost model: every point of the grid, with every sample of what is drawn.

    Attributes:
        samples: how many times the ranges are drawn; the same draws for every point of the grid.
    """

    grid: tuple[Grid, ...] = ()
    ranges: tuple[Range, ...] = ()
    samples: int = 1
    seed: str = "0"

    @property
    def count(self) -> int:
        """How many points there are, without making them."""
        return math.prod(len(axis.values) for axis in self.grid) * self.samples

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that vary."""
        return (*(axis.name for axis in self.grid), *(axis.name for axis in self.ranges))

    def points(self) -> Iterator[Point]:
        """All points, in an order that depends on nothing but these axes."""
        chance = random.Random(self.seed)
        drawn = [{axis.name: axis.draw(chance) for axis in self.ranges} for _ in range(self.samples)]
        names = [axis.name for axis in self.grid]
        for values in product(*(axis.values for axis in self.grid)):
            for sample in drawn:
                yield {**dict(zip(names, values, strict=True)), **sample}
