"""Parts of an image with kernels of several sizes are one convolution in groups, of the largest size."""

from __future__ import annotations

from collections import Counter

import onnx
import pytest

from ..knowledge_bases.graphs import Dims, Graph, check_settled, optimized, outcome


def mixed(
    kernels: list[int], dims: Dims, opset: int = 17, *, depthwise: bool = True, biased: bool = True
) -> onnx.ModelProto:
    """MixConv (arXiv 1907.09595): four channels for each kernel, a Relu behind each."""
    g, axes, parts = Graph(x=dims), len(dims) - 2, len(kernels)
    sizes = {"split": [4] * parts} if opset < 13 else {}
    operands = [] if sizes else [g.constant([4] * parts)]
    images = g.add_many("Split", "x", *operands, outputs=parts, axis=1, **sizes)
    made = []
    for image, kernel in zip(images, kernels, strict=True):
        weight = g.weight(4, 1 if depthwise else 4, *[kernel] * axes)
        bias = [g.weight(4)] if biased else []
        settings = {"pads": [kernel // 2] * 2 * axes, "group": 4 if depthwise else 1}
        made.append(g.add("Relu", g.add("Conv", image, weight, *bias, **settings)))
    return g.model(g.add("Concat", *made, axis=1), opset=opset)


@pytest.mark.parametrize("opset", [11, 13, 17, 21])
@pytest.mark.parametrize("kernels", [[3, 5], [5, 3, 7], [1, 3, 5], [3, 3, 5, 5]])
def test_one_convolution_of_the_largest_size(kernels: list[int], opset: int) -> None:
    model = mixed(kernels, ["N", 4 * len(kernels), 9, 10], opset)
    assert check_settled(model) == Counter(Conv=1, Relu=1)
    assert outcome(model, "ascend").counts == Counter(Conv=1, Relu=1)


@pytest.mark.parametrize("biased", [False, True])
def test_in_groups_and_along_a_line(biased: bool) -> None:
    assert optimized(mixed([3, 5, 1], ["N", 12, 6, 7], depthwise=False, biased=biased)) == Counter(
        Conv=1, Relu=1
    )
    assert optimized(mixed([7, 3], [2, 8, "L"], biased=biased)) == Counter(Conv=1, Relu=1)


def test_what_the_zeros_cost_is_the_targets_to_say() -> None:
    model = mixed([1, 31], [1, 8, 64, 64])
    assert outcome(model, "flops").report.cost.after <= outcome(model, "flops").report.cost.before


@pytest.mark.parametrize("kernels", [[2, 3], [4, 5]])
def test_kernels_without_a_common_centre_stay(kernels: list[int]) -> None:
    """An even kernel of these pads makes an image of another size: it is cut."""
    g = Graph(x=["N", 8, 9, 10])
    first, second = g.add_many("Split", "x", g.constant([4, 4]), outputs=2, axis=1)
    pads = kernels[0] // 2
    even = g.add("Conv", first, g.weight(4, 4, kernels[0], kernels[0]), pads=[pads, pads, pads - 1, pads - 1])
    odd = g.add(
        "Conv", second, g.weight(4, 4, kernels[1], kernels[1]), strides=[1, 1], pads=[kernels[1] // 2] * 4
    )
    found = optimized(g.model(g.add("Concat", even, odd, axis=1)))
    assert found == Counter(Conv=1)


def test_strides_or_dilations_that_differ_stay() -> None:
    for settings in ({"strides": [2, 2], "pads": [2] * 4}, {"dilations": [2, 2], "pads": [4] * 4}):
        g = Graph(x=["N", 8, 9, 9])
        first, second = g.add_many("Split", "x", g.constant([4, 4]), outputs=2, axis=1)
        one = g.add("Conv", first, g.weight(4, 4, 5, 5), **settings)
        window = {"strides": [2, 2], "pads": [1, 1, 1, 1]} if "strides" in settings else {"pads": [1] * 4}
        other = g.add("Conv", second, g.weight(4, 4, 3, 3), **window)
        counts = optimized(g.model(g.add("Concat", one, other, axis=1)))
        assert counts["Conv"] == (1 if "strides" in settings else 2)
