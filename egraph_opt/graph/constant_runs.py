"""Constant nodes as a model of their own, to be run: by onnxruntime, or by whoever computes them anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import onnx
import onnx_ir as ir

from egraph_opt.graph.isolation import apart
from egraph_opt.graph.runtime import outputs_of
from egraph_opt.graph.work import SECONDS

FEEDABLE = frozenset("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split())
"""The types that arrays are handed over in."""

Run = Callable[[bytes, list[str], Mapping[str, np.ndarray]], list[np.ndarray]]
"""From a model, the names of outputs and the arrays of inputs to those of the outputs."""


def by_onnxruntime(model: bytes, outputs: list[str], feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of a model, each node of which runs in its own dtype."""
    return list(apart(outputs_of, model, outputs, feeds, seconds=SECONDS))


def evaluated_nodes(
    nodes: list[ir.Node],
    wanted: list[ir.Value],
    tensors: Mapping[ir.Value, ir.TensorProtocol],
    made_for: tuple[Mapping[str, int], int],
    run: Run,
) -> list[np.ndarray]:
    """What nodes compute of constants.

    Args:
        made_for: opsets by domain, and the version of the file.
    """
    opsets, ir_version = made_for
    produced = {v for node in nodes for v in node.outputs}
    graph = onnx.GraphProto(name="constants")
    feeds: dict[str, np.ndarray] = {}
    names: dict[ir.Value, str] = {}
    for node in nodes:
        proto = ir.serde.serialize_node(node)
        del proto.input[:]
        del proto.output[:]
        for value in node.inputs:
            if value is None:
                proto.input.append("")
                continue
            if value not in names:
                names[value] = f"v{len(names)}"
                if value not in produced:
                    _feed(tensors[value], names[value], graph, feeds)
            proto.input.append(names[value])
        for value in node.outputs:
            names[value] = f"v{len(names)}" if value.name else ""
            proto.output.append(names[value])
        graph.node.append(proto)
    graph.output.extend(onnx.ValueInfoProto(name=names[value]) for value in wanted)
    imports = [onnx.helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    model = onnx.helper.make_model(graph, opset_imports=imports, ir_version=max(ir_version, 4))
    outputs = [names[value] for value in wanted]
    return run(model.SerializeToString(), outputs, feeds)


def _feed(tensor: ir.TensorProtocol, name: str, graph: onnx.GraphProto, feeds: dict[str, np.ndarray]) -> None:
    array = tensor.numpy()
    if array.dtype.name in FEEDABLE and array.nbytes > 1024:
        feeds[name] = array
        info = onnx.helper.make_tensor_value_info(name, int(tensor.dtype), array.shape)
        graph.input.append(info)
    else:
        proto = ir.serde.serialize_tensor(tensor)
        proto.name = name
        graph.initializer.append(proto)
