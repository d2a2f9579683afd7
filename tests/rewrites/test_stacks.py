"""Reductions of stacks are element-wise, and convolutions of shifted images that are added up are one."""

from __future__ import annotations

from typing import Any

import onnx
import pytest

from tests.knowledge_bases.graphs import Dims, Graph, check_settled, optimized, outcome

KINDS = {"ReduceSum": "Sum", "ReduceMean": "Mean", "ReduceMax": "Max", "ReduceMin": "Min"}


def _axes(g: Graph, op: str, x: str, axis: int, opset: int, **settings: Any) -> str:
    """An operator of which the axes are an input or an attribute."""
    since = 18 if op in KINDS and op != "ReduceSum" else 13
    if opset >= since:
        return g.add(op, x, g.constant([axis]), **settings)
    return g.add(op, x, axes=[axis], **settings)


def _stack(
    kind: str, dims: Dims, axis: int, opset: int = 17, count: int = 3, keepdims: int = 0
) -> onnx.ModelProto:
    g = Graph(**{f"x{k}": dims for k in range(count)})
    parts = [_axes(g, "Unsqueeze", f"x{k}", axis, opset) for k in range(count)]
    whole = g.add("Concat", *parts, axis=axis)
    return g.model(_axes(g, kind, whole, axis, opset, keepdims=keepdims), opset=opset)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("dims", "axis", "opset"),
    [([1, 8, 20], 0, 11), ([2, 5], 1, 13), (["N", 3, 4], 2, 17), ([6, "L"], 2, 21)],
    ids=["first", "middle", "symbolic", "last"],
)
def test_a_reduced_stack_is_element_wise(kind: str, dims: Dims, axis: int, opset: int) -> None:
    assert optimized(_stack(kind, dims, axis, opset)) == {KINDS[kind]: 1}


def test_a_stack_of_two_is_an_add() -> None:
    model = _stack("ReduceSum", [3, 4], 0, count=2)
    assert check_settled(model) == {"Add": 1}
    assert check_settled(model, "ascend") == {"Add": 1}


def test_kept_dims_are_a_view_of_the_sum() -> None:
    assert optimized(_stack("ReduceMax", [3, 4], 1, keepdims=1)) == {"Max": 1, "Unsqueeze": 1}


def test_parts_that_have_the_axis_need_no_view() -> None:
    g = Graph(x=[1, 8, 20], y=[1, 8, 20], z=[1, 8, 20])
    whole = g.add("Concat", "x", "y", "z", axis=0)
    model = g.model(g.add("ReduceSum", whole, g.constant([0, 2]), keepdims=1))
    assert optimized(model, "bytes") == {"Sum": 1, "ReduceSum": 1}


def test_a_mean_of_doubles_stays_a_reduction() -> None:
    """onnxruntime has no other."""
    g = Graph()
    parts = [g.add("Unsqueeze", g.input(name, [2, 3], onnx.TensorProto.DOUBLE), axes=[0]) for name in "xyz"]
    y = g.add("ReduceMean", g.add("Concat", *parts, axis=0), axes=[0], keepdims=0)
    assert optimized(g.model(y, opset=11, dtypes={y: onnx.TensorProto.DOUBLE}))["ReduceMean"] == 1


def test_integers_and_longer_parts_stay() -> None:
    g = Graph()
    names = [g.input(name, [1, 4], onnx.TensorProto.INT64) for name in "xy"]
    y = g.add("ReduceSum", g.add("Concat", *names, axis=0), g.constant([0]), keepdims=0)
    assert optimized(g.model(y, dtypes={y: onnx.TensorProto.INT64}))["ReduceSum"] == 1
    g = Graph(x=[1, 4], y=[2, 4])
    model = g.model(g.add("ReduceSum", g.add("Concat", "x", "y", axis=0), g.constant([0]), keepdims=0))
    assert optimized(model) == {"Concat": 1, "ReduceSum": 1}


# --- convolutions of parts ------------------------------------------------------------------------------


