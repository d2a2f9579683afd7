"""Saturation again from the graph that was chosen."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from egraph_opt import optimize, saturate
from egraph_opt.errors import EngineError
from egraph_opt.laws.law import registered
from egraph_opt.laws.selection import all_laws
from egraph_opt.pipeline import saturating
from egraph_opt.pipeline.limits import Limits
from egraph_opt.pipeline.region import Region, region_of

PRODUCTS = 9


def several_products() -> onnx.ModelProto:
    """Products of one x with many weights, each with a function of its own: merged three by three."""
    lines = [f"p{k} = MatMul (x, w{k}) r{k} = Relu (p{k})" for k in range(PRODUCTS)]
    sums = ["s0 = Add (r0, r1)", *(f"s{k} = Add (s{k - 1}, r{k + 1})" for k in range(1, PRODUCTS - 1))]
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[4, 16] x) => (float[4, 16] y) {'
        + " ".join((*lines, *sums, f"y = Tanh (s{PRODUCTS - 2})"))
        + "}"
    )
    numbers = np.random.default_rng(0)
    for k in range(PRODUCTS):
        weight = numbers.standard_normal((16, 16)).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weight, f"w{k}"))
    return model


def test_what_was_merged_is_merged_further() -> None:
    model = several_products()
    once = saturate(model, target="nodes").extract("nodes").report
    whole = optimize(model, "nodes").report
    assert whole.verification.status == "passed"
    assert whole.cost.after < once.cost.after
    assert whole.cost.before == once.cost.before
    assert whole.nodes.runtime_before == once.nodes.runtime_before


def test_nothing_is_left_for_another_run() -> None:
    whole = optimize(several_products(), "nodes")
    again = optimize(whole.model, "nodes").report
    assert again.cost.after == whole.report.cost.after


def gates() -> onnx.ModelProto:
    """The gates of a recurrent cell: each is a sum of two products, and all are of the same operands."""
    lines = [
        f"a{k} = MatMul (x, v{k}) b{k} = MatMul (h, w{k}) s{k} = Add (a{k}, b{k}) g{k} = Tanh (s{k})"
        for k in range(3)
    ]
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[4, 16] x, float[4, 16] h) => (float[4, 16] y) {'
        + " ".join((*lines, "m = Mul (g0, g1) y = Mul (m, g2)"))
        + "}"
    )
    numbers = np.random.default_rng(0)
    for name in (f"{letter}{k}" for letter in "vw" for k in range(3)):
        weight = numbers.standard_normal((16, 16)).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weight, name))
    return model


def test_for_the_same_price_a_graph_of_fewer_nodes_is_taken() -> None:
    once = saturate(gates(), target="flops").extract("flops").report
    whole = optimize(gates(), "flops")
    assert whole.report.verification.status == "passed"
    assert whole.report.cost.after == once.cost.after
    assert whole.report.nodes.after < once.nodes.after
    assert optimize(whole.model, "flops").report.status == "unchanged"


def test_seconds_of_all_iterations_are_those_that_have_passed() -> None:
    started = time.perf_counter()
    seconds = optimize(several_products()).report.seconds
    assert sum(seconds.values()) <= time.perf_counter() - started


def test_uses_in_all_iterations_are_reported() -> None:
    model = several_products()
    once, whole = saturate(model, target="nodes").extract("nodes").report, optimize(model, "nodes").report

    def matches(report: object) -> int:
        return sum(row.matches for row in report.rewrites if row.ruleset == "horizontal")  # type: ignore[attr-defined]

    assert matches(whole) > matches(once) > 0
    assert len({(row.ruleset, row.name) for row in whole.rewrites}) == len(whole.rewrites)


@pytest.mark.parametrize("text", ["a = Neg (x) y = Neg (a)", "a = Sin (x) y = Cos (a)"])
def test_without_laws_that_resume_a_graph_is_saturated_once(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def counted(*given: Any, **named: Any) -> Region:
        calls.append(given)
        return region_of(*given, **named)

    monkeypatch.setattr(saturating, "region_of", counted)
    header = '<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) {'
    optimize(parser.parse_model(header + text + "}"), "nodes")
    assert len(calls) == 1
    calls.clear()
    optimize(several_products(), "nodes")
    assert len(calls) > 1


def test_names_of_one_iteration_do_not_meet_those_of_the_next() -> None:
    """Constants of every iteration are named by a count; the result has to be a valid model."""
    result = optimize(several_products(), "nodes")
    onnx.checker.check_model(result.model, full_check=True)
    names = [tensor.name for tensor in result.model.graph.initializer]
    assert len(set(names)) == len(names)


def test_no_iteration_follows_a_limit() -> None:
    report = optimize(several_products(), "nodes", limits=Limits(rounds=1)).report
    assert report.saturation.stop == "rounds"
    assert report.verification.status == "passed"


def _failing_later(monkeypatch: pytest.MonkeyPatch, fails: int) -> None:
    """The graph is saturated wrongly for the time given by a number, which is not the first."""
    calls = []

    def failing(*given: Any, **named: Any) -> Region:
        calls.append(given)
        if len(calls) == fails:
            raise EngineError("made for this test")
        return region_of(*given, **named)

    monkeypatch.setattr(saturating, "region_of", failing)


@pytest.mark.parametrize("iteration", [2, 3])
def test_what_goes_wrong_in_a_later_iteration_leaves_what_was_found_before(
    iteration: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = saturate(several_products(), target="nodes").extract("nodes").report
    _failing_later(monkeypatch, iteration)
    report = optimize(several_products(), "nodes").report
    assert report.status == "optimized"
    assert report.cost.after <= once.cost.after < report.cost.before
    assert report.verification.status == "passed"
    assert any("saturated again: made for this test" in warning for warning in report.warnings)


def test_what_goes_wrong_in_a_later_iteration_is_raised_if_strict(monkeypatch: pytest.MonkeyPatch) -> None:
    _failing_later(monkeypatch, 2)
    with pytest.raises(EngineError, match="made for this test"):
        optimize(several_products(), "nodes", strict=True)


def test_laws_that_resume_are_declared() -> None:
    all_laws()
    resuming = {law.ruleset for law in registered.values() if law.resumes}
    assert {"horizontal", "matmul", "distributivity"} <= resuming


@pytest.mark.parametrize("cost", ["nodes", "ascend"])
@pytest.mark.parametrize(
    "lines",
    [
        "n = NonZero (r) m = Cast <to = 1> (n) c = ReduceMax (m)",
        "c = GatherND (r, at)",
        "u = Unique (r) s = Shape (u) n = ScatterND (r, at, one) m = Cast <to = 1> (s) c = Mul (n, m)",
    ],
)
def test_what_becomes_constant_behind_operators_without_laws_is_computed(lines: str, cost: str) -> None:
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[batch, width] x) => (float[batch, n] y)'
        "<int64 first = {0}, int64 step = {1}, int64[1, 1] at = {1}, float[1] one = {7}> {"
        " shape = Shape (x) width = Gather (shape, step) i = Range (first, width, step) r = Cast <to = 1> (i)"
        f" {lines} y = Add (x, c) }}"
    )
    result = optimize(model, cost, input_shapes={"x": (None, 12)}, strict=True)
    assert [node.op_type for node in result.model.graph.node] == ["Add"]
    assert result.report.verification.status == "passed"
    free = optimize(model, cost, strict=True)
    assert free.report.nodes.runtime_after > 3
