"""Chains of 1-D convolutions become images once: one view in front, one behind."""

from collections import Counter
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from egraph_opt import optimize
from egraph_opt.report.optimization import Report

CHANNELS = 64
LENGTH = 400
RNG = np.random.default_rng(0)


class _Graph:
    """A model in the making: nodes by their operator, weights with random elements."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, *shape: int, positive: bool = False) -> str:
        array = (RNG.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
        return self.constant(np.abs(array) + 0.5 if positive else array)

    def constant(self, array: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(array, f"w{len(self.weights)}"))
        return self.weights[-1].name

    def add(self, op_type: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        names = [f"v{len(self.nodes)}_{k}" for k in range(outputs)]
        self.nodes.append(helper.make_node(op_type, list(inputs), names, **attributes))
        return names[0]

    def conv(self, x: str, kernel: int = 3, channels: int = CHANNELS, **attributes: Any) -> str:
        weight, bias = self.weight(channels, channels, kernel), self.weight(channels)
        pads = [kernel // 2 * attributes.get("dilations", [1])[0]] * 2
        return self.add("Conv", x, weight, bias, kernel_shape=[kernel], pads=pads, **attributes)

    def model(self, output: str, *, length: int | str = LENGTH) -> onnx.ModelProto:
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, CHANNELS, length])
        y = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "chain", [x], [y], self.weights)
        return onnx.shape_inference.infer_shapes(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        )


def _optimized(model: onnx.ModelProto, cost: str = "ascend") -> tuple[Counter[str], onnx.ModelProto, Report]:
    result = optimize(model, cost=cost, strict=True)
    assert result.report.verification.status == "passed"
    return Counter(n.op_type for n in result.model.graph.node), result.model, result.report


VIEWS = ("Unsqueeze", "Squeeze", "Reshape")


def _views(counts: Counter[str]) -> dict[str, int]:
    return {name: counts[name] for name in VIEWS}


@pytest.mark.parametrize("length", [LENGTH, "L"])
def test_a_residual_chain_is_unsqueezed_once_and_squeezed_once(length: int | str) -> None:
    g = _Graph()
    x = g.conv("x")
    for dilation in (1, 2, 4):
        y = g.conv(g.add("Relu", x), dilations=[dilation])
        x = g.add("Add", g.conv(g.add("LeakyRelu", y, alpha=0.1)), x)
    counts, _, report = _optimized(g.model(g.add("Tanh", x), length=length))
    assert _views(counts) == {"Unsqueeze": 1, "Squeeze": 1, "Reshape": 0}
    assert counts["Conv"] == 7
    assert report.cost.after < report.cost.before


def test_a_residual_of_the_input_shares_its_view() -> None:
    g = _Graph()
    y = g.conv(g.add("Relu", g.conv("x")))
    counts, _, _ = _optimized(g.model(g.conv(g.add("Add", y, "x"))))
    assert _views(counts) == {"Unsqueeze": 1, "Squeeze": 1, "Reshape": 0}


def test_gates_slices_and_concatenations_stay_images() -> None:
    g = _Graph()
    x = g.conv("x")
    both = g.conv(x)
    halves = [g.add("Slice", both, *(_ints(g, v) for v in bounds)) for bounds in ((0, 32, 1), (32, 64, 1))]
    gate = g.add("Mul", g.add("Tanh", halves[0]), g.add("Sigmoid", halves[1]))
    joined = g.add("Concat", gate, halves[1], axis=1)
    counts, _, _ = _optimized(g.model(g.conv(g.add("Add", joined, x))))
    assert _views(counts) == {"Unsqueeze": 1, "Squeeze": 1, "Reshape": 0}


def _ints(g: _Graph, value: int) -> str:
    return g.constant(np.array([value]))


def test_squeeze_and_excitation_stays_an_image() -> None:
    g = _Graph()
    x = g.conv("x")
    s = g.add("GlobalAveragePool", x)
    s = g.add("Sigmoid", g.conv(g.add("Relu", g.conv(s, kernel=1)), kernel=1))
    counts, _, _ = _optimized(g.model(g.conv(g.add("Mul", x, s))))
    assert _views(counts) == {"Unsqueeze": 1, "Squeeze": 1, "Reshape": 0}


def test_transposed_convolutions_and_pools_are_lifted_as_well() -> None:
    g = _Graph()
    x = g.add("MaxPool", g.conv("x"), kernel_shape=[2], strides=[2])
    up = g.add("ConvTranspose", g.conv(x), g.weight(CHANNELS, CHANNELS, 4), strides=[2], pads=[1, 1])
    counts, _, _ = _optimized(g.model(g.conv(g.add("Relu", up))))
    assert _views(counts) == {"Unsqueeze": 1, "Squeeze": 1, "Reshape": 0}


def _statistics(g: _Graph, count: int) -> list[str]:
    """Scale, bias, mean and variance of a BatchNormalization."""
    return [*(g.weight(count) for _ in range(3)), g.weight(count, positive=True)]


def _normalized_between_transposes() -> onnx.ModelProto:
    """Conv1d, Transpose, BatchNormalization of rows [L, C], Transpose, Relu, Conv1d."""
    g = _Graph()
    x = g.add("Transpose", g.conv("x"), perm=[0, 2, 1])
    flat = g.add("Reshape", x, _list(g, [-1, CHANNELS]))
    statistics = _statistics(g, CHANNELS)
    x = g.add("BatchNormalization", flat, *statistics)
    x = g.add("Reshape", x, _list(g, [1, LENGTH, CHANNELS]))
    x = g.add("Relu", g.add("Transpose", x, perm=[0, 2, 1]))
    return g.model(g.conv(x))


def _list(g: _Graph, values: list[int]) -> str:
    return g.constant(np.array(values))


def test_a_batch_normalization_between_transposes_goes_into_the_convolution() -> None:
    counts, _, _ = _optimized(_normalized_between_transposes())
    assert counts == {"Unsqueeze": 1, "Conv": 2, "Relu": 1, "Squeeze": 1}


def test_a_batch_normalization_along_the_length_loses_its_conversions() -> None:
    g = _Graph()
    x = g.add("Transpose", g.conv("x"), perm=[0, 2, 1])
    statistics = _statistics(g, LENGTH)
    x = g.add("Transpose", g.add("BatchNormalization", x, *statistics), perm=[0, 2, 1])
    counts, _, _ = _optimized(g.model(g.conv(g.add("Relu", x))))
    assert counts["BatchNormalization"] == counts["Transpose"] == 0
    assert _views(counts) == {"Unsqueeze": 1, "Squeeze": 1, "Reshape": 0}


def test_a_target_that_does_not_ask_keeps_its_convolutions() -> None:
    g = _Graph()
    _, _, report = _optimized(g.model(g.conv(g.add("Relu", g.conv("x")))), cost="nodes")
    assert report.status == "unchanged"
    assert not any(r.ruleset == "conv1d" for r in report.rewrites)


def test_a_single_convolution_is_not_worth_its_views() -> None:
    g = _Graph()
    counts, _, report = _optimized(g.model(g.add("Softmax", g.conv("x"), axis=-1)))
    assert report.cost.after <= report.cost.before
    assert sum(_views(counts).values()) in (0, 2)


def test_an_instance_normalization_stays_an_image() -> None:
    g = _Graph()
    y = g.add("InstanceNormalization", g.conv("x"), g.weight(CHANNELS), g.weight(CHANNELS))
    counts, _, report = _optimized(g.model(g.conv(g.add("Relu", y))))
    assert sum(counts[view] for view in VIEWS) == 2
    assert report.cost.after < 0.9 * report.cost.before


@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_a_resize_stays_an_image(mode: str) -> None:
    g = _Graph()
    scales = g.constant(np.array([1, 1, 2], np.float32))
    y = g.add("Resize", g.conv("x"), "", scales, mode=mode)
    counts, _, report = _optimized(g.model(g.conv(y)))
    assert sum(counts[view] for view in VIEWS) == 2
    assert report.cost.after < 0.9 * report.cost.before


def test_an_empty_region_of_interest_is_none() -> None:
    """Opset 11 asks for one."""
    g = _Graph()
    nothing, scales = (g.constant(np.array(v, np.float32)) for v in ([], [1, 1, 3]))
    y = g.add("Resize", g.conv("x"), nothing, scales, mode="linear")
    model = g.model(g.conv(y))
    model.opset_import[0].version = 11
    counts, _, report = _optimized(model)
    assert sum(counts[view] for view in VIEWS) == 2
    assert report.cost.after < 0.9 * report.cost.before
