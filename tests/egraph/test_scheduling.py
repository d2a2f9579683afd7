"""Laws that match too often rest, and are named; no step begins that would end too late."""

from __future__ import annotations

import time
from functools import partial

import pytest
from onnx import parser

from egraph_opt import optimize
from egraph_opt.egraph import saturation
from egraph_opt.egraph.saturation import ANALYSIS
from egraph_opt.egraph.scheduling import BackOff, Pace

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
  g (float[2, 3, 4] x, float[2, 3, 4] z) => (float[3, 4, 2] y) {
    a = Relu (x) b = Relu (a) s = Add (b, z) t = Transpose <perm = [2, 0, 1]> (s)
    u = Sigmoid (t) v = Mul (t, u)
    y = Transpose <perm = [2, 0, 1]> (v)
}"""


def test_a_rule_that_matches_too_often_rests_for_twice_as_long_each_time() -> None:
    back_off = BackOff(10)
    back_off.record({"a#0": 11, "b#0": 10})
    assert back_off.resting == {"a#0"}
    back_off.end_round()
    assert back_off.resting == {"a#0"}
    back_off.end_round()
    assert not back_off.resting
    back_off.record({"a#0": 20})
    assert not back_off.resting, "twice as many are all right by now"
    back_off.record({"a#0": 21})
    rounds = 0
    while back_off.resting:
        back_off.end_round()
        rounds += 1
    assert rounds == 4 and back_off.times == {"a#0": 2}


def test_what_rests_goes_on_where_nothing_else_is_left() -> None:
    back_off = BackOff(1)
    assert not back_off.wake()
    back_off.record({"a#0": 2})
    assert back_off.wake()
    assert not back_off.resting and not back_off.wake()


@pytest.mark.parametrize("most", [0, 1])
def test_laws_that_rest_are_named_and_nothing_is_lost(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = parser.parse_model(MODEL)
    free = optimize(model, "nodes").report
    monkeypatch.setattr(saturation, "BackOff", partial(BackOff, most))
    result = optimize(model, "nodes", strict=True)
    assert free.saturation is not None and result.report.saturation is not None
    assert result.report.saturation.stop == "saturated"
    assert result.report.saturation.nodes == free.saturation.nodes
    assert result.report.saturation.rounds > free.saturation.rounds
    assert result.report.cost.after == free.cost.after
    (told,) = (text for text in result.report.warnings if "matched too often" in text)
    assert "elementwise." in told
    assert not any("matched too often" in text for text in free.warnings)


def test_the_analysis_is_forecast_by_what_its_round_has_made(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, int]] = []

    class Watched(Pace):
        def record(self, step: str, seconds: float, nodes: int) -> None:
            seen.append((step, nodes))

    monkeypatch.setattr(saturation, "Pace", Watched)
    report = optimize(parser.parse_model(MODEL), "nodes").report
    assert report.saturation is not None
    sizes = [nodes for step, nodes in seen if step == ANALYSIS]
    assert sizes[0] > seen[0][1], "the first round adds e-nodes"
    assert sizes[-1] == report.saturation.nodes


def test_a_step_that_would_end_too_late_does_not_begin() -> None:
    pace = Pace(time.monotonic() + 100)
    assert pace.has_time("laws", "analysis", 10**6), "of what has not been seen nothing is known"
    pace.record("laws", 20, 1000)
    pace.record("analysis", 10, 1000)
    assert pace.has_time("laws", "analysis", 1000)
    assert pace.has_time("laws", "analysis", 2200)
    assert not pace.has_time("laws", "analysis", 3000)
    assert pace.forecast("laws", 2000) == 40
    assert pace.forecast("laws", 4000) == 320, "an e-graph that has more than doubled has large classes"
    assert pace.forecast("laws", 10) == 20, "a smaller one may take as long"
    pace.record("laws", 60, 1000)
    assert pace.seconds == {"laws": 80, "analysis": 10}
    assert pace.has_time("laws", "analysis", 1000) and not pace.has_time("laws", "analysis", 1500)


def test_what_a_step_takes_to_begin_is_not_extrapolated() -> None:
    """46 ms in 37 e-nodes, on a busy machine, were foretold to be 50 s in 602 of them."""
    pace = Pace(time.monotonic() + 30)
    pace.record("laws", 0.05, 37)
    pace.record("analysis", 0.001, 600)
    assert pace.has_time("laws", "analysis", 602)
    assert pace.forecast("laws", 602) < 0.1


def test_a_crowded_class_is_as_slow_as_three_of_its_terms_joined() -> None:
    pace = Pace(time.monotonic() + 60)
    assert not pace.is_crowded(600)
    assert pace.is_crowded(1200)


@pytest.mark.parametrize("crowded", [False, True])
def test_classes_are_looked_at_where_the_graph_has_multiplied(
    crowded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def is_crowded(_: Pace, most: int) -> bool:
        seen.append(most)
        return crowded

    monkeypatch.setattr(saturation, "FEW", 1)
    monkeypatch.setattr(saturation, "MULTIPLIED", 1.2)
    monkeypatch.setattr(Pace, "is_crowded", is_crowded)
    report = optimize(parser.parse_model(MODEL), "nodes").report
    assert report.saturation is not None
    assert report.saturation.stop == ("seconds" if crowded else "saturated")
    assert all(1 <= most < report.saturation.nodes for most in seen)
    assert len(seen) == 1 if crowded else seen
