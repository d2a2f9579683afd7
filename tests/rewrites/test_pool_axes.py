"""Pools along one axis after the other, maxima of maxima, partial windows and windows in a row."""

from __future__ import annotations

import math
from typing import Any

import onnx
import pytest
from onnx import TensorProto

from egraph_opt import optimize, saturate
from egraph_opt.cost.registry import cost_model

from ..knowledge_bases.graphs import Dims, Graph, check_settled, check_untouched, outcome

LIMITS = cost_model("ascend").limits


def _pools(x: Dims, *pools: tuple[str, list[int], dict[str, Any]], opset: int = 17) -> onnx.ModelProto:
    """Pools of one value, all of them outputs; of stride 1 if nothing else is said."""
    g = Graph(x=x)
    results = [g.add(kind, "x", kernel_shape=kernel, **more) for kind, kernel, more in pools]
    return g.model(*results, opset=opset)


def _chain(x: Dims, *pools: tuple[list[int], dict[str, Any]], kind: str = "MaxPool") -> onnx.ModelProto:
    g = Graph(x=x)
    y = "x"
    for kernel, more in pools:
        y = g.add(kind, y, kernel_shape=kernel, **more)
    return g.model(y)


def _price(model: onnx.ModelProto, cost: str = "ascend") -> float:
    return optimize(model, cost=cost, verify=False).report.cost.before


def _windows(model: onnx.ModelProto) -> list[tuple[int, ...]]:
    return [tuple(a.ints) for n in model.graph.node for a in n.attribute if a.name == "kernel_shape"]


@pytest.mark.parametrize("opset", [11, 21])
@pytest.mark.parametrize(
    ("kind", "kernel", "more"),
    [
        ("MaxPool", [21, 21], {}),
        ("MaxPool", [19, 15], {"pads": [9, 7, 9, 7], "strides": [1, 2]}),
        ("AveragePool", [17, 21], {}),
        ("AveragePool", [17, 21], {"pads": [8, 10, 8, 10], "count_include_pad": 1}),
        ("AveragePool", [17, 21], {"pads": [8, 10, 7, 9]}),
        ("AveragePool", [16, 18], {"strides": [3, 4], "ceil_mode": 1}),
    ],
)
def test_a_large_overlapping_window_is_pooled_axis_by_axis(
    kind: str, kernel: list[int], more: dict[str, Any], opset: int
) -> None:
    model = _pools([1, 3, 40, 44], (kind, kernel, more), opset=opset)
    result = outcome(model, "ascend")
    assert sorted(_windows(result.model)) == [(1, kernel[1]), (kernel[0], 1)]
    assert result.report.cost.after < 0.1 * result.report.cost.before


def test_a_cube_is_pooled_along_three_axes() -> None:
    result = outcome(_pools([1, 64, 20, 28, 29], ("MaxPool", [7, 8, 9], {})), "ascend")
    assert sorted(_windows(result.model)) == [(1, 1, 9), (1, 8, 1), (7, 1, 1)]


@pytest.mark.parametrize("cost", ["nodes", "bytes"])
def test_one_pool_is_left_one_where_nodes_count(cost: str) -> None:
    check_untouched(_pools([1, 3, 40, 44], ("MaxPool", [21, 21], {})), cost)


@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool"])
def test_pools_along_two_axes_become_one_where_nodes_count(kind: str) -> None:
    across = {"pads": [0, 1, 0, 1], "strides": [1, 2], "count_include_pad": 1}
    down = {"pads": [1, 0, 1, 0], "count_include_pad": 1}
    if kind == "MaxPool":
        del across["count_include_pad"], down["count_include_pad"]
    counts = outcome(_chain([2, 3, 12, "W"], ([1, 3], across), ([3, 1], down), kind=kind), "nodes").counts
    assert counts == {kind: 1}


def test_a_mean_that_counts_pads_and_one_that_does_not_stay_two() -> None:
    across = {"pads": [0, 1, 0, 1], "count_include_pad": 1}
    down = {"pads": [1, 0, 1, 0]}
    check_untouched(_chain([2, 3, 12, 9], ([1, 3], across), ([3, 1], down), kind="AveragePool"), "nodes")


SPATIAL_PYRAMID = (5, 9, 13)


