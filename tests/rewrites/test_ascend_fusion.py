"""Fusion on Ascend, end to end: what is fused, what is left of it, and how much the e-graph grows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from egraph_opt import optimize, saturate
from egraph_opt.cost_models.ascend import Ascend


class Graph:
    """Layers one behind the other on an image [1, 16, 8, 8]."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op, inputs, [f"v{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def constant(self, *shape: int, value: float | None = None) -> str:
        array = np.full(shape, value) if value is not None else self.rng.standard_normal(shape) * 0.1
        self.weights.append(numpy_helper.from_array(array.astype(np.float32), f"c{len(self.weights)}"))
        return self.weights[-1].name

    def conv(self, x: str) -> str:
        return self.add("Conv", x, self.constant(16, 16, 3, 3), self.constant(16), pads=[1, 1, 1, 1])

    def model(self, *outputs: str) -> onnx.ModelProto:
        shape = [1, 16, 8, 8]
        made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", *outputs)]
        graph = helper.make_graph(self.nodes, "g", made[:1], made[1:], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def residual() -> onnx.ModelProto:
    g = Graph()
    return g.model(g.add("Relu", g.add("Add", g.conv(g.add("Relu", g.conv("x"))), "x")))


def hard_swish() -> onnx.ModelProto:
    g = Graph()
    y = g.conv("x")
    bounds = g.constant(value=0.0), g.constant(value=6.0)
    gate = g.add("Clip", g.add("Add", y, g.constant(value=3.0)), *bounds)
    return g.model(g.add("Div", g.add("Mul", y, gate), bounds[1]))


def silu() -> onnx.ModelProto:
    g = Graph()
    y = g.conv("x")
    return g.model(g.add("Mul", y, g.add("Sigmoid", y)))


def kernels(model: onnx.ModelProto, soc: str = "310p3") -> tuple[float, list[str]]:
    """The cost, and the op types of the optimised model, which has to compute the same."""
    result = optimize(model, cost=f"ascend:{soc}", strict=True)
    assert result.report.verification.status == "passed"
    assert result.report.cost.gap == 0
    return result.report.cost.after, sorted(node.op_type for node in result.model.graph.node)


@pytest.mark.parametrize("build", [residual, silu])
def test_a_model_that_the_compiler_fuses_is_left_as_it_is(build: Callable[[], onnx.ModelProto]) -> None:
    model = build()
    report = optimize(model, cost="ascend", strict=True).report
    assert report.status == "unchanged"
    assert report.cost.after == pytest.approx(report.cost.before)
    assert any(rule.ruleset == "ascend.fusion" and rule.used for rule in report.rewrites)


def test_activations_that_are_spelled_out_cost_one_kernel() -> None:
    g = Graph()
    alone = kernels(g.model(g.conv("x")))[0]
    assert kernels(hard_swish())[0] < alone + 1
    assert kernels(silu())[0] < alone + 1
    assert kernels(silu(), "910b4")[0] > kernels(g.model(g.nodes[-1].output[0]), "910b4")[0] + 1


def test_a_block_with_a_residual_costs_two_kernels() -> None:
    g = Graph()
    assert kernels(residual())[0] < 2 * kernels(g.model(g.conv("x")))[0] + 1


def test_a_value_that_two_need_is_not_fused() -> None:
    g = Graph()
    inner = g.conv("x")
    fused = Graph()
    after = fused.add("Relu", fused.conv("x"))
    extra = kernels(g.model(inner, g.add("Relu", inner)))[0] - kernels(fused.model(after))[0]
    assert extra >= 0.5 * Ascend().soc.fixed_vector_us


def test_the_e_graph_grows_with_the_number_of_layers_and_not_faster() -> None:
    def size(blocks: int) -> int:
        g = Graph()
        x = "x"
        for _ in range(blocks):
            x = g.add("Relu", g.add("Add", g.conv(g.add("Relu", g.conv(x))), x))
        region = saturate(g.model(x), target="ascend").region
        assert region is not None
        assert region.saturation.stop == "saturated"
        return region.snapshot.n_nodes

    four, eight, twelve = size(4), size(8), size(12)
    assert twelve - eight == eight - four
    assert (eight - four) / (4 * 5) < 8  # e-nodes a node of the original
