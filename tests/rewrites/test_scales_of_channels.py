"""A depthwise convolution whose kernel is one element is a scale."""

import pytest

from ..knowledge_bases.graphs import Graph, check_settled


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
