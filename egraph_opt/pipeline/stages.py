"""The stages in order: load, lower, saturate; then price, extract, rebuild, verify."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from egraph_opt.cost import DEFAULT_COST
from egraph_opt.cost.model import CostModel
from egraph_opt.cost.registry import cost_model
from egraph_opt.errors import EgraphOptError, InputShapeError, VerificationError
from egraph_opt.extraction.registry import ExtractorLike, extractor_named
from egraph_opt.extraction.strategies.budget import OnInterrupt
from egraph_opt.graph.isolation import CrashError, apart, isolated
from egraph_opt.laws.exactness import REAL, Exactness
from egraph_opt.laws.proved import Which
from egraph_opt.laws.selection import DEFAULT
from egraph_opt.measurement.runner import Runner
from egraph_opt.memory.objective import ObjectiveLike, objective_of
from egraph_opt.model.input_shapes import Sizes
from egraph_opt.model.reading import LoadedModel, ModelSource, read_model, read_once
from egraph_opt.pipeline.arguments import check_arguments, names_of
from egraph_opt.pipeline.extraction import unchanged
from egraph_opt.pipeline.failures import raised_by, reason_of
from egraph_opt.pipeline.limits import Limits, Progress
from egraph_opt.pipeline.offending_law import Blamed, without_offending_law
from egraph_opt.pipeline.places import (
    Attempt,
    is_cheaper,
    places_of,
    trouble_of_attempt,
    with_places_kept,
    with_remark,
)
from egraph_opt.pipeline.result import Result
from egraph_opt.pipeline.saturated import Saturated
from egraph_opt.pipeline.saturating import Asked, read_as, saturated_as
from egraph_opt.pipeline.size_points import SizesLike, check_sizes
from egraph_opt.verification.running import trouble_of


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
    record: bool = False,
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
        record: keep what laws match, for `Result.certificate`.

    Raises:
        ModelReadError, InvalidModelError, ExternalDataError: the model.
        UnknownRulesetError: a ruleset.
        ExactnessError: the exactness, or a ruleset of which it leaves nothing.
        AssumptionError: an assumption that says nothing, or nothing of this model.
        InputShapeError: a shape that no input can have.
        OpsetError: an opset that cannot be reached.
        UnsoundLawError, InternalError: with strict.
    """
    return saturated_as(
        model,
        Asked(
            *(rewrites, exactness, laws, limits, target, assume, input_shapes, opset, strict, progress),
            recorded=record,
        ),
    )


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
    record: bool = False,
    sizes: SizesLike | None = None,
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
        record: keep what laws match, for `Result.certificate`.
        sizes: several sizes of symbolic dims that the choice is for: ``{"images": "1x320,4x640@3"}``, by the
            name of an input those of its symbolic dims in their order, the second of which counts three
            times; or ``[{"batch": 1}, ({"batch": 4}, 3.0)]``.  Costs are their mean; what is timed is timed
            at each, and never slower than the original at any.

    Returns:
        The optimized model; the original where nothing is better, with the reason.

    Raises:
        EgraphOptError: one of its kinds, for a model that cannot be read, unknown names, limits that are not
            positive, shapes at which the model does not run; with strict also for a wrong result.
    """
    chosen, wanted = cost_model(cost), objective_of(objective)
    model, rewrites = read_once(model), names_of(rewrites)
    check_arguments(
        seed=seed, measure=measure, verify=verify, isolate=isolate, metadata=metadata
    )  # the others `saturate` checks
    extractor_named(extractor)  # before the work, not after it
    check_sizes(sizes)

    asked = Asked(
        *(rewrites, exactness, laws, limits, chosen, assume, input_shapes, opset, strict, progress),
        recorded=record,
    )

    def run(
        left_out: frozenset[str] = frozenset(), untouched: frozenset[str] = frozenset()
    ) -> tuple[Saturated, Attempt]:
        names = without_laws(rewrites, left_out)
        saturated, failure = saturated_as(model, replace(asked, rewrites=names, untouched=untouched)), ""
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
                sizes=sizes,
            )
        except Exception as error:
            of_users = not type(chosen).__module__.startswith("egraph_opt.")
            if of_users and (isinstance(error, EgraphOptError) or raised_by(error, type(chosen))):
                raise  # a mistake of the user's own class
            reason = reason_of(error, saturated.loaded.source, strict=strict)
            failure = "" if isinstance(error, MemoryError) else reason
            result = unchanged(replace(saturated.original, reason=reason), chosen)
        return saturated, Attempt(result, trouble_of_attempt(saturated, result, failure))

    with isolated(isolate):
        saturated, attempt = run()
        result, blamed = attempt.result, Blamed(attempt.result)
        if input_shapes and result.report.verification.status in ("not_comparable", "failed"):
            _check_sizes(saturated.loaded, model)
        if not attempt.trouble:
            return result
        if result.report.verification.status == "failed":
            matched = {f"{row.ruleset}.{row.name}" for row in result.report.rewrites if row.matches}
            blamed = without_offending_law(result, matched, lambda left_out: run(left_out)[1].result)
            if strict:
                parts = (saturated.loaded.source, blamed.text, result.report.verification.detail)
                raise VerificationError(": ".join(str(part) for part in parts if part))
        if not blamed.are_ours:
            return blamed.result
        places = places_of(read_as(model, asked).model)
        kept = with_places_kept(places, lambda names: run(untouched=names)[1], saturated.limits.seconds)
    if kept is None or is_cheaper(blamed.result, kept[0]):
        return blamed.result
    return with_remark(*kept, blamed.text, attempt.trouble)


def _check_sizes(fixed: LoadedModel, model: ModelSource) -> None:
    """Raise where a model runs, but not with the shapes that its inputs have got."""
    try:
        trouble = apart(trouble_of, fixed.original)
        runs_otherwise = bool(trouble) and not apart(trouble_of, read_model(model).original)
    except CrashError:
        return
    if runs_otherwise:
        raise InputShapeError(f"{fixed.source}: it does not run with these shapes of inputs: {trouble}")
