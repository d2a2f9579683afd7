"""Deep and large graphs go through whole: nothing walks them recursively or again and again."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

from egraph_opt import optimize


def model_of(nodes: list, width: list, output: str, weights: list) -> ModelProto:
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, width)]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, width)]
    graph = helper.make_graph(nodes, "large", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def chain(length: int) -> ModelProto:
    """Element-wise operators one after the other, none of which cancels."""
    operators = ["Relu", "Sin", "Tanh", "Erf", "Cos"]
    names = ["x", *(f"v{k}" for k in range(length))]
    nodes = [helper.make_node(operators[k % 5], [names[k]], [names[k + 1]]) for k in range(length)]
    return model_of(nodes, ["N", 4], names[-1], [])


def residual(blocks: int, channels: int = 2) -> ModelProto:
    """Blocks of Conv, BatchNormalization, Relu, Conv, BatchNormalization, Add, Relu."""
    random = np.random.default_rng(0)
    nodes, weights, x = [], [], "x"

    def layer(source: str, name: str) -> str:
        kernel = random.normal(size=(channels, channels, 3, 3)).astype(np.float32) * 0.3
        weights.append(numpy_helper.from_array(kernel, f"{name}_w"))
        scales = [f"{name}_{k}" for k in ("scale", "bias", "mean", "var")]
        for scale in scales:
            values = random.uniform(0.5, 1.5, channels).astype(np.float32)
            weights.append(numpy_helper.from_array(values, scale))
        nodes.append(helper.make_node("Conv", [source, f"{name}_w"], [f"{name}_y"], pads=[1] * 4))
        nodes.append(helper.make_node("BatchNormalization", [f"{name}_y", *scales], [f"{name}_n"]))
        return f"{name}_n"

    for k in range(blocks):
        nodes.append(helper.make_node("Relu", [layer(x, f"b{k}a")], [f"b{k}r"]))
        nodes.append(helper.make_node("Add", [layer(f"b{k}r", f"b{k}b"), x], [f"b{k}s"]))
        x = f"b{k}x"
        nodes.append(helper.make_node("Relu", [f"b{k}s"], [x]))
    nodes[-1].output[0] = "y"
    return model_of(nodes, ["N", channels, 4, 4], "y", weights)


def test_a_chain_of_10000_nodes_goes_through() -> None:
    result = optimize(chain(10_000), "nodes", verify=False)
    assert (result.report.nodes.runtime_before, result.report.nodes.runtime_after) == (10_000, 10_000)
    assert result.report.saturation.stop == "saturated"


def test_a_residual_network_of_1505_nodes_loses_its_normalizations() -> None:
    blocks = 215
    result = optimize(residual(blocks), "nodes", verify=False)
    assert result.report.nodes.runtime_before == 7 * blocks
    assert result.report.nodes.runtime_after <= 5 * blocks
    assert result.report.saturation.stop == "saturated"
    assert result.report.cost.gap == 0


def test_a_small_residual_network_answers_as_before() -> None:
    result = optimize(residual(3), "nodes", strict=True)
    assert result.report.verification.status == "passed"
    assert result.report.nodes.runtime_after == 15
