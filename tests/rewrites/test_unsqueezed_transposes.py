"""Transposes before and behind an axis of 1 that is inserted, wherever it is, are one or none."""

from __future__ import annotations

import numpy as np
import pytest

from ..knowledge_bases.graphs import Dims, Graph, check_settled, outcome


def inserted(g: Graph, x: str, axes: list[int], opset: int) -> str:
    if opset >= 13:
        return g.add("Unsqueeze", x, g.constant(np.array(axes)))
    return g.add("Unsqueeze", x, axes=axes)


@pytest.mark.parametrize("opset", [11, 13, 21])
@pytest.mark.parametrize(
    ("dims", "first", "axes", "last"),
    [
        ([3, 5, 4], [0, 2, 1], [2], [0, 3, 2, 1]),
        (["N", 5, 2, 7], [0, 3, 2, 1], [2], [0, 4, 2, 3, 1]),
        ([2, "L", 3, 4, 6], [0, 2, 1, 4, 3], [1, 5], [0, 1, 3, 2, 6, 5, 4]),
        ([7, 3], [1, 0], [1], [1, 2, 0]),
    ],
)
def test_an_axis_between_those_that_move_and_move_back(
    opset: int, dims: Dims, first: list[int], axes: list[int], last: list[int]
) -> None:
    g = Graph(x=dims)
    y = inserted(g, g.add("Transpose", "x", perm=first), axes, opset)
    y = g.add("Sin", g.add("Transpose", y, perm=last))
    counts = check_settled(g.model(y, opset=opset), "ascend")
    assert counts["Sin"] == 1 and counts["Transpose"] == 0


@pytest.mark.parametrize("last", [[2, 1, 3, 0, 4], [4, 0, 1, 2, 3], [3, 1, 4, 2, 0]])
def test_what_is_left_is_one_transpose(last: list[int]) -> None:
    g = Graph(x=[2, "N", 4, 3])
    y = inserted(g, g.add("Transpose", "x", perm=[2, 0, 3, 1]), [2], 17)
    y = g.add("Sin", g.add("Transpose", y, perm=last))
    assert outcome(g.model(y), "ascend").counts["Transpose"] <= 1


def test_a_view_that_joins_and_splits_keeps_both() -> None:
    g = Graph(x=[2, 6, 4])
    y = g.add("Reshape", g.add("Transpose", "x", perm=[0, 2, 1]), g.constant(np.array([2, 3, 1, 8])))
    counts = outcome(g.model(g.add("Sin", g.add("Transpose", y, perm=[0, 3, 2, 1]))), "ascend").counts
    assert counts["Transpose"] == 2
