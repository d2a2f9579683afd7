"""Branches that are quantized alike, and the greatest elements along an axis."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest

from ..knowledge_bases.graphs import Dims, Graph, outcome


def joined(scales: tuple[float, ...], dtype: type[np.generic], opset: int, back: bool) -> onnx.ModelProto:
    """Branches of 2, 3, .. channels, quantized by scales and joined, and with `back` floats in between."""
    inputs: dict[str, Dims] = {f"x{k}": ["N", k + 2, 4, 4] for k in range(len(scales))}
    g = Graph(**inputs)
    zero = g.constant(np.array(3, dtype))

    def pair(x: str, scale: float) -> str:
        by = g.constant(np.array(scale, np.float32))
        q = g.add("QuantizeLinear", x, by, zero)
        return g.add("DequantizeLinear", q, by, zero) if back else q

    y = g.add("Concat", *(pair(f"x{k}", scale) for k, scale in enumerate(scales)), axis=1)
    y = (
        pair(y, scales[0])
        if back
        else g.add("DequantizeLinear", y, g.constant(np.array(0.05, np.float32)), zero)
    )
    return g.model(g.add("Relu", y), opset=opset)


@pytest.mark.parametrize("cost", ["ascend", "nodes"])
@pytest.mark.parametrize(("opset", "dtype"), [(13, np.int8), (21, np.uint8)])
@pytest.mark.parametrize("back", [False, True])
def test_branches_of_one_scale_are_quantized_once(
    back: bool, opset: int, dtype: type[np.generic], cost: str
) -> None:
    counts = outcome(joined((0.05, 0.05, 0.05), dtype, opset, back), cost).counts
    assert counts["QuantizeLinear"] == counts["DequantizeLinear"] == counts["Concat"] == 1


def test_branches_of_two_scales_are_quantized_apart() -> None:
    assert outcome(joined((0.05, 0.1), np.uint8, 17, False), "nodes").counts["QuantizeLinear"] == 2


# --- the greatest ---------------------------------------------------------------------------------------


def top(count: int, largest: int, opset: int) -> onnx.ModelProto:
    g = Graph(x=["N", 6, 5])
    _, places = g.add_many("TopK", "x", g.constant([count]), outputs=2, axis=1, largest=largest)
    return g.model(g.add("GatherElements", "x", places, axis=1), opset=opset)


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("opset", [11, 21])
def test_elements_at_the_places_of_the_greatest_are_these(largest: int, opset: int) -> None:
    assert outcome(top(3, largest, opset), "nodes").counts == {"TopK": 1}
    one = outcome(top(1, largest, opset), "ascend").counts
    assert one == {"ReduceMax" if largest else "ReduceMin": 1}


@pytest.mark.parametrize("kind", ["ReduceMax", "ReduceMin"])
@pytest.mark.parametrize(("opset", "keepdims"), [(13, 0), (17, 1)])
def test_the_greatest_pixel_has_the_bias_too(kind: str, opset: int, keepdims: int) -> None:
    def model(by_hand: bool) -> onnx.ModelProto:
        g = Graph(x=[1, 8, 50])
        w, b = g.weight(24, 8, 1), g.weight(24)
        y = g.add("Conv", "x", w) if by_hand else g.add("Conv", "x", w, b)
        y = g.add(kind, y, axes=[2], keepdims=keepdims)
        shift = g.add("Unsqueeze", b, g.constant(np.array([1]))) if keepdims else b
        return g.model(g.add("Relu", g.add("Add", y, shift) if by_hand else y), opset=opset)

    limit = outcome(model(True), "ascend").report.cost.after
    assert outcome(model(False), "ascend").report.cost.after <= limit * (1 + 1e-9)


def test_the_greatest_channel_keeps_its_bias() -> None:
    g = Graph(x=[1, 8, 50])
    y = g.add("Conv", "x", g.weight(24, 8, 1), g.weight(24))
    model = g.model(g.add("ReduceMax", y, axes=[1, 2], keepdims=0))
    assert outcome(model, "nodes").counts == Counter({"Conv": 1, "ReduceMax": 1})
