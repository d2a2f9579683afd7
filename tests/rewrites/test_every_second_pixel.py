"""Images that a Resize makes smaller by the nearest pixel are slices, which a convolution steps over."""

from __future__ import annotations

import pytest

from ..knowledge_bases.graphs import Graph, check_settled, optimized

OPSETS = pytest.mark.parametrize("opset", [11, 13, 17, 21])
COSTS = pytest.mark.parametrize("cost", ["nodes", "ascend"])


def smaller(g: Graph, x: str, scales: list[float], mode: str = "asymmetric", nearest: str = "floor") -> str:
    return g.add(
        "Resize",
        x,
        g.constant([], "float32"),
        g.constant(scales, "float32"),
        mode="nearest",
        coordinate_transformation_mode=mode,
        nearest_mode=nearest,
    )


@OPSETS
@COSTS
@pytest.mark.parametrize("sizes", [[32, 20], [17, 9]])
def test_a_point_kernel_steps_over_what_is_left_out(sizes: list[int], opset: int, cost: str) -> None:
    g = Graph(x=[1, 16, *(2 * (size // 2) for size in sizes)])
    y = smaller(g, g.add("Relu", "x"), [1, 1, 0.5, 0.5])
    y = g.add("Relu", g.add("Conv", y, g.weight(8, 16, 1, 1), g.weight(8)))
    assert check_settled(g.model(y, opset=opset), cost) == {"Conv": 1, "Relu": 2}


@OPSETS
def test_and_what_a_convolution_made_is_not_computed(opset: int) -> None:
    g = Graph(x=["N", 6, 30, 30])
    y = g.add("Tanh", g.add("Conv", "x", g.weight(8, 6, 3, 3), pads=[1, 1, 1, 1]))
    y = smaller(g, y, [1, 1, 0.5, 0.25], "half_pixel", "floor")
    counts = check_settled(g.model(y, opset=opset))
    assert counts["Resize"] == 0


@OPSETS
def test_the_upper_one_of_four_and_not_the_first_of_these(opset: int) -> None:
    g = Graph(x=["N", 3, 22])
    y = smaller(g, "x", [1, 1, 0.25], "half_pixel", "round_prefer_ceil")
    y = g.add("Slice", y, *(g.constant([v]) for v in (1, 2**40, 2)))
    assert check_settled(g.model(y, opset=opset)) == {"Slice": 1}


@pytest.mark.parametrize(
    ("scales", "mode"),
    [([1, 1, 0.3], "asymmetric"), ([1, 1, 0.5], "align_corners"), ([1, 1, 2], "half_pixel")],
)
def test_others_are_resized(scales: list[float], mode: str) -> None:
    g = Graph(x=["N", 3, 20])
    assert optimized(g.model(smaller(g, "x", scales, mode)))["Resize"] == 1
