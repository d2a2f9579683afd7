"""Patches, phases and borders of images that exporters write with views, slices and constants."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from ..knowledge_bases.graphs import Dims, Graph, check_settled, check_untouched, optimized, outcome


def _patch_rows(g: Graph, dims: list[int], side: int, order: list[int]) -> str:
    """Rows of patches of an image, their pixels and channels in an order."""
    batch, channels, height, width = dims
    rows, columns = height // side, width // side
    y = g.add("Reshape", "x", g.constant([batch, channels, rows, side, columns, side]))
    y = g.add("Transpose", y, perm=[0, 2, 4, *order])
    return g.add("Reshape", y, g.constant([batch, rows * columns, channels * side * side]))


@pytest.mark.parametrize("opset", [11, 21])
@pytest.mark.parametrize("order", [[3, 5, 1], [1, 3, 5], [5, 1, 3]])
def test_a_linear_layer_of_patches_is_a_convolution(order: list[int], opset: int) -> None:
    g = Graph(x=[2, 3, 24, 40])
    y = g.add("MatMul", _patch_rows(g, [2, 3, 24, 40], 8, order), g.weight(192, 16))
    model = g.model(g.add("Add", y, g.weight(16)), opset=opset)
    assert optimized(model, "nodes") == {"Conv": 1, "Reshape": 1, "Transpose": 1}
    check_settled(model, "nodes")


@pytest.mark.parametrize("dims", [[1, 3, 224, 224], ["N", 3, 96, 64]])
def test_a_convolution_of_patches_with_few_channels_is_a_product_for_the_npu(dims: Dims) -> None:
    """Which fills three channels up to sixteen."""
    g = Graph(x=dims)
    y = g.add("Conv", "x", g.weight(256, 3, 16, 16), g.weight(256), strides=[16, 16])
    rows = int(dims[2]) * int(dims[3]) // 256
    y = g.add("Reshape", y, g.constant([0, 256, rows]))
    model = g.model(g.add("Transpose", y, perm=[0, 2, 1]))
    assert optimized(model, "ascend") == {"Reshape": 2, "Transpose": 1, "MatMul": 1, "Add": 1}
    check_settled(model, "ascend")
    assert optimized(model, "nodes") == {"Conv": 1, "Reshape": 1, "Transpose": 1}


@pytest.mark.parametrize(
    "window",
    [{"strides": [2, 2]}, {"strides": [4, 4], "pads": [0, 0, 4, 4]}, {"strides": [4, 4], "group": 3}],
)
def test_other_convolutions_make_no_rows(window: dict[str, Any]) -> None:
    g = Graph(x=[1, 3, 32, 64])
    w = g.weight(33, 3 // window.get("group", 1), 4, 4)
    check_untouched(g.model(g.add("Conv", "x", w, **window)), "ascend")


def test_rows_of_another_length_are_no_patches() -> None:
    g = Graph(x=[2, 3, 24, 40])
    y = g.add("Reshape", "x", g.constant([2, 3, 3, 8, 5, 8]))
    y = g.add("Reshape", g.add("Transpose", y, perm=[0, 2, 3, 4, 5, 1]), g.constant([2, 24, 120]))
    check_untouched(g.model(g.add("MatMul", y, g.weight(120, 16))), "nodes")


@pytest.mark.parametrize("cost", ["nodes", "ascend"])
@pytest.mark.parametrize("dims", [[1, 8, 12, 5], ["N", 8, 12, 5], [8, 12, 5]])
def test_patches_that_are_merged_with_the_channels_last_are_views(dims: list[int], cost: str) -> None:
    """As between the stages of Swin, a Slice for each axis."""
    g = Graph(x=dims)
    first, parts = len(dims) - 3, []
    for column, row in product(range(2), range(2)):
        y = g.add("Slice", "x", *(g.constant([k]) for k in (row, 2**31 - 1, first, 2)))
        parts.append(g.add("Slice", y, *(g.constant([k]) for k in (column, 2**31 - 1, first + 1, 2))))
    model = g.model(g.add("Relu", g.add("Concat", *parts, axis=-1)))
    assert optimized(model, cost) == {"Reshape": 2, "Transpose": 1, "Relu": 1}
    check_settled(model, cost)


@pytest.mark.parametrize("opset", [11, 13, 21])
@pytest.mark.parametrize("sides", [(1, 0), (0, 1), (1, 1)])
def test_borders_of_zeros_are_pads_of_a_convolution(sides: tuple[int, int], opset: int) -> None:
    g = Graph(x=[1, 4, 30])
    zeros = g.constant(np.zeros((1, 4, 2), np.float32))
    y = g.add("Concat", *[zeros] * sides[0], "x", *[zeros] * sides[1], axis=2)
    model = g.model(g.add("Conv", y, g.weight(6, 4, 3)), opset=opset)
    for cost in ("nodes", "ascend"):
        assert optimized(model, cost) == {"Conv": 1}
    (node,) = outcome(model, "nodes").model.graph.node
    assert [list(a.ints) for a in node.attribute if a.name == "pads"] == [[2 * side for side in sides]]


def test_borders_of_several_numbers_stay() -> None:
    g = Graph(x=[1, 4, 30])
    y = g.add("Concat", g.weight(1, 4, 2), "x", axis=2)
    check_untouched(g.model(g.add("Conv", y, g.weight(6, 4, 3))), "nodes")


@pytest.mark.parametrize("cost", ["nodes", "ascend"])
@pytest.mark.parametrize("function", ["Add", "Mul", "Sub"])
def test_rows_of_two_tables_are_rows_of_one(function: str, cost: str) -> None:
    g = Graph(x=["N", 4])
    i = g.add("Cast", "x", to=7)
    parts = [g.add("Gather", g.weight(20, 8), i) for _ in range(2)]
    assert optimized(g.model(g.add(function, *parts)), cost) == {"Cast": 1, "Gather": 1}


def test_means_and_deviations_with_the_channels_last_go_into_a_convolution() -> None:
    """The preprocessing of a network that TensorFlow trained: (x / 255 - mean) / deviation."""
    g = Graph(x=["N", 32, 32, 3])
    y = g.add("Div", "x", g.constant(np.float32(255)))
    y = g.add("Sub", y, g.constant(np.array([0.485, 0.456, 0.406], np.float32)))
    y = g.add("Div", y, g.constant(np.array([0.229, 0.224, 0.225], np.float32)))
    y = g.add("Transpose", y, perm=[0, 3, 1, 2])
    model = g.model(g.add("Conv", y, g.weight(8, 3, 3, 3), g.weight(8)))
    assert optimized(model, "nodes") == {"Transpose": 1, "Conv": 1}
