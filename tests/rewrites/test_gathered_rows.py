"""Rows that are gathered by a counted index and another one are taken in batches, before they are computed."""

from collections import Counter

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Graph, check_settled


def pooled(batch: int | str, opset: int = 17) -> onnx.ModelProto:
    """CLIP's pooler: the token with the greatest id of what is normalised, projected."""
    rng = np.random.default_rng(0)
    g = Graph(x=[batch, 7, 16])
    g.input("ids", [batch, 7], TensorProto.INT64)
    w, p, s, b = (g.constant(rng.standard_normal(d).astype(np.float32)) for d in ((16, 16), (16, 8), 16, 16))
    hidden = g.add("Add", "x", g.add("MatMul", g.add("Relu", "x"), w))
    hidden = g.add("LayerNormalization", hidden, s, b)
    rows = g.add("Gather", g.add("Shape", "x"), g.constant(np.array(0)), axis=0)
    places = g.add("Range", g.constant(np.array(0)), rows, g.constant(np.array(1)))
    last = g.add("ArgMax", "ids", axis=1, keepdims=0)
    one = g.constant(np.array([1]))
    both = g.add("Concat", g.add("Unsqueeze", places, one), g.add("Unsqueeze", last, one), axis=1)
    return g.model(g.add("MatMul", g.add("GatherND", hidden, both), p), opset=opset)


@pytest.mark.parametrize("batch", ["N", 3])
def test_one_token_of_each_text_is_all_that_is_computed(batch: int | str) -> None:
    counts = check_settled(pooled(batch), "ascend")
    assert counts == Counter(
        ArgMax=1, Unsqueeze=1, GatherND=1, Relu=1, MatMul=2, Add=1, LayerNormalization=1
    )
