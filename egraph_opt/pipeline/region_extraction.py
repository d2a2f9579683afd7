"""What is chosen for a saturated graph and its bodies; where memory matters, by cost and by memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from egraph_opt.cost.model import CostModel
from egraph_opt.cost.pricing import with_given
from egraph_opt.cost.repricing import SearchLimits, key_of
from egraph_opt.cost.views import Prices, mean_prices
from egraph_opt.extraction.problem import ExtractionProblem
from egraph_opt.extraction.solution import Solution
from egraph_opt.extraction.structure import Ints
from egraph_opt.memory.candidates import as_solution
from egraph_opt.memory.objective import COST, MemoryPoint, Objective, pareto_front, pick
from egraph_opt.pipeline.near_optimal_graph import near_optimal
from egraph_opt.pipeline.region import Region
from egraph_opt.pipeline.size_points import SizePoint
from egraph_opt.rebuild.choice import Choice


@dataclass(frozen=True)
class Extracted:
    """What was chosen for a region.

    Attributes:
        solution: with a bound that holds for the bodies, too.
        written: what the original costs as it is written, its bodies included.
        fusion_saving: what the target's compiler takes off that for free.
        prices: of the region's e-nodes.
        original: the original graph as the target's compiler runs it, as a choice; None where it cannot be
            written.
        front: the best pairs of cost and peak memory that were seen, where memory mattered.
    """

    choice: Choice
    written: float
    fusion_saving: float
    solution: Solution
    prices: Prices
    bodies: Sequence[Extracted]
    original: Ints | None = None
    front: tuple[MemoryPoint, ...] = ()

    def walk(self) -> list[Extracted]:
        found = [self]
        for extracted in found:
            found.extend(extracted.bodies)
        return found


def extract_region(
    region: Region,
    model: CostModel,
    sizes: Sequence[SizePoint],
    *,
    search: SearchLimits,
    fold_bytes: int,
    clock: Callable[[str], None],
    share: Callable[[float], None] = lambda done: None,
    warm: Extracted | None = None,
    objective: Objective = COST,
    inner: Objective = COST,
    cheapest: float | None = None,
    is_body: bool = False,
) -> Extracted:
    """Choose the cheapest graph, bodies first, since what they cost is part of their node's price.

    Args:
        sizes: at which the graph is priced: the cheapest in the mean, by their weights.
        warm: what was chosen before, under other costs maybe, as a further start of the search.
        share: called with how much of a stage is done.
        objective: of this graph.
        inner: of each of its bodies by itself.
        cheapest: what an objective's tolerance counts from; if left out, the cheapest graph found.
    """
    chosen: dict[int, list[Extracted]] = {}
    before = iter(() if warm is None else warm.bodies)
    for key, graphs in region.bodies.items():
        chosen[key] = [
            extract_region(
                body,
                model,
                sizes,
                search=search,
                fold_bytes=fold_bytes,
                clock=clock,
                share=share,
                warm=next(before, None),
                objective=inner,
                inner=inner,
                is_body=True,
            )
            for body in graphs
        ]
    clock("price")
    late = search.before_search()
    points = sizes[0].points
    compiled = region.compiled(key_of(model, points, fold_bytes), late)

    def together(cost: Callable[[Extracted], float]) -> float:
        """What the bodies of all nodes cost."""
        return math.fsum(compiled.view.of_bodies(model, each(cost)).values())

    def each(cost: Callable[[Extracted], float]) -> list[list[float]]:
        return [[cost(body) for body in chosen.get(k, ())] for k in range(len(region.lowered.kept))]

    prices = compiled.view.prices(model, each(_cost), share, late)
    if len(sizes) > 1:
        other = [region.compiled(key_of(model, size.points, fold_bytes), late).view for size in sizes[1:]]
        found = [prices, *(view.prices(model, each(_cost), share, late) for view in other)]
        prices = mean_prices(found, [size.weight for size in sizes])
    clock("extract")
    start = None if warm is None or warm.choice.snapshot is not region.snapshot else warm.solution.choice
    solved = compiled.solve(prices.cost, search, start)
    slack = together(_cost) - together(lambda body: body.solution.lower_bound)
    solution = _loosened(solved.solution, slack if prices.complete else math.inf)

    def choice_of(nodes: Ints) -> Choice:
        return Choice(
            region.lowered,
            region.snapshot,
            with_given(region.snapshot, prices, nodes, compiled.given),
            prices.computed,
            {key: [e.choice for e in graphs] for key, graphs in chosen.items()},
        )

    def solve(problem: ExtractionProblem) -> Ints:
        return compiled.search(problem.cost, draft, solved.original).choice

    draft = replace(search, extractor="draft")  # a candidate need not be the best of its kind
    front: tuple[MemoryPoint, ...] = ()
    if objective.searches:
        solution, front = near_optimal(
            *(replace(compiled.problem, cost=prices.cost), solution, solved.original, objective),
            choice_of=choice_of,
            solve=solve,
            points=points,
            stored=model.stored_bytes,
            late=search.alarm(),
            is_body=is_body,
            cheapest=cheapest,
        )
    parts = [e for graphs in chosen.values() for e in graphs]
    inside = together(lambda body: body.written)
    saving = solved.fusion_saving + inside - together(lambda body: body.written - body.fusion_saving)
    written = solved.written + inside - together(_cost)
    choice = choice_of(solution.choice)
    return Extracted(choice, written, saving, solution, prices, parts, solved.original, front)


def _cost(extracted: Extracted) -> float:
    return extracted.solution.cost


def _loosened(solution: Solution, slack: float) -> Solution:
    """The solution of a graph with a bound that counts what its bodies might cost less than they do."""
    if not slack > 0:
        return solution
    lower = max(0.0, solution.lower_bound - slack)
    return replace(solution, lower_bound=lower, proved=False)


def extract_by(objective: Objective, has_bodies: bool, run: Callable[..., Extracted]) -> Extracted:
    """What the objective asks for.

    A body in which memory is saved at a cost does not always save any in the whole, so there are two runs, of
    which the first settles what is cheapest.

    Args:
        has_bodies: whether the graph has any.
        run: `extract_region` of the graph, which is given the objectives.
    """
    first = run(objective=objective, inner=COST)
    if not objective.searches or not has_bodies or _keeps(first, objective):
        return first
    cheapest = first.front[0].cost
    second = run(objective=objective, inner=objective, cheapest=cheapest)
    points = [_point(first), _point(second)]
    best = first if pick(points, objective, cheapest) is points[0] else second
    solution = as_solution(best.solution, first.solution)
    return replace(best, solution=solution, front=tuple(pareto_front([*first.front, *second.front])))


def _point(extracted: Extracted) -> MemoryPoint:
    """The figures of what was chosen, which no other graph on the front has."""
    return next(point for point in extracted.front if point.cost == extracted.solution.cost)


def _keeps(extracted: Extracted, objective: Objective) -> bool:
    """Whether the cheapest graph is what is wanted, so that there is nothing to look for."""
    return objective.limit is not None and extracted.front[0].peak <= objective.limit
