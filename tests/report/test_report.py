"""Reports are JSON for programs and a table for people; nodes that run are told from those that do not."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper, parser

from egraph_opt import optimize
from egraph_opt.graph.node_counts import OperatorCount, nodes_of, operators_between
from egraph_opt.report.figures import CostReport, GrowthReport, NodesReport, RewriteReport, RulesetReport
from egraph_opt.report.optimization import STAGES, Report
from egraph_opt.report.summary import first_screen
from egraph_opt.verification import Verification

FLOATS = st.floats(allow_nan=True, allow_infinity=True)


def example(**changes: object) -> Report:
    fields: dict[str, object] = {
        "status": "optimized",
        "reason": "",
        "cost": CostReport("ascend", "us", 1234.5, 987.25, 980.0, 0.007),
        "nodes": NodesReport(before=110, after=80, runtime_before=100, runtime_after=75),
        "saturation": GrowthReport(rounds=5, nodes=12_345, classes=2_345, stop="saturated"),
        "rewrites": (
            RewriteReport("transpose", "compose", matches=1_000, used=12),
            RewriteReport("reshape", "idle", matches=3, used=0),
        ),
        "rulesets": (
            RulesetReport("original", nodes=1_000, matches=0, seconds=0.0),
            RulesetReport("transpose", nodes=321, matches=1_003, seconds=0.25),
        ),
        "verification": Verification("passed", 1e-6, 1e-7, [0, 1, 2], "2 outputs"),
        "seconds": {"load": 0.01, "saturate": 0.5},
        "warnings": ("something [bold]odd[/bold]",),
        "operators": {"Conv": OperatorCount(10, 10), "Transpose": OperatorCount(8, 1)},
    }
    return Report(**(fields | changes))  # type: ignore[arg-type]


def test_the_dictionary_has_what_is_promised() -> None:
    plain = example().to_dict()
    assert plain["status"] == "optimized"
    figures = {
        "model",
        "unit",
        "before",
        "after",
        "lower_bound",
        "gap",
        "points",
        "pieces",
        "open",
        "by_operator",
        "costly",
        "refused",
        "written",
        "observed",
        "sides",
        "sizes",
    }
    assert set(plain["cost"]) == figures
    assert set(plain["nodes"]) == {"before", "after", "runtime_before", "runtime_after"}
    assert set(plain["saturation"]) == {"rounds", "nodes", "classes", "stop", "by_round"}
    counts = {"ruleset", "name", "matches", "used", "saves", "own", "numerics", "saved", "formula"}
    assert set(plain["rewrites"][0]) == counts
    assert {"status", "max_abs_error", "max_rel_error", "seeds"} <= set(plain["verification"])
    assert list(plain["seconds"]) == list(STAGES)
    assert plain["operators"]["Transpose"] == {"before": 8, "after": 1}
    assert plain["warnings"] == ["something [bold]odd[/bold]"]


def test_numpy_and_numbers_that_json_lacks_become_plain() -> None:
    real: Any = np.float32(1.5)
    counts: Any = (np.int64(1), np.int32(2), np.uint8(3), 4)
    seeds: Any = [np.int64(3)]
    report = example(
        cost=CostReport("c", "u", np.float64(2), real, -math.inf, math.nan),
        nodes=NodesReport(*counts),
        verification=Verification("passed", math.inf, 0.0, seeds, ""),
    )
    plain = report.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["cost"] == {
        "model": "c",
        "unit": "u",
        "before": 2.0,
        "after": 1.5,
        "lower_bound": None,
        "gap": None,
        "points": {},
        "pieces": 0,
        "open": [],
        "by_operator": [],
        "costly": [],
        "refused": {},
        "written": None,
        "observed": 0,
        "sides": {},
        "sizes": [],
    }
    assert type(plain["nodes"]["before"]) is int
    assert plain["verification"]["max_abs_error"] is None
    assert plain["verification"]["seeds"] == [3]


def test_what_the_compiler_of_the_target_does_has_a_row_of_its_own() -> None:
    shown = str(example(cost=CostReport("c", "u", 20.0, 15.0, 15.0, 0.0, written=40.0)))
    assert "cost as written" in shown
    assert "-50.0 %  what the target's compiler does by itself" in shown
    assert "-25.0 %  c, in u" in shown
    assert "as written" not in str(example(cost=CostReport("c", "u", 20.0, 15.0, 15.0, 0.0, written=20.0)))


def test_where_no_compiler_sees_the_graph_none_is_credited_and_sides_say_of_what_they_are() -> None:
    sides = {"host": (40.0, 30.0), "device": (20.0, 15.0)}
    shown = str(example(cost=CostReport("c", "u", 20.0, 15.0, 15.0, 0.0, written=40.0, sides=sides)))
    assert "what the target does by itself" in shown
    assert shown.count("before: as written") == len(sides)
    same = str(example(cost=CostReport("c", "u", 20.0, 15.0, 15.0, 0.0, written=20.0, sides=sides)))
    assert "as written" not in same


@pytest.mark.parametrize(
    ("sides", "verdict"),
    [
        ({}, ""),
        ({"host": (40.0, 30.0), "device": (20.0, 15.0)}, "host-bound, 2 times the device"),
        ({"host": (40.0, 10.0), "device": (20.0, 15.0)}, "device-bound, 1.5 times the host"),
        ({"host": (40.0, 10.0), "device": (20.0, 0.0)}, "host-bound"),
        ({"host": (0.0, 0.0), "device": (0.0, 0.0)}, ""),
    ],
)
def test_sides_that_work_at_the_same_time_have_sums_and_a_verdict(
    sides: dict[str, tuple[float, float]], verdict: str
) -> None:
    cost = CostReport("c", "u", 60.0, 40.0, sides=sides)
    assert cost.verdict() == verdict
    shown = str(example(cost=cost))
    assert verdict in shown and all(f"\n{side} " in shown for side in sides)
    assert example(cost=cost).to_dict()["cost"]["sides"] == {side: list(pair) for side, pair in sides.items()}


@given(before=FLOATS, after=FLOATS, bound=FLOATS, gap=FLOATS, error=FLOATS, nodes=st.integers(0, 10**12))
def test_any_figures_can_be_printed_and_stored(
    before: float, after: float, bound: float, gap: float, error: float, nodes: int
) -> None:
    report = example(
        cost=CostReport("c", "u", before, after, bound, gap),
        nodes=NodesReport(nodes, 0, 0, nodes),
        verification=Verification("failed", error, error, [], ""),
    )
    json.dumps(report.to_dict(), allow_nan=False)
    assert "run-time nodes" in str(report)


def test_answers_of_the_solver_that_were_refused_are_said() -> None:
    cost = CostReport("c", "u", 2.0, 1.0, refused={"a solution that violates a row": 3})
    report = example(cost=cost)
    assert report.to_dict()["cost"]["refused"] == {"a solution that violates a row": 3}
    line = next(line for line in str(report).splitlines() if line.startswith("solver refused"))
    assert "3" in line and "a solution that violates a row (3)" in line
    assert "solver refused" not in str(example())


def test_the_table_shows_figures_operators_and_what_was_applied() -> None:
    lines = {line.split("  ")[0].strip(): line for line in str(example()).splitlines()}
    assert lines["run-time nodes"].split()[-4:] == ["100", "75", "-25.0", "%"]
    assert lines["cost"].split()[1:3] == ["1,234.50", "987.25"]
    assert lines["Transpose"].split() == ["Transpose", "8", "1", "-7"]
    assert ["transpose", "compose", "1,000", "12"] in [line.split() for line in str(example()).splitlines()]
    assert lines["transpose"].split() == ["transpose", "321", "1,003", "0.25"]
    assert "reshape" not in lines
    assert "warning: something [bold]odd[/bold]" in lines


def test_text_has_no_colours_even_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b" not in str(example())


def test_notebooks_show_the_same_table() -> None:
    html = example()._repr_html_()
    assert html.startswith("<pre>") and "run-time nodes" in html and "something [bold]odd[/bold]" in html


def test_hints_have_room_on_the_first_screen_and_a_long_one_hides_no_short_one() -> None:
    laws = [
        RewriteReport("transpose", f"law_{k}", matches=9, used=9, saved=40.0 - k, formula="x = y")
        for k in range(6)
    ]
    long, short = "sizes " * 100, "--opset 23 has an operator for it"
    lines = first_screen(example(rewrites=tuple(laws), hints=("two lines, " * 9, long, short)), "to out.onnx")
    assert len(lines) <= 10
    assert f"hint: {short}" in lines
    assert any(line.startswith("hint: two lines, two") for line in lines)
    assert lines[-1] == "-v prints the whole report, with 1 more remark"
    assert sum("transpose.law_" in line for line in lines) >= 2
    alone = first_screen(example(rewrites=tuple(laws), warnings=(), hints=()), "to out.onnx")
    assert sum("transpose.law_" in line for line in alone) == 5


def test_a_fallback_gives_its_reason() -> None:
    text = str(example(status="fallback", reason="output 'y' differs by 3"))
    assert text.startswith("fallback: output 'y' differs by 3")


def model_of(*nodes: NodeProto, ir_version: int = 10, weight_is_input: bool = False) -> ModelProto:
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])]
    inputs.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    if weight_is_input:
        inputs.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [3]))
    graph = helper.make_graph(
        list(nodes),
        "g",
        inputs,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.ones(3, np.float32), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=ir_version)


CONSTANT = helper.make_node("Constant", [], ["k"], value=numpy_helper.from_array(np.ones(3, np.float32)))
FOLDABLE = helper.make_node("Mul", ["w", "k"], ["wk"])
ADD = helper.make_node("Add", ["x", "wk"], ["y"])


def test_constant_subgraphs_are_in_the_file_but_do_not_run() -> None:
    counted = nodes_of(model_of(CONSTANT, FOLDABLE, ADD))
    assert (counted.file, counted.runtime, counted.operators) == (2, 1, {"Add": 1})


def test_a_default_that_a_caller_may_override_runs() -> None:
    nodes = (CONSTANT, FOLDABLE, ADD)
    assert nodes_of(model_of(*nodes, weight_is_input=True)).runtime == 2
    assert nodes_of(model_of(*nodes, weight_is_input=True, ir_version=3)).runtime == 1


def test_random_operators_run_and_so_does_what_depends_on_them() -> None:
    random = helper.make_node("RandomNormal", [], ["r"], shape=[3])
    add = helper.make_node("Add", ["r", "w"], ["s"])
    assert nodes_of(model_of(random, add, helper.make_node("Add", ["x", "s"], ["y"]))).runtime == 3


def test_all_nodes_of_bodies_run_but_for_constants() -> None:
    inner = helper.make_node("Add", ["w", "j"], ["t"])
    constant = helper.make_node("Constant", [], ["j"], value_float=1.0)
    out = helper.make_tensor_value_info("t", TensorProto.FLOAT, None)
    body = helper.make_graph([constant, inner], "b", [], [out])
    branch = helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)
    counted = nodes_of(model_of(branch))
    assert (counted.file, counted.runtime) == (3, 3)
    assert counted.operators == {"Add": 2, "If": 1}


def test_a_node_whose_body_captures_an_input_runs() -> None:
    out = helper.make_tensor_value_info("t", TensorProto.FLOAT, None)
    body = helper.make_graph([helper.make_node("Relu", ["x"], ["t"])], "b", [], [out])
    condition = helper.make_node("Constant", [], ["always"], value=numpy_helper.from_array(np.array(True)))
    branch = helper.make_node("If", ["always"], ["y"], then_branch=body, else_branch=body)
    assert nodes_of(model_of(condition, branch)).operators == {"If": 1, "Relu": 2}


def test_sparse_constants_are_constants() -> None:
    values = helper.make_tensor("v", TensorProto.FLOAT, [1], [5.0])
    indices = helper.make_tensor("i", TensorProto.INT64, [1], [1])
    sparse = helper.make_sparse_tensor(values, indices, [3])
    constant = helper.make_node("Constant", [], ["k"], sparse_value=sparse)
    model = model_of(constant, FOLDABLE, ADD)
    before = model.SerializeToString()
    assert nodes_of(model).runtime == 1
    assert model.SerializeToString() == before


def test_operators_are_listed_by_frequency_with_new_ones_last() -> None:
    relu = helper.make_node("Relu", ["x"], ["a"])
    neg = helper.make_node("Neg", ["a"], ["b"])
    before = nodes_of(model_of(relu, neg, helper.make_node("Neg", ["b"], ["y"])))
    after = nodes_of(model_of(helper.make_node("Abs", ["x"], ["y"])))
    counts = operators_between(before, after)
    assert list(counts) == ["Neg", "Relu", "Abs"]
    assert counts["Abs"] == OperatorCount(0, 1)


TWO_LAYOUTS = """
    <ir_version: 8, opset_import: ["": 17]>
    g (float[2,3,4] x, bool c) => (float[2,4,3] y, float[4,3,2] w) {
        a = Transpose<perm=[0,2,1]>(x)
        b = Relu(a)
        d = Sigmoid(x)
        e = Transpose<perm=[0,2,1]>(d)
        y = Add(b, e)
        f = Transpose<perm=[2,1,0]>(x)
        h = Exp(f)
        i = Transpose<perm=[2,1,0]>(d)
        w = Mul(h, i)
    }
