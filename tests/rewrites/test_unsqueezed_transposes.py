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


@pytest.mark.parametrize("opset", [11, 13, 21])
@pytest.mark.parametrize("cost", ["nodes", "ascend"])
def test_an_axis_that_moves_alone_is_inserted_elsewhere(cost: str, opset: int) -> None:
    """Also beside two axes of any length, of which a Reshape could copy one and not infer the other."""
    g = Graph(x=["N", "L"])
    y = g.add("Sin", g.add("Transpose", inserted(g, "x", [1], opset), perm=[0, 2, 1]))
    assert check_settled(g.model(y, opset=opset), cost) == {"Unsqueeze": 1, "Sin": 1}


def test_angles_of_positions_by_an_outer_product_need_no_transpose() -> None:
    """Rotary embedding as Hugging Face has it: frequencies @ positions, turned, twice side by side."""
    g = Graph(x=["N", "L"])
    outer = g.add("MatMul", g.weight(1, 4, 1), inserted(g, "x", [1], 17))
    angle = g.add("Transpose", outer, perm=[0, 2, 1])
    both = g.add("Concat", angle, angle, axis=2)
    model = g.model(g.add("Cos", both), g.add("Sin", both))
    assert check_settled(model, "ascend") == {"Unsqueeze": 1, "Mul": 1, "Cos": 1, "Sin": 1}
