"""Shifted slices of an image that are joined in front of a convolution are one with a longer kernel."""

from __future__ import annotations

import pytest

from ..knowledge_bases.graphs import Graph, check_settled, optimized

OPSETS = pytest.mark.parametrize("opset", [11, 13, 17, 21])
END = 2**40


def sliced(g: Graph, x: str, starts: list[int], ends: list[int], axes: list[int], steps: int = 1) -> str:
    bounds = (g.constant(v) for v in (starts, ends, axes, [steps] * len(axes)))
    return g.add("Slice", x, *bounds)


@OPSETS
@pytest.mark.parametrize("cost", ["nodes", "ascend"])
def test_spliced_frames_are_a_dilated_kernel(opset: int, cost: str) -> None:
    g = Graph(x=["N", 20, "L"])
    parts = [sliced(g, "x", [3 * k], [3 * k - 9 or END], [2]) for k in (2, 0, 3, 1)]
    y = g.add("Conv", g.add("Concat", *parts, axis=1), g.weight(24, 80, 1), g.weight(24), kernel_shape=[1])
    counts = check_settled(g.model(g.add("Relu", y), opset=opset), cost)
    assert counts["Conv"] == counts["Relu"] == 1
    assert counts["Slice"] == counts["Concat"] == 0


@OPSETS
def test_a_context_within_a_longer_one_is_cut_once(opset: int) -> None:
    g = Graph(x=[2, 6, 40])
    parts = [sliced(g, "x", [5 + k], [30 + k], [2]) for k in range(3)]
    y = g.add("Conv", g.add("Concat", *parts, axis=1), g.weight(8, 18, 1), strides=[2])
    assert check_settled(g.model(y, opset=opset)) == {"Slice": 1, "Conv": 1}


@OPSETS
@pytest.mark.parametrize("cost", ["nodes", "ascend"])
def test_an_im2col_of_padded_images_is_a_convolution(opset: int, cost: str) -> None:
    g = Graph(x=["N", 5, 12, 9])
    x = g.add("Pad", "x", g.constant([0, 0, 1, 2, 0, 0, 1, 2]))
    places = [(i, k) for k in range(0, 5, 2) for i in range(3)]
    parts = [sliced(g, x, [i, k], [i + 12, k + 9], [2, 3]) for i, k in places]
    w, b = g.weight(16, 45, 1, 1), g.weight(16)
    y = g.add("Relu", g.add("Conv", g.add("Concat", *parts, axis=1), w, b))
    assert check_settled(g.model(y, opset=opset), cost) == {"Conv": 1, "Relu": 1}


@OPSETS
def test_slices_with_steps_are_strides(opset: int) -> None:
    g = Graph(x=[1, 4, 13, 8])
    parts = [sliced(g, "x", [k], [9 + k], [2], 2) for k in range(5)]
    y = g.add("Conv", g.add("Concat", *parts, axis=1), g.weight(8, 20, 1, 1), strides=[1, 2])
    counts = check_settled(g.model(g.add("Relu", y), opset=opset))
    assert counts["Conv"] == 1 and counts["Concat"] == 0


@pytest.mark.parametrize("shifts", [(0, 1, 3), (0, 1, 1), (0, 2, 5)])
def test_no_element_of_a_kernel_is_missing_or_there_twice(shifts: tuple[int, ...]) -> None:
    g = Graph(x=["N", 6, 30])
    parts = [sliced(g, "x", [k], [20 + k], [2]) for k in shifts]
    y = g.add("Conv", g.add("Concat", *parts, axis=1), g.weight(8, 18, 1))
    assert optimized(g.model(y))["Concat"] == 1
