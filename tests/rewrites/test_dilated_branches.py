"""Branches with dilations beside a larger kernel of the same image are elements of that kernel."""

from __future__ import annotations

import pytest

from ..knowledge_bases.graphs import Graph, check_settled, optimized

OPSETS = pytest.mark.parametrize("opset", [11, 13, 17, 21])
COSTS = pytest.mark.parametrize("cost", ["nodes", "ascend"])


def branch(g: Graph, x: str, channels: int, size: int, dilation: int, **more: int) -> str:
    pad, group = dilation * (size - 1) // 2, more.get("group", 1)
    w = g.weight(channels, channels // group, size, size)
    return g.add("Conv", x, w, dilations=[dilation] * 2, pads=[pad] * 4, **more)


@OPSETS
@COSTS
def test_dilated_branches_of_a_large_depthwise_kernel(opset: int, cost: str) -> None:
    g = Graph(x=["N", 16, 20, "W"])
    y = branch(g, "x", 16, 9, 1, group=16)
    for size, dilation in ((3, 4), (5, 2), (3, 3)):
        y = g.add("Add", branch(g, "x", 16, size, dilation, group=16), y)
    assert check_settled(g.model(g.add("Relu", y), opset=opset), cost) == {"Conv": 1, "Relu": 1}


@OPSETS
def test_along_one_axis_with_strides(opset: int) -> None:
    g = Graph(x=[1, 6, 33])
    one = g.add("Conv", "x", g.weight(8, 6, 7), g.weight(8), strides=[2], pads=[3, 3])
    other = g.add("Conv", "x", g.weight(8, 6, 2), g.weight(8), strides=[2], dilations=[3], pads=[3, 0])
    y = g.add("Tanh", g.add("Add", one, other))
    assert check_settled(g.model(y, opset=opset)) == {"Conv": 1, "Tanh": 1}


def test_what_ends_elsewhere_is_a_convolution_of_its_own() -> None:
    g = Graph(x=["N", 8, 20, 20])
    y = g.add("Add", branch(g, "x", 8, 5, 1), branch(g, "x", 8, 3, 3))
    assert optimized(g.model(y))["Conv"] == 2
