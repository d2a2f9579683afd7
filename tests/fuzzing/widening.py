"""A model with float64 instead of float32, in bodies and functions as well: what it means without rounding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray[Any, np.dtype[Any]]

_TYPES = {"to", "dtype"}
"""Attributes that name a type."""


def widened_feeds(feeds: Mapping[str, Array]) -> dict[str, Array]:
    return {k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in feeds.items()}


def widened_model(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy that computes in float64 what the model computes in float32."""
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    for graph in _graphs(wide.graph):
        for value in (*graph.input, *graph.output, *graph.value_info):
            _widen_type(value.type)
        for tensor in graph.initializer:
            _widen_tensor(tensor)
    for node in (*_nodes(wide.graph.node), *(n for f in wide.functions for n in _nodes(f.node))):
        _widen_node(node)
    return wide


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _graphs(attribute.g)


def _nodes(nodes: Any) -> Iterator[onnx.NodeProto]:
    for node in nodes:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _nodes(attribute.g.node)


def _widen_type(kind: onnx.TypeProto) -> None:
    if kind.HasField("tensor_type") and kind.tensor_type.elem_type == TensorProto.FLOAT:
        kind.tensor_type.elem_type = TensorProto.DOUBLE


def _widen_tensor(tensor: onnx.TensorProto) -> None:
    if tensor.data_type == TensorProto.FLOAT:
        array = numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def _widen_node(node: onnx.NodeProto) -> None:
    for attribute in node.attribute:
        if attribute.name in _TYPES and attribute.i == TensorProto.FLOAT:
            attribute.i = TensorProto.DOUBLE
        if attribute.HasField("t"):
            _widen_tensor(attribute.t)
    if node.op_type == "Constant" and node.attribute and node.attribute[0].name.startswith("value_float"):
        given = helper.get_attribute_value(node.attribute[0])
        del node.attribute[:]
        tensor = numpy_helper.from_array(np.asarray(given, np.float64))
        node.attribute.append(helper.make_attribute("value", tensor))
