"""Prices in their place: graphs are profiled whole, and what nodes take there decides the next choice.

A node that is timed alone finds its operands in the caches, in its own layout, and no neighbour to fuse with.
So the original and the chosen graph run under the profiler; where a node takes something else there, that is
its price from then on, and the choice is made again, until it stays.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import onnx
import onnx_ir as ir

from egraph_opt.cost.asking import price_of
from egraph_opt.cost.model import CostModel
from egraph_opt.cost.pricing import with_given
from egraph_opt.extraction.structure import Ints
from egraph_opt.graph.isolation import apart
from egraph_opt.graph.timed_runtime import Kernel
from egraph_opt.measurement.places import RunProfile, profile, timed_places
from egraph_opt.measurement.runner import Runner
from egraph_opt.measurement.specimen import specimen_key
from egraph_opt.measurement.times_journal import Rounds
from egraph_opt.model.input_shapes import sized_file
from egraph_opt.model.reading import LoadedModel
from egraph_opt.model.writing import write_model
from egraph_opt.pipeline.candidates import LEAST, ByPlace, PlacePrices
from egraph_opt.pipeline.original import original_cost
from egraph_opt.pipeline.region_extraction import Extracted
from egraph_opt.pipeline.restarts import Iteration
from egraph_opt.rebuild.choice import Choice
from egraph_opt.rebuild.graph import rebuild_model
from egraph_opt.rebuild.value_info import ValueInfo
from egraph_opt.report.figures import PlaceReport

CHOICES, CHOOSING = 6, 15.0
"""So often at most a graph is chosen by what the one before has shown, and so many seconds."""

SECONDS = 0.5
"""How long a graph is profiled, about."""

LONGEST = 120.0
"""Seconds in which a graph has to be profiled."""

Profiler = Callable[[Path], RunProfile]


def profiler_of(
    model: CostModel, original: onnx.ModelProto, points: dict[str, int], runner: Runner | None, folder: Path
) -> Profiler | None:
    """What profiles models where they are timed; None where nothing does.

    Args:
        original: whose inputs they have.
        runner: the command that times them.
    """
    if runner is not None:
        return partial(_profile_on, runner, points)
    runtime = model.runtime
    if runtime is None:
        return None
    timed = partial(profile, seconds=SECONDS, prefix=str(folder / "profile"))
    return lambda path: apart(timed, str(path), original, runtime, points, seconds=LONGEST)


def _profile_on(runner: Runner, points: Mapping[str, int], path: Path) -> RunProfile:
    """The profile that a device prints with the time of a model, which is one of those it is chosen by."""
    sized = sized_file(path, points, path.with_name("sized.onnx"))
    rounds = Rounds(runner, [sized], "the profile")
    rounds.run(0, lambda waiting: [waiting] if waiting else [])
    times = rounds.answers[0][0].nodes
    return RunProfile([Kernel("", (name,), micros) for name, micros in times.items()])


@dataclass
class ProfiledGraphs:
    """What was learned of the nodes of some graphs, as they were chosen of an e-graph.

    Attributes:
        model: which prices nodes by themselves.
        loaded: the model, whose metadata what is profiled has.
    """

    model: CostModel
    loaded: LoadedModel
    profiler: Profiler
    folder: Path
    prices: PlacePrices = field(default_factory=PlacePrices)
    profiled: int = 0

    def look(self, made: ir.Model, info: ValueInfo, extracted: Extracted) -> bool:
        """Learn from a rebuilt graph; whether its profile says anything.

        Raises:
            Exception: what a runtime raises for a model that it cannot load or run.
        """
        self.profiled += 1
        with tempfile.TemporaryDirectory(dir=self.folder) as here:  # with its weights it may be large
            path = write_model(made, Path(here) / "profiled.onnx", like=self.loaded)
            graph = name_nodes(path)
            seen = self.profiler(path)
        whole = math.fsum(kernel.micros for kernel in seen.kernels)
        factor = seen.factor(self.model.in_model(whole, len(seen.kernels)))
        chosen = {
            value.name: info.origins[node].chosen
            for node in made.graph
            if node in info.origins and info.origins[node].snapshot is extracted.choice.snapshot
            for value in node.outputs
            if value.name
        }
        e_node = [next((chosen[name] for name in node.output if name in chosen), -1) for node in graph.node]
        # Nodes of no e-node are each by themselves.
        together = [e if e >= 0 else -2 - k for k, e in enumerate(e_node)]
        found = False
        for place in timed_places(graph, seen.kernels, together):
            found = True
            parts = dict.fromkeys(e_node[k] for k in place.nodes)
            if -1 not in parts:
                took = self.model.in_model(place.micros, place.kernels)
                self._learn(list(parts), extracted, factor * took)
        return found

    def _learn(self, e_nodes: Sequence[int], extracted: Extracted, micros: float) -> None:
        """What several nodes took together each has a part of, by their prices."""
        view = extracted.prices.view
        assert view is not None  # or nothing would have been chosen
        numbers = [int(view.view[k]) for k in e_nodes if view.view[k] >= 0 and not view.once[k]]
        priced = [
            (view.views[n], price_of(self.model, view.views[n])) for n in numbers if n not in view.bodies
        ]
        if len(priced) < len(numbers) or not all(math.isfinite(price) for _, price in priced):
            return
        kernels = [(seen, price) for seen, price in priced if price > LEAST]
        whole = math.fsum(price for _, price in kernels)
        rest = micros - math.fsum(price for _, price in priced) + whole
        for seen, price in kernels:
            took = max(rest * price / whole, LEAST)
            self.prices.learn(specimen_key(seen), self.model.kernel_name(seen), took, price)


def name_nodes(path: Path) -> onnx.GraphProto:
    """The graph of a file, in which nodes without a name have got that of their result, for the profile."""
    model = onnx.load(path, load_external_data=False)
    for node in model.graph.node:
        node.name = node.name or next(filter(None, node.output), "")
    path.write_bytes(model.SerializeToString())
    return model.graph


def choose_by_place(
    places: ProfiledGraphs,
    first: Sequence[Iteration],
    choose: Callable[[CostModel], Iteration | None],
    late: float,
) -> None:
    """Choose again by what nodes take in their place, until the choice stays.

    Args:
        first: what led to the graph that was chosen without places.
        choose: the graph that a cost model prefers; None where that is one that was profiled before.
        late: when to end, as `time.monotonic` has it.

    Raises:
        Exception: what a runtime raises for a model that it cannot load or run.
    """
    original = original_of(first[0])
    if original is not None:
        info = ValueInfo()
        made = rebuild_model(original.choice, places.loaded.model, info)
        if not places.look(made, info, original):
            return
    last: Iteration | None = first[-1]
    late = min(late, time.monotonic() + CHOOSING)
    for _ in range(CHOICES):
        if last is None or time.monotonic() > late or not places.look(last.model, last.info, last.extracted):
            return
        last = choose(ByPlace(places.model, places.prices))
    if last is not None:
        places.look(last.model, last.info, last.extracted)


def original_of(given: Iteration) -> Extracted | None:
    """The original graph as the runtime runs it; None where it cannot be written."""
    extracted = given.extracted
    nodes: Ints | None = extracted.original
    if nodes is None:
        return None
    old, compiled = extracted.choice, given.region.compiled(given.key)
    node = with_given(old.snapshot, extracted.prices, nodes, compiled.given)
    return replace(extracted, choice=Choice(old.lowered, old.snapshot, node, old.computed, old.bodies))


def predicted(model: CostModel, extracted: Extracted | None) -> float:
    """The sum of the prices of a graph, without what is added to those of nodes that the original lacks.

    NaN of a graph with bodies, whose prices belong to what is around them.
    """
    view = None if extracted is None else extracted.prices.view
    if extracted is None or view is None or view.bodies:
        return math.nan
    nodes = extracted.choice.node[extracted.choice.node >= 0].tolist()
    numbers = [int(view.view[k]) for k in nodes if view.view[k] >= 0 and not view.once[k]]
    return math.fsum(price_of(model, view.views[number]) for number in numbers)


def prediction(
    places: ProfiledGraphs, given: Iteration, chosen: Iteration, points: Mapping[str, int]
) -> PlaceReport:
    """What was predicted of a model and of what was made of it, by nodes alone and in their place.

    Nodes of the model that are equal to others run in no graph of the e-graph, and are priced alone.
    """
    by_place = ByPlace(places.model, places.prices)
    graphs = original_of(given), chosen.extracted
    alone, within = ([predicted(model, graph) for graph in graphs] for model in (places.model, by_place))
    before = original_cost(given.region.original, places.model, points) - given.extracted.fusion_saving
    rest = before - alone[0]
    return PlaceReport(places.profiled, places.prices.changed, before, alone[1], within[0] + rest, within[1])
