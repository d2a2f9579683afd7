"""Means next to convolutions are part of them where the image is small."""

from typing import Any

import onnx
import pytest

from ..knowledge_bases.graphs import Dims, Graph, check_settled, outcome

TWO: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}


@pytest.mark.parametrize("opset", [11, 21])
@pytest.mark.parametrize(("image", "before"), [((1, 6, 12, 9), True), ((2, 6, 8, 8), False)])
def test_a_mean_and_a_convolution_are_one(image: Dims, before: bool, opset: int) -> None:
    g = Graph(x=list(image))
    if before:
        y = g.add("Conv", g.add("AveragePool", "x", **TWO), g.weight(8, 6, 1, 1), g.weight(8))
    else:
        y = g.add("AveragePool", g.add("Conv", "x", g.weight(8, 6, 3, 3), g.weight(8), pads=[1] * 4), **TWO)
    assert check_settled(g.model(y, opset=opset), "ascend") == {"Conv": 1}


def test_a_branch_with_a_mean_is_part_of_the_kernel() -> None:
    g = Graph(x=[1, 8, 10, 10])
    mean = {"kernel_shape": [3, 3], "pads": [1] * 4, "count_include_pad": 1}
    other = g.add("AveragePool", g.add("Conv", "x", g.weight(8, 8, 1, 1)), **mean)
    y = g.add("Add", g.add("Conv", "x", g.weight(8, 8, 3, 3), pads=[1] * 4), other)
    assert check_settled(g.model(y), "ascend") == {"Conv": 1}


def _apart(image: Dims, **pool: Any) -> onnx.ModelProto:
    g = Graph(x=list(image))
    return g.model(g.add("Conv", g.add("AveragePool", "x", **pool), g.weight(8, 6, 3, 3)))


@pytest.mark.parametrize(
    ("image", "pool"),
    [
        ((1, 6, 12, 9), {"kernel_shape": [3, 3], "pads": [1] * 4}),
        ((1, 6, 9, 9), {**TWO, "ceil_mode": 1}),
        ((8, 6, 200, 200), TWO),
    ],
)
def test_a_mean_of_other_divisors_or_of_many_pixels_stays(image: Dims, pool: dict[str, Any]) -> None:
    found = outcome(_apart(image, **pool), "ascend")
    assert found.counts == {"AveragePool": 1, "Conv": 1}


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("opset", [11, 21])
def test_a_kernel_of_one_element_for_each_channel_is_a_scale(bias: bool, opset: int) -> None:
    g = Graph(x=["N", 6, 9, "W"])
    y = g.add("Conv", "x", g.weight(6, 1, 1, 1), *([g.weight(6)] if bias else []), group=6)
    counts = check_settled(g.model(y, opset=opset), "ascend")
    assert not counts["Conv"] and counts["Mul"] <= 1


def test_two_channels_of_each_stay_a_convolution() -> None:
    g = Graph(x=["N", 6, 9, "W"])
    model = g.model(g.add("Conv", "x", g.weight(12, 1, 1, 1), group=6))
    assert check_settled(model, "ascend") == {"Conv": 1}
