"""Equal nodes with bodies are one; bodies that capture other values stay apart, under names of their own."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from egraph_opt import optimize

FLOAT = TensorProto.FLOAT


def branch(tag: str, operator: str, captured: str, constant: float) -> onnx.GraphProto:
    """captured * constant, then an operator; every name carries the tag."""
    return helper.make_graph(
        [
            helper.make_node("Mul", [captured, f"k_{tag}"], [f"m_{tag}"], name=f"mul_{tag}"),
            helper.make_node(operator, [f"m_{tag}"], [f"r_{tag}"], name=f"op_{tag}"),
        ],
        f"branch_{tag}",
        [],
        [helper.make_tensor_value_info(f"r_{tag}", FLOAT, [None, 4])],
        [numpy_helper.from_array(np.array([constant], np.float32), f"k_{tag}")],
    )


def choice(
    tag: str, condition: str, captured: str, *, other: str = "Abs", constant: float = 2.0
) -> onnx.NodeProto:
    return helper.make_node(
        "If",
        [condition],
        [f"y_{tag}"],
        name=f"if_{tag}",
        then_branch=branch(f"{tag}t", "Relu", captured, constant),
        else_branch=branch(f"{tag}e", other, captured, constant),
    )


def model(*nodes: onnx.NodeProto) -> onnx.ModelProto:
    """x [N, 4] and z [N, 4] and two conditions, the sum of all y."""
    outputs = [node.output[0] for node in nodes if node.op_type == "If"]
    graph = helper.make_graph(
        [*nodes, helper.make_node("Sum", outputs, ["y"])],
        "g",
        [
            helper.make_tensor_value_info("x", FLOAT, ["N", 4]),
            helper.make_tensor_value_info("z", FLOAT, ["N", 4]),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("d", TensorProto.BOOL, []),
        ],
        [helper.make_tensor_value_info("y", FLOAT, ["N", 4])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def ifs(made: onnx.ModelProto) -> int:
    result = optimize(made, cost="nodes", strict=True)
    assert result.report.verification.status == "passed"
    onnx.checker.check_model(result.model, full_check=True)
    return sum(node.op_type == "If" for node in result.model.graph.node)


def test_equal_ifs_are_one() -> None:
    assert ifs(model(choice("a", "c", "x"), choice("b", "c", "x"))) == 1


def test_ifs_whose_captured_values_turn_out_equal_are_one() -> None:
    doubled = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]),
        helper.make_node("Transpose", ["t"], ["x2"], perm=[1, 0]),
    ]
    assert ifs(model(*doubled, choice("a", "c", "x"), choice("b", "c", "x2"))) == 1


def test_equal_bodies_on_other_captured_values_are_written_twice() -> None:
    assert ifs(model(choice("a", "c", "x"), choice("b", "c", "z"))) == 2


@pytest.mark.parametrize(
    "other",
    [choice("b", "d", "x"), choice("b", "c", "x", other="Neg"), choice("b", "c", "x", constant=3.0)],
    ids=["another condition", "another operator", "another constant"],
)
def test_ifs_that_differ_stay(other: onnx.NodeProto) -> None:
    assert ifs(model(choice("a", "c", "x"), other)) == 2


def test_an_if_of_equal_branches_is_its_branch() -> None:
    assert ifs(model(choice("a", "c", "x", other="Relu"))) == 0


def test_equal_loops_are_one() -> None:
    def loop(tag: str, captured: str) -> onnx.NodeProto:
        body = helper.make_graph(
            [
                helper.make_node("Identity", [f"c_{tag}"], [f"o_{tag}"]),
                helper.make_node("Add", [f"s_{tag}", captured], [f"n_{tag}"]),
            ],
            f"body_{tag}",
            [
                helper.make_tensor_value_info(f"i_{tag}", TensorProto.INT64, []),
                helper.make_tensor_value_info(f"c_{tag}", TensorProto.BOOL, []),
                helper.make_tensor_value_info(f"s_{tag}", FLOAT, [None, 4]),
            ],
            [
                helper.make_tensor_value_info(f"o_{tag}", TensorProto.BOOL, []),
                helper.make_tensor_value_info(f"n_{tag}", FLOAT, [None, 4]),
            ],
        )
        return helper.make_node("Loop", ["three", "", "x"], [f"y_{tag}"], body=body)

    def loops(*captured: str) -> int:
        made = model(choice("a", "c", "x"), *(loop(f"l{k}", value) for k, value in enumerate(captured)))
        made.graph.initializer.append(numpy_helper.from_array(np.array(3), "three"))
        made.graph.node[-1].input.extend(f"y_l{k}" for k in range(len(captured)))
        result = optimize(made, cost="nodes", strict=True)
        assert result.report.verification.status == "passed"
        return sum(node.op_type == "Loop" for node in result.model.graph.node)

    assert loops("x", "x") == 1
    assert loops("x", "z") == 2
