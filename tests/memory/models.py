"""Models for the tests of memory."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, numpy_helper, parser


def model(text: str) -> ModelProto:
    """A model in ONNX's text format; values that no node makes become weights with random numbers."""
    made = parser.parse_model(text)
    random = np.random.default_rng(0)
    for weight in made.graph.value_info:
        shape = [dim.dim_value for dim in weight.type.tensor_type.shape.dim]
        array = random.normal(size=shape).astype(np.float32)
        made.graph.initializer.append(numpy_helper.from_array(array, weight.name))
    del made.graph.value_info[:]
    return made
