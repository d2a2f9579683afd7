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
