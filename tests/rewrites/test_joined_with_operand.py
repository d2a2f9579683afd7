"""A product that is joined with its own operand, and multiplied again: one product."""

from __future__ import annotations

from typing import Any

import onnx
import pytest

from tests.knowledge_bases.graphs import Graph, check_settled, check_untouched, outcome


def _joined(
    dims: list[Any], layers: int, bias: bool = False, product_first: bool = True, between: str = ""
) -> onnx.ModelProto:
    """So many times Concat(x @ W, x), and a product."""
    g = Graph(x=dims)
    x, width = "x", dims[-1]
    for _ in range(layers):
        y = g.add("MatMul", x, g.weight(width, 4))
        y = g.add("Add", y, g.weight(4)) if bias else y
        y = g.add(between, y) if between else y
        x, width = g.add("Concat", *((y, x) if product_first else (x, y)), axis=-1), width + 4
    return g.model(g.add("MatMul", x, g.weight(width, 16)))


@pytest.mark.parametrize(
    ("dims", "layers", "bias", "product_first"),
    [([5, 8], 1, True, True), (["N", 3, 8], 1, True, False), ([2, "N", 8], 3, False, True)],
)
def test_it_is_one_product(dims: list[Any], layers: int, bias: bool, product_first: bool) -> None:
    counts = check_settled(_joined(dims, layers, bias, product_first), "ascend")
    assert counts["MatMul"] + counts["Gemm"] == 1 and not counts["Concat"]


def test_layers_in_a_row_take_a_few_e_nodes_each() -> None:
    report = outcome(_joined(["N", 8], 8), "ascend").report
    assert report.saturation.nodes < 80 * 9
    assert report.cost.after < 0.3 * report.cost.before


def test_a_function_of_the_product_keeps_them_apart() -> None:
    check_untouched(_joined([5, 8], 1, between="Relu"), "ascend")
