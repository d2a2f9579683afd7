"""Extraction under an objective: where memory matters, bodies are chosen by cost and by memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from egraph_opt.memory.candidates import as_solution
from egraph_opt.memory.objective import COST, MemoryPoint, Objective
from egraph_opt.memory.pareto import pareto_front, pick
from egraph_opt.pipeline.region_extraction import Extracted


def extract_by(objective: Objective, has_bodies: bool, run: Callable[..., Extracted]) -> Extracted:
    """What the objective asks for.

    A body in which memory is saved at a cost does not always save any in the whole, so there are two runs, of
    which the first settles what is cheapest.

    Args:
        has_bodies: whether the graph has any.
        run: `extract_region` of the graph, which is told the objectives.
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
