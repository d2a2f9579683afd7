"""Heads that are joined with the batch, in front of products of stacks and behind them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ..knowledge_bases.graphs import Graph, check_settled


def _viewed(g: Graph, x: str, dims: Sequence[int], order: Sequence[int], turned: Sequence[int]) -> str:
    """x transposed, viewed in some dims and transposed again."""
    view = g.add("Reshape", g.add("Transpose", x, perm=order), g.constant(dims))
    return g.add("Transpose", view, perm=turned)


@pytest.mark.parametrize("opset", [11, 13, 17, 21])
@pytest.mark.parametrize(("batch", "heads", "gemm"), [(2, 4, True), (3, 2, False)])
def test_attention_with_its_batch_first_has_four_transposes(
    opset: int, batch: int, heads: int, gemm: bool
) -> None:
    """torch.nn.MultiheadAttention(batch_first=True): three of the operands, one of the result."""
    tokens, width, size = 6, 24, 24 // heads
    g = Graph(**{x: [batch, tokens, width] for x in "qkv"})
    stack, swap = [tokens, batch * heads, size], [1, 0, 2]
    q, k, v = (_viewed(g, x, stack, swap, t) for x, t in (("q", swap), ("k", [1, 2, 0]), ("v", swap)))
    weights = g.add("Softmax", g.add("MatMul", q, k), axis=-1 if opset >= 13 else 2)
    rows = g.add("Transpose", g.add("MatMul", weights, v), perm=swap)
    flat = g.add("Reshape", rows, g.constant([tokens * batch, width]))
    w, b = g.weight(width, width), g.weight(width)
    made = g.add("Gemm", flat, w, b, transB=1) if gemm else g.add("Add", b, g.add("MatMul", flat, w))
    made = g.add("Reshape", made, g.constant([tokens, batch, width]))
    counts = check_settled(g.model(g.add("Transpose", made, perm=swap), opset=opset), "ascend")
    assert counts["Transpose"] == 4
    assert counts["Reshape"] == 4 and "Gemm" not in counts


@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize("dims", [[2, 3, 4, 5], ["N", 3, 4, 5], [2, 2, 3, 4, 5]])
def test_a_stack_that_is_joined_and_told_apart_again_stays(opset: int, dims: list[int | str]) -> None:
    """`bmm` takes three axes."""
    g = Graph(x=dims, y=[*dims[:-2], 5, 6])
    x, y = (g.add("Reshape", v, g.constant([-1, *shape])) for v, shape in (("x", (4, 5)), ("y", (5, 6))))
    inner = [d if isinstance(d, int) else -1 for d in dims[:-2]]
    apart = g.add("Reshape", g.add("Tanh", g.add("MatMul", x, y)), g.constant([*inner, 4, 6]))
    assert check_settled(g.model(apart, opset=opset)) == {"MatMul": 1, "Tanh": 1}


def test_other_batches_stay_joined() -> None:
    g = Graph(x=[2, 3, 4, 5], y=[3, 2, 5, 6])
    x, y = (g.add("Reshape", v, g.constant([6, *shape])) for v, shape in (("x", (4, 5)), ("y", (5, 6))))
    assert check_settled(g.model(g.add("MatMul", x, y))) == {"Reshape": 2, "MatMul": 1}


@pytest.mark.parametrize("opset", [11, 21])
def test_rows_that_stay_in_order_are_flattened(opset: int) -> None:
    g = Graph(x=[5, 4, 3, 2])
    flat = g.add("Reshape", "x", g.constant([20, 6]))
    made = g.add("Reshape", g.add("Gemm", flat, g.weight(6, 8), g.weight(8)), g.constant([5, 4, 8]))
    counts = check_settled(g.model(g.add("Transpose", made, perm=[1, 0, 2]), opset=opset), "ascend")
    assert counts["Transpose"] == 1
