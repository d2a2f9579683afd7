"""Pools for which a target has no kernel: with dilations, with a partial window at the end, of norms."""

from __future__ import annotations

from collections import Counter
from typing import Any

import onnx
import pytest

from ..knowledge_bases.graphs import Dims, Graph, check_untouched, counts_of, outcome


def pooled(x: Dims, kind: str, opset: int = 21, **window: Any) -> onnx.ModelProto:
    g = Graph(x=x)
    return g.model(g.add(kind, "x", **window), opset=opset)


def found(model: onnx.ModelProto) -> tuple[float, Counter[str]]:
    """The part of the price that is left, and nodes by operator."""
    result = outcome(model, "ascend")
    cost = result.report.cost
    return cost.after / cost.before, counts_of(result.model)


@pytest.mark.parametrize(
    ("x", "kind", "window"),
    [
        ([1, 8, 32, 32], "MaxPool", {"kernel_shape": [3, 3], "dilations": [2, 2], "pads": [2] * 4}),
        ([2, 3, 15, 20], "MaxPool", {"kernel_shape": [5, 1], "dilations": [3, 1], "pads": [3, 0, 4, 0]}),
        (["N", 16, 64], "MaxPool", {"kernel_shape": [3], "dilations": [4], "strides": [2]}),
        ([1, 8, 30, 32], "AveragePool", {"kernel_shape": [2, 3], "dilations": [3, 2]}),
    ],
)
def test_elements_far_apart_stand_in_rows(x: Dims, kind: str, window: dict[str, Any]) -> None:
    left, counts = found(pooled(x, kind, **window))
    assert left < 0.25
    assert counts["Reshape"] >= 2


def test_other_targets_have_kernels_for_dilations() -> None:
    check_untouched(pooled([1, 8, 32, 32], "MaxPool", kernel_shape=[3, 1], dilations=[2, 1]), "flops")


@pytest.mark.parametrize("kind", ["AveragePool", "MaxPool"])
@pytest.mark.parametrize(
    ("x", "window"),
    [
        ([1, 8, 1, 1000], {"kernel_shape": [1, 300], "strides": [1, 300], "ceil_mode": 1}),
        ([2, 3, 870, 4], {"kernel_shape": [400, 1], "strides": [100, 1], "pads": [0, 0, 60, 0]}),
    ],
)
def test_a_partial_window_at_the_end_is_pooled_alone(kind: str, x: Dims, window: dict[str, Any]) -> None:
    left, counts = found(pooled(x, kind, **window))
    assert left < 0.25
    assert counts["Concat"] == 1


def test_two_partial_windows_stay() -> None:
    window: dict[str, Any] = {"kernel_shape": [1, 300], "strides": [1, 100], "pads": [0, 0, 0, 299]}
    check_untouched(pooled([1, 8, 1, 900], "AveragePool", **window), "ascend")


@pytest.mark.parametrize(("power", "name"), [(1, "ReduceL1"), (2, "ReduceL2")])
@pytest.mark.parametrize("opset", [11, 21])
def test_norms_of_windows_next_to_each_other_are_reductions(power: int, name: str, opset: int) -> None:
    left, counts = found(
        pooled([1, 8, 32, 32], "LpPool", opset, kernel_shape=[2, 4], strides=[2, 4], p=power)
    )
    spelled = {"ReduceL1": ["Abs", "ReduceSum"], "ReduceL2": ["Mul", "ReduceSum", "Sqrt"]}  # one kernel, too
    assert left < 0.5
    assert counts in (Counter(["Reshape", name]), Counter(["Reshape", *spelled[name]]))


def test_norms_of_large_overlapping_windows_are_means() -> None:
    window: dict[str, Any] = {"kernel_shape": [1, 300], "strides": [1, 100], "p": 3}
    left, counts = found(pooled([1, 8, 1, 1000], "LpPool", **window))
    assert left < 0.3
    assert counts["AveragePool"] == 2
