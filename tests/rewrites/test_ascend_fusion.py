"""Fusion on Ascend, end to end: what is fused, what is left of it, and how much the e-graph grows."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import pytest

from egraph_opt import optimize, saturate
from egraph_opt.cost_models.ascend import Ascend

from ..knowledge_bases.graphs import Graph


class Network(Graph):
    """Layers one behind the other on an image."""

    def __init__(self) -> None:
        super().__init__(x=[1, 16, 8, 8])

    def conv(self, x: str) -> str:
        return self.add("Conv", x, self.weight(16, 16, 3, 3), self.weight(16), pads=[1, 1, 1, 1])


def residual() -> onnx.ModelProto:
    g = Network()
    return g.model(g.add("Relu", g.add("Add", g.conv(g.add("Relu", g.conv("x"))), "x")))


def hard_swish() -> onnx.ModelProto:
    g = Network()
    y = g.conv("x")
    bounds = g.constant(0.0), g.constant(6.0)
    gate = g.add("Clip", g.add("Add", y, g.constant(3.0)), *bounds)
    return g.model(g.add("Div", g.add("Mul", y, gate), bounds[1]))


def silu() -> onnx.ModelProto:
    g = Network()
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
    g = Network()
    model = g.model(g.conv("x"))
    alone = kernels(model)[0]
    assert kernels(hard_swish())[0] < alone + 1
    assert kernels(silu())[0] < alone + 1
    assert kernels(silu(), "910b4")[0] > kernels(model, "910b4")[0] + 1


def test_a_block_with_a_residual_costs_two_kernels() -> None:
    g = Network()
    assert kernels(residual())[0] < 2 * kernels(g.model(g.conv("x")))[0] + 1


def test_a_value_that_two_need_is_not_fused() -> None:
    g = Network()
    inner = g.conv("x")
    fused = Network()
    after = fused.add("Relu", fused.conv("x"))
    extra = kernels(g.model(inner, g.add("Relu", inner)))[0] - kernels(fused.model(after))[0]
    assert extra >= 0.5 * Ascend().soc.fixed_vector_us


def test_the_e_graph_grows_with_the_number_of_layers_and_not_faster() -> None:
    def size(blocks: int) -> int:
        g = Network()
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
