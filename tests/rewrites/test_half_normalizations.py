"""Normalisations of float16 that exporters compute in float32, with casts around."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from tests.knowledge_bases.graphs import Graph, check_settled, optimized, outcome

HALF = TensorProto.FLOAT16


def _norm(
    opset: int,
    *,
    centred: bool,
    scale_in_half: bool,
    axis: int = -1,
    source: int = HALF,
    size: int = 64,
    factor: float = 1.0,
) -> onnx.ModelProto:
    """Cast to float32, mean and variance, a cast back, and a scale and a bias on one side of it."""

    def mean(x: str) -> str:
        if opset >= 18:
            return g.add("ReduceMean", x, g.constant([axis]), keepdims=1)
        return g.add("ReduceMean", x, axes=[axis], keepdims=1)

    def scaled(x: str, dtype: type) -> str:
        y = g.add("Mul", x, g.constant(scale, dtype))
        return g.add("Add", y, g.constant(bias, dtype)) if centred else y

    g, rng = Graph(), np.random.default_rng(1)
    x = g.input("x", [2, "N", size], source)
    scale, bias = (rng.random(size) + 0.5) * factor, rng.random(size)
    wide = g.add("Cast", x, to=TensorProto.FLOAT)
    away = g.add("Sub", wide, mean(wide)) if centred else wide
    variance = mean(g.add("Pow", away, g.constant(2.0)))
    y = g.add("Div", away, g.add("Sqrt", g.add("Add", variance, g.constant(1e-5))))
    if scale_in_half:
        y = scaled(g.add("Cast", y, to=HALF), np.float16)
    else:
        y = g.add("Cast", scaled(y, np.float32), to=HALF)
    return g.model(y, opset=opset, dtypes={y: HALF})


def _by_hand(opset: int, *, centred: bool) -> onnx.ModelProto:
    g = Graph()
    operands = [
        g.input("x", [2, "N", 64], HALF),
        *(g.constant(np.ones(64), np.float16) for _ in range(1 + centred)),
    ]
    y = g.add("LayerNormalization" if centred else "RMSNormalization", *operands)
    return g.model(y, opset=opset, dtypes={y: HALF})


@pytest.mark.parametrize("scale_in_half", [True, False], ids=["behind the cast", "in front"])
@pytest.mark.parametrize(
    ("opset", "centred"), [(17, True), (21, True), (23, True), (23, False)], ids=["17", "21", "23", "rms"]
)
def test_the_casts_are_the_operators_own(opset: int, centred: bool, scale_in_half: bool) -> None:
    model = _norm(opset, centred=centred, scale_in_half=scale_in_half)
    name = "LayerNormalization" if centred else "RMSNormalization"
    assert check_settled(model) == {name: 1}
    by_hand = outcome(_by_hand(opset, centred=centred), "ascend")
    assert outcome(model, "ascend").report.cost.after <= by_hand.report.cost.after * (1 + 1e-6)


@pytest.mark.parametrize(
    ("opset", "centred"),
    [(11, True), (13, True), (13, False), (17, False)],
    ids=["11", "13", "rms", "rms 17"],
)
def test_where_onnx_has_no_such_operator_the_scale_moves_in_front(opset: int, centred: bool) -> None:
    behind, front = (
        outcome(_norm(opset, centred=centred, scale_in_half=where), "ascend").report.cost
        for where in (True, False)
    )
    assert behind.after <= front.after * (1 + 1e-6) and behind.after < 0.6 * behind.before


@pytest.mark.parametrize("opset", [13, 17])
def test_nothing_is_squared_in_float16(opset: int) -> None:
    """A square beyond 65504 is none in float16."""
    g = Graph()
    x = g.input("x", [2, 64], HALF)
    large = g.add("Mul", x, g.constant(1000.0, np.float16))
    wide = g.add("Cast", large, to=TensorProto.FLOAT)
    variance = g.add("ReduceMean", g.add("Mul", wide, wide), axes=[-1], keepdims=1)
    root = g.add("Sqrt", g.add("Add", variance, g.constant(1e-5)))
    y = g.add("Cast", g.add("Div", wide, root), to=HALF)
    counts = optimized(g.model(y, opset=opset, dtypes={y: HALF}), "ascend")
    assert counts["Cast"] == 2


def test_scales_that_float16_lacks_stay_in_float32() -> None:
    model = _norm(17, centred=True, scale_in_half=False, size=4, factor=1e-7)
    assert optimized(model)["Cast"] == 2


def test_other_axes_and_types_keep_their_casts() -> None:
    inner = _norm(17, centred=True, scale_in_half=False, axis=1, size=1)
    assert optimized(inner)["Cast"] >= 1
    double = _norm(17, centred=True, scale_in_half=False, source=TensorProto.DOUBLE)
    assert optimized(double)["Cast"] == 2
