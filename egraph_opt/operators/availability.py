"""Which ONNX operators an opset has."""

from __future__ import annotations

from functools import lru_cache

import onnx


@lru_cache(maxsize=4096)
def is_available(op_type: str, opset: int) -> bool:
    """Whether an opset of the default domain has an operator."""
    try:
        return not onnx.defs.get_schema(op_type, opset, "").deprecated
    except onnx.defs.SchemaError:
        return False
