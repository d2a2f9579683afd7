"""The runs of a sweep, in batches of one e-graph each, and a digest of all that they depend on.

A batch is what a worker is handed and what is kept as a whole.  How runs are divided follows from the spec
alone, so that a sweep that goes on later, elsewhere, with more workers, has the same batches.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from itertools import product
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from egraph_opt.cost.registry import cost_model, named, parameters_of
from egraph_opt.forking import cached_property
from egraph_opt.lab.sweep.spec import Spec, SweptCost
from egraph_opt.lab.sweep.spec_costs import Point
from egraph_opt.laws.selection import select
from egraph_opt.model.external_data import locations
from egraph_opt.pipeline.limits import Limits

BATCH = 16
"""Runs that are kept together: some seconds' work, and a line of the journal."""


@dataclass(frozen=True)
class Priced:
    """A cost model by its name, with the values of its parameters."""

    name: str
    values: Point


@dataclass(frozen=True)
class Group:
    """An e-graph that several runs share.

    Attributes:
        key: a hash of what the e-graph depends on.
        model: the model's file.
        laws: files of laws that rulesets may be in.
        target: a cost model that brings the rulesets and limits which all runs of the group bring.
    """

    key: str
    model: Path = field(compare=False)
    rewrites: tuple[str, ...] = field(compare=False)
    limits: Limits = field(compare=False)
    target: Priced = field(compare=False)
    laws: tuple[Path, ...] = field(compare=False, default=())


@dataclass(frozen=True)
class PlannedRun:
    """One answer that is asked for.

    Attributes:
        number: of the row.
        cost: number of the cost model in the spec.
        varied: the values that make this run differ from others of its cost model.
    """

    number: int
    model: str
    rewrites: tuple[str, ...]
    cost: int
    extractor: str
    varied: Point


@dataclass(frozen=True)
class Task:
    """What a worker needs to know of a run."""

    number: int
    priced: Priced
    extractor: str


@dataclass(frozen=True)
class Batch:
    """Some runs on one e-graph."""

    number: int
    group: Group
    tasks: tuple[Task, ...]


@dataclass(frozen=True)
class SweepPlan:
    """All runs by number, and how they are divided."""

    spec: Spec
    runs: tuple[PlannedRun, ...]
    batches: tuple[Batch, ...]

    @cached_property
    def digests(self) -> Mapping[str, str]:
        """What the answers depend on, each part as a hash: where they differ the answers may."""
        return digests(self.spec)


def plan(spec: Spec) -> SweepPlan:
    """Lay out the runs, model by model; those of one e-graph follow each other.

    Raises:
        CostModelError: a cost model cannot be made with some of the values.
    """
    runs: list[PlannedRun] = []
    batches: list[Batch] = []
    contents = {model.label: _content(model.path) for model in spec.models}
    laws = [_hash(file.read_bytes()) for file in spec.laws]
    points = [[(point, *_needs(cost, point)) for point in cost.axes.points()] for cost in spec.costs]
    for model, rewrites in product(spec.models, spec.rewrites):
        found: dict[object, tuple[Group, list[Task]]] = {}
        for (k, _), extractor in product(enumerate(spec.costs), spec.extractors):
            for point, priced, needs in points[k]:
                if needs not in found:
                    depends = (contents[model.label], rewrites, laws, spec.limits, needs, _release())
                    key = _hash(repr(depends).encode())
                    group = Group(key, model.path, rewrites, spec.limits, priced, spec.laws)
                    found[needs] = group, []
                found[needs][1].append(Task(len(runs), priced, extractor))
                runs.append(PlannedRun(len(runs), model.label, rewrites, k, extractor, point))
        for group, tasks in found.values():
            for start in range(0, len(tasks), BATCH):
                batches.append(Batch(len(batches), group, tuple(tasks[start : start + BATCH])))
    return SweepPlan(spec, tuple(runs), tuple(batches))


def _release() -> str:
    return version("egraph-opt")


def _content(model: Path) -> str:
    """A hash of a model, and of the sizes and times of the files of its weights."""
    found = model.read_bytes()
    try:
        names = locations(onnx.load_from_string(found))
    except DecodeError:  # each of its runs will say so
        return _hash(found)
    files = sorted(model.parent / name for name in names)
    looks = [(file.name, (look := file.stat()).st_size, look.st_mtime_ns) for file in files if file.exists()]
    return _hash(found + repr(looks).encode())


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _needs(cost: SweptCost, point: Point) -> tuple[Priced, object]:
    """A cost model at a point, and what it brings to saturation."""
    priced = Priced(cost.name, {**cost.fixed, **point})
    model = cost_model(priced.name, priced.values)
    return priced, (tuple(sorted(model.rulesets)), tuple(sorted(model.limits.items())))


def digests(spec: Spec) -> dict[str, str]:
    """Hashes of what answers depend on, by what to call it."""
    described = {
        "the release of egraph-opt": _release(),
        "the spec": {
            "models": [model.label for model in spec.models],
            "costs": [
                [cost.label, _plain(cost.fixed), [asdict(axis) for axis in cost.axes.grid],
                 [asdict(axis) for axis in cost.axes.ranges], cost.axes.samples, cost.axes.seed]
                for cost in spec.costs
            ],
            "rewrites": spec.rewrites,
            "extractors": spec.extractors,
            "limits": asdict(spec.limits),
        },
        "a model": [_content(model.path) for model in spec.models],
        "a cost model": [list(_of_cost(cost)) for cost in spec.costs],
        "the laws": [
            [law.key for law in sorted(select(None), key=lambda law: law.key)],
            [_hash(file.read_bytes()) for file in spec.laws],
        ],
    }  # fmt: skip
    return {
        name: _hash(json.dumps(value, sort_keys=True, default=str).encode())
        for name, value in described.items()
    }


def _of_cost(cost: SweptCost) -> Iterator[object]:
    """The values of its parameters, and the file of its class where that is the user's."""
    yield {name: _plain(entry.value) for name, entry in parameters_of(cost.name).items()}
    place = named(cost.name).place
    if place is not None:
        yield _hash(place.read_bytes())


def _plain(value: object) -> object:
    """Tables of any kind as JSON has them."""
    return {key: _plain(part) for key, part in value.items()} if isinstance(value, Mapping) else value
