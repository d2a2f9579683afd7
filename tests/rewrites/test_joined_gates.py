"""Swish and the like of all parts at once, end to end: one product for several, one convolution in groups."""

from __future__ import annotations

import numpy as np
import pytest

from ..knowledge_bases.graphs import Graph, check_settled, outcome


def swish(g: Graph, x: str, f: str = "Sigmoid", op: str = "Mul") -> str:
    return g.add(op, x, g.add(f, x))


@pytest.mark.parametrize("opset", [11, 13, 17, 21])
@pytest.mark.parametrize(("op", "f", "axis"), [("Mul", "Sigmoid", 1), ("Sub", "Tanh", 2), ("Div", "Exp", -1)])
def test_a_function_beside_its_operand(op: str, f: str, axis: int, opset: int) -> None:
    g = Graph(x=["N", 4, 3], y=["N", 4, 3], z=["N", 4, 3])
    joined = g.add("Concat", *(swish(g, v, f, op) for v in "xyz"), axis=axis)
    assert check_settled(g.model(joined, opset=opset)) == {"Concat": 1, f: 1, op: 1}


def test_parts_of_other_lengths_with_the_operand_on_the_right() -> None:
    g = Graph(x=["N", 1, 3], y=["N", "L", 3])
    joined = g.add("Concat", *(g.add("Sub", g.add("Exp", v), v) for v in "xy"), axis=1)
    assert check_settled(g.model(joined)) == {"Concat": 1, "Exp": 1, "Sub": 1}


@pytest.mark.parametrize("target", ["nodes", "ascend"])
@pytest.mark.parametrize("parts", [2, 4])
def test_convolutions_with_swish_are_one_in_groups(parts: int, target: str) -> None:
    g = Graph(x=[1, 16, 8, 8])
    each = 16 // parts
    given = [g.constant(np.array([k * each, (k + 1) * each])) for k in range(parts)]
    slices = [
        g.add("Slice", "x", g.constant(np.array([k * each])), g.constant(np.array([(k + 1) * each])),
              g.constant(np.array([1])))
        for k in range(len(given))
    ]  # fmt: skip
    out = [swish(g, g.add("Conv", v, g.weight(each, each, 3, 3), pads=[1] * 4)) for v in slices]
    counts = outcome(g.model(g.add("Concat", *out, axis=1), opset=17), target).counts
    assert counts == {"Conv": 1, "Sigmoid": 1, "Mul": 1}


def test_two_functions_stay() -> None:
    g = Graph(x=["N", 4], y=["N", 4])
    joined = g.add("Concat", swish(g, "x"), swish(g, "y", "Tanh"), axis=1)
    assert outcome(g.model(joined)).counts["Mul"] == 2


def test_the_function_of_another_stays() -> None:
    g = Graph(x=["N", 4], y=["N", 4], z=["N", 4])
    other = g.add("Mul", "y", g.add("Sigmoid", "z"))
    assert outcome(g.model(g.add("Concat", swish(g, "x"), other, axis=1))).counts["Mul"] == 2
