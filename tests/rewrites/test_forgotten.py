"""What normalisations and Softmax do not see of their operand, and constants behind a LayerNormalization."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Dims, Graph, outcome


def normalised(dims: Dims, *, before: float | None = None, behind: bool = False) -> onnx.ModelProto:
    """A LayerNormalization, perhaps of what one number was applied to, perhaps scaled and shifted behind."""
    g = Graph(x=dims)
    width = int(dims[-1])
    y = "x" if before is None else g.add("Mul", g.constant(before), "x")
    y = g.add("LayerNormalization", y, g.weight(width, positive=True), g.weight(width), axis=-1)
    if behind:
        y = g.add("Add", g.add("Mul", y, g.weight(width, positive=True)), g.weight(width))
    return g.model(y)


@pytest.mark.parametrize("dims", [[1, 20, 32], ["N", "L", 12], [7, 9]])
@pytest.mark.parametrize("cost", ["nodes", "ascend"])
def test_constants_go_into_the_normalisation(dims: Dims, cost: str) -> None:
    plain = outcome(normalised(dims), cost)
    for model in (normalised(dims, behind=True), normalised(dims, before=0.25)):
        result = outcome(model, cost)
        assert result.counts == {"LayerNormalization": 1}
        assert result.report.cost.after == pytest.approx(plain.report.cost.after)


def test_a_negative_factor_stays() -> None:
    assert outcome(normalised([2, 5, 8], before=-3.0)).counts["Mul"] == 1


@pytest.mark.parametrize("opset", [11, 13, 21])
@pytest.mark.parametrize("kind", ["Softmax", "LogSoftmax"])
def test_softmax_forgets_what_is_level(kind: str, opset: int) -> None:
    g = Graph(x=["N", 4, 9], m=["N", 4, 1])
    shifted = g.add("Add", g.add("Add", "m", "x"), g.constant(5.0))
    model = g.model(g.add(kind, shifted, axis=2), opset=opset)
    assert outcome(model).counts == {kind: 1}


def test_softmax_of_logarithms_of_one() -> None:
    g = Graph(x=[3, 5])
    twice = g.add("Softmax", g.add("LogSoftmax", "x", axis=1), axis=1)
    assert outcome(g.model(twice)).counts == {"Softmax": 1}


def test_a_mask_of_whole_rows_stays() -> None:
    g = Graph(x=["N", 4, 9])
    g.input("m", ["N", 4, 1], TensorProto.BOOL)
    least = g.constant(np.float32(-3e38))
    mask = g.add("Mul", g.add("Cast", "m", to=TensorProto.FLOAT), least)
    model = g.model(g.add("Softmax", g.add("Add", "x", mask), axis=2))
    assert outcome(model).counts["Add"] == 1
