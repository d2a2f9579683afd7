"""The limit of seconds is one for all stages; what it ends is said, and the result is good all the same."""

from __future__ import annotations

import math
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from egraph_opt import Limits, optimize
from egraph_opt.cost.repricing import SearchLimits
from egraph_opt.pipeline.limits import CHOSEN, LEAST_CHOICE, SATURATED

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
    assert LIMITS.saturation_deadline(now) == now + SATURATED * 100
    early, late = LIMITS.choice_deadline(10.0), LIMITS.choice_deadline(40.0)
    assert late < early <= time.monotonic() + CHOSEN * 100 - 10
    assert SATURATED < CHOSEN < 1


def test_the_choice_has_some_time_whatever_came_before() -> None:
    assert LIMITS.choice_deadline(1000.0) > time.monotonic() + 0.9 * LEAST_CHOICE * 100


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


def test_a_model_that_is_done_in_time_has_no_such_warning() -> None:
    report = optimize(layers(2), cost="nodes").report
    assert report.saturation.stop == "saturated"
    assert not report.warnings
