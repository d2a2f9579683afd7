"""Pools beyond a target's limits become cascades; other targets do not see them."""

import onnx
import pytest
from onnx import parser

from egraph_opt import Saturated, optimize, saturate
from egraph_opt.cost.registry import cost_model
from egraph_opt.operators import PoolWindow
from egraph_opt.verification import verify


def _pool(height: int, width: int, kind: str = "AveragePool", opset: int = 17) -> onnx.ModelProto:
    return parser.parse_model(
        f"""
        <ir_version: 8, opset_import: ["" : {opset}]>
        agraph (float[N, 3, {2 * height}, {2 * width}] x) => (float[N, 3, 2, 2] y) {{
            y = {kind} <kernel_shape = [{height}, {width}], strides = [{height}, {width}]> (x)
        }}
        """
    )


def _windows(model: onnx.ModelProto) -> list[tuple[int, ...]]:
    return [tuple(a.ints) for node in model.graph.node for a in node.attribute if a.name == "kernel_shape"]


def _pools(saturated: Saturated) -> list[PoolWindow]:
    """The windows of all pools in an e-graph."""
    assert saturated.region is not None
    snapshot = saturated.region.snapshot
    return [a[1] for name, a in zip(snapshot.operator, snapshot.attributes, strict=True) if name == "pool"]


@pytest.mark.parametrize("opset", [11, 13, 14, 17, 21])
def test_an_average_pool_of_32_by_64_becomes_a_cascade_within_the_limits(opset: int) -> None:
    model = _pool(32, 64, opset=opset)
    result = optimize(model, cost="ascend", strict=True)
    windows = _windows(result.model)
    limits = cost_model("ascend").limits
    assert len(windows) == 2
    assert all(max(w) <= limits["pool_kernel"] and w[0] * w[1] <= limits["pool_window"] for w in windows)
    assert windows[0][0] * windows[1][0] == 32 and windows[0][1] * windows[1][1] == 64
    assert result.report.verification.status == "passed"
    assert verify(model, result.model).status == "passed"


def test_a_max_pool_beyond_the_limits_becomes_a_cascade_too() -> None:
    assert len(_windows(optimize(_pool(32, 64, "MaxPool"), cost="ascend", strict=True).model)) == 2


@pytest.mark.parametrize("stride", [1, 7, 1024])
def test_windows_that_are_all_of_an_axis_are_written_alike_whatever_their_stride(stride: int) -> None:
    model = parser.parse_model(
        f"""
        <ir_version: 8, opset_import: ["" : 17]>
        agraph (float[1, 3, 4, 1024] x) => (float[1, 3, 2, 1] y) {{
            y = AveragePool <kernel_shape = [2, 1024], strides = [2, {stride}]> (x)
        }}
        """
    )
    saturated = saturate(model, target="ascend")
    parts = [w for w in _pools(saturated) if w.kernel[1] < 1024]
    assert parts and all(w.strides[1] in (1, w.kernel[1]) for w in parts)
    assert len(parts) <= 16, "three pairs, and what is left of them along the other axis"
    result = saturated.extract("ascend", strict=True)
    assert result.report.verification.status == "passed"


def test_a_window_that_is_the_whole_input_is_a_global_pool_and_has_one_cascade() -> None:
    model = parser.parse_model(
        """
        <ir_version: 8, opset_import: ["" : 17]>
        agraph (float[1, 3, 32, 1024] x) => (float[1, 3, 1, 1] y) {
            y = MaxPool <kernel_shape = [32, 1024]> (x)
        }
        """
    )
    saturated = saturate(model, target="ascend")
    assert len(_pools(saturated)) <= 5
    result = saturated.extract("ascend", strict=True)
    assert {node.op_type for node in result.model.graph.node} <= {"GlobalMaxPool", "ReduceMax"}
    assert result.report.verification.status == "passed"


def test_a_pool_within_the_limits_stays() -> None:
    assert _windows(optimize(_pool(8, 16), cost="ascend", strict=True).model) == [(8, 16)]


@pytest.mark.parametrize("cost", ["nodes", "flops", "bytes"])
def test_targets_without_limits_keep_one_pool(cost: str) -> None:
    assert _windows(optimize(_pool(32, 64), cost=cost, strict=True).model) == [(32, 64)]


def test_optimising_a_cascade_again_changes_nothing() -> None:
    once = optimize(_pool(32, 64), cost="ascend", strict=True).model
    again = optimize(once, cost="ascend", strict=True)
    assert again.report.status == "unchanged"
    assert _windows(again.model) == _windows(once)
