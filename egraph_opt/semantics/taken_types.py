"""Which element types operators take, as ONNX has them; of what is written that has to be shown."""

from __future__ import annotations

from functools import lru_cache

import onnx
import onnx_ir as ir
from onnx import TensorProto

from egraph_opt.facts.dtypes import FLOATS

TYPES = (
    TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT16, TensorProto.UINT8,
    TensorProto.INT32, TensorProto.DOUBLE,
)  # fmt: skip
"""Element types that a proof looks at: of the others each is like one of them."""


@lru_cache
def taken_by(name: str) -> tuple[int, ...]:
    """The element types that an operator takes; of a name that is not known all.

    No law is about powers of integers, which no term has (`operators.pointwise`).
    """
    if name == "Pow":
        return tuple(t for t in TYPES if t in FLOATS)
    if not onnx.defs.has(name):
        return TYPES
    schema = onnx.defs.get_schema(name)
    (taken,) = (
        c.allowed_type_strs for c in schema.type_constraints if c.type_param_str == schema.inputs[0].type_str
    )
    return tuple(t for t in TYPES if f"tensor({ir.DataType(t).name.lower()})" in taken)
