"""Images of which the channels are combined need no transposes, one there and one back."""

from __future__ import annotations

import pytest

from ..knowledge_bases.graphs import Dims, Graph, check_settled

OPSETS = pytest.mark.parametrize("opset", [11, 13, 17, 21])


@OPSETS
@pytest.mark.parametrize("cost", ["nodes", "ascend"])
@pytest.mark.parametrize("dims", [[8, 20, 24], [8, 5, 7, 6], [8, "H", 12]])
def test_masks_of_prototypes_are_products_as_they_are(opset: int, cost: str, dims: Dims) -> None:
    """YOLACT: Sigmoid(prototypes @ coefficients'), transposed to masks."""
    rank, g = len(dims), Graph(p=dims, c=[10 if "H" in dims else "K", 8])
    images = g.add("Transpose", "p", perm=[*range(1, rank), 0])
    masks = g.add("Sigmoid", g.add("MatMul", images, g.add("Transpose", "c", perm=[1, 0])))
    made = g.model(g.add("Transpose", masks, perm=[rank - 1, *range(rank - 1)]), opset=opset)
    counts = check_settled(made, cost)
    if cost == "ascend":
        assert counts == {"Reshape": 2, "MatMul": 1, "Sigmoid": 1}


def test_rows_that_change_their_order_are_transposed() -> None:
    g = Graph(p=[8, 5, 7], c=[8, 4])
    product = g.add("MatMul", g.add("Transpose", "p", perm=[2, 1, 0]), "c")
    counts = check_settled(g.model(g.add("Transpose", product, perm=[2, 0, 1])), "ascend")
    assert counts["Transpose"] >= 1
