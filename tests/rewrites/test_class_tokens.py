"""A class token in front of as many sequences as there are is a Pad and a part of the positions."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Graph, check_settled, optimized, outcome


def batch_of(g: Graph, x: str, *dims: int) -> str:
    """The dims of x's batch, then others."""
    whole = g.add("Shape", x)
    first = g.add("Slice", whole, g.constant([0]), g.constant([1]), g.constant([0]))
    return g.add("Concat", first, g.constant(np.array(dims, np.int64)), axis=0)


def with_token(
    opset: int, *, positions: bool = True, behind: bool = False, bias: bool = False
) -> onnx.ModelProto:
    g = Graph(x=["B", 6, 8])
    y = g.add("MatMul", "x", g.weight(8, 8)) if bias else "x"
    y = g.add("Add", y, g.weight(8)) if bias else y
    token = g.add("Expand", g.weight(1, 1, 8), batch_of(g, "x", 1, 8))
    z = g.add("Concat", *([y, token] if behind else [token, y]), axis=1)
    return g.model(g.add("Add", z, g.weight(1, 7, 8)) if positions else z, opset=opset)


@pytest.mark.parametrize("opset", [11, 13, 17, 21])
@pytest.mark.parametrize("behind", [False, True])
def test_a_token_and_positions_are_a_pad_and_one_sum(opset: int, behind: bool) -> None:
    for cost in ("nodes", "ascend"):
        assert check_settled(with_token(opset, behind=behind), cost) == {"Pad": 1, "Add": 1}


def test_a_token_without_positions_is_two_nodes() -> None:
    assert optimized(with_token(13, positions=False)) == {"Pad": 1, "Add": 1}


def test_a_bias_joins_the_positions() -> None:
    assert optimized(with_token(17, bias=True)) == {"MatMul": 1, "Pad": 1, "Add": 1}


def test_two_tokens_are_one_pad() -> None:
    """DeiT has one for what it is distilled from."""
    g = Graph(x=["B", 5, 4])
    tokens = [g.add("Expand", g.weight(1, 1, 4), batch_of(g, "x", 1, 4)) for _ in range(2)]
    z = g.add("Add", g.add("Concat", *tokens, "x", axis=1), g.weight(7, 4))
    counts = outcome(g.model(z, opset=13)).counts
    assert counts["Expand"] == counts["Shape"] == counts["Concat"] == 0 and counts["Add"] == 1


def test_a_sequence_of_unknown_length_keeps_its_token() -> None:
    g = Graph(x=["B", "T", 8])
    token = g.add("Expand", g.weight(1, 1, 8), batch_of(g, "x", 1, 8))
    z = g.add("Add", g.add("Concat", token, "x", axis=1), g.weight(1, 1, 8))
    assert optimized(g.model(z, opset=17))["Concat"] >= 1


def test_integers_keep_their_token() -> None:
    g = Graph()
    g.input("x", ["B", 6], TensorProto.INT64)
    token = g.add("Expand", g.constant([[101]]), batch_of(g, "x", 1))
    z = g.add("Concat", token, "x", axis=1)
    assert optimized(g.model(z, opset=13, dtypes={z: TensorProto.INT64}))["Concat"] >= 1


# --- biases of parts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize("axis", [1, 2])
def test_a_bias_of_a_part_is_one_of_all(opset: int, axis: int) -> None:
    g = Graph(x=["N", 3, 5], y=["N", 3, 5])
    part = g.add("Add", "y", g.weight(1, 5))
    z = g.add("Add", g.add("Concat", part, "x", axis=axis), g.weight(6, 1) if axis == 1 else g.weight(10))
    assert check_settled(g.model(z, opset=opset)) == {"Concat": 1, "Add": 1}


def test_a_bias_that_widens_a_part_stays() -> None:
    g = Graph(x=[2, 3, 5], y=[1, 3, 5])
    z = g.add("Concat", g.add("Add", "y", g.weight(2, 1, 5)), "x", axis=1)
    assert optimized(g.model(g.add("Add", z, g.weight(5)))) == {"Concat": 1, "Add": 2}


def test_a_scale_of_a_part_stays() -> None:
    g = Graph(x=["N", 3, 5], y=["N", 3, 5])
    z = g.add("Concat", g.add("Mul", "y", g.weight(5)), "x", axis=1)
    assert optimized(g.model(g.add("Add", z, g.weight(5)))) == {"Mul": 1, "Concat": 1, "Add": 1}
