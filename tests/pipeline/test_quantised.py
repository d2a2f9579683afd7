"""Quantised models stay small, and compute the same bits: weights are not made wider."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_dynamic,
    quantize_static,
)
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

from egraph_opt import Limits, optimize, saturate
from egraph_opt.cost.constant_nodes import constant_nodes
from egraph_opt.errors import LimitsError
from egraph_opt.graph.runtime import plain_session

SHAPE = (1, 3, 8, 8)


def float_model() -> onnx.ModelProto:
    draw = np.random.default_rng(0)
    nodes = [
        helper.make_node("Conv", ["x", "kernel", "bias"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Flatten", ["r"], ["f"]),
        helper.make_node("MatMul", ["f", "wide"], ["m"]),
        helper.make_node("Relu", ["m"], ["n"]),
        helper.make_node("Transpose", ["n"], ["t"], perm=[1, 0]),
        helper.make_node("Transpose", ["t"], ["u"], perm=[1, 0]),
        helper.make_node("Gemm", ["u", "narrow", "last"], ["y"], transB=1),
    ]
    shapes = {"kernel": (8, 3, 3, 3), "bias": (8,), "wide": (512, 64), "narrow": (32, 64), "last": (32,)}
    weights = [
        numpy_helper.from_array(draw.normal(size=shape).astype(np.float32) / 8, name)
        for name, shape in shapes.items()
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 32))
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


class Readings(CalibrationDataReader):  # type: ignore[misc]
    """What a calibration sees."""

    def __init__(self) -> None:
        draw = np.random.default_rng(1)
        self._left = iter([{"x": draw.normal(size=SHAPE).astype(np.float32)} for _ in range(2)])

    def get_next(self) -> Any:
        return next(self._left, None)


def static(form: QuantFormat, weights: QuantType, per_channel: bool = False) -> Callable[[Path, Path], None]:
    def make(given: Path, made: Path) -> None:
        quantize_static(
            given, made, Readings(), quant_format=form, weight_type=weights, per_channel=per_channel
        )

    return make


def dynamic(given: Path, made: Path) -> None:
    quantize_dynamic(given, made)


def in_blocks(form: QuantFormat) -> Callable[[Path, Path], None]:
    def make(given: Path, made: Path) -> None:
        quantizer = MatMulNBitsQuantizer(
            onnx.load(given), block_size=32, is_symmetric=True, quant_format=form
        )
        quantizer.process()
        quantizer.model.save_model_to_file(str(made))

    return make


MAKERS = {
    "QDQ": static(QuantFormat.QDQ, QuantType.QInt8),
    "QDQ by channel": static(QuantFormat.QDQ, QuantType.QInt8, per_channel=True),
    "QDQ of four bits": static(QuantFormat.QDQ, QuantType.QInt4),
    "QOperator": static(QuantFormat.QOperator, QuantType.QInt8),
    "dynamic": dynamic,
    "MatMulNBits": in_blocks(QuantFormat.QOperator),
    "blocks of four bits, QDQ": in_blocks(QuantFormat.QDQ),
}


@pytest.mark.parametrize("name", MAKERS)
def test_what_the_quantizer_of_onnxruntime_makes_never_grows_and_stays_equal(
    name: str, tmp_path: Path
) -> None:
    onnx.save(float_model(), tmp_path / "float.onnx")
    MAKERS[name](tmp_path / "float.onnx", tmp_path / "quantised.onnx")
    original = (tmp_path / "quantised.onnx").read_bytes()
    x = np.random.default_rng(2).normal(size=SHAPE).astype(np.float32)
    (expected,) = plain_session(original).run(None, {"x": x})
    for cost in ("nodes", "bytes", "flops", "ascend"):
        result = optimize(onnx.load_from_string(original), cost, verify=False, metadata=False)
        assert result.report.nodes.after < result.report.nodes.before, cost  # Transposes, or those of biases
        found = result.model.SerializeToString()
        assert len(found) <= 1.02 * len(original), cost  # names and shapes of tensors, but no wider weights
        np.testing.assert_array_equal(plain_session(found).run(None, {"x": x})[0], expected)


def widening(dtype: int, operator: str) -> onnx.ModelProto:
    """A product with a matrix of a narrow type, which is made wider first; its bytes count up."""
    content = bytes(k % 63 for k in range(64 * 64 * ir.DataType(dtype).bitwidth // 8))
    weights = TensorProto(name="w", data_type=dtype, dims=[64, 64], raw_data=content)
    scale = numpy_helper.from_array(np.array(0.5, np.float32), "scale")
    if operator == "Cast":
        node = helper.make_node("Cast", ["w"], ["wider"], to=TensorProto.FLOAT)
    else:
        node = helper.make_node("DequantizeLinear", ["w", "scale"], ["wider"])
    nodes = [
        node,
        helper.make_node("MatMul", ["x", "wider"], ["m"]),
        helper.make_node("Identity", ["m"], ["i"]),
        helper.make_node("Mul", ["i", "scale"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 64))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 64))
    graph = helper.make_graph(nodes, "g", [x], [y], [weights, scale])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)


def cases() -> Iterator[tuple[str, str]]:
    narrow = ("INT8", "UINT8", "INT4", "UINT4", "FLOAT8E4M3FN", "FLOAT8E5M2", "FLOAT4E2M1")
    for operator in ("DequantizeLinear", "Cast"):
        yield from ((name, operator) for name in narrow)
    yield "BFLOAT16", "Cast"


@pytest.mark.parametrize(("name", "operator"), list(cases()))
def test_a_narrow_type_passes_untouched(name: str, operator: str) -> None:
    model = widening(TensorProto.DataType.Value(name), operator)
    for cost in ("nodes", "bytes"):
        found = optimize(model, cost, verify=False).model
        (weights,) = [tensor for tensor in found.graph.initializer if list(tensor.dims) == [64, 64]]
        assert weights.data_type == model.graph.initializer[0].data_type
        assert weights.raw_data == model.graph.initializer[0].raw_data
        assert operator in {node.op_type for node in found.graph.node}


def test_who_asks_for_it_gets_quantised_weights_folded() -> None:
    model = widening(TensorProto.INT8, "DequantizeLinear")
    found = optimize(model, "nodes", limits=Limits(fold_quantized=True)).model
    assert "DequantizeLinear" not in {node.op_type for node in found.graph.node}
    with pytest.raises(LimitsError, match="fold_quantized='yes'"):
        Limits(fold_quantized="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize("asked", [False, True])
def test_who_asks_for_it_gets_casts_that_laws_wrote_folded(asked: bool) -> None:
    region = saturate(widening(TensorProto.INT8, "Cast")).region
    assert region is not None
    region.lowered.fold_quantized = asked
    computed = constant_nodes(region.lowered, region.snapshot, 2**20)
    casts = [k for k, name in enumerate(region.snapshot.operator) if name == "cast"]
    assert casts and all((computed[region.snapshot.node_class[k]] == k) == asked for k in casts)
    limits = Limits(fold_quantized=asked)
    asking = saturate(widening(TensorProto.INT8, "DequantizeLinear"), limits=limits).region
    assert asking is not None and asking.lowered.fold_quantized == asked


def test_a_dequantised_constant_that_is_smaller_is_folded() -> None:
    """Biases are integers of 32 bits, with a scale of their own."""
    bias = numpy_helper.from_array(np.arange(64, dtype=np.int32), "w")
    model = widening(TensorProto.INT8, "DequantizeLinear")
    model.graph.initializer[0].CopyFrom(bias)
    model.graph.node[1].op_type = "Add"
    del model.graph.node[3].input[1]
    model.graph.node[3].op_type = "Abs"
    found = optimize(model, "nodes").model
    assert [node.op_type for node in found.graph.node] == ["Add", "Abs"]
