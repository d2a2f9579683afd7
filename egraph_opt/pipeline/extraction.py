"""The second half of an optimization: price, extract, rebuild, verify."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import onnx_ir as ir

from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.cost.repricing import SearchLimits, key_of
from egraph_opt.errors import VerificationError
from egraph_opt.extraction.registry import ExtractorLike, extractor_named
from egraph_opt.extraction.strategies.budget import OnInterrupt, interruptible
from egraph_opt.facts.assumption import Assumptions
from egraph_opt.graph.constants import constant_bytes
from egraph_opt.measurement.runner import Runner
from egraph_opt.memory.objective import Objective
from egraph_opt.model.external_data import external_tensors
from egraph_opt.model.provenance import without_provenance
from egraph_opt.pipeline.annotation import annotated, making
from egraph_opt.pipeline.certifying import certificate_of_result
from egraph_opt.pipeline.collection import collected_rarely
from egraph_opt.pipeline.compiled import compiled_alone, cost_before
from egraph_opt.pipeline.derivation import Derivation
from egraph_opt.pipeline.explaining import result_page
from egraph_opt.pipeline.failures import reason_of
from egraph_opt.pipeline.fastest import fastest, model_variants
from egraph_opt.pipeline.limits import NO_TIME, Clock, Limits, total
from egraph_opt.pipeline.memory import arranged, over_limit, run_needs
from egraph_opt.pipeline.optimization_report import Account, handed_back, report_of, report_unchanged
from egraph_opt.pipeline.original import GivenModel
from egraph_opt.pipeline.region import Region
from egraph_opt.pipeline.region_extraction import Extracted, extract_by, extract_region
from egraph_opt.pipeline.restarts import Again, Iteration, restarted, uses_in
from egraph_opt.pipeline.result import Result
from egraph_opt.pipeline.sizes import has_unknown, observed_in, true_sizes
from egraph_opt.pipeline.unmeasured import unmeasured
from egraph_opt.pipeline.verified_graph import Checks, finish, granted, promised, value_changing, warnings_of
from egraph_opt.rebuild.graph import rebuild_model
from egraph_opt.rebuild.value_info import ValueInfo
from egraph_opt.verification.budget import RunBudget
from egraph_opt.verification.result import SKIPPED


@dataclass(frozen=True, eq=False)
class Request:
    """What is asked of a saturated model.

    Attributes:
        ranges: least and largest value by name of input or symbolic dim, within which the result is right.
        points: what symbolic dims are priced at.
        warm: an earlier answer, to start from.
        verify: compare the result with the original.
        strict: raise where it is wrong.
        deadline: when the graph has to be chosen, as `time.monotonic` has it.
        end: when it has to be verified; what is compared at least is compared all the same.
        measure: how many graphs are timed beside the original, here; or the command that times them.
        again: saturates the graph that was chosen, to choose again.
        metadata: write into the result where it came from.
    """

    model: CostModel
    objective: Objective
    ranges: Assumptions
    points: Mapping[str, int]
    deadline: float
    end: float
    extractor: ExtractorLike = "auto"
    seed: int = 0
    warm: Extracted | None = None
    on_interrupt: OnInterrupt = "best"
    verify: bool = True
    strict: bool = False
    measure: int | Runner = 0
    again: Again | None = None
    metadata: bool = True


@dataclass(frozen=True)
class Chosen(Iteration):
    """The chosen graph, rebuilt.

    Attributes:
        interrupted: the search was ended by the user.
        late: it was ended by the limit of time.
    """

    interrupted: bool
    late: bool


@collected_rarely()
def extract_and_verify(original: GivenModel, region: Region, request: Request, clock: Clock) -> Result:
    """The cheapest graph; with `measure` the fastest of that, of other good ones, and of the original.

    Raises:
        ExtractionError: a price that is negative or no number.
        VerificationError: with strict, where the outputs differ.
    """
    if not request.measure:
        return extract_cheapest(original, region, request, clock)
    found = good_graphs(original, region, request, clock)
    result = found[request]
    if result.report.status != "optimized":
        return result
    clock("measure")
    came = original.loaded.runnable()
    timed = fastest(came, list(found.values()), request.model, seed=request.seed, runner=_runner(request))
    clock("")
    if timed.fastest is None:
        report = handed_back(result.report, original.counts, timed.report)
        report = replace(report, seconds=total(original.seconds, clock.seconds))
        return Result(report, original.loaded, None)
    if timed.fastest > 0:
        other = list(found)[timed.fastest]
        chosen = replace(other, verify=request.verify, strict=request.strict)
        result = extract_cheapest(original, region, chosen, clock)
    report = replace(result.report, latency=timed.report, seconds=total(original.seconds, clock.seconds))
    return replace(result, report=report)


def _runner(request: Request) -> Runner | None:
    return request.measure if isinstance(request.measure, Runner) else None


def good_graphs(
    original: GivenModel, region: Region, request: Request, clock: Clock
) -> dict[Request, Result]:
    """The cheapest graph, and others that more cautious or bolder prices choose, not verified; by request."""
    found = {request: extract_cheapest(original, region, request, clock)}
    known = [without_provenance(found[request].model)]
    count = request.measure.graphs if isinstance(request.measure, Runner) else request.measure
    for model in islice(model_variants(request.model, count), 1, None):
        # A candidate need not be the best of its kind: the clock decides.
        draft = replace(request, model=model, extractor="draft", verify=False, strict=False, again=None)
        other = extract_cheapest(original, region, draft, clock)
        if other.report.status == "optimized" and (graph := without_provenance(other.model)) not in known:
            found[draft] = other
            known.append(graph)
    return found


def extract_cheapest(original: GivenModel, region: Region, request: Request, clock: Clock) -> Result:
    """Choose the cheapest graph, rebuild it, order it for memory, verify it, and give an account."""
    failures: list[str] = []

    def alone() -> float:
        """What goes wrong here leaves what is known without it."""
        try:
            return compiled_alone(
                *(original, region, request.model),
                ranges=request.ranges,
                points=request.points,
                end=request.end,
            )
        except Exception as error:
            failures.append(
                NOT_COMPILED.format(reason_of(error, original.loaded.source, strict=original.strict))
            )
            return math.inf

    iterations = _iterations(original, region, request, clock, failures)
    chosen = iterations[-1]
    memory = arranged(
        chosen.model,
        chosen.info.facts,
        region,
        chosen.extracted,
        points=request.points,
        objective=request.objective,
        stored=request.model.stored_bytes,
    )
    uses = uses_in(iterations, original.required)
    matched = [f"{row.ruleset}.{row.name}" for row in uses if row.matches]
    changing = value_changing(matched)
    checks = Checks(
        *(request.verify, request.ranges, request.seed, changing, original.legalize),
        exactness=promised(original.exactness, matched),
        granted=bool(granted(matched)),
        end=request.end,
        budget=RunBudget(
            partial(run_needs, region, request.points), original.limits.memory().left, request.end
        ),
    )
    derivation = Derivation(original.loaded.model, iterations, request.model, request.points)
    loaded = original.loaded
    made = making(loaded, request.model.name, _options(original, request))
    if request.metadata:
        loaded = annotated(derivation, loaded, made)
    finished = finish(chosen.model, loaded, checks, clock)
    verification = finished.verification
    if verification.status == "failed" and request.strict:
        raise VerificationError(f"{original.loaded.source}: {verification.detail}")
    clock("price")
    before = cost_before(region, chosen.extracted, request.model, request.points, alone)
    clock("")
    account = Account(
        request.model,
        request.points,
        original.counts,
        verification,
        total(original.seconds, clock.seconds),
        [
            *original.warnings,
            *failures,
            *granted(matched),
            *_not_computed(original, region, request),
            *warnings_of(verification, changing),
            *over_limit(memory),
            *request.model.remarks(_views(original, region, request)),
            *unmeasured(request.model, chosen.extracted),
            *(INTERRUPTED if chosen.interrupted else ()),
            *out_of_time(original.limits, region, chosen),
        ],
        replace(memory, constants_before=original.constant_bytes),
        original.exactness,
        before,
        observed_in(request.points, request.ranges),
        frozenset(name for name, known in request.ranges.items() if known.single is not None),
    )
    rewrites = (*uses, *finished.rewrites)
    report = report_of(
        account, region, chosen.extracted, chosen.model, rewrites, is_same=not original.required
    )
    report = replace(report, made=made)
    if report.status == "fallback":
        return Result(report, original.loaded, None)
    report = replace(report, _page=partial(result_page, derivation, original.loaded.source))
    proto = None if external_tensors(finished.proto) else finished.proto
    certifying = partial(
        certificate_of_result, original, iterations, assume=request.ranges, model=request.model
    )
    return Result(report, finished.loaded, chosen.model, proto, derivation, certifying)


def _options(original: GivenModel, request: Request) -> dict[str, Any]:
    """What was asked for, as far as it decides what comes out."""
    return {
        "exactness": original.exactness,
        "extractor": extractor_named(request.extractor).name,
        "objective": request.objective.name,
        "seed": request.seed,
        "left_out": sorted(original.left_out),
        "priced_at": {name: size for name, size in request.points.items() if not name.startswith("?")},
        "assume": {name: str(said) for name, said in request.ranges.items()},
    }


def _views(original: GivenModel, region: Region, request: Request) -> list[NodeView]:
    """All that was priced."""
    key = key_of(request.model, request.points, original.limits.fold_bytes)
    return [view for part in region.walk() for view in part.compiled(key).view.views]


def _not_computed(original: GivenModel, region: Region, request: Request) -> list[str]:
    """Constants that take too much to be computed, which were not reported already."""
    key = key_of(request.model, request.points, original.limits.fold_bytes)
    told = [text for part in region.walk() for text in part.compiled(key).view.left_out]
    return [text for text in dict.fromkeys(told) if text not in original.warnings]


def out_of_time(limits: Limits, region: Region, chosen: Chosen) -> Iterator[str]:
    """What the limit of seconds has ended."""
    if any(part.saturation.stop == "seconds" for part in region.walk()):
        yield f"the limit of {limits.seconds:g} s ended saturation: more rewrites may be possible"
    if any(part.saturation.stop == "memory" for part in region.walk()):
        yield "the limit of memory ended saturation: more rewrites may be possible"
    if chosen.late:
        yield f"the limit of {limits.seconds:g} s ended the choice: the result is the best found until then"


INTERRUPTED = ("the search was interrupted: the result is the best that was found until then",)
"""The warning after Ctrl-C."""


def unchanged(original: GivenModel, model: CostModel) -> Result:
    """The model as it came, where there is nothing to choose from."""
    account = Account(
        *(model, {}, original.counts, SKIPPED, original.seconds, original.warnings),
        exactness=original.exactness,
    )
    report = report_unchanged(account, original.reason or NO_TIME)
    made = making(original.loaded, model.name, {"exactness": original.exactness})
    return Result(replace(report, made=made), original.loaded, None)


def search_limits(
    limits: Limits, extractor: ExtractorLike, seed: int, stop: Callable[[], bool] | None, deadline: float
) -> SearchLimits:
    """Where a search ends, and how it goes."""
    return SearchLimits(extractor, limits.solver_iterations, None, seed, stop, deadline)


FIRST_CHOICE = 0.75
"""The share of the time that a choice takes which may have to be made again."""


AN_ITERATION = 0.1
"""The share of the time that a later choice takes: one more iteration is worth more than a proof."""


NOT_COMPILED = "what the target's compiler gains by itself is counted as ours: {}"


LATER = "the graph is not saturated again: {}"


def _iterations(
    original: GivenModel, region: Region, request: Request, clock: Clock, failures: list[str]
) -> list[Chosen]:
    """The graph that is chosen, and what saturating it again makes of it, each time cheaper than before.

    What goes wrong while it is saturated again is added to `failures`: what was chosen before is returned.
    """
    first = _choose(original, region, request, clock)
    again = request.again
    if again is None or request.objective.searches or first.interrupted or first.late:
        return [first]

    def choose(model: ir.Model, following: Region) -> Chosen:
        named = replace(original, loaded=replace(original.loaded, model=model))
        points = request.points
        if has_unknown(following, points):  # of values that laws have made
            points = true_sizes(named.loaded, following, points, original.limits, request.model.runtime)
        end = min(request.deadline, time.monotonic() + AN_ITERATION * original.limits.seconds)
        return _choose(named, following, replace(request, warm=None, points=points, deadline=end), clock)

    def failure(error: Exception) -> None:
        # A class of the user's may have raised.
        if not type(request.model).__module__.startswith("egraph_opt."):
            raise error
        failures.append(LATER.format(reason_of(error, original.loaded.source, strict=original.strict)))

    return restarted(
        *(first, request.model, lambda model: again(model, clock), choose),
        given=original.loaded.model,
        deadline=request.deadline,
        failure=failure,
    )


def _choose(original: GivenModel, region: Region, request: Request, clock: Clock) -> Chosen:
    """Extract and rebuild; each constant may grow a little, but where that adds up to too much none may."""
    most, now = original.limits.fold_bytes, time.monotonic()
    first = replace(request, deadline=now + FIRST_CHOICE * (request.deadline - now))
    chosen = _choose_within(most, original, region, first, clock)
    if constant_bytes(chosen.model.graph) - original.constant_bytes <= most:
        return chosen
    again = replace(request, warm=chosen.extracted)
    return _choose_within(0, original, region, again, clock, at_once=chosen.interrupted)


def _choose_within(
    fold_bytes: int,
    original: GivenModel,
    region: Region,
    request: Request,
    clock: Clock,
    *,
    at_once: bool = False,
) -> Chosen:
    """Extract and rebuild with constants that grow by so many bytes; `at_once`: without further search."""
    with interruptible(request.on_interrupt) as pressed:
        stop = (lambda: True) if at_once else pressed
        run = partial(
            extract_region,
            region,
            request.model,
            request.points,
            search=search_limits(original.limits, request.extractor, request.seed, stop, request.deadline),
            fold_bytes=fold_bytes,
            clock=clock,
            share=clock.share,
            warm=request.warm,
        )
        extracted = extract_by(request.objective, bool(region.bodies), run)
    clock("rebuild")
    info = ValueInfo()
    model = rebuild_model(extracted.choice, original.loaded.model, info)
    parts = extracted.walk()
    interrupted = at_once or any(part.solution.interrupted for part in parts)
    is_late = time.monotonic() >= request.deadline or not all(part.prices.complete for part in parts)
    late = is_late and not all(part.solution.proved for part in parts)
    key = key_of(request.model, request.points, fold_bytes)
    return Chosen(region, extracted, model, info, key, interrupted=interrupted, late=late)
