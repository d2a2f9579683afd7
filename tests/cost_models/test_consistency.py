"""A graph costs what it costs, whoever asks: prices depend on what a node is, and the graph that is written
costs what the report says of the one that was chosen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from onnx import parser

from egraph_opt import optimize, saturate
from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.cost.registry import cost_model
from egraph_opt.cost.repricing import compiled, key_of
from egraph_opt.facts.fact import Fact

HEADER = '<ir_version: 8, opset_import: ["" : 17]>'
MODELS = {
    "square product with a result like its operand": """
        g (float[1,64] x) => (float[1,64] y) <int64[2] s = {64, 64}>
        { w = ConstantOfShape <value = float[1] {0.5}> (s) p = MatMul (x, w) y = Tanh (p) }""",
    "Gelu spelled out behind a product": """
        g (float[4,50,128] x) => (float[4,50,128] y)
        <int64[2] s = {128, 128}, float root = {1.4142135}, float one = {1.0}, float half = {0.5}>
        {
            w = ConstantOfShape <value = float[1] {0.01}> (s)
            p = MatMul (x, w)
            d = Div (p, root)
            e = Erf (d)
            a = Add (e, one)
            m = Mul (p, a)
            y = Mul (m, half)
        }""",
    "HardSwish spelled out behind a convolution": """
        g (float[1,16,14,14] x) => (float[1,16,14,14] y)
        <int64[4] s = {16, 16, 3, 3}, float three = {3.0}, float zero = {0.0}, float six = {6.0}>
        {
            w = ConstantOfShape <value = float[1] {0.01}> (s)
            p = Conv <pads = [1, 1, 1, 1]> (x, w)
            a = Add (p, three)
            c = Clip (a, zero, six)
            m = Mul (p, c)
            y = Div (m, six)
        }""",
}


def views_of(model: CostModel, text: str) -> list[NodeView]:
    """What a model is asked to price of a saturated graph."""
    saturated = saturate(parser.parse_model(HEADER + text), target=model)
    region = saturated.region
    assert region is not None
    key = key_of(model, saturated.points(model), saturated.limits.fold_bytes)
    return list(compiled(region.lowered, region.snapshot, key).view.views)


def copied(view: NodeView) -> NodeView:
    """The same, of other objects."""
    inputs = (None if fact is None else replace(fact) for fact in view.inputs)
    return replace(view, inputs=tuple(inputs), outputs=tuple(map(replace, view.outputs)))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("cost", ["nodes", "flops", "bytes", "ascend", "ascend:910b3"])
def test_equal_views_have_equal_prices(cost: str, name: str) -> None:
    model = cost_model(cost)
    views = views_of(model, MODELS[name])
    assert len(views) > 1
    assert [model.cost(copied(view)) for view in views] == [model.cost(view) for view in views]


@pytest.mark.parametrize("soc", ["310p3", "910b3"])
def test_a_product_costs_the_same_where_result_and_operand_are_one_fact(soc: str) -> None:
    model = cost_model(f"ascend:{soc}")
    fact, weight = Fact(1, (1, 64)), Fact(1, (64, 64), const=True)
    one = NodeView("MatMul", "", {}, (fact, weight), (fact,))
    other = NodeView("MatMul", "", {}, (fact, weight), (Fact(1, (1, 64)),))
    assert model.cost(one) == model.cost(other)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("cost", ["nodes", "ascend"])
def test_the_graph_that_is_written_costs_what_was_said(cost: str, name: str, tmp_path: Path) -> None:
    """Whatever laws found a kernel, the target's own find it again in what is written."""
    model = cost_model(cost)
    done = optimize(parser.parse_model(HEADER + MODELS[name]), cost)
    done.save(path := tmp_path / "written.onnx")
    again = saturate(path, rewrites=(), target=model).extract(model).report.cost
    assert again.before == pytest.approx(done.report.cost.after, rel=1e-9)
    assert again.after == pytest.approx(done.report.cost.after, rel=1e-9)


def test_activations_that_are_spelled_out_are_part_of_the_original_kernel() -> None:
    """The original is priced with what the target's compiler makes of it, and so is the result."""
    report = optimize(
        parser.parse_model(HEADER + MODELS["Gelu spelled out behind a product"]), "ascend"
    ).report
    assert report.cost.before == pytest.approx(report.cost.after, rel=1e-9)
