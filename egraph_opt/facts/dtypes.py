"""Sets of ONNX's element types."""

from __future__ import annotations

from onnx import TensorProto

BOOL = TensorProto.BOOL

FLOATS = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16})
"""What arithmetic is done in."""

KERNEL_FLOATS = FLOATS - {TensorProto.BFLOAT16}
"""Those that onnxruntime has kernels for on every platform."""

ALL_FLOATS = FLOATS | {
    TensorProto.FLOAT8E4M3FN,
    TensorProto.FLOAT8E4M3FNUZ,
    TensorProto.FLOAT8E5M2,
    TensorProto.FLOAT8E5M2FNUZ,
}
"""With those that are only stored."""

INTEGERS = frozenset(
    getattr(TensorProto, f"{sign}INT{bits}") for sign in ("", "U") for bits in (2, 4, 8, 16, 32, 64)
)

_WITHIN = {
    "BOOL": "BOOL INT8 UINT8 INT16 UINT16 INT32 UINT32 INT64 UINT64 FLOAT16 BFLOAT16 FLOAT DOUBLE",
    "UINT8": "UINT8 INT16 UINT16 INT32 UINT32 INT64 UINT64 FLOAT16 BFLOAT16 FLOAT DOUBLE",
    "INT8": "INT8 INT16 INT32 INT64 FLOAT16 BFLOAT16 FLOAT DOUBLE",
    "UINT16": "UINT16 INT32 UINT32 INT64 UINT64 FLOAT DOUBLE",
    "INT16": "INT16 INT32 INT64 FLOAT DOUBLE",
    "UINT32": "UINT32 INT64 UINT64 DOUBLE",
    "INT32": "INT32 INT64 DOUBLE",
    "UINT64": "UINT64",
    "INT64": "INT64",
    "FLOAT16": "FLOAT16 FLOAT DOUBLE",
    "BFLOAT16": "BFLOAT16 FLOAT DOUBLE",
    "FLOAT": "FLOAT DOUBLE",
    "DOUBLE": "DOUBLE",
}
HOLDS: dict[int, frozenset[int]] = {
    TensorProto.DataType.Value(name): frozenset(TensorProto.DataType.Value(wider) for wider in within.split())
    for name, within in _WITHIN.items()
}
"""The types that hold every value of a type exactly."""
