"""What is taken in another order of the indices is taken by transposed ones."""

from __future__ import annotations

import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Graph, check_settled


@pytest.mark.parametrize("opset", [11, 13, 17, 21])
@pytest.mark.parametrize("cost", ["nodes", "ascend"])
@pytest.mark.parametrize("dtype", [TensorProto.INT32, TensorProto.INT64])
def test_embeddings_with_the_batch_first_are_read_time_first(opset: int, cost: str, dtype: int) -> None:
    g = Graph()
    rows = g.add("Gather", g.weight(20, 6), g.input("ids", ["N", "S"], dtype))
    moved = g.add("Transpose", rows, perm=[1, 0, 2])
    layer = g.add_many("GRU", moved, g.weight(1, 15, 6), g.weight(1, 15, 5), outputs=1, hidden_size=5)
    counts = check_settled(g.model(*layer, opset=opset), cost)
    assert counts == {"Transpose": 1, "Gather": 1, "GRU": 1}
    outcome = g.model(moved, opset=opset)
    assert check_settled(outcome, "ascend") == {"Transpose": 1, "Gather": 1}


@pytest.mark.parametrize("opset", [11, 17])
def test_indices_that_were_transposed_for_it_are_as_they_came(opset: int) -> None:
    g = Graph(x=[3, 8, 5])
    turned = g.add("Transpose", g.input("i", [2, 4, 6], TensorProto.INT64), perm=[2, 0, 1])
    taken = g.add("Sigmoid", g.add("Gather", "x", turned, axis=1))
    y = g.add("Transpose", taken, perm=[0, 2, 3, 1, 4])
    assert check_settled(g.model(y, opset=opset)) == {"Gather": 1, "Sigmoid": 1}


def test_an_axis_of_the_table_that_moves_is_left_alone() -> None:
    g = Graph(x=[3, 8, 5])
    taken = g.add("Gather", "x", g.input("i", [2, 4], TensorProto.INT64), axis=1)
    y = g.add("Transpose", taken, perm=[0, 2, 3, 1])
    assert check_settled(g.model(y)) == {"Gather": 1, "Transpose": 1}
