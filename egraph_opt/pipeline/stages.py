"""The stages in order: load, lower, saturate; then price, extract, rebuild, verify."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from egraph_opt.cost.model import CostModel, cost_model
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.saturation import SaturationReport, saturate_terms
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.errors import VerificationError
from egraph_opt.extraction.interrupts import OnInterrupt
from egraph_opt.extraction.registry import extractor_named
from egraph_opt.graph.constants import constant_bytes
from egraph_opt.graph.node_counts import nodes_of
from egraph_opt.laws.law import Law
from egraph_opt.laws.selection import DEFAULT, LEGALIZE, select
from egraph_opt.memory.objective import objective_of
from egraph_opt.model.reading import ModelSource, read_model
from egraph_opt.pipeline.assumptions import ranges_of
from egraph_opt.pipeline.clock import Clock, Progress
from egraph_opt.pipeline.collection import collected_rarely
from egraph_opt.pipeline.limits import NO_TIME, Limits
from egraph_opt.pipeline.offending_law import without_offending_law
from egraph_opt.pipeline.region import region_of
from egraph_opt.pipeline.result import Result
from egraph_opt.pipeline.saturated import ObjectiveLike, Saturated


@collected_rarely()
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
    deadline = limits.saturation_deadline(time.monotonic())
    rules, ranges, clock = _rules(rewrites, target), ranges_of(assume), Clock(progress)
    clock("load")
    loaded = read_model(model)
    warnings = list(loaded.warnings)
    counts, size = nodes_of(loaded.model), constant_bytes(loaded.model.graph)
    reason = loaded.unsupported or ("" if limits.seconds else NO_TIME)
    region = None
    if not reason:
        run_laws = partial(_saturate_terms, rules=rules, limits=limits, deadline=deadline, strict=strict)
        region = region_of(loaded, limits.fold_bytes, ranges, run_laws, warnings=warnings, clock=clock)
    clock("")
    return Saturated(
        loaded=loaded,
        region=region,
        counts=counts,
        constant_bytes=size,
        limits=limits,
        target_limits=rules.target_limits,
        seconds=clock.seconds,
        warnings=tuple(warnings),
        reason=reason,
        assume=ranges,
        legalize=rules.legalize,
    )


@dataclass(frozen=True)
class Rules:
    """What is applied to a model.

    Attributes:
        target_limits: what the target publishes, of kernels, say.
        legalize: the result is to be made what the target's compiler takes, outside the standard.
    """

    laws: tuple[Law, ...]
    target_limits: Mapping[str, int]
    legalize: bool


def _rules(rewrites: Iterable[str] | None, target: str | CostModel | None) -> Rules:
    wanted = cost_model(target) if target is not None else None
    names = None if rewrites is None else tuple(rewrites)
    laws = select(names, wanted.rulesets if wanted else ())
    return Rules(laws, dict(wanted.limits) if wanted else {}, LEGALIZE in (names or ()))


def _saturate_terms(
    lowered: Lowered, *, rules: Rules, limits: Limits, deadline: float, strict: bool
) -> tuple[Snapshot, SaturationReport]:
    return saturate_terms(
        lowered,
        rules.laws,
        rules.target_limits,
        nodes=limits.nodes,
        rounds=limits.rounds,
        seconds=max(deadline - time.monotonic(), 0.0),
        strict=strict,
    )


def without(rewrites: Iterable[str] | None, left_out: Iterable[str]) -> list[str]:
    """The names of rulesets, and after them those of laws that are left out."""
    return [*((DEFAULT,) if rewrites is None else rewrites), *(f"-{key}" for key in sorted(left_out))]


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
    measure: bool | int | None = None,
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
        measure: time the result beside the original in onnxruntime, and hand out the original where that is
            faster (unless the cost model prices another machine); a number: time so many good graphs and
            take the fastest.  By default what the cost model asks for.

    Returns:
        The optimized model; the original where nothing is better, with the reason.

    Raises:
        EgraphOptError: one of its kinds, for a model that cannot be read, unknown names, limits that are not
            positive; with strict also for a wrong result.
    """
    chosen, wanted = cost_model(cost), objective_of(objective)
    rewrites = None if rewrites is None else tuple(rewrites)
    extractor_named(extractor)  # before the work, not after it

    def run(left_out: frozenset[str] = frozenset()) -> tuple[Saturated, Result]:
        saturated = saturate(
            model,
            rewrites=without(rewrites, left_out),
            limits=limits,
            target=chosen,
            assume=assume,
            strict=strict,
            progress=progress,
        )
        return saturated, saturated.extract(
            chosen,
            extractor=extractor,
            objective=wanted,
            verify=verify,
            seed=seed,
            progress=progress,
            on_interrupt=on_interrupt,
            measure=measure,
        )

    saturated, result = run()
    if result.report.verification.status != "failed":
        return result
    found, blame = without_offending_law(result, saturated.matched, lambda left_out: run(left_out)[1])
    if strict:
        parts = (saturated.loaded.source, blame, result.report.verification.detail)
        raise VerificationError(": ".join(str(part) for part in parts if part))
    return found
