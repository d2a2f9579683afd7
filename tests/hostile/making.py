"""What the corpus of bad files is made with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper, parser

Make = Callable[[Path], Path]
"""Writes a case into a folder; the path of what the command line is given."""

CASES: dict[str, Make] = {}
"""The corpus, by name."""


def file_case(make: Make) -> Make:
    """Declares what writes a case."""
    CASES[make.__name__] = make
    return make


def model_case(make: Callable[[], ModelProto]) -> Callable[[], ModelProto]:
    """Declares a model as a case in one file."""

    def write(folder: Path) -> Path:
        path = folder / "bad.onnx"
        path.write_bytes(make().SerializeToString())
        return path

    CASES[make.__name__] = write
    return make


def text_model(text: str, *initializers: TensorProto, opset: int = 17) -> ModelProto:
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> g {text}')
    model.graph.initializer.extend(initializers)
    return model


def info(
    name: str, shape: Sequence[int | str | None] | None, dtype: int = TensorProto.FLOAT
) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def model_of(
    nodes: Sequence[NodeProto],
    *initializers: TensorProto,
    inputs: Sequence[ValueInfoProto] = (),
    outputs: Sequence[str] = ("y",),
    opset: int = 17,
) -> ModelProto:
    """Nodes on an input x: float[2, 3], unless others are given."""
    given = list(inputs) or [info("x", [2, 3])]
    graph = helper.make_graph(
        list(nodes), "g", given, [info(name, None) for name in outputs], list(initializers)
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def graph_of(
    nodes: Sequence[NodeProto], outputs: Sequence[str], inputs: Sequence[ValueInfoProto] = ()
) -> GraphProto:
    return helper.make_graph(
        list(nodes), "body", list(inputs), [ValueInfoProto(name=name) for name in outputs]
    )


def numbers(name: str, *values: int) -> TensorProto:
    return numpy_helper.from_array(np.array(values, np.int64), name)


def number(name: str, value: int) -> TensorProto:
    return numpy_helper.from_array(np.array(value, np.int64), name)


def floats(name: str, *shape: int) -> TensorProto:
    return numpy_helper.from_array(np.ones(shape, np.float32), name)


def node(op_type: str, inputs: str, outputs: str = "y", **attributes: Any) -> NodeProto:
    """A node on the names that two texts list."""
    return helper.make_node(
        op_type, inputs.split(), outputs.split(), name=f"{op_type}_{outputs.split()[0]}", **attributes
    )


def external(model: ModelProto, name: str = "w", **entries: str) -> ModelProto:
    """The model with the data of an initializer elsewhere."""
    (tensor,) = (t for t in model.graph.initializer if t.name == name)
    for field in ("raw_data", "float_data", "int64_data"):
        tensor.ClearField(field)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    return model
