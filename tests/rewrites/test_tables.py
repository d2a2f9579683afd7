"""Functions of what is taken from a constant table are computed once, for the table."""

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Dims, Graph, check_settled, outcome

Functions = dict[str, Callable[[Graph, str], str]]

FUNCTIONS: Functions = {
    "relu": lambda g, y: g.add("Relu", y),
    "scale": lambda g, y: g.add("Mul", g.constant(3.0), y),
    "columns": lambda g, y: g.add("Add", y, g.weight(8)),
    "transpose": lambda g, y: g.add("Transpose", y, perm=[2, 0, 1]),
    "product": lambda g, y: g.add("MatMul", y, g.weight(8, 5)),
    "norm": lambda g, y: g.add("LayerNormalization", y, g.weight(8), g.weight(8), axis=-1),
    "mean": lambda g, y: g.add("ReduceMean", y, axes=[2], keepdims=0),
    "softmax": lambda g, y: g.add("Softmax", y, axis=-1),
}


def embedded(dims: Dims, function: Callable[[Graph, str], str]) -> onnx.ModelProto:
    """A function of rows of a table of 30 rows."""
    g = Graph()
    g.input("i", dims, TensorProto.INT64)
    return g.model(function(g, g.add("Gather", g.weight(30, 8), "i", axis=0)))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dims", [[1, 20], ["N", "L"]])
def test_a_function_of_rows_is_rows_of_a_table(name: str, dims: Dims) -> None:
    for cost in ("nodes", "ascend"):
        assert outcome(embedded(dims, FUNCTIONS[name]), cost).counts == {"Gather": 1}


def test_a_chain_of_functions_is_one_table() -> None:
    g = Graph()
    g.input("i", ["N"], TensorProto.INT32)
    places = g.add("Cast", g.add("Gather", g.constant(np.arange(64)[:, None]), "i"), to=TensorProto.FLOAT)
    angle = g.add("Mul", places, g.constant([[0.1]]))
    assert outcome(g.model(g.add("Cos", angle), opset=13)).counts == {"Gather": 1}


@pytest.mark.parametrize("count", [2, 3])
def test_several_tables_are_one(count: int) -> None:
    g = Graph()
    g.input("i", ["N", 6], TensorProto.INT64)
    rows = [g.add("Gather", g.weight(30, 8), "i") for _ in range(count)]
    both = g.add("Concat", *rows, axis=2)
    assert outcome(g.model(both), "ascend").counts == {"Gather": 1}


def test_a_table_is_not_made_much_larger() -> None:
    g = Graph()
    g.input("i", ["N"], TensorProto.INT64)
    wide = g.add("MatMul", g.add("Gather", g.weight(500, 4), "i"), g.weight(4, 100))
    assert outcome(g.model(wide)).counts["MatMul"] == 1


@pytest.mark.parametrize("cost", ["nodes", "ascend"])
def test_a_small_table_may_be_larger_than_both(cost: str) -> None:
    """Rows of 8 become 16, as many as fit where starting an operator takes longer than reading them."""
    model = embedded(["N", "L"], lambda g, y: g.add("MatMul", y, g.weight(8, 16)))
    assert check_settled(model, cost) == {"Gather": 1}


def test_what_differs_from_index_to_index_stays() -> None:
    model = embedded([4, 6], lambda g, y: g.add("Add", y, g.weight(6, 1)))
    assert outcome(model).counts == {"Gather": 1, "Add": 1}
