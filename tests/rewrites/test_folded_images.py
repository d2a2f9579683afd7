"""Channel shuffles, permutations and blocks of pixels go into the weight of the convolution behind them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from egraph_opt import optimize

from ..knowledge_bases.graphs import Dims, Graph, check_settled, check_untouched, optimized, outcome

ORDER = [3, 1, 0, 2, 7, 6, 5, 4]


def _shuffle(g: Graph, x: str, dims: list[int], groups: int) -> str:
    batch, channels, *rest = dims
    y = g.add("Reshape", x, g.constant([batch, groups, channels // groups, *rest]))
    y = g.add("Transpose", y, perm=[0, 2, 1, *range(3, len(rest) + 3)])
    return g.add("Reshape", y, g.constant([batch, channels, *rest]))


@pytest.mark.parametrize("opset", [11, 21])
@pytest.mark.parametrize(
    ("dims", "groups", "kernel", "window"),
    [
        ([1, 8, 9, 10], 2, [1, 1], {}),
        ([2, 12, 9, 10], 3, [3, 3], {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
        ([1, 6, 20], 2, [5], {"dilations": [2]}),
    ],
)
def test_a_channel_shuffle_goes_into_the_weight(
    dims: list[int], groups: int, kernel: list[int], window: dict[str, list[int]], opset: int
) -> None:
    g = Graph(x=dims)
    y = g.add("Conv", _shuffle(g, "x", dims, groups), g.weight(5, dims[1], *kernel), g.weight(5), **window)
    model = g.model(g.add("Relu", y), opset=opset)
    assert optimized(model, "nodes") == {"Conv": 1, "Relu": 1}
    assert (
        outcome(model, "ascend").report.cost.after < 0.8 * optimize(model, cost="ascend").report.cost.before
    )


def test_a_shuffle_in_front_of_groups_stays() -> None:
    g = Graph(x=[1, 8, 9, 10])
    y = g.add("Conv", _shuffle(g, "x", [1, 8, 9, 10], 2), g.weight(8, 4, 1, 1), group=2)
    assert optimized(g.model(y), "nodes") == {"Gather": 1, "Conv": 1}


@pytest.mark.parametrize("cost", ["nodes", "ascend"])
def test_permuted_channels_go_into_the_weight(cost: str) -> None:
    g = Graph(x=["N", 8, 9, "W"])
    y = g.add("Gather", "x", g.constant(ORDER), axis=1)
    assert optimized(g.model(g.add("Conv", y, g.weight(5, 8, 3, 3), pads=[1] * 4)), cost) == {"Conv": 1}
    g = Graph(x=["N", 9, 8])
    y = g.add("Gather", "x", g.constant([k - 8 for k in ORDER]), axis=2)
    assert optimized(g.model(g.add("MatMul", y, g.weight(8, 5))), cost) == {"MatMul": 1}


def test_a_choice_of_channels_is_no_permutation() -> None:
    g = Graph(x=[1, 8, 9, 9])
    y = g.add("Gather", "x", g.constant([0, 0, 5, 3]), axis=1)
    check_untouched(g.model(g.add("Conv", y, g.weight(5, 4, 3, 3))), "nodes")


def _phases(g: Graph, axes: tuple[int, ...], step: int, rank: int = 4) -> str:
    """The Concat of all phases of x, by a Slice for each axis, the phase of the first axis changing first."""
    parts = []
    for starts in np.ndindex(*(step for _ in axes)):
        y = "x"
        for axis, start in zip(axes, reversed(starts), strict=True):
            bounds = (g.constant([k]) for k in (start, 2**31 - 1, axis, step))
            y = g.add("Slice", y, *bounds)
        parts.append(y)
    return g.add("Concat", *parts, axis=1)


@pytest.mark.parametrize("cost", ["nodes", "ascend"])
@pytest.mark.parametrize("axes", [(2, 3), (3, 2)])
def test_the_focus_of_a_detector_is_one_convolution(axes: tuple[int, ...], cost: str) -> None:
    g = Graph(x=["N", 3, 32, 24])
    y = g.add("Conv", _phases(g, axes, 2), g.weight(8, 12, 3, 3), g.weight(8), pads=[1] * 4)
    model = g.model(y)
    result = outcome(model, cost)
    assert result.counts == {"Conv": 1}
    (node,) = (n for n in result.model.graph.node if n.op_type == "Conv")
    window = {a.name: list(a.ints) for a in node.attribute}
    assert window["kernel_shape"] == [6, 6] and window["strides"] == [2, 2] and window["pads"] == [2] * 4
    check_settled(model, cost)


def test_phases_along_one_axis_too() -> None:
    g = Graph(x=[2, 3, 30])
    y = g.add("Conv", _phases(g, (2,), 3), g.weight(8, 9, 2), strides=[2])
    assert optimized(g.model(y), "nodes") == {"Conv": 1}


def test_half_of_the_phases_stay_slices() -> None:
    g = Graph(x=[1, 3, 32, 24])
    halves = [g.add("Slice", "x", *(g.constant([k]) for k in (start, 32, 2, 4))) for start in (0, 2)]
    y = g.add("Conv", g.add("Concat", *halves, axis=1), g.weight(8, 6, 3, 3))
    assert optimized(g.model(y), "nodes")["Slice"] == 2


def _blocks(dims: Dims, size: int, order: list[int]) -> onnx.ModelProto:
    """A convolution of blocks of pixels that became channels by views."""
    _, channels, height, width = dims
    assert isinstance(channels, int) and isinstance(height, int) and isinstance(width, int)
    g = Graph(x=dims)
    y = g.add("Reshape", "x", g.constant([0, channels, height // size, size, width // size, size]))
    y = g.add("Transpose", y, perm=order)
    merged = [-1, channels * size**2, height // size, width // size]
    y = g.add("Reshape", y, g.constant(merged))
    return g.model(g.add("Conv", y, g.weight(7, channels * size**2, 1, 1)))


@pytest.mark.parametrize("order", [[0, 3, 5, 1, 2, 4], [0, 1, 3, 5, 2, 4], [0, 5, 3, 1, 2, 4]])
@pytest.mark.parametrize("dims", [["N", 3, 12, 16], [1, 4, 8, 20]])
def test_blocks_of_pixels_are_patches_of_a_convolution(dims: Dims, order: list[int]) -> None:
    assert optimized(_blocks(dims, 4, order), "nodes") == {"Conv": 1}


def test_rows_that_are_far_apart_are_no_patches() -> None:
    assert optimized(_blocks([1, 4, 8, 20], 4, [0, 2, 4, 1, 3, 5]), "nodes")["Transpose"] == 1
