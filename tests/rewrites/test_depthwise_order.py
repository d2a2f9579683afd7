"""Channel shuffles in front of depthwise convolutions go into weights, or meet what undoes them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from ..knowledge_bases.graphs import Dims, Graph, check_settled, outcome

ORDER = np.array([4, 0, 5, 1, 3, 2])
BACK = np.argsort(ORDER)


def depthwise(g: Graph, x: str, bias: bool, axes: int = 2) -> str:
    given = [x, g.weight(6, 1, *(3,) * axes), *([g.weight(6)] if bias else [])]
    return g.add("Conv", *given, group=6, pads=[1] * 2 * axes)


@pytest.mark.parametrize("cost", ["nodes", "ascend"])
@pytest.mark.parametrize(
    ("opset", "image", "bias"),
    [(11, (1, 6, 5, 7), False), (13, ("N", 6, 5, 7), True), (21, ("N", 6, "H", "W"), True)],
)
def test_an_order_goes_past_a_depthwise_convolution_into_the_next_weight(
    opset: int, image: Dims, bias: bool, cost: str
) -> None:
    g = Graph(x=list(image))
    y = g.add("Relu", depthwise(g, g.add("Gather", "x", g.constant(ORDER), axis=1), bias))
    model = g.model(g.add("Conv", y, g.weight(5, 6, 1, 1), g.weight(5)), opset=opset)
    assert check_settled(model, cost) == {"Conv": 2, "Relu": 1}


def test_a_shuffle_that_is_undone_behind_vanishes() -> None:
    g = Graph(x=[2, 6, 4, 4])
    y = g.add("Relu", depthwise(g, shuffled(g, g.add("Relu", "x"), 2), True))
    assert check_settled(g.model(shuffled(g, y, 3), opset=17)) == {"Relu": 2, "Conv": 1}


def shuffled(g: Graph, x: str, groups: int) -> str:
    """Channels in groups, turned, as ShuffleNet has them."""
    apart = g.add("Reshape", x, g.constant([2, groups, 6 // groups, 4, 4]))
    return g.add("Reshape", g.add("Transpose", apart, perm=[0, 2, 1, 3, 4]), g.constant([2, 6, 4, 4]))


def test_rows_of_one_axis_are_put_back() -> None:
    g = Graph(x=["N", 6, "L"])
    y = depthwise(g, g.add("Gather", "x", g.constant(ORDER), axis=1), False, axes=1)
    assert check_settled(g.model(g.add("Gather", y, g.constant(BACK), axis=1), opset=17)) == {"Conv": 1}


@pytest.mark.parametrize("why", ["groups of two", "twice", "another axis"])
def test_other_orders_stay(why: str) -> None:
    g = Graph(x=[1, 6, 6, 6])
    order, axis = ([0, 0, 1, 2, 3, 4], 1) if why == "twice" else (ORDER, 2 if why == "another axis" else 1)
    taken = g.add("Gather", "x", g.constant(order), axis=axis)
    groups = 3 if why == "groups of two" else 6
    y = g.add("Conv", taken, g.weight(6, 6 // groups, 3, 3), group=groups, pads=[1] * 4)
    model: onnx.ModelProto = g.model(g.add("Gather", y, g.constant(BACK), axis=axis), opset=17)
    assert outcome(model).counts["Gather"] >= 1
