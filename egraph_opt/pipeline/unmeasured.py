"""What share of the cost of a chosen graph rests on no measurement."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from egraph_opt.cost.asking import price_of, price_of_bodies
from egraph_opt.cost.model import CostModel
from egraph_opt.cost.views import PricingView
from egraph_opt.pipeline.region_extraction import Extracted


def unmeasured(model: CostModel, extracted: Extracted) -> Iterator[str]:
    """A remark, if there are such operators: by what share the cost would fall if they cost nothing.

    Of a body that counts as often as it runs, and for the branch that an If pays.
    """
    names = sorted({name for part in extracted.walk() for name in _names(model, part)})
    whole = _cost(extracted)
    if names and whole > 0:
        share = (whole - _measured_cost(model, extracted)) / whole
        yield f"the price of {', '.join(names)} rests on no measurement: {share:.0%} of the cost"


def _priced(extracted: Extracted) -> Iterator[tuple[int, int]]:
    """The chosen e-nodes that cost something, each with the number of its view."""
    view = _view(extracted)
    for node in extracted.choice.node[extracted.choice.node >= 0].tolist():
        if view.view[node] >= 0 and not view.once[node]:
            yield node, int(view.view[node])


def _view(extracted: Extracted) -> PricingView:
    view = extracted.prices.view
    assert view is not None  # or nothing would have been chosen
    return view


def _names(model: CostModel, extracted: Extracted) -> Iterator[str]:
    view = _view(extracted)
    seen = (view.views[number] for _, number in _priced(extracted))
    return (model.kernel_name(node) for node in seen if model.is_unmeasured(node))


def _cost(extracted: Extracted) -> float:
    return math.fsum(float(extracted.prices.cost[node]) for node, _ in _priced(extracted))


def _measured_cost(model: CostModel, extracted: Extracted) -> float:
    """The cost of a graph in which operators that nobody measured cost nothing."""
    view, inside = _view(extracted), iter(extracted.bodies)
    bodies = {
        key: [_measured_cost(model, next(inside)) for _ in graphs]
        for key, graphs in extracted.choice.bodies.items()
    }
    total = 0.0
    for node, number in _priced(extracted):
        seen = view.views[number]
        costs = bodies.get(view.bodies.get(number, -1))
        if costs is None:
            total += 0.0 if model.is_unmeasured(seen) else float(extracted.prices.cost[node])
            continue
        inner = price_of_bodies(model, seen, costs)
        total += price_of(model, replace(seen, body_cost=inner))
        if model.is_unmeasured(seen):  # the launch is a guess, what runs inside is not
            total -= price_of(model, replace(seen, body_cost=0.0))
    return total
