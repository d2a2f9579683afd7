"""Constants around linear operators, end to end: what is left of a graph, and that it computes the same."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from egraph_opt import optimize

Nodes = list[tuple[str, list[str], str, dict[str, Any]]]


def random(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).uniform(0.5, 1.5, shape).astype(np.float32)


def model(
    nodes: Nodes, constants: Mapping[str, Any], shape: list[int | str], opset: int = 17,
    dtype: int = TensorProto.FLOAT,
) -> onnx.ModelProto:  # fmt: skip
    """A model with the input x and the last node's output."""
    made = [helper.make_node(op, inputs, [output], **settings) for op, inputs, output, settings in nodes]
    graph = helper.make_graph(
        made,
        "linear",
        [helper.make_tensor_value_info("x", dtype, shape)],
        [helper.make_tensor_value_info(nodes[-1][2], dtype, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    imports = [helper.make_opsetid("", opset)]
    return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=imports, ir_version=8))


def operators(made: onnx.ModelProto) -> dict[str, int]:
    """What an optimised model runs, by operator; it has been compared with the original."""
    result = optimize(made, cost="nodes", strict=True)
    assert result.report.verification.status == "passed"
    constants = {t.name for t in result.model.graph.initializer}
    running: Counter[str] = Counter()
    for node in result.model.graph.node:
        if node.input and any(name and name not in constants for name in node.input):
            running[node.op_type] += 1
        else:
            constants.update(node.output)
    return dict(running)


def batchnorm(x: str, y: str, channels: int) -> tuple[Nodes, dict[str, np.ndarray[Any, Any]]]:
    names = [f"{y}_{name}" for name in ("s", "b", "m", "v")]
    node = ("BatchNormalization", [x, *names], y, {"epsilon": 1e-3})
    return [node], {name: random(channels) + k for k, name in enumerate(names)}


@pytest.mark.parametrize("opset", [9, 13, 17])
@pytest.mark.parametrize("bias", [False, True])
def test_batchnorm_and_affine_after_conv_are_the_conv(opset: int, bias: bool) -> None:
    norm, constants = batchnorm("a", "n", 6)
    conv_inputs = ["x", "w", "b"] if bias else ["x", "w"]
    nodes: Nodes = [
        ("Conv", conv_inputs, "a", {"pads": [1, 1, 1, 1], "group": 2}),
        *norm,
        ("Mul", ["k", "n"], "p", {}),
        ("Sub", ["p", "c"], "y", {}),
    ]
    constants |= {"w": random(6, 2, 3, 3), "k": random(6, 1, 1), "c": random(1)}
    constants |= {"b": random(6)} if bias else {}
    assert operators(model(nodes, constants, ["N", 4, 8, "W"], opset)) == {"Conv": 1}


@pytest.mark.parametrize("group", [1, 2, 4])
def test_batchnorm_after_conv_transpose_is_the_conv_transpose(group: int) -> None:
    norm, constants = batchnorm("a", "y", 3 * group)
    nodes: Nodes = [("ConvTranspose", ["x", "w", "b"], "a", {"strides": [2, 2], "group": group}), *norm]
    constants |= {"w": random(4, 3, 2, 2), "b": random(3 * group)}
    assert operators(model(nodes, constants, [1, 4, 5, 6])) == {"ConvTranspose": 1}


def test_batchnorm_between_padded_convs_moves_only_into_the_first() -> None:
    norm, constants = batchnorm("a", "n", 5)
    nodes: Nodes = [
        ("Conv", ["x", "v"], "a", {}),
        *norm,
        ("Relu", ["n"], "r", {}),
        ("Conv", ["r", "w"], "y", {"pads": [1, 1, 1, 1]}),
    ]
    constants |= {"v": random(5, 3, 1, 1), "w": random(4, 5, 3, 3)}
    assert operators(model(nodes, constants, ["N", 3, 6, 6])) == {"Conv": 2, "Relu": 1}


def test_batchnorm_before_an_unpadded_conv_is_the_conv() -> None:
    norm, constants = batchnorm("x", "n", 4)
    nodes: Nodes = [*norm, ("Conv", ["n", "w"], "y", {"group": 2})]
    constants |= {"w": random(6, 2, 3, 3)}
    assert operators(model(nodes, constants, ["N", 4, 6, 6])) == {"Conv": 1}


def test_the_scale_of_a_batchnorm_before_a_padded_conv_cannot_hide_its_shift() -> None:
    norm, constants = batchnorm("x", "n", 4)
    nodes: Nodes = [*norm, ("Conv", ["n", "w"], "y", {"pads": [1, 1, 1, 1]})]
    constants |= {"w": random(6, 4, 3, 3)}
    assert sum(operators(model(nodes, constants, ["N", 4, 6, 6])).values()) == 2


def test_affine_and_batchnorm_without_a_conv_are_one_node() -> None:
    norm, constants = batchnorm("x", "n", 4)
    nodes: Nodes = [*norm, ("Mul", ["n", "k"], "p", {}), ("Add", ["p", "c"], "y", {})]
    constants |= {"k": random(1, 4, 1, 1), "c": random(4, 1, 1)}
    assert operators(model(nodes, constants, ["N", 4, 6, 6])) == {"BatchNormalization": 1}


@pytest.mark.parametrize(("meeting", "left"), [("Mul", 3), ("Add", 1)])
def test_a_batchnorm_whose_conv_is_used_twice_stays_unless_they_are_added(meeting: str, left: int) -> None:
    norm, constants = batchnorm("a", "n", 4)
    nodes: Nodes = [("Conv", ["x", "w"], "a", {}), *norm, (meeting, ["a", "n"], "y", {})]
    constants |= {"w": random(4, 3, 1, 1)}
    assert sum(operators(model(nodes, constants, ["N", 3, 6, 6])).values()) == left


def test_a_batchnorm_after_the_sum_of_two_convs_goes_into_both() -> None:
    norm, constants = batchnorm("s", "y", 4)
    nodes: Nodes = [
        ("Conv", ["x", "v", "b"], "a1", {}),
        ("Conv", ["x", "w"], "a2", {}),
        ("Add", ["a1", "a2"], "s", {}),
        *norm,
    ]
    constants |= {"v": random(4, 3, 1, 1), "w": random(4, 3, 1, 1) - 1, "b": random(4)}
    assert operators(model(nodes, constants, ["N", 3, 6, 6])) in ({"Conv": 2, "Add": 1}, {"Conv": 1})


def test_an_affine_before_a_padded_conv_leaves_its_scale() -> None:
    nodes: Nodes = [
        ("Relu", ["x"], "r", {}),
        ("Mul", ["r", "k"], "p", {}),
        ("Add", ["p", "c"], "q", {}),
        ("Conv", ["q", "w"], "y", {"pads": [1, 1, 1, 1]}),
    ]
    constants = {"k": random(1), "c": random(1, 1), "w": random(4, 3, 3, 3)}
    assert operators(model(nodes, constants, ["N", 3, 6, 6])) == {"Relu": 1, "Add": 1, "Conv": 1}


def test_pads_and_pointwise_convs_join_their_neighbours() -> None:
    pads = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    nodes: Nodes = [
        ("Pad", ["x", "p"], "a", {}),
        ("Conv", ["a", "v", "b"], "c", {}),
        ("Conv", ["c", "w"], "d", {}),
        ("Relu", ["d"], "r", {}),
        ("Pad", ["r", "p"], "q", {}),
        ("MaxPool", ["q"], "y", {"kernel_shape": [3, 3], "strides": [2, 2]}),
    ]
    constants = {"p": pads, "v": random(6, 3, 3, 3), "b": random(6), "w": random(4, 6, 1, 1)}
    left = operators(model(nodes, constants, ["N", 3, 6, 6]))
    assert left == {"Conv": 1, "Relu": 1, "MaxPool": 1}


@pytest.mark.parametrize("shape", [["N", 5], ["N", "L", 5]])
def test_constants_around_a_product_are_its_weight_and_bias(shape: list[int | str]) -> None:
    nodes: Nodes = [
        ("Mul", ["x", "gamma"], "g", {}),
        ("Add", ["g", "beta"], "h", {}),
        ("MatMul", ["h", "w"], "m", {}),
        ("Add", ["b", "m"], "a", {}),
        ("Div", ["a", "d"], "y", {}),
    ]
    constants = {"gamma": random(5), "beta": random(5), "w": random(5, 4), "b": random(4), "d": random(1)}
    left = operators(model(nodes, constants, shape))
    assert left == ({"Gemm": 1} if len(shape) == 2 else {"MatMul": 1, "Add": 1})


def test_gemms_and_transposes_become_one_gemm() -> None:
    nodes: Nodes = [
        ("Transpose", ["x"], "t", {"perm": [1, 0]}),
        ("Gemm", ["t", "w", "b"], "g", {"alpha": 0.5, "beta": 2.0, "transB": 1}),
        ("Mul", ["g", "k"], "m", {}),
        ("Gemm", ["m", "v", "c"], "y", {"beta": 0.25}),
    ]
    constants = {"w": random(6, 5), "b": random(6), "k": random(6), "v": random(6, 3), "c": random(1, 3)}
    assert operators(model(nodes, constants, [5, "N"])) == {"Gemm": 1}


def test_the_scale_of_attention_goes_into_a_projection() -> None:
    nodes: Nodes = [
        ("MatMul", ["x", "wq"], "q0", {}),
        ("Add", ["q0", "bq"], "q1", {}),
        ("MatMul", ["x", "wk"], "k0", {}),
        ("Transpose", ["k0"], "k1", {"perm": [0, 2, 1]}),
        ("MatMul", ["q1", "k1"], "s", {}),
        ("Div", ["s", "root"], "d", {}),
        ("Softmax", ["d"], "y", {"axis": -1}),
    ]
    constants = {"wq": random(4, 8), "bq": random(8), "wk": random(4, 8) - 1, "root": np.float32(8**0.5)}
    left = operators(model(nodes, constants, ["N", "L", 4]))
    assert "Div" not in left
    assert "Mul" not in left


def test_chains_of_scales_and_shifts_are_one_of_each() -> None:
    nodes: Nodes = [
        ("Sub", ["one", "x"], "a", {}),
        ("Div", ["a", "k"], "b", {}),
        ("Neg", ["b"], "c", {}),
        ("Mul", ["two", "c"], "d", {}),
        ("Sub", ["d", "two"], "y", {}),
    ]
    constants = {"one": np.float32(1), "two": np.float32(2), "k": np.array([3], np.float32)}
    assert operators(model(nodes, constants, ["N", 4, 6])) == {"Mul": 1, "Add": 1}


def test_integers_are_not_scaled_as_floats() -> None:
    nodes: Nodes = [
        ("Add", ["x", "one"], "a", {}),
        ("Div", ["a", "two"], "b", {}),
        ("Mul", ["b", "two"], "y", {}),
    ]
    constants = {"one": np.array([1]), "two": np.array([2])}
    left = operators(model(nodes, constants, ["N", 4], dtype=TensorProto.INT64))
    assert left == {"Add": 1, "Div": 1, "Mul": 1}


def test_a_scale_of_float16_is_rounded_once() -> None:
    norm, constants = batchnorm("a", "y", 4)
    nodes: Nodes = [("Conv", ["x", "w", "b"], "a", {}), *norm]
    constants |= {"w": random(4, 3, 1, 1), "b": random(4)}
    halves = {name: array.astype(np.float16) for name, array in constants.items()}
    assert operators(model(nodes, halves, [1, 3, 6, 6], dtype=TensorProto.FLOAT16)) == {"Conv": 1}


def test_weights_that_are_one_number_stay_small() -> None:
    norm, constants = batchnorm("a", "y", 64)
    constants = {name: np.full(64, k + 1, np.float32) for k, name in enumerate(constants)}
    nodes: Nodes = [
        (
            "ConstantOfShape",
            ["dims"],
            "w",
            {"value": helper.make_tensor("v", TensorProto.FLOAT, [1], [0.02])},
        ),
        ("Conv", ["x", "w"], "a", {}),
        *norm,
    ]
    constants["dims"] = np.array([64, 64, 3, 3])
    made = model(nodes, constants, [1, 64, 5, 5])
    assert operators(made) == {"Conv": 1}
    assert optimize(made, cost="nodes").model.ByteSize() <= made.ByteSize() + 512


def test_a_deep_chain_of_scales_ends() -> None:
    names = [f"v{k}" for k in range(8)]
    nodes: Nodes = [
        ("Mul" if k % 2 else "Add", [name, f"c{k}"], names[k + 1] if k < 7 else "y", {})
        for k, name in enumerate(["x", *names[1:]])
    ]
    constants = {f"c{k}": random(3, 1) + k for k in range(8)}
    result = optimize(model(nodes, constants, ["N", 3, 4]), cost="nodes", strict=True)
    assert result.report.saturation.stop == "saturated"
    assert result.report.nodes.runtime_after <= 2
    assert result.report.saturation.nodes < 1000


def test_orders_of_factors_do_not_multiply() -> None:
    before = ["Mul", "Div", "Mul", "Add"]
    behind = ["Mul", "Add", "Sub"]
    names = [f"v{k}" for k in range(len(before) + len(behind) + 1)]
    inputs = ["x", *names]
    nodes: Nodes = [(op, [inputs[k], f"c{k}"], names[k], {}) for k, op in enumerate(before)]
    nodes.append(("Conv", [names[3], "w"], names[4], {"pads": [1, 1, 1, 1]}))
    nodes += [(op, [names[4 + k], f"c{4 + k}"], names[5 + k], {}) for k, op in enumerate(behind)]
    constants = {f"c{k}": random(1) + k for k in range(7)} | {"w": random(4, 3, 3, 3)}
    made = model(nodes, constants, ["N", 3, 6, 6])
    assert operators(made) == {"Add": 1, "Conv": 1}
    assert optimize(made, cost="nodes").report.saturation.nodes < 150
