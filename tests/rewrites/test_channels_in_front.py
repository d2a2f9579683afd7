"""A product with the channels of an image in NHWC, in front of a convolution, is part of its kernel."""

from __future__ import annotations

import pytest

from ..knowledge_bases.graphs import Graph, check_settled, optimized

OPSETS = pytest.mark.parametrize("opset", [11, 13, 17, 21])
COSTS = pytest.mark.parametrize("cost", ["nodes", "ascend"])


@OPSETS
@COSTS
def test_a_matrix_of_colours_and_what_is_added_to_it(opset: int, cost: str) -> None:
    g = Graph(x=[2, 40, 24, 3])
    y = g.add("MatMul", g.add("Sub", "x", g.weight(3)), g.weight(3, 3))
    y = g.add("Transpose", g.add("Add", g.weight(3), y), perm=[0, 3, 1, 2])
    y = g.add("Conv", y, g.weight(24, 3, 4, 4), g.weight(24), strides=[4, 4])
    counts = check_settled(g.model(g.add("Relu", y), opset=opset), cost)
    assert counts["Conv"] == 1
    assert counts["MatMul"] == counts["Add"] == counts["Sub"] == 0


@OPSETS
def test_without_a_shift_in_front_of_pads(opset: int) -> None:
    g = Graph(x=["N", 20, 24, 6])
    y = g.add("Transpose", g.add("MatMul", "x", g.weight(6, 4)), perm=[0, 3, 2, 1])
    y = g.add("Conv", y, g.weight(8, 4, 3, 3), pads=[1, 1, 1, 1])
    assert check_settled(g.model(y, opset=opset)) == {"Transpose": 1, "Conv": 1}


def test_rows_that_become_channels_are_no_channels() -> None:
    g = Graph(x=["N", 6, 12, 6])
    y = g.add("Transpose", g.add("MatMul", "x", g.weight(6, 9)), perm=[0, 1, 3, 2])
    y = g.add("Conv", y, g.weight(8, 6, 3, 3))
    assert optimized(g.model(y))["MatMul"] == 1
