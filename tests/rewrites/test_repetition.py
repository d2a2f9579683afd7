"""Parts of one tensor that are put together in another order, and what is repeated."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Graph, check_settled, check_untouched, outcome


def _reordered(
    order: list[int], axis: int, dims: list[Any], *, opset: int = 17, dtype: int = TensorProto.FLOAT
) -> onnx.ModelProto:
    """The parts of a Split, each of one element along an axis, in an order."""
    g = Graph()
    x = g.input("x", dims, dtype)
    sizes = {"split": [1] * dims[axis]} if opset < 13 else {}
    operands = () if opset < 13 else (g.constant([1] * dims[axis]),)
    parts = g.add_many("Split", x, *operands, outputs=dims[axis], axis=axis, **sizes)
    y = g.add("Concat", *(parts[k] for k in order), axis=axis)
    return g.model(y, opset=opset, dtypes={y: dtype})


@pytest.mark.parametrize(
    ("order", "axis", "dims", "opset"),
    [([2, 0, 1], 1, ["N", 3, 4, 5], 11), ([1, 1, 0, 4], -1, [3, 5], 13), ([4, 0, 3, 1, 2], 0, [5, 3], 21)],
)
def test_parts_in_another_order_are_gathered(
    order: list[int], axis: int, dims: list[Any], opset: int
) -> None:
    made = _reordered(order, axis, dims, opset=opset, dtype=TensorProto.FLOAT16 if opset == 13 else 1)
    assert check_settled(made) == Counter(["Gather"])
    assert outcome(made, "ascend").report.cost.after <= 0.6 * outcome(made, "ascend").report.cost.before


def test_backwards_they_are_a_slice_and_channels_go_into_a_weight() -> None:
    assert outcome(_reordered([3, 2, 1, 0], 1, ["N", 4, 3])).counts == Counter(["Slice"])
    g = Graph(x=["N", 3, 8, 8])
    parts = g.add_many("Split", "x", g.constant([1, 1, 1]), outputs=3, axis=1)
    made = g.model(g.add("Conv", g.add("Concat", *parts[::-1], axis=1), g.weight(4, 3, 3, 3)), opset=17)
    assert outcome(made, "ascend").counts == Counter(["Conv"])


def test_parts_of_two_tensors_or_of_unknown_length_stay() -> None:
    g = Graph(x=["N", 4], y=["N", 4])
    last = [g.add("Slice", z, g.constant([2]), g.constant([4]), g.constant([1])) for z in "yx"]
    check_untouched(g.model(g.add("Concat", *last, axis=1)))
    g = Graph(x=["N", 4])
    cuts = ([1], [2**40]), ([0], [1])
    parts = [g.add("Slice", "x", *map(g.constant, cut), g.constant([0])) for cut in cuts]
    assert "Gather" not in outcome(g.model(g.add("Concat", *parts, axis=0))).counts


@pytest.mark.parametrize("opset", [13, 21])
def test_a_repeated_operand_broadcasts(opset: int) -> None:
    g = Graph(x=["N", 1, 5], z=["N", 3, 5])
    y = g.add("Mul", g.add("Concat", "x", "x", "x", axis=1), "z")
    assert outcome(g.model(y, opset=opset), "ascend").counts == Counter(["Mul"])
    g = Graph(x=["N", 2, 5], z=["N", 4, 5])
    y = g.add("Mul", g.add("Concat", "x", "x", axis=1), "z")
    assert outcome(g.model(y, opset=opset), "ascend").counts == Counter(["Concat", "Mul"])


def test_elements_that_are_repeated_broadcast() -> None:
    g = Graph(x=["N", 3, 1], z=["N", 3, 4, 5])
    wide = g.add("Gather", "x", g.constant(np.repeat(np.arange(3), 4)), axis=1)
    y = g.add("Add", g.add("Reshape", wide, g.constant([0, 3, 4, 1])), "z")
    assert "Gather" not in outcome(g.model(y), "ascend").counts


def test_parts_that_are_scaled_by_one_number_each_are_scaled_at_once() -> None:
    g = Graph(x=["N", 8, 5])
    parts = g.add_many("Split", "x", g.constant([3, 5]), outputs=2, axis=1)
    scaled = (g.add("Mul", part, g.constant(c)) for part, c in zip(parts, (0.5, [-2.0]), strict=True))
    assert check_settled(g.model(g.add("Concat", *scaled, axis=1)), "ascend") == Counter(["Mul"])
