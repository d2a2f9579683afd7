"""Channels in another order, and transposed convolutions of all phases, as cheap as written by hand."""

from typing import Any

import numpy as np
import onnx
import pytest

from ..knowledge_bases.graphs import Dims, Graph, check_settled, outcome

FAR = 2**31 - 1


def cut(g: Graph, x: str, *cuts: tuple[int, int, int, int]) -> str:
    """Axis, start, end and step of each cut."""
    axes, starts, ends, steps = (g.constant(np.array(v)) for v in zip(*cuts, strict=True))
    return g.add("Slice", x, starts, ends, axes, steps)


def reordered(how: str, opset: int, image: Dims = ("N", 3, 8, "W")) -> onnx.ModelProto:
    g = Graph(x=list(image))
    channels = int(image[1])
    if how == "slices":
        parts = [cut(g, "x", (1, k, k + 1, 1)) for k in reversed(range(channels))]
        y = g.add("Concat", *parts, axis=1)
    elif how == "split":
        sizes = {"split": [1] * channels} if opset < 13 else {}
        more = [g.constant(np.array([1] * channels))] if opset >= 13 else []
        parts = g.add_many("Split", "x", *more, outputs=channels, axis=1, **sizes)
        y = g.add("Concat", *parts[1:], parts[0], axis=1)
    else:
        y = cut(g, "x", (1, -1, -FAR, -1))
    return g.model(g.add("Relu", g.add("Conv", y, g.weight(6, channels, 3, 3), g.weight(6))), opset=opset)


@pytest.mark.parametrize(
    ("how", "opset", "image"),
    [
        ("slices", 11, ("N", 3, 8, "W")),
        ("slices", 17, (2, 4, 9, 7)),
        ("split", 11, (1, 3, 8, 8)),
        ("split", 21, ("N", 4, 8, 8)),
        ("backwards", 13, ("N", 3, "H", "W")),
    ],
)
def test_an_order_of_channels_goes_into_the_weight(how: str, opset: int, image: Dims) -> None:
    assert check_settled(reordered(how, opset, image), "ascend") == {"Conv": 1, "Relu": 1}


@pytest.mark.parametrize("parts", [((1, 2), (0, 1)), ((0, 2), (0, 2)), ((2, 3), (0, 1))])
def test_a_choice_or_a_repetition_stays(parts: tuple[tuple[int, int], ...]) -> None:
    g = Graph(x=["N", 3, 8, 8])
    y = g.add("Concat", *(cut(g, "x", (1, a, b, 1)) for a, b in parts), axis=1)
    size = sum(b - a for a, b in parts)
    assert outcome(g.model(g.add("Conv", y, g.weight(6, size, 3, 3))), "ascend").counts["Conv"] == 1


def test_phases_in_any_order_are_one_convolution() -> None:
    g = Graph(x=["N", 3, 12, 8])
    corners = ((1, 0), (0, 0), (1, 1), (0, 1))
    y = g.add("Concat", *(cut(g, "x", (2, i, FAR, 2), (3, j, FAR, 2)) for i, j in corners), axis=1)
    model = g.model(g.add("Conv", y, g.weight(6, 12, 3, 3), g.weight(6), pads=[1] * 4), opset=11)
    assert check_settled(model, "ascend") == {"Conv": 1}


@pytest.mark.parametrize("indices", [[2, 0, 3, 1], [1, -1]])
@pytest.mark.parametrize("bias", [True, False])
def test_channels_that_are_chosen_behind_a_convolution_are_those_computed(
    indices: list[int], bias: bool
) -> None:
    g = Graph(x=["N", 5, 8, "W"])
    y = g.add("Conv", "x", g.weight(4, 5, 3, 3), *([g.weight(4)] if bias else []))
    model = g.model(g.add("Gather", y, g.constant(np.array(indices)), axis=1))
    assert check_settled(model, "ascend") == {"Conv": 1}


@pytest.mark.parametrize(("group", "between", "left"), [(1, "", 1), (1, "Relu", 1), (2, "", 2)])
def test_a_shuffle_behind_a_convolution_goes_into_its_weight(group: int, between: str, left: int) -> None:
    """But for groups, which have their channels of x; blocks of a plane that are made and taken back."""
    g = Graph(x=["N", 4, 6, 8])
    y = g.add("Conv", "x", g.weight(12, 4 // group, 3, 3), g.weight(12), group=group)
    y = g.add("DepthToSpace", y, blocksize=2, mode="CRD")
    y = g.add("SpaceToDepth", g.add(between, y) if between else y, blocksize=2)
    counts = check_settled(g.model(y), "ascend")
    assert counts.total() - counts["Relu"] == left


# --- transposed convolutions ----------------------------------------------------------------------------


def upsampled(image: Dims, kernel: tuple[int, ...], **window: Any) -> onnx.ModelProto:
    g = Graph(x=[1, 8, *image])
    return g.model(g.add("ConvTranspose", "x", g.weight(8, 3, *kernel), g.weight(3), **window), opset=17)


@pytest.mark.parametrize(
    ("image", "kernel", "window"),
    [
        ((50,), (300,), {"strides": [300]}),
        ((40,), (512,), {"strides": [128]}),
        (("L",), (400,), {"strides": [160], "pads": [120, 120]}),
        ((6, 5), (4, 300), {"strides": [2, 100], "pads": [1, 100, 1, 100]}),
    ],
)
def test_a_transposed_convolution_with_large_strides_makes_all_phases_at_once(
    image: Dims, kernel: tuple[int, ...], window: dict[str, Any]
) -> None:
    found = outcome(upsampled(image, kernel, **window), "ascend")
    assert not found.counts["ConvTranspose"]
    assert found.report.cost.after < 0.3 * found.report.cost.before
    assert outcome(found.model, "ascend").counts == found.counts


def test_a_transposed_convolution_within_the_limits_stays() -> None:
    model = upsampled((20, 20), (4, 4), strides=[2, 2], pads=[1] * 4)
    assert check_settled(model, "ascend") == {"ConvTranspose": 1}
    model = upsampled((50,), (600,), strides=[2], dilations=[2])
    assert check_settled(model, "ascend")["ConvTranspose"] == 1
