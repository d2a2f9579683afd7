"""Cost models of a sweep, as its file states them: values that are set, and axes, values that vary.

An axis is listed or drawn; how many points all axes make is known without making them.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from egraph_opt.cost.domains import Numbers, TableOf
from egraph_opt.cost.domains import Path as KeyPath
from egraph_opt.cost.parameter_files import SUFFIX, TomlFile
from egraph_opt.cost.parameters import Override, Parameter, resolved
from egraph_opt.cost.registry import Named, named, parameters_of
from egraph_opt.errors import SpecError, UnknownCostModelError

Point = Mapping[str, Any]
"""Values of parameters by name."""


@dataclass(frozen=True)
class Grid:
    """A parameter, or an entry of a table, that takes one listed value after the other."""

    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class ParameterRange:
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
    ranges: tuple[ParameterRange, ...] = ()
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


RANGE_KEYS = ("least", "most", "scale")
SCALES = ("uniform", "log")


@dataclass(frozen=True)
class SpecPlace:
    """A part of a file, for errors."""

    file: TomlFile
    path: KeyPath = ()

    def within(self, *keys: str | int) -> SpecPlace:
        """A part of the part."""
        return SpecPlace(self.file, (*self.path, *keys))

    def at(self, *keys: str | int) -> str:
        """The file and line of a part of it; of what contains it, where it is not there."""
        path = (*self.path, *keys)
        told = self.file.at(path)
        while told == self.file.label and path:
            path = path[:-1]
            told = self.file.at(path) if path else told
        return told

    def texts(self, table: Mapping[str, Any], key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """A list of texts that is not empty."""
        found = table.get(key, list(default))
        if not isinstance(found, list) or not found or not all(isinstance(text, str) for text in found):
            raise SpecError(f"{self.at(key)}: {key} must be a list of names in quotes, at least one")
        return tuple(found)

    def number(self, table: Mapping[str, Any], key: str, default: int, *, least: int | None = 1) -> int:
        """A whole number."""
        found = table.get(key, default)
        if isinstance(found, bool) or not isinstance(found, int) or (least is not None and found < least):
            bound = "" if least is None else f", {least} or more"
            raise SpecError(f"{self.at(key)}: {key} = {found!r}: must be a whole number{bound}")
        return found


def read_cost_model(
    folder: Path, entry: Mapping[str, Any], place: SpecPlace
) -> tuple[str, str, Mapping[str, Any]]:
    """The name of a cost model as the file has it, the same as seen from here, and the values that stay.

    Raises:
        UnknownCostModelError, CostModelError, UnknownParameterError, ParameterError: with the line.
    """
    label = entry.get("model")
    if not isinstance(label, str):
        raise SpecError(f'{place.at("model")}: a cost model has a name: model = "ascend"')
    name = _beside(label, folder)
    found = _named(name, place)
    fixed = _table(entry, "set", place)
    overrides = tuple(_override(key, value, place.within("set", key)) for key, value in fixed.items())
    found.changed(overrides)
    return label, name, fixed


def _named(name: str, place: SpecPlace) -> Named:
    try:
        return named(name)
    except UnknownCostModelError as error:
        raise UnknownCostModelError(error.name, error.known, error.where or place.at("model")) from None


def _beside(name: str, folder: Path) -> str:
    """A cost model's name with its files as seen from the folder: a class, and what follows it."""
    head, is_file, rest = name.rpartition(".py:")
    if is_file:
        head = f"{(folder / head).resolve()}.py"
        first, colon, variant = rest.partition(":")
        first = f"{head}:{first}"
    else:
        first, colon, variant = name.partition(":")
        if "." in first and colon:  # a class in a module
            inner, colon, variant = variant.partition(":")
            first = f"{first}:{inner}"
    if variant.endswith(SUFFIX):
        variant = str((folder / variant).resolve())
    return f"{first}{colon}{variant}"


def _table(entry: Mapping[str, Any], key: str, place: SpecPlace) -> Mapping[str, Any]:
    found = entry.get(key, {})
    if not isinstance(found, Mapping):
        raise SpecError(f"{place.at(key)}: {key} must be a table of parameters: {key} = {{ name = ... }}")
    return found


def _override(name: str, value: object, place: SpecPlace) -> Override:
    return Override(name, value, place.file, place.path)


