"""Vector kernels on Ascend, end to end: what is one kernel, what is left of it, and how the e-graph grows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx
import pytest

from egraph_opt import Limits, cost_model, optimize, saturate
from egraph_opt.cost_models.ascend import Ascend

from ..knowledge_bases.graphs import Graph

SHAPE = [2, 128, 64]


class Network(Graph):
    """Layers one behind the other on x, in the operators of an opset."""

    def __init__(self, opset: int = 17) -> None:
        super().__init__(x=SHAPE)
        self.opset = opset

    def product(self, x: str) -> str:
        return self.add("MatMul", x, self.weight(64, 64))

    def layer_norm(self, x: str) -> str:
        scale, bias = self.weight(64), self.weight(64)
        if self.opset >= 17:
            return self.add("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-5)
        away = self.add("Sub", x, self.add("ReduceMean", x, axes=[-1], keepdims=1))
        square = self.add("Pow", away, self.constant(2.0))
        variance = self.add("ReduceMean", square, axes=[-1], keepdims=1)
        root = self.add("Sqrt", self.add("Add", variance, self.constant(1e-5)))
        return self.add("Add", self.add("Mul", self.add("Div", away, root), scale), bias)

    def gelu(self, x: str) -> str:
        if self.opset >= 20:
            return self.add("Gelu", x)
        inner = self.add("Erf", self.add("Div", x, self.constant(2**0.5)))
        gate = self.add("Add", inner, self.constant(1.0))
        return self.add("Mul", self.add("Mul", x, gate), self.constant(0.5))

    def softmax(self, x: str) -> str:
        return self.add("Softmax", x, axis=2)

    def tanh(self, x: str) -> str:
        return self.add("Tanh", x)

    def elu(self, x: str) -> str:
        return self.add("Elu", x)

    def scale(self, x: str) -> str:
        return self.add("Mul", x, self.weight(64))


def layers(opset: int, names: tuple[str, ...]) -> onnx.ModelProto:
    g, x = Network(opset), "x"
    for name in names:
        x = getattr(g, name)(x)
    return g.model(x, opset=g.opset)


NETWORKS = (
    ("layer_norm",),
    ("gelu",),
    ("layer_norm", "product", "gelu", "product", "layer_norm"),
    ("softmax", "layer_norm", "gelu"),
    ("tanh", "gelu", "scale"),
)


@pytest.mark.parametrize("names", NETWORKS)
def test_equal_work_costs_the_same_in_every_opset(names: tuple[str, ...]) -> None:
    costs = [optimize(layers(opset, names), "ascend").report.cost for opset in (11, 17, 20)]
    for found in costs:
        assert found.gap == 0
        assert found.before == pytest.approx(costs[0].before)
        assert found.after == pytest.approx(costs[0].after)


def attention(opset: int, masked: bool) -> onnx.ModelProto:
    """Attention of four heads: one operator, or as exporters write it."""
    shapes = dict.fromkeys(("q", "k", "v"), (1, 4, 128, 64)) | ({"m": (1, 1, 128, 128)} if masked else {})
    g = Graph(**shapes)
    if opset >= 23:
        return g.model(g.add("Attention", *shapes, scale=0.125), opset=opset)
    turned = g.add("Transpose", "k", perm=[0, 1, 3, 2])
    logits = g.add("Mul", g.add("MatMul", "q", turned), g.constant(0.125))
    weights = g.add("Softmax", g.add("Add", logits, "m") if masked else logits, axis=3)
    return g.model(g.add("MatMul", weights, "v"), opset=opset)


@pytest.mark.parametrize("masked", [False, True])
def test_attention_costs_the_same_in_every_opset(masked: bool) -> None:
    reports = [optimize(attention(opset, masked), "ascend").report for opset in (13, 23)]
    for report in reports:
        assert report.status == "unchanged"
        assert report.cost.before == pytest.approx(reports[0].cost.before)


@pytest.mark.parametrize("names", [("layer_norm",), ("gelu",), ("gelu", "tanh"), ("tanh", "scale", "tanh")])
def test_what_the_compiler_makes_one_kernel_of_is_left_as_it_is(names: tuple[str, ...]) -> None:
    model = layers(11, names)
    result = optimize(model, "ascend", strict=True)
    assert result.report.status == "unchanged"
    assert result.report.cost.after == pytest.approx(result.report.cost.before)


def cost(model: onnx.ModelProto, **parameters: Any) -> float:
    report = optimize(model, cost_model("ascend", parameters), strict=True).report
    assert report.verification.status == "passed"
    assert report.cost.gap == 0
    return report.cost.after


def test_a_chain_is_one_kernel_up_to_the_limit() -> None:
    launch = Ascend().soc.fixed_vector_us
    fast = {"vector_stages": 4, "op_select_implmode": "high_performance"}
    costs = [cost(layers(17, ("elu",) * count), **fast) / launch for count in (1, 4, 5, 8, 9)]
    assert [int(found) for found in costs] == [1, 1, 2, 2, 3]
    apart = [cost(layers(17, ("elu",) * count), vector_stages=1) / launch for count in (1, 4)]
    assert [int(found) for found in apart] == [1, 4]


def test_an_inner_value_that_another_node_needs_is_paid_for_again() -> None:
    g = Network()
    inner = g.add("Exp", "x")
    outer = g.add("Sin", inner)
    one, both = cost(g.model(outer)), cost(g.model(inner, outer))
    alone = Network()
    single = cost(alone.model(alone.add("Exp", "x")))
    assert both > one + 0.9 * single


def test_a_kernel_takes_one_more_computed_operand() -> None:
    def sums(count: int) -> float:
        g = Network()
        branches = [g.product("x") for _ in range(count + 1)]
        ends = [g.softmax(branch) for branch in branches]  # no stage of a product
        x = ends[0]
        for end in ends[1:]:
            x = g.add("Tanh", g.add("Mul", x, end))
        return cost(g.model(x)) - cost(g.model(*ends))

    launch = Ascend().soc.fixed_vector_us
    assert [int(sums(count) / launch) for count in (1, 2)] == [1, 2]


def size(model: onnx.ModelProto) -> int:
    region = saturate(model, target="ascend", limits=Limits(seconds=300)).region
    assert region is not None
    assert region.saturation.stop == "saturated"
    return region.snapshot.n_nodes


def chain(count: int) -> onnx.ModelProto:
    return layers(17, ("tanh",) * count)


def cells(count: int) -> onnx.ModelProto:
    """Gates as a recurrent cell has them: every value is used by several of the next."""
    g = Network()
    first, second = "x", g.product("x")
    for _ in range(count):
        gate = g.add("Sigmoid", first)
        state = g.add("Add", g.add("Mul", gate, second), g.add("Tanh", first))
        first, second = g.add("Mul", gate, g.add("Tanh", state)), state
    return g.model(first)


@pytest.mark.parametrize("build", [chain, cells])
def test_the_e_graph_grows_with_the_number_of_operators_and_not_faster(
    build: Callable[[int], onnx.ModelProto],
) -> None:
    sizes = [size(build(count)) for count in (8, 12, 16)]
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0]
    operators = len(build(16).graph.node) - len(build(12).graph.node)
    assert (sizes[2] - sizes[1]) / operators < 2 * Ascend().soc.vector_stages
