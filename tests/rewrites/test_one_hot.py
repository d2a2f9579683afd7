"""Products with one-hot rows take rows, where these are known to be there."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Graph, check_settled, check_untouched, optimized, outcome


def one_hot(g: Graph, i: str, depth: int = 12, *, dtype: type = np.float32, axis: int = -1) -> str:
    return g.add("OneHot", i, g.constant(depth), g.constant(np.array([0, 1], dtype)), axis=axis)


@pytest.mark.parametrize("opset", [11, 13, 21])
@pytest.mark.parametrize("arg", ["ArgMax", "ArgMin"])
def test_a_product_with_a_codebook_takes_its_rows(arg: str, opset: int) -> None:
    """VQ-VAE: the place of the nearest of 12 codes, as PyTorch's one_hot is exported."""
    g = Graph(x=["N", "L", 12])
    hot = g.add("Cast", one_hot(g, g.add(arg, "x", axis=2, keepdims=0), dtype=np.int64), to=TensorProto.FLOAT)
    model = g.model(g.add("MatMul", hot, g.weight(12, 8)), opset=opset)
    assert check_settled(model) == {arg: 1, "Gather": 1}
    cost = outcome(model, "ascend").report.cost
    assert cost.after < 0.6 * cost.before


@pytest.mark.parametrize("low", [0, -12])
def test_indices_between_bounds_are_rows_from_either_end(low: int) -> None:
    g = Graph(e=[12, "N"])
    i = g.add("Clip", g.input("i", [4, 5], TensorProto.INT64), *map(g.constant, (low, 11)))
    assert optimized(g.model(g.add("MatMul", one_hot(g, i), "e"))) == {"Clip": 1, "Gather": 1}


def product(axis: int, values: list[float]) -> onnx.ModelProto:
    g = Graph(x=[12, 12])
    place = g.add("ArgMax", "x", axis=1, keepdims=0)
    hot = g.add("OneHot", place, g.constant(12), g.constant(values), axis=axis)
    return g.model(g.add("MatMul", hot, g.weight(12, 3)))


@pytest.mark.parametrize(
    ("axis", "values"),
    [(0, [0.0, 1.0]), (1, [0.0, 2.0]), (1, [1.0, 0.0])],
    ids=["columns", "twice the row", "all but the row"],
)
def test_other_products_stay(axis: int, values: list[float]) -> None:
    check_untouched(product(axis, values))


def test_an_index_that_may_be_out_of_range_has_zeros_and_no_row() -> None:
    g = Graph()
    i = g.input("i", [6], TensorProto.INT64)
    check_untouched(g.model(g.add("MatMul", one_hot(g, i), g.weight(12, 8))))
