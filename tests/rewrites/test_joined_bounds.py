"""Coordinates that are clipped one by one, and joined, are clipped together."""

from __future__ import annotations

import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Dims, Graph, check_settled

OPSETS = pytest.mark.parametrize("opset", [11, 13, 17, 21])
COSTS = pytest.mark.parametrize("cost", ["nodes", "ascend"])


def _clipped(g: Graph, x: str, low: float, high: float, dtype: str = "float32") -> str:
    return g.add("Clip", x, g.constant(low, dtype), g.constant(high, dtype))


@OPSETS
@COSTS
@pytest.mark.parametrize(("dims", "axis"), [(["N", 50, 4], 2), ([4, 7], 0), (["N", 4, "L"], 1)])
def test_corners_of_boxes_stay_in_the_image(opset: int, cost: str, dims: Dims, axis: int) -> None:
    g, made = Graph(x=dims), []
    for k, high in enumerate((640.0, 480.0, 640.0, 480.0)):
        bounds = (g.constant([number]) for number in (k, k + 1, axis))
        made.append(_clipped(g, g.add("Slice", "x", *bounds), 0.0, high))
    counts = check_settled(g.model(g.add("Concat", *made, axis=axis), opset=opset), cost)
    assert counts["Min"] == 1 and counts.total() == 2


@OPSETS
def test_parts_of_several_tensors_between_bounds_of_their_own(opset: int) -> None:
    g = Graph(x=["N", 3], y=["N", 2])
    made = [_clipped(g, "x", -1.0, 2.0), _clipped(g, "y", -3.0, 2.0)]
    counts = check_settled(g.model(g.add("Concat", *made, axis=1), opset=opset))
    assert counts.pop("Concat") == 1 and counts.total() <= 2


def test_halves() -> None:
    g = Graph()
    parts = [g.input(name, ["N", 3], TensorProto.FLOAT16) for name in "xyz"]
    made = [_clipped(g, x, 0.0, k + 1.0, "float16") for k, x in enumerate(parts)]
    y = g.add("Concat", *made, axis=1)
    counts = check_settled(g.model(y, dtypes={y: TensorProto.FLOAT16}))
    assert counts.pop("Concat") == 1 and counts.total() <= 2


def test_along_an_axis_of_any_length_each_is_clipped() -> None:
    g = Graph(x=["N", 3], y=["M", 3])
    made = [_clipped(g, "x", 0.0, 2.0), _clipped(g, "y", 0.0, 3.0)]
    assert check_settled(g.model(g.add("Concat", *made, axis=0)))["Clip"] == 2
