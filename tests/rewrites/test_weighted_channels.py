"""Images that become grey in front of a convolution: the weights of the channels go into its kernel."""

from __future__ import annotations

import pytest

from ..knowledge_bases.graphs import Graph, check_settled, optimized

OPSETS = pytest.mark.parametrize("opset", [11, 13, 17, 21])
COSTS = pytest.mark.parametrize("cost", ["nodes", "ascend"])
WEIGHTS = (0.2989, 0.587, 0.114)


@OPSETS
@COSTS
def test_channels_that_are_gathered_one_by_one(opset: int, cost: str) -> None:
    """As torchvision's rgb_to_grayscale is exported."""
    g = Graph(x=["N", 3, "H", "W"])
    channels = [g.add("Gather", "x", g.constant(k), axis=1) for k in range(3)]
    red, green, blue = (
        g.add("Mul", c, g.constant(weight)) for c, weight in zip(channels, WEIGHTS, strict=True)
    )
    y = g.add("Add", g.add("Add", red, green), blue)
    y = g.add("Unsqueeze", y, g.constant([1])) if opset >= 13 else g.add("Unsqueeze", y, axes=[1])
    y = g.add("Conv", y, g.weight(8, 1, 5, 5), g.weight(8), strides=[2, 2], pads=[2, 2, 2, 2])
    assert check_settled(g.model(g.add("Relu", y), opset=opset), cost) == {"Conv": 1, "Relu": 1}


@OPSETS
@COSTS
def test_channels_that_are_split(opset: int, cost: str) -> None:
    g = Graph(x=[2, 4, 20])
    sizes = {"axis": 1, "num_outputs": 4} if opset >= 18 else {"axis": 1}
    a, b, c, d = g.add_many("Split", "x", outputs=4, **sizes)
    y = g.add("Sub", g.add("Mul", g.constant(0.5), b), g.add("Div", c, g.constant(3.0)))
    y = g.add("Mul", g.add("Add", d, y), g.constant(2.0))
    y = g.add("Conv", y, g.weight(6, 1, 3), dilations=[2])
    counts = check_settled(g.model(y, a, opset=opset), cost)
    assert counts["Conv"] == 1
    assert counts["Mul"] == counts["Add"] == counts["Sub"] == counts["Div"] == 0


def test_a_channel_that_is_not_mixed_stays_out() -> None:
    g = Graph(x=["N", 3, 8, 8])
    red, blue = (g.add("Slice", "x", *(g.constant([v]) for v in (k, k + 1, 1))) for k in (0, 2))
    y = g.add("Conv", g.add("Add", red, g.add("Mul", blue, g.constant(0.3))), g.weight(8, 1, 3, 3))
    assert optimized(g.model(y))["Add"] == 1