"""


def test_pieces_that_are_not_proved_are_named() -> None:
    model = parser.parse_model(TWO_LAYOUTS)
    searched = optimize(model, "nodes").report
    assert (searched.cost.after, searched.cost.gap, searched.cost.pieces, searched.cost.open) == (7, 0, 1, ())
    report = optimize(model, "nodes", extractor="greedy-dag").report
    (piece,) = report.cost.open
    assert set(piece.tensors) == {"y", "w"}
    assert piece.lower_bound < piece.cost <= report.cost.after
    assert report.cost.gap > 0
    lines = {line.split("  ")[0].strip(): line for line in str(report).splitlines()}
    assert "of 1; the largest gap is at y, w" in lines["open pieces"]


def test_the_gap_of_a_body_is_one_of_the_whole() -> None:
    inner = parser.parse_model(TWO_LAYOUTS).graph
    del inner.input[:]
    other = parser.parse_graph(
        "h () => (float[2,4,3] p, float[4,3,2] q) { p = Identity(m)\n q = Identity(k) }"
    )
    values = [("m", (2, 4, 3)), ("k", (4, 3, 2)), ("x", (2, 3, 4))]
    graph = helper.make_graph(
        [helper.make_node("If", ["c"], ["s", "t"], then_branch=inner, else_branch=other)],
        "g",
        [
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            *(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in values),
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("s", "t")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    assert optimize(model, "nodes").report.cost.gap == 0
    cost = optimize(model, "nodes", extractor="greedy-dag").report.cost
    assert cost.gap > 0
    assert cost.lower_bound < cost.after
    assert [set(piece.tensors) for piece in cost.open] == [{"y", "w"}]
