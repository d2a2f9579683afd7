"""Numbers that models compare or combine with inputs: results may turn there, so runs lie on both sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from egraph_opt.model.encoding import graphs_of
from egraph_opt.verification.comparison import Array

SMALL = 16
"""Constants of more elements are weights."""

MOST = 24
"""Numbers of each sort that are kept, in the order in which the models have them."""

MOST_SIZE = 2048

_SIZED = frozenset({"Slice", "Split", "Range", "Gather", "Pad", "Min", "Max", "Clip", "Where", "Resize"})
_SIZED_TOO = frozenset({"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Mod", "Sub", "Add"})
_ATTRIBUTES = frozenset({"kernel_shape", "starts", "ends", "split", "pads", "strides", "dilations"})


def thresholds(models: Sequence[onnx.ModelProto]) -> tuple[float, ...]:
    """Magnitudes of float constants, and of numbers among attributes."""
    found: dict[float, None] = {}
    for model in models:
        for array in _small_constants(model):
            if array.dtype.kind == "f" or array.dtype.kind in "iu":
                found.update(dict.fromkeys(abs(float(v)) for v in array.reshape(-1)[:4]))
        for node in _nodes(model):
            found.update(dict.fromkeys(abs(a.f) for a in node.attribute if a.type == a.FLOAT))
    return tuple(v for v in found if 1e-6 <= v <= 1e6)[:MOST]


def whole_numbers(models: Sequence[onnx.ModelProto]) -> tuple[int, ...]:
    """Integer constants."""
    found: dict[int, None] = {}
    for model in models:
        for array in _small_constants(model):
            if array.dtype.kind in "iu":
                found.update(dict.fromkeys(int(v) for v in array.reshape(-1)[:8]))
    return tuple(found)[:MOST]


def turning_sizes(models: Sequence[onnx.ModelProto]) -> tuple[int, ...]:
    """Sizes on both sides of what a dim may be compared with: ends of slices, parts, windows and the like."""
    likely: dict[int, None] = {}
    for model in models:
        constants = {t.name: numpy_helper.to_array(t) for t in _small_tensors(model)}
        for node in _nodes(model):
            if node.op_type in _SIZED | _SIZED_TOO:
                for name in node.input:
                    if name in constants and constants[name].dtype.kind in "iu":
                        likely.update(dict.fromkeys(abs(int(v)) for v in constants[name].reshape(-1)))
            for attribute in node.attribute:
                if attribute.name in _ATTRIBUTES:
                    likely.update(dict.fromkeys(abs(int(v)) for v in attribute.ints))
    sizes: dict[int, None] = {}
    for c in sorted(v for v in likely if 2 <= v <= MOST_SIZE)[:MOST]:
        sizes.update(dict.fromkeys((c, c + 1, c - 1, 2 * c + 1)))
    return tuple(sizes)


def _nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    for graph in graphs_of(model.graph):
        yield from graph.node
    for function in model.functions:
        yield from function.node


def _small_tensors(model: onnx.ModelProto) -> Iterator[TensorProto]:
    """Initializers and constants of a few elements, under the name of the value."""
    for graph in graphs_of(model.graph):
        for tensor in graph.initializer:
            if _is_small(tensor):
                yield tensor
    for node in _nodes(model):
        if node.op_type != "Constant":
            continue
        for attribute in node.attribute:
            tensor = TensorProto()
            match attribute.name:
                case "value" if _is_small(attribute.t):
                    tensor.CopyFrom(attribute.t)
                case "value_int" | "value_float":
                    value = attribute.i if attribute.name == "value_int" else np.float32(attribute.f)
                    tensor.CopyFrom(numpy_helper.from_array(np.asarray(value)))
                case "value_ints":
                    tensor.CopyFrom(numpy_helper.from_array(np.array(attribute.ints[:SMALL], np.int64)))
                case _:
                    continue
            tensor.name = node.output[0]
            yield tensor


def _small_constants(model: onnx.ModelProto) -> Iterator[Array]:
    return (numpy_helper.to_array(tensor) for tensor in _small_tensors(model))


def _is_small(tensor: TensorProto) -> bool:
    count = 1
    for dim in tensor.dims:
        count *= dim
    external = tensor.data_location == TensorProto.EXTERNAL
    return (
        count <= SMALL
        and not external
        and tensor.data_type not in (TensorProto.STRING, TensorProto.UNDEFINED)
    )
