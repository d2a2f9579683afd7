"""The choice by a clock: what is slower than the original is not handed out, unless it is for elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import onnx
import pytest
from onnx import parser

from egraph_opt import optimize
from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.graph.isolation import AVAILABLE
from egraph_opt.graph.runtime import RuntimeSetting
from egraph_opt.model.provenance import without_provenance
from egraph_opt.pipeline import extraction, timed_choice
from egraph_opt.pipeline.candidates import FewestNodes, WithMargin, model_variants
from egraph_opt.pipeline.fastest import Timed
from egraph_opt.pipeline.region import Region
from egraph_opt.pipeline.result import Result
from egraph_opt.pipeline.stages import saturate
from egraph_opt.report.figures import LatencyReport

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
    assert report.latency.reason.startswith("not timed: the original: ")
    assert np.isnan(report.latency.speedup)
    assert str(report).count("not timed") == 1
    assert report.to_dict()["latency"]["speedup"] is None


@pytest.mark.parametrize(
    "crashes", [False, pytest.param(True, marks=pytest.mark.skipif(not AVAILABLE, reason="no such process"))]
)
def test_a_graph_that_the_runtime_refuses_is_out_and_others_are_timed(
    monkeypatch: pytest.MonkeyPatch, crashes: bool
) -> None:
    """The cheapest is refused; softmax without its two Neg is not."""
    refuse(monkeypatch, ("0.onnx",), crashes)
    text = SOFTMAX.replace("y = Softmax <axis = -1> (x)", TWICE)
    result = optimize(
        parser.parse_model(text), cost=Spelled(), rewrites=PRIMITIVES, measure=4, isolate=crashes
    )
    latency = result.report.latency
    assert latency is not None and latency.candidates > 1
    assert not latency.reason.startswith("not timed")
    assert 0 < latency.speedup < 100
    operators = {node.op_type for node in result.model.graph.node}
    assert "Softmax" in operators, "it is that, or the original"


@pytest.mark.parametrize(
    ("cost", "status", "said"),
    [
        (Spelled(), "unchanged", "what was found does not run in onnxruntime: no such kernel"),
        (SpelledElsewhere(), "optimized", "not timed: the result: no such kernel"),
    ],
)
def test_where_every_graph_is_refused_the_original_is_handed_out_unless_it_is_for_elsewhere(
    monkeypatch: pytest.MonkeyPatch, cost: CostModel, status: str, said: str
) -> None:
    refuse(monkeypatch, tuple(f"{k}.onnx" for k in range(9)))
    report = optimize(softmax(), cost=cost, rewrites=PRIMITIVES, measure=True).report
    assert (report.status, report.latency and report.latency.reason) == (status, said)
    assert str(report).count("not timed") == (status == "optimized")


def refuse(monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], crashes: bool = False) -> None:
    """Let the runtime refuse files of these names, or end its process."""
    real = RuntimeSetting.session

    def session(self: RuntimeSetting, model: bytes | str, *arguments: Any, **settings: Any) -> Any:
        if isinstance(model, str) and Path(model).name in names:
            if crashes:
                os.abort()
            raise RuntimeError("src/core.cpp:105:\nno such kernel".replace("src", "Exception from src", 1))
        return real(self, model, *arguments, **settings)

    monkeypatch.setattr(RuntimeSetting, "session", session)


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


@pytest.mark.parametrize("legalize", [(), ("legalize",)])
def test_the_graph_that_was_timed_is_handed_out_though_time_is_up(
    monkeypatch: pytest.MonkeyPatch, legalize: tuple[str, ...]
) -> None:
    timed: list[Result] = []
    clock = time.monotonic

    def late(region: Region, *arguments: object, **settings: object) -> NoReturn:
        raise AssertionError("there is no time for another choice")

    def last(original: object, results: Sequence[Result], *arguments: object, **settings: object) -> Timed:
        timed.extend(results)
        monkeypatch.setattr(time, "monotonic", lambda: clock() + 1e4)
        monkeypatch.setattr(extraction, "extract_region", late)
        best = len(results) - 1
        return Timed(best, LatencyReport("", 1, 2.0, 1.0, 2.0, 2.0, 2.0, candidates=len(results)))

    monkeypatch.setattr(timed_choice, "fastest", last)
    text = SOFTMAX.replace("y = Softmax <axis = -1> (x)", TWICE)
    rewrites = (*PRIMITIVES, *legalize)
    result = optimize(parser.parse_model(text), cost=Spelled(), rewrites=rewrites, measure=4)
    assert len(timed) > 1
    assert without_provenance(result.model) == without_provenance(timed[-1].model)
    assert without_provenance(result.model) != without_provenance(timed[0].model)
    assert result.report.latency is not None
    assert result.report.latency.speedup == 2.0
    assert result.report.cost.after == timed[-1].report.cost.after
    assert result.report.verification.status == "passed"


TWICE = "a = Neg (x) b = Neg (a) y = Softmax <axis = -1> (b)"
