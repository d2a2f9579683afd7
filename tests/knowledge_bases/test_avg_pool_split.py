"""Knowledge base 11, AvgPoolSplit: pools beyond the limits become cascades, or means of whole inputs."""

from __future__ import annotations

import math
from typing import Any

import onnx
import onnxruntime
import pytest

from egraph_opt.cost.registry import cost_model

from .graphs import OPSETS, Dims, Graph, check_settled, check_untouched, optimized, outcome

LIMITS = cost_model("ascend").limits


def _pool(
    x: Dims, kernel: list[int], opset: int = 17, *, kind: str = "AveragePool", **more: Any
) -> onnx.ModelProto:
    more.setdefault("strides", kernel)
    g = Graph(x=x)
    return g.model(g.add(kind, "x", kernel_shape=kernel, **more), opset=opset)


def _windows(model: onnx.ModelProto, name: str = "kernel_shape") -> list[tuple[int, ...]]:
    """Of the pools in order, height left out where it is 1 since 1-D pools may be images."""
    windows = [tuple(a.ints) for n in model.graph.node for a in n.attribute if a.name == name]
    return [w[1:] if len(w) == 2 and w[0] == 1 else w for w in windows]


def _check_cascade(model: onnx.ModelProto) -> list[tuple[int, ...]]:
    """All pools are within the limits, and it is worth it."""
    result = outcome(model, "ascend")
    windows = _windows(result.model)
    assert windows
    for kernel, strides in zip(windows, _windows(result.model, "strides"), strict=True):
        assert max(kernel) <= LIMITS["pool_kernel"] and math.prod(kernel) <= LIMITS["pool_window"]
        assert max(strides) <= LIMITS["pool_stride"]
    assert result.report.cost.after < result.report.cost.before
    return windows


def _whole(windows: list[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(math.prod(sides) for sides in zip(*windows, strict=True))


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("kind", ["AveragePool", "MaxPool"])
def test_32_by_64_becomes_two_pools(kind: str, opset: int) -> None:
    windows = _check_cascade(_pool(["N", 3, 64, 192], [32, 64], opset, kind=kind))
    assert len(windows) == 2 and _whole(windows) == (32, 64)


@pytest.mark.parametrize(
    ("x", "kernel"),
    [([1, 2, 40, 40, 40], [20, 10, 20]), ([1, 3, 70, 133], [32, 64]), ([1, 2, 280, 1000], [256, 256])],
    ids=["3-d", "no multiple", "three steps"],
)
def test_every_rank_and_length_splits(x: Dims, kernel: list[int]) -> None:
    result = outcome(_pool(x, kernel), "ascend")
    assert len(_windows(result.model)) >= 2
    assert all(math.prod(window) <= LIMITS["pool_window"] for window in _windows(result.model))


@pytest.mark.parametrize("kind", ["AveragePool", "MaxPool"])
@pytest.mark.parametrize(
    ("x", "kernel"),
    [
        ([1, 8, 1030], [512]),
        ([1, 8, 1, 600], [1, 300]),
        ([2, 8, 900, 3], [300, 1]),
        ([1, 4, 8, 20, 300], [1, 1, 300]),
        ([1, 8, "L"], [512]),
    ],
    ids=["1-d, no multiple", "width", "height", "3-d", "unknown length"],
)
def test_windows_along_one_axis_are_reduced(x: Dims, kernel: list[int], kind: str) -> None:
    assume = {"L": (2048, 2048)} if "L" in x else None
    result = outcome(_pool(x, kernel, kind=kind), "ascend", assume=assume)
    assert not _windows(result.model)
    assert result.report.cost.after < 5


def test_strides_shorter_than_the_kernel_split_where_they_share_a_factor() -> None:
    windows = _check_cascade(_pool([1, 4, 96, 96], [32, 16], strides=[8, 16]))
    assert _whole(windows) == (32, 16)


@pytest.mark.skipif(
    tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 32),
    reason="onnxruntime's own optimisations put the pads back into a pool that refuses them before 1.32",
)
def test_pads_that_count_come_apart_first() -> None:
    model = _pool([1, 3, 120, 250], [32, 256], pads=[4, 3, 4, 3], count_include_pad=1)
    assert _whole(_check_cascade(model)) == (32, 256)


@pytest.mark.parametrize("mode", ["VALID", "SAME_UPPER"])
def test_auto_pad_that_pads_nothing_splits(mode: str) -> None:
    assert _whole(_check_cascade(_pool([1, 3, 64, 64], [32, 16], auto_pad=mode))) == (32, 16)


@pytest.mark.parametrize(
    ("dims", "kind"),
    [([1, 8, 257], "AveragePool"), ([1, 8, 17, 31], "AveragePool"), ([1, 8, 17, 31], "MaxPool")],
)
@pytest.mark.parametrize("opset", OPSETS)
def test_a_prime_kernel_that_is_the_whole_input_is_a_global_pool(dims: Dims, kind: str, opset: int) -> None:
    kernel = [dim for dim in dims[2:] if isinstance(dim, int)]
    result = outcome(_pool(dims, kernel, opset, kind=kind), "ascend")
    assert not _windows(result.model)
    assert result.report.cost.after < 0.5 * result.report.cost.before


def test_one_axis_whole_and_prime_the_other_composite() -> None:
    windows = _check_cascade(_pool([1, 4, 7, 512], [7, 128]))
    assert math.prod(map(math.prod, windows)) == 7 * 128


def test_a_cascade_stays_as_it_is() -> None:
    check_settled(_pool([1, 3, 64, 192], [32, 64]), "ascend")
    check_settled(_pool([1, 8, 1024], [512]), "ascend")
    check_settled(_pool([1, 8, 257], [257]), "ascend")


def test_a_pool_whose_result_is_an_output_and_is_used_splits_once() -> None:
    g = Graph(x=[1, 4, 64, 128])
    y = g.add("AveragePool", "x", kernel_shape=[32, 64], strides=[32, 64])
    counts = optimized(g.model(y, g.add("Exp", y)), "ascend")
    assert counts["AveragePool"] == 2


def test_a_network_head_splits_behind_its_convolution() -> None:
    g = Graph(x=[1, 4, 1024])
    y = g.add("Relu", g.add("Conv", "x", g.weight(8, 4, 3), g.weight(8), pads=[1, 1]))
    y = g.add("AveragePool", y, kernel_shape=[512], strides=[512])
    y = g.add("Gemm", g.add("Flatten", y), g.weight(16, 3))
    result = outcome(g.model(y), "ascend")
    assert result.counts["ReduceMean"] == 1
    assert result.report.cost.after < result.report.cost.before


@pytest.mark.parametrize(
    ("kernel", "more"),
    [([8, 16], {}), ([257, 1], {"strides": [1, 1]}), ([257, 1], {"strides": [256, 1], "pads": [2, 0, 3, 0]})],
    ids=["within the limits", "prime and overlapping", "prime and padded"],
)
def test_other_pools_stay(kernel: list[int], more: dict[str, Any]) -> None:
    check_untouched(_pool([1, 3, 300, 100], kernel, **more), "ascend")


@pytest.mark.parametrize("cost", ["nodes", "flops", "bytes"])
def test_other_targets_keep_one_pool(cost: str) -> None:
    assert _windows(outcome(_pool([1, 3, 64, 192], [32, 64]), cost).model) == [(32, 64)]
