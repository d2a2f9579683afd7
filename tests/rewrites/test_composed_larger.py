"""Kernels of 1 x 1 behind or in front of what makes an image larger are part of the convolution there."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from ..knowledge_bases.graphs import Graph, check_settled, check_untouched, optimized, outcome

Dims = list[int | str]


def point(g: Graph, x: str, before: int, after: int, *, biased: bool = True) -> str:
    return g.add("Conv", x, g.weight(after, before, 1, 1), *([g.weight(after)] if biased else []))


def larger(g: Graph, x: str, channels: int, size: int, kernel: int = 3, **settings: Any) -> str:
    """Sub-pixel convolution of 6 channels."""
    wide = channels * size * size
    y = g.add("Conv", x, g.weight(wide, 6, kernel, kernel), g.weight(wide), pads=[kernel // 2] * 4)
    return g.add("DepthToSpace", y, blocksize=size, **settings)


@pytest.mark.parametrize("opset", [11, 13, 17, 21])
@pytest.mark.parametrize(
    ("size", "mode", "dims"),
    [
        (2, "DCR", ["N", 6, 8, 10]),
        (2, "CRD", [1, 6, 7, 5]),
        (3, "CRD", [2, 6, "H", "W"]),
        (4, "DCR", ["N", 6, 4, 4]),
    ],
)
def test_colours_of_a_larger_image(size: int, mode: str, dims: Dims, opset: int) -> None:
    g = Graph(x=dims)
    model = g.model(point(g, larger(g, "x", 5, size, mode=mode), 5, 3), opset=opset)
    assert check_settled(model) == Counter(Conv=1, DepthToSpace=1)
    assert outcome(model, "ascend").counts == Counter(Conv=1, DepthToSpace=1)


def test_between_convolutions() -> None:
    g = Graph(x=["N", 6, 8, 8])
    y = g.add("Relu", point(g, larger(g, "x", 4, 2, mode="CRD"), 4, 5))
    y = g.add("Conv", y, g.weight(3, 5, 3, 3), pads=[1] * 4)
    assert check_settled(g.model(y)) == Counter(Conv=2, Relu=1, DepthToSpace=1)


def test_written_as_views() -> None:
    """As exporters write it that have no DepthToSpace."""
    g = Graph(x=[2, 6, 8, 8])
    y = g.add("Conv", "x", g.weight(16, 6, 3, 3), pads=[1] * 4)
    y = g.add("Transpose", g.add("Reshape", y, g.constant([2, 4, 2, 2, 8, 8])), perm=[0, 1, 4, 2, 5, 3])
    y = point(g, g.add("Reshape", y, g.constant([2, 4, 16, 16])), 4, 2, biased=False)
    assert optimized(g.model(y)) == Counter(Conv=1, DepthToSpace=1)


def test_what_sees_neighbours_or_makes_many_channels_stays() -> None:
    g = Graph(x=["N", 6, "H", "W"])
    y = larger(g, "x", 4, 2, mode="DCR")
    check_untouched(g.model(g.add("Conv", y, g.weight(3, 4, 2, 2))))
    g = Graph(x=["N", 6, "H", "W"])
    check_untouched(g.model(point(g, larger(g, "x", 2, 2, mode="DCR"), 2, 20)))
    g = Graph(x=["N", 6, "H", "W"])
    y = larger(g, "x", 4, 2, mode="CRD")
    assert optimized(g.model(point(g, y, 4, 3), y)) == Counter(Conv=2, DepthToSpace=1)


@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize("strides", [[2, 2], [1, 2]])
def test_beside_a_transposed_convolution(strides: list[int], opset: int) -> None:
    g = Graph(x=["N", 6, "H", "W"])
    y = g.add("ConvTranspose", "x", g.weight(6, 5, 2, 2), g.weight(5), strides=strides)
    assert check_settled(g.model(point(g, y, 5, 3), opset=opset)) == Counter(ConvTranspose=1)
    g = Graph(x=["N", 3, 8, 8])
    y = point(g, "x", 3, 4, biased=False)
    y = g.add("ConvTranspose", y, g.weight(4, 5, 3, 3), g.weight(5), strides=strides, pads=[1, 0, 1, 1])
    assert check_settled(g.model(y, opset=opset)) == Counter(ConvTranspose=1)


def test_a_bias_in_front_of_a_transposed_convolution_stays() -> None:
    g = Graph(x=["N", 3, 8, 8])
    y = g.add("ConvTranspose", point(g, "x", 3, 4), g.weight(4, 5, 3, 3), strides=[2, 2])
    check_untouched(g.model(y))


@pytest.mark.parametrize("batch", ["N", 4])
def test_two_small_convolutions_are_one_for_a_batch_of_any_size(batch: int | str) -> None:
    g = Graph(x=[batch, 6, 10, 10])
    y = g.add("Conv", g.add("Conv", "x", g.weight(4, 6, 3, 3)), g.weight(5, 4, 3, 3), g.weight(5))
    assert check_settled(g.model(y)) == Counter(Conv=1)
    g = Graph(x=[batch, 6, "H", 10])
    y = g.add("Conv", g.add("Conv", "x", g.weight(4, 6, 3, 3)), g.weight(5, 4, 3, 3), g.weight(5))
    check_untouched(g.model(y))
