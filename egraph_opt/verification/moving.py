"""Inputs and weights moved by one unit in the last place."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import numpy_helper

from egraph_opt.verification.comparison import TOLERANCES, Array, Value, widened


def items(value: Value) -> Sequence[Value]:
    """The tensors of an input: one, or those of a sequence."""
    return value if isinstance(value, list) else [value]


def moves(value: Value) -> bool:
    """Whether it has floats."""
    return isinstance(value, np.ndarray) and value.dtype in TOLERANCES


def move_inputs(feeds: Mapping[str, Value], generator: np.random.Generator) -> dict[str, Value]:
    """The same inputs, moved."""
    made: dict[str, Value] = {}
    for name in sorted(feeds):
        value = feeds[name]
        found = [_move(item, generator) for item in items(value)]
        made[name] = found if isinstance(value, list) else found[0]
    return made


def _move(value: Value, generator: np.random.Generator) -> Value:
    if moves(value):
        return moved(value, generator)
    return _moved_integers(value, generator) if is_large(value) else value


EXACT_IN_FLOAT = 2**24
"""Integers beyond it are rounded where float32 is computed with."""


def is_large(value: Value) -> bool:
    """Whether some integers are so large that floats do not hold them."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu" or value.dtype.itemsize < 4:
        return False
    return bool(((value > EXACT_IN_FLOAT) | (value < -EXACT_IN_FLOAT)).any())


def _moved_integers(value: Array, generator: np.random.Generator) -> Array:
    """Large integers closer to 0 by up to what float32 rounds them by."""
    step = value // EXACT_IN_FLOAT
    share = generator.integers(0, 2, value.shape).astype(value.dtype)
    return np.asarray(value - step * share, value.dtype).reshape(value.shape)


def moved(value: Array, generator: np.random.Generator) -> Array:
    """Every element up or down by one unit in the last place; zeros stay (padding, masks, sparsity)."""
    if value.dtype.kind == "c":
        real, imaginary = moved(value.real, generator), moved(value.imag, generator)
        return np.asarray(real + 1j * imaginary, value.dtype)
    up = generator.integers(0, 2, value.shape).astype(np.bool_)
    # The largest finite number, because some 8-bit floats have no infinity.
    top = np.full(value.shape, _largest(value.dtype), value.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        step = np.where(up, np.nextafter(value, top), np.nextafter(value, -top))
    keep = (widened(value) == 0) | ~np.isfinite(widened(value)) | ~np.isfinite(widened(step))
    return np.asarray(np.where(keep, value, step), value.dtype).reshape(value.shape)


def _largest(dtype: np.dtype[Any]) -> float:
    return float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]


def move_weights(model: onnx.ModelProto, generator: np.random.Generator) -> onnx.ModelProto:
    """A copy of the model whose float initializers and constants are moved, most whole numbers excepted.

    Whole numbers are exponents, scales of a resize, bounds and masks, which mean exactly what they say.
    Those that are added are moved as well: what is added to them is lost below their last place.  And each
    node that reads a small weight has it moved by itself: of a shift that is added and taken away again
    nothing is left, but for what was rounded between.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    _read_apart(copy.graph)
    added = _added(copy.graph)
    tensors = [(tensor.name, tensor) for tensor in copy.graph.initializer]
    for node in copy.graph.node:
        if node.op_type == "Constant":
            tensors += [(node.output[0], a.t) for a in node.attribute if a.HasField("t")]
            for attribute in node.attribute:
                if attribute.name == "value_float" and (attribute.f % 1 or node.output[0] in added):
                    attribute.f = float(moved(np.array(attribute.f, np.float32), generator))
    for value, tensor in tensors:
        if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.data_type not in _MOVABLE_WEIGHTS:
            continue
        array: Array = numpy_helper.to_array(tensor)
        wide = widened(array)
        may_move = np.isfinite(wide) & ((wide != np.round(wide)) | (value in added))
        made = np.where(may_move, moved(array, generator), array)
        name = tensor.name
        tensor.CopyFrom(numpy_helper.from_array(np.asarray(made, array.dtype).reshape(array.shape), name))
    return copy


MOST_APART = 2**16
"""Elements of a weight of which each node that reads it has a copy."""


def _read_apart(graph: onnx.GraphProto) -> None:
    """Give each node of a graph that reads a small float initializer, but the first, a copy of it."""
    weights = {
        tensor.name: tensor
        for tensor in graph.initializer
        if tensor.data_type in _MOVABLE_WEIGHTS
        and tensor.data_location != onnx.TensorProto.EXTERNAL
        and math.prod(tensor.dims) <= MOST_APART
    }
    read: set[str] = set()
    for number, node in enumerate(graph.node):
        for position, name in enumerate(node.input):
            if name in weights and name in read:
                apart = graph.initializer.add()
                apart.CopyFrom(weights[name])
                apart.name = f"{name}/{number}/{position}"
                node.input[position] = apart.name
            read.add(name)


def _added(graph: onnx.GraphProto) -> set[str]:
    """Tensors that are terms of sums, as they are or seen otherwise."""
    found: set[str] = set()
    for node in reversed(graph.node):
        if node.op_type in ("Add", "Sub", "Sum"):
            found.update(node.input)
        elif node.op_type in VIEWS and not found.isdisjoint(node.output):
            found.add(node.input[0])
    return found


VIEWS = frozenset({"Expand", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"})

_MOVABLE_WEIGHTS = frozenset(
    {onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE, onnx.TensorProto.BFLOAT16}
)
