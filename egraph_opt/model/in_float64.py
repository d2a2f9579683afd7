"""A model with floats of 64 bits wherever it has some of fewer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

from egraph_opt.model.encoding import graphs_of, tensors_of

TYPES = ("to", "dtype", "output_dtype")
"""Attributes that name an element type; what a normalization computes in (`stash_type`) is left to it."""


def in_float64(
    model: onnx.ModelProto, narrow: frozenset[int] = frozenset({TensorProto.FLOAT})
) -> onnx.ModelProto:
    """A copy with float64 instead of `narrow` types: of inputs, constants and casts, in bodies as well.

    Other attributes stay: a model in which one of them says a type of its own may not load.
    """
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    for graph in graphs_of(wide.graph):
        for value in (*graph.input, *graph.output, *graph.value_info):
            if value.type.tensor_type.elem_type in narrow:
                value.type.tensor_type.elem_type = TensorProto.DOUBLE
    for attribute in _attributes(wide):
        if attribute.name in TYPES and attribute.i in narrow:
            attribute.i = TensorProto.DOUBLE
        elif attribute.name in ("value_float", "value_floats") and TensorProto.FLOAT in narrow:
            one = attribute.type == AttributeProto.FLOAT
            values = np.array(attribute.f if one else list(attribute.floats), np.float64)
            attribute.CopyFrom(onnx.helper.make_attribute("value", numpy_helper.from_array(values)))
    for tensor in tensors_of(wide):
        if tensor.data_type in narrow and tensor.data_location != TensorProto.EXTERNAL:
            array = numpy_helper.to_array(tensor).astype(np.float64)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return wide


def _attributes(model: onnx.ModelProto) -> Iterator[AttributeProto]:
    for graph in graphs_of(model.graph):
        for node in graph.node:
            yield from node.attribute
