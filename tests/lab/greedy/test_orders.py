"""Passes in an order beside saturation by the same laws."""

from __future__ import annotations

import csv
import io
from functools import cache
from pathlib import Path

import pytest

from egraph_opt.errors import UnknownOrderError, UnknownRulesetError
from egraph_opt.lab.greedy import (
    ORDERS,
    FixedPointPassManager,
    GeneralPassManager,
    GreedyModel,
    Pass,
    local_search,
    random_orders,
)
from egraph_opt.lab.greedy.managers import MANAGERS, strongest
from egraph_opt.lab.greedy.passes import every_pass, order_named
from egraph_opt.lab.greedy.study import orders_as_csv, spoiled_pairs, study_orders
from egraph_opt.laws.selection import select

from ...knowledge_bases.graphs import Graph
from .situations import SITUATIONS, cut

AUTO_OPTIMIZER = ORDERS["auto-optimizer"]
RANDOM_ORDERS = 20
PAGES = Path(__file__).parents[3] / "docs" / "pages"


@cache
def model_of(name: str) -> GreedyModel:
    """It remembers what passes make of its graphs, whichever test asks."""
    situation = SITUATIONS[name]
    return GreedyModel(situation.model(), situation.cost, passes=AUTO_OPTIMIZER)


@pytest.mark.parametrize("name", SITUATIONS)
def test_passes_in_the_auto_optimizers_order_fall_short_of_saturation(name: str) -> None:
    model = model_of(name)
    best = model.saturation()
    for manager in (GeneralPassManager, FixedPointPassManager):
        gated = manager(model.passes).run(model)
        assert gated.cost > best * (1 + 1e-9), manager.name
        assert gated.cost <= model.cost(model.original)
        assert model.verify(gated.state).status == "passed"


@pytest.mark.parametrize("name", ["functions of gathered parts", "single rows", "folded after lifting"])
def test_no_order_of_many_reaches_saturation(name: str) -> None:
    model = model_of(name)
    orders = random_orders(model.passes, RANDOM_ORDERS)
    costs = [FixedPointPassManager(order).run(model).cost for order in orders]
    assert len(costs) == RANDOM_ORDERS
    assert min(costs) > model.saturation() * (1 + 1e-9)


def test_the_strongest_order_is_the_best_of_those_that_are_known_and_drawn() -> None:
    situation = SITUATIONS["single rows"]
    model = GreedyModel(situation.model(), situation.cost, passes=every_pass())
    name, best = strongest(model, 1)
    known = [manager(order).run(model).cost for order in ORDERS.values() for manager in MANAGERS]
    assert best.cost <= min(known)
    assert model.saturation() <= best.cost
    assert model.verify(best.state).status == "passed"
    assert name.split(",")[0] in ("rulesets", *ORDERS, "every pass", "random 0")


def test_known_orders_have_no_laws_that_saturation_lacks() -> None:
    default = {law.key for law in select(None)}
    assert {law.key for entry in every_pass() for law in select(entry.laws)} == default


@pytest.mark.parametrize("name", ["normalized parts", "pooled between"])
def test_blind_passes_compute_the_same_and_end(name: str) -> None:
    model = model_of(name)
    for manager in (GeneralPassManager, FixedPointPassManager):
        blind = manager(model.passes, "blind").run(model)
        assert blind.applied
        assert model.verify(blind.state).status == "passed"
        assert blind.cost >= model.saturation() * (1 - 1e-9)


def test_one_turn_is_the_first_of_many() -> None:
    model = model_of("pooled between")
    general, fixed = (m(model.passes).run(model) for m in (GeneralPassManager, FixedPointPassManager))
    assert general.turns == 1 < fixed.turns
    assert fixed.applied[: len(general.applied)] == general.applied
    assert fixed.cost <= general.cost


def test_a_pass_that_finds_nothing_leaves_the_graph() -> None:
    model = model_of("pooled between")
    for acceptance in ("gated", "blind"):
        assert model.apply(model.original, Pass("none", ("softmax",)), acceptance) == model.original


def test_orders_are_the_same_for_the_same_seed() -> None:
    few, more = (list(random_orders(AUTO_OPTIMIZER, count, seed=3)) for count in (3, 5))
    assert more[:3] == few
    assert all(sorted(order, key=str) == sorted(AUTO_OPTIMIZER, key=str) for order in more)
    assert few != list(random_orders(AUTO_OPTIMIZER, 3, seed=4))


def test_a_search_ends_no_worse_than_it_began() -> None:
    model = model_of("sigmoids between")
    start = FixedPointPassManager(model.passes).run(model)
    order, found = local_search(model, model.passes, 12)
    assert found.cost <= start.cost
    assert found.cost == FixedPointPassManager(order).run(model).cost


def test_two_passes_spoil_each_other() -> None:
    """A Slice behind a Transpose is not seen to be a part until the Transposes have met."""
    g = Graph(x=["N", 6, 4])
    turned = g.add("Transpose", "x", perm=[0, 2, 1])
    parts = [cut(g, turned, 2, 3 * k, 3 * k + 3) for k in (0, 1)]
    parts = [g.add("Transpose", part, perm=[0, 2, 1]) for part in parts]
    model = GreedyModel(
        g.model(g.add("Relu", g.add("Concat", *parts, axis=1))), "nodes", passes=AUTO_OPTIMIZER
    )
    found = {(pair.first, pair.second): (pair.cost, pair.cost_reversed) for pair in spoiled_pairs(model)}
    assert found["TransposeLargeInputConv", "EmptySliceFix"] == (1.0, 4.0)
    assert all(cost < other for cost, other in found.values())


def test_a_study_has_a_row_for_each_run() -> None:
    model = model_of("single rows")
    done = study_orders("rows", model, orders=2, steps=2, verify=True)
    assert len(done.runs) == 4 + 2 + 1
    assert {run.verification for run in done.runs} == {"passed"}
    assert done.price_of_ordering == pytest.approx(done.best.cost / done.saturation - 1)
    rows = list(csv.DictReader(io.StringIO(orders_as_csv([done]))))
    assert [float(row["cost"]) for row in rows] == [run.cost for run in done.runs]
    assert {float(row["saturation"]) for row in rows} == {done.saturation}


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknownOrderError, match="did you mean 'onnxoptimizer'"):
        order_named("onnxoptimiser")
    with pytest.raises(UnknownRulesetError, match="did you mean 'concat'"):
        GreedyModel(SITUATIONS["single rows"].model(), passes=[Pass("one", ("concatt",))])


def test_the_passes_are_those_of_the_documentation() -> None:
    knowledge = {
        cells[1].strip(): cells[2]
        for line in (PAGES / "knowledge.md").read_text(encoding="utf-8").splitlines()
        if len(cells := line.split("|")) > 4
    }
    passes = (PAGES / "onnxoptimizer.md").read_text(encoding="utf-8")
    for entry in AUTO_OPTIMIZER:
        assert all(f"`{name}`" in knowledge[entry.name] for name in entry.laws), entry.name
    for entry in ORDERS["onnxoptimizer"]:
        (row,) = [line for line in passes.splitlines() if line.startswith(f"| `{entry.name}` |")]
        assert all(f"`{name}`" in row for name in entry.laws), entry.name
