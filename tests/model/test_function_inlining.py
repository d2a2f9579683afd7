"""Calls of a model's own functions are written out, unless a runtime may know them, or by opset."""

from __future__ import annotations

from collections import Counter

import onnx
import pytest
from onnx import ModelProto, helper, parser

from egraph_opt import Result, optimize
from egraph_opt.model import function_inlining
from egraph_opt.model.reading import read_model

LOCAL = '<ir_version: 8, opset_import: ["": 17, "local": 1]>'
TWICE = """<opset_import: ["": 17], domain: "local"> twice <k>(v) => (w) {
    f = Constant<value_float: float = @k>() w = Mul(v, f) }"""


def parsed(text: str, domains: str = LOCAL) -> ModelProto:
    return parser.parse_model(domains + text)


def optimized(model: ModelProto) -> Result:
    result = optimize(model, "nodes", strict=True)
    assert result.report.verification.status == "passed"
    return result


def operators(model: ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def test_laws_look_into_functions_and_functions_of_functions() -> None:
    model = parsed(
        """g (float[2] x) => (float[2] y) {
            a = local.twice<k = 3.0>(x) b = local.twice<k = 3.0>(x) c = Add(a, b) y = local.other(c) }"""
        + TWICE
        + """<opset_import: ["": 17, "local": 1], domain: "local"> other (v) => (w) {
            u = local.twice<k = 2.0>(v) w = Neg(u) }"""
    )
    result = optimized(model)
    assert operators(result.model) == ["Mul"] and not result.model.functions
    assert (result.report.nodes.runtime_before, result.report.nodes.runtime_after) == (5, 1)


def test_calls_in_bodies_are_written_out_where_names_meet() -> None:
    """The function's own names are those of the graph and of the body."""
    model = parsed(
        """g (bool c, float[2] v, float[2] w) => (float[2] y) {
            f = Sub(v, w)
            y = If (c) <then_branch = t () => (float[2] r) { u = local.twice<k = 5.0>(f) r = Relu(u) },
                        else_branch = e () => (float[2] s) { u = Neg(f) s = local.twice<k = 7.0>(u) }> }"""
        + TWICE
    )
    result = optimized(model)
    bodies = {a.name: {node.op_type for node in a.g.node} for a in result.model.graph.node[-1].attribute}
    assert bodies["then_branch"] == {"Constant", "Mul", "Relu"} and bodies["else_branch"] == {"Mul"}


SCALED = """<opset_import: ["": 17], domain: "local"> scaled <slope: float = 0.25>(a) => (r) {
    r = LeakyRelu<alpha: float = @slope>(a) }"""


@pytest.mark.parametrize(("call", "slope"), [("scaled", 0.25), ("scaled<slope = 0.5>", 0.5)])
def test_attributes_are_those_of_the_call_or_the_function_s(call: str, slope: float) -> None:
    result = optimized(parsed(f"g (float[3] x) => (float[3] y) {{ y = local.{call}(x) }}" + SCALED))
    (node,) = result.model.graph.node
    assert (node.op_type, node.attribute[0].f) == ("LeakyRelu", slope)


def test_operands_that_a_call_leaves_out_are_left_out() -> None:
    model = parsed(
        """g (float[3] x, float c) => (float[3] y, float[3] z) {
            y = local.bounded(x, c) z = local.bounded(x) }
        <opset_import: ["": 17], domain: "local"> bounded (a, low) => (r) { r = Clip(a, low) }"""
    )
    result = optimized(model)
    assert [[*node.input] for node in result.model.graph.node] == [["x", "c"], ["x"]]
    assert [node.op_type for node in result.model.graph.node] == ["Clip", "Identity"], "no bound is left"


def test_functions_of_another_opset_stay_and_so_do_those_that_runtimes_may_know() -> None:
    model = parsed(
        """g (float[2] x) => (float[2] y) { a = local.old(x) b = com.microsoft.Gelu(a) y = local.new(b) }
        <opset_import: ["": 12], domain: "local"> old (v) => (w) { w = Neg(v) }
        <opset_import: ["": 17], domain: "local"> new (v) => (w) { w = Neg(v) }
        <opset_import: ["": 17], domain: "com.microsoft"> Gelu (v) => (w) { w = Relu(v) }""",
        '<ir_version: 8, opset_import: ["": 17, "local": 1, "com.microsoft": 1]>',
    )
    loaded = read_model(model).model
    assert [node.op_type for node in loaded.graph] == ["old", "Gelu", "Neg"]
    assert [name for _, name, _ in loaded.functions] == ["old", "Gelu"]


def test_calls_that_come_to_too_much_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "g (float[2] x) => (float[2] y) { a = local.twice<k = 3.0>(x) y = local.twice<k = 2.0>(a) }" + TWICE
    )
    monkeypatch.setattr(function_inlining, "MOST_NODES", 3)
    assert operators(optimized(parsed(text)).model) == ["twice", "twice"]
    monkeypatch.setattr(function_inlining, "MOST_NODES", 4)
    assert operators(optimized(parsed(text)).model) == ["Mul"]


def test_what_the_inliner_refuses_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(model: ModelProto) -> ModelProto:
        raise RuntimeError("as C++ does")

    monkeypatch.setattr(function_inlining, "inline_local_functions", refuses)
    text = "g (float[2] x) => (float[2] y) { y = local.twice<k = 3.0>(x) }" + TWICE
    assert operators(optimized(parsed(text)).model) == ["twice"]


def test_functions_that_hand_on_an_operand_stay_with_what_they_call() -> None:
    model = parsed(
        """g (float[2] x) => (float[2] y, float[2] z) { a, y = local.hands_on(x) z = local.twice<k = 3.0>(x) }
        <opset_import: ["": 17, "local": 1], domain: "local"> hands_on (v) => (v, w) {
            w = local.twice<k = 2.0>(v) }"""
        + TWICE
    )
    loaded = read_model(model).model
    assert [node.op_type for node in loaded.graph] == ["hands_on", "Constant", "Mul"]
    assert [name for _, name, _ in loaded.functions] == ["hands_on", "twice"]


def test_many_calls_are_written_out() -> None:
    count = 5_000
    calls = [helper.make_node("twice", [f"x{k}"], [f"x{k + 1}"], domain="local", k=2.0) for k in range(count)]
    model = parsed("g (float[2] x0) => (float[2] y) { y = local.twice<k = 3.0>(x0) }" + TWICE)
    del model.graph.node[:]
    model.graph.node.extend(calls)
    model.graph.output[0].name = f"x{count}"
    assert Counter(node.op_type for node in read_model(model).model.graph) == {
        "Constant": count,
        "Mul": count,
    }


def test_functions_that_draw_draw_for_every_call() -> None:
    body = [helper.make_node("RandomUniformLike", ["v"], ["r"]), helper.make_node("Add", ["v", "r"], ["w"])]
    model = parsed("g (float[2] x) => (float[2] y, float[2] z) { y = local.draws(x) z = local.draws(x) }")
    model.functions.append(
        helper.make_function("local", "draws", ["v"], ["w"], body, [onnx.helper.make_opsetid("", 17)])
    )
    result = optimize(model, "nodes")
    assert sorted(operators(result.model)) == ["Add", "Add", "RandomUniformLike", "RandomUniformLike"]
