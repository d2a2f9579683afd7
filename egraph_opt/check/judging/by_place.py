"""Operators of which onnxruntime rounds an element by its place in an array: in vectors of them, or alone."""

from __future__ import annotations

import onnx
from onnx import TensorProto

ROUNDED_BY_PLACE = frozenset("Acos Asin Atan Celu Cos Elu Log Mish Pow Selu Sin Softplus Tan".split())
"""Operators of which onnxruntime rounds an element by its place in an array.

Pow goes by whether its exponent is a single number.
"""

DOUBLES_BY_PLACE = ROUNDED_BY_PLACE | set("Exp Gelu Sigmoid Tanh Asinh Acosh Atanh Sinh Cosh".split())
"""The same for elements of 64 bits."""

HALVES_BY_PLACE = frozenset(
    "LeakyRelu PRelu HardSigmoid HardSwish Sigmoid Tanh Exp Gelu Softmax LogSoftmax".split()
)
"""Those of 16 bits, which some kernels widen."""


LESS_ONE = frozenset("Celu Elu Selu".split())
"""Those that are a number next to 1 less 1: the nearer an element is to 0, the more last places are lost."""


def loses_places(*models: onnx.ModelProto) -> bool:
    """Whether a model of float32 or float64 has an operator whose small elements depend on their place."""
    halves = (v.type.tensor_type.elem_type == TensorProto.FLOAT16 for m in models for v in m.graph.input)
    return not any(halves) and any(node.op_type in LESS_ONE for m in models for node in m.graph.node)


def rounds_by_place(*models: onnx.ModelProto) -> bool:
    """Whether a model has such operators, for the types of its inputs."""
    inputs = {value.type.tensor_type.elem_type for model in models for value in model.graph.input}
    inexact = DOUBLES_BY_PLACE if TensorProto.DOUBLE in inputs else ROUNDED_BY_PLACE
    if TensorProto.FLOAT16 in inputs:
        inexact |= HALVES_BY_PLACE
    return any(node.op_type in inexact for model in models for node in model.graph.node)
