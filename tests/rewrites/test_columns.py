"""Columns of one tensor that are added up and joined are one product; other sums stay sums."""

from __future__ import annotations

import numpy as np
import pytest

from ..knowledge_bases.graphs import Dims, Graph, check_settled, outcome
from .test_parts_with_constants import parts


@pytest.mark.parametrize("opset", [11, 13, 21])
@pytest.mark.parametrize(
    ("dims", "axis", "sizes"),
    [(["N", 4], 1, [1] * 4), ([2, 30, 4], 2, [2, 2]), ([2, 4, 30], 1, [2, 2]), (["N", 3, 6, 5], 2, [3, 3])],
)
def test_centres_and_sizes_become_corners(opset: int, dims: Dims, axis: int, sizes: list[int]) -> None:
    g = Graph(x=dims)
    found = parts(g, "x", sizes, axis, opset)
    half = len(sizes) // 2
    sides = [g.add("Div", size, g.constant(2.0)) for size in found[half:]]
    made = [g.add(op, *pair) for op in ("Sub", "Add") for pair in zip(found[:half], sides, strict=True)]
    counts = check_settled(g.model(g.add("Concat", *made, axis=axis), opset=opset), "ascend")
    assert counts == {"MatMul": 1}


def test_corners_become_centres_and_sizes_and_others_stay() -> None:
    g = Graph(x=["N", 7, 6])
    first, last, rest = parts(g, "x", [2, 2, 2], 2, 17)
    centre = g.add("Mul", g.add("Add", first, last), g.constant(0.5))
    made = g.add("Concat", centre, g.add("Sub", last, first), rest, axis=2)
    assert outcome(g.model(made), "nodes").counts == {"MatMul": 1}


@pytest.mark.parametrize("kind", ["two tensors", "a function", "another axis", "many columns"])
def test_what_is_no_sum_of_columns_stays(kind: str) -> None:
    width = 64 if kind == "many columns" else 4
    g = Graph(x=[8, width, 8 if kind == "another axis" else 1, 8], y=[8, width, 1, 8])
    axis = 0 if kind == "another axis" else 3
    near, far = parts(g, "x", [4, 4], axis, 17)
    if kind == "two tensors":
        far = parts(g, "y", [4, 4], axis, 17)[0]
    elif kind == "a function":
        far = g.add("Exp", far)
    elif kind == "many columns":
        g = Graph(x=[5, 64])
        near, far = parts(g, "x", [32, 32], 1, 17)
        axis = 1
    made = g.add("Concat", g.add("Sub", near, far), g.add("Add", near, far), axis=axis)
    counts = outcome(g.model(made), "ascend").counts
    assert counts["Sub"] == counts["Add"] == 1 and not counts["MatMul"]


def test_integers_are_added() -> None:
    g = Graph()
    g.input("x", [5, 2], 7)
    near, far = parts(g, "x", [1, 1], 1, 17)
    made = g.add("Concat", g.add("Sub", near, far), g.add("Add", near, far), axis=1)
    counts = outcome(g.model(made, dtypes={made: 7}), "ascend").counts
    assert counts["Sub"] == counts["Add"] == 1 and np.sum(list(counts.values())) >= 4
