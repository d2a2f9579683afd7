"""Rows that are gathered by a counted index and another are taken in batches, before they are computed."""

from collections import Counter

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Graph, check_settled


def pooled(batch: int | str, opset: int = 17, *, flat: bool = False) -> onnx.ModelProto:
    """CLIP's pooler: the token with the greatest id of what is normalised, projected.

    Taken as `flat`, as one exporter writes it, or by two indices.
    """
    rng = np.random.default_rng(0)
    g = Graph(x=[batch, 7, 16])
    g.input("ids", [batch, 7], TensorProto.INT64)
    w, p, s, b = (g.constant(rng.standard_normal(d).astype(np.float32)) for d in ((16, 16), (16, 8), 16, 16))
    hidden = g.add("Add", "x", g.add("MatMul", g.add("Relu", "x"), w))
    hidden = g.add("LayerNormalization", hidden, s, b)
    rows = g.add("Gather", g.add("Shape", "x"), g.constant(np.array(0)), axis=0)
    places = g.add("Range", g.constant(np.array(0)), rows, g.constant(np.array(1)))
    last = g.add("ArgMax", "ids", axis=1, keepdims=0)
    if flat:
        length = g.add("Gather", g.add("Shape", "x"), g.constant(np.array(1)), axis=0)
        both = g.add("Add", last, g.add("Mul", places, length))
        return g.model(
            g.add("MatMul", g.add("Gather", g.add("Flatten", hidden, axis=2), both), p), opset=opset
        )
    one = g.constant(np.array([1]))
    both = g.add("Concat", g.add("Unsqueeze", places, one), g.add("Unsqueeze", last, one), axis=1)
    return g.model(g.add("MatMul", g.add("GatherND", hidden, both), p), opset=opset)


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("batch", ["N", 3])
def test_one_token_of_each_text_is_all_that_is_computed(batch: int | str, flat: bool) -> None:
    counts = check_settled(pooled(batch, flat=flat), "ascend")
    products = Counter(MatMul=2, Add=1) if batch == "N" else Counter(MatMul=1, Gemm=1)
    taken = Counter(ArgMax=1, GatherND=1)
    assert counts == products + taken + Counter(Relu=1, LayerNormalization=1)
