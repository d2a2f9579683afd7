"""Control flow under `ascend`: bodies are paid as often as they run, and assumptions are told."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnx import parser

from egraph_opt import Result, optimize
from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.cost_models.ascend_control import iterations
from egraph_opt.facts.fact import Fact

ASCEND = Ascend()
COND = Fact(9, ())
HEAD = '<ir_version: 8, opset_import: ["" : 17]>'


def count(*value: int) -> Fact:
    return Fact(7, (), const=True, value=value, splat=value[0])


def loop(limit: Fact | None, condition: Fact | None = COND) -> NodeView:
    x = Fact(1, (4, 4))
    return NodeView("Loop", "", {}, (limit, condition, x), (x,))


def scan(*shape: int | None, opset: int = 17, **attributes: object) -> NodeView:
    state, x = Fact(1, (4,)), Fact(1, shape)
    attributes = {"num_scan_inputs": 1, **attributes}
    return NodeView("Scan", "", attributes, (state, x), (state,), opset=opset)


def test_a_trip_count_and_a_scanned_dim_say_how_often_a_body_runs() -> None:
    assert iterations(loop(count(7))) == iterations(loop(count(7), None)) == 7
    assert iterations(loop(count(0))) == iterations(loop(count(-3))) == 0
    assert iterations(scan(12, 4)) == iterations(scan(4, 12, scan_input_axes=(-1,))) == 12
    assert iterations(scan(2, 12, 4, opset=8)) == 24


def test_a_condition_that_never_holds_runs_no_body() -> None:
    assert iterations(loop(count(7), Fact(9, (), const=True, value=(0,), splat=0))) == 0


@pytest.mark.parametrize("limit", [None, Fact(7, ()), count(2**63 - 1), count(2**31 - 1)])
def test_a_loop_that_only_its_condition_ends_has_no_count(limit: Fact | None) -> None:
    assert iterations(loop(limit)) is None
    assert iterations(scan(None, 4)) is None
    assert iterations(scan(4, scan_input_axes=(5,))) is None


def test_bodies_are_paid_for_each_iteration_and_an_assumption_where_nobody_knows() -> None:
    assert ASCEND.of_bodies(loop(count(7)), [3.0]) == 21.0
    assert ASCEND.of_bodies(loop(None), [3.0]) == 30.0
    assert Ascend(loop_iterations=1000).of_bodies(loop(None), [3.0]) == 3000.0


def test_an_if_pays_the_more_expensive_branch_or_both_by_their_probability() -> None:
    branches = NodeView("If", "", {}, (COND,), (Fact(1, (4,)),))
    assert ASCEND.of_bodies(branches, [3.0, 5.0]) == ASCEND.of_bodies(branches, [5.0, 3.0]) == 5.0
    rarely = Ascend(branch_price="expected", then_probability=0.1)
    assert rarely.of_bodies(branches, [3.0, 5.0]) == pytest.approx(0.9 * 3.0 + 0.1 * 5.0)


# ---- whole models


def run(text: str, rewrites: list[str] | None = None, **parameters: Any) -> Result:
    return optimize(parser.parse_model(HEAD + text), cost=Ascend(**parameters), rewrites=rewrites)


def a_loop(limit: str) -> str:
    return f"""
    loop (float[64,64] x, int64 n) => (float[64,64] y)
    <bool go = {{1}}, int64 seven = {{7}}, int64 seventy = {{70}}>
    {{
        y = Loop ({limit}, go, x) <body = in (int64 i, bool c, float[64,64] s) => (bool d, float[64,64] t) {{
            d = Identity (c)
            a = MatMul (s, s)
            b = Transpose <perm = [1, 0]> (a)
            e = Transpose <perm = [1, 0]> (b)
            t = Relu (e)
        }}>
    }}
    """


def test_a_loop_costs_its_body_as_often_as_it_runs() -> None:
    before = [run(a_loop(limit)).report.cost.before for limit in ("seven", "seventy")]
    body = (before[1] - before[0]) / 63
    assert body > 3.0
    assert before[0] == pytest.approx(ASCEND.soc.fixed_control_us + 7 * body)


def test_what_a_body_saves_it_saves_in_each_iteration() -> None:
    costs = [run(a_loop(limit)).report.cost for limit in ("seven", "seventy")]
    saved = [cost.before - cost.after for cost in costs]
    assert saved[0] > 1.0
    assert saved[1] == pytest.approx(10 * saved[0])
    assert all(cost.gap == 0 for cost in costs)


def test_the_iterations_that_are_assumed_are_told() -> None:
    found = run(a_loop("n")).report
    assert any("10 iterations are assumed (loop_iterations): Loop" in text for text in found.warnings)
    assert not any("iterations" in text for text in run(a_loop("seven")).report.warnings)


A_SCAN = """
scan (float[30,16] x, float[16] z) => (float[16] f, float[30,16] y)
{
    f, y = Scan (z, x) <
        num_scan_inputs = 1,
        body = step (float[16] s, float[16] r) => (float[16] t, float[16] o) { t = Add (s, r) o = Tanh (t) }
    >
}
"""


def test_a_scan_costs_its_body_for_each_slice() -> None:
    body = ASCEND.cost(NodeView("Add", "", {}, (Fact(1, (16,)),) * 2, (Fact(1, (16,)),)))
    assert run(A_SCAN).report.cost.before > ASCEND.soc.fixed_control_us + 30 * body


BRANCHES = """
branches (float[64,64] x, bool c) => (float[64,64] y)
{
    y = If (c) <
        then_branch = yes () => (float[64,64] n) { a = MatMul (x, x) n = Relu (a) },
        else_branch = no () => (float[64,64] o) { b = MatMul (x, x) d = MatMul (b, x) o = Softmax (d) }
    >
}
"""


@pytest.mark.parametrize("rewrites", [[], None])
def test_a_branch_that_stays_as_it_is_costs_what_it_did(rewrites: list[str] | None) -> None:
    """What fusing saves is counted of the branch that is paid, not of the one that fuses more."""
    for parameters in ({}, {"branch_price": "expected", "then_probability": 0.2}):
        cost = run(BRANCHES, rewrites, **parameters).report.cost
        assert cost.after == pytest.approx(cost.before, rel=1e-9)
        assert cost.gap == 0


def test_the_probability_of_a_branch_changes_the_price() -> None:
    costs = [
        run(BRANCHES, branch_price="expected", then_probability=p).report.cost.before for p in (0.0, 0.5, 1.0)
    ]
    assert costs[0] > costs[1] > costs[2]
    assert costs[0] == pytest.approx(run(BRANCHES).report.cost.before)


def test_nested_loops_multiply() -> None:
    text = """
    nested (float[64,64] x) => (float[64,64] y)
    <bool go = {1}, int64 six = {6}, int64 five = {5}>
    {
        y = Loop (six, go, x) <body = outer (int64 i, bool c, float[64,64] s) => (bool d, float[64,64] t) {
            d = Identity (c)
            t = Loop (five, c, s) <body = in (int64 j, bool e, float[64,64] u) => (bool f, float[64,64] v) {
                f = Identity (e) v = Softmax (u)
            }>
        }>
    }
    """
    assert isinstance(parser.parse_model(HEAD + text), onnx.ModelProto)
    softmax = ASCEND.cost(NodeView("Softmax", "", {}, (Fact(1, (64, 64)),), (Fact(1, (64, 64)),)))
    assert run(text).report.cost.before == pytest.approx(10 + 6 * (10 + 5 * softmax), rel=0.05)
