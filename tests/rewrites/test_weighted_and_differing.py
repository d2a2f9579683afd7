"""Differences of what has one weight, weighted sums, and roots of scaled sums."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import pytest

from ..knowledge_bases.graphs import Dims, Graph, check_settled, optimized

Build = Callable[[Graph], str]
IMAGE: Dims = ["N", 6, 8, 9]


def convolved(g: Graph, x: str, *weights: str) -> str:
    return g.add("Conv", x, *weights, pads=[1, 1, 1, 1])


def images(g: Graph) -> str:
    kernel, bias = g.weight(5, 6, 3, 3), g.weight(5)
    return g.add("Sub", convolved(g, "x", kernel, bias), convolved(g, "y", kernel, bias))


def rows(g: Graph) -> str:
    weight, bias = g.weight(9, 4), g.weight(4)
    both = [g.add("Add", g.add("MatMul", x, weight), bias) for x in ("x", "y")]
    return g.add("Abs", g.add("Sub", *both))


@pytest.mark.parametrize("opset", [11, 21])
@pytest.mark.parametrize(("build", "linear"), [(images, "Conv"), (rows, "MatMul")])
def test_what_two_have_in_common_is_computed_once(build: Build, linear: str, opset: int) -> None:
    g = Graph(x=IMAGE, y=IMAGE)
    model = g.model(build(g), opset=opset)
    for cost in ("ascend", "nodes"):
        found = optimized(model, cost)
        assert found[linear] == 1, (cost, found)
        assert not found["Add"]
    check_settled(model)


def test_differences_of_two_weights_stay() -> None:
    g = Graph(x=IMAGE, y=IMAGE)
    apart = g.add("Sub", convolved(g, "x", g.weight(5, 6, 3, 3)), convolved(g, "y", g.weight(5, 6, 3, 3)))
    assert optimized(g.model(apart))["Conv"] == 2


def weighted(g: Graph, keepdims: int, opset: int) -> onnx.ModelProto:
    product = g.add("Mul", "x", g.weight(9))
    if opset < 13:
        return g.model(g.add("ReduceSum", product, axes=[-1], keepdims=keepdims), opset=opset)
    return g.model(g.add("ReduceSum", product, g.constant([-1]), keepdims=keepdims), opset=opset)


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("opset", [11, 17])
def test_a_weighted_sum_is_a_product_where_nodes_count(keepdims: int, opset: int) -> None:
    model = weighted(Graph(x=["N", 5, 9]), keepdims, opset)
    assert optimized(model) == {"MatMul": 1}


def test_a_product_with_a_column_is_a_weighted_sum_where_matrices_are_dear() -> None:
    g = Graph(x=["N", 5, 9])
    model = g.model(g.add("MatMul", "x", g.weight(9, 1)))
    assert optimized(model, "ascend") == {"Mul": 1, "ReduceSum": 1}


def test_a_sample_deviation_is_a_norm() -> None:
    """As numpy's std(ddof=1) is exported: n / (n - 1) is a scale of the norm."""
    g = Graph(x=[4, 16])
    mean = g.add("ReduceMean", "x", axes=[1])
    centred = g.add("Sub", "x", mean)
    variance = g.add("ReduceMean", g.add("Mul", centred, centred), axes=[1])
    sample = g.add("Div", g.add("Mul", variance, g.constant(16.0)), g.constant(15.0))
    model = g.model(g.add("Div", centred, g.add("Sqrt", sample)), opset=13)
    found = optimized(model)
    assert found.total() == 5
    assert found["ReduceL2"] == 1


def test_positions_behind_a_padding_index_are_a_shorter_table() -> None:
    g = Graph(x=["N", 5, 7])
    best = g.add("ArgMax", "x", axis=2, keepdims=0)
    shifted = g.add("Add", best, g.constant(2))
    model = g.model(g.add("Gather", g.weight(12, 4), shifted))
    assert optimized(model) == {"ArgMax": 1, "Gather": 1}
