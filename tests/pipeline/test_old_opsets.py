"""What is written for opsets that lack an operator, or a type of one, is what they have."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from egraph_opt import optimize


def model(opset: int, nodes: list[onnx.NodeProto], dtype: int, shape: list[int]) -> onnx.ModelProto:
    """x [2, 3] of a type and constants by Constant nodes, since the IR has no initializers beside inputs."""
    x = helper.make_tensor_value_info("x", dtype, [2, 3])
    graph = helper.make_graph(nodes, "old", [x], [helper.make_tensor_value_info("y", dtype, shape)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=3)


def constant(name: str, array: np.ndarray) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array, name))


def optimized(made: onnx.ModelProto) -> onnx.ModelProto:
    result = optimize(made, cost="nodes", strict=True)
    assert result.report.verification.status == "passed"
    onnx.checker.check_model(result.model, full_check=True)
    return result.model


@pytest.mark.parametrize("opset", [7, 8, 9])
def test_integer_constants_below_opset_9_are_cast_from_floats(opset: int) -> None:
    dims = np.array([2.0, 3.0])
    nodes = [
        constant("d", dims),
        helper.make_node("Cast", ["d"], ["target"], to=TensorProto.INT64),
        helper.make_node("Reshape", ["x", "flat"], ["r"]),
        constant("f", np.array([6.0])),
        helper.make_node("Cast", ["f"], ["flat"], to=TensorProto.INT64),
        helper.make_node("Exp", ["r"], ["e"]),
        helper.make_node("Reshape", ["e", "target"], ["s"]),
        helper.make_node("Transpose", ["s"], ["t"], perm=[1, 0]),
        constant("six", np.array([6.0])),
        helper.make_node("Cast", ["six"], ["last"], to=TensorProto.INT64),
        helper.make_node("Reshape", ["t", "last"], ["y"]),
    ]
    order = [0, 1, 3, 4, 2, 5, 6, 7, 8, 9, 10]
    made = optimized(model(opset, [nodes[k] for k in order], TensorProto.FLOAT, [6]))
    for node in made.graph.node:
        if node.op_type == "Constant" and opset < 9:
            assert node.attribute[0].t.data_type in (TensorProto.FLOAT, TensorProto.DOUBLE)


def test_a_large_constant_of_one_value_is_written_out_where_nothing_else_can_be() -> None:
    zeros = np.zeros((1, 70, 70), np.float32)
    nodes = [
        constant("z", zeros),
        helper.make_node("Neg", ["z"], ["n"]),
        helper.make_node("ReduceSum", ["x"], ["s"], axes=[0, 1], keepdims=0),
        helper.make_node("Add", ["s", "n"], ["y"]),
    ]
    made = optimized(model(8, nodes, TensorProto.FLOAT, [1, 70, 70]))
    assert all(node.op_type != "ConstantOfShape" for node in made.graph.node)
