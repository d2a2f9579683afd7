"""The last decision of an optimization where a clock makes it: the original and good graphs, timed whole."""

from __future__ import annotations

import logging
import tempfile
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import onnx

from egraph_opt.cost.model import CostModel
from egraph_opt.measurement.runner import Runner
from egraph_opt.model.provenance import without_provenance
from egraph_opt.pipeline.candidates import model_variants
from egraph_opt.pipeline.collection import collected_rarely
from egraph_opt.pipeline.extraction import ChosenIterations, Request, choices, extract_cheapest, handed_out
from egraph_opt.pipeline.fastest import fastest
from egraph_opt.pipeline.in_place import ProfiledGraphs, choose_by_place, prediction, profiler_of
from egraph_opt.pipeline.limits import Clock, total
from egraph_opt.pipeline.optimization_report import handed_back
from egraph_opt.pipeline.original import GivenModel
from egraph_opt.pipeline.region import Region
from egraph_opt.pipeline.restarts import Iteration
from egraph_opt.pipeline.result import Result

_log = logging.getLogger(__name__)


@dataclass
class GoodGraphs:
    """Graphs that are worth a clock, none twice.

    Attributes:
        by_request: the cheapest first, which is verified as it was asked for.
    """

    original: GivenModel
    region: Region
    request: Request
    clock: Clock

    def __post_init__(self) -> None:
        given = self.original, self.region, self.request, self.clock
        chosen = choices(*given)
        first = handed_out(*given, chosen)
        self.by_request: dict[Request, Result] = {self.request: first}
        self.chosen: dict[Request, ChosenIterations] = {self.request: chosen}
        self.known = [without_provenance(first.model)]

    def add(self, model: CostModel) -> Result:
        """What another cost model chooses, which need not be the best of its kind: the clock decides."""
        # What legalization has changed cannot be compared with the original any more.
        verify = self.request.verify and self.original.legalize
        draft = replace(self.request, model=model, extractor="draft", verify=verify, strict=False, again=None)
        given = self.original, self.region, draft, self.clock
        chosen = choices(*given)
        result = handed_out(*given, chosen)
        if (
            result.report.status == "optimized"
            and (graph := without_provenance(result.model)) not in self.known
        ):
            self.by_request[draft] = result
            self.chosen[draft] = chosen
            self.known.append(graph)
        return result

    def verified(self, draft: Request) -> Result:
        """The graph that was chosen by a draft, itself: to choose again may end elsewhere, or find no time.

        Raises:
            VerificationError: with strict, where the outputs differ.
        """
        if self.original.legalize:
            return self.by_request[draft]
        asked = replace(draft, verify=self.request.verify, strict=self.request.strict)
        return handed_out(self.original, self.region, asked, self.clock, self.chosen[draft])


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
    result = found.by_request[request]
    if result.report.status != "optimized":
        return result
    places = add_by_place(found)
    clock("measure")
    came = original.loaded.runnable()
    results = list(found.by_request.values())
    timed = fastest(came, results, request.model, request.sizes, seed=request.seed, runner=_runner(request))
    clock("")
    told = timed.report
    if places is not None and timed.fastest is not None:
        chosen = results[timed.fastest].iterations[-1]
        told = replace(told, places=prediction(places, result.iterations[0], chosen, request.points))
    if timed.fastest is None:
        report = handed_back(result.report, original.counts, told)
        report = replace(report, seconds=total(original.seconds, clock.seconds))
        return Result(report, original.loaded, None)
    if timed.fastest > 0:
        result = found.verified(list(found.by_request)[timed.fastest])
    report = replace(result.report, seconds=total(original.seconds, clock.seconds))
    if report.status == "optimized":  # or what was timed failed verification, and is not handed out
        report = replace(report, latency=told)
    return replace(result, report=report)


def _runner(request: Request) -> Runner | None:
    return request.measure if isinstance(request.measure, Runner) else None


def good_graphs(original: GivenModel, region: Region, request: Request, clock: Clock) -> GoodGraphs:
    """The cheapest graph, and others that more cautious or bolder prices choose."""
    found = GoodGraphs(original, region, request, clock)
    count = request.measure.graphs if isinstance(request.measure, Runner) else request.measure
    for model in islice(model_variants(request.model, count), 1, None):
        found.add(model)
    return found


def add_by_place(found: GoodGraphs) -> ProfiledGraphs | None:
    """Add graphs that what nodes take in their place prefers; None where nothing profiles.

    What goes wrong leaves what is known without it.
    """
    request, original = found.request, found.original
    if len(request.sizes) > 1:  # a node has a place at each of them
        return None
    came = original.loaded.runnable()
    proto = onnx.load(came, load_external_data=False) if isinstance(came, Path) else came
    seen: list[onnx.ModelProto] = [found.known[0]]

    def choose(model: CostModel) -> Iteration | None:
        result = found.add(model)
        graph = without_provenance(result.model)
        if result.report.status != "optimized" or graph in seen:
            return None
        seen.append(graph)
        found.clock("measure")
        return result.iterations[-1]

    with tempfile.TemporaryDirectory(prefix="egraph-opt-") as name:
        folder = Path(name)
        profiler = profiler_of(request.model, proto, dict(request.points), _runner(request), folder)
        if profiler is None:
            return None
        places = ProfiledGraphs(request.model, original.loaded, profiler, folder)
        found.clock("measure")
        try:
            choose_by_place(places, found.by_request[request].iterations, choose, request.deadline)
        except Exception as error:  # the runtime raises what it likes
            _log.info("%s: not profiled: %s", original.loaded.source, error)
    return places if places.prices.seen else None
