"""QuantizeLinear (Q) and DequantizeLinear (DQ) move, cancel and saturate, bit for bit; weights stay bytes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from egraph_opt import optimize
from egraph_opt.graph.runtime import plain_session

from ..knowledge_bases.graphs import Graph, counts_of, outcome

FLOAT, FLOAT16, INT8, UINT8 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT8, TensorProto.UINT8
INT16, INT64 = TensorProto.INT16, TensorProto.INT64
TARGETS = ("nodes", "ascend")
OPSETS = (11, 13, 17, 21)
NUMPY: dict[int, Any] = {
    INT8: np.int8,
    UINT8: np.uint8,
    INT16: np.int16,
    FLOAT: np.float32,
    FLOAT16: np.float16,
}


class Quantized(Graph):
    """Operators between a DQ and a Q; `given` and `scale` are those of the parameters that come next."""

    def parameters(
        self, dtype: int = UINT8, zero: int = 3, scale: Any = 0.05, of: Any = np.float32
    ) -> list[str]:
        scales = np.asarray(scale, of)
        return [self.constant(scales), self.constant(np.full(scales.shape, zero, NUMPY[dtype]))]

    def pair(self, x: str, *parameters: str, **axis: int) -> str:
        """DQ(Q(x))"""
        return self.add(
            "DequantizeLinear", self.add("QuantizeLinear", x, *parameters, **axis), *parameters, **axis
        )


def shaped(g: Quantized, op: str, x: str, opset: int) -> str:
    """Something that moves the elements of x: [2, 4, 6, 6]."""
    if op == "Reshape":
        return g.add(op, x, g.constant([2, 24, 6]))
    if op == "Unsqueeze":
        return g.add(op, x, axes=[0]) if opset < 13 else g.add(op, x, g.constant([0]))
    if op == "Transpose":
        return g.add(op, x, perm=[0, 2, 3, 1])
    if op == "Slice":
        return g.add(op, x, *(g.constant([k]) for k in (1, 5, 2, 2)))
    if op == "Gather":
        return g.add(op, x, g.constant([3, 0]), axis=1)
    if op == "Expand":
        return g.add(op, x, g.constant([3, 1, 1, 1, 1]))
    if op == "MaxPool":
        return g.add(op, x, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
    return g.add("Concat", x, x, axis=1)


MOVES = ("Reshape", "Unsqueeze", "Transpose", "Slice", "Gather", "Expand", "MaxPool", "Concat")


def bits_are_equal(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    """Numbers of every size, and those between two bytes, give the same bits."""
    rng = np.random.default_rng(1)
    feeds = {}
    for value in before.graph.input:
        shape = [d.dim_value or 3 for d in value.type.tensor_type.shape.dim]
        dtype = NUMPY[value.type.tensor_type.elem_type]
        if np.issubdtype(dtype, np.integer):
            info = np.iinfo(dtype)
            feeds[value.name] = rng.integers(info.min, info.max, shape, endpoint=True).astype(dtype)
        else:
            odd = np.array([0.0, -0.0, 0.025, -0.075, 0.125, 6.0, 6.5, 1e4, -1e4, np.inf, -np.inf])
            feeds[value.name] = np.where(
                rng.random(shape) < 0.5, rng.choice(odd, shape), 4 * rng.normal(size=shape)
            ).astype(dtype)
    expected, found = (plain_session(m.SerializeToString()).run(None, feeds) for m in (before, after))
    for a, b in zip(expected, found, strict=True):
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes()


def settled(model: onnx.ModelProto, target: str) -> Counter[str]:
    """Run-time nodes after an optimisation; the second one finds nothing."""
    found = outcome(model, target)
    bits_are_equal(model, found.model)
    again = optimize(found.model, cost=target, verify=False)
    assert counts_of(again.model) == counts_of(found.model)
    assert again.report.cost.after == pytest.approx(found.report.cost.after)
    return found.counts


# --- elements are moved as bytes ------------------------------------------------------------------------


@pytest.mark.parametrize("opset", OPSETS)
def test_between_dq_and_q_bytes_are_moved(opset: int) -> None:
    """Only MaxPool does not know bytes in opset 11."""
    dtype, zero = ((UINT8, 3), (INT8, -7))[opset % 4 == 1]
    g = Quantized()
    parameters = g.parameters(dtype, zero)
    x = g.add("DequantizeLinear", g.input("q", (2, 4, 6, 6), dtype), *parameters)
    ends = [g.add("QuantizeLinear", shaped(g, op, x, opset), *parameters) for op in MOVES]
    model = g.model(*ends, opset=opset, dtypes=dict.fromkeys(ends, dtype))
    for target in TARGETS:
        counts = settled(model, target)
        left = int(opset < 12)
        assert counts["QuantizeLinear"] == counts["DequantizeLinear"] == left
        assert counts.total() == len(MOVES) + 2 * left


@pytest.mark.parametrize("op", MOVES)
def test_pairs_of_floats_are_one(op: str) -> None:
    """DQ(Q(m(DQ(Q(x))))) = DQ(m(Q(x)))"""
    g = Quantized(x=("N", 4, 6, 6) if op in ("Transpose", "Slice", "MaxPool", "Concat") else (2, 4, 6, 6))
    parameters = g.parameters()
    y = g.pair(shaped(g, op, g.pair("x", *parameters), 17), *parameters)
    counts = settled(g.model(y), "ascend")
    assert counts["QuantizeLinear"] == counts["DequantizeLinear"] == 1 and counts.total() == 3


def test_a_relu_past_a_view_and_transposes_that_meet_go() -> None:
    g = Quantized(x=("N", 4, 6, 6))
    parameters = g.parameters(zero=0)
    x = g.pair(g.add("Transpose", g.add("Relu", "x"), perm=[0, 2, 3, 1]), *parameters)
    y = g.add("Transpose", x, perm=[0, 3, 1, 2])
    for target in TARGETS:
        assert settled(g.model(y), target) == Counter(QuantizeLinear=1, DequantizeLinear=1)


def test_parts_of_a_split_are_joined_as_bytes() -> None:
    g = Quantized(x=(2, 12, 6))
    parameters = g.parameters(INT8, 0)
    parts = g.add_many("Split", g.pair("x", *parameters), outputs=3, axis=1)
    ends = [g.pair(parts[0], *parameters), g.pair(g.add("Concat", *parts[1:], axis=1), *parameters)]
    model = g.model(*ends)
    for target in TARGETS:
        counts = settled(model, target)
        assert counts["QuantizeLinear"] == 1 and counts.total() <= 5


@pytest.mark.parametrize(("opset", "axis"), [(13, 1), (17, 2), (21, -1)])
def test_the_axis_of_scales_moves_with_a_transpose(opset: int, axis: int) -> None:
    g = Quantized(x=(2, 3, 4, 5))
    scales = 0.05 * np.arange(1, (2, 3, 4, 5)[axis] + 1)
    parameters, perm = g.parameters(scale=scales), [0, 2, 3, 1]
    y = g.add("Transpose", g.pair("x", *parameters, axis=axis), perm=perm)
    y = g.add("Transpose", g.pair(y, *parameters, axis=perm.index(axis % 4)), perm=[0, 3, 1, 2])
    for target in TARGETS:
        assert settled(g.model(y, opset=opset), target) == Counter(QuantizeLinear=1, DequantizeLinear=1)


# --- round trips, bounds --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("opset", "dtype", "of"),
    [(11, UINT8, FLOAT), (17, INT8, FLOAT), (21, INT16, FLOAT), (21, UINT8, FLOAT16)],
)
def test_equal_pairs_are_one(opset: int, dtype: int, of: int) -> None:
    """10 nodes of five pairs are 2."""
    g = Quantized()
    y = g.input("x", ("N", 5), of)
    for shape in ((), (1,), (), (), ()):
        scale = np.full(shape, 0.0173)
        y = g.pair(y, *g.parameters(dtype, 5, scale, NUMPY[of]))
    assert settled(g.model(y, opset=opset, dtypes={y: of}), "nodes").total() == 2


@pytest.mark.parametrize("scale", [1e-42, 3e38, -0.5, np.nan, np.inf])
def test_odd_scales_are_left_alone(scale: float) -> None:
    g = Quantized()
    parameters = g.parameters(scale=scale)
    x = g.add("DequantizeLinear", g.input("q", (4, 6), UINT8), *parameters)
    y = g.add("QuantizeLinear", x, *parameters)
    assert outcome(g.model(y, dtypes={y: UINT8})).counts.total() == 2


@pytest.mark.parametrize(("scale", "zero"), [(0.06, 3), (0.05, 4)])
def test_pairs_of_two_scales_or_zero_points_stay(scale: float, zero: int) -> None:
    g = Quantized(x=(2, 5))
    y = g.pair(g.pair("x", *g.parameters()), *g.parameters(scale=scale, zero=zero))
    assert settled(g.model(y), "nodes").total() == 4


def test_scales_of_another_axis_or_of_the_run_are_left_alone() -> None:
    g = Quantized(x=(4, 4), s=())
    parameters = g.parameters(scale=[0.1, 0.2, 0.3, 0.4])
    y = g.pair(g.pair("x", *parameters, axis=0), *parameters, axis=1)
    z = g.pair(g.pair("x", "s"), "s")
    assert outcome(g.model(y, z)).counts.total() == 8


@pytest.mark.parametrize("opset", OPSETS)
def test_saturation_does_the_relu(opset: int) -> None:
    """Where the zero point is the least number: not at 1, nor at 0 of signed bytes."""
    g = Quantized(x=(3, 50))
    ends = [
        g.pair(g.add("Relu", g.add(f, "x")), *g.parameters(dtype, zero))
        for f, dtype, zero in (("Sin", UINT8, 0), ("Cos", INT8, -128), ("Tan", UINT8, 1), ("Neg", INT8, 0))
    ]
    assert settled(g.model(*ends, opset=opset), "nodes")["Relu"] == 2


@pytest.mark.parametrize(("scale", "goes"), [(0.0235, True), (0.0236, False)])
def test_saturation_does_a_clip(scale: float, goes: bool) -> None:
    """255 times the scale is below 6, or above."""
    g = Quantized(x=(3, 50))
    six = g.add("Clip", "x", g.constant(0.0), g.constant(6.0))
    y = g.pair(six, *g.parameters(scale=scale, zero=0))
    assert settled(g.model(y), "nodes")["Clip"] == (not goes)


def test_what_is_dequantized_is_not_below_its_zero_point() -> None:
    g = Quantized()
    q = g.input("q", (3, 50), INT8)
    y = g.add("Relu", g.add("DequantizeLinear", q, *g.parameters(INT8, -128)))
    z = g.add("Relu", g.add("DequantizeLinear", q, *g.parameters(INT8, -127)))
    assert settled(g.model(y, z), "nodes") == Counter(DequantizeLinear=2, Relu=1)


def test_means_and_other_pools_are_left_alone() -> None:
    g = Quantized()
    parameters = g.parameters()
    x = g.add("DequantizeLinear", g.input("q", (1, 2, 6, 6), UINT8), *parameters)
    mean = g.add("AveragePool", x, kernel_shape=[2, 2])
    alone = g.add("MaxPool", x, kernel_shape=[2, 2], dilations=[6, 6], pads=[1, 1, 1, 1])
    ends = [g.add("QuantizeLinear", v, *parameters) for v in (mean, alone)]
    model = g.model(*ends, dtypes=dict.fromkeys(ends, UINT8))
    assert outcome(model).counts == Counter(DequantizeLinear=1, AveragePool=1, MaxPool=1, QuantizeLinear=2)


# --- weights --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["nodes", "ascend", "bytes"])
def test_weights_are_moved_as_bytes(target: str) -> None:
    g, rng = Quantized(x=(3, 64)), np.random.default_rng(0)
    w = g.constant(rng.integers(-127, 128, (32, 64)).astype(np.int8))
    scales = g.parameters(INT8, 0, rng.uniform(0.01, 0.1, 32))
    weight = g.add("Transpose", g.add("DequantizeLinear", w, *scales, axis=0), perm=[1, 0])
    y = g.add("Mul", g.add("MatMul", g.pair("x", *g.parameters()), weight), g.constant(0.5))
    model = g.model(y)
    found = outcome(model, target)
    large = [tensor for tensor in found.model.graph.initializer if np.prod(tensor.dims) > 100]
    assert [tensor.data_type for tensor in large] == [INT8]
    counts = counts_of(found.model)
    assert not counts["Transpose"] and not counts["Mul"] and counts["DequantizeLinear"] == 2


def test_scales_of_blocks_are_left_alone() -> None:
    g, rng = Quantized(x=(3, 64)), np.random.default_rng(0)
    w = g.constant(rng.integers(-127, 128, (64, 32)).astype(np.int8))
    scales = g.constant(rng.uniform(0.01, 0.1, (4, 32)))
    weight = g.add("DequantizeLinear", w, scales, axis=0, block_size=16)
    y = g.add("MatMul", "x", g.add("Transpose", g.add("Transpose", weight, perm=[1, 0]), perm=[1, 0]))
    found = outcome(g.model(y, opset=21))
    assert counts_of(found.model) == Counter(DequantizeLinear=1, MatMul=1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("opset", "positive"), [(13, True), (21, True), (17, False)])
def test_a_batch_normalization_goes_into_the_scales_of_a_weight(
    opset: int, positive: bool, target: str
) -> None:
    """Where all its factors are positive: a negative scale is odd."""
    g, rng = Quantized(x=("N", 4, 6, 6)), np.random.default_rng(0)
    w = g.constant(rng.integers(-127, 128, (8, 4, 3, 3)).astype(np.int8))
    weight = g.add("DequantizeLinear", w, *g.parameters(INT8, 0, rng.uniform(0.01, 0.1, 8)), axis=0)
    c = g.add("Conv", g.pair("x", *g.parameters()), weight)
    factors = rng.uniform(0.5, 2, 8).astype(np.float32) * (1 if positive else -1)
    others = (rng.normal(size=8), rng.normal(size=8), rng.uniform(0.5, 2, 8))
    y = g.add("BatchNormalization", c, g.constant(factors), *(g.constant(v) for v in others))
    found = outcome(g.model(y, opset=opset), target)
    large = [tensor for tensor in found.model.graph.initializer if np.prod(tensor.dims) > 100]
    assert [tensor.data_type for tensor in large] == [INT8]
    if positive:
        assert counts_of(found.model) == Counter(QuantizeLinear=1, DequantizeLinear=2, Conv=1)
