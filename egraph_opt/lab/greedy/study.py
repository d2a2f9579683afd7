"""What orders of passes reach beside saturation, on one model: the price of ordering."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields, replace
from itertools import combinations

from egraph_opt.lab.greedy.managers import (
    ACCEPTANCES,
    MANAGERS,
    FixedPointPassManager,
    GeneralPassManager,
    PassManager,
    local_search,
    random_orders,
)
from egraph_opt.lab.greedy.model import GreedyModel
from egraph_opt.lab.greedy.passes import Acceptance, Pass
from egraph_opt.lab.tables import csv_text


@dataclass(frozen=True)
class OrderRun:
    """One order of passes under one manager.

    Attributes:
        order: "given", "random <k>" or "searched".
        cost: of the graph at the end, in the cost model's unit.
        turns: how often all passes were gone through.
        applied: the passes that changed something, in turn, joined by spaces.
        verification: of the graph at the end, where that was asked for.
    """

    model: str
    cost_model: str
    order: str
    manager: str
    acceptance: Acceptance
    cost: float
    turns: int
    applied: str
    verification: str = ""


@dataclass(frozen=True)
class SpoiledPair:
    """Two passes of which each leaves another graph to the other: what each order costs."""

    first: str
    second: str
    cost: float
    cost_reversed: float


@dataclass(frozen=True)
class OrderStudy:
    """Orders of passes on a model, and saturation by the same laws.

    Attributes:
        original, saturation: cost of the model as it came, and after saturation.
        grouped: of the model as it came with kernels grouped by dominators, as TVM does it.
    """

    model: str
    cost_model: str
    unit: str
    original: float
    grouped: float
    saturation: float
    runs: tuple[OrderRun, ...]
    spoiled: tuple[SpoiledPair, ...] = ()

    @property
    def best(self) -> OrderRun:
        """The best order."""
        return min(self.runs, key=lambda run: run.cost)

    @property
    def price_of_ordering(self) -> float:
        """What the best order costs more than saturation, as a share of that."""
        return self.best.cost / self.saturation - 1 if self.saturation > 0 else 0.0


def study_orders(
    name: str,
    model: GreedyModel,
    *,
    orders: int = 0,
    steps: int = 0,
    seed: int = 0,
    pairs: bool = False,
    verify: bool = False,
    progress: Callable[[float], None] = lambda done: None,
) -> OrderStudy:
    """Try the order given under every manager, and random and searched orders under the strongest one.

    Args:
        name: of the model, for reports.
        orders: how many random ones; each to its fixed point, gated.
        steps: of a local search that moves one pass at a time, from the best order so far.
        pairs: find the pairs of passes that spoil each other.
        verify: run what each order made beside the original.
        progress: called with the share that is done.
    """
    runs: list[OrderRun] = []

    def record(order: str, passes: Sequence[Pass], manager: type[PassManager], how: Acceptance) -> None:
        result = manager(passes, how).run(model)
        checked = model.verify(result.state).status if verify else ""
        applied = " ".join(step.name for step in result.applied)
        cost_model = model.cost_model.name
        runs.append(
            OrderRun(name, cost_model, order, manager.name, how, result.cost, result.turns, applied, checked)
        )

    planned = [("given", model.passes, manager, how) for manager in MANAGERS for how in ACCEPTANCES]
    drawn = enumerate(random_orders(model.passes, orders, seed))
    planned += [(f"random {k}", order, FixedPointPassManager, "gated") for k, order in drawn]
    for done, plan in enumerate(planned):
        record(*plan)
        progress((done + 1) / (len(planned) + bool(steps)))
    if steps:
        gated = [k for k, run in enumerate(runs) if run.acceptance == "gated"]
        start = planned[min(gated, key=lambda k: runs[k].cost)][1]
        record("searched", local_search(model, start, steps, seed)[0], FixedPointPassManager, "gated")
    return OrderStudy(
        name,
        model.cost_model.name,
        model.cost_model.unit,
        model.cost(model.original),
        model.grouped_cost(model.original),
        model.saturation(),
        tuple(runs),
        tuple(spoiled_pairs(model)) if pairs else (),
    )


def spoiled_pairs(model: GreedyModel) -> Iterator[SpoiledPair]:
    """Pairs of passes whose order matters on a model, the cheaper order first."""
    for first, second in combinations(model.passes, 2):
        forth, back = (
            GeneralPassManager(order).run(model).cost for order in ((first, second), (second, first))
        )
        pair = SpoiledPair(first.name, second.name, forth, back)
        if abs(forth - back) > 1e-9 * max(forth, back):
            yield (
                pair
                if forth < back
                else replace(pair, first=second.name, second=first.name, cost=back, cost_reversed=forth)
            )


def orders_as_csv(studies: Iterable[OrderStudy]) -> str:
    """A row a run, with what the original and saturation cost beside it."""
    columns = (*(field.name for field in fields(OrderRun)), "original", "grouped", "saturation")
    rows = (
        (*astuple(run), done.original, done.grouped, done.saturation) for done in studies for run in done.runs
    )
    return csv_text(columns, rows)
