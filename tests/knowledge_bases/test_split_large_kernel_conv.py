"""Knowledge base 5, SplitLargeKernelConv: kernels and strides that the target cannot express."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from egraph_opt import optimize
from egraph_opt.cost.registry import cost_model

from .graphs import OPSETS, Dims, Graph, check_settled, check_untouched, optimized, outcome

LIMITS = cost_model("ascend").limits


def _windows(model: onnx.ModelProto, name: str = "kernel_shape") -> list[tuple[int, ...]]:
    convolutions = [node for node in model.graph.node if node.op_type == "Conv"]
    return sorted(tuple(a.ints) for node in convolutions for a in node.attribute if a.name == name)


def _conv(
    x: Dims, weight: tuple[int, ...], opset: int = 17, *, bias: bool = True, **attributes: Any
) -> onnx.ModelProto:
    g = Graph(x=x)
    operands = [g.weight(*weight), *([g.weight(weight[0])] if bias else [])]
    return g.model(g.add("Conv", "x", *operands, **attributes), opset=opset)


def _check_parts(model: onnx.ModelProto, parts: int) -> None:
    """At most so many convolutions, all within the limits, and it is worth it; sums of some may be one."""
    result = outcome(model, "ascend")
    kernels = _windows(result.model)
    assert 1 <= len(kernels) <= parts
    assert max(max(kernel) for kernel in kernels) <= LIMITS["conv_kernel"]
    assert max(max(stride) for stride in _windows(result.model, "strides")) <= LIMITS["conv_stride"]
    assert max(max(pads) for pads in _windows(result.model, "pads")) <= LIMITS["conv_pad"]
    assert result.report.cost.after < result.report.cost.before


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("length", [2400, "L"])
def test_a_kernel_of_600_becomes_three_parts_of_200(opset: int, length: int | str) -> None:
    g = Graph(x=[1, 8, length])
    y = g.add("Relu", g.add("Conv", "x", g.weight(16, 8, 600), g.weight(16)))
    model = g.model(g.add("ReduceMax", y, axes=[2]) if opset < 18 else y, opset=opset)
    result = outcome(model, "ascend", assume={"L": 2400} if length == "L" else None)
    assert {max(kernel) for kernel in _windows(result.model)} == {200}
    assert result.counts["Slice"] == 3 and result.counts["Conv"] <= 3
    assert result.report.cost.after < 0.5 * result.report.cost.before


@pytest.mark.parametrize(
    ("weight", "attributes"),
    [
        ((16, 8, 510), {"strides": [3]}),
        ((16, 8, 300), {"dilations": [3], "strides": [2]}),
        ((16, 8, 301), {"pads": [150, 20]}),
        ((16, 8, 301), {"auto_pad": "SAME_UPPER"}),
        ((16, 8, 302), {"auto_pad": "SAME_LOWER"}),
        ((16, 8, 500), {"auto_pad": "VALID"}),
        ((16, 2, 400), {"group": 4, "pads": [7, 0]}),
        ((8, 1, 256), {"group": 8}),
    ],
    ids=["stride", "dilation", "pads", "same-upper", "same-lower", "valid", "group", "depthwise"],
)
def test_windows_of_every_kind_split(weight: tuple[int, ...], attributes: dict[str, Any]) -> None:
    bias = weight[2] % 2 == 0
    _check_parts(_conv([1, 8, 2000], weight, bias=bias, **attributes), parts=2)


@pytest.mark.parametrize(
    ("x", "weight", "parts", "attributes"),
    [
        ([1, 4, 5, 2000], (8, 4, 3, 512), 3, {"strides": [1, 2], "pads": [1, 100, 1, 99]}),
        ([1, 4, 1500, 6], (8, 4, 511, 2), 3, {"strides": [3, 1], "dilations": [1, 2]}),
        ([1, 1, 300, 310], (4, 1, 260, 262), 4, {}),
        ([1, 2, 3, 500, 4], (4, 2, 2, 260, 2), 2, {"pads": [0, 9, 1, 0, 3, 1]}),
    ],
    ids=["width", "height", "both", "3-d"],
)
def test_any_axis_splits(x: Dims, weight: tuple[int, ...], parts: int, attributes: dict[str, Any]) -> None:
    _check_parts(_conv(x, weight, **attributes), parts)


def test_pads_beyond_the_limit_come_apart_with_their_kernel() -> None:
    _check_parts(_conv([1, 8, 2000], (16, 8, 701), pads=[350, 350]), parts=3)


def test_twice_the_parts_do_not_explode() -> None:
    few = outcome(_conv([1, 4, 4000], (8, 4, 1020)), "ascend")
    many = optimize(_conv([1, 4, 4000], (8, 4, 2040)), cost="ascend", extractor="greedy-dag")
    slices = sum(node.op_type == "Slice" for node in many.model.graph.node)
    assert few.counts["Slice"] == 4 and slices > 4
    assert many.report.saturation.nodes < 6 * few.report.saturation.nodes


def test_what_was_split_stays_as_it_is() -> None:
    check_settled(_conv([1, 8, 2400], (16, 8, 600), pads=[9, 0]), "ascend")
    check_settled(_conv([1, 1, 300, 310], (4, 1, 260, 262)), "ascend")


def test_an_stft_with_steps_beyond_the_limit_takes_in_neighbours_as_channels() -> None:
    g = Graph(x=[1, 1, 16_000])
    frames = g.add("Conv", "x", g.weight(514, 1, 512), strides=[160])
    real, imaginary = (
        g.add("Slice", frames, g.constant([a]), g.constant([b]), g.constant([1]))
        for a, b in ((0, 257), (257, 514))
    )
    power = g.add("Add", g.add("Mul", real, real), g.add("Mul", imaginary, imaginary))
    model = g.model(power)
    result = outcome(model, "ascend")
    assert [max(kernel) for kernel in _windows(result.model)] == [16]
    assert [max(steps) for steps in _windows(result.model, "strides")] == [5]
    assert result.report.cost.after < 0.1 * result.report.cost.before
    check_settled(model, "ascend")


@pytest.mark.parametrize(
    ("weight", "attributes", "opset"),
    [((256, 8, 100), {"strides": [100]}, opset) for opset in OPSETS]
    + [
        ((256, 4, 90), {"strides": [64], "pads": [11, 30], "group": 2}, 17),
        ((16, 8, 1000), {"strides": [127]}, 17),
    ],
    ids=[*(f"patches-{opset}" for opset in OPSETS), "padded groups", "prime"],
)
def test_steps_beyond_the_limit_shrink(
    weight: tuple[int, ...], attributes: dict[str, Any], opset: int
) -> None:
    _check_parts(_conv([2, 8, 4001], weight, opset, **attributes), parts=1)


def test_a_graph_output_between_two_large_kernels_stays() -> None:
    g = Graph(x=[1, 8, 2400])
    inside = g.add("Conv", "x", g.weight(8, 8, 300))
    y = g.add("Conv", inside, g.weight(8, 8, 300))
    assert optimized(g.model(inside, y), "ascend")["Slice"] == 4


@pytest.mark.parametrize("cost", ["nodes", "flops", "bytes"])
@pytest.mark.parametrize("strides", [[1], [160]], ids=["kernel", "stride"])
def test_other_targets_keep_one_convolution(cost: str, strides: list[int]) -> None:
    g = Graph(x=[1, 8, 2400])
    y = g.add("Relu", g.add("Conv", "x", g.weight(16, 8, 600), g.weight(16), strides=strides))
    check_untouched(g.model(y), cost)


def test_a_kernel_at_the_limit_stays() -> None:
    check_untouched(_conv([1, 8, 2400], (16, 8, LIMITS["conv_kernel"])), "ascend")


def test_a_computed_weight_is_not_cut() -> None:
    g = Graph(x=[1, 4, 1000])
    weight = g.input("weight", [4, 4, 300])
    assert optimized(g.model(g.add("Conv", "x", weight)), "ascend")["Conv"] == 1


def test_dilated_steps_beyond_the_limit_stay() -> None:
    model = _conv([1, 4, 3000], (4, 4, 5), strides=[100], dilations=[2])
    assert optimized(model, "ascend")["Slice"] == 0


def test_the_parts_add_up_in_float16_too() -> None:
    g = Graph()
    x = g.input("x", [1, 8, 1500], onnx.TensorProto.FLOAT16)
    weight = g.constant(np.random.default_rng(0).standard_normal((4, 8, 400)) / 50, np.float16)
    model = g.model(g.add("Conv", x, weight, pads=[3, 3]), dtypes={"v0_0": onnx.TensorProto.FLOAT16})
    assert optimized(model, "ascend")["Slice"] == 2


@pytest.mark.parametrize(
    ("image", "weight", "attributes"),
    [
        ([1, 16, 4096], (16, 16, 3), {"dilations": [512], "pads": [512, 512]}),
        ([1, 8, 1, 2048], (8, 4, 1, 3), {"dilations": [1, 512], "pads": [0, 512, 0, 512], "group": 2}),
        ([1, 8, 2100, 6], (8, 8, 3, 1), {"dilations": [300, 1], "pads": [300, 0, 0, 0]}),
        (["N", 8, 600, 640], (8, 8, 3, 3), {"dilations": [300, 320], "pads": [300, 320, 300, 320]}),
        ([1, 8, 1000, 90], (4, 8, 2, 3), {"dilations": [400, 1]}),
    ],
    ids=str,
)
@pytest.mark.parametrize("opset", OPSETS)
def test_a_dilation_beyond_the_limit_looks_at_neighbours(
    image: Dims, weight: tuple[int, ...], attributes: dict[str, Any], opset: int
) -> None:
    model = _conv(image, weight, opset=opset, **attributes)
    result = outcome(model, "ascend")
    assert max(max(steps) for steps in _windows(result.model, "dilations")) == 1
    assert result.report.cost.after < 0.8 * result.report.cost.before
    check_settled(model, "ascend")


def test_a_dilation_within_the_limit_stays() -> None:
    check_untouched(_conv([1, 8, 1, 2048], (8, 8, 1, 3), dilations=[1, 128], pads=[0, 128, 0, 128]), "ascend")
