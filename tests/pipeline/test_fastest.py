"""The choice by a clock: what is slower than the original is not handed out, unless it is for elsewhere."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import parser

from egraph_opt import optimize
from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.pipeline.candidates import FewestNodes, WithMargin, model_variants
from egraph_opt.pipeline.stages import saturate

SOFTMAX = """
<ir_version: 8, opset_import: ["" : 17]>
softmax (float[256,4096] x) => (float[256,4096] y)
{
    y = Softmax <axis = -1> (x)
}
"""

PRIMITIVES = ("default", "composites.primitives")


class Spelled(CostModel):
    """Likes functions spelled out."""

    name = "spelled"
    unit = "whims"

    def cost(self, node: NodeView) -> float:
        return 10.0 if node.op_type == "Softmax" else 1.0


class SpelledElsewhere(Spelled):
    """The same, of a machine that is not this one."""

    elsewhere = True


def softmax() -> onnx.ModelProto:
    return parser.parse_model(SOFTMAX)


def test_a_slower_result_is_not_handed_out() -> None:
    result = optimize(softmax(), cost=Spelled(), rewrites=PRIMITIVES, measure=True)
    report = result.report
    assert report.status == "unchanged"
    assert "slower in onnxruntime" in report.reason
    assert result.model == softmax()
    assert report.latency is not None
    assert report.latency.speedup < 0.9
    assert report.nodes.after == report.nodes.before
    assert report.cost.after == report.cost.before
    assert report.to_dict()["cost"]["lower_bound"] is None, "by prices that the clock contradicts"
    assert "lower bound" not in str(report)


@pytest.mark.parametrize("metadata", [True, False])
def test_one_graph_is_timed_once_whatever_it_says_of_its_making(metadata: bool) -> None:
    twice = parser.parse_model(
        SOFTMAX.replace("y = Softmax <axis = -1> (x)", "a = Neg (x) b = Neg (a) y = Relu (b)")
    )
    latency = optimize(twice, measure=4, metadata=metadata).report.latency
    assert latency is not None
    assert latency.candidates == 1


def test_without_a_clock_prices_decide() -> None:
    report = optimize(softmax(), cost=Spelled(), rewrites=PRIMITIVES).report
    assert (report.status, report.latency) == ("optimized", None)
    assert report.cost.after < report.cost.before


def test_a_model_of_another_machine_is_only_told() -> None:
    report = optimize(softmax(), cost=SpelledElsewhere(), rewrites=PRIMITIVES, measure=True).report
    assert report.status == "optimized"
    assert report.latency is not None
    assert report.latency.speedup < 0.9


def test_an_original_that_cannot_run_here_is_not_timed() -> None:
    strange = parser.parse_model(
        """
        <ir_version: 8, opset_import: ["" : 17, "some.domain" : 1]>
        strange (float[4] x) => (float[4] y)
        {
            a = Identity (x)
            b = some.domain.Wobble (a)
            y = Identity (b)
        }
        """
    )
    report = optimize(strange, cost="nodes", measure=True).report
    assert report.status == "optimized"
    assert report.latency is not None
    assert report.latency.reason.startswith("not timed")
    assert np.isnan(report.latency.speedup)
    assert "not timed" in str(report)
    assert report.to_dict()["latency"]["speedup"] is None


def test_the_best_graphs_differ_and_the_cheapest_comes_first() -> None:
    saturated = saturate(softmax(), rewrites=PRIMITIVES)
    found = saturated.best(4, Spelled())
    assert found[0].report.verification.status == "passed"
    assert found[0].report.cost.after == min(result.report.cost.after for result in found)
    assert len({result.model.SerializeToString() for result in found}) == len(found)


def test_candidates_are_the_model_and_more_and_less_cautious_ones() -> None:
    model = Spelled()
    found = list(model_variants(model, 4))
    assert found[0] is model
    assert len({(each.margin, each.unit) for each in found}) == 4
    assert [type(each) for each in found[1:]] == [WithMargin, FewestNodes, WithMargin]
    assert all(each.rulesets == model.rulesets and each.elsewhere == model.elsewhere for each in found)


@pytest.mark.parametrize("margin", [0.0, 10.0])
def test_a_margin_keeps_what_the_original_has(margin: float) -> None:
    result = optimize(softmax(), cost=WithMargin(Spelled(), margin), rewrites=PRIMITIVES)
    assert (result.report.status == "optimized") == (margin == 0.0)
