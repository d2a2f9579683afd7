"""A sweep as a TOML file: models, cost models with what varies of them, rulesets, extractors.

models = ["*.onnx"]                        # files and patterns, as seen from this file
load = ["laws.py"]                         # files of laws of your own
rewrites = [["default"], ["default", "-concat"]]
extractors = ["auto", "greedy-dag"]

[[cost]]
model = "ascend"
set = { l2_share = 0.6 }                # for all runs
grid = { memory_gbs = [100, 200, 400] }    # each of these
samples = 50                               # times so many draws of these
range = { clock_ghz = [0.5, 2.0], fixed_vector_us = { least = 0.5, most = 8, scale = "log" } }
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from egraph_opt.cost.parameter_files import read_toml
from egraph_opt.errors import (
    CostModelError,
    LimitsError,
    SpecError,
    UnknownExtractorError,
    UnknownKeyError,
    UnknownModelError,
    UnknownRulesetError,
)
from egraph_opt.extraction.registry import extractor_named
from egraph_opt.lab.sweep.spec_costs import Axes, SpecPlace, read_axes, read_cost_model
from egraph_opt.laws.loading import load_laws
from egraph_opt.laws.selection import DEFAULT, select
from egraph_opt.pipeline.limits import Limits

KEYS = ("models", "load", "cost", "rewrites", "extractors", "limits", "most", "seed")

COST_KEYS = ("model", "set", "grid", "range", "samples")

MOST = 100_000
"""Runs that a sweep makes without being asked twice, unless its file has another number."""


@dataclass(frozen=True)
class SweptModel:
    """A model: what it is called in the result, and where it is."""

    label: str
    path: Path


@dataclass(frozen=True)
class SweptCost:
    """A cost model and what varies of it.

    Attributes:
        label: its name as the file has it.
        name: the same, with files as seen from where the process runs.
        fixed: values that all runs have.
    """

    label: str
    name: str
    fixed: Mapping[str, Any]
    axes: Axes


@dataclass(frozen=True)
class Spec:
    """What is to be run: every model under every point of every cost model, by all rulesets and extractors.

    Attributes:
        laws: files of laws, which are loaded.
        most: runs that are made without being asked twice.
    """

    models: tuple[SweptModel, ...]
    costs: tuple[SweptCost, ...]
    laws: tuple[Path, ...] = ()
    rewrites: tuple[tuple[str, ...], ...] = ((DEFAULT,),)
    extractors: tuple[str, ...] = ("auto",)
    limits: Limits = field(default_factory=Limits)
    most: int = MOST

    @property
    def count(self) -> int:
        """How many runs there are."""
        points = sum(cost.axes.count for cost in self.costs)
        return len(self.models) * len(self.rewrites) * len(self.extractors) * points


def read_spec(path: Path) -> Spec:
    """Read and check a file; nothing is run.

    Raises:
        SpecError: it is no TOML, or an entry is missing, of another type or out of range.
        UnknownKeyError, UnknownModelError, UnknownRulesetError, UnknownExtractorError, UnknownCostModelError,
        UnknownParameterError, ParameterError: each with the line, and the nearest name.
        LawError: a file of laws cannot be loaded.
    """
    try:
        file = read_toml(path)
        table = file.table()
    except CostModelError as error:
        raise SpecError(str(error)) from None
    place = SpecPlace(file)
    check_keys(table, KEYS, place)
    seed = place.number(table, "seed", 0, least=None)
    named = place.texts(table, "load") if "load" in table else ()
    laws = tuple((path.parent / name).resolve() for name in named)
    for laws_file in laws:  # before rulesets are looked up
        load_laws(laws_file)
    return Spec(
        models=_models(path, table, place),
        costs=tuple(_costs(path, table, place, seed)),
        laws=laws,
        rewrites=_rewrites(table, place),
        extractors=_extractors(table, place),
        limits=_limits(table, place),
        most=place.number(table, "most", MOST),
    )


def check_keys(table: Mapping[str, Any], known: Sequence[str], place: SpecPlace) -> None:
    """Refuse entries that mean nothing, with the line and the nearest that does."""
    for key in table:
        if key not in known:
            raise UnknownKeyError(key, known, place.at(key))


def _models(spec: Path, table: Mapping[str, Any], place: SpecPlace) -> tuple[SweptModel, ...]:
    """The files that are named and those that patterns find, none twice."""
    found: dict[Path, SweptModel] = {}
    folder = spec.parent
    for k, text in enumerate(place.texts(table, "models")):
        paths = sorted(folder.glob(text)) if _is_pattern(text) else [folder / text]
        if not paths:
            raise SpecError(f"{place.at('models', k)}: no file is like {text!r}")
        for path in paths:
            if not path.is_file():
                siblings = [str(other.relative_to(folder)) for other in _siblings(path, folder)]
                raise UnknownModelError(text, siblings, place.at("models", k))
            label = path.relative_to(folder) if path.is_relative_to(folder) else path
            found.setdefault(path.resolve(), SweptModel(label.as_posix(), path.resolve()))
    return tuple(found.values())


def _is_pattern(text: str) -> bool:
    return any(letter in text for letter in "*?[")


def _siblings(path: Path, folder: Path) -> list[Path]:
    """The models beside a path, as long as that lies below the folder."""
    return sorted(path.parent.glob("*.onnx")) if path.is_relative_to(folder) else []


def _costs(spec: Path, table: Mapping[str, Any], place: SpecPlace, seed: int) -> list[SweptCost]:
    entries = table.get("cost")
    if isinstance(entries, Mapping):
        raise SpecError(f"{place.at('cost')}: cost models are a list: [[cost]] in place of [cost]")
    if not isinstance(entries, list) or not entries:
        raise SpecError(f'{place.at("cost")}: there is no cost model: add [[cost]] with `model = "ascend"`')
    found = []
    for k, entry in enumerate(entries):
        inner = place.within("cost", k)
        if not isinstance(entry, Mapping):
            raise SpecError(f"{inner.at()}: a cost model is a table: [[cost]]")
        check_keys(entry, COST_KEYS, inner)
        label, name, fixed = read_cost_model(spec.parent, entry, inner)
        found.append(SweptCost(label, name, fixed, read_axes(name, entry, inner, f"{seed}/{k}")))
    return found


def _rewrites(table: Mapping[str, Any], place: SpecPlace) -> tuple[tuple[str, ...], ...]:
    entries = table.get("rewrites", [[DEFAULT]])
    if not isinstance(entries, list) or not entries or not all(isinstance(names, list) for names in entries):
        raise SpecError(f'{place.at("rewrites")}: rewrites are lists of rulesets in a list: [["default"]]')
    return tuple(_checked_rulesets(names, place.within("rewrites", k)) for k, names in enumerate(entries))


def _checked_rulesets(names: list[Any], place: SpecPlace) -> tuple[str, ...]:
    for k, name in enumerate(names):
        if not isinstance(name, str):
            raise SpecError(f"{place.at(k)}: {name!r} is no name of a ruleset")
        _told_with_place(lambda name=name: select([name]), place.at(k))  # type: ignore[misc]
    return tuple(names)


def _extractors(table: Mapping[str, Any], place: SpecPlace) -> tuple[str, ...]:
    names = place.texts(table, "extractors", ("auto",))
    for k, name in enumerate(names):
        _told_with_place(lambda name=name: extractor_named(name), place.at("extractors", k))  # type: ignore[misc]
    return tuple(names)


def _told_with_place(look_up: Callable[[], object], where: str) -> None:
    """Look a name up; where it is unknown the error has the line."""
    try:
        look_up()
    except (UnknownRulesetError, UnknownExtractorError) as error:
        raise type(error)(error.name, error.known, where) from None


def _limits(table: Mapping[str, Any], place: SpecPlace) -> Limits:
    given = table.get("limits", {})
    if not isinstance(given, Mapping):
        raise SpecError(f"{place.at('limits')}: limits are a table: [limits]")
    inner = place.within("limits")
    check_keys(given, [entry.name for entry in fields(Limits)], inner)
    for key in given:
        try:
            Limits(**{key: given[key]})
        except LimitsError as error:
            raise SpecError(f"{inner.at(key)}: {error}") from None
    if not given.get("seconds", 1):
        raise SpecError(f"{inner.at('seconds')}: with no time nothing is chosen")
    return Limits(**given)
