"""Small models to read and write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper


def tensor(name: str, shape: list[int | str] | None, dtype: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def model_of(
    nodes: list[NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    initializers: list[TensorProto] | None = None,
    opset: int = 17,
    ir_version: int = 10,
) -> ModelProto:
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers or [])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)


def affine(size: int = 1000) -> ModelProto:
    weight = numpy_helper.from_array(np.arange(size, dtype=np.float32), "w")
    return model_of(
        [helper.make_node("Add", ["x", "w"], ["y"], name="add")],
        [tensor("x", ["N", size])],
        [tensor("y", ["N", size])],
        [weight],
    )


def run(model: ModelProto | Path, **inputs: np.ndarray) -> list[np.ndarray]:
    source = str(model) if isinstance(model, Path) else model.SerializeToString()
    session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)
