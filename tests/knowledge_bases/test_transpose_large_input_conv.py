"""Knowledge base 4, TransposeLargeInputConv: images too wide for the target are computed on their side."""

from __future__ import annotations

from typing import Any

import onnx
import pytest

from .graphs import OPSETS, Dims, Graph, check_settled, check_untouched, optimized, outcome

WIDE = 20_000
"""Wider than the 4096 pixels that a row may have."""


def _conv(
    g: Graph, x: str, c_in: int, c_out: int, kernel: tuple[int, int] = (2, 3), **attributes: Any
) -> str:
    return g.add("Conv", x, g.weight(c_out, c_in, *kernel), g.weight(c_out), **attributes)


def _batchnorm(g: Graph, x: str, channels: int) -> str:
    parameters = [g.weight(channels) for _ in range(3)]
    return g.add("BatchNormalization", x, *parameters, g.weight(channels, positive=True))


def _aasist_block(g: Graph, x: str, channels: int) -> str:
    """Convolutions with a residual, then a pool along the width."""
    y = _conv(g, x, channels, channels, pads=[1, 1, 1, 1])
    y = g.add("Selu", _batchnorm(g, y, channels))
    y = _conv(g, y, channels, channels, pads=[0, 1, 0, 1])
    y = g.add("MaxPool", g.add("Add", y, x), kernel_shape=[1, 3], strides=[1, 3])
    return g.add("Selu", _batchnorm(g, y, channels))


def _attributes(model: onnx.ModelProto, op_type: str, name: str) -> list[tuple[int, ...]]:
    return [
        tuple(a.ints) for n in model.graph.node if n.op_type == op_type for a in n.attribute if a.name == name
    ]


@pytest.mark.parametrize("opset", OPSETS)
def test_two_blocks_in_a_row_keep_two_transposes(opset: int) -> None:
    g = Graph(x=[1, 16, 6, WIDE])
    y = _aasist_block(g, _aasist_block(g, "x", 16), 16)
    model = g.model(y, opset=opset)
    counts = check_settled(model, "ascend")
    assert counts["Transpose"] == 2
    assert counts["Conv"] == 4 and counts["MaxPool"] == 2


def test_a_width_that_is_assumed_is_as_good_as_one_that_is_known() -> None:
    found = {}
    for width in (WIDE, "W"):
        g = Graph(x=[1, 16, 6, width])
        model = g.model(_aasist_block(g, _aasist_block(g, "x", 16), 16))
        found[width] = outcome(model, "ascend", assume={"W": WIDE} if width == "W" else None)
    assert found["W"].counts == found[WIDE].counts
    assert found["W"].report.cost.after == found[WIDE].report.cost.after


def test_a_third_block_costs_no_further_transpose() -> None:
    g = Graph(x=[1, 16, 6, WIDE])
    y = "x"
    for _ in range(3):
        y = _aasist_block(g, y, 16)
    result = outcome(g.model(y), "ascend")
    assert result.counts["Transpose"] == 2
    assert result.report.cost.after < 0.7 * result.report.cost.written


def test_reductions_at_the_end_need_no_transpose_back() -> None:
    g = Graph(x=[1, 16, 6, WIDE])
    y = _aasist_block(g, _aasist_block(g, "x", 16), 16)
    rows, columns = (g.add("ReduceMax", g.add("Abs", y), axes=[axis], keepdims=0) for axis in (2, 3))
    counts = check_settled(g.model(rows, columns), "ascend")
    assert counts["Transpose"] == 1


