"""Operands as profiles of Ascend chips write them: shapes, data types and storage formats.

``"4,1024;2;"`` are three shapes, the last that of a scalar; tools write dims with ``,`` or ``*``, and
brackets or quotes around it all.  A format other than ND says how a value is stored: NC1HWC0 has channels
in blocks, FRACTAL_NZ has matrices in tiles.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

from onnx import TensorProto

from egraph_opt.facts.fact import Fact

Dims = tuple[int, ...]

TYPES = {
    "BF16": TensorProto.BFLOAT16, "BFLOAT16": TensorProto.BFLOAT16, "BOOL": TensorProto.BOOL,
    "COMPLEX64": TensorProto.COMPLEX64, "COMPLEX128": TensorProto.COMPLEX128, "DOUBLE": TensorProto.DOUBLE,
    "F16": TensorProto.FLOAT16, "F32": TensorProto.FLOAT, "FLOAT": TensorProto.FLOAT,
    "FLOAT16": TensorProto.FLOAT16, "FLOAT32": TensorProto.FLOAT, "FLOAT64": TensorProto.DOUBLE,
    "FP16": TensorProto.FLOAT16, "FP32": TensorProto.FLOAT, "INT4": TensorProto.INT4,
    "INT8": TensorProto.INT8, "INT16": TensorProto.INT16, "INT32": TensorProto.INT32,
    "INT64": TensorProto.INT64, "STRING": TensorProto.STRING, "UINT8": TensorProto.UINT8,
    "UINT16": TensorProto.UINT16, "UINT32": TensorProto.UINT32, "UINT64": TensorProto.UINT64,
}  # fmt: skip
"""Data types by name, without ``DT_``."""

NOTHING = ("N/A", "NA", "NULL", "NONE", "UNDEFINED", "-")
"""What a column has that says nothing."""

WEIGHTS = frozenset({"FRACTAL_Z", "FRACTAL_Z_C04", "FRACTAL_Z_3D", "FRACTAL_ZN", "FRACTAL_ZN_LSTM"})
"""Formats that only weights have: ATC makes them offline."""


@dataclass(frozen=True)
class KernelTensor:
    """An operand of a kernel.

    Attributes:
        stored: dims as they are stored.
        dtype: ``onnx.TensorProto.DataType``; 0 if unknown.
        format: such as ``NC1HWC0``; "" if unknown.
    """

    stored: Dims
    dtype: int = 0
    format: str = ""

    @property
    def dims(self) -> Dims:
        """The dims as ONNX has them; channels and tiles stay rounded up, as far as they are stored so."""
        return _logical(self.stored, self.format)

    def fact(self, *, const: bool = False) -> Fact:
        """What a cost model sees of it."""
        return Fact(self.dtype, self.dims, const=const)

    @property
    def raw(self) -> Fact:
        """The same as it is stored."""
        return Fact(self.dtype, self.stored)


@lru_cache(maxsize=4096)
def kernel_tensors(shapes: str, types: str, formats: str) -> tuple[KernelTensor, ...] | None:
    """The operands of three cells; None where their shapes are not known."""
    shapes = shapes.strip(" \t\"'")
    if shapes.upper() in NOTHING:
        return None
    found = [_dims(part) for part in shapes.split(";")]
    if None in found:
        return None
    dtypes, layouts = _parts(types, len(found)), _parts(formats, len(found))
    return tuple(
        KernelTensor(dims, TYPES.get(dtype.removeprefix("DT_"), 0), layout.removeprefix("FORMAT_"))
        for dims, dtype, layout in zip(found, dtypes, layouts, strict=True)
        if dims is not None
    )


def _dims(text: str) -> Dims | None:
    """One shape; a scalar has none to write."""
    numbers = re.split(r"[,*\sx]+", text.strip(" \t\"'[]()"))
    if numbers == [""]:
        return ()
    return tuple(map(int, numbers)) if all(number.isdecimal() for number in numbers) else None


def _parts(text: str, count: int) -> list[str]:
    """As many names as there are shapes; "" for what is not said."""
    names = [name.strip(" \t\"'").upper() for name in text.strip(" \t\"'").split(";")]
    names = ["" if name in NOTHING else name for name in names]
    return (names + [""] * count)[:count]


def _logical(dims: Dims, layout: str) -> Dims:
    match layout, dims:
        case ("NC1HWC0" | "NC1HWC0_C04", (n, c1, h, w, c0)):
            return n, c1 * c0, h, w
        case ("NDC1HWC0", (n, d, c1, h, w, c0)):
            return n, c1 * c0, d, h, w
        case ("FRACTAL_NZ", (*outer, n1, m1, m0, n0)):
            return *outer, m1 * m0, n1 * n0
        case ("NHWC", (n, h, w, c)):
            return n, c, h, w
        case ("NDHWC", (n, d, h, w, c)):
            return n, c, d, h, w
        case ("HWCN", (h, w, c, n)):
            return n, c, h, w
    return dims


def element_count(dims: Dims) -> int:
    """How many elements a value has."""
    return math.prod(dims)
