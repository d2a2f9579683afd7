"""Which ONNX operators an opset has, and onnxruntime runs."""

from __future__ import annotations

from functools import lru_cache

import onnx

_BODY_OF_OPSET = {"Swish": 24}
"""Functions without a kernel in onnxruntime (1.31), which inlines their body in the opset that it is for."""


@lru_cache(maxsize=4096)
def is_available(op_type: str, opset: int) -> bool:
    """Whether a law may write an operator: an opset of the default domain has it, and onnxruntime runs it."""
    if opset > _BODY_OF_OPSET.get(op_type, opset):
        return False
    try:
        return not onnx.defs.get_schema(op_type, opset, "").deprecated
    except onnx.defs.SchemaError:
        return False


def has_optional_outputs(op_type: str, opset: int) -> bool:
    """Whether a node need not have all outputs."""
    optional = onnx.defs.OpSchema.FormalParameterOption.Optional
    return any(output.option == optional for output in onnx.defs.get_schema(op_type, opset, "").outputs)
