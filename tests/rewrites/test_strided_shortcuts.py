"""Shortcuts that leave out pixels, or add channels of zeros, are elements of the kernel beside them."""

from __future__ import annotations

import pytest

from ..knowledge_bases.graphs import Graph, check_settled, optimized

OPSETS = pytest.mark.parametrize("opset", [11, 13, 17, 21])
COSTS = pytest.mark.parametrize("cost", ["nodes", "ascend"])


def sliced(g: Graph, x: str, axis: int, start: int, end: int, step: int) -> str:
    return g.add("Slice", x, *(g.constant([v]) for v in (start, end, axis, step)))


@OPSETS
@COSTS
def test_every_second_pixel_beside_channels_of_zeros(opset: int, cost: str) -> None:
    g = Graph(x=["N", 8, "H", 20])
    cut = sliced(g, sliced(g, "x", 2, 0, 2**40, 2), 3, 0, 2**40, 2)
    branch = g.add("Pad", cut, g.constant([0, 4, 0, 0, 0, 4, 0, 0]), g.constant(0.0))
    y = g.add("Conv", "x", g.weight(16, 8, 3, 3), g.weight(16), strides=[2, 2], pads=[1, 1, 1, 1])
    y = g.add("Relu", g.add("Add", branch, y))
    assert check_settled(g.model(y, opset=opset), cost) == {"Conv": 1, "Relu": 1}


@OPSETS
@COSTS
def test_the_inner_part_of_what_is_not_padded(opset: int, cost: str) -> None:
    g = Graph(x=[2, 12, 40])
    y = g.add("Conv", "x", g.weight(12, 6, 5), dilations=[2], group=2)
    y = g.add("Tanh", g.add("Add", y, sliced(g, "x", 2, 4, 36, 1)))
    counts = check_settled(g.model(y, opset=opset), cost)
    assert counts["Conv"] == counts["Tanh"] == 1
    assert counts["Slice"] == counts["Add"] == 0


@OPSETS
def test_two_blocks_in_a_row(opset: int) -> None:
    g = Graph(x=["N", 6, 17, 16])
    y = "x"
    for size in (17, 9):
        branch = sliced(g, sliced(g, y, 2, 0, size, 2), 3, 0, 2**40, 2)
        channels = 6 if size == 17 else 12
        branch = g.add("Pad", branch, g.constant([0, 0, 0, 0, 0, channels, 0, 0]))
        w = g.weight(2 * channels, channels, 3, 3)
        y = g.add("Relu", g.add("Add", g.add("Conv", y, w, strides=[2, 2], pads=[1, 1, 1, 1]), branch))
    assert check_settled(g.model(y, opset=opset)) == {"Conv": 2, "Relu": 2}


@pytest.mark.parametrize(("start", "value"), [(1, 0.0), (0, 1.0)])
def test_other_pixels_and_other_numbers_stay(start: int, value: float) -> None:
    g = Graph(x=["N", 8, "L"])
    branch = sliced(g, "x", 2, start, 2**40, 2)
    branch = g.add("Pad", branch, g.constant([0, 4, 0, 0, 4, 0]), g.constant(value))
    y = g.add("Add", g.add("Conv", "x", g.weight(16, 8, 3), strides=[2], pads=[1, 1]), branch)
    assert optimized(g.model(y))["Add"] == 1
