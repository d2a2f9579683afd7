"""Numbers that models compare or combine with inputs: results may turn there, so runs lie on both sides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from egraph_opt.model.encoding import graphs_of
from egraph_opt.verification.comparison import Array

Number = TypeVar("Number", int, float)

SMALL = 16
"""TurningPoints of more elements are weights."""

MOST = 24
"""Numbers of each sort that are kept, in the order in which the models have them."""

MOST_SIZE = 20_000

APART = 4
"""Integers less far apart leave little between them."""

_SIZED = frozenset(
    {
        *("Slice", "Split", "Range", "Gather", "Pad", "Min", "Max", "Clip", "Where", "Resize", "Mod"),
        *("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Sub", "Add"),
    }
)
COUNTED_IN: Mapping[int, int] = {
    **dict.fromkeys((TensorProto.UINT8, TensorProto.BFLOAT16), 257),
    TensorProto.UINT16: 65_537,
    TensorProto.INT8: 129,
    TensorProto.INT16: 32_769,
    TensorProto.FLOAT16: 2_049,
}
"""By type a number that it does not hold: dims and places that are cast to it."""

_COUNTING = frozenset({"ArgMax", "ArgMin", "NonZero", "Shape", "Size", "TopK"})

_ATTRIBUTES = frozenset({"kernel_shape", "starts", "ends", "split", "pads", "strides", "dilations"})


@dataclass(frozen=True)
class TurningPoints:
    """What was found in some models.

    Attributes:
        thresholds: magnitudes of float constants and of numbers among attributes, and what is between those
            that are close to each other.
        integers: integer constants, and what is between those that are.
        sizes: both sides of what a dim may be compared with, ends of slices, parts, windows and the like, and
            what a type does not hold that dims or places are cast to.
    """

    thresholds: tuple[float, ...]
    integers: tuple[int, ...]
    sizes: tuple[int, ...]


def turning_points(models: Sequence[onnx.ModelProto]) -> TurningPoints:
    """The constants of all models, each once."""
    floats: dict[float, None] = {}
    integers: dict[int, None] = {}
    ends: set[int] = set()
    beyond: set[int] = set()
    for model in models:
        whole = {}
        counts = any(node.op_type in _COUNTING for node in _nodes(model))
        for name, array in small_constants(model):
            if array.dtype.kind in "fiu":
                floats.update(dict.fromkeys(abs(float(v)) for v in array.reshape(-1)[:4]))
            if array.dtype.kind in "iu":
                whole[name] = [int(v) for v in array.reshape(-1)]
                integers.update(dict.fromkeys(whole[name][:8]))
        for node in _nodes(model):
            if node.op_type in _SIZED:
                ends.update(abs(v) for name in node.input for v in whole.get(name, ()))
            for attribute in node.attribute:
                if attribute.type == attribute.FLOAT:
                    floats[abs(attribute.f)] = None
                elif attribute.name in _ATTRIBUTES:
                    ends.update(abs(v) for v in attribute.ints)
                elif attribute.name == "to" and counts and attribute.i in COUNTED_IN:
                    beyond.add(COUNTED_IN[attribute.i])
    sizes: dict[int, None] = dict.fromkeys(sorted(beyond))
    for c in sorted(v for v in ends if 2 <= v <= MOST_SIZE)[:MOST]:
        sizes.update(dict.fromkeys((c, c + 1, c - 1, 2 * c + 1)))
    thresholds, whole_numbers = [v for v in floats if 1e-6 <= v <= 1e6][:MOST], list(integers)[:MOST]
    thresholds += [(a + b) / 2 for a, b in _close(thresholds)]
    whole_numbers += [(a + b) // 2 for a, b in pairwise(sorted(whole_numbers)) if b - a >= APART]
    return TurningPoints(tuple(thresholds), tuple(whole_numbers), tuple(sizes))


def _close(values: Sequence[Number]) -> Iterator[tuple[Number, Number]]:
    """Neighbours nearer to each other than to 0: little else meets what is clipped to lie between them."""
    return ((a, b) for a, b in pairwise(sorted(values)) if b - a < min(abs(a), abs(b)))


def _nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    for graph in graphs_of(model.graph):
        yield from graph.node
    for function in model.functions:
        yield from function.node


def small_constants(model: onnx.ModelProto) -> Iterator[tuple[str, Array]]:
    """Initializers and constants of a few elements, by the name of the value."""
    for graph in graphs_of(model.graph):
        for tensor in graph.initializer:
            if _is_small(tensor):
                yield tensor.name, numpy_helper.to_array(tensor)
    for node in _nodes(model):
        if node.op_type != "Constant":
            continue
        for attribute in node.attribute:
            match attribute.name:
                case "value" if _is_small(attribute.t):
                    yield node.output[0], numpy_helper.to_array(attribute.t)
                case "value_int":
                    yield node.output[0], np.asarray(attribute.i)
                case "value_float":
                    yield node.output[0], np.asarray(attribute.f)
                case "value_ints":
                    yield node.output[0], np.array(attribute.ints[:SMALL], np.int64)


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
