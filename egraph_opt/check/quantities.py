"""Scales and zero points of what is quantized."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
from onnx import TensorProto

from egraph_opt.check.choices import Random, chance, pick, picks
from egraph_opt.facts.fact import ABSENT, Fact

Array = np.ndarray[Any, Any]

_SCALES = (*(0.1, 0.5, 1.0, 0.0173, 3.7, 1e-3) * 3, 1e-40, 3e38, -0.5)
"""What is quantized is divided by, of which a few are odd."""

APART = 8
"""Scales of an axis that are chosen one by one; further ones begin again."""

_ZEROS = (0, 0, 128, 131, 255)
"""Zero points, from the least number of their type."""


def quantization(rng: Random, number: int, before: Sequence[Fact]) -> Array | Fact | None:
    """A scale, or one for each part of an axis; and zero points of its shape, in a type of bytes, or none."""
    x = before[0]
    if number == 1:
        lengths = [d for d in x.shape or () if isinstance(d, int) and d > 1]
        shape = pick(rng, (), (), (1,), *((d,) for d in lengths))
        numbers = np.float16 if x.dtype == TensorProto.FLOAT16 else np.float32
        with np.errstate(over="ignore"):
            scales = picks(rng, _SCALES, min(shape[0], APART) if shape else 1)
            return np.resize(np.array(scales, numbers), shape)
    narrow = (TensorProto.UINT8, TensorProto.INT8)
    quantized = x.dtype if x.dtype in narrow else pick(rng, *narrow)
    least = int(np.iinfo(ir.DataType(quantized).numpy()).min)
    zero = least + int(pick(rng, *_ZEROS))
    if chance(rng, 0.2) or before[1].shape is None:
        return ABSENT
    shape = tuple(d for d in before[1].shape if isinstance(d, int))
    zeros = np.full(shape, zero, ir.DataType(quantized).numpy())
    if zeros.size > 1 and chance(rng, 0.3):  # each part of an axis has its own
        zeros[-1] = least + int(pick(rng, *_ZEROS))
    return zeros
