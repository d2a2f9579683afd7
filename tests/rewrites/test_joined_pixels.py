"""The levels of a pyramid, whose pixels are rows of one list, are transposed once."""

from __future__ import annotations

import pytest

from ..knowledge_bases.graphs import Graph, check_settled

OPSETS = pytest.mark.parametrize("opset", [11, 13, 17, 21])
COSTS = pytest.mark.parametrize("cost", ["nodes", "ascend"])


@OPSETS
@COSTS
@pytest.mark.parametrize("batch", ["N", 2])
def test_heads_of_a_single_shot_detector(opset: int, cost: str, batch: int | str) -> None:
    """SSD: one convolution for each level, which are viewed as boxes of four numbers."""
    sizes = [(9, 7), (5, 4), (3, 2), (2, 2)]
    g, rows = Graph(**{f"x{k}": [batch, 6, *size] for k, size in enumerate(sizes)}), []
    for k in range(len(sizes)):
        head = g.add("Conv", f"x{k}", g.weight(8, 6, 3, 3), g.weight(8), pads=[1, 1, 1, 1])
        rows.append(g.add("Reshape", g.add("Transpose", head, perm=[0, 2, 3, 1]), g.constant([0, -1, 4])))
    counts = check_settled(g.model(g.add("Concat", *rows, axis=1), opset=opset), cost)
    assert counts["Transpose"] == 1 and counts["Conv"] == len(sizes)


@OPSETS
def test_classes_of_anchors_that_are_told_apart_first(opset: int) -> None:
    """torchvision's permute_to_N_HWA_K, and a function in front of what is joined."""
    g, rows = Graph(x=["N", 6, 8, 5], y=["N", 6, 4, 3]), []
    for x, (h, w) in (("x", (8, 5)), ("y", (4, 3))):
        apart = g.add("Reshape", x, g.constant([-1, 2, 3, h, w]))
        turned = g.add("Transpose", apart, perm=[0, 3, 4, 1, 2])
        rows.append(g.add("Sigmoid", g.add("Reshape", turned, g.constant([0, -1, 3]))))
    counts = check_settled(g.model(g.add("Concat", *rows, axis=1), opset=opset), "ascend")
    assert counts["Transpose"] == 1 and counts["Sigmoid"] <= 2


def test_images_of_any_height() -> None:
    g = Graph(x=["N", 6, "H", 4], y=["N", 6, "L", 2])
    rows = [
        g.add("Reshape", g.add("Transpose", x, perm=[0, 2, 3, 1]), g.constant([0, -1, 6])) for x in ("x", "y")
    ]
    assert check_settled(g.model(g.add("Concat", *rows, axis=1)), "ascend")["Transpose"] == 1


def test_levels_of_other_channels_stay_apart() -> None:
    g = Graph(x=["N", 6, 4, 4], y=["N", 3, 2, 2])
    rows = [
        g.add("Reshape", g.add("Transpose", x, perm=[0, 2, 3, 1]), g.constant([0, -1, 3])) for x in ("x", "y")
    ]
    assert check_settled(g.model(g.add("Concat", *rows, axis=1)), "ascend")["Transpose"] == 2
