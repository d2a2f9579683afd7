"""Elements that are repeated, and views around an Expand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ..knowledge_bases.graphs import Graph, check_settled, outcome
from .test_resized_images import LINEAR, NEAREST, resized


def repeated(g: Graph, spelled: str, opset: int) -> str:
    """Each row of x: [2, 3, 4, 5] twice, each column three times."""
    view = g.add("Reshape", "x", g.constant(np.array([2, 3, 4, 1, 5, 1])))
    times = [1, 1, 1, 2, 1, 3] if spelled == "Tile" else [2, 3, 4, 2, 5, 3]
    wide = g.add(spelled, view, g.constant(np.array(times)))
    return g.add("Reshape", wide, g.constant(np.array([2, 3, 8, 15])))


@pytest.mark.parametrize("opset", [13, 21])
@pytest.mark.parametrize("spelled", ["Expand", "Tile"])
def test_elements_that_are_repeated_are_an_image_resized(spelled: str, opset: int) -> None:
    g = Graph(x=[2, 3, 4, 5])
    model = g.model(repeated(g, spelled, opset), opset=opset)
    h = Graph(x=[2, 3, 4, 5])
    by_hand = h.model(resized(h, "x", (1.0, 1.0, 2.0, 3.0), NEAREST, opset), opset=opset)
    assert outcome(model, "nodes").counts == {"Resize": 1}
    limit = outcome(by_hand, "ascend").report.cost.after
    assert outcome(model, "ascend").report.cost.after <= limit * (1 + 1e-9)


def test_a_resize_of_opset_11_needs_a_region_and_is_not_written() -> None:
    g = Graph(x=[2, 3, 4, 5])
    assert "Resize" not in outcome(g.model(repeated(g, "Expand", 11), opset=11), "nodes").counts


@pytest.mark.parametrize(
    ("kind", "more", "left"),
    [
        ("MaxPool", {"kernel_shape": [2, 3], "strides": [2, 3]}, {}),
        ("AveragePool", {"kernel_shape": [2, 3], "strides": [2, 3]}, {}),
        ("MaxPool", {"kernel_shape": [2, 1], "strides": [2, 1]}, {"Resize": 1}),
        ("MaxPool", {"kernel_shape": [3, 3], "strides": [3, 3]}, {"Resize": 1, "MaxPool": 1}),
    ],
)
@pytest.mark.parametrize("opset", [11, 21])
def test_a_pool_of_equal_elements_is_one_of_them(
    kind: str, more: dict[str, Any], left: dict[str, int], opset: int
) -> None:
    g = Graph(x=["N", 3, 6, 5])
    y = resized(g, g.add("Tanh", "x"), (1.0, 1.0, 2.0, 3.0), NEAREST, opset)
    model = g.model(g.add("Abs", g.add(kind, y, **more)), opset=opset)
    counts = outcome(model, "nodes").counts
    assert counts == {"Tanh": 1, "Abs": 1, **left}


@pytest.mark.parametrize(("start", "step", "how"), [(0, 2, NEAREST), (1, 2, NEAREST), (0, 2, LINEAR)])
def test_every_other_row_of_a_doubled_image(start: int, step: int, how: dict[str, Any]) -> None:
    g = Graph(x=[1, 3, 6, 5])
    y = resized(g, g.add("Tanh", "x"), (1.0, 1.0, 2.0, 2.0), how)
    ends = ([start, start], [12, 10], [2, 3], [step, step])
    part = g.add("Slice", y, *(g.constant(np.array(v)) for v in ends))
    counts = outcome(g.model(g.add("Abs", part)), "nodes").counts
    assert (counts == {"Tanh": 1, "Abs": 1}) == (how is NEAREST)


@pytest.mark.parametrize("cost", ["ascend", "nodes"])
def test_an_expand_between_views_of_ones_is_an_expand(cost: str) -> None:
    g = Graph(x=[1, 3, "L"])
    wide = g.add(
        "Expand", g.add("Unsqueeze", "x", g.constant(np.array([1]))), g.constant(np.array([1, 5, 1, 1]))
    )
    y = g.add("Squeeze", wide, g.constant(np.array([0])))
    assert check_settled(g.model(y), cost) == {"Expand": 1}
