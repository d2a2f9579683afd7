"""Einsum in its usual spellings, end to end: as cheap as what is written by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ..knowledge_bases.graphs import Dims, Graph, check_settled, outcome

Build = Callable[[Graph], str]


def view(g: Graph, x: str, *dims: int) -> str:
    return g.add("Reshape", x, g.constant(dims))


CASES: dict[str, tuple[tuple[Dims, ...], Build]] = {
    "ij,ij->ij": (((3, 5), (3, 5)), lambda g: g.add("Mul", "a", "b")),
    "bi,bj->bij": (((3, 5), (3, 7)), lambda g: g.add("Mul", view(g, "a", 3, 5, 1), view(g, "b", 3, 1, 7))),
    "nchw,nc->nchw": (((2, 6, 4, 5), (2, 6)), lambda g: g.add("Mul", "a", view(g, "b", 2, 6, 1, 1))),
    "bi,bi->b": (
        ((3, 5), (3, 5)),
        lambda g: g.add("ReduceSum", g.add("Mul", "a", "b"), g.constant([1]), keepdims=0),
    ),
    "bd,bnd->bn": (((3, 7), (3, 5, 7)), lambda g: view(g, g.add("MatMul", "b", view(g, "a", 3, 7, 1)), 3, 5)),
    "bii->bi": (
        ((3, 4, 4),),
        lambda g: g.add("Gather", view(g, "a", 3, 16), g.constant(np.arange(4) * 5), axis=1),
    ),
    "ii->": (
        ((4, 4),),
        lambda g: g.add(
            "ReduceSum", g.add("Gather", view(g, "a", 16), g.constant(np.arange(4) * 5)), keepdims=0
        ),
    ),
}


@pytest.mark.parametrize("opset", [13, 21])
@pytest.mark.parametrize("equation", CASES)
def test_as_cheap_as_by_hand(equation: str, opset: int) -> None:
    dims, build = CASES[equation]
    inputs = dict(zip("ab", dims, strict=False))
    g, by_hand = Graph(**inputs), Graph(**inputs)
    model = g.model(g.add("Einsum", *inputs, equation=equation), opset=opset)
    limit = outcome(by_hand.model(build(by_hand), opset=opset), "ascend").report.cost.after
    assert outcome(model, "ascend").report.cost.after <= limit * 1.001


def test_what_is_no_product_of_two_stays() -> None:
    g = Graph(a=[3, 5], b=[3, 7])
    assert check_settled(g.model(g.add("Einsum", "a", "b", equation="bi,bj->b"))) == {"Einsum": 1}
    g = Graph(a=["N", "N"])
    assert check_settled(g.model(g.add("Einsum", "a", equation="ii->i"))) == {"Einsum": 1}
