"""What is written for opsets that lack an operator, or a type of one, is what they have."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

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


@pytest.mark.parametrize("opset", [8, 10, 11])
def test_a_loop_carries_something_below_opset_11(opset: int) -> None:
    """Its schema asks for an operand behind the condition, also where all that it carries stays as it is."""
    text = f"""<ir_version: 8, opset_import: ["" : {opset}]>
    g (float[2, 3] x, int64 n, bool c) => (float[?, ?] y, float[?, ?, ?] z) {{
        y, z = Loop (n, c, x) <
            body = b (int64 i, bool k, float[2, 3] s) => (bool l, float[2, 3] u, float[2, 3] w) {{
                f = Cast <to = 1> (i) w = Add (s, f) u = Identity (s) l = Identity (k)
            }}
        >
    }}"""
    made = optimize(parser.parse_model(text), cost="nodes", strict=True)
    assert made.report.verification.status == "passed"
    (loop,) = [node for node in made.model.graph.node if node.op_type == "Loop"]
    assert len(loop.input) == (3 if opset < 11 else 2)


LARGE = (-(2**63), 2**63 - 1, 2**53 + 1)


@pytest.mark.parametrize("number", LARGE)
@pytest.mark.parametrize("within", ["graph", "body"])
def test_integers_that_floats_do_not_have_are_constants_below_opset_9(number: int, within: str) -> None:
    """Constant has no integers there: what a graph hands out is a copy of an initializer."""
    if within == "graph":
        inner = "(float[2] x) => (int64[?] y, float[2] z) <int64[1] k = {K}> { y = Abs (k) z = Neg (x) }"
    else:
        inner = """(float[2] x, bool c) => (int64[?] y, float[2] z) { y, z = If (c) <
            then_branch = t () => (int64[1] p, float[2] q) <int64[1] k = {K}> { p = Abs (k) q = Neg (x) },
            else_branch = e () => (int64[1] r, float[2] s) <int64[1] l = {K}> { r = Abs (l) s = Exp (x) }>}"""
    text = inner.replace("K", str(number))
    result = optimize(parser.parse_model(f'<ir_version: 8, opset_import: ["" : 8]> g {text}'), strict=True)
    assert result.report.verification.status == "passed"
    onnx.checker.check_model(result.model, full_check=True)
