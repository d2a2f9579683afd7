"""Pools of one element, and means beside convolutions of one element."""

from __future__ import annotations

import pytest

from ..knowledge_bases.graphs import Graph, check_settled, optimized, outcome


@pytest.mark.parametrize("opset", [11, 13, 21])
@pytest.mark.parametrize("kind", ["AveragePool", "MaxPool"])
def test_a_pool_of_one_element_is_nothing(kind: str, opset: int) -> None:
    g = Graph(x=["N", 3, "L"])
    model = g.model(g.add("Tanh", g.add(kind, "x", kernel_shape=[1])), opset=opset)
    assert optimized(model) == {"Tanh": 1}


def test_one_that_strides_goes_into_the_convolution_behind() -> None:
    g = Graph(x=[2, 6, 15, 11])
    y = g.add("Conv", g.add("MaxPool", "x", kernel_shape=[1, 1], strides=[2, 3]), g.weight(4, 6, 1, 1))
    assert optimized(g.model(y)) == {"Conv": 1}


@pytest.mark.parametrize("order", [("Conv", "AveragePool"), ("AveragePool", "Conv")])
@pytest.mark.parametrize(("groups", "bias"), [(1, True), (2, False)])
def test_a_mean_beside_a_convolution_of_one_element_is_one_kernel(
    order: tuple[str, ...], groups: int, bias: bool
) -> None:
    g = Graph(x=["N", 4, 12, 9])
    operands = [g.weight(6, 4 // groups, 1, 1), *([g.weight(6)] if bias else [])]

    y = "x"
    for op in order:
        if op == "Conv":
            y = g.add("Conv", y, *operands, group=groups)
        else:
            y = g.add("AveragePool", y, kernel_shape=[3, 2], strides=[2, 2])
    model = g.model(y, opset=17)
    assert optimized(model) == {"Conv": 1}
    check_settled(model, "ascend")


def test_the_price_says_whether_it_is_pooled_first() -> None:
    """Over a large image one kernel computes more than two, and is more expensive."""
    g = Graph(x=[1, 256, 56, 56])
    y = g.add("Conv", "x", g.weight(512, 256, 1, 1))
    model = g.model(g.add("AveragePool", y, kernel_shape=[2, 2], strides=[2, 2]))
    result = outcome(model, "ascend")
    assert result.counts == {"AveragePool": 1, "Conv": 1}
    assert [node.op_type for node in result.model.graph.node] == ["AveragePool", "Conv"]


@pytest.mark.parametrize(("kind", "settings"), [("MaxPool", {}), ("AveragePool", {"count_include_pad": 1})])
def test_a_maximum_and_a_counted_pad_stay(kind: str, settings: dict[str, int]) -> None:
    g = Graph(x=[1, 4, 8, 8])
    y = g.add("Conv", "x", g.weight(6, 4, 1, 1), g.weight(6))
    y = g.add(kind, y, kernel_shape=[2, 2], strides=[2, 2], pads=[1, 1, 1, 1], **settings)
    assert optimized(g.model(y)) == {"Conv": 1, kind: 1}
