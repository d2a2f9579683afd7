"""Both halves of an axis that are added, or their squares, are one reduction of a view."""

from __future__ import annotations

import pytest

from ..knowledge_bases.graphs import Graph, check_settled, optimized

OPSETS = pytest.mark.parametrize("opset", [11, 13, 17, 21])


def sliced(g: Graph, x: str, start: int, end: int, axis: int) -> str:
    return g.add("Slice", x, *(g.constant([v]) for v in (start, end, axis)))


@OPSETS
@pytest.mark.parametrize("length", [160, "L"])
def test_the_magnitude_of_two_convolutions(length: int | str, opset: int) -> None:
    g = Graph(x=["N", 1, length])
    parts = [g.add("Conv", "x", g.weight(33, 1, 64), strides=[16]) for _ in "ri"]
    squares = [g.add("Pow", part, g.constant(2.0)) for part in parts]
    y = g.add("Sqrt", g.add("Add", *squares))
    counts = check_settled(g.model(y, opset=opset), "ascend")
    assert counts["Conv"] == counts["ReduceL2"] == 1
    assert counts["Pow"] == counts["Add"] == counts["Mul"] == 0


@OPSETS
@pytest.mark.parametrize("cost", ["nodes", "ascend"])
def test_the_power_of_both_halves_of_a_spectrum(opset: int, cost: str) -> None:
    g = Graph(x=["N", 80, 50])
    parts = [sliced(g, "x", 0, 40, 1), sliced(g, "x", 40, 80, 1)]
    y = g.add("Add", *(g.add("Mul", part, part) for part in parts))
    counts = check_settled(g.model(y, opset=opset), cost)
    assert counts == {"Reshape": 1, "ReduceSumSquare": 1}


@OPSETS
def test_sizes_of_both_gradients(opset: int) -> None:
    g = Graph(x=["N", 1, "H", "W"])
    y = g.add("Conv", "x", g.weight(2, 1, 3, 3), pads=[1, 1, 1, 1])
    parts = [g.add("Abs", sliced(g, y, k, k + 1, 1)) for k in range(2)]
    counts = check_settled(g.model(g.add("Add", *parts), opset=opset), "ascend")
    assert counts == {"Conv": 1, "ReduceL1": 1}


def test_a_part_between_is_no_half() -> None:
    g = Graph(x=["N", 12, 50])
    y = g.add("Add", sliced(g, "x", 0, 5, 1), sliced(g, "x", 7, 12, 1))
    counts = optimized(g.model(y))
    assert counts["Add"] == 1 and counts["ReduceSum"] == 0
