"""What ArgMax chooses is the largest element, also where its axis was dropped and is there again."""

import numpy as np
import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Graph, check_settled, outcome

OPSETS = (11, 13, 17, 21)


def unsqueezed(g: Graph, x: str, opset: int, axis: int) -> str:
    if opset >= 13:
        return g.add("Unsqueeze", x, g.constant(np.array([axis])))
    return g.add("Unsqueeze", x, axes=[axis])


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(("arg", "axis"), [("ArgMax", 1), ("ArgMin", 2), ("ArgMax", -1), ("ArgMin", 0)])
def test_elements_at_a_dropped_axis_are_the_largest(opset: int, arg: str, axis: int) -> None:
    g = Graph(x=["N", 5, 7])
    places = unsqueezed(g, g.add(arg, "x", axis=axis, keepdims=0), opset, axis)
    counts = check_settled(g.model(g.add("GatherElements", "x", places, axis=axis), opset=opset), "nodes")
    assert counts.total() == 1 and arg not in counts and "GatherElements" not in counts


def test_elements_at_other_places_are_gathered() -> None:
    g = Graph(x=[5, 5])
    places = unsqueezed(g, g.add("ArgMax", "x", axis=1, keepdims=0), 17, 0)
    turned = outcome(g.model(g.add("GatherElements", "x", places, axis=1), opset=17), "nodes")
    assert turned.counts["GatherElements"] == 1
    g = Graph(x=[4, 5])
    halves = g.add("Cast", "x", to=TensorProto.FLOAT16)
    places = unsqueezed(g, g.add("ArgMax", halves, axis=1, keepdims=0), 17, 1)
    rounded = outcome(g.model(g.add("GatherElements", "x", places, axis=1), opset=17), "nodes")
    assert rounded.counts["GatherElements"] == 1
