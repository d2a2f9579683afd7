"""Knowledge base 12, Conv1d2Conv2d: chains of 1-D convolutions are images, converted once on each side.

Longer chains of the kinds that networks have are in tests/rewrites/test_conv1d.py.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import onnx
import pytest

from .graphs import OPSETS, Graph, check_settled, check_untouched, optimized, outcome

CHANNELS = 32
LENGTH = 300
VIEWS = ("Unsqueeze", "Squeeze", "Reshape")


def _conv(g: Graph, x: str, channels: int = CHANNELS, **attributes: Any) -> str:
    attributes.setdefault("pads", [1, 1])
    weight = g.weight(CHANNELS, channels // attributes.get("group", 1), 3)
    return g.add("Conv", x, weight, g.weight(CHANNELS), **attributes)


def _graph(length: int | str = LENGTH) -> Graph:
    return Graph(x=[1, CHANNELS, length])


def _views(counts: Counter[str]) -> int:
    return sum(counts[name] for name in VIEWS)


def _is_image(model: onnx.ModelProto) -> bool:
    """Every window has two axes."""
    windows = [a.ints for n in model.graph.node for a in n.attribute if a.name == "kernel_shape"]
    return bool(windows) and all(len(window) == 2 for window in windows)


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("length", [LENGTH, "L"])
def test_a_chain_keeps_one_view_in_front_and_one_behind(opset: int, length: int | str) -> None:
    g = _graph(length)
    y = "x"
    for dilation in (1, 2, 4):
        branch = g.add("Relu", _conv(g, y, dilations=[dilation], pads=[dilation, dilation]))
        y = g.add("Add", _conv(g, branch), y)
    result = outcome(g.model(g.add("Tanh", y), opset=opset), "ascend")
    assert _views(result.counts) == 2 and _is_image(result.model)
    assert result.report.cost.after < result.report.cost.before


UNARY = "Abs Clip Elu Erf Exp LeakyRelu Neg Relu Sigmoid Softplus Sqrt Tanh".split()
BINARY = "Add Sub Mul Div Max Min Pow PRelu".split()


@pytest.mark.parametrize("op", UNARY)
def test_functions_stay_within_the_chain(op: str) -> None:
    g = _graph()
    y = _conv(g, "x")
    y = g.add(op, g.add("Sigmoid", y) if op == "Sqrt" else y)
    assert _views(optimized(g.model(_conv(g, y)), "ascend")) == 2


@pytest.mark.parametrize(
    ("op", "dims"),
    [(op, dims) for op in BINARY for dims in ((CHANNELS, 1), (1, CHANNELS, 1), (1,))]
    + [(op, (LENGTH,)) for op in BINARY if op != "PRelu"],
    ids=str,
)
def test_constants_stay_within_the_chain(op: str, dims: tuple[int, ...]) -> None:
    g = _graph()
    y = g.add("Sigmoid", _conv(g, "x"))
    y = g.add(op, y, g.weight(*dims, positive=True))
    assert _views(optimized(g.model(_conv(g, y)), "ascend")) == 2


def _between(g: Graph, name: str, y: str) -> str:
    """One operator that a squeeze passes."""
    parameters = [g.weight(CHANNELS) for _ in range(3)]
    if name == "BatchNormalization":
        scale = g.input("scale", [CHANNELS])
        return g.add(name, y, scale, *parameters[:2], g.weight(CHANNELS, positive=True))
    if name in ("AveragePool", "MaxPool"):
        return g.add(name, y, kernel_shape=[3], strides=[2], pads=[1, 0])
    if name == "ConvTranspose":
        return g.add(name, y, g.weight(CHANNELS, CHANNELS, 4), strides=[2], pads=[1, 1], output_padding=[1])
    if name == "Concat":
        both = g.add(name, y, g.add("Relu", y), axis=1)
        return g.add("Conv", both, g.weight(CHANNELS, 2 * CHANNELS, 1))
    if name == "Sum":
        return g.add(name, y, g.add("Relu", y), g.add("Exp", y))
    if name == "Pad":
        return g.add(name, y, g.constant([0, 0, 3, 0, 0, 2]), mode="reflect")
    if name == "Slice":
        return g.add(name, y, g.constant([1]), g.constant([-5]), g.constant([2]), g.constant([2]))
    if name == "Split":
        half = g.constant([CHANNELS // 2, CHANNELS // 2])
        a, b = g.add_many(name, y, half, outputs=2, axis=1)
        return g.add("Concat", g.add("Mul", g.add("Tanh", a), g.add("Sigmoid", b)), b, axis=1)
    if name == "Where":
        return g.add(name, g.add("Greater", y, g.constant(0.1)), y, g.constant(0.1))
    if name == "Cast":
        return g.add(name, g.add(name, y, to=onnx.TensorProto.DOUBLE), to=onnx.TensorProto.FLOAT)
    if name == "GlobalAveragePool":
        return g.add("Mul", y, g.add("Sigmoid", g.add(name, y)))
    if name == "ReduceMean":
        return g.add("Sub", y, g.add(name, y, axes=[1], keepdims=1))
    assert name == "Softmax"
    return g.add(name, y, axis=1)


@pytest.mark.parametrize(
    "name",
    "AveragePool BatchNormalization Cast Concat ConvTranspose GlobalAveragePool MaxPool Pad ReduceMean Slice "
    "Softmax Split Sum Where".split(),
)
def test_the_chain_goes_on_across(name: str) -> None:
    g = _graph()
    y = g.add("Relu", _conv(g, "x"))
    y = g.add("Relu", _conv(g, _between(g, name, y)))
    result = outcome(g.model(_conv(g, y)), "ascend")
    assert _views(result.counts) == 2 and _is_image(result.model)


@pytest.mark.parametrize("op", ["Add", "Mul", "Concat"])
def test_an_operand_that_is_no_image_is_viewed_as_one(op: str) -> None:
    """It comes from a MatMul: its view and the one behind are free of conversions that it had not before."""
    g = _graph()
    rows = g.add("MatMul", g.add("Transpose", "x", perm=[0, 2, 1]), g.weight(CHANNELS, CHANNELS))
    other = g.add("Transpose", rows, perm=[0, 2, 1])
    y = _conv(g, _conv(g, "x"))
    y = g.add("Concat", y, other, axis=1) if op == "Concat" else g.add(op, y, other)
    y = _conv(g, y, 2 * CHANNELS if op == "Concat" else CHANNELS)
    result = outcome(g.model(_conv(g, y)), "ascend")
    assert _views(result.counts) == 3 and _is_image(result.model)


def test_groups_and_strides_become_those_of_the_width() -> None:
    g = _graph()
    y = g.add("Relu", _conv(g, "x", group=CHANNELS, strides=[2], pads=[2, 1]))
    model = outcome(g.model(_conv(g, y, group=4)), "ascend").model
    convolutions = [n for n in model.graph.node if n.op_type == "Conv"]
    attributes = [{a.name: a.i or tuple(a.ints) for a in n.attribute} for n in convolutions]
    assert [a["group"] for a in attributes] == [CHANNELS, 4]
    assert attributes[0]["strides"] == (1, 2) and attributes[0]["pads"] == (0, 2, 0, 1)


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER", "VALID"])
def test_auto_pad_becomes_pads_of_the_width(mode: str) -> None:
    g = _graph()
    weights = [g.weight(CHANNELS, CHANNELS, 4) for _ in range(3)]
    y = "x"
    for weight in weights:
        y = g.add("Relu", g.add("Conv", y, weight, auto_pad=mode))
    assert _views(optimized(g.model(y), "ascend")) == 2


def test_a_value_inside_that_is_an_output_is_squeezed_for_it() -> None:
    g = _graph()
    inside = g.add("Relu", _conv(g, _conv(g, "x")))
    counts = check_settled(g.model(inside, _conv(g, _conv(g, inside))), "ascend")
    assert _views(counts) == 3


def test_two_inputs_and_two_outputs_have_a_view_each_or_are_joined_to_one() -> None:
    g = _graph()
    other = g.input("other", [1, CHANNELS, LENGTH])
    y = g.add("Add", _conv(g, _conv(g, "x")), _conv(g, _conv(g, other)))
    outputs = [g.add("Relu", _conv(g, y)), g.add("Tanh", _conv(g, y))]
    assert _views(optimized(g.model(*outputs), "ascend")) in (2, 3, 4)


@pytest.mark.parametrize("length", [LENGTH, "L"])
def test_a_lifted_chain_stays_as_it_is(length: int | str) -> None:
    g = _graph(length)
    y = g.add("Relu", _conv(g, "x"))
    check_settled(g.model(g.add("Add", _conv(g, y), "x")), "ascend")


@pytest.mark.parametrize("cost", ["nodes", "flops", "bytes"])
def test_other_targets_keep_1d_convolutions(cost: str) -> None:
    g = _graph()
    y = g.add("MaxPool", g.add("Relu", _conv(g, "x")), kernel_shape=[2], strides=[2])
    check_untouched(g.model(_conv(g, y)), cost)


def test_images_have_no_part_in_it() -> None:
    g = Graph(x=[1, 4, 1, 200])
    y = g.add("Relu", g.add("Conv", "x", g.weight(4, 4, 1, 3)))
    check_untouched(g.model(y), "ascend")
