"""Activations and norms by their definitions, end to end: every spelling is one operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Graph, check_settled, outcome

Spelling = Callable[[Graph], str]


def number(g: Graph, value: float, *dims: int) -> str:
    return g.constant(np.full(dims, value, np.float32))


def plus(g: Graph, x: str, value: float) -> str:
    return g.add("Add", x, number(g, value))


def times(g: Graph, x: str, value: float) -> str:
    return g.add("Mul", number(g, value), x)


def by_sign(g: Graph, op: str, above: str, below: str) -> str:
    """`above` where x is above 0, chosen by any comparison."""
    first, second = (above, below) if op.startswith("Greater") else (below, above)
    return g.add("Where", g.add(op, "x", number(g, 0.0, 1)), first, second)


def exponential(g: Graph, scale: float = 1.0) -> str:
    return g.add("Exp", "x" if scale == 1 else times(g, "x", scale))


def negative(g: Graph) -> str:
    return g.add("Relu", g.add("Neg", "x"))


def lower(g: Graph) -> str:
    return g.add("Min", number(g, 0.0), "x")


def size(g: Graph) -> str:
    return g.add("Abs", "x")


def above_six(g: Graph, x: str) -> str:
    return g.add("Where", g.add("Greater", x, number(g, 6.0)), number(g, 6.0), x)


SPELLINGS: dict[str, tuple[Spelling, ...]] = {
    "Sigmoid": (
        lambda g: g.add("Div", number(g, 1.0), plus(g, exponential(g, -1.0), 1.0)),
        lambda g: g.add("Reciprocal", plus(g, g.add("Exp", g.add("Neg", "x")), 1.0)),
        lambda g: g.add("Div", exponential(g), plus(g, exponential(g), 1.0)),
        lambda g: plus(g, times(g, g.add("Tanh", times(g, "x", 0.5)), 0.5), 0.5),
        lambda g: times(g, plus(g, g.add("Tanh", times(g, "x", 0.5)), 1.0), 0.5),
    ),
    "Tanh": (
        lambda g: g.add("Sub", times(g, g.add("Sigmoid", times(g, "x", 2.0)), 2.0), number(g, 1.0)),
        lambda g: g.add("Div", plus(g, exponential(g, 2.0), -1.0), plus(g, exponential(g, 2.0), 1.0)),
        lambda g: g.add(
            "Sub", number(g, 1.0), g.add("Div", number(g, 2.0), plus(g, exponential(g, 2.0), 1.0))
        ),
    ),
    "Softsign": (lambda g: g.add("Div", "x", g.add("Add", number(g, 1.0), size(g))),),
    "Softplus": (
        lambda g: g.add("Add", g.add("Relu", "x"), g.add("Softplus", g.add("Neg", size(g)))),
        lambda g: g.add("Log", plus(g, exponential(g), 1.0)),
        lambda g: g.add("Where", g.add("Greater", "x", number(g, 20.0)), "x", g.add("Softplus", "x")),
    ),
    "Relu": (
        lambda g: by_sign(g, "Greater", "x", number(g, 0.0)),
        lambda g: by_sign(g, "Less", "x", number(g, 0.0)),
        lambda g: g.add("Mul", "x", g.add("Cast", g.add("Greater", "x", number(g, 0.0)), to=1)),
        lambda g: times(g, g.add("Add", size(g), "x"), 0.5),
        lambda g: g.add("Neg", g.add("Min", g.add("Neg", "x"), number(g, 0.0))),
    ),
    "Abs": (
        lambda g: g.add("Max", g.add("Relu", "x"), negative(g)),
        lambda g: by_sign(g, "Greater", "x", g.add("Sub", number(g, 0.0), "x")),
        lambda g: by_sign(g, "Greater", "x", g.add("Neg", "x")),
        lambda g: g.add("Max", g.add("Neg", "x"), "x"),
        lambda g: g.add("Mul", g.add("Sign", "x"), "x"),
        lambda g: g.add("Add", negative(g), g.add("Relu", "x")),
        lambda g: g.add("Sqrt", g.add("Mul", "x", "x")),
    ),
    "LeakyRelu": (
        lambda g: g.add("Max", "x", times(g, "x", 0.25)),
        lambda g: by_sign(g, "Less", "x", times(g, "x", 0.1)),
        lambda g: g.add("Sub", g.add("Relu", "x"), times(g, negative(g), 0.1)),
        lambda g: g.add("Add", times(g, lower(g), 0.1), g.add("Relu", "x")),
        lambda g: g.add("Add", times(g, "x", 0.625), times(g, size(g), 0.375)),
        lambda g: g.add("Add", g.add("Relu", times(g, "x", 0.75)), times(g, "x", 0.25)),
        lambda g: g.add("Mul", by_sign(g, "Greater", number(g, 1.0), number(g, 0.1)), "x"),
        lambda g: g.add("Sub", g.add("Relu", "x"), g.add("Relu", times(g, "x", -0.125))),
    ),
    "PRelu": (
        lambda g: by_sign(g, "Greater", "x", g.add("Mul", g.weight(6, 1), "x")),
        lambda g: g.add("Sub", g.add("Relu", "x"), g.add("Mul", g.weight(6, 1), negative(g))),
        lambda g: g.add(
            "Add", g.add("Relu", "x"), times(g, g.add("Mul", g.add("Sub", "x", size(g)), g.weight(6, 1)), 0.5)
        ),
    ),
    "Elu": (
        lambda g: by_sign(g, "Greater", "x", g.add("Sub", exponential(g), number(g, 1.0))),
        lambda g: by_sign(g, "Less", "x", times(g, plus(g, exponential(g), -1.0), 0.5)),
        lambda g: g.add("Sub", g.add("Add", g.add("Relu", "x"), g.add("Exp", lower(g))), number(g, 1.0)),
        lambda g: g.add("Add", g.add("Relu", "x"), times(g, plus(g, g.add("Exp", lower(g)), -1.0), 0.5)),
        lambda g: by_sign(g, "Greater", "x", plus(g, g.add("Exp", lower(g)), -1.0)),
        lambda g: by_sign(g, "Greater", "x", plus(g, times(g, exponential(g), 0.5), -0.5)),
        lambda g: g.add("Add", g.add("Relu", "x"), plus(g, g.add("Exp", lower(g)), -1.0)),
        lambda g: g.add(
            "Sub", g.add("Relu", "x"), g.add("Relu", g.add("Sub", number(g, 1.0), exponential(g)))
        ),
    ),
    "Celu": (
        lambda g: g.add(
            "Add",
            g.add("Max", "x", number(g, 0.0)),
            g.add("Min", times(g, plus(g, exponential(g, 0.5), -1.0), 2.0), number(g, 0.0)),
        ),
    ),
    "ThresholdedRelu": (
        lambda g: g.add("Where", g.add("Less", number(g, 0.5), "x"), "x", number(g, 0.0)),
        lambda g: g.add(
            "Mul", "x", g.add("Where", g.add("Greater", "x", number(g, 0.5)), number(g, 1.0), number(g, 0.0))
        ),
        lambda g: g.add("Where", g.add("Greater", "x", number(g, 0.5)), "x", number(g, 0.0)),
        lambda g: g.add("Mul", g.add("Cast", g.add("Greater", "x", number(g, -0.5)), to=1), "x"),
    ),
    "Clip": (
        lambda g: g.add("Where", g.add("Greater", "x", number(g, 6.0)), number(g, 6.0), g.add("Relu", "x")),
        lambda g: g.add(
            "Where",
            g.add("Less", "x", number(g, -1.0)),
            number(g, -1.0),
            g.add("Where", g.add("Less", number(g, 1.0), "x"), number(g, 1.0), "x"),
        ),
        lambda g: above_six(g, g.add("Relu", "x")),
        lambda g: g.add("Min", number(g, 6.0), g.add("Max", number(g, -1.0), "x")),
    ),
}


AS_CHEAP = {"PRelu": "LeakyRelu", "Relu": "Clip"}
"""Nodes that cost as much: of one slope for all, of one bound."""


def cases() -> Iterator[tuple[str, Spelling]]:
    return ((name, spelling) for name, spellings in SPELLINGS.items() for spelling in spellings)


@pytest.mark.parametrize(("name", "spelling"), tuple(cases()))
def test_every_spelling_is_one_operator(name: str, spelling: Spelling) -> None:
    g = Graph(x=["N", 6, 4])
    counts = check_settled(g.model(spelling(g), opset=13))
    assert counts in ({name: 1}, {AS_CHEAP.get(name): 1})


@pytest.mark.parametrize(
    ("name", "number_of_spelling", "target"),
    [("Abs", 0, 2.0), ("LeakyRelu", 1, 2.0), ("PRelu", 1, 2.0), ("Elu", 0, 2.0), ("Sigmoid", 2, 2.0)],
)
def test_on_ascend_it_is_one_kernel(name: str, number_of_spelling: int, target: float) -> None:
    g = Graph(x=[2, 6, 8])
    model = g.model(SPELLINGS[name][number_of_spelling](g), opset=21)
    assert outcome(model, "ascend").report.cost.after <= target + 0.01


@pytest.mark.parametrize("opset", [11, 17, 21])
@pytest.mark.parametrize("axis", [1, 2])
def test_reductions_of_functions(opset: int, axis: int) -> None:
    def total(g: Graph, x: str) -> str:
        if opset < 13:
            return g.add("ReduceSum", x, axes=[axis])
        return g.add("ReduceSum", x, g.constant(np.array([axis])))

    def largest(g: Graph) -> str:
        if opset < 18:
            return g.add("ReduceMax", "x", axes=[axis])
        return g.add("ReduceMax", "x", g.constant(np.array([axis])))

    def spelled(*made: Callable[[Graph], str]) -> Iterator[Counter[str]]:
        for spelling in made:
            g = Graph(x=["N", 6, 4])
            yield outcome(g.model(spelling(g), opset=opset)).counts

    def moved(g: Graph) -> str:
        m = largest(g)
        return g.add("Add", m, g.add("Log", total(g, g.add("Exp", g.add("Sub", "x", m)))))

    found = spelled(
        lambda g: g.add("Log", total(g, g.add("Exp", "x"))),
        moved,
        lambda g: g.add("Sqrt", total(g, g.add("Mul", "x", "x"))),
        lambda g: total(g, size(g)),
        lambda g: total(g, g.add("Pow", "x", number(g, 2.0))),
    )
    assert list(found) == [
        {name: 1}
        for name in ("ReduceLogSumExp", "ReduceLogSumExp", "ReduceL2", "ReduceL1", "ReduceSumSquare")
    ]


def test_a_norm_is_a_product_and_a_sum_where_that_is_cheaper() -> None:
    g = Graph(x=[2, 6, 8])
    model = g.model(g.add("Div", "x", g.add("ReduceL2", "x", axes=[1])), opset=13)
    report = outcome(model, "ascend").report
    assert report.cost.after <= 2.01 < report.cost.before


@pytest.mark.parametrize(
    "spelling",
    [
        lambda g: by_sign(g, "Less", number(g, 0.0), "x"),
        lambda g: g.add("Max", "x", times(g, "x", 1.5)),
        lambda g: g.add("Div", "x", plus(g, size(g), 2.0)),
        lambda g: g.add("Div", exponential(g), plus(g, exponential(g), 2.0)),
        lambda g: by_sign(g, "Greater", "x", plus(g, exponential(g), 1.0)),
        lambda g: g.add("Add", g.add("Relu", "x"), lower(g)),
        lambda g: g.add("Where", g.add("GreaterOrEqual", "x", number(g, 0.5)), "x", number(g, 0.0)),
        lambda g: g.add("Where", g.add("Greater", "x", number(g, 2.0)), "x", g.add("Softplus", "x")),
    ],
)
def test_what_looks_alike_keeps_its_numbers(spelling: Spelling) -> None:
    """`outcome` compares them."""
    g = Graph(x=["N", 6, 4])
    outcome(g.model(spelling(g)))


def test_integers_are_left_alone() -> None:
    g = Graph()
    x = g.input("x", ["N", 4], TensorProto.INT64)
    y = g.add("Where", g.add("Greater", x, g.constant(0)), x, g.constant(0))
    assert outcome(g.model(y, dtypes={y: TensorProto.INT64})).counts["Where"] == 1


@pytest.mark.parametrize("opset", [11, 17])
def test_a_blend_by_a_condition_is_a_choice(opset: int) -> None:
    g = Graph(x=["N", 4], y=["N", 4])
    mask = g.add("Cast", g.input("m", ["N", 1], TensorProto.BOOL), to=1)
    rest = g.add("Mul", g.add("Sub", number(g, 1.0), mask), "y")
    made = g.model(g.add("Add", g.add("Mul", "x", mask), rest), opset=opset)
    assert check_settled(made) == {"Where": 1}
    assert outcome(made, "ascend").counts == {"Where": 1}


def test_a_blend_by_numbers_stays() -> None:
    g = Graph(x=["N", 4], y=["N", 4], m=["N", 1])
    rest = g.add("Mul", g.add("Sub", number(g, 1.0), "m"), "y")
    assert "Where" not in outcome(g.model(g.add("Add", g.add("Mul", "x", "m"), rest))).counts
