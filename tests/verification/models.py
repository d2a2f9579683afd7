"""Small models for the tests, in ONNX's text format."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import numpy_helper, parser

HEADER = '<ir_version: {ir}, opset_import: ["" : 17]>\n'


def model(text: str, *, ir: int = 8, **weights: np.ndarray) -> onnx.ModelProto:
    """A model of opset 17 in ONNX's text format, with weights as initializers."""
    made = parser.parse_model(HEADER.format(ir=ir) + text)
    made.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in weights.items())
    return made


def weight(*shape: int, seed: int = 0) -> np.ndarray:
    """Normal float32 numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
