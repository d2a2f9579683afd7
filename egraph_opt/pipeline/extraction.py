"""The second half of an optimization: price, extract, rebuild, verify."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import onnx_ir as ir

from egraph_opt.certificates.certificate import Certificate
from egraph_opt.certificates.errors import CertificateError
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
from egraph_opt.model.provenance import GROWN, grown_by
from egraph_opt.pipeline.annotation import annotated, making
from egraph_opt.pipeline.certifying import certificate_of_result
from egraph_opt.pipeline.compiled import compiled_alone, cost_before
from egraph_opt.pipeline.derivation import Derivation
from egraph_opt.pipeline.explaining import result_page
from egraph_opt.pipeline.failures import reason_of
from egraph_opt.pipeline.limits import NO_TIME, Clock, Limits, total
from egraph_opt.pipeline.memory import arranged, over_limit, run_needs
from egraph_opt.pipeline.optimization_report import Account, report_of, report_unchanged
from egraph_opt.pipeline.original import GivenModel
from egraph_opt.pipeline.region import Region
from egraph_opt.pipeline.region_extraction import Extracted, extract_by, extract_region
from egraph_opt.pipeline.restarts import Again, Iteration, restarted, uses_in
from egraph_opt.pipeline.result import Result
from egraph_opt.pipeline.size_points import SizePoint
from egraph_opt.pipeline.sizes import has_unknown, observed_in, true_sizes
from egraph_opt.pipeline.unmeasured import unmeasured
from egraph_opt.pipeline.verified_graph import Checks, finish, granted, promised, value_changing, warnings_of
from egraph_opt.rebuild.constant_nodes import with_constants_computed
from egraph_opt.rebuild.graph import rebuild_model
from egraph_opt.rebuild.value_info import ValueInfo
from egraph_opt.verification.budget import RunBudget
from egraph_opt.verification.result import AS_IT_CAME


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
        sizes: all at which the graph is priced and timed, that of `points` first.
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
    sizes: tuple[SizePoint, ...] = ()


@dataclass(frozen=True)
class Chosen(Iteration):
    """The chosen graph, rebuilt.

    Attributes:
        interrupted: the search was ended by the user.
        late: it was ended by the limit of time.
    """

    interrupted: bool
    late: bool


@dataclass(frozen=True)
class ChosenIterations:
    """What was chosen, iteration by iteration, and what went wrong meanwhile."""

    iterations: list[Chosen]
    failures: tuple[str, ...]


def extract_cheapest(original: GivenModel, region: Region, request: Request, clock: Clock) -> Result:
    """Choose the cheapest graph, rebuild it, order it for memory, verify it, and give an account."""
    return handed_out(original, region, request, clock, choices(original, region, request, clock))


def handed_out(
    original: GivenModel, region: Region, request: Request, clock: Clock, found: ChosenIterations
) -> Result:
    """Order a chosen graph for memory, verify it, and give an account; nothing is chosen any more."""
    iterations, failures = found.iterations, list(found.failures)

    def alone() -> float:
        """What goes wrong here leaves what is known without it."""
        try:
            return compiled_alone(
                *(original, region, request.model),
                ranges=request.ranges,
                sizes=request.sizes,
                end=request.end,
            )
        except Exception as error:
            failures.append(
                NOT_COMPILED.format(reason_of(error, original.loaded.source, strict=original.strict))
            )
            return math.inf

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
    made = making(loaded, request.model.name, {**_options(original, request), **_grown(original, chosen)})
    if request.metadata:
        loaded = annotated(derivation, loaded, made)
    finished = finish(chosen.model, loaded, checks, clock)
    verification = finished.verification
    if verification.status == "failed" and request.strict:
        raise VerificationError(f"{original.loaded.source}: {verification.detail}")
    clock("price")
    before = cost_before(region, chosen.extracted, request.model, request.sizes, alone)
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
            *out_of_time(original.limits, region, iterations),
        ],
        replace(memory, constants_before=original.constant_bytes),
        original.exactness,
        before,
        observed_in(request.points, request.ranges),
        frozenset(name for name, known in request.ranges.items() if known.single is not None),
        request.sizes,
    )
    rewrites = (*uses, *finished.rewrites)
    report = report_of(
        *(account, region, chosen.extracted, chosen.model, rewrites),
        origins=chosen.info.origins,
        is_same=not original.required,
    )
    report = replace(report, made=made)
    if report.status == "fallback":
        return Result(report, original.loaded, None)
    report = replace(report, _page=partial(result_page, derivation, original.loaded.source))
    proto = None if external_tensors(finished.proto) else finished.proto
    certifying = partial(
        certificate_of_result, original, iterations, assume=request.ranges, model=request.model
    )
    if len(request.sizes) > 1:
        certifying = partial(_not_certified, original.loaded.source)
    return Result(report, finished.loaded, chosen.model, proto, derivation, certifying)


def _not_certified(source: str, *arguments: object, **settings: object) -> Certificate:
    raise CertificateError(f"{source}: a choice for several sizes is no bound at one of them")


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


def _grown(original: GivenModel, chosen: Chosen) -> dict[str, int]:
    """By how many bytes constants have grown, if they have."""
    added = constant_bytes(chosen.model.graph) - original.constant_bytes
    grown = grown_by(original.loaded.metadata) + added
    return {GROWN: grown} if grown > 0 else {}


def _views(original: GivenModel, region: Region, request: Request) -> list[NodeView]:
    """All that was priced."""
    key = key_of(request.model, request.points, original.limits.fold_bytes)
    return [view for part in region.walk() for view in part.compiled(key).view.views]


def _not_computed(original: GivenModel, region: Region, request: Request) -> list[str]:
    """Constants that take too much to be computed, which were not reported already."""
    key = key_of(request.model, request.points, original.limits.fold_bytes)
    told = [text for part in region.walk() for text in part.compiled(key).view.left_out]
    return [text for text in dict.fromkeys(told) if text not in original.warnings]


def out_of_time(limits: Limits, region: Region, iterations: Sequence[Chosen]) -> Iterator[str]:
    """What the limit of seconds has ended."""
    if any(part.saturation.stop == "seconds" for part in region.walk()):
        yield f"the limit of {limits.seconds:g} s ended saturation: more rewrites may be possible"
    if any(part.saturation.stop == "memory" for part in region.walk()):
        yield "the limit of memory ended saturation: more rewrites may be possible"
    if any(chosen.late for chosen in iterations):
        yield f"the limit of {limits.seconds:g} s ended the choice: the result is the best found until then"


INTERRUPTED = ("the search was interrupted: the result is the best that was found until then",)
"""The warning after Ctrl-C."""


def unchanged(original: GivenModel, model: CostModel) -> Result:
    """The model as it came, where there is nothing to choose from."""
    account = Account(
        *(model, {}, original.counts, AS_IT_CAME, original.seconds, original.warnings),
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


def choices(original: GivenModel, region: Region, request: Request, clock: Clock) -> ChosenIterations:
    """The graph that is chosen, and what saturating it again makes of it, each time cheaper than before.

    What goes wrong while it is saturated again leaves what was chosen before.
    """
    first, failures = _choose(original, region, request, clock), list[str]()
    again = request.again
    if again is None or request.objective.searches or first.interrupted:
        return ChosenIterations([first], ())

    def choose(model: ir.Model, following: Region) -> Chosen:
        named = replace(original, loaded=replace(original.loaded, model=model))
        sizes = []
        for size in request.sizes:
            points = size.points
            if has_unknown(following, points):  # of values that laws have made
                run = partial(true_sizes, limits=original.limits, runtime=request.model.runtime)
                points = run(named.loaded, following, points, end=request.deadline)
            sizes.append(replace(size, points=points))
        end = min(request.deadline, time.monotonic() + AN_ITERATION * original.limits.seconds)
        asked = replace(request, warm=None, points=sizes[0].points, sizes=tuple(sizes), deadline=end)
        return _choose(named, following, asked, clock)

    def failure(error: Exception) -> None:
        # A class of the user's may have raised.
        if not type(request.model).__module__.startswith("egraph_opt."):
            raise error
        failures.append(LATER.format(reason_of(error, original.loaded.source, strict=original.strict)))

    iterations = restarted(
        *(first, request.model, lambda model: again(model, clock), choose),
        given=original.loaded.model,
        deadline=request.deadline,
        failure=failure,
    )
    return ChosenIterations(iterations, tuple(failures))


def _choose(original: GivenModel, region: Region, request: Request, clock: Clock) -> Chosen:
    """Extract and rebuild; each constant may grow a little.

    Where that adds up to too much, none may while the graph is chosen, and as many as there is room for are
    computed in what was chosen.
    """
    most, now = original.limits.fold_bytes, time.monotonic()
    first = replace(request, deadline=now + FIRST_CHOICE * (request.deadline - now))
    chosen = _choose_within(most, original, region, first, clock)
    if constant_bytes(chosen.model.graph) - original.constant_bytes <= most:
        return chosen
    again = replace(request, warm=chosen.extracted)
    chosen = _choose_within(0, original, region, again, clock, at_once=chosen.interrupted)
    room = most - (constant_bytes(chosen.model.graph) - original.constant_bytes)
    with_constants_computed(
        *(chosen.model, chosen.info),
        fold_bytes=room,
        memory_bytes=original.limits.memory().left,
        fold_quantized=original.limits.fold_quantized,
    )
    return chosen


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
            request.sizes,
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
