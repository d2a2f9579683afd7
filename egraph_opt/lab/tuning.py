"""The search: parameters are drawn, the graphs that they choose are timed, and the next ones drawn by that.

Only a graph that nobody has chosen yet takes time; all others are looked up.  At the end the fastest are
timed again beside the graphs of the parameters as they were, and whatever does not change the choice goes
back to its default: what is written is only what it takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from egraph_opt.cost.parameters import Override
from egraph_opt.errors import CalibrationError, NothingFasterError
from egraph_opt.lab.calibration.coordinates import Coordinate, Floats, Space, space_of
from egraph_opt.lab.calibration.writing import ParameterFile, base_of, parameter_of
from egraph_opt.lab.tuning_subject import Speed, Subject
from egraph_opt.measurement.runtimes.onnxruntime import OrtRuntime
from egraph_opt.pipeline.stages import saturate

FINALISTS = 3
"""So many of the fastest choices are timed again."""

FINAL_SECONDS = 3.0

NO_PRICE = "no price depends on it"
NOT_NEEDED = "the same graphs are chosen without it"
DIGITS = 4

Keys = tuple[str, ...]
"""The chosen graph of each model."""

Progress = Callable[[str, float | None], None]


@dataclass(frozen=True)
class TuneRequest:
    """What is tuned.

    Attributes:
        models: on which the mean gain counts.
        cost: the cost model, named as for `--cost`.
        held: values that stay.
        only: parameters that may change; by default all numbers but those of the data sheet.
        within: by what factor a parameter may change, up and down.
        trials: how many values are tried.
        seconds: of timing, for each graph.
        rewrites: rulesets, as for `saturate`.
        threads: of onnxruntime.
    """

    models: tuple[Path, ...]
    cost: str
    held: tuple[Override, ...] = ()
    only: Sequence[str] = ()
    within: float = 10.0
    trials: int = 100
    seconds: float = 1.0
    rewrites: Sequence[str] | None = None
    threads: int = 1
    seed: int = 0


@dataclass(frozen=True)
class ModelGain:
    """How many times as fast a model's graph is with the new parameters as with the old ones, and as it came.

    Attributes:
        low: the lower end of the 95 % interval of `gain`.
        graphs: how many different ones were timed.
    """

    name: str
    gain: float
    low: float
    beside_original: float
    graphs: int


@dataclass(frozen=True)
class Tuning:
    """What the search found.

    Attributes:
        values: the parameters that it takes, by name.
        kept: why the others stay, by name.
        gain: the geometric mean over the models.
        trials: how many were made.
    """

    request: TuneRequest
    space: Space
    values: Mapping[str, float]
    kept: Mapping[str, str]
    models: tuple[ModelGain, ...]
    gain: float
    trials: int
    stopped: bool = False
    defaults: Mapping[str, float] = field(default_factory=dict)


def tune(request: TuneRequest, progress: Progress = lambda stage, done: None) -> Tuning:
    """Search the parameters under which the chosen graphs run fastest.

    Ctrl-C ends the search with what was found until then.

    Raises:
        NothingFasterError: nothing is faster than what is chosen already.
        CalibrationError: no price depends on what may change.
        TimingError: onnxruntime cannot run a model.
        CostModelError, UnknownParameterError: the cost model.
        ModelReadError, InvalidModelError, ExternalDataError, ExtractionError: a model.
    """
    space = space_of(request.cost, request.held, request.only)
    base = space.model.make(request.held)
    runtime = base.runtime or OrtRuntime(request.threads)
    subjects = []
    for path in request.models:
        progress(f"saturate {path.name}", None)
        saturated = saturate(path, rewrites=request.rewrites, target=base)
        subjects.append(Subject(path.name, saturated, runtime, request.seconds))
    return _Trials(request, space, subjects).run(progress)


class _Trials:
    def __init__(self, request: TuneRequest, space: Space, subjects: Sequence[Subject]) -> None:
        self.request, self.space, self.subjects = request, space, subjects
        self.defaults = np.zeros(len(space.coordinates))
        self.points: dict[Keys, Floats] = {}
        self.scores: dict[Keys, float] = {}

    def run(self, progress: Progress) -> Tuning:
        moving = [k for k in range(len(self.defaults)) if self._matters(k)]
        if not moving:
            raise CalibrationError(f"{self.request.cost}: no price here depends on what may change")
        before = self._keys(self.defaults)
        self._score(before, self.defaults)
        trials, stopped = 0, False
        try:
            for trials in self._trials(moving):
                progress("trials", trials / self.request.trials)
        except KeyboardInterrupt:
            stopped = True
        progress("final timing", None)
        best, speeds = self._best(before)
        if best is None:
            graphs = sum(len(subject.speeds) for subject in self.subjects)
            told = f"{trials} trials chose {graphs} different graphs, none surely faster"
            raise NothingFasterError(f"{self.request.cost}: {told} than what is chosen already")
        point = self._least(self.points[best], best, moving)
        return replace(self._tuning(point, moving, best, speeds), trials=trials, stopped=stopped)

    def _matters(self, number: int) -> bool:
        """Whether any price changes with a coordinate."""
        known = [subject.prices(self.space.make(self.defaults)) for subject in self.subjects]
        for end in self._range(self.space.coordinates[number]):
            moved = self.defaults.copy()
            moved[number] = end
            if [subject.prices(self.space.make(moved)) for subject in self.subjects] != known:
                return True
        return False

    def _range(self, coordinate: Coordinate) -> tuple[float, float]:
        """Between which coordinates values are drawn."""
        reach = math.log(self.request.within) if coordinate.is_positive else self.request.within
        least, most = coordinate.bounds
        return max(least, -reach), min(most, reach)

    def _trials(self, moving: Sequence[int]) -> Any:
        """Try one point after the other; yields how many were tried."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        study = optuna.create_study(
            direction="maximize", sampler=optuna.samplers.TPESampler(seed=self.request.seed)
        )
        names = {k: self.space.coordinates[k].name for k in moving}
        study.enqueue_trial(dict.fromkeys(names.values(), 0.0))
        for number in range(self.request.trials):
            trial = study.ask()
            point = self.defaults.copy()
            for k, name in names.items():
                point[k] = trial.suggest_float(name, *self._range(self.space.coordinates[k]))
            keys = self._keys(point)
            study.tell(trial, self._score(keys, point))
            yield number + 1

    def _keys(self, point: Floats) -> Keys:
        model = self.space.make(point)
        return tuple(subject.choose(model) for subject in self.subjects)

    def _score(self, keys: Keys, point: Floats) -> float:
        """The mean gain over the originals."""
        if keys not in self.scores:
            gains = [subject.speed(key).gain for subject, key in zip(self.subjects, keys, strict=True)]
            self.scores[keys] = math.fsum(gains) / len(gains)
            self.points[keys] = point
        return self.scores[keys]

    def _best(self, before: Keys) -> tuple[Keys | None, list[Speed]]:
        """The choice that is fastest beyond doubt when it is timed beside the one before; None if none is."""
        others = sorted((keys for keys in self.scores if keys != before), key=lambda keys: -self.scores[keys])
        found: tuple[float, Keys | None, list[Speed]] = (0.0, None, [])
        for keys in others[:FINALISTS]:
            speeds = [
                Speed(0.0, 0.0) if old == new else subject.compare(old, [new], FINAL_SECONDS)[0]
                for subject, old, new in zip(self.subjects, before, keys, strict=True)
            ]
            sure = _mean(speeds) - math.hypot(*(speed.error for speed in speeds)) / len(speeds)
            if sure > 0 and _mean(speeds) > found[0]:
                found = _mean(speeds), keys, speeds
        return found[1], found[2]

    def _least(self, point: Floats, keys: Keys, moving: Sequence[int]) -> Floats:
        """The point, rounded, with those coordinates at their defaults that the same choice does not take."""
        found = point.copy()
        for k in sorted(moving, key=lambda k: abs(point[k])):
            tried = found.copy()
            tried[k] = 0.0
            if self._keys(tried) == keys:
                found = tried
        rounded = found.copy()
        for k in np.flatnonzero(found).tolist():
            coordinate = self.space.coordinates[k]
            rounded[k] = coordinate.at(float(f"{coordinate.value(float(found[k])):.{DIGITS}g}"))
        return rounded if self._keys(rounded) == keys else found

    def _tuning(self, point: Floats, moving: Sequence[int], keys: Keys, speeds: Sequence[Speed]) -> Tuning:
        coordinates = self.space.coordinates
        changed = np.flatnonzero(point).tolist()
        values = {coordinates[k].name: _plain(coordinates[k].value(float(point[k]))) for k in changed}
        kept = dict(self.space.kept)
        for k, coordinate in enumerate(coordinates):
            if k not in changed:
                kept[coordinate.name] = NOT_NEEDED if k in moving else NO_PRICE
        gains = tuple(
            ModelGain(
                subject.name,
                math.exp(speed.gain),
                math.exp(speed.gain - speed.error),
                math.exp(subject.speed(key).gain),
                len(subject.speeds),
            )
            for subject, key, speed in zip(self.subjects, keys, speeds, strict=True)
        )
        defaults = {coordinates[k].name: coordinates[k].default for k in changed}
        gain = math.exp(_mean(speeds))
        return Tuning(self.request, self.space, values, kept, gains, gain, 0, defaults=defaults)


