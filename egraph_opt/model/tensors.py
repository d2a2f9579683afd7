"""Tensors of a model against what they say of themselves: type, dims, and as much data as these need.

onnx_ir and NumPy believe dims and counts until they look at elements, and raise errors of their own then.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import onnx_ir as ir
from onnx import ModelProto, TensorProto

from egraph_opt.errors import InvalidModelError
from egraph_opt.facts.fact import LARGEST, MOST_DIMS
from egraph_opt.model.encoding import tensors_of

_TYPES = frozenset(int(kind) for kind in ir.DataType) - {TensorProto.UNDEFINED}

_FIELD = {
    **dict.fromkeys((TensorProto.FLOAT, TensorProto.COMPLEX64), "float_data"),
    **dict.fromkeys((TensorProto.DOUBLE, TensorProto.COMPLEX128), "double_data"),
    **dict.fromkeys((TensorProto.UINT32, TensorProto.UINT64), "uint64_data"),
    TensorProto.INT64: "int64_data",
    TensorProto.STRING: "string_data",
}
"""Where elements that are not raw are; those of all other types in `int32_data`."""

_FIELDS = ("raw_data", "int32_data", *sorted(set(_FIELD.values())))

_COMPLEX = (TensorProto.COMPLEX64, TensorProto.COMPLEX128)


def check_tensors(model: ModelProto, source: str) -> None:
    """Check all dense tensors, in the model and elsewhere; where the latter lie is not looked at.

    Raises:
        InvalidModelError: one has a type, dims or data that cannot be, or go together.
    """
    for tensor in tensors_of(model):
        problem = next(_problems(tensor), None)
        if problem is not None:
            name = f"tensor {tensor.name!r}" if tensor.name else "a tensor without a name"
            raise InvalidModelError(f"{source}: {name} {problem}")


def _problems(tensor: TensorProto) -> Iterator[str]:
    if tensor.data_type not in _TYPES:
        yield f"has the element type {tensor.data_type}, which there is not"
    if len(tensor.dims) > MOST_DIMS:
        yield f"has {len(tensor.dims)} dims; no more than {MOST_DIMS} can be read"
    if any(dim < 0 for dim in tensor.dims):
        yield f"has a dim below zero: {list(tensor.dims)}"
    bits = 8 if tensor.data_type == TensorProto.STRING else ir.DataType(tensor.data_type).bitwidth
    count = math.prod(tensor.dims)
    # Dims count together though one of them is 0: NumPy multiplies them one by one.
    if math.prod(dim for dim in tensor.dims if dim) * bits > LARGEST:
        yield f"is larger than any memory: {list(tensor.dims)}"
    if tensor.HasField("segment"):
        yield "is a segment of another one; put it together first"
    if tensor.data_location == TensorProto.EXTERNAL:
        if tensor.data_type == TensorProto.STRING:
            yield "is of strings, which cannot be in another file"
        return
    yield from _of_data(tensor, count, bits)


def _of_data(tensor: TensorProto, count: int, bits: int) -> Iterator[str]:
    """What is wrong with data in the model."""
    given = [name for name in _FIELDS if len(getattr(tensor, name))]
    if len(given) > 1:
        yield f"has data twice, in {given[0]} and in {given[1]}"
    if given == ["raw_data"]:
        if tensor.data_type == TensorProto.STRING:
            yield "is of strings, which cannot be in raw_data"
        size, needed = len(tensor.raw_data), -(-count * bits // 8)
        if size != needed:
            yield f"has {size} bytes of data, but its type and shape need {needed}"
        return
    wanted = _FIELD.get(tensor.data_type, "int32_data")  # type: ignore[call-overload]
    if given and given != [wanted]:
        yield f"has data in {given[0]}, but its type needs {wanted}"
    needed = 2 * count if tensor.data_type in _COMPLEX else -(-count * min(bits, 8) // 8)
    if len(getattr(tensor, wanted)) != needed:
        yield f"has {len(getattr(tensor, wanted))} elements of data, but its shape needs {needed}"