def _pyramid(sides: tuple[int, ...], *, by_hand: bool, dims: Dims = (1, 64, 40, 40)) -> onnx.ModelProto:
    """Pools of several sides of one image, or as pools of each other, the smaller ones first."""
    g = Graph(x=dims)
    parts, axes = ["x"], len(dims) - 2
    for k, side in enumerate(sides):
        of, kernel = ("x", side) if not by_hand or k == 0 else (parts[-1], side - sides[k - 1] + 1)
        parts.append(g.add("MaxPool", of, kernel_shape=[kernel] * axes, pads=[kernel // 2] * (2 * axes)))
    return g.model(g.add("Concat", *parts, axis=1))


@pytest.mark.parametrize("sides", [SPATIAL_PYRAMID, (3, 7), (3, 5, 9, 13)])
@pytest.mark.parametrize("dims", [(1, 64, 40, 40), (1, 64, 2000)])
def test_pools_of_a_spatial_pyramid_are_pools_of_each_other(sides: tuple[int, ...], dims: Dims) -> None:
    model, by_hand = (_pyramid(sides, by_hand=hand, dims=dims) for hand in (False, True))
    result = outcome(model, "ascend")
    assert result.report.cost.after <= _price(by_hand) < result.report.cost.before
    assert outcome(by_hand, "ascend").report.cost.after == pytest.approx(result.report.cost.after)
    assert _windows(outcome(model, "nodes").model) == _windows(model), "as many nodes either way"


def test_two_maxima_in_a_row_are_one_where_nodes_count() -> None:
    model = _chain([1, 4, 20, 22], ([3, 3], {"strides": [2, 2], "pads": [1, 1, 0, 0]}), ([3, 2], {}))
    assert _windows(outcome(model, "nodes").model) == [(7, 5)]


def test_maxima_with_gaps_or_lost_rows_stay_two() -> None:
    check_untouched(_chain([1, 4, 20, 22], ([2, 2], {"strides": [3, 3]}), ([2, 2], {})), "nodes")
    lost = ([2, 2], {"strides": [2, 2]}), ([2, 2], {"pads": [0, 0, 1, 1]})
    check_untouched(_chain([1, 4, 21, 23], *lost), "nodes")


@pytest.mark.parametrize(
    ("x", "kernel", "more"),
    [
        ([1, 8, 1204], [301], {}),
        ([2, 4, 700], [509], {"pads": [254, 254]}),
        ([1, 3, 400, 3], [301, 2], {"strides": [2, 1]}),
        ([1, 3, 1000], [300], {"strides": [60]}),
    ],
)
def test_a_maximum_beyond_the_limit_is_a_maximum_of_maxima(
    x: Dims, kernel: list[int], more: dict[str, Any]
) -> None:
    result = outcome(_pools(x, ("MaxPool", kernel, more)), "ascend")
    windows, kinds = _windows(result.model), [node.op_type for node in result.model.graph.node]
    assert len(windows) + kinds.count("ReduceMax") >= 2, "windows side by side are reduced"
    assert all(max(w) <= LIMITS["pool_kernel"] and math.prod(w) <= LIMITS["pool_window"] for w in windows)
    assert result.report.cost.after < 0.5 * result.report.cost.before


@pytest.mark.parametrize("opset", [11, 21])
@pytest.mark.parametrize("kind", ["AveragePool", "MaxPool"])
@pytest.mark.parametrize(
    ("x", "kernel", "strides"),
    [
        (["N", 8, 4, 509], [1, 509], [1, 1]),
        ([1, 8, 1028], [257], [257]),
        ([2, 3, 1100], [514], [514]),
        ([1, 3, 263, 521], [263, 257], [1, 257]),
    ],
    ids=["an axis", "four windows", "a rest", "one axis whole"],
)
def test_a_prime_window_next_to_others_is_a_reduction(
    kind: str, x: Dims, kernel: list[int], strides: list[int], opset: int
) -> None:
    result = outcome(_pools(x, (kind, kernel, {"strides": strides}), opset=opset), "ascend")
    assert not _windows(result.model)
    assert result.counts["ReduceMean" if kind == "AveragePool" else "ReduceMax"] == 1
    assert result.report.cost.after < 0.05 * result.report.cost.before


def test_a_window_that_covers_one_axis_leaves_the_other_a_pool() -> None:
    result = outcome(_pools([1, 8, 30, 509], ("AveragePool", [3, 509], {})), "ascend")
    assert _windows(result.model) == [(3, 1)]
    assert result.counts["ReduceMean"] == 1


@pytest.mark.parametrize("kind", ["AveragePool", "MaxPool"])
def test_partial_windows_become_a_cascade(kind: str) -> None:
    model = _pools([1, 3, 64, 70], (kind, [32, 16], {"strides": [32, 16], "ceil_mode": 1}))
    result = outcome(model, "ascend")
    assert all(math.prod(w) <= LIMITS["pool_window"] for w in _windows(result.model))
    assert result.report.cost.after < 0.1 * result.report.cost.before


def test_integers_are_pooled_axis_by_axis_too() -> None:
    g = Graph()
    x = g.input("x", [1, 2, 33, 34], TensorProto.UINT8)
    y = g.add("MaxPool", x, kernel_shape=[17, 19])
    result = outcome(g.model(y, dtypes={y: TensorProto.UINT8}), "ascend")
    assert result.report.cost.after <= result.report.cost.before


def test_pooling_axis_by_axis_is_settled() -> None:
    check_settled(_pools([1, 3, 40, 44], ("MaxPool", [21, 21], {"pads": [10] * 4})), "ascend")
    check_settled(_pyramid(SPATIAL_PYRAMID, by_hand=False), "ascend")
    check_settled(_pools([1, 8, 1204], ("MaxPool", [301], {})), "ascend")
    check_settled(_pools([2, 3, 1100], ("AveragePool", [514], {"strides": [514]})), "ascend")


def test_maxima_in_a_row_do_not_make_each_other() -> None:
    """The steps along one axis were joined in each of their orders: twelve pools were 65,449 e-nodes."""
    made = _chain((1, 8, 64, 64), *[([3, 3], {"pads": [1] * 4})] * 12)
    saturated = saturate(made, target="ascend")
    assert saturated.region is not None
    assert saturated.region.saturation.nodes < 60 * 12
