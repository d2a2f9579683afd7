"""Sums over what a layer computes, one layer of two operands, and what ArgMax chooses."""

import numpy as np
import pytest

from ..knowledge_bases.graphs import Graph, check_settled, outcome

OPSETS = (11, 13, 17, 21)


def reduced(g: Graph, op: str, x: str, opset: int, axes: list[int], keep: int) -> str:
    """The axes are an operand or an attribute, by opset."""
    if opset >= 18 or (op == "ReduceSum" and opset >= 13):
        return g.add(op, x, g.constant(np.array(axes)), keepdims=keep)
    return g.add(op, x, axes=axes, keepdims=keep)


def layer(g: Graph, x: str, w: str, b: str) -> str:
    return g.add("Add", g.add("MatMul", x, w), b)


# --- sums over columns and kernels ------------------------------------------------------------------------


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(("op", "axis", "keep"), [("ReduceSum", 2, 0), ("ReduceMean", -1, 1)])
def test_the_sum_over_columns_is_one_column(opset: int, op: str, axis: int, keep: int) -> None:
    g = Graph(x=["N", 5, 6])
    y = layer(g, "x", g.weight(6, 7), g.weight(7))
    made = g.model(reduced(g, op, y, opset, [axis], keep), opset=opset)
    cost = outcome(made, "flops").report.cost
    assert cost.after < 0.25 * cost.before
    counts = check_settled(made, "nodes")
    assert counts["MatMul"] + counts["Gemm"] == 1
    assert op not in counts or not keep  # a Reduce that drops an axis of one is as good as a Reshape


def test_a_scale_before_the_sum_goes_into_the_weight() -> None:
    g = Graph(x=["N", 16])
    y = g.add("Mul", g.add("MatMul", "x", g.weight(16, 8)), g.weight(8))
    made = g.model(reduced(g, "ReduceSum", y, 17, [-1], 1), opset=17)
    assert dict(check_settled(made, "nodes")) == {"MatMul": 1}


@pytest.mark.parametrize(("axes", "keep"), [([1, 2], 1), ([0, 2], 0), ([-1, -2, 0], 0)])
def test_rows_are_summed_as_well(axes: list[int], keep: int) -> None:
    g = Graph(x=[3, 5, 6])
    y = g.add("MatMul", "x", g.weight(6, 7))
    cost = outcome(g.model(reduced(g, "ReduceMean", y, 13, axes, keep), opset=13), "flops").report.cost
    assert cost.after < 0.3 * cost.before


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(("bias", "keep"), [(True, 1), (False, 0)])
def test_the_mean_over_channels_is_one_kernel(opset: int, bias: bool, keep: int) -> None:
    g = Graph(x=["N", 4, 9, 7])
    more = [g.weight(8)] if bias else []
    y = g.add("Conv", "x", g.weight(8, 4, 3, 3), *more, pads=[1, 0, 1, 0], strides=[2, 1])
    made = g.model(reduced(g, "ReduceMean", y, opset, [1], keep), opset=opset)
    cost = outcome(made, "flops").report.cost
    assert cost.after < 0.2 * cost.before
    counts = check_settled(made, "nodes")
    assert counts["Conv"] == 1
    assert "ReduceMean" not in counts or not keep


def test_channels_of_groups_and_maxima_stay() -> None:
    g = Graph(x=[1, 4, 6, 6])
    grouped = reduced(g, "ReduceMean", g.add("Conv", "x", g.weight(8, 2, 3, 3), group=2), 17, [1], 1)
    assert outcome(g.model(grouped, opset=17), "nodes").counts["ReduceMean"] == 1
    g = Graph(x=[1, 4, 6, 6])
    largest = reduced(g, "ReduceMax", g.add("Conv", "x", g.weight(8, 4, 3, 3)), 17, [1], 1)
    assert outcome(g.model(largest, opset=17), "nodes").counts["ReduceMax"] == 1


def test_the_sum_of_a_large_row_stays() -> None:
    g = Graph(x=[2, 3])
    y = g.add("MatMul", "x", g.constant(np.full((3, 4), 1e38, np.float32)))
    result = outcome(g.model(reduced(g, "ReduceMean", y, 17, [1], 1), opset=17), "nodes")
    assert result.counts["ReduceMean"] == 1


# --- one weight, two operands -----------------------------------------------------------------------------


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(("op", "turned"), [("Add", False), ("Sub", False), ("Sub", True), ("Add", True)])
def test_a_gemm_and_a_product_are_one_gemm(opset: int, op: str, turned: bool) -> None:
    g = Graph(x=["N", 16], y=["N", 16])
    w = g.weight(16, 8)
    parts = [g.add("Gemm", "x", w, g.weight(8)), g.add("MatMul", "y", w)]
    made = g.model(g.add(op, *(parts[::-1] if turned else parts)), opset=opset)
    cost = outcome(made, "flops").report.cost
    assert cost.after < 0.6 * cost.before


def test_operands_that_broadcast_stay_apart() -> None:
    g = Graph(x=[4, 16], y=[1, 16])
    w = g.weight(16, 8)
    made = g.model(g.add("Add", g.add("Gemm", "x", w, g.weight(8)), g.add("MatMul", "y", w)), opset=17)
    outcome(made, "nodes")
    g = Graph(x=[4, 16], y=[4, 16])
    shifted = layer(g, "x", g.weight(16, 8), g.weight(8))
    other = g.add("Sub", shifted, layer(g, "y", g.weight(16, 8), g.weight(8)))
    counts = outcome(g.model(other, opset=17), "flops").counts
    assert counts["MatMul"] + counts["Gemm"] == 2
