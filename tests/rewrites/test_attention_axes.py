"""Attention of two or three axes, as torch.nn.MultiheadAttention and non-local blocks have it."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Graph, check_settled, outcome


def _stacks(lead: list[Any], *, opset: int, mask: str = "", axis: int = -1) -> onnx.ModelProto:
    """Softmax(q @ k' / 2 + mask) @ v of stacks of matrices."""
    g = Graph(q=[*lead, 5, 4], k=[*lead, 7, 4], v=[*lead, 7, 3])
    turned = g.add("Transpose", "k", perm=[*range(len(lead)), len(lead) + 1, len(lead)])
    scores = g.add("Div", g.add("MatMul", "q", turned), g.constant(2.0))
    if mask == "added":
        scores = g.add("Add", scores, g.input("m", [1, 5, 7][-len(lead) - 2 :]))
    if mask == "chosen":
        fill = g.constant(np.float32(-np.inf))
        scores = g.add("Where", g.input("m", [5, 7], TensorProto.BOOL), fill, scores)
    return g.model(g.add("MatMul", g.add("Softmax", scores, axis=axis), "v"), opset=opset)


@pytest.mark.parametrize(
    ("lead", "opset", "mask"), [([6], 23, ""), ([], 23, ""), (["N"], 23, "added"), ([6], 24, "chosen")]
)
def test_it_is_one_operator_where_the_opset_has_it(lead: list[Any], opset: int, mask: str) -> None:
    counts = outcome(_stacks(lead, opset=opset, mask=mask), "ascend:910b4").counts
    assert counts["Attention"] == 1
    assert set(counts) <= {"Attention", "Unsqueeze", "Squeeze", "Reshape", "Where", "Expand"}


@pytest.mark.parametrize(("opset", "mask"), [(13, "added"), (17, "chosen")])
def test_it_costs_what_the_composite_does_where_it_has_not(opset: int, mask: str) -> None:
    cost = outcome(_stacks([6], opset=opset, mask=mask), "ascend:910b4").report.cost
    assert cost.after < 0.4 * cost.before


def test_it_stays_one() -> None:
    assert check_settled(_stacks([6], opset=23), "ascend:910b4")["Attention"] == 1


def test_a_softmax_over_queries_is_none() -> None:
    assert "Attention" not in outcome(_stacks([6], opset=23, axis=1), "ascend:910b4").counts


@pytest.mark.parametrize("opset", [17, 23])
def test_values_may_stand_in_front_of_the_scores(opset: int) -> None:
    """Non-local blocks and DANet: v @ Softmax(q' @ k)'."""
    g = Graph(q=[2, 4, 9], k=[2, 4, 9], v=[2, 8, 9])
    scores = g.add("MatMul", g.add("Transpose", "q", perm=[0, 2, 1]), "k")
    turned = g.add("Transpose", g.add("Softmax", scores, axis=-1), perm=[0, 2, 1])
    cost = outcome(g.model(g.add("MatMul", "v", turned), opset=opset), "ascend:910b4").report.cost
    assert cost.after < 0.75 * cost.before


def test_what_is_chosen_instead_may_stand_first() -> None:
    g = Graph(q=[1, 2, 5, 4], k=[1, 2, 4, 5], v=[1, 2, 5, 4])
    later = g.constant(np.triu(np.ones((5, 5), bool), 1))
    scores = g.add("Where", later, g.constant(np.float32(-np.inf)), g.add("MatMul", "q", "k"))
    made = g.model(g.add("MatMul", g.add("Softmax", scores, axis=3), "v"), opset=23)
    assert outcome(made).counts["Attention"] == 1
