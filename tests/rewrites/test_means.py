"""Means are taken where there is least to compute, and windows over whole axes are reductions."""

import pytest

from ..knowledge_bases.graphs import Dims, Graph, check_settled, outcome


def point(g: Graph, x: str, bias: bool = True) -> str:
    return g.add("Conv", x, g.weight(4, 6, 1, 1), *([g.weight(4)] if bias else []))


@pytest.mark.parametrize(("opset", "bias"), [(11, True), (21, False)])
def test_a_transition_pools_before_it_multiplies(opset: int, bias: bool) -> None:
    """DenseNet's: a convolution of points, and a pool of 2 x 2."""
    g = Graph(x=["N", 6, 8, 8])
    y = g.add("AveragePool", point(g, "x", bias), kernel_shape=[2, 2], strides=[2, 2])
    made = g.model(y, opset=opset)
    result = outcome(made, "flops").report.cost
    assert result.after < 0.4 * result.before
    check_settled(made, "flops")


def test_pads_that_count_and_maxima_stay_behind_a_bias() -> None:
    for op, more in (("AveragePool", {"count_include_pad": 1}), ("MaxPool", {})):
        g = Graph(x=[1, 6, 8, 8])
        y = g.add(op, point(g, "x"), kernel_shape=[2, 2], strides=[2, 2], pads=[1, 1, 1, 1], **more)
        cost = outcome(g.model(y, opset=17), "flops").report.cost
        assert cost.after == cost.before


@pytest.mark.parametrize(("opset", "dims", "keep"), [(13, ["N", 7, 6], 1), (17, [2, "L", 6], 0)])
def test_the_mean_of_layers_is_a_layer_of_the_mean(opset: int, dims: Dims, keep: int) -> None:
    g = Graph(x=dims)
    y = g.add("Add", g.add("MatMul", "x", g.weight(6, 5)), g.weight(5))
    made = g.model(g.add("ReduceMean", y, axes=[1], keepdims=keep), opset=opset)
    cost = outcome(made, "flops", assume={"L": (4, 64)} if "L" in dims else None).report.cost
    assert cost.after < 0.4 * cost.before


@pytest.mark.parametrize(("op", "opset"), [("AveragePool", 11), ("MaxPool", 21)])
def test_a_window_over_one_axis_is_a_reduction(op: str, opset: int) -> None:
    g = Graph(x=["N", 3, 19, 5])
    counts = check_settled(g.model(g.add(op, "x", kernel_shape=[19, 1]), opset=opset), "ascend")
    assert dict(counts) == {"ReduceMean" if op == "AveragePool" else "ReduceMax": 1}
    g = Graph(x=["N", 3, 19, 5])
    assert outcome(g.model(g.add(op, "x", kernel_shape=[18, 1]), opset=opset), "ascend").counts[op] == 1
