"""What is joined along one axis and reduced along others is reduced first."""

from __future__ import annotations

import pytest

from ..knowledge_bases.graphs import Graph, check_settled, optimized

OPSETS = pytest.mark.parametrize("opset", [11, 13, 17, 21])


def reduced(g: Graph, op: str, x: str, axes: list[int], opset: int, keepdims: int = 1) -> str:
    if opset >= (13 if op == "ReduceSum" else 18):
        return g.add(op, x, g.constant(axes), keepdims=keepdims)
    return g.add(op, x, axes=axes, keepdims=keepdims)


@OPSETS
def test_pooled_branches_are_joined_behind(opset: int) -> None:
    g = Graph(a=["N", 16, "H", "W"], b=["N", 24, "H", "W"], c=["N", 8, "H", "W"])
    joined = g.add("Concat", g.add("Relu", "a"), "b", g.add("Relu", "c"), axis=1)
    y = g.add("Flatten", g.add("GlobalAveragePool", joined))
    y = g.add("Gemm", y, g.weight(10, 48), g.weight(10), transB=1)
    counts = check_settled(g.model(y, opset=opset), "ascend")
    assert counts["GlobalAveragePool"] + counts["ReduceMean"] == 3


@OPSETS
@pytest.mark.parametrize(("op", "axes", "axis"), [("ReduceSum", [2, 3], 1), ("ReduceMax", [1, 2], 3)])
def test_likewise_sums_and_maxima(op: str, axes: list[int], axis: int, opset: int) -> None:
    dims = [[2, 64, 96, 60], [2, 64, 96, 60]]
    dims[1][axis] = 40
    g = Graph(a=dims[0], b=dims[1])
    y = reduced(g, op, g.add("Concat", "a", "b", axis=axis), axes, opset, keepdims=0)
    counts = check_settled(g.model(y, opset=opset), "ascend")
    assert counts[op] == 2 and counts["Concat"] == 1


def test_what_is_joined_along_a_reduced_axis_is_not() -> None:
    g = Graph(a=["N", 16, "L"], b=["N", 24, "L"])
    y = reduced(g, "ReduceMax", g.add("Concat", "a", "b", axis=1), [1], 17)
    assert optimized(g.model(y), "ascend") == {"Concat": 1, "ReduceMax": 1}
