"""Where memory runs out, models are compared piece by piece, or it is said that they were not compared."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from egraph_opt import Limits, optimize
from egraph_opt.errors import LimitsError
from egraph_opt.graph import process_memory
from egraph_opt.verification import verify
from egraph_opt.verification.budget import RunBudget, RunNeeds
from egraph_opt.verification.pieces import cuts_between

WIDTH = 512
WEIGHT = 4 * WIDTH * WIDTH


def layers(count: int, *, turned: bool = False, wrong_at: int | None = None) -> onnx.ModelProto:
    """Products with a sum over every layer; `turned` with transposes that cancel."""
    random = np.random.default_rng(0)
    nodes, weights, x = [], [], "x"
    for k in range(count):
        weight = random.normal(0, WIDTH**-0.5, (WIDTH, WIDTH)).astype(np.float32)
        if k == wrong_at:
            weight[3, 4] += 1
        weights.append(numpy_helper.from_array(weight, f"w{k}"))
        nodes.append(helper.make_node("MatMul", [x, f"w{k}"], [f"product{k}"]))
        nodes.append(helper.make_node("Tanh", [f"product{k}"], [f"tanh{k}"]))
        source = f"tanh{k}"
        if turned:
            nodes.append(helper.make_node("Transpose", [source], [f"turned{k}"], perm=[1, 0]))
            nodes.append(helper.make_node("Transpose", [f"turned{k}"], [f"back{k}"], perm=[1, 0]))
            source = f"back{k}"
        nodes.append(helper.make_node("Add", [source, x], [f"x{k}"]))
        x = f"x{k}"
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", WIDTH]) for name in ("x", x)]
    graph = helper.make_graph(nodes, "layers", ends[:1], ends[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def huge() -> onnx.ModelProto:
    """An output of 512 MB in one node."""
    nodes = [
        helper.make_node("Expand", ["x", "shape"], ["large"]),
        helper.make_node("Relu", ["large"], ["positive"]),
        helper.make_node("Relu", ["positive"], ["again"]),
        helper.make_node("ReduceSum", ["again"], ["y"], keepdims=0),
    ]
    ends = [helper.make_tensor_value_info(*entry) for entry in (("x", 1, [1]), ("y", 1, []))]
    shape = numpy_helper.from_array(np.array([2**27]), "shape")
    graph = helper.make_graph(nodes, "huge", ends[:1], ends[1:], [shape])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_models_too_large_for_memory_are_compared_piece_by_piece() -> None:
    found = verify(layers(12, turned=True), layers(12), budget=RunBudget(bytes=20 * WEIGHT))
    assert found.status == "passed", found.detail
    assert "pieces agree" in found.detail and "memory does not allow" in found.detail


def test_a_piece_that_differs_is_found() -> None:
    found = verify(layers(12, turned=True), layers(12, wrong_at=7), budget=RunBudget(bytes=20 * WEIGHT))
    assert found.status == "failed"
    assert "piece" in found.detail


def written(nodes: str, head: str = "float[8, 8] x, float[8, 8] z") -> onnx.ModelProto:
    text = f'<ir_version: 8, opset_import: ["" : 17]> g ({head}) => (float[8, 8] y) {{ {nodes} }}'
    return parser.parse_model(text)


LONG = "a = Mul (x, x) b = Sub (x, x) c = Add (b, z) t = Neg (c) y = Add (t, a)"
SHORT = "a = Mul (x, x) c = Identity (z) t = Neg (c) y = Add (t, a)"
OTHER_WAY = """a = Mul (x, x) c = Max (z, z) d = Sub (x, a) t = Neg (c)
    e = Add (d, a) f = Sub (e, x) g = Add (t, f) y = Add (g, a)"""


@pytest.mark.parametrize("models", list(itertools.permutations((LONG, SHORT, OTHER_WAY), 2)), ids=str)
def test_a_piece_may_read_inputs_that_only_one_of_the_models_has(models: tuple[str, str]) -> None:
    budget = RunBudget(lambda sizes: RunNeeds(bytes=1e12), bytes=1e9)
    before, after = map(written, models)
    found = verify(before, after, budget=budget)
    assert found.status == "passed" and "pieces agree" in found.detail, found.detail
    wrong = written(models[1].replace("t = Neg (c)", "t = Abs (c)"))
    assert verify(before, wrong, budget=budget).status == "failed"


OPEN = """int64[1] flat = {-1}> {
    r = Expand (x, s) t = Transpose <perm = [4, 3, 2, 1, 0]> (r)
    u = Neg (t) v = Neg (u) y = Reshape (v, flat) }"""
LOOP = """int64 most = {3}, bool go = {1}, int64[5] back = {1, 1, 1, 1, -1}, int64[1] flat = {-1}> {
    a = Expand (x, s)
    b = Loop (most, go, a) <body = body (int64 i, bool c, float[?, ?, ?, ?, ?] p)
        => (bool d, float[?, ?, ?, ?, ?] q) { d = Identity (c) m = Neg (p) n = Neg (m) q = Add (n, p) }>
    y = Reshape (b, flat) }"""


@pytest.mark.parametrize("body", [OPEN, LOOP])
def test_what_a_small_model_takes_is_seen_in_a_run(body: str) -> None:
    """Five dims that nobody knows, at 128 each, are 128 GiB."""
    head = '<ir_version: 8, opset_import: ["" : 17]> g (float[1] x, int64[5] s) => (float[A] y) <'
    verification = optimize(parser.parse_model(head + body), "nodes").report.verification
    assert verification.status == "passed" and "memory" not in verification.detail, verification.detail


def test_with_enough_memory_models_are_compared_whole() -> None:
    found = verify(layers(3, turned=True), layers(3), budget=RunBudget(bytes=1000 * WEIGHT))
    assert found.status == "passed" and "pieces" not in found.detail


def test_a_model_that_memory_does_not_allow_to_run_is_not_called_wrong() -> None:
    result = optimize(huge(), "nodes", limits=Limits(memory_bytes=2**28))
    assert result.report.status == "optimized"
    assert result.report.verification.status == "not_comparable"
    assert any("memory" in warning for warning in result.report.warnings)


def test_models_are_cut_where_the_optimized_one_has_what_crosses() -> None:
    whole, short = layers(3, turned=True).graph, layers(3).graph
    cuts = cuts_between(whole, short)
    shared = {name for node in short.node for name in node.output}
    assert all(cut.crossing <= shared for cut in cuts)
    assert {frozenset({f"x{k}"}) for k in range(3)} <= {cut.crossing for cut in cuts}
    assert not any("turned" in name for cut in cuts for name in cut.crossing)


def test_saturation_ends_where_memory_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this process has freed before, each measurement finds more in use."""
    used = itertools.count()
    monkeypatch.setattr(process_memory, "anonymous_bytes", lambda: next(used))
    result = optimize(layers(2, turned=True), "nodes", limits=Limits(memory_bytes=1), verify=False)
    assert result.report.saturation.stop == "memory"
    assert any("limit of memory ended saturation" in warning for warning in result.report.warnings)


def test_constants_that_take_too_much_memory_are_not_computed() -> None:
    large: Any = numpy_helper.from_array(np.arange(2**20, dtype=np.float32), "large")
    nodes = [
        helper.make_node("Neg", ["large"], ["negative"], name="negate"),
        helper.make_node("Add", ["x", "negative"], ["y"]),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2**20]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], [large])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    report = optimize(model, "nodes", limits=Limits(memory_bytes=2**22), verify=False).report
    assert any("node 'negate' (Neg)" in warning and "not computed" in warning for warning in report.warnings)


@pytest.mark.parametrize("wrong", [0, -1, "much", True, float("nan")])
def test_memory_has_to_be_a_positive_number(wrong: object) -> None:
    with pytest.raises(LimitsError, match="memory_bytes"):
        Limits(memory_bytes=wrong)  # type: ignore[arg-type]
