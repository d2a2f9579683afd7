"""Convolutions in a row, those that select or average, and products with the pixels of an image."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from ..knowledge_bases.graphs import Graph, check_settled, check_untouched, optimized, outcome

Dims = list[int | str]


def _two(
    first: dict[str, Any], second: dict[str, Any], image: Dims, opset: int = 17, biased: bool = True
) -> onnx.ModelProto:
    """Two convolutions with 6 channels between them; `kernel` and `group` beside the attributes of a Conv."""
    g, y, channels = Graph(x=[1, 4, *image]), "x", 4
    for k, settings in enumerate((first, second)):
        made, how = (6, 5 if second.get("group", 1) == 1 else 6)[k], dict(settings)
        group, kernel = how.get("group", 1), how.pop("kernel")
        bias = [g.weight(made)] if biased else []
        y, channels = g.add("Conv", y, g.weight(made, channels // group, *kernel), *bias, **how), made
    return g.model(y, opset=opset)


@pytest.mark.parametrize(
    ("first", "second", "image"),
    [
        ({"kernel": [3, 3], "pads": [1] * 4}, {"kernel": [2, 3]}, [9, 8]),
        ({"kernel": [3, 3], "strides": [2, 1]}, {"kernel": [2, 2], "dilations": [1, 2]}, [12, 11]),
        ({"kernel": [2, 3], "group": 2}, {"kernel": [3, 1]}, [9, 8]),
        ({"kernel": [1, 1]}, {"kernel": [3, 3], "group": 6}, [9, 8]),
        ({"kernel": [3, 3], "group": 2}, {"kernel": [2, 2], "group": 2}, [9, 8]),
        ({"kernel": [5], "dilations": [2]}, {"kernel": [3], "dilations": [3]}, [40]),
        ({"kernel": [2, 1, 2]}, {"kernel": [1, 2, 2]}, [5, 4, 6]),
    ],
)
@pytest.mark.parametrize("opset", [11, 21])
def test_two_in_a_row_are_one(first: dict[str, Any], second: dict[str, Any], image: Dims, opset: int) -> None:
    model = _two(first, second, image, opset)
    assert optimized(model) == {"Conv": 1}
    result = outcome(model, "ascend")
    assert result.counts == {"Conv": 1} and result.report.cost.after < result.report.cost.before * 0.8


@pytest.mark.parametrize("multiplier", [1, 3])
@pytest.mark.parametrize("pads", [0, 1])
def test_depthwise_and_pointwise_are_one_where_the_image_is_small(multiplier: int, pads: int) -> None:
    g = Graph(x=[1, 8, 14, 14])
    y = g.add(
        "Conv", "x", g.weight(8 * multiplier, 1, 3, 3), g.weight(8 * multiplier), group=8, pads=[pads] * 4
    )
    y = g.add("Conv", y, g.weight(16, 8 * multiplier, 1, 1), g.weight(16))
    model = g.model(y)
    assert outcome(model, "ascend").counts == {"Conv": 1}
    check_settled(model)


def test_an_axis_each_is_padded_where_no_bias_is_between() -> None:
    first, second = ({"kernel": [1, 3], "pads": [0, 1, 0, 1]}, {"kernel": [3, 1], "pads": [1, 0, 1, 0]})
    assert optimized(_two(first, second, [9, 8], biased=False)) == {"Conv": 1}
    check_untouched(_two(first, second, [9, 8]), "nodes")


@pytest.mark.parametrize(
    ("first", "second", "image"),
    [
        ({"kernel": [3, 3]}, {"kernel": [3, 3], "pads": [1] * 4}, [9, 8]),
        ({"kernel": [3, 3], "group": 2}, {"kernel": [3, 3], "group": 3}, [9, 8]),
        ({"kernel": [3, 3]}, {"kernel": [3, 3]}, ["H", "W"]),
        ({"kernel": [3, 3]}, {"kernel": [3, 3]}, [700, 700]),
    ],
)
def test_others_stay_two(first: dict[str, Any], second: dict[str, Any], image: Dims) -> None:
    check_untouched(_two(first, second, image), "nodes")


# --- weights that select ----------------------------------------------------------------------------------


def _eye(
    *places: int, kernel: tuple[int, ...] = (1, 1), groups: int = 1, size: int = 4
) -> np.ndarray[Any, Any]:
    made = np.zeros((len(places), size // groups, int(np.prod(kernel))), np.float32)
    made[np.arange(len(places)), np.array(places) % (size // groups), made.shape[2] // 2] = 1
    return made.reshape(len(places), size // groups, *kernel)


@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize(
    ("weight", "settings"),
    [
        (_eye(0, 1, 2, 3), {}),
        (_eye(0, 1, 2, 3, kernel=(3, 3)), {"pads": [1] * 4}),
        (_eye(0, 1, 2, 3, kernel=(3, 5)), {"pads": [2, 2, 2, 2], "dilations": [2, 1]}),
        (_eye(0, 1, 2, 3, groups=2), {"group": 2}),
        (_eye(0, 1, 2, 3, groups=4, kernel=(3, 3)), {"group": 4, "pads": [1] * 4}),
    ],
)
def test_a_convolution_that_does_nothing_goes(weight: Any, settings: dict[str, Any], opset: int) -> None:
    g = Graph(x=["N", 4, "H", 7])
    y = g.add("Relu", g.add("Conv", "x", g.constant(weight), **settings))
    assert optimized(g.model(y, opset=opset)) == {"Relu": 1}


@pytest.mark.parametrize("rank", [2, 3, 4])
@pytest.mark.parametrize("before", [True, False])
def test_a_product_with_the_identity_goes(rank: int, before: bool) -> None:
    dims: Dims = ["N", 3, 5, 5]
    g = Graph(x=dims[-rank:])
    y = g.add("MatMul", *(("x", g.constant(np.eye(5))) if before else (g.constant(np.eye(5)), "x")))
    assert optimized(g.model(g.add("Relu", y))) == {"Relu": 1}


def test_a_permutation_of_channels_goes_into_the_next_weight() -> None:
    g = Graph(x=["N", 4, 6, 7])
    y = g.add("Conv", "x", g.constant(_eye(2, 0, 3, 1)))
    assert optimized(g.model(g.add("Conv", y, g.weight(6, 4, 3, 3)))) == {"Conv": 1}


def test_what_is_nearly_an_identity_stays() -> None:
    g = Graph(x=["N", 4, 6, 7])
    almost = _eye(0, 1, 2, 3)
    almost[1, 1] = 0.999
    check_untouched(g.model(g.add("Conv", "x", g.constant(almost))), "nodes")
    g = Graph(x=["N", 4, 6, 7])
    aside = np.roll(_eye(0, 1, 2, 3, kernel=(3, 3)), 1, axis=3)
    check_untouched(g.model(g.add("Conv", "x", g.constant(aside), pads=[1] * 4)), "nodes")


@pytest.mark.parametrize(("kernel", "opset"), [([3, 3], 11), ([2, 3], 13), ([5, 1], 21)])
def test_a_kernel_of_one_number_is_a_mean_where_that_is_cheaper(kernel: list[int], opset: int) -> None:
    g = Graph(x=[1, 8, 12, 12])
    value = np.full((8, 1, *kernel), 1 / np.prod(kernel), np.float32)
    pads = [k // 2 for k in kernel] * 2
    result = outcome(
        g.model(g.add("Conv", "x", g.constant(value), group=8, pads=pads), opset=opset), "ascend"
    )
    assert result.counts == {"AveragePool": 1} and result.report.cost.after < result.report.cost.before


# --- pixels in a row --------------------------------------------------------------------------------------


@pytest.mark.parametrize("image", [[12, 10], ["H", "W"], [3, 4, 5]], ids=str)
def test_pixels_in_a_row_are_multiplied_as_an_image(image: Dims) -> None:
    g = Graph(x=["N", 16, *image])
    flat = g.add("Transpose", g.add("Reshape", "x", g.constant([0, 16, -1])), perm=[0, 2, 1])
    y = g.add("Transpose", g.add("MatMul", flat, g.weight(16, 8)), perm=[0, 2, 1])
    if "H" in image:
        dims = g.add("Concat", g.constant([0, 8]), g.add("Shape", "x", start=2), axis=0)
    else:
        dims = g.constant([0, 8, *image])
    assert optimized(g.model(g.add("Reshape", y, dims))) == {"Conv": 1}


# --- the shape that a transposed convolution makes --------------------------------------------------------


@pytest.mark.parametrize("mode", ["NOTSET", "SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize(("shape", "padding"), [([27], 0), ([28], 1), ([29], 0), ([30], 1)])
def test_a_shape_that_is_asked_for_is_no_obstacle(mode: str, shape: list[int], padding: int) -> None:
    g = Graph(x=[1, 2, 14])
    how: dict[str, Any] = {"output_padding": [padding]} if padding else {}
    y = g.add("ConvTranspose", "x", g.weight(2, 3, 4), strides=[2], output_shape=shape, auto_pad=mode, **how)
    numbers = (g.weight(3, positive=k in (0, 3)) for k in range(4))
    assert optimized(g.model(g.add("BatchNormalization", y, *numbers))) == {"ConvTranspose": 1}


# --- transposed ones without strides ----------------------------------------------------------------------


@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize(
    ("image", "weight", "settings"),
    [([1, 8, 4, 64], (8, 8, 1, 300), {}), ([1, 8, 1200], (8, 4, 301), {"pads": [150, 150], "group": 2})],
    ids=str,
)
def test_a_large_kernel_that_is_transposed_is_turned_and_cut(
    image: Dims, weight: tuple[int, ...], settings: dict[str, Any], opset: int
) -> None:
    g = Graph(x=image)
    y = g.add(
        "ConvTranspose", "x", g.weight(*weight), g.weight(weight[1] * settings.get("group", 1)), **settings
    )
    result = outcome(g.model(y, opset=opset), "ascend")
    assert result.counts["ConvTranspose"] == 0 and result.counts["Conv"] >= 1
    assert result.report.cost.after < 0.6 * result.report.cost.before


def test_a_transposed_convolution_in_a_row_is_part_of_the_next() -> None:
    g = Graph(x=[1, 8, 6, 7])
    y = g.add("ConvTranspose", "x", g.weight(8, 4, 1, 1))
    assert optimized(g.model(g.add("Conv", y, g.weight(6, 4, 3, 3)))).total() == 1
