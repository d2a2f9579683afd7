"""One row by a computed index is taken before it is computed; the last index counts from the end."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Graph, check_settled

OPSETS = pytest.mark.parametrize("opset", [11, 13, 17, 21])


def _last(g: Graph, x: str, *, step: int = 1) -> str:
    """The last index along the axis before the last."""
    length = g.add("Gather", g.add("Shape", x), g.constant(np.array(1)), axis=0)
    return g.add("Sub", length, g.constant(np.array(step)))


@OPSETS
@pytest.mark.parametrize("cost", ["nodes", "ascend"])
def test_the_last_token_is_read_before_it_is_projected(opset: int, cost: str) -> None:
    g = Graph(x=["N", "S", 12])
    hidden = g.add("Add", g.add("MatMul", "x", g.weight(12, 7)), g.weight(7))
    counts = check_settled(g.model(g.add("Gather", hidden, _last(g, hidden), axis=1), opset=opset), cost)
    assert counts.pop("Gather") == 1 and counts in ({"Gemm": 1}, {"MatMul": 1, "Add": 1})


@OPSETS
def test_of_a_block_of_layers_one_token_is_computed(opset: int) -> None:
    """A residual and a function are between, and the index is one of the inputs."""
    g = Graph(x=["N", "S", 12])
    hidden = g.add("Relu", g.add("Add", g.add("MatMul", "x", g.weight(12, 12)), g.weight(12)))
    hidden = g.add("Add", "x", g.add("MatMul", hidden, g.weight(12, 12)))
    if opset >= 17:
        hidden = g.add("LayerNormalization", hidden, g.weight(12), g.weight(12))
    place = g.input("i", [], TensorProto.INT64)
    made = check_settled(g.model(g.add("Gather", hidden, place, axis=1), opset=opset), "ascend")
    assert made["Gather"] == 1 and made["Relu"] == 1


@pytest.mark.parametrize("axis", [0, 1])
def test_along_either_axis_of_rows(axis: int) -> None:
    g = Graph(x=[5, 9, 6])
    made = g.add("Sigmoid", g.add("MatMul", "x", g.weight(6, 8)))
    y = g.add("Gather", made, g.input("i", [1], TensorProto.INT32), axis=axis)
    assert check_settled(g.model(y), "ascend") == {"Gather": 1, "MatMul": 1, "Sigmoid": 1}


def test_the_last_but_one_is_no_index_of_one_element() -> None:
    """-1 is an index of it, and -2 is none."""
    g = Graph(x=["N", "S", 12])
    counts = check_settled(g.model(g.add("Gather", "x", _last(g, "x", step=2), axis=1)))
    assert counts["Sub"] == 1


def test_two_rows_and_columns_are_left_alone() -> None:
    g = Graph(x=["N", 6, 5])
    made = g.add("MatMul", "x", g.weight(5, 8))
    two, one = (g.input(name, dims, TensorProto.INT64) for name, dims in (("i", [2]), ("j", [1])))
    outputs = [g.add("Gather", made, two, axis=1), g.add("Gather", made, one, axis=2)]
    assert check_settled(g.model(*outputs)) == {"MatMul": 1, "Gather": 2}
