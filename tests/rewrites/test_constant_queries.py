"""A query that is learned scores tokens with one column: its product with the weight of the keys."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ..knowledge_bases.graphs import Graph, check_settled


@pytest.mark.parametrize("opset", [11, 13, 17, 21])
@pytest.mark.parametrize("dims", [["N", "S", 12], [3, 5, 12]])
def test_a_learned_query_is_part_of_the_weight_of_the_keys(opset: int, dims: list[int | str]) -> None:
    """Attention pooling, the keys of which have a bias that the Softmax does not see."""
    g = Graph(x=dims)
    keys = g.add("Add", g.add("MatMul", "x", g.weight(12, 12)), g.weight(12))
    query = g.add("Mul", g.add("MatMul", g.weight(1, 1, 12), g.weight(12, 12)), g.constant(0.25))
    scores = g.add("MatMul", query, g.add("Transpose", keys, perm=[0, 2, 1]))
    weights = g.add("Softmax", scores, axis=-1 if opset >= 13 else 2)
    counts = check_settled(g.model(g.add("MatMul", weights, "x"), opset=opset), "ascend")
    assert counts["MatMul"] == 2 and "Add" not in counts


@pytest.mark.parametrize(
    ("first", "second"), [((6, 4), (1, 4, 3)), ((1, 6, 4), (4, 3)), ((1, 1, 6, 4), (1, 4, 3))]
)
def test_axes_of_one_in_front_of_weights_stay_in_the_result(
    first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    dims: Sequence[int | str]
    for dims in ((5, 6), ("N", 5, 6)):
        g = Graph(x=dims)
        made = g.add("MatMul", g.add("MatMul", "x", g.weight(*first)), g.weight(*second))
        assert check_settled(g.model(made)) == {"MatMul": 1}


def test_a_stack_of_weights_is_left_alone() -> None:
    g = Graph(x=["N", 5, 6])
    stack = g.constant(np.random.default_rng(1).standard_normal((7, 1, 4, 3)))
    made = g.add("MatMul", g.add("MatMul", "x", g.weight(6, 4)), stack)
    assert check_settled(g.model(made)) == {"MatMul": 2}
