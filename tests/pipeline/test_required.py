"""Laws that are named with a plus are applied wherever they match, whatever that costs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import parser

from egraph_opt import optimize, saturate
from egraph_opt.errors import EgraphOptError, ExactnessError, UnknownRulesetError

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'
RESIZE = """r = Relu (x) y = Resize <mode = "{mode}"> (r, , s) z = Sigmoid (y)"""


def _model(mode: str = "cubic", body: str = RESIZE) -> onnx.ModelProto:
    return parser.parse_model(
        f"""{HEAD} g (float[N, 3, 6, 5] x) => (float[N, 3, 12, 10] z)
        <float[4] s = {{1.0, 1.0, 2.0, 2.0}}> {{ {body.format(mode=mode)} }}"""
    )


def _modes(graph: onnx.GraphProto) -> list[str]:
    found: list[str] = []
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Resize" and attribute.name == "mode":
                found.append(attribute.s.decode())
            found += _modes(attribute.g) if attribute.HasField("g") else []
    return found


@pytest.mark.parametrize("cost", ["nodes", "ascend"])
@pytest.mark.parametrize(("before", "law", "after"), [
    ("linear", "resize_to_nearest", "nearest"),
    ("cubic", "resize_to_nearest", "nearest"),
    ("cubic", "resize_to_linear", "linear"),
    ("linear", "resize_to_linear", "linear"),
    ("nearest", "resize_to_nearest", "nearest"),
])  # fmt: skip
def test_the_mode_that_is_asked_for(before: str, law: str, after: str, cost: str) -> None:
    result = optimize(_model(before), cost, rewrites=["default", f"+approximate.{law}"], strict=True)
    assert _modes(result.model.graph) == [after]
    assert result.report.verification.status == ("passed" if before == after else "approximate")
    used = {row.name: row.used for row in result.report.rewrites if row.ruleset == "approximate"}
    assert used == ({} if before == after else {law: 1})
    if before != after:
        assert result.report.status == "optimized"
        assert any("values differ" in warning for warning in result.report.warnings)


def test_without_a_plus_it_is_a_matter_of_cost() -> None:
    result = optimize(_model("linear"), "nodes", rewrites=["default", "approximate"])
    assert _modes(result.model.graph) == ["linear"]


def test_all_laws_of_a_ruleset_are_applied_until_none_matches() -> None:
    result = optimize(_model("cubic"), "nodes", rewrites=["default", "+approximate"], strict=True)
    assert _modes(result.model.graph) == ["nearest"]


def test_the_cost_before_is_that_of_the_model_as_it_came() -> None:
    plain = optimize(_model("cubic"), "ascend")
    asked = optimize(_model("cubic"), "ascend", rewrites=["default", "+approximate.resize_to_nearest"])
    assert asked.report.cost.before == pytest.approx(plain.report.cost.before, rel=1e-6)
    assert asked.report.cost.after < plain.report.cost.after


def test_bodies_are_looked_into() -> None:
    body = """
        c = Constant <value = float {0.5}> ()
        m = ReduceMax <keepdims = 0> (x)
        d = Less (m, c)
        z = If (d) <
            then_branch = t () => (float[N, 3, 12, 10] p) { p = Resize <mode = "cubic"> (x, , s) },
            else_branch = e () => (float[N, 3, 12, 10] q) {
                h = Resize <mode = "linear"> (x, , s)
                q = Neg (h)
            }
        >"""
    model = parser.parse_model(
        f"""{HEAD} g (float[N, 3, 6, 5] x) => (float[N, 3, 12, 10] z)
        <float[4] s = {{1.0, 1.0, 2.0, 2.0}}> {{ {body} }}"""
    )
    result = optimize(model, "nodes", rewrites=["default", "+approximate.resize_to_nearest"], strict=True)
    assert _modes(result.model.graph) == ["nearest"]  # of both branches, in front of them
    assert result.report.verification.status == "approximate"


def test_float64_is_computed_in_float32_where_it_costs_more() -> None:
    model = parser.parse_model(
        f"{HEAD} g (double[N, 4] x, double[N, 4] y) => (double[N, 4] z) {{ z = Mul (x, y) }}"
    )
    result = optimize(model, "nodes", rewrites=["default", "+approximate.double_in_float"], strict=True)
    types = {value.name: value.type.tensor_type.elem_type for value in result.model.graph.value_info}
    assert [node.op_type for node in result.model.graph.node].count("Cast") == 3
    assert onnx.TensorProto.FLOAT in types.values() or not types


def test_again_nothing_changes() -> None:
    rewrites = ["default", "+approximate.resize_to_nearest"]
    once = optimize(_model(), "ascend", rewrites=rewrites)
    assert optimize(once.model, "ascend", rewrites=rewrites).report.status == "unchanged"


def test_laws_that_keep_values_are_a_matter_of_cost_alone() -> None:
    with pytest.raises(ExactnessError, match=r"\+slice: has laws that keep values"):
        optimize(_model(), "nodes", rewrites=["default", "+slice"])


def test_a_name_that_there_is_not() -> None:
    with pytest.raises(UnknownRulesetError, match="aproximate"):
        optimize(_model(), "nodes", rewrites=["default", "+aproximate"])


def test_what_is_left_out_is_not_required() -> None:
    rewrites = ["default", "+approximate", "-approximate.resize_to_nearest", "-approximate.resize_to_linear"]
    assert _modes(optimize(_model(), "nodes", rewrites=rewrites).model.graph) == ["cubic"]


def test_what_was_required_is_in_no_file(tmp_path: Path) -> None:
    saturated = saturate(_model(), rewrites=["default", "+approximate.resize_to_nearest"])
    assert _modes(saturated.extract("nodes").model.graph) == ["nearest"]
    with pytest.raises(EgraphOptError, match="laws were required of it"):
        saturated.save(tmp_path / "saturated.npz")


def test_values_are_those_of_the_nearest() -> None:
    result = optimize(_model("linear"), "nodes", rewrites=["default", "+approximate.resize_to_nearest"])
    x = np.random.default_rng(0).standard_normal((1, 3, 6, 5)).astype(np.float32)
    (given,) = ort.InferenceSession(result.model.SerializeToString()).run(None, {"x": x})
    wanted = 1 / (1 + np.exp(-np.maximum(x, 0).repeat(2, axis=2).repeat(2, axis=3)))
    np.testing.assert_allclose(given, wanted, rtol=1e-5)
