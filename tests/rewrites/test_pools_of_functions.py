"""What is behind a pool goes into the convolution in front of it."""

from typing import Any

import onnx
import pytest

from ..knowledge_bases.graphs import Dims, Graph, check_settled, outcome

TWO: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}
AROUND: dict[str, Any] = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}


def pooled(
    kind: str, functions: list[str], order: str, opset: int, image: Dims = (1, 4, 12, 9), **window: Any
) -> onnx.ModelProto:
    """A convolution, and behind it a pool and functions, in some order."""
    g = Graph(x=list(image))
    y = g.add("Conv", "x", g.weight(6, 4, *(3,) * (len(image) - 2)))
    for step in (kind, *functions) if order == "behind" else (*functions, kind):
        if step == "BatchNormalization":
            parameters = [g.weight(6, positive=True), g.weight(6), g.weight(6), g.weight(6, positive=True)]
            y = g.add(step, y, *parameters)
        else:
            y = g.add(step, y, **(window if step == kind else {}))
    return g.model(y, opset=opset)


@pytest.mark.parametrize(
    ("kind", "functions", "opset", "window"),
    [
        ("MaxPool", ["Relu"], 11, TWO),
        ("MaxPool", ["LeakyRelu"], 13, AROUND),
        ("MaxPool", ["BatchNormalization", "Relu"], 17, TWO),
        ("AveragePool", ["BatchNormalization"], 21, TWO),
        ("AveragePool", ["BatchNormalization"], 11, AROUND),
        ("GlobalAveragePool", ["BatchNormalization"], 13, {}),
        ("GlobalMaxPool", ["BatchNormalization", "Sigmoid"], 17, {}),
    ],
)
def test_functions_and_constants_behind_a_pool_join_the_convolution(
    kind: str, functions: list[str], opset: int, window: dict[str, Any]
) -> None:
    limit = outcome(pooled(kind, functions, "front", opset, **window), "ascend").report.cost.after
    found = outcome(pooled(kind, functions, "behind", opset, **window), "ascend")
    assert found.report.cost.after <= limit * (1 + 1e-9)
    assert outcome(found.model, "ascend").counts == found.counts


def test_of_signals_of_any_length_too() -> None:
    model = pooled(
        "MaxPool", ["BatchNormalization"], "behind", 17, ("N", 4, "L"), kernel_shape=[2], strides=[2]
    )
    assert not check_settled(model, "ascend")["Mul"]


def test_a_mean_in_front_of_a_convolution_hands_on_its_scale() -> None:
    g = Graph(x=["N", 4, 12, 8])
    parameters = [g.weight(4), g.weight(4), g.weight(4), g.weight(4, positive=True)]
    y = g.add("AveragePool", g.add("BatchNormalization", "x", *parameters), **TWO)
    assert not check_settled(g.model(g.add("Conv", y, g.weight(6, 4, 3, 3))), "ascend")["Mul"]


@pytest.mark.parametrize(
    ("kind", "function", "window"),
    [("MaxPool", "Abs", TWO), ("AveragePool", "Relu", TWO), ("AveragePool", "Tanh", AROUND)],
)
def test_functions_that_do_not_commute_stay(kind: str, function: str, window: dict[str, Any]) -> None:
    model = pooled(kind, [function], "behind", 17, **window)
    found = outcome(model, "ascend").model
    assert [node.op_type for node in found.graph.node][-1] == function


def test_a_scale_that_may_be_negative_stays_behind_a_maximum() -> None:
    g = Graph(x=[1, 4, 12, 9])
    y = g.add("MaxPool", g.add("Conv", "x", g.weight(6, 4, 3, 3)), **TWO)
    assert check_settled(g.model(g.add("Mul", y, g.weight(6, 1, 1))), "ascend")["Mul"] == 1
