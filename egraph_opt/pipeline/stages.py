"""The stages in order: load, lower, saturate; then price, extract, rebuild, verify."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import onnx_ir as ir

from egraph_opt.cost import DEFAULT_COST
from egraph_opt.cost.model import CostModel
from egraph_opt.cost.registry import cost_model
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.saturation import SaturationReport, saturate_terms
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.errors import InputShapeError, VerificationError
from egraph_opt.extraction.registry import ExtractorLike, extractor_named
from egraph_opt.extraction.strategies.budget import OnInterrupt
from egraph_opt.graph.constants import constant_bytes
from egraph_opt.graph.isolation import CrashError, apart, isolated
from egraph_opt.graph.node_counts import nodes_of
from egraph_opt.laws.exactness import REAL, Exactness, exactness_named
from egraph_opt.laws.law import Law
from egraph_opt.laws.proved import Which, among
from egraph_opt.laws.selection import DEFAULT, LEGALIZE, required, select, waiting
from egraph_opt.measurement.runner import Runner
from egraph_opt.memory.objective import ObjectiveLike, objective_of
from egraph_opt.model.input_shapes import Sizes
from egraph_opt.model.reading import LoadedModel, ModelSource, read_model
from egraph_opt.pipeline.arguments import check_arguments, limits_of, names_of
from egraph_opt.pipeline.assumptions import assumptions_for
from egraph_opt.pipeline.collection import collected_rarely
from egraph_opt.pipeline.extraction import unchanged
from egraph_opt.pipeline.limits import NO_TIME, SATURATED_MEMORY, TOO_SHORT, Clock, Limits, Progress, reading
from egraph_opt.pipeline.mishaps import reason_of
from egraph_opt.pipeline.offending_law import without_offending_law
from egraph_opt.pipeline.opset import read_at_opset
from egraph_opt.pipeline.region import Region, region_of
from egraph_opt.pipeline.required import Replaced, replaced
from egraph_opt.pipeline.restarts import added
from egraph_opt.pipeline.result import Result
from egraph_opt.pipeline.saturated import Saturated
from egraph_opt.pipeline.target import SaturatedFor
from egraph_opt.verification.running import trouble_of


@collected_rarely()
def saturate(
    model: ModelSource,
    *,
    rewrites: str | Iterable[str] | None = None,
    exactness: Exactness = REAL,
    laws: Which = "all",
    limits: Limits | Mapping[str, Any] = Limits(),
    target: str | CostModel | None = None,
    assume: Mapping[str, Any] | None = None,
    input_shapes: Mapping[str, Sizes] | None = None,
    opset: int | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> Saturated:
    """Build the e-graph of a model and saturate it.

    Args:
        model: a path, a ModelProto or an onnx_ir.Model; it is not changed.
        rewrites: names of rulesets, a list or with commas; by default all that keep values, which together
            are called `default`: ``["default", "approximate"]`` adds one, ``["default", "+approximate"]``
            applies its laws wherever they match, whatever that costs.
        exactness: what the result keeps: ``"bitwise"`` every bit, ``"finite"`` every element up to the
            rounding of single operators where all is finite, ``"real"`` what is equal in real arithmetic.
        laws: ``"proved"`` uses no law but those that are proved for all sizes, see `egraph-opt rules`.
        limits: where to stop; ``{"nodes": 1000}`` will do.
        target: a cost model whose own rulesets and limits (of kernels, say) take part; the result may be
            priced under it, and under any whose rulesets and limits are among these.
        assume: by name of an input or of a symbolic dim its least and largest value, or the only one; or
            as text, such as "1..8", "32*" (a multiple of 32) or "32*..640*"; the result is right within
            them only.
        input_shapes: shapes that inputs get, by name: ``(1, 3, 320, 320)``, where None leaves a dim as it
            is, or ``{"batch": 1, "height": 320}``; they are written into the model, which is the original
            from then on.
        opset: convert the model to this opset first, by ONNX's converter, and compare what that makes with
            the model; it is the original from then on.
        strict: raise where laws contradict each other in types, instead of leaving them out.

    Raises:
        ModelReadError, InvalidModelError, ExternalDataError: the model.
        UnknownRulesetError: a ruleset.
        ExactnessError: the exactness, or a ruleset of which it leaves nothing.
        AssumptionError: an assumption that says nothing, or nothing of this model.
        InputShapeError: a shape that no input can have.
        OpsetError: an opset that cannot be reached.
        UnsoundLawError, InternalError: with strict.
    """
    started = time.monotonic()
    check_arguments(model, assume=assume, input_shapes=input_shapes)
    rewrites, limits = names_of(rewrites), limits_of(limits)
    rules, clock, spent = _rules(rewrites, target, exactness, laws), Clock(progress), dict[str, float]()
    clock("load")
    loaded = read_model(model, input_shapes) if opset is None else read_at_opset(model, opset, input_shapes)
    ranges = assumptions_for(loaded, assume)
    warnings = [*loaded.warnings, *rules.remarks]
    counts, size = nodes_of(loaded.model), constant_bytes(loaded.model.graph)
    reason = loaded.unsupported or ("" if limits.seconds else NO_TIME)

    def saturated(model: ir.Model, laws: tuple[Law, ...], clock: Clock = clock) -> Region:
        run = _Saturation(replace(rules, laws=laws), limits, started, clock, strict, before=spent)
        given = replace(loaded, model=model)
        return region_of(*(given, limits, ranges, run), exactness=exactness, warnings=warnings, clock=clock)

    region, changed = None, Replaced(loaded.model)
    if not reason:
        try:
            came, changed = _with_required(loaded.model, rules.required, saturated, limits.fold_bytes)
            region = saturated(changed.model, rules.laws)
            if came is not None:
                region = replace(region, original=came.original, memory=came.memory)
        except _TooShortError as error:
            reason = str(error)
        except Exception as error:
            reason = reason_of(error, loaded.source, strict=strict)
    clock("")
    spent.update(clock.seconds)

    def again(model: ir.Model, clock: Clock) -> Region | None:
        if time.monotonic() >= limits.saturation_deadline(started, reading(spent)):
            return None
        return saturated(model.clone(), rules.laws, clock)

    return Saturated(
        loaded=replace(loaded, model=changed.model),
        region=region,
        counts=counts,
        constant_bytes=size,
        limits=limits,
        saturated_for=rules.saturated_for,
        seconds=clock.seconds,
        warnings=tuple(warnings),
        reason=reason,
        assume=ranges,
        legalize=rules.legalize,
        again=again,
        strict=strict,
        required=changed.uses,
    )


@dataclass(frozen=True)
class Rules:
    """What is applied to a model.

    Attributes:
        required: those of them that are applied wherever they match.
        saturated_for: their keys, and what the target publishes.
        legalize: the result is to be made what the target's compiler takes, outside the standard.
        remarks: what the user has to know of laws that were not taken.
    """

    laws: tuple[Law, ...]
    required: tuple[Law, ...]
    saturated_for: SaturatedFor
    legalize: bool
    remarks: tuple[str, ...] = ()


def _rules(
    names: tuple[str, ...] | None, target: str | CostModel | None, exactness: str, which: str
) -> Rules:
    wanted = cost_model(target) if target is not None else None
    wanted_exactness = exactness_named(exactness)
    selected = select(names, wanted.rulesets if wanted else (), wanted_exactness)
    laws = among(selected, which)
    without = {law.key for law in selected} - {law.key for law in laws}
    saturated_for = SaturatedFor(
        frozenset(law.key for law in laws),
        frozenset(name[1:] for name in names or () if name.startswith("-")) | without,
        dict(wanted.limits) if wanted else {},
        wanted_exactness,
    )
    remarks = tuple(
        f"{law.key} changes values, and takes part only where it is named" for law in waiting(names)
    )
    return Rules(laws, required(names, laws), saturated_for, LEGALIZE in (names or ()), remarks)


def _with_required(
    model: ir.Model,
    laws: tuple[Law, ...],
    saturated: Callable[[ir.Model, tuple[Law, ...]], Region],
    fold_bytes: int,
) -> tuple[Region | None, Replaced]:
    """The model as it came, where required laws match, and what they make of it, one after the other."""
    came, changed = None, Replaced(model)
    for _ in laws:
        region = saturated(changed.model.clone(), laws)
        following = replaced(changed.model, region, fold_bytes)
        if not following.uses:
            break
        came, changed = came or region, replace(following, uses=added(changed.uses, following.uses))
    return came, changed


class _TooShortError(Exception):
    """There is no time for any law."""


@dataclass(frozen=True)
class _Saturation:
    """Saturates one graph of a model after the other.

    Attributes:
        started: when the first stage was.
        before: seconds of an earlier clock, if this is not the first saturation.
    """

    rules: Rules
    limits: Limits
    started: float
    clock: Clock
    strict: bool
    before: Mapping[str, float]

    def __call__(self, lowered: Lowered) -> tuple[Snapshot, SaturationReport]:
        spent = self.before or self.clock.seconds
        now, read = time.monotonic(), reading(spent)
        left = self.limits.saturation_deadline(self.started, read) - now
        is_first = "saturate" not in spent
        if is_first and not self.limits.lets_begin(now - self.started, read):
            raise _TooShortError(TOO_SHORT.format(seconds=self.limits.seconds, read=read))
        late = left <= 0 and not is_first
        snapshot, report = saturate_terms(
            lowered,
            () if late else self.rules.laws,
            self.rules.saturated_for.limits,
            nodes=self.limits.nodes,
            rounds=self.limits.rounds,
            seconds=max(left, 0.0),
            memory=self.limits.memory().share(SATURATED_MEMORY),
            strict=self.strict,
        )
        return snapshot, replace(report, stop="seconds") if late else report


def without_laws(rewrites: Iterable[str] | None, left_out: Iterable[str]) -> list[str]:
    """The names of rulesets, and after them those of laws that are left out."""
    return [*((DEFAULT,) if rewrites is None else rewrites), *(f"-{key}" for key in sorted(left_out))]


def optimize(
    model: ModelSource,
    cost: str | CostModel = DEFAULT_COST,
    *,
    rewrites: str | Iterable[str] | None = None,
    exactness: Exactness = REAL,
    laws: Which = "all",
    limits: Limits | Mapping[str, Any] = Limits(),
    extractor: ExtractorLike = "auto",
    objective: ObjectiveLike = "cost",
    assume: Mapping[str, Any] | None = None,
    input_shapes: Mapping[str, Sizes] | None = None,
    opset: int | None = None,
    verify: bool = True,
    strict: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
    on_interrupt: OnInterrupt = "best",
    measure: bool | int | Runner | None = None,
    isolate: bool = False,
    metadata: bool = True,
) -> Result:
    """Optimise an ONNX model by equality saturation.

    Args:
        model: a path, a ModelProto or an onnx_ir.Model; it is not changed.
        cost: a cost model or the name of one (see `egraph-opt costs`).
        rewrites: names of rulesets (see `egraph-opt rules`), a list or with commas; by default all that keep
            values, which together are called `default`: ``["default", "approximate"]`` adds one,
            ``["default", "+approximate"]`` applies its laws wherever they match, whatever that costs.
        exactness: what the result keeps: ``"bitwise"`` every bit, ``"finite"`` every element up to the
            rounding of single operators where all is finite, ``"real"`` what is equal in real arithmetic.
        laws: ``"proved"`` uses no law but those that are proved for all sizes, see `egraph-opt rules`.
        limits: where the search stops; ``{"nodes": 1000}`` will do.
        extractor: how to choose, a name or a function of an `ExtractionProblem`: see `egraph_opt.extraction`.
        objective: `"cost"`, the cheapest graph; `"memory"`, of those found that cost at most 5 % more (or
            10 % with `("memory", 0.1)`) the one that needs the least memory at its peak; `("cost", bytes)`,
            the cheapest found that needs at most so many bytes, or with a warning the one that needs least.
        assume: as in `saturate`; a dim of one size is that number for laws, and priced at it.
        input_shapes: as in `saturate`: sizes that the inputs of the result have.
        opset: as in `saturate`: that of the result.
        verify: compare the result with the original in onnxruntime.
        strict: raise, instead of handing back the original, where the result is wrong.
        seed: of the search and of verification's inputs.
        progress: called with a stage's name and how much of it is done.
        on_interrupt: what Ctrl-C does while the graph is chosen: ``"best"`` goes on with the best found so
            far and says so in a warning, ``"raise"`` raises KeyboardInterrupt, as it does at other times.
        measure: time the result beside the original in onnxruntime, and hand out the original where that is
            faster (unless the cost model prices another machine); a number: time so many good graphs and
            take the fastest; a `Runner`: time them by a command, on another device.  By default what the cost
            model asks for.
        isolate: run onnxruntime in a process of its own (on Linux), so that a kernel that crashes is reported
            with its node, and does not end this process; the command line does.
        metadata: write into the result where it came from: see `model.provenance`.

    Returns:
        The optimized model; the original where nothing is better, with the reason.

    Raises:
        EgraphOptError: one of its kinds, for a model that cannot be read, unknown names, limits that are not
            positive, shapes at which the model does not run; with strict also for a wrong result.
    """
    chosen, wanted = cost_model(cost), objective_of(objective)
    rewrites = names_of(rewrites)
    check_arguments(seed=seed, measure=measure)  # the others `saturate` checks
    extractor_named(extractor)  # before the work, not after it

    def run(left_out: frozenset[str] = frozenset()) -> tuple[Saturated, Result]:
        saturated = saturate(
            model,
            rewrites=without_laws(rewrites, left_out),
            exactness=exactness,
            laws=laws,
            limits=limits,
            target=chosen,
            assume=assume,
            input_shapes=input_shapes,
            opset=opset,
            strict=strict,
            progress=progress,
        )
        try:
            result = saturated.extract(
                chosen,
                extractor=extractor,
                objective=wanted,
                verify=verify,
                seed=seed,
                progress=progress,
                on_interrupt=on_interrupt,
                measure=measure,
                restarts=True,
                metadata=metadata,
            )
        except Exception as error:
            if not type(chosen).__module__.startswith("egraph_opt."):  # a class of the user's may have raised
                raise
            reason = reason_of(error, saturated.loaded.source, strict=strict)
            result = unchanged(replace(saturated.original, reason=reason), chosen)
        return saturated, result

    with isolated(isolate):
        saturated, result = run()
        if input_shapes and result.report.verification.status in ("not_comparable", "failed"):
            _check_sizes(saturated.loaded, model)
        if result.report.verification.status != "failed":
            return result
        matched = {f"{row.ruleset}.{row.name}" for row in result.report.rewrites if row.matches}
        found, blame = without_offending_law(result, matched, lambda left_out: run(left_out)[1])
    if strict:
        parts = (saturated.loaded.source, blame, result.report.verification.detail)
        raise VerificationError(": ".join(str(part) for part in parts if part))
    return found


def _check_sizes(fixed: LoadedModel, model: ModelSource) -> None:
    """Raise where a model runs, but not with the shapes that its inputs have got."""
    try:
        trouble = apart(trouble_of, fixed.original)
        runs_otherwise = bool(trouble) and not apart(trouble_of, read_model(model).original)
    except CrashError:
        return
    if runs_otherwise:
        raise InputShapeError(f"{fixed.source}: it does not run with these shapes of inputs: {trouble}")