@pytest.mark.parametrize(
    ("attributes", "strides", "dilations", "pads"),
    [
        ({"pads": [0, 1, 1, 2]}, (1, 1), (1, 1), (1, 0, 2, 1)),
        ({"strides": [1, 2]}, (2, 1), (1, 1), (0, 0, 0, 0)),
        ({"dilations": [1, 3], "pads": [1, 3, 0, 3]}, (1, 1), (3, 1), (3, 1, 3, 0)),
        ({"auto_pad": "SAME_UPPER"}, (1, 1), (1, 1), (1, 0, 1, 1)),
        ({"auto_pad": "SAME_LOWER"}, (1, 1), (1, 1), (1, 1, 1, 0)),
        ({"auto_pad": "VALID"}, (1, 1), (1, 1), (0, 0, 0, 0)),
    ],
    ids=["pads", "strides", "dilations", "same-upper", "same-lower", "valid"],
)
def test_the_window_turns_with_the_image(
    attributes: dict[str, Any], strides: tuple[int, ...], dilations: tuple[int, ...], pads: tuple[int, ...]
) -> None:
    g = Graph(x=[1, 4, 6, WIDE])
    y = g.add("ReduceMax", _conv(g, "x", 4, 64, **attributes), axes=[2, 3])
    result = outcome(g.model(y), "ascend")
    assert result.counts["Transpose"] == 1
    assert _attributes(result.model, "Conv", "kernel_shape") == [(3, 2)]
    assert _attributes(result.model, "Conv", "strides") == [strides]
    assert _attributes(result.model, "Conv", "dilations") == [dilations]
    assert _attributes(result.model, "Conv", "pads") == [pads]


