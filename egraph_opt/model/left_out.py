"""Operands that are left out and have to be there: kernels look for them, and end the process."""

from __future__ import annotations

import onnx
from onnx.defs import OpSchema


def lacks_an_operand(node: onnx.NodeProto) -> bool:
    """Whether an operand is left out that is no optional one, such as one of many that are added up."""
    if "" not in node.input or node.domain or not onnx.defs.has(node.op_type):
        return False
    formal = onnx.defs.get_schema(node.op_type).inputs
    left_out = (min(k, len(formal) - 1) for k, name in enumerate(node.input) if not name)
    return any(formal[k].option != OpSchema.FormalParameterOption.Optional for k in left_out)
