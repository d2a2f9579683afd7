"""Among near-optimal graphs of a region the one that keeps to an objective of memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import onnx_ir as ir

from egraph_opt.cost.model import bind
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.extraction.problem import ExtractionProblem
from egraph_opt.extraction.solution import Solution, measure
from egraph_opt.extraction.structure import Floats, Ints
from egraph_opt.facts.fact import Fact
from egraph_opt.graph.constants import byte_size
from egraph_opt.graph.names import Namer, names_in
from egraph_opt.memory.candidates import Candidate, Need, as_solution, candidates
from egraph_opt.memory.objective import MemoryPoint, Objective, pareto_front, pick
from egraph_opt.memory.trace import Arranged, Stored, arrange, places_in
from egraph_opt.rebuild.choice import Choice
from egraph_opt.rebuild.graph import rebuild_graph
from egraph_opt.rebuild.value_info import ValueInfo

IR_VERSION = 10
"""Of outlines, which nobody writes."""


def near_optimal(
    problem: ExtractionProblem,
    optimum: Solution,
    original: Ints | None,
    objective: Objective,
    *,
    choice_of: Callable[[Ints], Choice],
    solve: Callable[[ExtractionProblem], Ints],
    points: Mapping[str, int],
    stored: Stored,
    late: Callable[[], bool],
    is_body: bool,
    cheapest: float | None = None,
) -> tuple[Solution, tuple[MemoryPoint, ...]]:
    """The solution that the objective asks for, and the best pairs of cost and peak that were seen.

    Args:
        original: the original graph, or the cheapest way to say it; None where it cannot be written.
        choice_of: what is rebuilt from a solution.
        solve: the extraction, for other costs.
        points: the sizes of symbolic dims.
        stored: the bytes of a tensor on the target.
        late: whether to stop with what was found.
        cheapest: what the objective's tolerance counts from, if not the cheapest found.
    """
    known = [optimum.choice]
    if original is not None and np.isfinite(measure(problem, original)[0]):
        known.append(original)
    rebuilt = choice_of(optimum.choice)
    places = places_in(rebuilt.lowered.graph)
    found = candidates(
        problem,
        known,
        written_bytes(rebuilt.snapshot, points),
        lambda choice: _need(
            choice_of(choice), partial(arrange, points=points, places=places, stored=stored, is_body=is_body)
        ),
        solve,
        enough=partial(_within, objective),
        late=late,
    )
    wanted = pick(found, objective, cheapest)
    pairs = tuple(MemoryPoint(candidate.cost, candidate.peak) for candidate in pareto_front(found))
    return as_solution(wanted, optimum), pairs


def _within(objective: Objective, candidate: Candidate) -> bool:
    """Whether the cheapest graph is already what is wanted (it is the first that is asked about)."""
    return objective.limit is not None and candidate.peak <= objective.limit


def _need(choice: Choice, arranged: Callable[[ir.Graph, Mapping[ir.Value, Fact]], Arranged]) -> Need:
    """The peak of a choice once it is written, in the order that it is then given."""
    info, lowered = ValueInfo(dry_run=True), choice.lowered
    captured = {
        value: ir.Value(name=value.name)
        for value in lowered.leaves
        if value.graph is not lowered.graph and not lowered.constants.has(value)
    }
    graph = rebuild_graph(choice, IR_VERSION, Namer(names_in(lowered.graph)), captured, info)
    found = arranged(graph, info.facts)
    live = [found.trace.values[buffer] for buffer in found.usage.at_peak()]
    return Need(found.usage.peak, sorted({info.owners[v] for v in live if v in info.owners}))


def written_bytes(snapshot: Snapshot, points: Mapping[str, int]) -> Floats:
    """Per e-node the bytes of the results that it computes when the model runs; 0 for views and constants."""
    bound: dict[Fact, float] = {}
    for fact in snapshot.facts:
        if fact not in bound:
            bound[fact] = 0.0 if fact.const else float(byte_size(bind(fact, points)) or 0)
    size = np.array([bound[fact] for fact in snapshot.facts])
    selected = np.zeros(snapshot.n_classes)
    seen: set[tuple[int, int]] = set()
    for k, name in enumerate(snapshot.operator):
        if name == "output":
            bundle = snapshot.children(k)[0]
            key = (bundle, snapshot.attributes[k][0])
            if key not in seen:
                seen.add(key)
                selected[bundle] += size[snapshot.node_class[k]]
    free = np.array([name in ("leaf", "literal", "none", "output", "reshape") for name in snapshot.operator])
    written = (size + selected)[snapshot.node_class]
    return np.where(free, 0.0, written)
