"""Squares need no bound, whole numbers no rounding, a size with its sign neither, end to end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from onnx import TensorProto as T

from ..knowledge_bases.graphs import Graph, check_settled, check_untouched, outcome

Spelling = Callable[[Graph], str]


def number(g: Graph, value: float, dtype: type = np.float32) -> str:
    return g.constant(np.array(value, dtype))


def square(g: Graph, x: str = "x") -> str:
    return g.add("Mul", x, x)


SQUARES: tuple[tuple[Spelling, dict[str, int]], ...] = (
    (lambda g: g.add("Relu", square(g)), {"Mul": 1}),
    (lambda g: g.add("Abs", g.add("Pow", "x", number(g, 4.0))), {"Pow": 1}),
    (lambda g: g.add("Max", g.add("Add", square(g), square(g, "y")), number(g, 0.0)), {"Mul": 2, "Add": 1}),
    (lambda g: g.add("Clip", g.add("Add", g.add("Exp", "y"), square(g)), number(g, 0.0)),
     {"Exp": 1, "Mul": 1, "Add": 1}),
    (lambda g: g.add("Sqrt", g.add("Abs", g.add("ReduceMean", square(g), axes=[2]))),
     {"Mul": 1, "ReduceL2": 1}),
    (lambda g: g.add("Relu", g.add("ReduceSumSquare", "x", axes=[1], keepdims=0)), {"ReduceSumSquare": 1}),
    (lambda g: g.add("Sqrt", g.add("Relu", g.add("ReduceSumSquare", "x", axes=[1, 2]))), {"ReduceL2": 1}),
)  # fmt: skip


@pytest.mark.parametrize("opset", [11, 13, 17])
@pytest.mark.parametrize(("spelling", "left"), SQUARES)
def test_squares_need_no_bound(spelling: Spelling, left: dict[str, int], opset: int) -> None:
    g = Graph(x=["N", 5, 3], y=["N", 5, 3])
    assert check_settled(g.model(spelling(g), opset=opset)) == left


@pytest.mark.parametrize("dtype", [T.DOUBLE, T.FLOAT16])
def test_of_other_floats_in_opset_21(dtype: int) -> None:
    g = Graph()
    x = g.input("x", [2, "N"], dtype)
    model = g.model(g.add("Relu", g.add("Mul", x, x)), opset=21, dtypes={g._nodes[-1].output[0]: dtype})
    assert check_settled(model) == {"Mul": 1}


@pytest.mark.parametrize(
    "spelling",
    [
        lambda g: g.add("Relu", g.add("Mul", "x", "y")),
        lambda g: g.add("Relu", g.add("Pow", "x", number(g, 3.0))),
        lambda g: g.add("Relu", g.add("Sub", g.add("Mul", "x", "x"), g.add("Exp", "y"))),
        lambda g: g.add("Clip", square(g), number(g, 0.5)),
        lambda g: g.add("Clip", square(g), number(g, 0.0), number(g, 1.0)),
    ],
)
def test_bounds_of_what_is_no_square_stay(spelling: Spelling) -> None:
    g = Graph(x=["N", 5], y=["N", 5])
    check_untouched(g.model(spelling(g)))


def test_squares_of_integers_overflow() -> None:
    g = Graph()
    x = g.input("x", [3], T.INT32)
    y = g.add("Abs", g.add("Mul", x, x))
    assert outcome(g.model(y, dtypes={y: T.INT32})).counts == {"Mul": 1, "Abs": 1}


def test_a_root_of_a_sum_of_squares_on_ascend() -> None:
    g = Graph(x=[5, 16], y=[5, 16])
    away = g.add("Sub", "x", "y")
    total = g.add("ReduceSum", g.add("Mul", away, away), g.constant(np.array([1])), keepdims=1)
    left = check_settled(g.model(g.add("Sqrt", g.add("Max", total, number(g, 0.0))), opset=17))
    assert left == {"Sub": 1, "ReduceL2": 1}


# --- whole numbers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("opset", [11, 13, 17, 21])
@pytest.mark.parametrize("source", [T.INT32, T.INT64, T.UINT8, T.BOOL])
def test_whole_numbers_are_not_rounded(source: int, opset: int) -> None:
    g = Graph()
    real = g.add("Cast", g.input("x", ["N", 3], source), to=T.FLOAT)
    y = g.add("Round", g.add("Ceil", g.add("Floor", real)))
    assert check_settled(g.model(y, opset=opset)) == {"Cast": 1}


def test_roundings_one_after_another() -> None:
    g = Graph(x=["N", 3])
    assert check_settled(g.model(g.add("Ceil", g.add("Neg", g.add("Floor", "x"))))) == {"Floor": 1, "Neg": 1}


def test_a_rounding_of_fractions_stays() -> None:
    g = Graph(x=["N", 3])
    check_untouched(g.model(g.add("Floor", g.add("Relu", "x"))))
    g = Graph(x=["N", 3])
    check_untouched(g.model(g.add("Floor", g.add("Sigmoid", g.add("Ceil", "x")))))


@pytest.mark.parametrize(
    ("rounding", "function", "to", "left"),
    [
        ("Floor", "Sigmoid", T.INT64, {"Sigmoid": 1, "Cast": 1}),
        ("Floor", "Exp", T.INT32, {"Exp": 1, "Cast": 1}),
        ("Ceil", "Sigmoid", T.INT64, {"Sigmoid": 1, "Ceil": 1, "Cast": 1}),
        ("Floor", "Tanh", T.INT64, {"Tanh": 1, "Floor": 1, "Cast": 1}),
        ("Floor", "Sigmoid", T.BOOL, {"Sigmoid": 1, "Floor": 1, "Cast": 1}),
    ],
)
def test_what_is_cut_off_is_not_rounded(rounding: str, function: str, to: int, left: dict[str, int]) -> None:
    g = Graph(x=["N", 3])
    y = g.add("Cast", g.add(rounding, g.add(function, "x")), to=to)
    assert check_settled(g.model(y, dtypes={y: to})) == left


# --- sizes and signs ---------------------------------------------------------------------------------------


def test_a_size_with_its_sign() -> None:
    g = Graph(x=["N", 3])
    apart = g.add("Mul", g.add("Sign", "x"), g.add("Abs", g.add("Neg", "x")))
    assert check_settled(g.model(g.add("Tanh", apart))) == {"Tanh": 1}


def test_a_size_with_the_sign_of_another() -> None:
    g = Graph(x=["N", 3], y=["N", 3])
    check_untouched(g.model(g.add("Mul", g.add("Sign", "x"), g.add("Abs", "y"))))
