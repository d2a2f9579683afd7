"""The limit of seconds is one for all stages; what it ends is said, and the result is good all the same."""

from __future__ import annotations

import math
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from egraph_opt import Limits, optimize
from egraph_opt.cost.repricing import SearchLimits
from egraph_opt.extraction import extract
from egraph_opt.extraction.solution import measure
from egraph_opt.pipeline import limits
from egraph_opt.pipeline.limits import CHOSEN, FINISHING, LEAST_CHOICE, LEAST_REST, SATURATED

from ..extraction.test_default import woven

LIMITS = Limits(seconds=100.0)


def layers(count: int) -> onnx.ModelProto:
    """A network on which no ruleset comes to an end within a millisecond."""
    random = np.random.default_rng(0)
    nodes, constants, value = [], [], "x"
    for k in range(count):
        constants += [
            numpy_helper.from_array(random.standard_normal((8, 8)).astype("f"), f"w{k}"),
            numpy_helper.from_array(random.standard_normal(8).astype("f"), f"b{k}"),
        ]
        nodes += [
            helper.make_node("MatMul", [value, f"w{k}"], [f"m{k}"]),
            helper.make_node("Add", [f"m{k}", f"b{k}"], [f"a{k}"]),
            helper.make_node("Identity", [f"a{k}"], [f"i{k}"]),
            helper.make_node("Relu", [f"i{k}"], [f"r{k}"]),
        ]
        value = f"r{k}"
    ends = (helper.make_tensor_value_info(name, TensorProto.FLOAT, (4, 8)) for name in ("x", value))
    first, last = ends
    graph = helper.make_graph(nodes, "layers", [first], [last], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_saturation_and_the_choice_share_the_seconds() -> None:
    now = time.monotonic()
    assert LIMITS.saturation_deadline(now, read=1.0) == now + SATURATED * 100
    early, late = LIMITS.choice_deadline(10.0, read=1.0), LIMITS.choice_deadline(40.0, read=1.0)
    assert late < early <= time.monotonic() + CHOSEN * 100 - 10
    assert SATURATED < CHOSEN < 1


def test_the_choice_has_some_time_whatever_came_before() -> None:
    assert LIMITS.choice_deadline(1000.0, read=1.0) > time.monotonic() + 0.9 * LEAST_CHOICE * 100


def test_what_takes_long_to_read_leaves_time_to_rebuild_and_verify() -> None:
    now = time.monotonic()
    assert LIMITS.saturation_deadline(now, read=25.0) == pytest.approx(now + 100 - 25 * FINISHING)
    assert LIMITS.choice_deadline(30.0, read=25.0) < LIMITS.choice_deadline(30.0, read=1.0)
    short = Limits(seconds=1.0)
    assert short.saturation_deadline(now, read=0.01) <= now + 1.0 - LEAST_REST


def test_laws_are_tried_where_what_follows_ends_in_time() -> None:
    assert LIMITS.lets_begin(spent=20.0, read=20.0)
    assert not LIMITS.lets_begin(spent=28.0, read=28.0)
    assert Limits(seconds=1e-3).lets_begin(spent=0.01, read=0.01), "half a second is allowed for"


def test_a_model_that_takes_too_long_to_read_comes_back_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "LEAST_OVERRUN", 0.0)
    model = layers(2)
    result = optimize(model, cost="nodes", limits=Limits(seconds=1e-4))
    assert result.report.status == "unchanged"
    assert "the limit of 0.0001 s leaves no time" in result.report.reason
    assert result.model == model


BODIES = """
<ir_version: 8, opset_import: ["" : 17]>
example (bool c, float[4] x) => (float[4] y)
{
    z = If (c) <
        then_branch = one () => (float[4] p) { a = Neg (x)  b = Neg (a)  p = Identity (b) },
        else_branch = other () => (float[4] q) { e = Neg (x)  f = Neg (e)  q = Relu (f) }
    >
    y = Identity (z)
}
"""


def test_bodies_that_come_too_late_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limits, "saturation_deadline", lambda self, started, read: started)
    report = optimize(parser.parse_model(BODIES), cost="nodes").report
    assert report.saturation.stop == "seconds"
    assert report.status == "optimized"
    assert report.verification.status == "passed"
    assert any("ended saturation" in warning for warning in report.warnings)


def test_a_choice_without_any_time_is_what_greedy_finds() -> None:
    problem = woven(60)
    worse = extract(problem, "tree").choice
    found = SearchLimits(seconds=0.0).extract(problem, worse)
    assert found.cost == min(extract(problem, "greedy-dag").cost, measure(problem, worse)[0])


@pytest.mark.parametrize(
    ("seconds", "deadline", "left"),
    [(None, math.inf, None), (7.0, math.inf, 7.0), (7.0, 0.0, 0.0), (None, 0.0, 0.0)],
)
def test_a_search_has_what_is_left(seconds: float | None, deadline: float, left: float | None) -> None:
    limits = SearchLimits(seconds=seconds, deadline=deadline)
    assert limits.left == left
    assert limits.alarm()() == (left == 0.0)


@pytest.mark.parametrize("cost", ["nodes", "ascend"])
def test_what_the_limit_ends_is_said_and_what_comes_out_is_verified(cost: str) -> None:
    report = optimize(layers(20), cost=cost, limits=Limits(seconds=1e-3)).report
    assert report.saturation.stop == "seconds"
    assert any("0.001 s ended saturation" in warning for warning in report.warnings)
    assert report.cost.after <= report.cost.before
    assert report.verification.status == "passed"


def test_where_there_is_no_time_to_price_nothing_is_said_to_be_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SearchLimits, "before_search", lambda limits: lambda: True)
    report = optimize(layers(3)).report
    assert report.cost.lower_bound == 0 < report.cost.after
    assert any("ended the choice" in warning for warning in report.warnings)


def test_a_model_that_is_done_in_time_has_no_such_warning() -> None:
    report = optimize(layers(2), cost="nodes").report
    assert report.saturation.stop == "saturated"
    assert not report.warnings
