"""What a user says of inputs and dims: it reaches inference, pricing and verification, and is saved."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from typer.testing import CliRunner

from egraph_opt import optimize, saturate
from egraph_opt.cli import app
from egraph_opt.pipeline import Saturated

INT64 = TensorProto.INT64


@pytest.fixture
def model() -> onnx.ModelProto:
    """ids < 100 ? ids : 0, of which nothing is left where ids are known to be below 100."""
    x = helper.make_tensor_value_info("ids", INT64, ["N", 3])
    y = helper.make_tensor_value_info("y", INT64, None)
    constants = [numpy_helper.from_array(np.array(n), name) for n, name in ((100, "most"), (0, "zero"))]
    nodes = [
        helper.make_node("Less", ["ids", "most"], ["small"]),
        helper.make_node("Where", ["small", "ids", "zero"], ["chosen"]),
        helper.make_node("Neg", ["chosen"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "g", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def operators(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def test_what_is_assumed_of_an_input_decides_comparisons(model: onnx.ModelProto) -> None:
    assert operators(optimize(model, "nodes", assume={"ids": (0, 99)}, strict=True).model) == ["Neg"]
    assert len(operators(optimize(model, "nodes", assume={"ids": (0, 100)}, strict=True).model)) == 3
    assert len(operators(optimize(model, "nodes", strict=True).model)) == 3


def test_an_assumption_is_part_of_the_saturated_model(model: onnx.ModelProto, tmp_path: Path) -> None:
    saturated = saturate(model, assume={"ids": (0, 99), "N": (1, 8)})
    loaded = Saturated.load(saturated.save(tmp_path / "s.npz"))
    assert loaded.assume == saturated.assume == {"ids": (0, 99), "N": (1, 8)}
    for each in (saturated, loaded):
        result = each.extract("nodes", strict=True)
        assert operators(result.model) == ["Neg"]
        assert result.report.verification.status == "passed"


def test_a_wrong_assumption_is_the_users_own(model: onnx.ModelProto) -> None:
    """Verification feeds what was assumed; outside of it the result may be another."""
    result = optimize(model, "nodes", assume={"ids": (0, 99)})
    assert result.report.verification.status == "passed"


def test_a_single_value_leaves_the_input_an_input(model: onnx.ModelProto) -> None:
    result = optimize(model, "nodes", assume={"ids": 7, "N": 2}, strict=True)
    assert [value.name for value in result.model.graph.input] == ["ids"]
    assert result.report.verification.status == "passed"


def test_the_command_line_bounds_inputs(model: onnx.ModelProto, tmp_path: Path) -> None:
    source, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    onnx.save(model, source)
    arguments = ["optimize", str(source), str(target), "--cost", "nodes", "--assume", "ids=0..99"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert operators(onnx.load(target)) == ["Neg"]


def test_assumptions_about_what_the_model_does_not_have_change_nothing(model: onnx.ModelProto) -> None:
    plain = optimize(model, "nodes", strict=True)
    other = optimize(model, "nodes", assume={"nobody": (0, 3), "M": 4}, strict=True)
    assert operators(plain.model) == operators(other.model)


@pytest.mark.parametrize("ends", [(5, 3), (0.5, 0.7), (-3, -1)])
def test_assumptions_that_no_number_meets_are_not_used(model: onnx.ModelProto, ends) -> None:
    result = saturate(model, assume={"N": ends})
    assert result.region is not None
