"""The stages in order: load, lower, saturate; then price, extract, rebuild, verify.

`saturate` is done once for a model, `Saturated.extract` as often as one likes, with another cost model each
time; `optimize` is the two in a row.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir

from egraph_opt.accounting import Account, report_of, report_unchanged
from egraph_opt.cost import CostModel, cost_model, default_points
from egraph_opt.errors import ExtractionError, LimitsError, ModelReadError, VerificationError
from egraph_opt.explaining import TensorAlternative, tensor_alternatives
from egraph_opt.finishing import Checks, finish, granted, value_changing, warnings_of
from egraph_opt.folding import Constants, constant_bytes
from egraph_opt.inlining import Inliner
from egraph_opt.interrupts import OnInterrupt, interruptible
from egraph_opt.law import LEGALIZE, all_laws, select
from egraph_opt.lowering import Lowered
from egraph_opt.memory import Objective, objective_of
from egraph_opt.memory_account import arranged, over_limit
from egraph_opt.model_io import LoadedModel, ModelSource, read_model, write_model, write_original
from egraph_opt.node_counts import NodeCount, nodes_of
from egraph_opt.objectives import extract_by
from egraph_opt.rebuilding import Legend, rebuild_model
from egraph_opt.regions import Extracted, Region, Setting, extract_region, saturate_region
from egraph_opt.report import Report
from egraph_opt.repricing import Effort, key_of
from egraph_opt.saturation import SaturationReport, saturate_terms
from egraph_opt.snapshot import Snapshot
from egraph_opt.storage import Stored, StoredRegion, fingerprint, read_saturated, write_saturated
from egraph_opt.verification import SKIPPED

NO_TIME = "no time was given (seconds=0)"

Progress = Callable[[str, float | None], None]
ObjectiveLike = str | tuple[str, float] | Objective


@dataclass(frozen=True)
class Limits:
    """Where the search stops: counts decide, seconds are the emergency stop.

    Attributes:
        nodes: e-nodes of one graph.
        rounds: of all laws.
        solver_iterations: integer programs solved for one piece.
        fold_bytes: how many bytes folded constants may add to the file.
        seconds: of saturation, and again of extraction; with 0 the model is handed back as it came.

    Raises:
        LimitsError: a limit that is not positive, or seconds that are negative.
    """

    nodes: int = 200_000
    rounds: int = 16
    solver_iterations: int = 200
    fold_bytes: int = 2**20
    seconds: float = 600

    def __post_init__(self) -> None:
        for name in ("nodes", "rounds", "solver_iterations", "fold_bytes", "seconds"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise LimitsError(f"Limits({name}={value!r}): must be a positive number")
            if not (value > 0 or (name == "seconds" and value == 0)):
                least = " or 0" if name == "seconds" else ""
                raise LimitsError(f"Limits({name}={value!r}): must be a positive number{least}")


class _Clock:
    """Seconds by stage; entering a stage ends the one before."""

    def __init__(self, progress: Progress | None) -> None:
        self.seconds: dict[str, float] = {}
        self._progress = progress
        self._stage = ""
        self._since = time.perf_counter()

    def __call__(self, stage: str) -> None:
        now = time.perf_counter()
        if self._stage:
            self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + now - self._since
        if self._progress is not None and stage and stage != self._stage:
            self._progress(stage, None)
        self._stage, self._since = stage, now


@dataclass(frozen=True)
class Result:
    """An optimized model with an account of it.

    Attributes:
        model: the ONNX model.
        report: what was done, in figures.
    """

    model: onnx.ModelProto
    report: Report
    _loaded: LoadedModel = field(repr=False)
    _graph: ir.Model | None = field(repr=False)

    def save(self, path: str | os.PathLike[str], *, in_place: bool = False) -> Path:
        """Write the model: whole or not at all, weights beside it where the input had them so or above 2 GB.

        Raises:
            OutputError: `path` is the input (without `in_place`) or cannot be written.
        """
        if self._graph is None:
            return write_original(path, like=self._loaded, in_place=in_place)
        return write_model(self._graph, path, like=self._loaded, in_place=in_place)


@dataclass(frozen=True)
class Saturated:
    """A model whose e-graph is saturated: ready to be priced and extracted, any number of times.

    Attributes:
        region: the saturated graph, or None where nothing can be done, for the `reason` given.
        counts: the nodes of the model as it came.
        constant_bytes: of all its constants.
        assume: least and largest value by name of input or symbolic dim: the e-graph is right within them.
        legalize: results are to be made what the target's compiler takes, outside the standard.
    """

    loaded: LoadedModel
    region: Region | None
    counts: NodeCount
    constant_bytes: int
    limits: Limits
    target_limits: Mapping[str, int]
    seconds: Mapping[str, float]
    warnings: tuple[str, ...]
    reason: str = ""
    assume: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    legalize: bool = False

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write to a `.npz` file, which `load` reads in another process.

        The model goes in too, unless its weights are in files of their own: then its path does.

        Raises:
            OSError: the file cannot be written.
        """
        original = self.loaded.original
        inside = not self.loaded.external
        model = original.read_bytes() if isinstance(original, Path) and inside else None
        if model is None and not isinstance(original, Path):
            model = self.loaded.runnable().SerializeToString()  # type: ignore[union-attr]
        regions = [
            StoredRegion(region.snapshot, region.saturation, fingerprint(region.lowered))
            for region in (self.region.walk() if self.region else ())
        ]
        header = {
            "limits": asdict(self.limits),
            "target_limits": dict(self.target_limits),
            "seconds": dict(self.seconds),
            "warnings": list(self.warnings),
            "reason": self.reason,
            "assume": {name: list(ends) for name, ends in self.assume.items()},
            "legalize": self.legalize,
        }
        place = None if model is not None else os.path.abspath(str(original))
        return write_saturated(path, Stored(model, place, header, regions))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Saturated:
        """Read what `save` wrote.

        Raises:
            ModelReadError: it is no such file, or the model is not where it was, or not what it was.
        """
        all_laws()  # they bring operators of their own
        stored = read_saturated(path)
        if stored.model is not None:
            loaded = read_model(onnx.load_from_string(stored.model))
        else:
            loaded = read_model(str(stored.path))
        counts, size = nodes_of(loaded.model), constant_bytes(loaded.model.graph)
        header = stored.header
        limits = Limits(**header["limits"])
        assume = {name: (low, high) for name, (low, high) in header["assume"].items()}
        regions = iter(stored.regions)

        def next_region(lowered: Lowered) -> tuple[Snapshot, SaturationReport]:
            entry = next(regions, None)
            if entry is None or entry.terms != fingerprint(lowered):
                raise ModelReadError(
                    f"{path}: the model is another one than was saturated, or another release reads it"
                    " differently; saturate it again"
                )
            return entry.snapshot, entry.saturation

        region = None
        if stored.regions:
            region = _region(loaded, limits, assume, next_region, [], lambda stage: None)
        return Saturated(
            loaded,
            region,
            counts,
            size,
            limits,
            header["target_limits"],
            header["seconds"],
            tuple(header["warnings"]),
            header["reason"],
            assume,
            header["legalize"],
        )

    def extract(
        self,
        cost: str | CostModel = "ascend",
        *,
        extractor: str = "auto",
        objective: ObjectiveLike = "cost",
        assume: Mapping[str, Any] | None = None,
        verify: bool = True,
        strict: bool = False,
        seed: int = 0,
        progress: Progress | None = None,
        warm: Extracted | None = None,
        on_interrupt: OnInterrupt = "best",
    ) -> Result:
        """Choose the cheapest graph under a cost model, rebuild and verify it.

        What `assume` says comes on top of what `saturate` was told, within which it has to stay.  `objective`
        is that of `optimize`.  `warm` is what `solve` chose, to start from.  Ctrl-C during the choice ends it
        with the best found so far, which a warning says, or with `on_interrupt="raise"` raises
        KeyboardInterrupt.

        Raises:
            UnknownCostModelError: no cost model of that name.
            ObjectiveError: no such objective.
            ExtractionError: a price that is negative or no number.
            VerificationError: with strict, where the outputs differ.
        """
        model, wanted = cost_model(cost), objective_of(objective)
        clock = _Clock(progress)
        if self.region is None or self.limits.seconds == 0:
            account = Account(model, {}, self.counts, SKIPPED, self.seconds, self.warnings)
            proto = _original_proto(self.loaded)
            reason = self.reason or NO_TIME
            return Result(proto, report_unchanged(account, reason), self.loaded, None)
        ranges = {**self.assume, **_ranges(assume)}
        points = default_points(self.region.inputs, given=_sizes(ranges))
        interrupted = False
        # Each constant may grow a little; where that adds up to too much, none may.
        for fold_bytes in (self.limits.fold_bytes, 0):
            with interruptible(on_interrupt) as stop:
                stop = _at_once if interrupted else stop
                effort = Effort(extractor, self.limits.solver_iterations, self.limits.seconds, seed, stop)
                run = partial(
                    extract_region,
                    self.region,
                    model,
                    points,
                    effort=effort,
                    fold_bytes=fold_bytes,
                    clock=clock,
                    warm=warm,
                )
                extracted = extract_by(wanted, bool(self.region.bodies), run)
            interrupted = any(part.solution.interrupted for part in extracted.walk())
            clock("rebuild")
            legend = Legend()
            rebuilt = rebuild_model(extracted.choice, self.loaded.model, legend)
            if constant_bytes(rebuilt.graph) - self.constant_bytes <= self.limits.fold_bytes:
                break
        memory = arranged(rebuilt, legend.facts, self.region, extracted, points, wanted)
        memory = replace(memory, constants_before=self.constant_bytes)
        accounts = [region.saturation.matches for region in self.region.walk()]
        matched = [key for matches in accounts for key, found in matches.items() if found]
        changing = value_changing(matched)
        checks = Checks(verify, ranges, seed, changing, self.legalize)
        finished = finish(rebuilt, self.loaded, checks, clock)
        verdict = finished.verdict
        if verdict.status == "failed" and strict:
            raise VerificationError(f"{self.loaded.source}: {verdict.detail}")
        warnings = [*self.warnings, *granted(matched), *warnings_of(verdict, changing), *over_limit(memory)]
        if interrupted:
            warnings.append("the search was interrupted: the result is the best that was found until then")
        seconds = {**self.seconds, **clock.seconds}
        account = Account(model, points, self.counts, verdict, seconds, warnings, memory)
        report = report_of(account, self.region, extracted, rebuilt)
        report = replace(report, rewrites=(*report.rewrites, *finished.rewrites))
        if report.status == "fallback":
            return Result(_original_proto(self.loaded), report, self.loaded, None)
        return Result(finished.proto, report, finished.loaded, rebuilt)

    def solve(
        self,
        cost: str | CostModel = "ascend",
        *,
        extractor: str = "auto",
        assume: Mapping[str, Any] | None = None,
        seed: int = 0,
        warm: Extracted | None = None,
        on_interrupt: OnInterrupt = "best",
    ) -> Extracted:
        """Choose the cheapest graph under a cost model and stop there, for tuning of cost models.

        What does not depend on prices is worked out once and kept (`Region.ready`), so that the next cost
        model is answered in a fraction of the time.  `warm` is the last answer, from which the search starts
        where it is better than the original graph.  (`extract` may choose again with fewer folded constants,
        where those would make the file too large.)

        Returns:
            Its `solution` has cost, lower bound and gap; `saved` is to be taken off what the original costs.

        Raises:
            UnknownCostModelError: no cost model of that name.
            ExtractionError: a price that is negative or no number, or a model that nothing can be done for.
        """
        model = cost_model(cost)
        if self.region is None:
            raise ExtractionError(f"{self.loaded.source}: there is nothing to choose from: {self.reason}")
        points = default_points(self.region.inputs, given=_sizes({**self.assume, **_ranges(assume)}))
        with interruptible(on_interrupt) as stop:
            return extract_region(
                self.region,
                model,
                points,
                effort=Effort(extractor, self.limits.solver_iterations, self.limits.seconds, seed, stop),
                fold_bytes=self.limits.fold_bytes,
                clock=lambda stage: None,
                warm=warm,
            )

    def alternatives(
        self,
        cost: str | CostModel,
        name: str,
        *,
        extractor: str = "auto",
        assume: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> list[TensorAlternative]:
        """What could compute a tensor, and what the cheapest graph with each would cost.

        Args:
            cost: a cost model or the name of one.
            name: of a tensor or a node, of the model (its bodies too) or of what `extract` makes of it.
            extractor, assume, seed: as in `extract`.

        Returns:
            The chosen way first, then the others, cheapest first; not to compute the tensor at all is one of
            them where that is possible.  Of a tensor of a body, costs are those of the body.

        Raises:
            UnknownTensorError: there is no such name; suggests the nearest.
            UnknownCostModelError, ExtractionError: as in `solve`.
        """
        model = cost_model(cost)
        found = self.solve(model, extractor=extractor, assume=assume, seed=seed, on_interrupt="raise")
        assert self.region is not None  # or `solve` would have raised
        points = default_points(self.region.inputs, given=_sizes({**self.assume, **_ranges(assume)}))
        key = key_of(model.pseudo_operators, points, self.limits.fold_bytes)
        return tensor_alternatives(self.region, found, key, self.loaded.model, name)


def _at_once() -> bool:
    return True


def _ranges(assume: Mapping[str, Any] | None) -> dict[str, tuple[float, float]]:
    """Every assumption as least and largest value; a number is both."""
    return {name: (v, v) if isinstance(v, (int, float)) else v for name, v in (assume or {}).items()}


def _sizes(ranges: Mapping[str, tuple[float, float]]) -> dict[str, int]:
    """The assumptions that give a symbolic dim one size."""
    return {name: int(low) for name, (low, high) in ranges.items() if low == high}


def _original_proto(loaded: LoadedModel) -> onnx.ModelProto:
    """The model as it came, in a copy of its own."""
    original = loaded.runnable()
    if isinstance(original, Path):
        return onnx.load(str(original))
    proto = onnx.ModelProto()
    proto.CopyFrom(original)
    return proto


def saturate(
    model: ModelSource,
    *,
    rewrites: Iterable[str] | None = None,
    limits: Limits = Limits(),
    target: str | CostModel | None = None,
    assume: Mapping[str, Any] | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> Saturated:
    """Build the e-graph of a model and saturate it.

    Args:
        model: a path, a ModelProto or an onnx_ir.Model; it is not changed.
        rewrites: names of rulesets; by default all that keep values, which together are called `default`:
            ``["default", "approximate"]`` adds one.
        limits: where to stop.
        target: a cost model whose own rulesets and limits (of kernels, say) take part.
        assume: by name of an input of integers or of a symbolic dim its least and largest value, or the
            only one; the result is right within them only.
        strict: raise where laws contradict each other in types, instead of leaving them out.

    Raises:
        ModelReadError, InvalidModelError, ExternalDataError: the model.
        UnknownRulesetError: a ruleset.
        UnsoundLawError: with strict.
    """
    wanted = cost_model(target) if target is not None else None
    names = None if rewrites is None else tuple(rewrites)
    laws = select(names, wanted.rulesets if wanted else ())
    ranges, legalize = _ranges(assume), LEGALIZE in (names or ())
    target_limits = dict(wanted.limits) if wanted else {}
    clock = _Clock(progress)
    clock("load")
    loaded = read_model(model)
    warnings = list(loaded.warnings)
    counts, size = nodes_of(loaded.model), constant_bytes(loaded.model.graph)
    unsupported = loaded.unsupported or (None if limits.seconds else NO_TIME)
    if unsupported is not None:
        clock("")
        return Saturated(
            loaded,
            None,
            counts,
            size,
            limits,
            target_limits,
            clock.seconds,
            tuple(warnings),
            unsupported,
            ranges,
            legalize,
        )

    def run_laws(lowered: Lowered) -> tuple[Snapshot, SaturationReport]:
        return saturate_terms(
            lowered,
            laws,
            target_limits,
            nodes=limits.nodes,
            rounds=limits.rounds,
            seconds=limits.seconds,
            strict=strict,
        )

    region = _region(loaded, limits, ranges, run_laws, warnings, clock)
    clock("")
    return Saturated(
        *(loaded, region, counts, size, limits, target_limits, clock.seconds, tuple(warnings)),
        assume=ranges,
        legalize=legalize,
    )


def _region(
    loaded: LoadedModel,
    limits: Limits,
    assume: Mapping[str, tuple[float, float]],
    saturate_one: Callable[[Lowered], tuple[Snapshot, SaturationReport]],
    warnings: list[str],
    clock: Callable[[str], None],
) -> Region:
    """The graph of a model and its bodies, saturated; `warnings` grows."""

    def warn(message: str) -> None:
        if message not in warnings:
            warnings.append(message)

    setting = Setting(
        opsets=loaded.opset_imports,
        ir_version=loaded.ir_version,
        functions=loaded.model.functions,
        assume=assume,
        fold_bytes=limits.fold_bytes,
        inliner=Inliner(loaded.model.graph),
        saturate=saturate_one,
        warn=warn,
        clock=clock,
    )
    return saturate_region(loaded.model.graph, setting, {}, Constants())


def optimize(
    model: ModelSource,
    cost: str | CostModel = "ascend",
    *,
    rewrites: Iterable[str] | None = None,
    limits: Limits = Limits(),
    extractor: str = "auto",
    objective: ObjectiveLike = "cost",
    assume: Mapping[str, Any] | None = None,
    verify: bool = True,
    strict: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
    on_interrupt: OnInterrupt = "best",
) -> Result:
    """Optimise an ONNX model by equality saturation.

    Args:
        model: a path, a ModelProto or an onnx_ir.Model; it is not changed.
        cost: a cost model or the name of one (see `egraph-opt costs`).
        rewrites: names of rulesets (see `egraph-opt rules`); by default all that keep values, which together
            are called `default`: ``["default", "approximate"]`` adds one.
        limits: where the search stops.
        extractor: how to choose, see `egraph_opt.extraction`.
        objective: `"cost"`, the cheapest graph; `"memory"`, of those found that cost at most 5 % more (or
            10 % with `("memory", 0.1)`) the one that needs the least memory at its peak; `("cost", bytes)`,
            the cheapest found that needs at most so many bytes, or with a warning the one that needs least.
        assume: by name of an input or of a symbolic dim its least and largest value, or the only one; a dim
            of one size is priced at it.  The result is right within them only.
        verify: compare the result with the original in onnxruntime.
        strict: raise, instead of handing back the original, where the result is wrong.
        seed: of the search and of verification's inputs.
        progress: called with a stage's name and how much of it is done.
        on_interrupt: what Ctrl-C does while the graph is chosen: ``"best"`` goes on with the best found so
            far and says so in a warning, ``"raise"`` raises KeyboardInterrupt, as it does at other times.

    Returns:
        The optimized model; the original where nothing is better, with the reason.

    Raises:
        EgraphOptError: one of its kinds, for a model that cannot be read, unknown names, limits that are not
            positive; with strict also for a wrong result.
    """
    chosen, wanted = cost_model(cost), objective_of(objective)
    saturated = saturate(
        model,
        rewrites=rewrites,
        limits=limits,
        target=chosen,
        assume=assume,
        strict=strict,
        progress=progress,
    )
    return saturated.extract(
        chosen,
        extractor=extractor,
        objective=wanted,
        verify=verify,
        strict=strict,
        seed=seed,
        progress=progress,
        on_interrupt=on_interrupt,
    )
