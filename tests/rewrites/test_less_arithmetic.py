"""What is repeated, or of low rank, is multiplied before it is repeated: as cheap as written by hand."""

from collections import Counter
from collections.abc import Callable

import onnx
import pytest

from ..knowledge_bases.graphs import Dims, Graph, check_settled, outcome

Build = Callable[[Graph], str]
NEAREST = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}


def product(g: Graph, x: str, *dims: int) -> str:
    return g.add("MatMul", x, g.weight(*dims))


def low_rank(g: Graph, x: str = "x", rank: int = 3) -> str:
    return product(g, product(g, x, 16, rank), rank, 20)


def wide(g: Graph, x: str = "x", *dims: int) -> str:
    return g.add("Expand", x, g.constant(dims or (1, 6, 1)))


def twice(g: Graph, x: str) -> str:
    return g.add("Resize", x, "", g.constant([1.0, 1.0, 2.0, 3.0]), **NEAREST)


def point(g: Graph, x: str) -> str:
    return g.add("Conv", x, g.weight(4, 6, 1, 1), g.weight(4))


X: Dims = ["N", 1, 16]
ROWS: Dims = ["N", 5, 16]
IMAGE: Dims = ["N", 6, 4, 5]
CASES: dict[str, tuple[Dims, Build, Build]] = {
    "an update": (
        ROWS,
        lambda g: g.add("Sub", low_rank(g), product(g, "x", 16, 20)),
        lambda g: product(g, "x", 16, 20),
    ),
    "a scaled update behind a bias": (
        ROWS,
        lambda g: g.add(
            "Add",
            g.add("Add", g.weight(20), product(g, "x", 16, 20)),
            g.add("Div", low_rank(g), g.constant(4.0)),
        ),
        lambda g: g.add("Add", product(g, "x", 16, 20), g.weight(20)),
    ),
    "an update from the left": (
        ["N", 16, 3],
        lambda g: g.add(
            "Add",
            g.add("MatMul", g.weight(20, 16), "x"),
            g.add("MatMul", g.weight(20, 2), g.add("MatMul", g.weight(2, 16), "x")),
        ),
        lambda g: g.add("MatMul", g.weight(20, 16), "x"),
    ),
    "a product": (X, lambda g: product(g, wide(g), 16, 20), lambda g: wide(g, product(g, "x", 16, 20))),
    "a product from the left": (
        [1, 16, "N"],
        lambda g: g.add("MatMul", g.weight(20, 16), wide(g, "x", 5, 1, 1)),
        lambda g: wide(g, g.add("MatMul", g.weight(20, 16), "x"), 5, 1, 1),
    ),
    "a product with a batch": (
        [1, 4, 16],
        lambda g: product(g, wide(g, "x", 5, 4, 16), 5, 16, 3),
        lambda g: product(g, "x", 5, 16, 3),
    ),
    "a tile": (
        X,
        lambda g: g.add("Mul", g.add("Tile", "x", g.constant([1, 6, 1])), g.weight(6, 16)),
        lambda g: g.add("Mul", "x", g.weight(6, 16)),
    ),
    "the mean of what is there several times": (
        ROWS,
        lambda g: g.add("ReduceMean", g.add("Tile", "x", g.constant([1, 3, 1])), axes=[1], keepdims=1),
        lambda g: g.add("ReduceMean", "x", axes=[1], keepdims=1),
    ),
    "the largest of one": (
        X,
        lambda g: g.add("ReduceMax", wide(g), axes=[1], keepdims=0),
        lambda g: g.add("Reshape", "x", g.constant([0, 16])),
    ),
    "the mean of one": (
        [16],
        lambda g: g.add("ReduceMean", wide(g, "x", 4, 16), axes=[0], keepdims=0),
        lambda g: g.add("Identity", "x"),
    ),
    "a norm along another axis": (
        X,
        lambda g: g.add("ReduceL2", wide(g), axes=[2], keepdims=1),
        lambda g: wide(g, g.add("ReduceL2", "x", axes=[2], keepdims=1)),
    ),
    "an image": (
        IMAGE,
        lambda g: g.add("Tanh", point(g, twice(g, "x"))),
        lambda g: g.add("Tanh", twice(g, point(g, "x"))),
    ),
}


def models(name: str, opset: int) -> tuple[onnx.ModelProto, onnx.ModelProto]:
    dims, before, by_hand = CASES[name]
    graphs = []
    for build in (before, by_hand):
        g = Graph(x=dims)
        graphs.append(g.model(build(g), opset=opset))
    return graphs[0], graphs[1]


@pytest.mark.parametrize("name", CASES)
def test_as_little_arithmetic_as_by_hand(name: str) -> None:
    before, by_hand = models(name, opset=17)
    for cost in ("flops", "nodes"):
        limit = outcome(by_hand, cost).report.cost.after
        assert outcome(before, cost).report.cost.after <= limit * (1 + 1e-9)


@pytest.mark.parametrize("opset", [11, 13, 17])
def test_in_every_opset(opset: int) -> None:
    for name in ("an update", "a product", "a tile", "the mean of one"):
        before, by_hand = models(name, opset)
        assert check_settled(before, "flops") == outcome(by_hand, "flops").counts


def features(by_hand: bool, first: bool) -> onnx.ModelProto:
    """Features of all points beside those of each."""
    g = Graph(x=["N", 1, 16], y=["N", 6, 8])
    if by_hand:
        parts = [product(g, "x", 16, 12), product(g, "y", 8, 12)]
        return g.model(g.add("Add", *parts), opset=21)
    pair = (wide(g), "y") if first else ("y", wide(g))
    return g.model(product(g, g.add("Concat", *pair, axis=2), 24, 12), opset=21)


@pytest.mark.parametrize("first", [True, False])
def test_a_part_that_is_expanded_is_multiplied_by_itself(first: bool) -> None:
    limit = outcome(features(True, first), "flops").report.cost.after
    assert outcome(features(False, first), "flops").report.cost.after <= limit


def test_a_computed_target_is_kept() -> None:
    g = Graph(x=[1, 16], y=["N", "L", 3])
    target = g.add("Concat", g.add("Shape", "y", end=2), g.constant([16]), axis=0)
    counts = outcome(g.model(product(g, g.add("Expand", "x", target), 16, 8)), "flops")
    by_hand = Graph(x=[1, 16])
    whole = outcome(by_hand.model(product(by_hand, "x", 16, 8)), "flops")
    assert counts.counts["Expand"] == 1
    assert counts.report.cost.after == whole.report.cost.after


def test_what_is_not_repeated_stays() -> None:
    g = Graph(x=[4, 1], y=["N", 16])
    columns = g.add("MatMul", wide(g, "x", 4, 16), g.weight(16, 8))
    assert check_settled(g.model(columns))["MatMul"] == 1
    g = Graph(x=["N", 1, 16])
    summed = g.add("ReduceSum", wide(g), g.constant([1]), keepdims=1)
    assert check_settled(g.model(summed)) == Counter(Expand=1, ReduceSum=1)
    g = Graph(x=ROWS, y=ROWS)
    other = g.add("Add", product(g, "x", 16, 20), low_rank(g, "y"))
    assert outcome(g.model(other), "flops").counts["MatMul"] >= 2
    g = Graph(x=["N", 2, 16])
    repeats = g.add("Tile", "x", g.constant([1, 3, 1]))
    again = g.add("Tile", g.add("Relu", repeats), g.constant([2, 1, 1]))
    assert check_settled(g.model(again)) == Counter(Tile=1, Relu=1)
