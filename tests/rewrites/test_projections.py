"""Queries, keys and values of one tensor are one product, one transpose and a Split, as written by hand."""

import numpy as np
import onnx
import pytest

from ..knowledge_bases.graphs import Dims, Graph, outcome

SIZE = 4
"""Elements of a head."""


def attention(
    dims: Dims, heads: int, *, biased: bool = True, keys: tuple[int, ...] = (0, 2, 3, 1)
) -> onnx.ModelProto:
    """As exporters write it: three projections, of which that of the keys has a transpose of its own."""
    g, rng, columns = Graph(x=dims), np.random.default_rng(0), heads * SIZE
    parts = []
    for perm in ((0, 2, 1, 3), keys, (0, 2, 1, 3)):
        part = g.add(
            "MatMul", "x", g.constant(rng.normal(size=(int(dims[-1]), columns)).astype(np.float32) / 4)
        )
        if biased:
            part = g.add("Add", g.constant(rng.normal(size=columns).astype(np.float32)), part)
        part = g.add("Reshape", part, g.constant([0, dims[1], heads, SIZE]))
        parts.append(g.add("Transpose", part, perm=perm))
    q, k, v = parts
    if keys == (0, 2, 1, 3):
        k = g.add("Transpose", k, perm=[0, 1, 3, 2])
    weights = g.add("Softmax", g.add("MatMul", q, k), axis=-1)
    joined = g.add("Transpose", g.add("MatMul", weights, v), perm=[0, 2, 1, 3])
    return g.model(g.add("Reshape", joined, g.constant([0, dims[1], columns])), opset=14)


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("keys", [(0, 2, 3, 1), (0, 2, 1, 3)])
@pytest.mark.parametrize("dims", [("N", 6, 10), (2, 5, 8)])
def test_three_projections_are_one(dims: Dims, keys: tuple[int, ...], biased: bool) -> None:
    result = outcome(attention(dims, 3, biased=biased, keys=keys), "ascend")
    # By hand: of all parts at once, then of the keys, and behind the heads.
    assert (result.counts["MatMul"], result.counts["Transpose"], result.counts["Split"]) == (3, 3, 1)


def test_a_transpose_of_all_that_is_joined_stands_behind() -> None:
    g = Graph(x=["N", 3, 4], y=["N", 3, 4], z=["N", 2, 4])
    turned = [g.add("Transpose", name, perm=[0, 2, 1]) for name in "xyz"]
    result = outcome(g.model(g.add("Tanh", g.add("Concat", *turned, axis=2))))
    assert (result.counts["Transpose"], result.counts["Concat"]) == (1, 1)


def test_a_transpose_goes_to_what_is_joined_where_it_is_undone() -> None:
    g = Graph(x=["N", 3, 4, 5], y=["N", 2, 4, 5], z=["N", 4, 5, 7])
    first = [g.add("Transpose", name, perm=[0, 2, 3, 1]) for name in "xy"]
    joined = g.add("Transpose", g.add("Concat", *first, "z", axis=3), perm=[0, 3, 1, 2])
    assert outcome(g.model(g.add("Tanh", joined))).counts["Transpose"] == 1


def test_heads_that_are_written_one_by_one_are_projections_of_one() -> None:
    """Each with weights of its own, as before it was exported together."""
    g, rng, outputs = Graph(x=["N", 6, 8]), np.random.default_rng(0), []
    for _ in range(3):
        q, k, v = (
            g.add("MatMul", "x", g.constant(rng.normal(size=(8, SIZE)).astype(np.float32))) for _ in "qkv"
        )
        scores = g.add("MatMul", q, g.add("Transpose", k, perm=[0, 2, 1]))
        outputs.append(g.add("MatMul", g.add("Softmax", scores, axis=-1), v))
    result = outcome(g.model(g.add("Concat", *outputs, axis=-1)), "ascend")
    assert (result.counts["Softmax"], result.counts["MatMul"]) == (1, 3)
