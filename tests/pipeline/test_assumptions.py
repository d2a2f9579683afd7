"""What a user says of inputs and dims: it reaches inference, pricing and verification, and is saved."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from typer.testing import CliRunner

from egraph_opt import optimize, saturate
from egraph_opt.cli import app
from egraph_opt.errors import AssumptionError
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
    assert loaded.assume == saturated.assume == {"ids": (0, 99, 1), "N": (1, 8, 1)}
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


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"nobody": (0, 3)}, "no input or dim has this name"),
        ({"idss": (0, 3)}, "did you mean 'ids'"),
        ({"N": (5, 3)}, "no number is"),
        ({"N": (0.5, 0.7)}, "a dim is a whole number"),
        ({"N": 1.5}, "a dim is a whole number"),
        ({"N": (-3, -1)}, "a dim is a whole number"),
        ({"N": float("inf")}, "a dim is a whole number"),
        ({"N": "banana"}, "32\\*"),
        ({"N": "32*..100*"}, "32\\*"),
        ({"N": True}, "says nothing"),
        ({"N": (1, 2, 3)}, "says nothing"),
        ({"N": float("nan")}, "says nothing"),
        ({"ids": "4*"}, "dims are"),
    ],
)
def test_what_says_nothing_of_the_model_is_an_error(model: onnx.ModelProto, said, why: str) -> None:
    for use in (optimize, saturate):
        with pytest.raises(AssumptionError, match=why):
            use(model, assume=said)
    with pytest.raises(AssumptionError, match=why):
        saturate(model).extract("nodes", assume=said)


def cut() -> onnx.ModelProto:
    """An image without the rows and columns beyond the last whole block of 4 x 4."""
    return onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[N, 3, H, W] x) => (float[N, 3, A, B] y)
        <int64[2] zero = {0, 0}, int64[2] four = {4, 4}, int64[2] axes = {2, 3}> {
            s = Shape <start = 2> (x) blocks = Div (s, four) whole = Mul (blocks, four)
            part = Slice (x, zero, whole, axes) y = Tanh (part)
        }""")


def test_a_dim_that_is_a_multiple_is_divided(tmp_path: Path) -> None:
    """Of such an image nothing is cut off."""
    saturated = saturate(cut(), assume={"H": "32*", "W": "32*..640*"})
    for each in (saturated, Saturated.load(saturated.save(tmp_path / "s.npz"))):
        result = each.extract("nodes", strict=True)
        assert operators(result.model) == ["Tanh"]
        assert result.report.verification.status == "passed"
        assert result.report.cost.points == {"H": 128, "N": 1, "W": 128}
    assert saturated.extract("nodes", assume={"W": 96}).report.cost.points["W"] == 96
    assert len(operators(optimize(cut(), "nodes", strict=True).model)) > 1


def test_the_command_line_has_multiples(tmp_path: Path) -> None:
    source, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    onnx.save(cut(), source)
    arguments = [
        "optimize",
        str(source),
        str(target),
        "--cost",
        "nodes",
        "--assume",
        "H=32*",
        "--assume",
        "W=4*..64*",
    ]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert operators(onnx.load(target)) == ["Tanh"]
    done = CliRunner().invoke(app, [*arguments[:-1], "W=banana"])
    assert done.exit_code == 2 and "32*" in done.output
    done = CliRunner().invoke(app, [*arguments[:-1], "Width=32*"])
    assert done.exit_code == 2 and "no input or dim has this name" in " ".join(done.output.split())
