"""Parameters of a cost model as a vector of numbers, which a fit may move.

A parameter that is positive is moved in its logarithm, so that a step is a factor; any other in units of its
default.  Entries of a table are parameters of their own.  Whole numbers and names are left as they are: they
say what there is, not how fast it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from egraph_opt.cost.domains import Numbers
from egraph_opt.cost.model import CostModel
from egraph_opt.cost.parameters import Override, Parameter
from egraph_opt.cost.registry import Named, named, parameters_of
from egraph_opt.errors import UnknownParameterError

Floats = npt.NDArray[np.float64]

LEAST_SHARE = 1e-4
"""Where 0 is allowed a parameter becomes no smaller than this share of its default: a logarithm needs it."""


@dataclass(frozen=True)
class Coordinate:
    """One number that prices depend on.

    Attributes:
        name: of the parameter, or `table.entry`.
        default: where it starts.
        least, most: its declared range.
        confidence: of the default.
    """

    name: str
    default: float
    unit: str
    least: float
    most: float
    confidence: str

    @property
    def is_positive(self) -> bool:
        return self.least >= 0 and self.default > 0

    @property
    def bounds(self) -> tuple[float, float]:
        """The range as coordinates."""
        least = max(self.least, self.default * LEAST_SHARE) if self.is_positive else self.least
        return self.at(least), self.at(self.most)

    def at(self, value: float) -> float:
        """The coordinate of a value; 0 is that of the default."""
        if math.isinf(value):
            return value
        if self.is_positive:
            return math.log(value / self.default)
        return (value - self.default) / (abs(self.default) or 1.0)

    def value(self, coordinate: float) -> float:
        """The value of a coordinate, within the range."""
        if self.is_positive:
            found = self.default * math.exp(coordinate)
        else:
            found = self.default + coordinate * (abs(self.default) or 1.0)
        return min(max(found, self.least), self.most)


@dataclass(frozen=True)
class Space:
    """The numbers of a cost model that a fit may move.

    Attributes:
        model: what the cost model is called, and what values some parameters are held at.
        coordinates: in the order in which they are declared.
        kept: of those that it may not move, why not.
    """

    model: Named
    held: tuple[Override, ...]
    coordinates: tuple[Coordinate, ...]
    kept: Mapping[str, str]

    def make(self, point: Floats, numbers: Iterable[int] | None = None) -> CostModel:
        """The cost model at a point; the coordinates that are not among `numbers` are at 0."""
        moved = range(len(self.coordinates)) if numbers is None else numbers
        values = {k: self.coordinates[k].value(float(point[k])) for k in moved if point[k] != 0}
        given = (Override(self.coordinates[k].name, value) for k, value in values.items())
        return self.model.make((*self.held, *given))

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """The least and the largest coordinates."""
        least, most = zip(*(entry.bounds for entry in self.coordinates), strict=True)
        return np.array(least), np.array(most)


DATASHEET = "the data sheet's"
HELD = "set by --set"
UNNAMED = "not named in --parameters"


def space_of(name: str, held: tuple[Override, ...] = (), only: Sequence[str] = ()) -> Space:
    """What may be moved of a cost model.

    Args:
        held: values that stay.
        only: names of parameters, tables or entries; by default all numbers but those of the data sheet.

    Raises:
        CostModelError, UnknownParameterError: as `cost_model`, and a name in `only` that is none.
    """
    wanted = named(name)
    parameters, model = parameters_of(name, held), wanted.make(held)
    fixed = {override.name for override in held}
    found: list[Coordinate] = []
    kept: dict[str, str] = {}
    for coordinate in _numbers(parameters):
        names = {coordinate.name, coordinate.name.partition(".")[0]}
        if names & fixed:
            kept[coordinate.name] = HELD
        elif only and names.isdisjoint(only):
            kept[coordinate.name] = UNNAMED
        elif not only and coordinate.name in model.datasheet:
            kept[coordinate.name] = DATASHEET
        else:
            found.append(coordinate)
    known = {name for entry in (*found, *_numbers(parameters)) for name in _both(entry.name)}
    for given in only:
        if given not in known:
            raise UnknownParameterError(given, known, "--parameters", wanted.base)
    return Space(wanted, held, tuple(found), kept)


def _both(name: str) -> tuple[str, str]:
    """An entry's name, and its table's."""
    return name, name.partition(".")[0]


def _numbers(parameters: Mapping[str, Parameter]) -> Iterator[Coordinate]:
    """All numbers that are not whole, those of tables too."""
    for entry in parameters.values():
        domain = entry.domain.numbers
        if domain is None or domain.whole:
            continue
        if isinstance(entry.value, Mapping):
            for key, value in entry.value.items():
                yield _coordinate(entry, f"{entry.name}.{key}", value, domain)
        elif entry.value is not None:
            yield _coordinate(entry, entry.name, entry.value, domain)


def _coordinate(entry: Parameter, name: str, value: Any, domain: Numbers) -> Coordinate:
    return Coordinate(name, float(value), entry.unit, domain.least, domain.most, entry.confidence)
