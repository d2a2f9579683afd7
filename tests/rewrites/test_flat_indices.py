"""Elements that are taken by several known indices are taken of axes that are joined."""

from __future__ import annotations

import numpy as np
import pytest

from ..knowledge_bases.graphs import Dims, Graph, check_settled

OPSETS = pytest.mark.parametrize("opset", [12, 13, 17, 21])


@OPSETS
@pytest.mark.parametrize(("batch", "size"), [("N", 6), (3, 9)])
def test_pairs_of_features_are_taken_without_transposes(opset: int, batch: int | str, size: int) -> None:
    """`z[:, i, j]` of DLRM: below the diagonal of the products of all features."""
    g = Graph(x=[batch, size, 8])
    products = g.add("MatMul", "x", g.add("Transpose", "x", perm=[0, 2, 1]))
    pairs = g.constant(np.stack(np.tril_indices(size, -1), axis=-1))
    taken = g.add("GatherND", g.add("Transpose", products, perm=[1, 2, 0]), pairs)
    made = g.model(g.add("Transpose", taken, perm=[1, 0]), opset=opset)
    assert check_settled(made, "ascend") == {"Transpose": 1, "MatMul": 1, "Reshape": 1, "Gather": 1}


@OPSETS
@pytest.mark.parametrize(
    ("dims", "front", "back"),
    [
        (["N", 4, 5, 3], [1, 2, 0, 3], [1, 0, 2]),
        ([2, 7, 4, 5], [2, 3, 0, 1], [1, 2, 0]),
        ([4, 5, "N", 3], [0, 1, 2, 3], [0, 1, 2]),
    ],
)
def test_of_neighbours_among_other_axes(opset: int, dims: Dims, front: list[int], back: list[int]) -> None:
    g = Graph(x=dims)
    indices = g.constant(np.array([[3, 4], [0, 2], [3, 3], [-4, -1]]))
    taken = g.add("GatherND", g.add("Transpose", "x", perm=front), indices)
    made = g.model(g.add("Transpose", taken, perm=back), opset=opset)
    counts = check_settled(made, "ascend")
    assert counts["Transpose"] == 0


def test_of_axes_of_any_length_several_are_taken_from() -> None:
    g = Graph(x=["N", 5, 3])
    assert check_settled(g.model(g.add("GatherND", "x", g.constant(np.array([[0, 1]]))))) == {"GatherND": 1}
