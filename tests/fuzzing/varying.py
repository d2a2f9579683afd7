"""What is odd about models besides their operators: defaults of inputs, duplicates, unused parts, names."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper


def vary(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    """Change a model in ways that leave what it computes as it is."""
    for change, chance in CHANGES.items():
        if rng.random() < chance:
            change(model.graph, rng)


def defaults(graph: onnx.GraphProto, rng: np.random.Generator) -> None:
    """Weights that are inputs as well, so that a caller may give others."""
    weights = [t for t in graph.initializer if t.data_type == onnx.TensorProto.FLOAT and t.dims]
    for tensor in weights:
        if rng.random() < 0.5:
            graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))


def duplicates(graph: onnx.GraphProto, rng: np.random.Generator) -> None:
    """A node twice: later readers take the copy's results."""
    if not graph.node:
        return
    place = int(rng.integers(len(graph.node)))
    node = graph.node[place]
    if any(attribute.HasField("g") for attribute in node.attribute):
        return
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    renamed = {name: f"{name}_again" for name in node.output if name}
    copy.output[:] = [renamed.get(name, "") for name in node.output]
    copy.name = ""
    graph.node.insert(place + 1, copy)
    for reader in graph.node[place + 2 :]:
        if rng.random() < 0.7:
            reader.input[:] = [renamed.get(name, name) for name in reader.input]


def same_constant(graph: onnx.GraphProto, rng: np.random.Generator) -> None:
    """Equal constants become one that several nodes read."""
    known: dict[bytes, str] = {}
    shared: dict[str, str] = {}
    for tensor in graph.initializer:
        plain = onnx.TensorProto()
        plain.CopyFrom(tensor)
        plain.name = ""
        shared[tensor.name] = known.setdefault(plain.SerializeToString(), tensor.name)
    for node in graph.node:
        node.input[:] = [shared.get(name, name) for name in node.input]


def unused(graph: onnx.GraphProto, rng: np.random.Generator) -> None:
    """An input, an initializer and a node that nobody reads."""
    graph.input.append(helper.make_tensor_value_info("unused_input", onnx.TensorProto.FLOAT, [2, "N"]))
    graph.initializer.append(onnx.numpy_helper.from_array(np.ones((2, 2), np.float32), "unused_weight"))
    graph.node.append(helper.make_node("Relu", ["unused_weight"], ["unused_result"]))


def named_nodes(graph: onnx.GraphProto, rng: np.random.Generator) -> None:
    """Names of nodes as exporters write them, some twice."""
    for number, node in enumerate(graph.node):
        node.name = f"/layer.{number // 2}/{node.op_type}"
        node.doc_string = "drawn" if rng.random() < 0.2 else ""


CHANGES = {defaults: 0.08, duplicates: 0.12, same_constant: 0.3, unused: 0.05, named_nodes: 0.2}
