"""What follows a Resize is done in front of it, and Resizes that do nothing of their own vanish."""

from typing import Any

import numpy as np
import onnx
import pytest

from ..knowledge_bases.graphs import Dims, Graph, check_settled, outcome

NEAREST: dict[str, Any] = {
    "mode": "nearest",
    "coordinate_transformation_mode": "asymmetric",
    "nearest_mode": "floor",
}
LINEAR: dict[str, Any] = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}


def resized(g: Graph, x: str, scales: tuple[float, ...], how: dict[str, Any], opset: int = 17) -> str:
    roi = "" if opset > 11 else g.constant(np.zeros(0, np.float32))
    return g.add("Resize", x, roi, g.constant(np.array(scales, np.float32)), **how)


def upsampled(
    function: str, opset: int, image: Dims, before: bool, convolved: bool, *, how: dict[str, Any]
) -> onnx.ModelProto:
    g = Graph(x=list(image))
    axes, c = len(image) - 2, int(image[1])
    y = g.add("Conv", "x", g.weight(c, c, *(3,) * axes)) if convolved else "x"

    def applied(y: str) -> str:
        if function == "BatchNormalization":
            return g.add(function, y, g.weight(c), g.weight(c), g.weight(c), g.weight(c, positive=True))
        if function == "Conv":
            return g.add(function, y, g.weight(2, c, *(1,) * axes), g.weight(2))
        return g.add(function, y)

    scales = (1.0, 1.0, *(2.0, 3.0, 2.0)[:axes])
    y = applied(y) if before else y
    y = resized(g, y, scales, how, opset)
    return g.model(y if before else applied(y), opset=opset)


@pytest.mark.parametrize(
    ("function", "opset", "image", "convolved", "how"),
    [
        ("Relu", 11, (1, 4, 6, 5), True, NEAREST),
        ("LeakyRelu", 21, ("N", 4, 6, "W"), False, NEAREST),
        ("BatchNormalization", 13, (1, 4, 6, 5), True, LINEAR),
        ("BatchNormalization", 17, ("N", 4, "L"), True, NEAREST),
        ("Conv", 13, (1, 4, 6, 5), False, LINEAR),
        ("Conv", 21, ("N", 4, "H", "W"), True, NEAREST),
    ],
)
def test_what_follows_a_resize_is_done_in_front_of_it(
    function: str, opset: int, image: Dims, convolved: bool, *, how: dict[str, Any]
) -> None:
    limit = outcome(upsampled(function, opset, image, True, convolved, how=how), "ascend").report.cost.after
    found = outcome(upsampled(function, opset, image, False, convolved, how=how), "ascend")
    assert found.report.cost.after <= limit * (1 + 1e-9)
    assert outcome(found.model, "ascend").counts == found.counts


def test_a_function_of_what_is_interpolated_stays_behind() -> None:
    model = upsampled("Relu", 13, (1, 4, 6, 5), False, False, how=LINEAR)
    assert [node.op_type for node in outcome(model, "ascend").model.graph.node][-1] == "Relu"


@pytest.mark.parametrize(("opset", "how"), [(11, NEAREST), (21, LINEAR)])
def test_a_resize_by_one_vanishes(opset: int, how: dict[str, Any]) -> None:
    g = Graph(x=["N", 4, "H", 5])
    y = resized(g, g.add("Relu", "x"), (1, 1, 1, 1), how, opset)
    assert check_settled(g.model(g.add("Tanh", y), opset=opset)) == {"Relu": 1, "Tanh": 1}


def test_a_resize_to_its_own_size_vanishes() -> None:
    g = Graph(x=["N", 4, "H", "W"])
    y = g.add("Resize", "x", "", "", g.add("Shape", "x"), **LINEAR)
    assert check_settled(g.model(g.add("Relu", y)), "ascend") == {"Relu": 1}


def test_a_factor_that_makes_no_pixel_more_stays() -> None:
    g = Graph(x=["N", 4, 5, 4])
    y = resized(g, "x", (1, 1, 1.1, 1.1), LINEAR)
    assert check_settled(g.model(g.add("Relu", y)), "ascend")["Resize"] == 1


@pytest.mark.parametrize("how", [NEAREST, LINEAR])
def test_a_gate_of_one_element_is_broadcast(how: dict[str, Any]) -> None:
    g = Graph(x=[2, 4, 7, 5])
    gate = g.add("Resize", g.add("GlobalAveragePool", "x"), "", "", g.constant(np.array([2, 4, 7, 5])), **how)
    assert check_settled(g.model(g.add("Mul", "x", gate)), "ascend") == {"GlobalAveragePool": 1, "Mul": 1}


def test_two_that_repeat_are_one() -> None:
    g = Graph(x=["N", 4, "H", 5])
    y = resized(g, resized(g, "x", (1, 1, 2, 2), NEAREST), (1, 1, 3, 1), NEAREST)
    assert check_settled(g.model(y)) == {"Resize": 1}
    g = Graph(x=["N", 4, 6, 5])
    y = resized(g, resized(g, "x", (1, 1, 2, 2), LINEAR), (1, 1, 2, 2), LINEAR)
    assert check_settled(g.model(y)) == {"Resize": 2}


# --- several alike ----------------------------------------------------------------------------------------


def combined(
    op: str, images: list[list[Any]], how: dict[str, Any], opset: int, factor: float = 2.0
) -> onnx.ModelProto:
    """Images that are resized and combined; the last by another factor for its width."""
    g = Graph()
    large = [
        resized(g, g.input(f"x{k}", dims), (1, 1, 2, factor if dims is images[-1] else 2), how, opset)
        for k, dims in enumerate(images)
    ]
    if op == "Concat":
        return g.model(g.add("Concat", *large, axis=1), opset=opset)
    total = large[0]
    for image in large[1:]:
        total = g.add(op, total, image)
    return g.model(total, opset=opset)


@pytest.mark.parametrize(
    ("op", "channels", "opset", "how"),
    [
        ("Add", (4, 4, 4, 4, 4, 4), 11, NEAREST),
        ("Sub", (4, 4), 13, {**LINEAR, "mode": "cubic"}),
        ("Mul", (4, 4), 21, NEAREST),
        ("Concat", (4, 3, 1), 17, LINEAR),
    ],
)
def test_images_that_are_resized_alike_are_combined_first(
    op: str, channels: tuple[int, ...], opset: int, how: dict[str, Any]
) -> None:
    model = combined(op, [["N", c, 6, "W"] for c in channels], how, opset)
    joined = {"Resize": 1, op: 1 if op == "Concat" else len(channels) - 1}
    if len(channels) > 3:  # a chain that laws have made is one Sum in a second run only
        assert outcome(model, "ascend").counts == joined
    else:
        assert check_settled(model, "ascend") == joined
    assert outcome(model, "ascend").report.saturation.nodes < 60 * len(channels)


def test_images_that_are_resized_otherwise_are_not() -> None:
    assert check_settled(combined("Mul", [[1, 4, 6, 5], [1, 4, 6, 5]], LINEAR, 17), "ascend")["Resize"] == 2
    assert (
        check_settled(combined("Add", [[1, 4, 6, 5], [1, 4, 6, 10]], NEAREST, 17, 1), "ascend")["Resize"] == 2
    )
