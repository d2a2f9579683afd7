"""One e-graph under many cost models: the same answers, one price for each distinct view, warm starts."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, parser

from egraph_opt import Limits, Saturated, optimize, saturate
from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.cost.pricing import original_choice, price, problem_of
from egraph_opt.cost.registry import cost_model
from egraph_opt.cost.repricing import KEPT, SearchLimits, key_of
from egraph_opt.errors import ExtractionError
from egraph_opt.extraction import check, extract
from egraph_opt.extraction.solution import used_part

from ..pipeline.test_large_graphs import residual

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
example (float[2, 3, 4] x) => (float[2, 3, 4] y)
{
    t = Transpose <perm = [0, 2, 1]> (x)
    r = Relu (t)
    y = Transpose <perm = [0, 2, 1]> (r)
}
"""


class Priced(CostModel):
    """A price by operator (1 for others), and the views that it was asked about."""

    name = "priced"
    unit = "points"

    def __init__(self, **prices: float) -> None:
        self.prices = prices
        self.seen: list[NodeView] = []

    def cost(self, node: NodeView) -> float:
        self.seen.append(node)
        return self.prices.get(node.op_type, 1.0) + node.body_cost


def branching() -> ModelProto:
    """An If whose branches hold two transposes that cancel out."""

    def branch(operator: str) -> onnx.GraphProto:
        nodes = [
            helper.make_node("Transpose", ["x"], [f"{operator}a"], perm=[1, 0]),
            helper.make_node("Transpose", [f"{operator}a"], [f"{operator}b"], perm=[1, 0]),
            helper.make_node(operator, [f"{operator}b"], [f"{operator}c"]),
        ]
        out = helper.make_tensor_value_info(f"{operator}c", TensorProto.FLOAT, [3, 4])
        return helper.make_graph(nodes, operator, [], [out])

    node = helper.make_node("If", ["c"], ["y"], then_branch=branch("Relu"), else_branch=branch("Tanh"))
    inputs = [
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 4]),
    ]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 4])
    graph = helper.make_graph([node], "g", inputs, [output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("cost", ["nodes", "flops", "bytes", "ascend"])
def test_solving_costs_what_extracting_from_scratch_costs(cost: str) -> None:
    saturated = saturate(residual(3), target=cost)
    assert saturated.region is not None
    model, region = cost_model(cost), saturated.region
    solved = saturated.solve(model)
    args = (region.lowered, region.snapshot)
    prices = price(*args, model, {"N": 1}, [], fold_bytes=saturated.limits.fold_bytes)
    problem = problem_of(*args, prices)
    check(problem, solved.solution)
    original = used_part(problem, original_choice(region.snapshot, prices.computed))
    assert solved.solution.cost == extract(problem, incumbent=original).cost
    report = saturated.extract(model, verify=False).report
    assert (report.cost.after, report.cost.gap) == (solved.solution.cost, 0.0)


def test_bodies_are_priced_with_their_nodes() -> None:
    saturated = saturate(branching())
    for transpose in (1.0, 5.0):
        model = Priced(Transpose=transpose, If=2.0)
        solved = saturated.solve(model)
        assert solved.solution.cost == saturated.extract(model).report.cost.after == 4.0
        assert [part.solution.cost for part in solved.bodies] == [1.0, 1.0]


def test_a_model_is_asked_once_for_each_distinct_view() -> None:
    saturated = saturate(residual(8))
    assert saturated.region is not None
    first, second = Priced(), Priced(Conv=3.0, Relu=0.5)
    saturated.solve(first)
    (key,) = saturated.region.cache.by_key
    ready = saturated.region.compiled(key)
    saturated.solve(second)
    assert saturated.region.compiled(key) is ready
    assert [view.op_type for view in first.seen] == [view.op_type for view in second.seen]
    relus = [view for view in second.seen if view.op_type == "Relu"]
    assert len(relus) == 1
    assert len(second.seen) < saturated.region.snapshot.n_nodes / 4


def test_what_is_kept_ready_is_bounded_and_changes_no_answer() -> None:
    saturated = saturate(residual(2))
    assert saturated.region is not None
    costs = [saturated.solve("flops", assume={"N": n}).solution.cost for n in (*range(1, KEPT + 3), 1)]
    assert costs[0] == costs[-1]
    assert costs[1] > costs[0]
    assert len(saturated.region.cache.by_key) == KEPT
    assert key_of(cost_model("flops"), {"N": 1}, 2**20) in saturated.region.cache.by_key


def test_what_there_is_no_time_to_price_stays_as_it_was_until_there_is() -> None:
    saturated = saturate(residual(2))
    assert saturated.region is not None
    model, region = cost_model("nodes"), saturated.region
    key = key_of(model, {"N": 1}, saturated.limits.fold_bytes)

    def solved(late: bool) -> tuple[float, float]:
        ready = region.compiled(key, lambda: late)
        prices = ready.view.prices(model, [], late=lambda: late)
        assert prices.complete == ready.view.complete == (not late)
        found = ready.solve(prices.cost, SearchLimits())
        return found.solution.cost, found.written

    cost, written = solved(late=True)
    assert cost == written
    assert solved(late=False)[0] < written
    assert region.compiled(key, lambda: True).view.complete


def test_a_loaded_e_graph_is_repriced_like_the_one_in_memory(tmp_path: Path) -> None:
    saturated = saturate(residual(2))
    loaded = Saturated.load(saturated.save(tmp_path / "saturated.npz"))
    for model in (Priced(), Priced(Relu=9.0), Priced(BatchNormalization=0.0, Add=3.0)):
        kept, read = saturated.solve(model).solution, loaded.solve(model).solution
        assert (kept.cost, kept.lower_bound) == (read.cost, read.lower_bound)


def test_the_last_solution_is_a_start_and_never_makes_it_worse() -> None:
    saturated = saturate(residual(6))
    best = None
    for step in range(5):
        model = Priced(Conv=1.0 + step, BatchNormalization=2.0 - step / 4, Add=0.5 * step)
        cold = saturated.solve(model)
        best = saturated.solve(model, warm=best)
        assert best.solution.cost == cold.solution.cost
        greedy = saturated.solve(model, extractor="greedy-dag", warm=best)
        assert greedy.solution.cost == best.solution.cost
        np.testing.assert_array_equal(greedy.solution.choice, best.solution.choice)


def test_a_solution_of_another_e_graph_is_no_start_and_no_harm() -> None:
    model = Priced()
    other = saturate(residual(2)).solve(model)
    saturated = saturate(branching())
    assert saturated.solve(model, warm=other).solution.cost == saturated.solve(model).solution.cost


@pytest.mark.parametrize("wrong", [-1.0, math.nan, -math.inf])
def test_prices_that_are_none_are_refused_by_operator(wrong: float) -> None:
    model = Priced(Relu=wrong)
    with pytest.raises(ExtractionError, match=r"'priced' prices Relu at .*; a price must be 0 or more"):
        optimize(parser.parse_model(MODEL), model)


def test_what_costs_infinity_everywhere_is_an_error_that_names_the_class() -> None:
    with pytest.raises(ExtractionError, match=r"root class \d+ has no acyclic solution"):
        optimize(parser.parse_model(MODEL), Priced(Relu=math.inf))


def test_without_time_the_model_comes_back_as_it_is() -> None:
    model = parser.parse_model(MODEL)
    result = optimize(model, "nodes", limits=Limits(seconds=0))
    assert result.model == model
    assert (result.report.status, result.report.reason) == ("unchanged", "no time was given (seconds=0)")
    saturated = saturate(model)
    hurried = replace(saturated, limits=Limits(seconds=0)).extract("nodes")
    assert (hurried.model, hurried.report.status) == (model, "unchanged")
    with pytest.raises(ExtractionError, match="nothing to choose from: no time was given"):
        saturate(model, limits=Limits(seconds=0)).solve("nodes")
