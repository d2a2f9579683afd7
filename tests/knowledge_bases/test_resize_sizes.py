"""Sizes and scales of a Resize that exporters compute of Shape become numbers; Upsample is a Resize."""

from collections import Counter
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from egraph_opt import optimize

from .graphs import Dims, Graph, check_settled, outcome

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
ONCE = Counter(Relu=2, Resize=1)


class Interpolation(Graph):
    """Relu, Resize, Relu, whose sizes or scales are computed."""

    opset = 17

    def part(self, x: str, start: int, end: int) -> str:
        if self.opset < 10:
            return self.add("Slice", x, starts=[start], ends=[end], axes=[0])
        return self.add("Slice", x, *(self.constant([k]) for k in (start, end, 0)))

    def one_by_one(self, x: str, axes: range, factor: float) -> str:
        """Each axis by itself, in floats: PyTorch."""
        parts = []
        for axis in axes:
            dim = self.add("Cast", self.add("Gather", self.add("Shape", x), self.constant(axis)), to=FLOAT)
            dim = self.add("Floor", self.add("Mul", dim, self.constant(np.float32(factor))))
            parts.append(
                self.add("Unsqueeze", dim, axes=[0])
                if self.opset < 13
                else self.add("Unsqueeze", dim, self.constant([0]))
            )
        spatial = self.add("Cast", self.add("Concat", *parts, axis=0), to=INT64)
        return self.add("Concat", self.part(self.add("Shape", x), 0, 2), spatial, axis=0)

    def together(self, x: str, axes: range, factor: int) -> str:
        """All axes at once, in integers."""
        shape = self.add("Shape", x)
        spatial = self.add("Mul", self.part(shape, 2, axes.stop), self.constant([factor] * len(axes)))
        return self.add("Concat", self.part(shape, 0, 2), spatial, axis=0)

    def ratio(self, x: str, axes: range, factor: float) -> str:
        """Scales as sizes over dims."""
        before = self.part(self.add("Shape", x), 2, axes.stop)
        before = self.add("Cast", before, to=FLOAT)
        after = self.add(
            "Floor", self.add("Mul", before, self.constant(np.full(len(axes), factor, np.float32)))
        )
        after = self.add("Cast", self.add("Cast", after, to=INT64), to=FLOAT)
        return self.add("Concat", self.constant([1.0, 1.0]), self.add("Div", after, before), axis=0)

    def resized(self, x: str, scales: str, sizes: str = "", **attributes: Any) -> str:
        if self.opset < 11:
            return self.add("Upsample" if self.opset < 10 else "Resize", x, scales, **attributes)
        nothing = self.constant(np.zeros(0, np.float32)) if self.opset < 13 else ""
        return self.add("Resize", x, nothing, scales or nothing, *([sizes] if sizes else []), **attributes)


def interpolated(way: str, opset: int, dims: Dims, factor: float = 2, **attributes: Any) -> onnx.ModelProto:
    g = Interpolation(x=dims)
    g.opset = opset
    x = g.add("Relu", "x")
    computed = getattr(g, way)(x, range(2, len(dims)), factor)
    y = g.resized(x, computed, **attributes) if way == "ratio" else g.resized(x, "", computed, **attributes)
    return g.model(g.add("Relu", y), opset=opset)


@pytest.mark.parametrize("opset", [11, 13, 17, 21])
@pytest.mark.parametrize("way", ["one_by_one", "together", "ratio"])
def test_sizes_that_are_multiples_become_scales(way: str, opset: int) -> None:
    dims: Dims = ["N", 3, "H", "W"] if opset < 17 else ["N", 2, "L"]
    assert check_settled(interpolated(way, opset, dims, mode="linear")) == ONCE


@pytest.mark.parametrize(("opset", "name"), [(9, "Upsample"), (10, "Resize")])
def test_scales_that_are_computed_become_numbers(opset: int, name: str) -> None:
    model = interpolated("ratio", opset, ["N", 3, "H", "W"], factor=3)
    result = outcome(model, "ascend")
    assert result.counts == {"Relu": 1, name: 1}  # Relu of Relu, past what repeats elements
    again = outcome(result.model, "ascend")
    assert again.report.cost.after == pytest.approx(result.report.cost.after)


def test_sizes_that_are_cut_off_stay() -> None:
    model = interpolated("one_by_one", 17, ["N", 3, "H", "W"], factor=1.5)
    assert outcome(model).counts["Mul"] >= 1


def to_size(opset: int, size: tuple[int, int], dtype: int = FLOAT, **attributes: Any) -> onnx.ModelProto:
    """An image of 24 by 32 pixels, of any batch."""
    g = Interpolation()
    g.opset = opset
    x = g.input("x", ["N", 4, 24, 32], dtype)
    sizes = g.add("Concat", g.part(g.add("Shape", x), 0, 2), g.constant(list(size)), axis=0)
    y = g.resized(x, "", sizes, **attributes)
    return g.model(y, opset=opset, dtypes={y: dtype})


@pytest.mark.parametrize(
    ("opset", "size", "attributes"),
    [
        (11, (12, 16), {"mode": "nearest", "coordinate_transformation_mode": "asymmetric"}),
        (13, (36, 8), {"mode": "nearest"}),
        (17, (32, 7), {"mode": "linear"}),
        (17, (23, 33), {"mode": "cubic"}),
        (21, (13, 64), {"mode": "linear", "coordinate_transformation_mode": "align_corners"}),
    ],
)
def test_sizes_of_a_known_image_are_scales(
    opset: int, size: tuple[int, int], attributes: dict[str, Any]
) -> None:
    assert check_settled(to_size(opset, size, **attributes)) == {"Resize": 1}


@pytest.mark.parametrize(
    ("dtype", "attributes"),
    [(FLOAT, {"mode": "nearest"}), (TensorProto.UINT8, {"mode": "linear"})],
    ids=["nearest", "uint8"],
)
def test_a_size_whose_scale_is_rounded_stays_where_that_may_show(
    dtype: int, attributes: dict[str, Any]
) -> None:
    assert outcome(to_size(17, (32, 7), dtype, **attributes)).counts["Concat"] == 1


def test_dims_behind_an_interpolation_are_known() -> None:
    """What comes behind it is priced at twice the height."""
    cost = outcome(interpolated("one_by_one", 17, ["N", 3, "H", 64]), "ascend").report.cost
    assert cost.after < 20


@pytest.mark.parametrize("opset", [7, 8, 9])
def test_an_upsample_to_the_nearest_element_on_request(opset: int) -> None:
    g = Graph(x=[1, 2, 3, 4])
    numbers = [1.0, 1.0, 2.0, 3.0]
    given = {"scales": numbers} if opset < 9 else {}
    y = g.add(
        "Upsample", g.add("Relu", "x"), *([] if given else [g.constant(numbers)]), mode="linear", **given
    )
    model = g.model(g.add("Relu", y), opset=opset)
    assert outcome(model).counts == {"Relu": 2, "Upsample": 1}
    asked = optimize(model, "ascend", rewrites=["default", "approximate"], strict=True)
    (node,) = (node for node in asked.model.graph.node if node.op_type == "Upsample")
    assert {a.name: a for a in node.attribute}["mode"].s == b"nearest"