def read_axes(name: str, entry: Mapping[str, Any], place: SpecPlace, seed: str) -> Axes:
    """What varies of a cost model.

    Raises:
        SpecError: a grid without values, a range that is none, samples of nothing.
        UnknownParameterError, ParameterError: with the line.
    """
    fixed = _table(entry, "set", place)
    overrides = [_override(key, value, place.within("set", key)) for key, value in fixed.items()]
    declared = _Declared(parameters_of(name, overrides), named(name).base)
    grid = [_grid(declared, *axis) for axis in _flat(_table(entry, "grid", place), place.within("grid"))]
    ranges = [_range(declared, *axis) for axis in _flat(_table(entry, "range", place), place.within("range"))]
    if ranges and "samples" not in entry:
        raise SpecError(f"{place.at('range')}: how often is it drawn? add `samples = 100`")
    if "samples" in entry and not ranges:
        raise SpecError(f"{place.at('samples')}: samples of what? add `range = {{ name = [0.5, 2.0] }}`")
    both = {axis.name for axis in grid} & {axis.name for axis in ranges}
    if both:
        raise SpecError(f"{place.at('range')}: {min(both)} is in the grid, too")
    return Axes(tuple(grid), tuple(ranges), place.number(entry, "samples", 1), seed)


@dataclass(frozen=True)
class _Declared:
    """The parameters of a cost model, and what it is called in errors."""

    parameters: Mapping[str, Parameter]
    model: str

    def numbers(self, name: str) -> Numbers | None:
        """The numbers that a parameter, or an entry of a table, may be."""
        owner, _, entry = name.partition(".")
        domain = self.parameters[owner].domain
        return None if isinstance(domain, TableOf) and not entry else domain.numbers

    def taken(self, name: str, value: object, place: SpecPlace) -> Any:
        """A value in the form that the parameter has it in.

        Raises:
            UnknownParameterError, ParameterError: there is no such parameter, or it has no such value.
        """
        ((owner, given),) = resolved(self.parameters, [_override(name, value, place)], self.model).items()
        return given.value if owner == name else given.value[name.partition(".")[2]]


def _flat(
    table: Mapping[str, Any], place: SpecPlace, prefix: str = ""
) -> Iterator[tuple[str, Any, SpecPlace]]:
    """Names, what is said of them, and where; `vector_cycles.Add = ...` is one name, quoted or not."""
    for key, value in table.items():
        name, inner = f"{prefix}{key}", place.within(key)
        if isinstance(value, Mapping) and not any(known in value for known in RANGE_KEYS):
            yield from _flat(value, inner, f"{name}.")
        else:
            yield name, value, inner


def _grid(declared: _Declared, name: str, values: Any, place: SpecPlace) -> Grid:
    if not isinstance(values, list) or not values:
        raise SpecError(f"{place.at()}: {name} must be a list of values, at least one")
    taken = [declared.taken(name, value, place.within(k)) for k, value in enumerate(values)]
    for k, value in enumerate(taken):
        if value in taken[:k]:
            raise SpecError(f"{place.at(k)}: {name} = {values[k]!r} is there twice")
    return Grid(name, tuple(taken))


def _range(declared: _Declared, name: str, told: Any, place: SpecPlace) -> ParameterRange:
    if isinstance(told, list) and len(told) == 2:
        told = {"least": told[0], "most": told[1]}
    if not isinstance(told, Mapping) or not {"least", "most"} <= set(told) <= set(RANGE_KEYS):
        raise SpecError(
            f'{place.at()}: {name} must be [least, most] or {{ least = .., most = .., scale = "log" }}'
        )
    scale = told.get("scale", SCALES[0])
    if scale not in SCALES:
        raise SpecError(f"{place.at('scale')}: scale = {scale!r}: must be one of {', '.join(SCALES)}")
    low, high = (declared.taken(name, told[key], place) for key in ("least", "most"))
    numbers = declared.numbers(name)
    if numbers is None:
        raise SpecError(f"{place.at()}: {name} is no number: list its values in `grid`")
    if not low < high or (scale == "log" and not low > 0):
        above = ", above 0 where the scale is log" if scale == "log" else ""
        raise SpecError(f"{place.at()}: {name}: {low:g} to {high:g} is no range from least to most{above}")
    return ParameterRange(name, low, high, scale == "log", numbers.whole)
