"""The stages in order: load, lower, saturate; then price, extract, rebuild, verify.

`saturate` is done once for a model, `Saturated.extract` as often as one likes, with another cost model each
time; `optimize` is the two in a row.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir

from egraph_opt.cost import CostModel, cost_model, default_points
from egraph_opt.errors import LimitsError, VerificationError
from egraph_opt.folding import Constants
from egraph_opt.law import select
from egraph_opt.model_io import LoadedModel, ModelSource, read_model, to_proto, write_model, write_original
from egraph_opt.rebuilding import rebuild_model
from egraph_opt.regions import Extracted, Region, Setting, extract_region, saturate_region
from egraph_opt.report import (
    CostReport,
    NodesReport,
    OperatorCount,
    Report,
    RewriteReport,
    SaturationReport,
    nodes_of,
)
from egraph_opt.lowering import Lowered
from egraph_opt.saturation import SaturationReport as Saturation
from egraph_opt.saturation import saturate_terms
from egraph_opt.snapshot import Snapshot
from egraph_opt.storage import Stored, read_saturated, write_saturated
from egraph_opt.verification import Verification, verify

Progress = Callable[[str, float | None], None]


@dataclass(frozen=True)
class Limits:
    """Where the search stops: counts decide, seconds are the emergency stop.

    Attributes:
        nodes: e-nodes of one graph.
        rounds: of all laws.
        solver_iterations: integer programs solved for one piece.
        fold_bytes: how many bytes folded constants may add to the file.
        seconds: of saturation, and again of extraction.

    Raises:
        LimitsError: a limit that is not positive.
    """

    nodes: int = 200_000
    rounds: int = 16
    solver_iterations: int = 200
    fold_bytes: int = 2**20
    seconds: float = 600

    def __post_init__(self) -> None:
        for name in ("nodes", "rounds", "solver_iterations", "fold_bytes", "seconds"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
                raise LimitsError(f"Limits({name}={value!r}): must be a positive number")


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
    """A model whose e-graph is saturated: ready to be priced and extracted, any number of times."""

    loaded: LoadedModel
    region: Region | None
    limits: Limits
    target_limits: Mapping[str, int]
    seconds: Mapping[str, float]
    warnings: tuple[str, ...]
    reason: str = ""

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
        regions = [(r.snapshot, r.saturation) for r in self.region.walk()] if self.region else []
        header = {
            "limits": asdict(self.limits),
            "target_limits": dict(self.target_limits),
            "seconds": dict(self.seconds),
            "warnings": list(self.warnings),
            "reason": self.reason,
        }
        place = None if model is not None else str(original)
        return write_saturated(path, Stored(model, place, header, regions))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Saturated:
        """Read what `save` wrote.

        Raises:
            ModelReadError: it is no such file, or the model is not where it was.
        """
        stored = read_saturated(path)
        if stored.model is not None:
            loaded = read_model(onnx.load_from_string(stored.model))
        else:
            loaded = read_model(str(stored.path))
        header = stored.header
        limits = Limits(**header["limits"])
        snapshots = iter(stored.regions)
        region = None
        if stored.regions:
            region = _region(loaded, limits, lambda lowered: next(snapshots), [], lambda stage: None)
        return Saturated(
            loaded,
            region,
            limits,
            header["target_limits"],
            header["seconds"],
            tuple(header["warnings"]),
            header["reason"],
        )

    def extract(
        self,
        cost: str | CostModel = "ascend",
        *,
        extractor: str = "auto",
        assume: Mapping[str, Any] | None = None,
        verify: bool = True,
        strict: bool = False,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Result:
        """Choose the cheapest graph under a cost model, rebuild and verify it.

        Raises:
            UnknownCostModelError: no cost model of that name.
            VerificationError: with strict, where the outputs differ.
        """
        model = cost_model(cost)
        clock = _Clock(progress)
        if self.region is None:
            return _unchanged(self.loaded, model, self.reason, dict(self.seconds), self.warnings)
        points = default_points(self.region.inputs, given=_sizes(assume))
        extracted = extract_region(
            self.region,
            model,
            points,
            extractor=extractor,
            iterations=self.limits.solver_iterations,
            seconds=self.limits.seconds,
            fold_bytes=self.limits.fold_bytes,
            seed=seed,
            clock=clock,
        )
        clock("rebuild")
        rebuilt = rebuild_model(extracted.choice, self.loaded.model)
        proto = to_proto(rebuilt, self.loaded)
        clock("verify")
        verdict = Verification("skipped")
        if verify:
            verdict = _verify(self.loaded, proto, seed, assume)
        clock("")
        warnings = list(self.warnings)
        if verdict.status == "not_comparable":
            warnings.append(f"not compared with the original: {verdict.detail}")
        seconds = {**self.seconds, **clock.seconds}
        if verdict.status == "failed":
            if strict:
                raise VerificationError(f"{self.loaded.source}: {verdict.detail}")
            warnings.append(f"the optimized model was wrong and is not used: {verdict.detail}")
            result = _unchanged(self.loaded, model, verdict.detail, seconds, tuple(warnings), "fallback")
            report = _report(self, model, extracted, self.loaded.model, verdict, seconds, warnings, "fallback")
            return Result(result.model, report, self.loaded, None)
        report = _report(self, model, extracted, rebuilt, verdict, seconds, warnings, "optimized")
        if report.nodes.after == report.nodes.before and not any(rule.used for rule in report.rewrites):
            report = replace(report, status="unchanged", reason="nothing cheaper was found")
        return Result(proto, report, self.loaded, rebuilt)


def _sizes(assume: Mapping[str, Any] | None) -> dict[str, int]:
    """The assumptions that give a symbolic dim one size."""
    return {name: value for name, value in (assume or {}).items() if isinstance(value, int)}


def _verify(
    loaded: LoadedModel, proto: onnx.ModelProto, seed: int, assume: Mapping[str, Any] | None
) -> Verification:
    return verify(loaded.runnable(), proto, seed=seed, assume=assume)


def _unchanged(
    loaded: LoadedModel,
    model: CostModel,
    reason: str,
    seconds: Mapping[str, float],
    warnings: tuple[str, ...],
    status: str = "unchanged",
) -> Result:
    proto = _original_proto(loaded)
    counts = nodes_of(loaded.model)
    nodes = NodesReport(counts.file, counts.file, counts.runtime, counts.runtime)
    report = Report(
        status=status,
        reason=reason,
        cost=CostReport(model.name, model.unit, 0.0, 0.0),
        nodes=nodes,
        seconds=seconds,
        warnings=warnings,
    )
    return Result(proto, report, loaded, None)


def _original_proto(loaded: LoadedModel) -> onnx.ModelProto:
    original = loaded.runnable()
    return onnx.load(str(original)) if isinstance(original, Path) else original


def _report(
    saturated: Saturated,
    model: CostModel,
    extracted: Extracted,
    written: ir.Model,
    verdict: Verification,
    seconds: Mapping[str, float],
    warnings: list[str],
    status: str,
) -> Report:
    region = saturated.region
    assert region is not None
    before, after = nodes_of(saturated.loaded.model), nodes_of(written)
    regions = region.walk()
    solution = extracted.solution
    names = sorted({*before.operators, *after.operators})
    reason = verdict.detail if status == "fallback" else ""
    return Report(
        status=status,
        reason=reason,
        cost=CostReport(
            model.name,
            model.unit,
            extracted.before,
            extracted.before if status == "fallback" else solution.cost,
            solution.lower_bound,
            solution.gap,
        ),
        nodes=NodesReport(before.file, after.file, before.runtime, after.runtime),
        saturation=SaturationReport(
            rounds=max(r.saturation.rounds for r in regions),
            nodes=sum(r.saturation.nodes for r in regions),
            classes=sum(r.saturation.classes for r in regions),
            stop=next((r.saturation.stop for r in regions if r.saturation.stop != "saturated"), "saturated"),
        ),
        rewrites=_rewrites(regions, extracted),
        verification=verdict,
        seconds=seconds,
        warnings=tuple(warnings),
        operators={
            name: OperatorCount(before.operators.get(name, 0), after.operators.get(name, 0)) for name in names
        },
    )


def _rewrites(regions: list[Region], extracted: Extracted) -> tuple[RewriteReport, ...]:
    """Per law how often it matched, and how many chosen nodes it made."""
    matches: Counter[str] = Counter()
    used: Counter[str] = Counter()
    for region in regions:
        matches.update(region.saturation.matches)
    for part in extracted.walk():
        snapshot = part.choice.snapshot
        for node in part.solution.choice[part.solution.choice >= 0].tolist():
            if snapshot.made_by[node] > 0:
                used[snapshot.laws[int(snapshot.made_by[node]) - 1]] += 1
    rows = []
    for key in sorted(matches):
        if matches[key] or used[key]:
            ruleset, name = key.rsplit(".", 1)
            rows.append(RewriteReport(ruleset, name, matches[key], used[key]))
    return tuple(rows)


def saturate(
    model: ModelSource,
    *,
    rewrites: Iterable[str] | None = None,
    limits: Limits = Limits(),
    target: str | CostModel | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> Saturated:
    """Build the e-graph of a model and saturate it.

    Args:
        model: a path, a ModelProto or an onnx_ir.Model; it is not changed.
        rewrites: names of rulesets; by default all that keep values.
        limits: where to stop.
        target: a cost model whose own rulesets and limits (of kernels, say) take part.
        strict: raise where laws contradict each other in types, instead of leaving them out.

    Raises:
        ModelReadError, InvalidModelError, ExternalDataError: the model.
        UnknownRulesetError: a ruleset.
        UnsoundLawError: with strict.
    """
    wanted = cost_model(target) if target is not None else None
    laws = select(rewrites, wanted.rulesets if wanted else ())
    target_limits = dict(wanted.limits) if wanted else {}
    clock = _Clock(progress)
    clock("load")
    loaded = read_model(model)
    warnings = list(loaded.warnings)
    if loaded.unsupported is not None:
        clock("")
        return Saturated(loaded, None, limits, target_limits, clock.seconds, tuple(warnings), loaded.unsupported)

    def run_laws(lowered: Lowered) -> tuple[Snapshot, Saturation]:
        return saturate_terms(
            lowered,
            laws,
            target_limits,
            nodes=limits.nodes,
            rounds=limits.rounds,
            seconds=limits.seconds,
            strict=strict,
        )

    region = _region(loaded, limits, run_laws, warnings, clock)
    clock("")
    return Saturated(loaded, region, limits, target_limits, clock.seconds, tuple(warnings))


def _region(
    loaded: LoadedModel,
    limits: Limits,
    saturate_one: Callable[[Lowered], tuple[Snapshot, Saturation]],
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
        fold_bytes=limits.fold_bytes,
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
    assume: Mapping[str, Any] | None = None,
    verify: bool = True,
    strict: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Result:
    """Optimise an ONNX model by equality saturation.

    Args:
        model: a path, a ModelProto or an onnx_ir.Model; it is not changed.
        cost: a cost model or the name of one (see `egraph-opt costs`).
        rewrites: names of rulesets (see `egraph-opt rules`); by default all that keep values.
        limits: where the search stops.
        extractor: how to choose, see `egraph_opt.extraction`.
        assume: least and largest value by name of input, or the size of a symbolic dim by its name.
        verify: compare the result with the original in onnxruntime.
        strict: raise, instead of handing back the original, where the result is wrong.
        seed: of the search and of verification's inputs.
        progress: called with a stage's name and how much of it is done.

    Returns:
        The optimized model; the original where nothing is better, with the reason.

    Raises:
        EgraphOptError: one of its kinds, for a model that cannot be read, unknown names, limits that are not
            positive; with strict also for a wrong result.
    """
    chosen = cost_model(cost)
    saturated = saturate(model, rewrites=rewrites, limits=limits, target=chosen, strict=strict, progress=progress)
    return saturated.extract(
        chosen, extractor=extractor, assume=assume, verify=verify, strict=strict, seed=seed, progress=progress
    )
