"""Convolutions with one output channel, and products that sum over one element."""

from __future__ import annotations

import numpy as np
import pytest

from ..knowledge_bases.graphs import Graph, check_settled, optimized, outcome


@pytest.mark.parametrize("opset", [13, 17, 21])
def test_an_expected_value_needs_no_transpose(opset: int) -> None:
    """YOLOv8's distribution focal loss: a Softmax over bins, and a Conv with their numbers."""
    g = Graph(x=["N", 48, 30])
    y = g.add("Transpose", g.add("Reshape", "x", g.constant([0, 4, 12, 30])), perm=[0, 2, 1, 3])
    bins = g.constant(np.arange(12, dtype=np.float32).reshape(1, 12, 1, 1))
    y = g.add("Conv", g.add("Softmax", y, axis=1), bins)
    model = g.model(g.add("Reshape", y, g.constant([0, 4, 30])), opset=opset)
    assert not {"Conv", "Transpose"} & set(outcome(model, "ascend").counts)
    check_settled(model, "ascend")


@pytest.mark.parametrize(("outputs", "kernel"), [(2, 1), (1, 3)])
def test_more_outputs_and_larger_kernels_are_convolutions(outputs: int, kernel: int) -> None:
    g = Graph(x=[1, 16, 40, 40])
    y = g.add("Conv", "x", g.weight(outputs, 16, kernel, kernel), g.weight(outputs))
    assert outcome(g.model(y), "ascend").counts == {"Conv": 1}


@pytest.mark.parametrize("known", [True, False])
def test_an_outer_product_is_a_product_element_by_element(known: bool) -> None:
    g = Graph(x=["N", "T", 1])
    row = g.weight(1, 6) if known else g.input("y", [1, 6])
    model = g.model(g.add("Sin", g.add("MatMul", "x", row)))
    assert outcome(model, "ascend").counts == {"Mul": 1, "Sin": 1}


def test_a_sum_over_two_is_a_product_of_matrices() -> None:
    g = Graph(x=["N", "T", 2])
    assert optimized(g.model(g.add("MatMul", "x", g.weight(2, 6)))) == {"MatMul": 1}
