"""What is added to an image or a row of itself, conditions that are numbers in between, mirror images."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Graph, check_settled, optimized


@pytest.mark.parametrize("order", ["x first", "x last"])
def test_noise_that_is_subtracted_is_one_convolution(order: str) -> None:
    """DnCNN subtracts from an image what a network takes for noise."""
    g = Graph(x=["N", 6, 8, 9])
    noise = g.add("Conv", "x", g.weight(6, 6, 3, 3), g.weight(6), pads=[1, 1, 1, 1])
    operands = ("x", noise) if order == "x first" else (noise, "x")
    assert check_settled(g.model(g.add("Sub", *operands))) == {"Conv": 1}


@pytest.mark.parametrize("op", ["Add", "Sub"])
@pytest.mark.parametrize("opset", [11, 21])
def test_a_residual_product_is_one_product(op: str, opset: int) -> None:
    g = Graph(x=["N", 5, 8])
    product = g.add("MatMul", "x", g.weight(8, 8))
    assert check_settled(g.model(g.add(op, "x", product), opset=opset)) == {"MatMul": 1}


def test_a_residual_product_of_another_tensor_stays() -> None:
    g = Graph(x=["N", 5, 8], y=["N", 5, 8])
    assert optimized(g.model(g.add("Add", "y", g.add("MatMul", "x", g.weight(8, 8)))))["Add"] == 1


def masked(to: int, opset: int = 17) -> onnx.ModelProto:
    """A condition that is cast to a number, and compared with 0."""
    g = Graph(y=["N", 4], z=["N", 4])
    condition = g.input("c", ["N", 4], TensorProto.BOOL)
    zero = g.constant(np.zeros((), onnx.helper.tensor_dtype_to_np_dtype(to)))
    return g.model(
        g.add("Where", g.add("Equal", g.add("Cast", condition, to=to), zero), "y", "z"), opset=opset
    )


@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize("to", [TensorProto.FLOAT, TensorProto.INT64])
def test_a_condition_is_compared_as_no_number(to: int, opset: int) -> None:
    for cost in ("nodes", "ascend"):
        assert check_settled(masked(to, opset), cost) == {"Where": 1}


@pytest.mark.parametrize("op", ["ReduceMean", "ReduceMax"])
def test_a_mirror_image_has_the_features_of_the_image(op: str) -> None:
    g = Graph(x=["N", 6, 8, 9])
    bounds = (g.constant([-1]), g.constant([-(2**63) + 1]), g.constant([3]), g.constant([-1]))
    model = g.model(g.add(op, g.add("Slice", "x", *bounds), axes=[2, 3]), opset=13)
    assert optimized(model)["Slice"] == 0
    rows = g.model(g.add(op, g.add("Slice", "x", *bounds), axes=[1, 2]), opset=13)
    assert optimized(rows)["Slice"] == 1
