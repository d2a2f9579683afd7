"""Parts of one tensor with constants of their own, joined again: the whole, with longer constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ..knowledge_bases.graphs import Dims, Graph, check_settled, optimized


def parts(g: Graph, x: str, sizes: list[int], axis: int, opset: int) -> list[str]:
    """The outputs of a Split, whose sizes are an operand from opset 13 on."""
    if opset >= 13:
        return g.add_many("Split", x, g.constant(np.array(sizes)), outputs=len(sizes), axis=axis)
    return g.add_many("Split", x, outputs=len(sizes), axis=axis, split=sizes)


def unsqueezed(g: Graph, x: str, axis: int, opset: int) -> str:
    if opset >= 13:
        return g.add("Unsqueeze", x, g.constant(np.array([axis])))
    return g.add("Unsqueeze", x, axes=[axis])


@pytest.mark.parametrize(("opset", "operators"), [(11, ["Mul"]), (13, ["Mul", "Add"]), (21, ["Sub", "Div"])])
@pytest.mark.parametrize(
    ("dims", "axis", "count"),
    [([2, 4, 5], 1, 4), (["N", 7], 1, 7), ([6, "L", 3], 0, 6), ([3, 2, 5, 5], 2, 5)],
)
def test_parts_of_one_element_with_numbers(
    opset: int, operators: list[str], dims: Dims, axis: int, count: int
) -> None:
    g, made = Graph(x=dims), []
    for k, part in enumerate(parts(g, "x", [1] * count, axis, opset)):
        for level, op in enumerate(operators):
            part = g.add(op, part, g.constant(0.5 + k + level))
        made.append(part)
    counts = optimized(g.model(g.add("Concat", *made, axis=axis), opset=opset), "ascend")
    assert not {"Split", "Concat", "Slice"} & set(counts) and counts.total() <= len(operators)


@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize("dims", [[1, 3, 9, 9], ["N", 3, 9, 7]])
def test_an_image_whose_channels_are_normalised_one_by_one(opset: int, dims: Dims) -> None:
    """torchvision's transform_input of Inception and GoogLeNet."""
    g, made = Graph(x=dims), []
    for k in range(3):
        channel = unsqueezed(g, g.add("Gather", "x", g.constant(np.int64(k)), axis=1), 1, opset)
        made.append(g.add("Add", g.add("Mul", channel, g.constant(0.4 + k)), g.constant(0.1 * k - 0.2)))
    y = g.add("Conv", g.add("Concat", *made, axis=1), g.weight(4, 3, 3, 3), strides=[2, 2])
    assert check_settled(g.model(y, opset=opset), "ascend") == {"Conv": 1}


def test_constants_of_several_dims_are_as_large_as_the_largest() -> None:
    g = Graph(x=["N", 5, 6])
    a, b, c = parts(g, "x", [1, 2, 3], 2, 17)
    made = g.add("Add", a, g.weight(5, 1)), g.add("Add", b, g.constant(2.0)), g.add("Add", c, g.weight(3))
    assert optimized(g.model(g.add("Concat", *made, axis=2)), "ascend") == {"Add": 1}


def test_another_order_and_an_operand_that_varies_keep_the_parts() -> None:
    g = Graph(x=[4, 3], y=[4, 1])
    a, b, c = parts(g, "x", [1] * 3, 1, 17)
    scaled: list[Any] = [g.add("Mul", part, g.constant(k + 2.0)) for k, part in enumerate((a, b))]
    whole = g.model(g.add("Concat", *scaled, g.add("Mul", c, "y"), axis=1))
    counts = optimized(whole, "ascend")
    assert counts["Mul"] >= 2 and counts["Concat"] == 1


# --- some parts have none ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("opset", "dims"), [(11, [1, 20, 4]), (13, ["N", 6, 4]), (21, [3, 4])])
def test_distances_to_both_sides_of_points_are_boxes(opset: int, dims: Dims) -> None:
    """dist2bbox of NanoDet: points - left and top, points + right and bottom."""
    g = Graph(x=dims)
    points, axis = g.weight(dims[-2], 2), len(dims) - 1  # type: ignore[arg-type]
    near, far = parts(g, "x", [2, 2], axis, opset)
    boxes = g.add("Concat", g.add("Sub", points, near), g.add("Add", points, far), axis=axis)
    counts = check_settled(g.model(boxes, opset=opset), "ascend")
    assert not {"Split", "Concat", "Slice"} & set(counts) and counts.total() <= 2


@pytest.mark.parametrize("opset", [11, 17])
def test_steps_that_not_every_part_has(opset: int) -> None:
    """YOLOv5 scales and shifts the centres, scales the sizes, and leaves the scores."""
    g = Graph(x=[2, "N", 9])
    centre, size, scores = parts(g, "x", [2, 2, 5], 2, opset)
    centre = g.add("Mul", g.add("Sub", g.add("Mul", centre, g.constant(2.0)), g.constant(0.5)), g.weight(2))
    size = g.add("Mul", size, g.weight(2))
    counts = optimized(g.model(g.add("Concat", centre, size, scores, axis=2), opset=opset), "ascend")
    assert not {"Split", "Concat", "Slice"} & set(counts) and counts.total() <= 2


@pytest.mark.parametrize("op", ["Mul", "Add"])
def test_three_of_seven_parts_that_do_not_begin_at_the_front(op: str) -> None:
    g = Graph(x=["N", 9, 2])
    _, *rest, _ = parts(g, "x", [1] * 9, 1, 17)
    made = [g.add(op, part, g.constant(k + 2.0)) if k % 3 == 0 else part for k, part in enumerate(rest)]
    counts = optimized(g.model(g.add("Concat", *made, axis=1)), "ascend")
    assert counts == {"Slice": 1, op: 1}


@pytest.mark.parametrize("order", [[1, 0, 2], [0, 2, 1], [0, 1]])
def test_parts_in_another_order_or_left_out_stay_parts(order: list[int]) -> None:
    g = Graph(x=[4, 6])
    found = parts(g, "x", [2, 2, 2], 1, 17)
    made = [g.add("Sigmoid", found[k]) if order == [0, 1] else found[k] for k in order]
    whole = g.add("Concat", g.add("Mul", made[0], g.constant(3.0)), *made[1:-1], found[2], axis=1)
    counts = optimized(g.model(whole), "ascend")
    assert counts["Mul"] == 1 and counts["Concat"] == 1


# --- operands that vary -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("opset", "dims", "axis"), [(11, [2, 9, 6], 2), (13, ["N", 6, 5], 1), (21, [6, 5], 0)]
)
@pytest.mark.parametrize("op", ["Add", "Mul"])
def test_offsets_of_parts_are_joined_instead(opset: int, dims: Dims, axis: int, op: str) -> None:
    g = Graph(x=dims, **{name: [2 if k == axis else d for k, d in enumerate(dims)] for name in "yzw"})
    found = parts(g, "x", [2, 2, 2], axis, opset)
    made = [g.add(op, part, other) for part, other in zip(found, "yzw", strict=True)]
    counts = check_settled(g.model(g.add("Concat", *made, axis=axis), opset=opset), "ascend")
    assert counts == {"Concat": 1, op: 1}


def test_offsets_of_parts_in_another_order_stay_where_they_are() -> None:
    g = Graph(x=[3, 4], y=[3, 2], z=[3, 2])
    near, far = parts(g, "x", [2, 2], 1, 17)
    whole = g.add("Concat", g.add("Div", far, "y"), g.add("Div", near, "z"), axis=1)
    assert optimized(g.model(whole), "ascend")["Div"] == 2
