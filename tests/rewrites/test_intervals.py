"""Functions of floats that do nothing where their operand lies, end to end: they go, and only they."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Graph, check_settled, check_untouched, outcome

Spelling = Callable[[Graph], str]


def number(g: Graph, value: float, *dims: int) -> str:
    return g.constant(np.full(dims, value, np.float32))


def clipped_softmax(g: Graph) -> str:
    return g.add("Clip", g.add("Softmax", "x", axis=1), number(g, 0.0), number(g, 1.0))


def positive_exponential(g: Graph) -> str:
    return g.add("Max", number(g, 0.0, 1), g.add("Exp", "x"))


def root_of_square(g: Graph) -> str:
    return g.add("Sqrt", g.add("Pow", "x", number(g, 2.0)))


def exponential_of_logarithm(g: Graph) -> str:
    return g.add("Exp", g.add("Log", g.add("Sigmoid", "x")))


def through_views(g: Graph) -> str:
    """What lies above 0 does after it is moved, joined, scaled and averaged."""
    turned = g.add("Transpose", g.add("Softmax", "x", axis=1), perm=[0, 2, 1])
    joined = g.add("Concat", turned, g.add("Transpose", g.add("Sigmoid", "x"), perm=[0, 2, 1]), axis=1)
    return g.add("Relu", g.add("ReduceMean", g.add("Mul", joined, number(g, 3.0)), axes=[1]))


GONE: tuple[tuple[Spelling, dict[str, int]], ...] = (
    (clipped_softmax, {"Softmax": 1}),
    (positive_exponential, {"Exp": 1}),
    (root_of_square, {"Abs": 1}),
    (exponential_of_logarithm, {"Sigmoid": 1}),
    (lambda g: g.add("Relu", g.add("Sigmoid", "x")), {"Sigmoid": 1}),
    (lambda g: g.add("Abs", g.add("Relu", "x")), {"Relu": 1}),
)


@pytest.mark.parametrize("opset", [11, 21])
@pytest.mark.parametrize(("spelling", "left"), GONE)
def test_what_does_nothing_goes(spelling: Spelling, left: dict[str, int], opset: int) -> None:
    g = Graph(x=["N", 5, 3])
    assert check_settled(g.model(spelling(g), opset=opset)) == left


@pytest.mark.parametrize(("spelling", "left"), GONE[:3])
def test_on_ascend(spelling: Spelling, left: dict[str, int]) -> None:
    g = Graph(x=[2, 3, 4, 5])
    assert check_settled(g.model(spelling(g)), "ascend") == left


def test_of_what_was_moved_joined_and_averaged() -> None:
    g = Graph(x=["N", 6, 8])
    assert "Relu" not in outcome(g.model(through_views(g))).counts


@pytest.mark.parametrize(
    "spelling",
    [
        lambda g: g.add("Relu", g.add("Tanh", "x")),
        lambda g: g.add("Clip", g.add("Softmax", "x", axis=1), number(g, 0.25), number(g, 1.0)),
        lambda g: g.add("Max", g.add("Sigmoid", "x"), number(g, 0.5)),
        lambda g: g.add("Exp", g.add("Log", "x")),
        lambda g: g.add("Relu", g.add("Sub", g.add("Sigmoid", "x"), number(g, 0.5))),
    ],
)
def test_what_does_something_stays(spelling: Spelling) -> None:
    g = Graph(x=["N", 5, 3])
    counts = outcome(g.model(spelling(g))).counts
    assert sum(counts.values()) >= 2


def test_a_bound_before_a_root_stays_where_rounding_may_pass_it() -> None:
    """E[x^2] - E[x]^2 of positive numbers may be rounded below 0, of which there is no root."""
    g = Graph(x=["N", 8])
    x = g.add("Sigmoid", "x")
    square = g.add("ReduceMean", g.add("Mul", x, x), axes=[1])
    mean = g.add("ReduceMean", x, axes=[1])
    spread = g.add("Sub", square, g.add("Mul", mean, mean))
    model = g.model(g.add("Sqrt", g.add("Relu", spread)))
    counts = outcome(
        model, rewrites=["default", "-normalization.squares_are_positive", "-normalization.bounded_variance"]
    ).counts
    assert counts["Relu"] + counts["Clip"] + counts["Max"] == 1


def test_assumed_inputs() -> None:
    g = Graph(x=["N", 3])
    model = g.model(g.add("Relu", g.add("Add", "x", number(g, 2.0))))
    check_untouched(model)
    assert outcome(model, assume={"x": (-1, 1)}).counts == {"Add": 1}
    assert outcome(model, assume={"x": (-3, 1)}).counts == {"Add": 1, "Relu": 1}


def test_integers_that_became_floats_are_neither_nan_nor_infinite() -> None:
    g = Graph()
    real = g.add("Cast", g.input("x", ["N", 3], TensorProto.UINT8), to=TensorProto.FLOAT)
    y = g.add("Where", g.add("IsNaN", real), number(g, 0.0), real)
    assert check_settled(g.model(g.add("Relu", y))) == {"Cast": 1}
