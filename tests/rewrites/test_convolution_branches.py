"""Branches of a re-parametrised network become one convolution, the identity among them."""

from __future__ import annotations

import onnx
import pytest

from egraph_opt import optimize

from ..knowledge_bases.graphs import Graph, check_settled, check_untouched, optimized, outcome


class _Blocks(Graph):
    """RepVGG's and MobileOne's: branches of one image, normalised and added."""

    def normalised(self, y: str, channels: int) -> str:
        numbers = (self.weight(channels, positive=k in (0, 3)) for k in range(4))
        return self.add("BatchNormalization", y, *numbers)

    def block(self, x: str, channels: int, kernels: tuple[int, ...], group: int = 1) -> str:
        """Relu(Conv(x) + Conv(x) + .. + x), each with a BatchNormalization; a kernel of 0 is x itself."""
        branches = []
        for kernel in kernels:
            y = x
            if kernel:
                w = self.weight(channels, channels // group, kernel, kernel)
                y = self.add("Conv", x, w, pads=[kernel // 2] * 4, group=group)
            branches.append(self.normalised(y, channels))
        total = branches[0]
        for branch in branches[1:]:
            total = self.add("Add", total, branch)
        return self.add("Relu", total)


def _network(
    kernels: tuple[int, ...], depth: int = 1, group: int = 1, opset: int = 17, channels: int = 8
) -> onnx.ModelProto:
    g, y = _Blocks(x=["N", channels, 12, 13]), "x"
    for _ in range(depth):
        y = g.block(y, channels, kernels, group)
    return g.model(y, opset=opset)


@pytest.mark.parametrize("cost", ["nodes", "ascend"])
@pytest.mark.parametrize("kernels", [(3, 1, 0), (0, 1, 3), (1, 0, 3), (3, 0), (3, 3, 3, 1, 0)], ids=str)
def test_all_branches_are_one_convolution(kernels: tuple[int, ...], cost: str) -> None:
    assert optimized(_network(kernels), cost) == {"Conv": 1, "Relu": 1}


@pytest.mark.parametrize(("group", "opset"), [(2, 11), (8, 13), (4, 21)])
def test_groups_have_an_identity_too(group: int, opset: int) -> None:
    assert optimized(_network((3, 1, 0), group=group, opset=opset)) == {"Conv": 1, "Relu": 1}


def test_blocks_in_a_row_become_a_plain_network() -> None:
    model = _network((3, 1, 0), depth=4)
    result = outcome(model, "ascend")
    assert result.counts == {"Conv": 4, "Relu": 4}
    by_hand = optimize(_network((3,), depth=4), cost="ascend", verify=False).report.cost.after
    assert result.report.cost.after == pytest.approx(by_hand)
    check_settled(model, "ascend")


@pytest.mark.parametrize("first", [True, False])
def test_a_residual_of_one_convolution_is_part_of_it(first: bool) -> None:
    g = Graph(x=[1, 6, "W"])
    y = g.add("Conv", "x", g.weight(6, 6, 3), g.weight(6), pads=[2, 2], dilations=[2])
    assert optimized(g.model(g.add("Add", *((y, "x") if first else ("x", y))))) == {"Conv": 1}


def test_a_residual_of_two_convolutions_stays() -> None:
    g = Graph(x=[1, 6, 9, 9])
    y = g.add("Relu", g.add("Conv", "x", g.weight(6, 6, 3, 3), pads=[1] * 4))
    y = g.add("Conv", y, g.weight(6, 6, 3, 3), pads=[1] * 4)
    check_untouched(g.model(g.add("Add", y, "x")), "nodes")


def test_an_image_of_other_channels_or_elsewhere_is_not_taken_in() -> None:
    g = Graph(x=[1, 1, 9, 9])
    check_untouched(g.model(g.add("Add", g.add("Conv", "x", g.weight(6, 1, 3, 3), pads=[1] * 4), "x")))
    g = Graph(x=[1, 6, 9, 9])
    even = g.add("Conv", "x", g.weight(6, 6, 3, 3), pads=[1] * 4, strides=[1, 1], dilations=[2, 1])
    check_untouched(g.model(g.add("Add", even, g.add("AveragePool", "x", kernel_shape=[3, 1]))))


def _parts(count: int, *, biased: bool, relu: bool, opset: int = 13, group: int = 1) -> onnx.ModelProto:
    """A Split, a convolution of each part, maybe a Relu, and a Concat."""
    g = Graph(x=["N", 4 * count, 9, 10])
    parts = g.add_many("Split", "x", outputs=count, axis=1, **({"num_outputs": count} if opset > 17 else {}))
    made = []
    for part in parts:
        bias = [g.weight(6)] if biased else []
        y = g.add("Conv", part, g.weight(6, 4 // group, 3, 3), *bias, pads=[1] * 4, group=group)
        made.append(g.add("Relu", y) if relu else y)
    return g.model(g.add("Concat", *made, axis=1), opset=opset)


@pytest.mark.parametrize("cost", ["nodes", "ascend"])
@pytest.mark.parametrize(("count", "opset"), [(2, 11), (3, 13), (4, 17), (8, 21)])
def test_convolutions_of_parts_are_one_in_groups(count: int, opset: int, cost: str) -> None:
    model = _parts(count, biased=count % 4 == 0, relu=count > 2, opset=opset)
    assert optimized(model, cost) == ({"Conv": 1, "Relu": 1} if count > 2 else {"Conv": 1})


def test_convolutions_in_groups_are_one_in_more() -> None:
    result = outcome(_parts(3, biased=True, relu=False, group=2), "nodes")
    (node,) = (n for n in result.model.graph.node if n.op_type == "Conv")
    assert {a.name: a.i for a in node.attribute}["group"] == 6
    check_settled(_parts(4, biased=True, relu=True), "nodes")


@pytest.mark.parametrize("opset", [11, 21])
@pytest.mark.parametrize("function", ["Relu", "Relu6", "HardSwish", "Mul"])
def test_a_pad_passes_what_keeps_zeros_into_the_convolution(function: str, opset: int) -> None:
    g = Graph(x=["N", 8, 14, "W"])
    y = g.add("Pad", "x", g.constant([0, 0, 1, 2, 0, 0, 0, 2]))
    if function == "Relu6":
        y = g.add("Clip", y, g.constant(0.0), g.constant(6.0))
    elif function == "Mul":
        y = g.add("Mul", g.add("Tanh", y), g.constant([[[2.0]]]))
    elif function == "HardSwish" and opset < 14:
        y = g.add("Softsign", y)
    else:
        y = g.add(function, y)
    model = g.model(g.add("Conv", y, g.weight(6, 8, 2, 5)), opset=opset)
    assert "Pad" not in optimized(model, "nodes")
    assert "Pad" not in optimized(model, "ascend")


def test_a_pad_stays_in_front_of_what_makes_something_of_zeros() -> None:
    g = Graph(x=[1, 8, 14, 14])
    y = g.add("Sigmoid", g.add("Pad", "x", g.constant([0, 0, 1, 1, 0, 0, 1, 1])))
    check_untouched(g.model(g.add("Conv", y, g.weight(6, 8, 3, 3))), "nodes")