def _parts(
    kernels: tuple[int, ...],
    length: int = 100,
    *,
    opset: int = 17,
    stacked: bool = False,
    swapped: bool = False,
    **window: Any,
) -> onnx.ModelProto:
    """Convolutions of slices of one image, added up; auto-optimizer stacks them and reduces the stack."""
    g = Graph(x=[1, 8, length])
    dilation, group = window.get("dilations", [1])[0], window.get("group", 1)
    parts, start, whole = [], 0, sum(kernels)
    for k, size in enumerate(kernels):
        end = length - dilation * (whole - start - size)
        bounds = (g.constant([v]) for v in (start * dilation, end, 2))
        bias = [g.weight(16)] if k == 0 else []
        parts.append(
            g.add("Conv", g.add("Slice", "x", *bounds), g.weight(16, 8 // group, size), *bias, **window)
        )
        start += size
    if stacked:
        whole_stack = g.add("Concat", *(_axes(g, "Unsqueeze", part, 0, opset) for part in parts), axis=0)
        return g.model(_axes(g, "ReduceSum", whole_stack, 0, opset, keepdims=0), opset=opset)
    total = parts[0]
    for part in parts[1:]:
        total = g.add("Add", part, total) if swapped else g.add("Add", total, part)
    return g.model(total, opset=opset)


@pytest.mark.parametrize("opset", [11, 13, 17, 21])
def test_the_after_form_of_a_large_kernel_collapses(opset: int) -> None:
    result = outcome(_parts((200, 200, 200), 2400, opset=opset, stacked=True), "ascend")
    g = Graph(x=[1, 8, 2400])
    by_hand = outcome(g.model(g.add("Conv", "x", g.weight(16, 8, 600), g.weight(16)), opset=opset), "ascend")
    assert result.report.cost.after <= by_hand.report.cost.after * (1 + 1e-6)
    assert result.report.cost.after < 0.6 * result.report.cost.before


@pytest.mark.parametrize("cost", ["ascend", "nodes"])
@pytest.mark.parametrize(
    "window",
    [{}, {"stacked": True}, {"swapped": True}, {"strides": [3]}, {"dilations": [2]}, {"group": 2}],
    ids=["sum", "stacked", "swapped", "strides", "dilations", "groups"],
)
def test_parts_of_a_small_kernel_are_one_convolution(window: dict[str, Any], cost: str) -> None:
    assert check_settled(_parts((3, 4, 2), **window), cost) == {"Conv": 1}


def test_a_part_of_an_image_is_sliced_once() -> None:
    g = Graph(x=[1, 4, 30, 9])
    parts = []
    for start, end, size in ((2, 20, 3), (5, 21, 1)):
        rows = g.add("Slice", "x", g.constant([start, 1]), g.constant([end, 8]), g.constant([2, 3]))
        parts.append(g.add("Conv", rows, g.weight(6, 4, size, 2), g.weight(6), pads=[0, 1, 0, 1]))
    assert optimized(g.model(g.add("Add", *parts))) == {"Slice": 1, "Conv": 1}


@pytest.mark.parametrize("length", [40, 41])
def test_parts_with_a_pixel_between_stay(length: int) -> None:
    g = Graph(x=[1, 8, length])
    parts = []
    for start, end, size in ((0, 30, 3), (4, 34, 3)):
        bounds = (g.constant([v]) for v in (start, end, 2))
        parts.append(g.add("Conv", g.add("Slice", "x", *bounds), g.weight(4, 8, size)))
    assert optimized(g.model(g.add("Add", *parts)))["Slice"] == 2


def test_one_window_that_is_broadcast_stays() -> None:
    g = Graph(x=[1, 8, 20])
    parts = []
    for start, end, size in ((2, 16, 3), (5, 7, 2)):
        bounds = (g.constant([v]) for v in (start, end, 2))
        parts.append(g.add("Conv", g.add("Slice", "x", *bounds), g.weight(4, 8, size)))
    assert optimized(g.model(g.add("Add", *parts)))["Conv"] == 2


def test_a_part_that_is_an_output_stays_one() -> None:
    g = Graph(x=[1, 8, 50])
    parts = []
    for start, end, size in ((0, 48, 3), (3, 50, 2)):
        bounds = (g.constant([v]) for v in (start, end, 2))
        parts.append(g.add("Conv", g.add("Slice", "x", *bounds), g.weight(4, 8, size)))
    assert optimized(g.model(g.add("Add", *parts), parts[0]))["Conv"] == 2
