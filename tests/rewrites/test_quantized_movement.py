"""Between a DQ and a Q bytes are moved, cut and padded, of one scale or of one for each channel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from egraph_opt import optimize

from ..knowledge_bases.graphs import counts_of
from .test_quantization import NUMPY, Quantized, bits_are_equal, settled

INT8, UINT8, UINT16 = TensorProto.INT8, TensorProto.UINT8, TensorProto.UINT16
NUMPY[UINT16] = np.uint16
CHANNELS = [0.1, 0.2, 0.3, 0.4]

Made = Callable[[Quantized, str], str]


def between(
    made: Made,
    dims: Any,
    opset: int,
    dtype: int = UINT8,
    *,
    scale: Any = 0.05,
    axes: tuple[int, int] = (1, 1),
) -> tuple[onnx.ModelProto, onnx.ModelProto]:
    """Q(made(DQ(q))), and what is made of q as it is; `axes`: of the scales, before and behind."""
    models = []
    for bare in (False, True):
        g = Quantized()
        q = g.input("q", dims, dtype)
        parameters = g.parameters(dtype, 3, scale)
        settings = [{"axis": axis} if np.ndim(scale) else {} for axis in axes]
        y = made(g, q if bare else g.add("DequantizeLinear", q, *parameters, **settings[0]))
        if not bare:
            y = g.add("QuantizeLinear", y, *parameters, **settings[1])
        models.append(g.model(y, opset=opset, dtypes={y: dtype}))
    return models[0], models[1]


def check_as_bytes(model: onnx.ModelProto, by_hand: onnx.ModelProto) -> None:
    """At the price of the bytes alone, bit for bit, and at once."""
    counts = settled(model, "ascend")
    assert counts["DequantizeLinear"] == counts["QuantizeLinear"] == 0
    result = optimize(model, "ascend", verify=False)
    price = optimize(by_hand, "ascend", rewrites=[], verify=False).report.cost.before
    assert result.report.cost.after <= price * (1 + 1e-9)
    bits_are_equal(by_hand, result.model)


def _slice(g: Quantized, x: str, axis: int, start: int = 1, end: int = 3) -> str:
    return g.add("Slice", x, *(g.constant([k]) for k in (start, end, axis)))


PER_CHANNEL: dict[str, tuple[Made, Any, tuple[int, int]]] = {
    "other pixels": (lambda g, x: _slice(g, x, -1), ("N", 4, 6, 6), (1, 1)),
    "rows as one axis": (lambda g, x: g.add("Reshape", x, g.constant([0, 4, -1])), ("N", 4, 6, 6), (1, 1)),
    "a new axis": (lambda g, x: g.add("Unsqueeze", x, g.constant([0])), ("N", 4, 5), (1, 2)),
    "one axis less": (lambda g, x: g.add("Squeeze", x, g.constant([1])), (3, 1, 4), (2, 1)),
    "other columns": (lambda g, x: g.add("Gather", x, g.constant([[2, 0]]), axis=0), (3, 4, 5), (-2, 2)),
    "repeated": (lambda g, x: g.add("Expand", x, g.constant([3, 1, 7])), (4, 1), (0, 1)),
    "tiles": (lambda g, x: g.add("Tile", x, g.constant([1, 1, 3])), ("N", 4, 5), (1, 1)),
    "edges": (lambda g, x: g.add("Pad", x, g.constant([0, 0, 1, 0, 0, 2]), mode="edge"), ("N", 4, 5), (1, 1)),
}


@pytest.mark.parametrize(("opset", "dtype"), [(13, INT8), (17, UINT8), (21, UINT8)])
@pytest.mark.parametrize("name", PER_CHANNEL)
def test_of_a_scale_for_each_channel(name: str, opset: int, dtype: int) -> None:
    made, dims, axes = PER_CHANNEL[name]
    check_as_bytes(*between(made, dims, opset, dtype, scale=CHANNELS, axes=axes))


def test_of_a_scale_for_each_channel_in_sixteen_bits() -> None:
    made, dims, axes = PER_CHANNEL["rows as one axis"]
    check_as_bytes(*between(made, dims, 21, UINT16, scale=CHANNELS, axes=axes))


@pytest.mark.parametrize(
    ("made", "axes"),
    [
        (lambda g, x: g.add("Reshape", x, g.constant([0, 16])), (1, 1)),
        (lambda g, x: g.add("Gather", x, g.constant([3, 1, 0, 2]), axis=1), (1, 1)),
        (lambda g, x: g.add("Reshape", x, g.constant([0, 4, 4])), (1, 2)),
    ],
)
def test_parts_that_are_elsewhere_are_dequantized(made: Made, axes: tuple[int, int]) -> None:
    g = Quantized()
    parameters = g.parameters(UINT8, 3, CHANNELS)
    x = g.add("DequantizeLinear", g.input("q", (2, 4, 4), UINT8), *parameters, axis=1)
    y = made(g, x)
    if axes == (1, 2):
        y = g.add("QuantizeLinear", y, *parameters, axis=2)
    model = g.model(y, dtypes={y: UINT8} if axes == (1, 2) else {})
    found = optimize(model, "nodes", strict=True)
    assert counts_of(found.model)["DequantizeLinear"] == 1
    bits_are_equal(model, found.model)


PADS = [
    ("constant", [0, 0, 1, 1, 0, 0, 0, 2], (INT8, 11)),
    ("reflect", [0, 0, 1, 2, 0, 0, 3, 1], (UINT8, 13)),
    ("edge", [0, 1, 0, 0, 0, 2, 0, 0], (INT8, 21)),
]


@pytest.mark.parametrize(("mode", "pads", "kind"), PADS)
def test_borders_are_bytes(mode: str, pads: list[int], kind: tuple[int, int]) -> None:
    dtype, opset = kind
    model, _ = between(
        lambda g, x: g.add("Pad", x, g.constant(pads), mode=mode), ("N", 4, 5, 6), opset, dtype
    )
    assert settled(model, "ascend") == Counter(Pad=1)


def test_a_border_that_is_no_byte_is_one_of_floats() -> None:
    def made(g: Quantized, x: str) -> str:
        return g.add("Pad", x, g.constant([0, 1, 0, 0, 1, 0]), g.constant(0.51))

    model, _ = between(made, (2, 4, 5), 17)
    assert settled(model, "nodes") == Counter(DequantizeLinear=1, Pad=1, QuantizeLinear=1)


@pytest.mark.parametrize(("opset", "dtype"), [(11, UINT8), (13, INT8), (19, UINT8)])
def test_neighbours_are_bytes(opset: int, dtype: int) -> None:
    def made(g: Quantized, x: str) -> str:
        scales = g.constant(np.array([1, 1, 2, 3], np.float32))
        return g.add("Resize", x, g.constant(np.zeros(0, np.float32)), scales, mode="nearest")

    check_as_bytes(*between(made, ("N", 4, 5, 6), opset, dtype))


@pytest.mark.parametrize(
    ("kind", "dims", "opset", "dtype"),
    [("DepthToSpace", ("N", 8, 3, 5), 13, UINT8), ("SpaceToDepth", (2, 3, 4, 6), 11, INT8)],
)
def test_blocks_are_bytes(kind: str, dims: Any, opset: int, dtype: int) -> None:
    check_as_bytes(*between(lambda g, x: g.add(kind, x, blocksize=2), dims, opset, dtype))


@pytest.mark.parametrize(("opset", "dtype"), [(12, UINT8), (13, INT8), (21, UINT8)])
def test_a_relu_between_bytes_is_a_bound_of_bytes(opset: int, dtype: int) -> None:
    model, _ = between(lambda g, x: g.add("Relu", x), ("N", 4, 6), opset, dtype)
    assert settled(model, "ascend").total() == 1


@pytest.mark.parametrize(("low", "high"), [(-0.1, 0.42), (0.0, 6.0), (0.13, 1e9)])
def test_a_clip_between_bytes_is_one_of_bytes(low: float, high: float) -> None:
    model, _ = between(lambda g, x: g.add("Clip", x, g.constant(low), g.constant(high)), ("N", 4, 6), 17)
    assert settled(model, "ascend").total() == 1


def test_a_relu_of_other_scales_or_of_an_old_opset_stays() -> None:
    old, _ = between(lambda g, x: g.add("Relu", x), (3, 4), 11)
    assert settled(old, "nodes") == Counter(DequantizeLinear=1, Relu=1, QuantizeLinear=1)
    g = Quantized()
    x = g.add("DequantizeLinear", g.input("q", (3, 4), UINT8), *g.parameters())
    y = g.add("QuantizeLinear", g.add("Relu", x), *g.parameters(scale=0.06))
    assert settled(g.model(y, dtypes={y: UINT8}), "nodes").total() == 3