def _plain(value: float) -> float:
    """A value without the noise of a logarithm's way there and back."""
    rounded = float(f"{value:.{DIGITS}g}")
    return rounded if math.isclose(rounded, value, rel_tol=1e-12) else value


def _mean(speeds: Sequence[Speed]) -> float:
    return math.fsum(speed.gain for speed in speeds) / len(speeds)


def write_tuning(found: Tuning, output: Path) -> None:
    """Write the parameters under which graphs run faster; they are inferred from that, and measured as such.

    Raises:
        OutputError: it cannot be written.
    """
    names = ", ".join(model.name for model in found.models)
    heading = (
        f"{found.request.cost} tuned on {names}: {found.trials} trials.",
        f"What it chooses runs {found.gain:.3g} times as fast in onnxruntime as what was chosen before.",
    )
    told = {
        name: f"{name.partition('.')[2] or name} was {before:g}" for name, before in found.defaults.items()
    }
    sources: dict[str, str] = {}
    for name, text in told.items():
        known = sources.get(parameter_of(name), f"graphs {found.gain:.3g} times as fast on {names}")
        sources[parameter_of(name)] = f"{known}; {text}"
    base = base_of(found.request.cost, output)
    ParameterFile(heading, base, found.request.held, found.values, "I", sources, found.kept).write(output)
