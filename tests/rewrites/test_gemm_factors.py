"""Gemms take the scalars beside them, the sums of products of which a matrix is left, and small Gemms."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Dims, Graph, check_settled, check_untouched, optimized, outcome

Spelling = Callable[[Graph], str]

SPELLINGS: dict[str, Spelling] = {
    "behind": lambda g: g.add("Mul", g.add("Gemm", "a", "b", "c", alpha=0.5, beta=3.0), g.constant(0.25)),
    "divided": lambda g: g.add("Div", g.add("Gemm", "a", "b", "c"), g.constant(np.full((1, 1), 4.0))),
    "negated": lambda g: g.add("Neg", g.add("Gemm", "a", "b", "c", transA=0)),
    "the left one": lambda g: g.add("Gemm", g.add("Mul", "a", g.constant(2.0)), "b", "c"),
    "the right one": lambda g: g.add("Gemm", "a", g.add("Mul", g.constant([3.0]), "b"), "c", alpha=0.1),
    "the sum": lambda g: g.add("Gemm", "a", "b", g.add("Mul", "c", g.constant(-1.0)), beta=2.0),
    "no sum": lambda g: g.add("Mul", g.add("MatMul", "a", "b"), g.constant(0.125)),
    "scores and a bias": lambda g: g.add(
        "Add", g.add("Mul", g.add("MatMul", "a", "b"), g.constant(0.125)), "c"
    ),
    "several": lambda g: g.add(
        "Mul", g.add("Gemm", g.add("Mul", "a", g.constant(2.0)), "b", "c", beta=0.5), g.constant(1.5)
    ),
}


@pytest.mark.parametrize("opset", [11, 13, 21])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_scalar_beside_a_gemm_is_its_factor(spelling: str, opset: int) -> None:
    g = Graph(a=["N", 5], b=[5, 6], c=[6])
    model = g.model(SPELLINGS[spelling](g), opset=opset)
    assert optimized(model) == {"Gemm": 1}
    check_settled(model, "ascend")


@pytest.mark.parametrize("opset", [13, 21])
def test_beside_a_weight_only_what_is_added_keeps_a_factor(opset: int) -> None:
    g = Graph(x=[4, 16], y=[4, 8])
    gemm = g.add("Gemm", "x", g.weight(8, 16), "y", alpha=0.5, beta=2.0, transB=1)
    result = outcome(g.model(g.add("Mul", gemm, g.constant(2.0)), opset=opset), "nodes")
    assert result.counts == {"Gemm": 1}
    (node,) = result.model.graph.node
    assert {a.name: a.f for a in node.attribute if a.name in ("alpha", "beta")}.get("beta") == 4.0


@pytest.mark.parametrize("factor", [1e30, np.inf, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])
def test_other_factors_stay(factor: object) -> None:
    """Sums would be infinite, or there is one for each column."""
    g = Graph(a=["N", 5], b=[5, 6], c=[6])
    check_untouched(g.model(g.add("Mul", g.add("Gemm", "a", "b", "c"), g.constant(factor))))


def test_a_double_takes_no_factor_that_float32_rounds() -> None:
    for factor, count in ((0.5, 1), (0.1, 2)):
        g = Graph()
        a, b = (g.input(name, [4, 4], TensorProto.DOUBLE) for name in "ab")
        scaled = g.add("Mul", g.add("Gemm", a, b), g.constant(factor, np.float64))
        model = g.model(scaled, dtypes={scaled: TensorProto.DOUBLE})
        assert optimized(model).total() == count


# --- of which a matrix is left ----------------------------------------------------------------------------


@pytest.mark.parametrize("opset", [13, 17, 21])
@pytest.mark.parametrize("index", [0, -1])
def test_a_layer_of_which_one_token_is_read_is_a_gemm_of_it(index: int, opset: int) -> None:
    g = Graph(x=["N", 9, 6])
    y = g.add("Relu", g.add("Add", g.add("MatMul", "x", g.weight(6, 4)), g.weight(4)))
    model = g.model(g.add("Gather", y, g.constant(index), axis=1), opset=opset)
    assert check_settled(model) == {"Gather": 1, "Gemm": 1, "Relu": 1}


def test_a_layer_of_single_tokens_is_a_gemm() -> None:
    g = Graph(x=[1, 1, "N", 6])
    y = g.add("Add", g.weight(4), g.add("MatMul", "x", g.weight(6, 4)))
    model = g.model(g.add("Squeeze", y, g.constant([0, 1])))
    assert check_settled(model) == {"Squeeze": 1, "Gemm": 1}


def test_where_rows_are_joined_two_axes_stay() -> None:
    g = Graph(x=["N", 2, 6])
    y = g.add("Add", g.add("MatMul", "x", g.weight(6, 4)), g.weight(2, 4))
    check_untouched(g.model(g.add("Reshape", y, g.constant([-1, 4]))))


# --- through a bottleneck ---------------------------------------------------------------------------------


def layers(x: Dims, *widths: int, opset: int = 17) -> onnx.ModelProto:
    """Gemms in a row without activations."""
    g, y = Graph(x=[*x, widths[0]]), "x"
    for rows, columns in itertools.pairwise(widths):
        y = g.add("Gemm", y, g.weight(rows, columns), g.weight(columns))
    return g.model(y, opset=opset)


@pytest.mark.parametrize("opset", [11, 13, 21])
@pytest.mark.parametrize("widths", [(32, 8, 16), (64, 4, 64), (16, 3, 3, 16)])
def test_small_layers_through_a_bottleneck_are_one(widths: tuple[int, ...], opset: int) -> None:
    model = layers(["N"], *widths, opset=opset)
    assert check_settled(model) == {"Gemm": 1}
    assert optimized(model, "ascend").total() <= 2


def test_a_large_bottleneck_stays() -> None:
    """What it would become has 65,536 elements, and the two have 4,096."""
    check_untouched(layers(["N"], 256, 8, 256))
