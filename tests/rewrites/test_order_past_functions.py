"""Channels in another order, beside a function, are in another order in a weight."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from ..knowledge_bases.graphs import Dims, Graph, outcome

ORDER = [3, 1, 0, 2, 7, 6, 5, 4]


def behind(function: str, order: list[int], opset: int, image: Dims) -> onnx.ModelProto:
    g = Graph(x=image)
    y = g.add("Conv", "x", g.weight(8, 4, *(3,) * (len(image) - 2)), g.weight(8))
    return g.model(g.add("Gather", g.add(function, y), g.constant(order), axis=1), opset=opset)


@pytest.mark.parametrize("cost", ["ascend", "nodes"])
@pytest.mark.parametrize(
    ("function", "order", "opset", "image"),
    [
        ("Relu", ORDER, 13, [1, 4, 9, 9]),
        ("HardSwish", ORDER, 21, ["N", 4, 9]),
        ("Tanh", [5, 0, 2], 11, ["N", 4, 9, "W"]),
    ],
)
def test_an_order_behind_a_function_goes_into_the_convolution(
    function: str, order: list[int], opset: int, image: Dims, cost: str
) -> None:
    counts = outcome(behind(function, order, opset, image), cost).counts
    assert counts["Conv"] == counts[function] == 1
    assert "Gather" not in counts


def test_channels_that_are_taken_twice_are_computed_once() -> None:
    model = behind("Relu", [0, 0, 1, 1, 2, 2], 17, [1, 4, 9, 9])
    assert outcome(model, "ascend").counts["Conv"] == 1


@pytest.mark.parametrize("cost", ["ascend", "nodes"])
@pytest.mark.parametrize(("weight", "opset"), [("Conv", 11), ("MatMul", 13), ("MatMul", 21)])
def test_an_order_in_front_of_a_function_goes_into_the_weight(weight: str, opset: int, cost: str) -> None:
    g = Graph(x=["N", 8, 6, 8])
    y = g.add("Relu", g.add("Gather", "x", g.constant(np.array(ORDER)), axis=1 if weight == "Conv" else 3))
    model = g.model(g.add(weight, y, g.weight(*((5, 8, 3, 3) if weight == "Conv" else (8, 5)))), opset=opset)
    assert outcome(model, cost).counts == {"Relu": 1, weight: 1}


def test_an_order_of_rows_stays() -> None:
    g = Graph(x=["N", 8, 8, 8])
    y = g.add("Relu", g.add("Gather", "x", g.constant(np.array(ORDER)), axis=2))
    assert outcome(g.model(g.add("MatMul", y, g.weight(8, 5))), "nodes").counts["Gather"] == 1
