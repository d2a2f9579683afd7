"""Channels that are taken somewhere behind a convolution are all that it computes."""

from __future__ import annotations

import pytest

from ..knowledge_bases.graphs import Graph, check_settled, optimized

OPSETS = pytest.mark.parametrize("opset", [11, 13, 17, 21])
COSTS = pytest.mark.parametrize("cost", ["nodes", "ascend"])


def kept(counts: dict[str, int], **expected: int) -> bool:
    return all(counts[name] == count for name, count in {**expected, "Gather": 0}.items())


@OPSETS
@COSTS
def test_classes_that_are_taken_of_flat_scores(opset: int, cost: str) -> None:
    g = Graph(x=[2, 16, 12, 12])
    y = g.add("Conv", "x", g.weight(20, 16, 3, 3), g.weight(20), pads=[1, 1, 1, 1])
    y = g.add("Reshape", g.add("Sigmoid", y), g.constant([2, 20, 144]))
    y = g.add("Transpose", y, perm=[0, 2, 1])
    y = g.add("Gather", y, g.constant([1, 7, -3, 4]), axis=2)
    assert kept(check_settled(g.model(y, opset=opset), cost), Conv=1, Sigmoid=1)


@OPSETS
@COSTS
def test_behind_a_swish_of_images_of_any_size(opset: int, cost: str) -> None:
    g = Graph(x=["N", 16, "H", "W"])
    y = g.add("Conv", "x", g.weight(20, 16, 1, 1))
    y = g.add("Mul", y, g.add("Sigmoid", y))
    y = g.add("Gather", y, g.constant([9, 0, 2, 17, 3]), axis=1)
    y = g.add("Conv", y, g.weight(4, 5, 3, 3))
    assert kept(check_settled(g.model(y, opset=opset), cost), Conv=2)


@OPSETS
def test_what_two_convolutions_make_is_taken_of_both(opset: int) -> None:
    g = Graph(a=["N", 6, 30], b=["N", 4, 30])
    one, other = (g.add("Conv", x, g.weight(12, k, 3)) for x, k in (("a", 6), ("b", 4)))
    y = g.add("Relu", g.add("Add", g.add("Tanh", one), other))
    y = g.add("Gather", y, g.constant([5, 1, 2, 11]), axis=1)
    assert kept(check_settled(g.model(y, opset=opset)), Conv=2, Tanh=1, Add=1, Relu=1)


@pytest.mark.parametrize(("rows", "axis"), [([3, 3, 1], 1), ([1, 0, 5], 2)])
def test_none_is_computed_twice_nor_are_rows_channels(rows: list[int], axis: int) -> None:
    g = Graph(x=[1, 8, 9])
    y = g.add("Relu", g.add("Conv", "x", g.weight(6, 8, 3)))
    assert optimized(g.model(g.add("Gather", y, g.constant(rows), axis=axis)))["Gather"] == 1
