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
