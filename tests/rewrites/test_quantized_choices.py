"""What is chosen or compared between a DQ and a Q is chosen or compared as bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from egraph_opt import optimize

from ..knowledge_bases.graphs import check_untouched, counts_of
from .test_quantization import NUMPY, Quantized, bits_are_equal, settled
from .test_quantized_movement import Made, between

NUMPY[TensorProto.BOOL] = np.bool_
INT8, UINT8, BOOL, INT64 = TensorProto.INT8, TensorProto.UINT8, TensorProto.BOOL, TensorProto.INT64


def check_as_bytes(model: onnx.ModelProto, by_hand: onnx.ModelProto) -> None:
    """As many nodes as the bytes alone, bit for bit, and at once; a target may have no units for bytes."""
    assert settled(model, "nodes") == counts_of(by_hand)
    bits_are_equal(model, by_hand)
    settled(model, "ascend")


def reduced(kind: str, axis: int, opset: int) -> Made:
    def made(g: Quantized, x: str) -> str:
        given = {"axes": [axis]} if opset < 18 else {}
        return g.add(kind, x, *([] if given else [g.constant([axis])]), keepdims=0, **given)

    return made


@pytest.mark.parametrize("dtype", [UINT8, INT8])
@pytest.mark.parametrize("opset", [13, 17, 21])
@pytest.mark.parametrize("kind", ["ReduceMax", "ReduceMin"])
def test_the_greatest_along_an_axis(kind: str, opset: int, dtype: int) -> None:
    model, by_hand = between(reduced(kind, 1, opset), ["N", 4, 6], opset, dtype)
    check_as_bytes(model, by_hand)


def two(
    made: Callable[..., str], opset: int, dtype: int, second: float = 0.05
) -> tuple[onnx.ModelProto, ...]:
    """Something of two dequantized tensors, of another scale perhaps, quantized again; and of bytes."""
    models = []
    for bare in (False, True):
        g = Quantized()
        scales = [g.parameters(dtype, 3, scale) for scale in (0.05, second)]
        operands = [g.input(name, ["N", 4], dtype) for name in "xy"]
        if not bare:
            operands = [g.add("DequantizeLinear", q, *s) for q, s in zip(operands, scales, strict=True)]
        y = made(g, *operands)
        if not bare:
            y = g.add("QuantizeLinear", y, *scales[0])
        models.append(g.model(y, opset=opset, dtypes={y: dtype}))
    return tuple(models)


CHOICES: dict[str, Callable[..., str]] = {
    "Max": lambda g, x, y: g.add("Max", x, y),
    "Min": lambda g, x, y: g.add("Min", x, y),
    "Where": lambda g, x, y: g.add("Where", g.input("c", ["N", 1], BOOL), x, y),
}


@pytest.mark.parametrize("dtype", [UINT8, INT8])
@pytest.mark.parametrize("opset", [13, 17, 21])
@pytest.mark.parametrize("name", CHOICES)
def test_one_of_two(name: str, opset: int, dtype: int) -> None:
    check_as_bytes(*two(CHOICES[name], opset, dtype))


@pytest.mark.parametrize("name", CHOICES)
def test_two_scales_are_not_chosen_among(name: str) -> None:
    check_untouched(two(CHOICES[name], 17, UINT8, second=0.25)[0])


@pytest.mark.parametrize("opset", [12, 17])
@pytest.mark.parametrize("op", ["Greater", "LessOrEqual", "Equal"])
def test_comparisons_and_places_need_no_scale(op: str, opset: int) -> None:
    g = Quantized()
    q, scale = g.input("x", ["N", 4], UINT8), g.parameters(UINT8, 3, 0.05)
    x, y = (g.add("DequantizeLinear", v, *scale) for v in (q, g.input("y", ["N", 4], UINT8)))
    z, place = g.add(op, x, y), g.add("ArgMax", x, axis=1)
    model = g.model(z, place, opset=opset, dtypes={z: BOOL, place: INT64})
    found = optimize(model, cost="nodes", strict=True)
    assert found.report.verification.status == "passed"
    counts = Counter(node.op_type for node in found.model.graph.node)
    assert counts[op] == counts["ArgMax"] == 1
    assert counts["DequantizeLinear"] == 0
