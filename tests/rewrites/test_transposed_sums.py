"""Sums of transposed convolutions of one image are one, and a scaled Elu is a Selu."""

from __future__ import annotations

from collections import Counter

import pytest

from ..knowledge_bases.graphs import Graph, check_settled, check_untouched, optimized, outcome


@pytest.mark.parametrize("opset", [11, 13, 17, 21])
@pytest.mark.parametrize("biased", ["", "b", "c", "bc"])
def test_of_one_image(biased: str, opset: int) -> None:
    g = Graph(x=["N", 6, 8, "W"])
    window = {"strides": [2, 1], "pads": [1, 0, 0, 1]}
    parts = [
        g.add(
            "ConvTranspose", "x", g.weight(6, 4, 2, 2), *([g.weight(4)] if name in biased else []), **window
        )
        for name in "bc"
    ]
    model = g.model(g.add("Add", *parts), opset=opset)
    assert check_settled(model) == Counter(ConvTranspose=1)
    assert outcome(model, "ascend").counts == Counter(ConvTranspose=1)


def test_three_in_groups() -> None:
    g = Graph(x=["N", 6, 8])
    parts = [
        g.add("ConvTranspose", "x", g.weight(6, 2, 3), g.weight(4), group=2, strides=[2]) for _ in range(3)
    ]
    model = g.model(g.add("Add", g.add("Add", parts[0], parts[1]), parts[2]))
    assert check_settled(model) == Counter(ConvTranspose=1)


def test_of_two_images_or_windows_stay() -> None:
    g = Graph(x=[1, 6, 8, 8], y=[1, 6, 8, 8])
    parts = [g.add("ConvTranspose", image, g.weight(6, 4, 2, 2), strides=[2, 2]) for image in "xy"]
    assert optimized(g.model(g.add("Add", *parts)))["ConvTranspose"] == 2
    g = Graph(x=[1, 6, 8, 8])
    one = g.add("ConvTranspose", "x", g.weight(6, 4, 2, 2), strides=[2, 2])
    other = g.add("ConvTranspose", "x", g.weight(6, 4, 4, 4), strides=[2, 2], pads=[1] * 4)
    check_untouched(g.model(g.add("Add", one, other)))


@pytest.mark.parametrize("opset", [11, 17, 21])
def test_a_scaled_elu(opset: int) -> None:
    g = Graph(x=["N", 4])
    elu = g.add("Elu", "x", alpha=1.67326)
    assert check_settled(g.model(g.add("Mul", elu, g.constant([1.0507])), opset=opset)) == Counter(Selu=1)
    g = Graph(x=["N", 4])
    check_untouched(g.model(g.add("Mul", g.add("Elu", "x", alpha=1.5), g.constant(-1.5))))
