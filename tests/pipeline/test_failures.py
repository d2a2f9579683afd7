"""What goes wrong inside, or would take too much: the model comes back, with the reason."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper, parser

from egraph_opt import optimize
from egraph_opt.errors import EgraphOptError, EngineError, ExtractionError, InternalError
from egraph_opt.facts.fact import Fact
from egraph_opt.graph.work import FoldingBudget, operations
from egraph_opt.pipeline import saturating
from egraph_opt.verification import verify
from egraph_opt.verification.budget import RunBudget, RunNeeds
from egraph_opt.verification.execution import OutOfMemoryError, Session, load


def text(content: str, *initializers: TensorProto, opset: int = 17) -> ModelProto:
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> g {content}')
    model.graph.initializer.extend(initializers)
    return model


TWICE = "(float[N, 3] x) => (float[N, 3] y) { n = Neg (x) y = Neg (n) }"


def numbers(name: str, *values: int) -> TensorProto:
    return numpy_helper.from_array(np.array(values, np.int64), name)


def fail_inside(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*arguments: object, **named: object) -> None:
        raise error

    monkeypatch.setattr(saturating, "region_of", fail)


def test_a_mistake_of_ours_hands_the_model_on(monkeypatch: pytest.MonkeyPatch) -> None:
    fail_inside(monkeypatch, KeyError("a mistake"))
    model = text(TWICE)
    result = optimize(model, "nodes")
    assert result.model == model and result.report.status == "unchanged"
    assert "an internal error" in result.report.reason and "KeyError" in result.report.reason
    with pytest.raises(InternalError, match="<ModelProto>: an internal error"):
        optimize(model, "nodes", strict=True)


@pytest.mark.parametrize("kind", [EngineError, ExtractionError])
def test_a_failure_of_a_part_hands_the_model_on(
    kind: type[EgraphOptError], monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_inside(monkeypatch, kind("a part failed"))
    model = text(TWICE)
    result = optimize(model, "nodes")
    assert result.model == model and result.report.reason == "a part failed"
    with pytest.raises(kind):
        optimize(model, "nodes", strict=True)


def test_a_node_that_only_onnxruntime_takes_is_kept() -> None:
    """ONNX's inference refuses to join ranks 1 and 2; onnxruntime leaves the empty vector out."""
    content = """(float[0] e, float[3, 2] x) => (float[3, 2] y) {
        c = Concat <axis = 0> (e, x) n = Neg (c) y = Neg (n) }"""
    result = optimize(text(content), "nodes")
    assert [node.op_type for node in result.model.graph.node] == ["Concat"]
    assert any("contradict" in warning for warning in result.report.warnings)


@pytest.mark.parametrize("known", [True, False])
def test_an_if_whose_branches_have_more_outputs_stays(known: bool) -> None:
    condition = "yes" if known else "c"
    content = f"""(float[2] x, bool c) => (float[2] y) {{
        a = If ({condition}) < then_branch = t () => (float[2] p, float[2] q) {{ p = Neg (x) q = Abs (x) }},
            else_branch = e () => (float[2] r, float[2] s) {{ r = Relu (x) s = Abs (x) }}>
        n = Neg (a) y = Neg (n) }}"""
    result = optimize(text(content, numpy_helper.from_array(np.array(True), "yes")), "nodes")
    assert result.report.status == "optimized"
    assert [node.op_type for node in result.model.graph.node] == ["If"]


@pytest.mark.parametrize(
    ("op_type", "shapes", "made", "work"),
    [
        ("MatMul", [(8, 4), (4, 16)], (8, 16), 8 * 4 * 16),
        ("Gemm", [(4, 8), (4, 16)], (8, 16), 8 * 16 * 4),
        ("Conv", [(1, 3, 9, 9), (5, 3, 3, 3)], (1, 5, 7, 7), 5 * 49 * 27),
        ("Add", [(2, 3), (3,)], (2, 3), 0),
    ],
)
def test_work_is_known_from_shapes(
    op_type: str, shapes: list[tuple[int, ...]], made: tuple[int, ...], work: int
) -> None:
    attributes = {"transA": 1} if op_type == "Gemm" else {}
    operands = [Fact(1, shape) for shape in shapes]
    around = sum(int(np.prod(shape)) for shape in (*shapes, made))
    assert operations(op_type, attributes, operands, [Fact(1, made)]) == work + around


def test_a_budget_is_used_up() -> None:
    square = Fact(1, (512, 512))
    budget = FoldingBudget(left=4e8)
    assert [bool(budget.takes("MatMul", {}, [square, square], [square])) for _ in range(4)] == [False] * 2 + [
        True
    ] * 2
    large = Fact(1, (2**40,))
    assert "bytes" in FoldingBudget().takes("Add", {}, [replace(large, splat=1.0), square], [large])
    assert "bytes" in FoldingBudget(memory=1e6).takes("Add", {}, [square, square], [square])
    held = FoldingBudget(left=math.inf)
    assert not held.takes("Neg", {}, [large], [large])  # no larger than what the model holds
    assert "operations" in FoldingBudget().takes(
        "MatMul", {}, [Fact(1, (2000, 2000))] * 2, [Fact(1, (2000, 2000))]
    )


def test_what_is_too_much_to_fold_is_told() -> None:
    nodes = [
        helper.make_node("MatMul", ["w", "w"], ["a"], name="product"),
        helper.make_node("Add", ["x", "a"], ["y"]),
    ]
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1100, 1100]) for name in "xy"]
    weight = numpy_helper.from_array(np.eye(1100, dtype=np.float32) / 2, "w")
    graph = helper.make_graph(nodes, "g", info[:1], info[1:], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    result = optimize(model, "nodes", verify=False)
    assert any(
        "'product' (MatMul)" in warning and "operations" in warning for warning in result.report.warnings
    )
    assert [node.op_type for node in result.model.graph.node] == ["MatMul", "Add"]


def test_sizes_that_take_too_much_are_not_run() -> None:
    model = text(TWICE)
    small = RunBudget(lambda sizes: RunNeeds(1e3 * sizes["N"]), bytes=3e3)
    assert verify(model, model, budget=small).status == "passed"
    none = verify(model, model, budget=RunBudget(lambda sizes: RunNeeds(1e9), bytes=3e3))
    assert none.status == "not_comparable" and "a run takes 1e+09 bytes" in none.detail
    fixed = text("(float[1000, 1000] x) => (float[1000, 1000] y) { y = Neg (x) }")
    told = verify(fixed, fixed, budget=RunBudget(bytes=1e6))
    assert told.status == "not_comparable" and "a run takes 8e+06 bytes" in told.detail


def test_memory_that_runs_out_is_no_difference() -> None:
    model = text("() => (float[N] y) { y = ConstantOfShape (s) }", numbers("s", 10**14))
    with pytest.raises(OutOfMemoryError):
        Session(load(model)).run({})
    assert verify(model, model).status == "not_comparable"
