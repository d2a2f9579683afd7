"""What is normalised row by row needs no transposes, views and orders around it."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from ..knowledge_bases.graphs import Graph, check_settled, optimized, outcome


def _normalised(g: Graph, x: str, kind: str, *dims: int) -> str:
    scale, bias = g.weight(*dims, positive=True), g.weight(*dims)
    operands = (scale,) if kind == "RMSNormalization" else (scale, bias)
    return g.add(kind, x, *operands, axis=-len(dims))


@pytest.mark.parametrize(("kind", "opset"), [("LayerNormalization", 17), ("RMSNormalization", 23)])
@pytest.mark.parametrize(("perm", "dims"), [((1, 0, 2), (8,)), ((0, 2, 1, 3), (6,)), ((1, 0, 2, 3), (4, 6))])
def test_transposes_that_keep_rows(
    kind: str, opset: int, perm: tuple[int, ...], dims: tuple[int, ...]
) -> None:
    g = Graph(x=["N", "T", *([8] if len(perm) == 3 else [4, 6])])
    back = [perm.index(k) for k in range(len(perm))]
    y = g.add("Transpose", _normalised(g, g.add("Transpose", "x", perm=perm), kind, *dims), perm=back)
    model = g.model(y, opset=opset)
    assert optimized(model) == {kind: 1}
    check_settled(model, "ascend")


def test_windows_of_tokens_are_normalised_where_they_are() -> None:
    """As in Swin: windows of 4 x 2, a normalisation, a product, and back."""
    g = Graph(x=[3, 8, 6, 16])
    y = g.add("Transpose", g.add("Reshape", "x", g.constant([3, 2, 4, 3, 2, 16])), perm=[0, 1, 3, 2, 4, 5])
    y = _normalised(g, g.add("Reshape", y, g.constant([18, 8, 16])), "LayerNormalization", 16)
    y = g.add("MatMul", y, g.weight(16, 16))
    y = g.add("Transpose", g.add("Reshape", y, g.constant([3, 2, 3, 4, 2, 16])), perm=[0, 1, 3, 2, 4, 5])
    model = g.model(g.add("Reshape", y, g.constant([3, 8, 6, 16])), opset=17)
    assert optimized(model) == {"LayerNormalization": 1, "MatMul": 1}


def _rolled(by: int, back: int) -> onnx.ModelProto:
    g = Graph(x=["N", 7, 4])

    def roll(x: str, n: int) -> str:
        return g.add("Gather", x, g.constant(np.roll(np.arange(7), n)), axis=1)

    return g.model(roll(_normalised(g, roll("x", by), "LayerNormalization", 4), back), opset=21)


def test_rows_that_are_rolled_and_rolled_back() -> None:
    assert optimized(_rolled(3, -3)) == {"LayerNormalization": 1}
    assert optimized(_rolled(3, 2))["Gather"] >= 1


@pytest.mark.parametrize("dims", [(6,), (8, 6)])
def test_a_transpose_of_the_normalised_axis_stays(dims: tuple[int, ...]) -> None:
    g = Graph(x=[2, 6, 8])
    y = _normalised(g, g.add("Transpose", "x", perm=[0, 2, 1]), "LayerNormalization", *dims)
    result = outcome(g.model(y, opset=17), "nodes")
    assert result.counts["Transpose"] == 1
