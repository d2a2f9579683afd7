"""Nothing is computed of a convolution that is cut off behind it."""

from typing import Any

import numpy as np
import onnx
import pytest

from ..knowledge_bases.graphs import Dims, Graph, check_settled, outcome


def sliced(g: Graph, x: str, *cuts: tuple[int, int, int, int]) -> str:
    """Axis, start, end and step of each cut."""
    axes, starts, ends, steps = (g.constant(np.array(v)) for v in zip(*cuts, strict=True))
    return g.add("Slice", x, starts, ends, axes, steps)


def convolved(
    op: str,
    image: Dims,
    weight: tuple[int, ...],
    cuts: list[tuple[int, int, int, int]],
    opset: int = 17,
    **window: Any,
) -> onnx.ModelProto:
    g = Graph(x=image)
    out = weight[0] if op == "Conv" else weight[1]
    y = g.add(op, "x", g.weight(*weight), g.weight(out), **window)
    return g.model(sliced(g, y, *cuts) if cuts else y, opset=opset)


@pytest.mark.parametrize(
    ("op", "image", "weight", "cuts", "before", "after", "window"),
    [
        ("Conv", [1, 8, 50], (8, 8, 3), [(2, 0, -4, 1)], [4, 4], [4, 0], {"dilations": [2]}),
        ("Conv", [1, 8, "L"], (8, 8, 2), [(2, 0, -1, 1)], [1, 1], [1, 0], {}),
        ("Conv", [1, 4, 12, 9], (6, 4, 3, 3), [(2, 1, -1, 1), (-1, 0, 8, 1)], [1] * 4, [0, 1, 0, 0], {}),
        ("ConvTranspose", [1, 8, 20], (8, 6, 4), [(2, 1, -1, 1)], [0, 0], [1, 1], {"strides": [2]}),
        ("ConvTranspose", ["N", 8, "L"], (8, 6, 4), [(2, 0, -2, 1)], [0, 0], [0, 2], {"strides": [2]}),
    ],
)
@pytest.mark.parametrize("opset", [11, 21])
def test_what_is_cut_off_is_not_computed(
    op: str, image: Dims, weight: Any, cuts: Any, before: Any, after: Any, *, window: Any, opset: int
) -> None:
    by_hand = convolved(op, image, weight, [], opset, pads=after, **window)
    limit = outcome(by_hand, "ascend").report.cost.after
    found = outcome(convolved(op, image, weight, cuts, opset, pads=before, **window), "ascend")
    assert found.report.cost.after <= limit * (1 + 1e-9)
    assert found.counts["Slice"] == 0
    assert outcome(found.model, "ascend").counts == found.counts


def test_every_other_pixel_of_a_convolution_is_a_stride() -> None:
    model = convolved("Conv", [2, 4, 12, 9], (6, 4, 3, 3), [(3, 0, 9, 2)], pads=[1] * 4)
    assert check_settled(model, "ascend")["Slice"] == 0


@pytest.mark.parametrize("cost", ["ascend", "nodes"])
def test_every_other_pixel_in_front_of_a_kernel_of_one_is_stepped_over(cost: str) -> None:
    g = Graph(x=["N", 8, 9, 12])
    y = g.add("Conv", sliced(g, "x", (2, 0, 9, 2), (3, 0, 11, 2)), g.weight(6, 8, 1, 1))
    assert check_settled(g.model(y), cost) == {"Conv": 1}


@pytest.mark.parametrize(
    ("image", "cut"),
    [([1, 4, 9, 9], (2, 2, 9, 1)), ([1, 4, 9, "L"], (3, 1, -1, 1)), ([1, 4, 9, 9], (2, 8, -10, -1))],
)
def test_a_slice_that_takes_pixels_away_stays(image: Dims, cut: tuple[int, int, int, int]) -> None:
    model = convolved("Conv", image, (6, 4, 3, 3), [cut], pads=[1] * 4)
    assert check_settled(model, "ascend")["Slice"] == 1


def test_pixels_from_the_second_on_stay_a_slice() -> None:
    g = Graph(x=[1, 8, 9, 12])
    y = g.add("Conv", sliced(g, "x", (2, 1, 9, 2)), g.weight(6, 8, 1, 1))
    assert check_settled(g.model(y), "ascend")["Slice"] == 1