@pytest.mark.parametrize("group", [2, 16])
def test_groups_stay(group: int) -> None:
    g = Graph(x=[1, 16, 6, WIDE])
    y = "x"
    for _ in range(3):
        weight = g.weight(16, 16 // group, 2, 3)
        y = g.add("Relu", g.add("Conv", y, weight, group=group, pads=[0, 1, 1, 1]))
    result = outcome(g.model(y), "ascend")
    assert result.counts["Transpose"] == 2
    assert [a.i for n in result.model.graph.node for a in n.attribute if a.name == "group"] == [group] * 3


def _chain(g: Graph, name: str) -> str:
    """Two wide convolutions with other operators in between."""
    y = _conv(g, "x", 4, 32, pads=[0, 1, 1, 1])
    if name == "AveragePool":
        y = g.add(
            "AveragePool", y, kernel_shape=[2, 2], strides=[1, 2], pads=[0, 0, 1, 0], count_include_pad=1
        )
    elif name == "Concat":
        y = g.add("Concat", y, _conv(g, "x", 4, 16, (1, 1)), "x", axis=1)
        return _conv(g, y, 52, 32, pads=[0, 1, 1, 1])
    elif name == "Sum":
        y = g.add("Sum", y, _conv(g, "x", 4, 32, (1, 1)), _conv(g, "x", 4, 32, (1, 3), pads=[0, 1, 0, 1]))
    elif name == "Pad":
        y = g.add("Pad", y, g.constant([0, 0, 1, 2, 0, 0, 0, 3]), mode="reflect")
    elif name == "Slice":
        y = g.add("Slice", y, g.constant([0, 5]), g.constant([5, WIDE - 3]), g.constant([2, 3]))
    elif name == "InstanceNormalization":
        y = g.add("InstanceNormalization", y, g.weight(32), g.weight(32))
    elif name == "BatchNormalization":
        scale = g.input("scale", [32])
        y = g.add("BatchNormalization", y, scale, g.weight(32), g.weight(32), g.weight(32, positive=True))
    elif name == "constants":
        y = g.add("PRelu", g.add("Mul", y, g.weight(1, 1, 6, 1)), g.weight(32, 1, 1))
    elif name == "ConvTranspose":
        y = g.add("ConvTranspose", y, g.weight(32, 32, 2, 2), strides=[1, 2])
    else:
        y = g.add(name, y)
    return _conv(g, y, 32, 32, pads=[0, 1, 1, 1])


@pytest.mark.parametrize(
    "name",
    "AveragePool BatchNormalization Concat ConvTranspose InstanceNormalization Pad Sigmoid Slice Sum "
    "constants".split(),
)
def test_the_transposes_cancel_across(name: str) -> None:
    g = Graph(x=[1, 4, 6, WIDE])
    y = g.add("GlobalAveragePool", _chain(g, name))
    assert optimized(g.model(y), "ascend")["Transpose"] == 1


def test_a_gate_of_the_image_itself_turns_along() -> None:
    g = Graph(x=[1, 4, 6, WIDE])
    y = _conv(g, "x", 4, 32, pads=[0, 1, 1, 1])
    gate = g.add("Sigmoid", _conv(g, g.add("GlobalAveragePool", y), 32, 32, (1, 1)))
    y = _conv(g, g.add("Mul", y, gate), 32, 32)
    assert optimized(g.model(g.add("GlobalMaxPool", y)), "ascend")["Transpose"] == 1


def test_a_conv1d_of_a_long_signal_is_an_image_on_its_side_for_nothing() -> None:
    g = Graph(x=[1, 8, 64_000])
    y = g.add("Relu", g.add("Conv", "x", g.weight(32, 8, 9), pads=[4, 4]))
    y = g.add("Conv", y, g.weight(32, 32, 9), strides=[4])
    result = outcome(g.model(y), "ascend")
    assert result.counts["Transpose"] == 0
    assert _attributes(result.model, "Conv", "kernel_shape") == [(9, 1)] * 2
    assert result.report.cost.after < 0.5 * result.report.cost.before


def test_a_value_inside_that_is_an_output_of_the_graph_keeps_its_layout() -> None:
    g = Graph(x=[1, 16, 6, WIDE])
    inside = g.add("Relu", _conv(g, "x", 16, 32, pads=[0, 1, 1, 1]))
    y = inside
    for _ in range(4):
        y = g.add("Relu", _conv(g, y, 32, 32, pads=[0, 1, 1, 1]))
    counts = check_settled(g.model(inside, y), "ascend")
    assert counts["Transpose"] == 2 + (counts["Conv"] == 5)  # else it is computed in both layouts


def test_transposes_that_the_model_has_cancel_past_windows_for_every_target() -> None:
    g = Graph(x=[1, 4, 8, 9])
    y = g.add("Transpose", "x", perm=[0, 1, 3, 2])
    y = g.add("MaxPool", _conv(g, y, 4, 6, pads=[1, 0, 1, 2]), kernel_shape=[3, 2])
    y = g.add("Transpose", _batchnorm(g, y, 6), perm=[0, 1, 3, 2])
    assert check_settled(g.model(y)) == {"Conv": 1, "BatchNormalization": 1, "MaxPool": 1}


@pytest.mark.parametrize(
    "dims", [[1, 16, WIDE, 6], [1, 16, 6, 2000], [1, 16, 6, "W"]], ids=["high", "not wide", "unknown width"]
)
def test_images_that_are_high_or_fit_stay(dims: Dims) -> None:
    g = Graph(x=dims)
    channels = dims[1]
    assert isinstance(channels, int)
    model = g.model(g.add("Selu", _conv(g, "x", channels, 2)))
    check_untouched(model, "ascend")


@pytest.mark.parametrize("cost", ["nodes", "flops", "bytes"])
def test_other_targets_see_no_transposes(cost: str) -> None:
    g = Graph(x=[1, 16, 6, WIDE])
    y = _aasist_block(g, _aasist_block(g, "x", 16), 16)
    counts = check_settled(g.model(y), cost)
    assert counts["Transpose"] == 0


def test_a_short_way_is_not_worth_two_transposes() -> None:
    g = Graph(x=[1, 16, 6, WIDE])
    check_untouched(g.model(g.add("Relu", _conv(g, "x", 16, 16))), "ascend")


def test_an_upsampling_on_the_way_turns_along() -> None:
    """A U-Net of wide lines: four convolutions for two transposes."""
    g = Graph(x=[1, 16, 4, 24000])

    def convolved(y: str, channels: int, steps: int = 1) -> str:
        made = g.add("Conv", y, g.weight(16, channels, 3, 3), pads=[1] * 4, strides=[1, steps])
        return g.add("Relu", made)

    first = convolved("x", 16)
    small = convolved(convolved(first, 16, 2), 16)
    scales = g.constant([1.0, 1.0, 1.0, 2.0])
    large = g.add("Resize", small, "", scales, mode="linear", coordinate_transformation_mode="asymmetric")
    model = g.model(convolved(g.add("Concat", first, large, axis=1), 32))
    result = outcome(model, "ascend")
    assert result.counts["Transpose"] == 2
    assert result.report.cost.after < 0.95 * result.report.cost.before
