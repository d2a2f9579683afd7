"""The heads of an attention that are written one by one are one product of a stack."""

import onnx
import pytest

from ..knowledge_bases.graphs import Dims, Graph, outcome


def one_by_one(dims: Dims, heads: int, size: int) -> onnx.ModelProto:
    """Queries, keys and values of each head sliced out of those of all."""
    g = Graph(q=dims, k=dims, v=dims)
    outputs = []
    for head in range(heads):
        bounds = [g.constant([n]) for n in (head * size, (head + 1) * size, 2)]
        q, k, v = (g.add("Slice", x, *bounds) for x in "qkv")
        scores = g.add("MatMul", q, g.add("Transpose", k, perm=[0, 2, 1]))
        outputs.append(g.add("MatMul", g.add("Softmax", scores, axis=-1), v))
    return g.model(g.add("Concat", *outputs, axis=-1))


def test_attention_is_that_of_a_stack() -> None:
    result = outcome(one_by_one([2, 20, 24], 3, 8), "ascend")
    assert (result.counts["Softmax"], result.counts["MatMul"]) == (1, 2)
    assert result.report.cost.after < 0.7 * result.report.cost.before


@pytest.mark.parametrize(("dims", "opset"), [([2, "L", 20], 11), ([4, 12, 20], 21)])
def test_products_side_by_side_are_one(dims: Dims, opset: int) -> None:
    g = Graph(x=dims, y=[dims[0], 10, 20])
    heads = []
    for k in range(2):
        bounds = [g.constant([n]) for n in (10 * k, 10 * k + 10, 2)]
        left, right = (g.add("Relu", g.add("Slice", v, *bounds)) for v in "xy")
        heads.append(g.add("MatMul", left, right))
    result = outcome(g.model(g.add("Tanh", g.add("Concat", *heads, axis=2)), opset=opset), "ascend")
    assert result.counts["MatMul"] == 1


def test_products_alike_that_are_stacked_are_one() -> None:
    g = Graph(a=[2, 9, 5], b=[2, 5, 7], c=[2, 9, 5], d=[2, 5, 7])
    stack = g.add("Concat", g.add("MatMul", "a", "b"), g.add("MatMul", "c", "d"), axis=0)
    assert outcome(g.model(g.add("Tanh", stack))).counts["MatMul"] == 2  # two Concats instead of one product
    result = outcome(g.model(g.add("Tanh", stack)), "ascend")
    assert result.counts["MatMul"] == 1
