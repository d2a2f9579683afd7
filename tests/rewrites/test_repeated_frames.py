"""A kernel that spans an axis along which one element is repeated sees it once."""

from __future__ import annotations

import pytest

from ..knowledge_bases.graphs import Graph, check_settled, optimized

OPSETS = pytest.mark.parametrize("opset", [11, 13, 17, 21])
COSTS = pytest.mark.parametrize("cost", ["nodes", "ascend"])


def unsqueezed(g: Graph, x: str, axis: int, opset: int) -> str:
    return g.add("Unsqueeze", x, g.constant([axis])) if opset >= 13 else g.add("Unsqueeze", x, axes=[axis])


@OPSETS
@COSTS
def test_one_image_as_several_frames(opset: int, cost: str) -> None:
    g = Graph(x=["N", 3, 32, 32])
    frame = unsqueezed(g, "x", 2, opset)
    y = g.add("Concat", frame, frame, frame, axis=2)
    y = g.add("Conv", y, g.weight(24, 3, 3, 8, 8), g.weight(24), strides=[2, 8, 8])
    counts = check_settled(g.model(y, opset=opset), cost)
    assert counts["Conv"] == 1 and counts["Concat"] == counts["Expand"] == counts["Tile"] == 0


@OPSETS
def test_one_row_of_one_channel(opset: int) -> None:
    g = Graph(x=["N", 1, 1, "W"])
    y = g.add("Tile", "x", g.constant([1, 3, 4, 1]))
    y = g.add("Conv", y, g.weight(8, 3, 2, 3), g.weight(8), dilations=[3, 1], pads=[0, 1, 0, 1])
    assert check_settled(g.model(g.add("Relu", y), opset=opset)) == {"Conv": 1, "Relu": 1}


def test_where_there_are_two_windows_it_is_seen_twice() -> None:
    g = Graph(x=["N", 3, 1, "W"])
    y = g.add("Tile", "x", g.constant([1, 1, 4, 1]))
    y = g.add("Conv", y, g.weight(8, 3, 3, 3), pads=[0, 1, 0, 1])
    assert sum(optimized(g.model(y)).values()) == 2
